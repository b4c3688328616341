"""Experiments and searches outlive the process and continue to the same runs; damaged ones are named."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from acvb_core.core.spec import Range
from acvb_core.engine.executor import Executor, Status
from acvb_core.engine.experiments.plan import Plan, plan_experiment
from acvb_core.engine.experiments.report import Experiment
from acvb_core.engine.run import StopRun
from acvb_core.engine.study import FAILED, StudyJob, finish_study, make_runs
from acvb_core.engine.tuning import Search, Trial, Tuning, plan_search
from acvb_core.samples.catalogue import load_sample
from acvb_core.store.files import StoreError
from acvb_core.store.runs import RunStore
from acvb_core.store.studies import ExperimentFolder, SearchFolder, StudyStore
from tests.engine.fakes import bits
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


def test_an_interrupted_experiment_continues_and_keeps_its_runs(
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


def test_clusters_of_different_objects_are_refused(store: RunStore, done: StudyJob[Experiment]) -> None:
    path = folder_of(store, done) / "runs.jsonl"
    one, *others = path.read_text().splitlines()
    changed = json.dumps(json.loads(one) | {"labels_rows": "1 2"})
    path.write_text("\n".join([changed, *others, ""]))
    with pytest.raises(StoreError, match=r"has clusters of 2 and of \d+ objects in 'labels_rows'"):
        ExperimentFolder.reopen(path.parent, done.plan.data).read()


def test_a_deleted_one_is_gone_with_its_data(store: RunStore, book: Book, done: StudyJob[Experiment]) -> None:
    assert store.load_dataset(f"experiment {done.id}") is not None
    book.remove("other", done.id)
    assert book.jobs("mine") == [done]
    book.remove("mine", done.id)
    assert book.jobs("mine") == []
    assert not folder_of(store, done).exists()
    assert store.load_dataset(f"experiment {done.id}") is None
    book.remove("mine", done.id)


SECONDS = 300
CORPUS = load_sample("bars").corpus
RANGES = (Range("alpha", 0.01, 10.0, log=True), Range("beta", 0.001, 1.0, log=True))


def small_search(trials: int = 5, **options: Any) -> Search:
    settings = {
        "ranges": RANGES, "heldout": 0.2, "k": 10, "max_sweeps": 4, "hyper": "fixed", "tol": 1e-12,
    }  # fmt: skip
    return plan_search(CORPUS, "cvb0", trials, **settings | options)


def timeless(tuning: Tuning) -> list[tuple[Any, ...]]:
    return [(t.number, t.values, t.perplexity, t.verdict, t.error) for t in tuning.trials]


@pytest.fixture(scope="module")
def whole() -> Tuning:
    """All trials of a search that was not broken."""
    return finish_study(small_search(), Tuning(small_search().space.names))


class Home:
    """A store, and the searches of one workspace in it."""

    def __init__(self, folder: Path) -> None:
        self.store = RunStore(folder)
        self.book = StudyStore(SearchFolder, Executor(1), self.store, "1.0")

    @property
    def job(self) -> StudyJob[Tuning]:
        (job,) = self.book.jobs("mine")
        return job

    @property
    def place(self) -> Path:
        return self.store.folder / "searches" / self.job.id


@pytest.fixture
def broken(tmp_path: Path, whole: Tuning) -> Iterator[Home]:
    """A store as it is found after a kill: two trials of five are over, and the line of the third is cut off."""
    home = Home(tmp_path / "kept")
    assert home.book.add("mine", small_search(), "words").wait(SECONDS)
    path = home.place / "trials.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:2]) + lines[2][:30])
    home = Home(tmp_path / "kept")
    yield home
    home.book.close()


def test_a_search_continues_after_a_kill_to_the_same_trials(broken: Home, whole: Tuning) -> None:
    job = broken.job
    seen = job.inspect()
    assert (seen.status, seen.planned, seen.number) == (Status.INTERRUPTED, 5, None)
    assert timeless(seen.study) == timeless(whole)[:2]
    assert broken.book.name(job.id) == "words"
    assert broken.book.jobs("another") == []
    job.go_on()
    assert job.wait(SECONDS)
    again = Home(broken.store.folder).job
    assert (again.inspect().status, again.can_go_on) == (Status.FINISHED, False)
    assert again.created == job.created
    assert timeless(again.result()) == timeless(job.result()) == timeless(whole)
    assert again.result().trials[:2] == seen.study.trials


def test_trials_that_failed_or_diverged_come_back_as_they_were(tmp_path: Path, whole: Tuning) -> None:
    folder = SearchFolder(tmp_path, small_search(), "1.0")
    first, second = whole.trials[:2]
    lost = [
        replace(first, perplexity=math.nan, verdict="DIVERGED"),
        Trial(2, second.values, math.nan, math.nan, FAILED, 'FloatingPointError: "a"\nb'),
    ]
    for trial in lost:
        folder.append(trial)
    assert repr(folder.read().trials) == repr(tuple(lost))
    assert folder.read().best_trial is None


@for_each(
    "change",
    [
        lambda line: line.pop("values"),
        lambda line: line.update(number=1),
        lambda line: line["values"].update(wings=2.0),
        lambda line: line["values"].update(beta=math.inf),
        lambda line: line.update(perplexity=-1.0),
    ],
)
def test_a_damaged_trial_is_named(broken: Home, tmp_path: Path, change: Any) -> None:
    broken = Home(shutil.copytree(broken.store.folder, tmp_path / "copy"))
    path = broken.place / "trials.jsonl"
    first, second = path.read_text().splitlines()[:2]
    line = json.loads(second)
    change(line)
    path.write_text(f"{first}\n{json.dumps(line)}\n")
    again = Home(broken.store.folder)
    assert again.book.jobs("mine") == []
    (why,) = again.book.unreadable("mine").values()
    assert "trials.jsonl, line 2: this is not a trial of the search" in why
    assert "Remove the line and those after it" in why
    path.write_text(f"{first}\n")
    assert len(Home(broken.store.folder).job.inspect().study.trials) == 1


@for_each(
    "name, content",
    [("search.json", b""), ("search.json", b"[" * 100_000), ("trials.jsonl", b"\x00\n")],
)
def test_a_damaged_file_is_named_and_the_search_can_be_deleted(
    broken: Home, tmp_path: Path, name: str, content: bytes
) -> None:
    broken = Home(shutil.copytree(broken.store.folder, tmp_path / "copy"))
    place = broken.place
    (place / name).write_bytes(content)
    again = Home(broken.store.folder)
    assert again.book.jobs("mine") == []
    ((job_id, why),) = again.book.unreadable("mine").items()
    assert str(place / name) in why
    again.book.remove("another", job_id)
    assert place.exists()
    again.book.remove("mine", job_id)
    assert (place.exists(), again.book.unreadable("mine")) == (False, {})


def test_a_folder_continues_with_more_trials_of_the_same_search_only(tmp_path: Path, whole: Tuning) -> None:
    for trial in whole.trials[:2]:
        SearchFolder(tmp_path, small_search(2), "1.0").append(trial)
    more = SearchFolder(tmp_path, small_search(5), "1.0")
    assert timeless(list(make_runs(more.plan, more.read()))[-1]) == timeless(whole)
    assert SearchFolder.reopen(tmp_path, CORPUS).plan.trials == 5
    for search, version in (
        (small_search(seed=1), "1.0"),
        (small_search(k=9), "1.0"),
        (small_search(heldout=0.3), "1.0"),
        (small_search(ranges=RANGES[:1]), "1.0"),
        (small_search(), "2.0"),
    ):
        with pytest.raises(StoreError, match="holds another search: with other data"):
            SearchFolder(tmp_path, search, version)
    (tmp_path / "search.json").write_text("[1]")
    with pytest.raises(StoreError, match="holds another search"):
        SearchFolder(tmp_path, small_search(), "1.0")


def test_the_run_of_the_best_trial_is_kept(tmp_path: Path, whole: Tuning) -> None:
    folder = SearchFolder(tmp_path, small_search(), "1.0")
    for tuning in make_runs(folder.plan, Tuning(folder.plan.space.names)):
        folder.keep(tuning)
        assert tuning.best_trial is not None
        assert [path.name for path in tmp_path.glob("*.npz")] == [f"trial-{tuning.best_trial.number}.npz"]
    assert whole.best_result is not None
    kept = folder.read_best(folder.read())
    assert kept is not None
    assert bits(kept.snapshot) == bits(whole.best_result.snapshot)
    (path,) = tmp_path.glob("*.npz")
    path.unlink()
    again = folder.read_best(folder.read())  # made once more
    assert again is not None
    assert bits(again.snapshot) == bits(whole.best_result.snapshot)
    with pytest.raises(StopRun):
        folder.read_best(folder.read(), _stop)
    path.write_bytes(b"damage")
    with pytest.raises(StoreError, match=path.name):
        folder.read_best(folder.read())
    assert folder.read_best(whole) is whole.best_result
    assert folder.read_best(Tuning(whole.names)) is None


def _stop() -> None:
    raise StopRun


def test_a_kill_between_the_run_and_its_line_loses_neither(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = SearchFolder(tmp_path, small_search(), "1.0")
    steps = make_runs(folder.plan, Tuning(folder.plan.space.names))
    best = 1
    for tuning in steps:
        assert tuning.best_trial is not None
        if tuning.best_trial.number > best:
            break
        folder.keep(tuning)
    monkeypatch.setattr(SearchFolder, "append", lambda *_: _stop())
    with pytest.raises(StopRun):
        folder.keep(tuning)
    monkeypatch.undo()
    assert {path.name for path in tmp_path.glob("*.npz")} == {
        "trial-1.npz",
        f"trial-{tuning.trials[-1].number}.npz",
    }
    known = folder.read()
    assert folder.read_best(known) is not None
    for tuning in islice(make_runs(folder.plan, known), 1):
        folder.keep(tuning)
    assert len(list(tmp_path.glob("*.npz"))) == 1


def test_one_without_its_data_is_named(store: RunStore, done: StudyJob[Experiment]) -> None:
    store.forget_dataset(f"experiment {done.id}")
    again = StudyStore(ExperimentFolder, Executor(1), store, "1")
    assert again.unreadable("mine") == {done.id: "Its data are gone."}
