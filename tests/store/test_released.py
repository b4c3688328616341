"""Stores that earlier versions wrote open, and their runs go on. `released/` has one for each.

0.1.0-november has runs of every model, one that won a race, one at its limit, two that were interrupted, an experiment
and a search that lack their last run, an archive, and what all of it came to in the version that wrote it.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from acvb_core.engine.executor import Executor
from acvb_core.engine.job import Job, Status
from acvb_core.engine.result import Result
from acvb_core.store import index
from acvb_core.store.archives import read_archive
from acvb_core.store.jobs import JobManager
from acvb_core.store.runs import RunStore
from acvb_core.store.studies import ExperimentFolder, SearchFolder, StudyStore
from tests.store.support import (
    WOMEN,
    assert_same_data,
    assert_same_outline,
)

RELEASED = Path(__file__).parent / "released"


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A copy of what 0.1.0 wrote: one run of ACVB0 on the southern women, who are the workspace's data too."""
    return Path(shutil.copytree(RELEASED / "0.1.0", tmp_path / "old"))


def test_its_run_and_its_data_open(old: Path, executor: Executor) -> None:
    store = RunStore(old)
    (listed,) = store.runs("mine")
    assert (listed.job_id, listed.created) == ("old", 12.5)
    job = store.load("old", executor)
    assert job.inspect().status is Status.FINISHED
    result = job.result()
    assert {name: listed.summary[name] for name in listed.summary} == {
        name: value for name, value in result.summary().items() if name in listed.summary
    }
    assert_same_data(result.prepared.data, WOMEN)
    assert result.snapshot.heldout is not None
    assert result.posterior.normalised
    assert np.allclose(result.posterior["rows"].sum(axis=1), 1.0)
    assert len(result.history) == result.snapshot.sweep == 8
    loaded = store.load_dataset("mine")
    assert loaded is not None
    assert_same_data(loaded[0], WOMEN)
    assert loaded[1:] == (["Read 18 people."], {"name": "Women", "heldout": 0.2})


def test_it_is_brought_up_to_date_once(old: Path) -> None:
    for _ in range(2):
        RunStore(old)
        with index.open_connection(old / "runs.sqlite3") as connection:
            assert connection.execute("PRAGMA user_version").fetchone() == (len(index.MIGRATIONS),)
            assert connection.execute("SELECT kind FROM runs UNION SELECT kind FROM datasets").fetchall() == [
                ("relation",)
            ]


NOVEMBER = RELEASED / "0.1.0-november"
EXPECTED: Mapping[str, Any] = json.loads((NOVEMBER / "expected.json").read_text())
OWNER, SECONDS = "frozen", 180


@pytest.fixture
def book(tmp_path: Path) -> JobManager:
    """The runs of the store of November."""
    return JobManager(Executor(1), RunStore(Path(shutil.copytree(NOVEMBER / "store", tmp_path / "store"))))


def find(book: JobManager, name: str) -> Job:
    return {job.label.name: job for job in book.jobs(OWNER)}[name]


def assert_is(result: Result, expected: Mapping[str, Any]) -> None:
    """Compare a result with what it came to before; processors round otherwise, so not to the last bit."""
    last = result.snapshot
    found = {"verdict": str(result.verdict), "sweeps": last.sweep, "effective_k": dict(last.effective_k)}
    assert found == {name: expected[name] for name in found}
    for name, value in (("lower_bound", last.lower_bound), ("pseudo_loo", last.pseudo_loo)):
        assert value == (None if expected[name] is None else pytest.approx(expected[name], rel=1e-9))
    scores = None if last.heldout is None else [float(last.heldout[0])]
    assert scores == (None if expected["heldout"] is None else pytest.approx(expected["heldout"], rel=1e-7))
    arrays = {name: np.asarray(array, dtype=float) for name, array in result.posterior.arrays.items()}
    for name, total in expected["sums"].items():
        assert arrays[name].sum() == pytest.approx(total, rel=1e-6, abs=1e-6), name
        assert (arrays[name] ** 2).sum() == pytest.approx(expected["squares"][name], rel=1e-6), name


@pytest.mark.parametrize("name", EXPECTED["runs"])
def test_a_run_of_november_opens_as_it_was(book: JobManager, name: str) -> None:
    job = find(book, name)
    assert (job.label.note, job.label.tags) == ("a note", ("x",))
    assert_is(job.result(), EXPECTED["runs"][name])
    assert len(job.history) == job.result().snapshot.sweep


def test_the_runs_of_november_are_listed_as_they_are(book: JobManager, tmp_path: Path) -> None:
    store = RunStore(tmp_path / "store")
    runs = store.runs(OWNER)
    assert len(store.outlines(runs)) == len(runs) == len(EXPECTED["runs"]) + len(EXPECTED["continued"])
    for job in JobManager(Executor(1), store).jobs(OWNER):
        assert_same_outline(job.outline, job.inspect().outline)


@pytest.mark.parametrize("name", EXPECTED["extended"])
def test_a_run_of_november_can_be_extended(book: JobManager, name: str) -> None:
    job = find(book, name)
    job.extend(5)
    assert job.wait(SECONDS)
    assert_is(job.result(), EXPECTED["extended"][name])


@pytest.mark.parametrize("name", EXPECTED["continued"])
def test_an_interrupted_run_of_november_continues_to_the_same_end(book: JobManager, name: str) -> None:
    job = find(book, name)
    assert job.inspect().status is Status.INTERRUPTED
    job.continue_run()
    assert job.wait(SECONDS)
    assert_is(job.result(), EXPECTED["continued"][name])


def test_the_studies_of_november_continue_to_the_same_end(tmp_path: Path) -> None:
    store = RunStore(Path(shutil.copytree(NOVEMBER / "store", tmp_path / "store")))
    (experiment,) = StudyStore(ExperimentFolder, Executor(1), store, "0.1.0").jobs(OWNER)
    (search,) = StudyStore(SearchFolder, Executor(1), store, "0.1.0").jobs(OWNER)
    for study in (experiment, search):
        study.go_on()
        assert study.wait(SECONDS)
    rows, known = experiment.result().rows, EXPECTED["experiments"]
    assert [row["condition"] for row in rows] == [row["condition"] for row in known]
    scores = [row["heldout_log_likelihood"] for row in known]
    assert [row["heldout_log_likelihood"] for row in rows] == pytest.approx(scores, rel=1e-7)
    trials, known = search.result().trials, EXPECTED["searches"]
    assert [dict(trial.values) for trial in trials] == [trial["values"] for trial in known]
    assert [trial.perplexity for trial in trials] == pytest.approx(
        [trial["perplexity"] for trial in known], rel=1e-6
    )


def test_an_archive_of_november_is_taken(tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    book = JobManager(Executor(1), store)
    plans = [StudyStore(kind, Executor(1), store, "0.1.0") for kind in (ExperimentFolder, SearchFolder)]
    with (NOVEMBER / "archive.zip").open("rb") as file:
        report = read_archive(book, store, OWNER, file, plans=plans)  # type: ignore[arg-type]
    assert report.refused == {}
    assert {job.label.name for job in book.jobs(OWNER)} == {"relation-cap", "stream"}
    assert [[job.inspect().is_complete for job in plan.jobs(OWNER)] for plan in plans] == [[True], [True]]
    for name in ("relation-cap", "stream"):
        assert_is(find(book, name).result(), EXPECTED["runs"][name])
