"""Tables and runs on them come back from disk with everything they hold, and what is damaged is named."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from acvb_core.data.table import Image, Table
from acvb_core.engine.executor import Executor
from acvb_core.engine.fitting import fit
from acvb_core.engine.result import Result
from acvb_core.evaluate.split import HeldOut
from acvb_core.registry import methods_of
from acvb_core.samples.planted_mixtures import block_images
from acvb_core.store import datasets, files
from acvb_core.store.codecs import TABLES
from acvb_core.store.files import StoreError
from acvb_core.store.runs import RunStore
from tests.store.support import ODD_LABELS, assert_same_result

BLOCKS = block_images(60, noise=0.3, seed=0).table


def odd_table(last: str = "last") -> Table:
    """A table with odd names, groups of which some are not known, missing cells, a row of them, and half a picture."""
    rows = [*ODD_LABELS, last]
    values = np.random.default_rng(5).normal(size=(len(rows), 3)) * [1e-49, 1.0, 1e49]
    values[2] = np.nan
    values[4, 1], values[5, 1] = -0.0, 5e-324
    image = Image(2, 2, np.array([3, 0, 1]), np.array([np.nan, np.nan, 7.5, np.nan]))
    groups = ["", "日本", "\ud83d", *["same"] * (len(rows) - 3)]
    return Table.build(
        values,
        rows=rows,
        columns=["", "=a", "日本"],
        name="odd 日",
        standardise=False,
        labels=groups,
        image=image,
    )


def plain_table() -> Table:
    return Table.build([[1.0, 2.0], [0.0, 5.0], [np.nan, 2.5]])


def assert_same_table(one: Table, other: Table) -> None:
    assert one.fingerprint == other.fingerprint
    assert one.values.tobytes() == other.values.tobytes(), "every bit, the sign of zero included"
    assert other.values.dtype == np.float64
    assert other.values.flags.c_contiguous
    for name in ("rows", "columns"):
        assert list(getattr(one, name)) == list(getattr(other, name))
        assert getattr(other, name).dtype == object
    assert (one.labels is None) == (other.labels is None)
    assert one.labels is None or list(one.labels) == list(other.labels)
    assert (one.name, one.standardise) == (other.name, other.standardise)
    assert (one.image is None) == (other.image is None)
    if one.image is not None and other.image is not None:
        assert (one.image.height, one.image.width) == (other.image.height, other.image.width)
        np.testing.assert_array_equal(one.image.pixels, other.image.pixels)
        np.testing.assert_array_equal(one.image.background, other.image.background)


@pytest.mark.parametrize("table", [odd_table(), plain_table(), BLOCKS], ids=["odd", "plain", "blocks"])
def test_a_table_comes_back(store: RunStore, table: Table) -> None:
    store.save_dataset("mine", table, ["Read 3 lines.", "日本"], {"source": "öl.csv", "image": [2, 2]})
    loaded = RunStore(store.folder).load_dataset("mine")
    assert loaded is not None
    assert_same_table(loaded[0], table)
    assert loaded[1:] == (["Read 3 lines.", "日本"], {"source": "öl.csv", "image": [2, 2]})


ODD = odd_table()
assert ODD.image is not None
assert ODD.labels is not None
CHANGES: list[dict[str, Any]] = [
    {"values": np.where(np.isnan(ODD.values), 0.5, ODD.values)},
    {"rows": odd_table("other").rows},
    {"columns": np.array(["", "=a", "other"], dtype=object)},
    {"name": "other"},
    {"standardise": True},
    {"labels": None},
    {"labels": np.array([*ODD.labels[:-1], "other"], dtype=object)},
    {"image": None},
    {"image": replace(ODD.image, pixels=np.array([0, 3, 1]))},
    {"image": Image(1, 4, ODD.image.pixels, ODD.image.background)},
    {"image": replace(ODD.image, background=np.array([np.nan, np.nan, 8.0, np.nan]))},
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: next(iter(change)))
def test_whatever_differs_is_kept_apart(store: RunStore, change: dict[str, Any]) -> None:
    one, other = odd_table(), replace(odd_table(), **change)
    assert TABLES.key(one) == TABLES.key(odd_table())
    assert TABLES.key(one) != TABLES.key(other)
    for workspace, table in (("a", one), ("b", other)):
        store.save_dataset(workspace, table, [], {})
    for workspace, table in (("a", one), ("b", other)):
        loaded = store.load_dataset(workspace)
        assert loaded is not None
        assert_same_table(loaded[0], table)


@pytest.mark.parametrize("damage", ["gone", "empty", "cut", "flipped", "foreign"])
def test_a_damaged_table_is_named(store: RunStore, damage: str) -> None:
    store.save_dataset("mine", odd_table(), [], {})
    (path,) = (store.folder / "tables").iterdir()
    whole = path.read_bytes()
    middle = len(whole) // 2
    if damage == "gone":
        path.unlink()
    elif damage == "foreign":
        with path.open("wb") as file:
            np.savez(file, version=1, something=np.arange(3))
    else:
        flipped = whole[:middle] + bytes([whole[middle] ^ 255]) + whole[middle + 1 :]
        path.write_bytes({"empty": b"", "cut": whole[:middle], "flipped": flipped}[damage])
    with pytest.raises(StoreError) as error:
        RunStore(store.folder).load_dataset("mine")
    assert str(path) in str(error.value)


def about(**changes: Any) -> dict[str, Any]:
    return {"about": files.text_bytes({"name": "odd", "standardise": True, "image": [2, 2], **changes})}


FAULTS: dict[str, dict[str, Any]] = {
    "an infinite cell": {"values": np.array([[1.0, np.inf, 3.0]] * 15)},
    "a constant column": {"values": np.ones((15, 3))},
    "whole numbers": {"values": np.arange(45).reshape(15, 3)},
    "one row less": {"values": np.arange(42.0).reshape(14, 3)},
    "a list of cells": {"values": np.arange(45.0)},
    "a repeated row": {"rows": files.labels_bytes(["a"] * 15)},
    "a column less": {"columns": files.labels_bytes(["a", "b"])},
    "too many groups": {"labels": files.labels_bytes(["a"] * 16)},
    "two columns on a pixel": {"image_pixels": np.array([0, 0, 1])},
    "pixels of another kind": {"image_pixels": np.array([0.0, 1.0, 2.0])},
    "a background too short": {"image_background": np.zeros(3)},
    "no picture's size": about(image="2x2"),
    "a size of one side": about(image=[4]),
    "no scale": about(standardise="yes"),
    "no JSON": {"about": np.frombuffer(b"{", dtype=np.uint8)},
    "a list for a mapping": {"about": files.text_bytes([])},
}


@pytest.mark.parametrize("fault", FAULTS)
def test_contents_that_make_no_sense_are_damage(tmp_path: Path, fault: str) -> None:
    path = tmp_path / "table.npz"
    TABLES.write(path, odd_table())
    arrays = files.read_arrays(path, version=TABLES.version)
    files.write_arrays(path, arrays | FAULTS[fault], version=TABLES.version)
    with pytest.raises(StoreError, match=r"table\.npz is damaged"):
        TABLES.read(path)


def test_a_newer_file_is_not_guessed_at(tmp_path: Path) -> None:
    path = tmp_path / "table.npz"
    files.write_arrays(path, {"values": np.ones((2, 2))}, version=TABLES.version + 1)
    with pytest.raises(StoreError, match="written by a newer version of the program"):
        TABLES.read(path)


def test_a_table_in_the_place_of_another_is_noticed(store: RunStore) -> None:
    store.save_dataset("mine", odd_table(), [], {})
    (path,) = (store.folder / "tables").iterdir()
    TABLES.write(path, plain_table())
    with pytest.raises(StoreError, match="not the table it was stored as"):
        RunStore(store.folder).load_dataset("mine")


def test_a_key_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    table = odd_table()
    key = datasets.dataset_key(table)
    monkeypatch.setattr("acvb_core.store.codecs.texts_key", None)
    assert datasets.dataset_key(table) == key


def restored(store: RunStore, result: Result, executor: Executor) -> Result:
    store.save("mine", "run", 1.0, result)
    found = RunStore(store.folder).load("run", executor).result()
    assert_same_table(found.prepared.data, result.prepared.data)
    return found


@pytest.mark.parametrize("method", [row.name for row in methods_of("lfm")])
def test_runs_come_back_bit_by_bit(store: RunStore, executor: Executor, method: str) -> None:
    result = fit(BLOCKS, method, heldout=0.2, heldout_seed=4, seed=2, max_sweeps=12, k_max=6)
    found = restored(store, result, executor)
    assert_same_result(result, found)
    assert found.snapshot.heldout == result.snapshot.heldout
    cells: HeldOut = found.prepared.heldout
    np.testing.assert_array_equal(cells.values, result.prepared.heldout.values)
    assert found.snapshot.lower_bound == result.snapshot.lower_bound
    np.testing.assert_array_equal(found.reconstruction(3)["total"], result.reconstruction(3)["total"])


def test_a_race_comes_back(store: RunStore, executor: Executor) -> None:
    result = fit(BLOCKS, "em", heldout=0.2, max_sweeps=30, k_max=3, restarts=3, tol=1e-9)
    found = restored(store, result, executor)
    assert_same_result(result, found)
    assert found.summary()["race"]["judged_by"] == "heldout"
    assert len(found.summary()["race"]["entrants"]) == 3


def test_a_run_without_a_feature_comes_back(store: RunStore, executor: Executor) -> None:
    noise = Table.build(np.random.default_rng(0).normal(size=(40, 2)))
    result = fit(noise, "fab", heldout=0.1)
    assert result.posterior["objects"].shape == (40, 0)
    found = restored(store, result, executor)
    assert_same_result(result, found)
    assert found.posterior["weights"].shape == (0, 2)
