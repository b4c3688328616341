"""What leaves the program of a run of latent features: the same numbers in every file, and Python that repeats it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import acvb_core
from acvb_core.core.errors import ParameterError
from acvb_core.data.table import Table
from acvb_core.engine.fitting import fit
from acvb_core.engine.result import Result
from acvb_core.samples.planted_mixtures import block_images
from acvb_core.store.export import write_run
from acvb_core.store.snippet import python_snippet
from tests.store.support import SMALL, WOMEN

NAMES = ["=cmd()", "-x", *(f"c{d}" for d in range(34))]


def a_table(standardise: bool = True) -> Table:
    blocks = block_images(200, noise=0.3, seed=1).table
    values = 7.0 * blocks.values - 100.0
    values[0, :5] = np.nan
    return Table.build(values, columns=NAMES, name="blocks", standardise=standardise)


@pytest.fixture(scope="module", params=[True, False], ids=["standardised", "as it is"])
def result(request: pytest.FixtureRequest) -> Result:
    return fit(a_table(request.param), "fab", heldout=0.2, max_sweeps=40)


def read(folder: Path) -> tuple[dict[str, pd.DataFrame], dict[str, np.ndarray]]:
    frames = {path.stem: pd.read_csv(path) for path in folder.glob("*.csv")}
    with np.load(folder / "posterior.npz", allow_pickle=False) as file:
        return frames, dict(file)


def test_the_same_numbers_in_every_file(result: Result, tmp_path: Path) -> None:
    paths = write_run(result, tmp_path)
    assert {path.name for path in paths} == {
        "run.json", "history.csv", "features.csv", "objects.csv", "columns.csv", "posterior.npz",
    }  # fmt: skip
    frames, arrays = read(tmp_path)
    features, objects, columns = (frames[name] for name in ("features", "objects", "columns"))
    n_features = len(features)
    assert n_features > 1
    assert list(features.columns) == ["feature", "share", "objects", "'=cmd()", "'-x", *NAMES[2:]]
    assert list(objects.columns) == ["object", *(f"feature_{k + 1}" for k in range(n_features))]
    assert list(columns.columns) == ["column", "baseline", "noise_sd", "mean", "sd"]
    np.testing.assert_array_equal(features["feature"], np.arange(1, n_features + 1))
    np.testing.assert_array_equal(features.iloc[:, 3:], arrays["weights"])
    np.testing.assert_array_equal(objects.iloc[:, 1:], arrays["objects"])
    for name in ("baseline", "noise_sd"):
        np.testing.assert_array_equal(columns[name], arrays[name])
    np.testing.assert_array_equal(features["share"], arrays["share"])
    assert (np.diff(features["objects"]) <= 1e-9).all(), "the largest feature comes first"
    assert json.loads(arrays["column_names"].tobytes()) == NAMES
    assert json.loads(arrays["object_names"].tobytes()) == list(result.prepared.data.rows)


def test_the_numbers_are_in_the_users_units(result: Result, tmp_path: Path) -> None:
    """A baseline at -100, blocks that add 7, noise of 2.1, whatever scale the method worked on."""
    write_run(result, tmp_path)
    frames, arrays = read(tmp_path)
    expected = arrays["objects"] @ arrays["weights"] + arrays["baseline"]
    data, train = result.prepared.data, result.prepared.train
    error = (train.values - expected)[train.observed]
    assert np.sqrt(np.mean(error**2)) == pytest.approx(2.1, rel=0.1)
    assert arrays["noise_sd"].mean() == pytest.approx(2.1, rel=0.1)
    scaled = (train.values - arrays["scale_mean"]) / arrays["scale_sd"]
    np.testing.assert_allclose(scaled, train.scale.apply(train.values), rtol=1e-12)
    if data.standardise:
        np.testing.assert_allclose(np.nanstd(scaled, axis=0), 1.0, rtol=1e-9)
    else:
        np.testing.assert_array_equal(arrays["scale_sd"], 1.0)
    np.testing.assert_allclose(frames["columns"]["mean"], np.nanmean(train.values, axis=0), rtol=1e-12)
    np.testing.assert_allclose(result.reconstruction("4")["total"], expected[4], rtol=1e-9)


def test_a_run_without_a_feature_is_written(tmp_path: Path) -> None:
    found = fit(Table.build(np.random.default_rng(0).normal(size=(40, 2))), "fab")
    write_run(found, tmp_path)
    frames, arrays = read(tmp_path)
    assert frames["features"].shape == (0, 5)
    assert frames["objects"].shape == (40, 1)
    assert arrays["weights"].shape == (0, 2)
    assert json.loads((tmp_path / "run.json").read_text())["effective_k"] == {"features": 0}


def repeated(snippet: str) -> Result:
    names: dict[str, Any] = {}
    exec(compile(snippet, "snippet", "exec"), names)
    assert isinstance(names["result"], Result)
    return names["result"]


def assert_repeats(result: Result, snippet: str) -> None:
    again = repeated(snippet)
    for name, array in result.posterior.arrays.items():
        assert np.array_equal(array, again.posterior[name]), name
    assert again.snapshot.heldout == result.snapshot.heldout
    assert again.prepared.spec.to_dict() == result.prepared.spec.to_dict()


def test_the_snippet_reads_a_file_as_it_was_read(tmp_path: Path) -> None:
    values = block_images(30, noise=0.3, seed=2).table.values
    frame = pd.DataFrame(values.round(4), columns=[f"p{d}" for d in range(36)]).assign(p7=0.0)
    frame["group"] = ["a", "b"] * 15
    path = tmp_path / "pictures.csv"
    frame.to_csv(path, index=False)
    given = {"label_column": "group", "row_labels": False, "missing": ["-9"]}
    loaded = acvb_core.load_table(path, standardise=False, image="6x6", constants="leave-out", **given)  # type: ignore[arg-type]
    result = fit(loaded.data, "fab", max_sweeps=5)
    snippet = python_snippet(result, str(path), given)
    for words in ("standardise=False", "image=(6, 6)", "constants='leave-out'", "label_column='group'"):
        assert words in snippet, words
    assert_repeats(result, snippet)
    assert "load_table('FILE.csv'" in python_snippet(result)


def test_the_result_has_its_tables_and_no_others() -> None:
    result = fit(a_table(), "em", k_max=2, max_sweeps=3)
    assert list(result.tables) == ["features", "objects", "columns"]
    assert result.features is result.tables["features"]
    assert result.objects is result.tables["objects"]
    with pytest.raises(ParameterError, match="a run of model 'lfm' has no topics; it has features, objects"):
        _ = result.topics
    with pytest.raises(ParameterError, match="model 'irm' has no features that make up an object"):
        fit(WOMEN, "vb", **SMALL).reconstruction(0)
    with pytest.raises(ParameterError, match="no object 'nobody' in blocks"):
        result.reconstruction("nobody")


def test_held_out_cells_are_known_in_a_reconstruction() -> None:
    table = a_table()
    result = fit(table, "em", k_max=2, max_sweeps=3, heldout=0.3)
    held = result.prepared.heldout
    row, column = int(held.rows[0]), int(held.columns[0])
    assert result.reconstruction(row)["value"][column] == held.values[0]
