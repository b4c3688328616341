"""What an earlier run left in a folder does not stay beside another run's files; what is not a run's is not touched."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from acvb_core.data.corpus import Corpus
from acvb_core.data.relation import Relation
from acvb_core.data.table import Table
from acvb_core.engine.fitting import fit
from acvb_core.engine.result import Result
from acvb_core.models.irm.export import write_links
from acvb_core.samples.planted_mixtures import block_images
from acvb_core.store.export import write_run
from acvb_core.store.leftovers import own_files, remove_leftovers
from tests.store.support import SMALL, WOMEN, network


def topics() -> Result:
    return fit(Corpus.build([[1, 2, 0], [3, 0, 1]]), "vb", k=2, max_sweeps=3)


def groups() -> Result:
    return fit(network(True, False), "vb", k_rows=3, heldout=0.1, max_sweeps=5, restarts=2)


def blocks() -> Result:
    return fit(WOMEN, "vb", **SMALL)


def features() -> Result:
    return fit(block_images(40, noise=0.3, seed=0).table, "fab", heldout=0.1, max_sweeps=5, restarts=2)


def no_features() -> Result:
    return fit(Table.build(np.random.default_rng(0).normal(size=(30, 2))), "fab")


def written(result: Result, folder: Path) -> list[Path]:
    links = write_links(result, 2, folder) if isinstance(result.prepared.data, Relation) else []
    return write_run(result, folder) + links


@pytest.mark.parametrize("make", [topics, groups, blocks, features, no_features])
def test_every_table_of_every_model_is_known_and_goes(tmp_path: Path, make: type) -> None:
    result = make()
    tmp_path.joinpath("own").mkdir()
    found = [path.name for path in written(result, tmp_path)]
    tables = [name for name in found if name.endswith(".csv") or name == "model.npz"]
    assert remove_leftovers(tmp_path, [tmp_path / name for name in tables]) == []
    assert {path.name for path in remove_leftovers(tmp_path, [])} == set(tables)
    assert {path.name for path in tmp_path.iterdir() if path.is_file()} == {"run.json", "posterior.npz"}


def test_no_table_is_listed_that_none_writes(tmp_path: Path) -> None:
    names = {path.name for make in (topics, groups, blocks, features) for path in written(make(), tmp_path)}
    assert {name for name, _ in own_files()} <= names


def test_what_is_no_table_of_a_run_stays(tmp_path: Path) -> None:
    own = {
        "links.csv": "source,target\na,b\n",
        "rows.csv": "",
        "topics.csv": "topic\n1\n",
        "notes.txt": "object,cluster,probability,entropy\n",
        "documents.csv": "\x00\xff",
        "objects.csv": "object,weight\na,1\n",
    }
    for name, text in own.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "columns.csv").mkdir()
    assert remove_leftovers(tmp_path, []) == []
    assert {path.name for path in tmp_path.iterdir()} == {*own, "columns.csv"}


def test_a_quoted_heading_is_a_heading(tmp_path: Path) -> None:
    (tmp_path / "columns.csv").write_text('"object","cluster","probability","entropy"\n"a\rb",1,1.0,0.0\n')
    assert [path.name for path in remove_leftovers(tmp_path, [])] == ["columns.csv"]
