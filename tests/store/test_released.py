"""Stores that released versions wrote open and are brought up to date. `released/` has one for each."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from acvb_core.engine.executor import Executor
from acvb_core.engine.job import Status
from acvb_core.engine.result import Result
from acvb_core.store.listing import schema
from acvb_core.store.runs import RunStore
from tests.store.support import WOMEN, assert_same_relation, assert_same_result, odd_corpus

RELEASED = Path(__file__).parent / "released"


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A copy of what 0.1.0 wrote: one run of ACVB0 on the southern women, who are the workspace's data too."""
    return Path(shutil.copytree(RELEASED / "0.1.0", tmp_path / "old"))


def test_its_run_opens(old: Path, executor: Executor) -> None:
    store = RunStore(old)
    (listed,) = store.runs("mine")
    assert (listed.job_id, listed.created) == ("old", 12.5)
    job = store.load("old", executor)
    assert job.inspect().status is Status.FINISHED
    result = job.result()
    assert {name: listed.summary[name] for name in listed.summary} == {
        name: value for name, value in result.summary().items() if name in listed.summary
    }
    assert_same_relation(result.problem.data, WOMEN)
    assert result.snapshot.heldout is not None
    assert result.posterior.normalised
    assert np.allclose(result.posterior["rows"].sum(axis=1), 1.0)
    assert len(result.history) == result.snapshot.sweep == 8


def test_its_data_open(old: Path) -> None:
    loaded = RunStore(old).load_dataset("mine")
    assert loaded is not None
    assert_same_relation(loaded[0], WOMEN)
    assert loaded[1:] == (["Read 18 people."], {"name": "Women", "heldout": 0.2})


def test_it_takes_new_runs_and_other_kinds_of_data(old: Path, executor: Executor, women: Result) -> None:
    store = RunStore(old)
    store.save("mine", "new", 20.0, women)
    assert len(list((old / "relations").iterdir())) == 1, "the same relation has the key it always had"
    store.save_dataset("mine", odd_corpus(), [], {})
    store.delete("mine", "old")
    assert_same_result(women, RunStore(old).load("new", executor).result())
    store.delete("mine", "new")
    assert list((old / "relations").iterdir()) == []


def test_it_is_brought_up_to_date_once(old: Path) -> None:
    for _ in range(2):
        RunStore(old)
        with schema.open_connection(old / "runs.sqlite3") as connection:
            assert connection.execute("PRAGMA user_version").fetchone() == (len(schema.MIGRATIONS),)
            assert connection.execute("SELECT kind FROM runs UNION SELECT kind FROM datasets").fetchall() == [
                ("relation",)
            ]
