"""Experiments of workspaces outlive the process, go when they are deleted, and a damaged one leaves the others."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from acvb_core.engine.executor import Executor
from acvb_core.engine.experiments.plan import Plan, plan_experiment
from acvb_core.engine.experiments.report import Experiment
from acvb_core.engine.study import StudyJob
from acvb_core.store.runs import RunStore
from acvb_core.store.studies import ExperimentFolder, StudyStore
from tests.loops import for_each
from tests.store.support import WOMEN

Book = StudyStore[Plan, Experiment]


@pytest.fixture(scope="module")
def plan() -> Plan:
    return plan_experiment(WOMEN, ["cvb0", "vb"], splits=2, k=2, max_sweeps=2)


@pytest.fixture
def book(store: RunStore) -> Book:
    return StudyStore(ExperimentFolder, Executor(1), store, "1")


@pytest.fixture
def done(book: Book, plan: Plan) -> StudyJob[Experiment]:
    job = book.add("mine", plan, "my data")
    assert job.wait(180)
    return job


def folder_of(store: RunStore, job: StudyJob[Experiment]) -> Path:
    return store.folder / "experiments" / job.id


def test_another_process_finds_them_under_their_names(
    store: RunStore, book: Book, done: StudyJob[Experiment]
) -> None:
    again = StudyStore(ExperimentFolder, Executor(1), store, "1")
    (job,) = again.jobs("mine")
    assert job.id == done.id
    assert job.created == done.created
    assert job.inspect().study.rows == done.inspect().study.rows
    assert not job.can_go_on
    assert again.name(job.id) == book.name(job.id) == "my data"
    assert again.owners("mine") == [f"experiment {job.id}"]
    assert again.jobs("other") == book.jobs("other") == []


def test_a_setting_that_this_version_does_not_have_stops_no_experiment(
    store: RunStore, book: Book, done: StudyJob[Experiment]
) -> None:
    path = folder_of(store, done) / "experiment.json"
    identity = json.loads(path.read_text())
    for condition in identity["conditions"]:
        condition["values"]["shards"] = 0
    path.write_text(json.dumps(identity))
    (job,) = StudyStore(ExperimentFolder, Executor(1), store, "1").jobs("mine")
    assert job.inspect().study.rows == done.inspect().study.rows


def test_one_that_was_interrupted_goes_on_and_keeps_its_runs(
    store: RunStore, done: StudyJob[Experiment]
) -> None:
    path = folder_of(store, done) / "runs.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:2]) + lines[2][:20])  # the third was being written
    (job,) = StudyStore(ExperimentFolder, Executor(1), store, "1").jobs("mine")
    assert [row["run"] for row in job.inspect().study.rows] == [1, 2]
    job.go_on()
    assert job.wait(180)
    assert path.read_text().splitlines(keepends=True)[:2] == lines[:2]
    runs = [json.loads(line)["run"] for line in path.read_text().splitlines()]
    assert runs == [row["run"] for row in job.inspect().study.rows] == [1, 2, 3, 4]


def test_a_deleted_one_is_gone_with_its_data(store: RunStore, book: Book, done: StudyJob[Experiment]) -> None:
    assert store.load_dataset(f"experiment {done.id}") is not None
    book.remove("mine", done.id)
    assert book.jobs("mine") == []
    assert not folder_of(store, done).exists()
    assert store.load_dataset(f"experiment {done.id}") is None
    book.remove("mine", done.id)


def test_only_its_workspace_can_delete_it(store: RunStore, book: Book, done: StudyJob[Experiment]) -> None:
    book.remove("other", done.id)
    assert book.jobs("mine") == [done]
    assert folder_of(store, done).exists()


def test_a_damaged_one_is_named_and_leaves_the_others(
    store: RunStore, book: Book, done: StudyJob[Experiment], plan: Plan
) -> None:
    other = book.add("mine", plan, "other")
    assert other.wait(180)
    (folder_of(store, done) / "experiment.json").write_text("{}")
    again = StudyStore(ExperimentFolder, Executor(1), store, "1")
    assert [job.id for job in again.jobs("mine")] == [other.id]
    assert list(again.unreadable("mine")) == [done.id]
    again.remove("mine", done.id)
    assert again.unreadable("mine") == {}
    assert not folder_of(store, done).exists()


@for_each("content", ["{", "[]", "{}"])
def test_one_whose_owner_is_not_known_is_shown_to_nobody_and_stays(
    store: RunStore, done: StudyJob[Experiment], content: str, caplog: pytest.LogCaptureFixture
) -> None:
    (folder_of(store, done) / "about.json").write_text(content)
    again = StudyStore(ExperimentFolder, Executor(1), store, "1")
    for workspace in ("mine", "other"):
        assert again.jobs(workspace) == []
        assert again.unreadable(workspace) == {}
        again.remove(workspace, done.id)
    assert folder_of(store, done).exists()
    assert done.id in caplog.text


def test_a_book_that_closes_stops_what_is_under_way(book: Book) -> None:
    job = book.add("mine", plan_experiment(WOMEN, ["gibbs"], splits=3, max_sweeps=1_000_000), "long")
    book.close()
    assert job.wait(180)
    assert not job.inspect().is_complete
