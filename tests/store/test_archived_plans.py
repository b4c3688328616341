"""Experiments and searches in archives: to another store and back, and files that are damaged or made to do harm."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from acvb_core.data.corpus import Corpus
from acvb_core.data.relation import Relation
from acvb_core.engine.executor import Executor, Status
from acvb_core.engine.experiments.plan import Plan, plan_experiment
from acvb_core.engine.experiments.report import Experiment
from acvb_core.engine.study import StudyJob
from acvb_core.engine.tuning import Search, Tuning, plan_search
from acvb_core.store.archives import ImportReport, read_archive, write_archive
from acvb_core.store.files import StoreError
from acvb_core.store.jobs import JobManager
from acvb_core.store.runs import RunStore
from acvb_core.store.studies import ExperimentFolder, SearchFolder, StudyStore
from tests.loops import for_each
from tests.store.test_archives import rewrite

SECONDS = 300
KEY = "0123456789abcdef" * 2
RELATION = Relation.build(np.random.default_rng(5).random((14, 9)) < 0.3, name="links")
CORPUS = Corpus.build(np.random.default_rng(5).poisson(0.6, (40, 20)), name="texts")


def small_plan() -> Plan:
    return plan_experiment(RELATION, ["cvb0", "vb"], k=[2, 3], splits=2, max_sweeps=3, init="random")


def small_search() -> Search:
    return plan_search(CORPUS, "scvb0", 3, k=3, epochs=0.5, heldout_documents=0.2)


class Home:
    """A store with the experiments and searches of one workspace."""

    def __init__(self, folder: Path, workspace: str = KEY) -> None:
        self.store, self.workspace = RunStore(folder), workspace
        executor = Executor(1)
        self.runs = JobManager(executor, self.store)
        self.experiments = StudyStore(ExperimentFolder, executor, self.store, "1.0")
        self.searches = StudyStore(SearchFolder, executor, self.store, "1.0")

    @property
    def experiment(self) -> StudyJob[Experiment]:
        (job,) = self.experiments.jobs(self.workspace)
        return job

    @property
    def search(self) -> StudyJob[Tuning]:
        (job,) = self.searches.jobs(self.workspace)
        return job

    def write(self) -> bytes:
        file = io.BytesIO()
        plans = [(self.experiments, self.experiment), (self.searches, self.search)]
        assert write_archive(self.store, {}, file, "1.0", plans) == {}
        return file.getvalue()

    def read(self, archive: bytes) -> ImportReport:
        books = (self.experiments, self.searches)
        return read_archive(self.runs, self.store, self.workspace, io.BytesIO(archive), "it.zip", books)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """An experiment that was interrupted after five of eight runs, and a search that is over."""
    home = Home(tmp_path_factory.mktemp("one"))
    assert home.experiments.add(KEY, small_plan(), "links").wait(SECONDS)
    assert home.searches.add(KEY, small_search(), "texts <b>").wait(SECONDS)
    path = home.experiments.folder(home.experiment.id).folder / "runs.jsonl"
    path.write_text("".join(islice(path.read_text().splitlines(keepends=True), 5)))
    return Home(home.store.folder)


@pytest.fixture(scope="module")
def archive(filled: Home) -> bytes:
    return filled.write()


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Home]:
    home = Home(tmp_path / "two", "another")
    yield home
    home.experiments.close()


def test_plans_come_back_in_another_store(filled: Home, archive: bytes, other: Home) -> None:
    report = other.read(archive)
    assert KEY.encode() not in archive
    assert {noun: len(part.imported) for noun, part in report.others.items()} == {
        "experiment": 1,
        "search": 1,
    }
    for home in (other, Home(other.store.folder, "another")):  # at once, and after a restart
        for one, here in ((filled.experiment, home.experiment), (filled.search, home.search)):
            assert (one.id, one.created) == (here.id, here.created)
            assert one.inspect().status is here.inspect().status
        assert home.experiment.inspect().study.rows == filled.experiment.inspect().study.rows
        assert home.search.inspect().study.trials == filled.search.inspect().study.trials
        assert home.search.plan.identity() == filled.search.plan.identity()
        assert home.experiments.name(home.experiment.id) == "links"
        assert home.searches.name(home.search.id) == "texts b"
    assert other.experiment.inspect().status is Status.INTERRUPTED


def test_a_plan_is_imported_once_and_another_workspace_has_copies(archive: bytes, other: Home) -> None:
    other.read(archive)
    again = other.read(archive)
    assert [(part.imported, len(part.known)) for part in again.others.values()] == [([], 1)] * 2
    guest = Home(other.store.folder, "guest")
    guest.read(archive)
    assert guest.experiment.id != other.experiment.id
    assert [(part.imported, len(part.known)) for part in guest.read(archive).others.values()] == [([], 1)] * 2
    guest.experiments.remove("guest", guest.experiment.id)
    assert len(Home(other.store.folder, "another").experiment.inspect().study.rows) == 5


Files = dict[str, bytes]
Change = Callable[[Files, dict[str, Any]], None]


def change_json(ending: str, change: Callable[[Any], Any]) -> Change:
    """A change of the JSON in a file, or in the last line of one."""

    def apply(files: Files, _: dict[str, Any]) -> None:
        name = next(name for name in files if name.endswith(ending))
        *before, last = files[name].rstrip(b"\n").split(b"\n") if ending.endswith("l") else [files[name]]
        about = json.loads(last)
        change(about)
        files[name] = b"\n".join([*before, json.dumps(about).encode()]) + b"\n"

    return apply


def move_data(which: str, **changes: Any) -> Change:
    def apply(_: Files, manifest: dict[str, Any]) -> None:
        next(plan for plan in manifest["plans"] if plan["noun"] == which).update(changes)

    return apply


def other_data(files: Files, manifest: dict[str, Any]) -> None:
    one, two = ({name: plan[name] for name in ("kind", "dataset")} for plan in manifest["plans"])
    manifest["plans"][0] |= two
    manifest["plans"][1] |= one


def shorten(ending: str, share: float) -> Change:
    def apply(files: Files, _: dict[str, Any]) -> None:
        name = next(name for name in files if name.endswith(ending))
        whole = files.pop(name)
        if share:
            files[name] = whole[: int(len(whole) * share)]

    return apply


def in_plan(change: Callable[[Any], Any]) -> Change:
    return change_json("experiment.json", change)


def in_line(**changes: Any) -> Change:
    """A change of the last run of the experiment."""
    return change_json("runs.jsonl", lambda row: row.update(changes))


def in_trial(**changes: Any) -> Change:
    return change_json("trials.jsonl", lambda line: line.update(changes))


def in_search(**changes: Any) -> Change:
    return change_json("search.json", lambda plan: plan.update(changes))


EXPERIMENT: dict[str, Change] = {
    "label": in_plan(lambda plan: plan["conditions"][0].update(label="![x](http://evil.example/x)")),
    "factor": in_plan(lambda plan: plan["conditions"][0]["factors"].update(k=9)),
    "unknown factor": in_plan(lambda plan: plan["conditions"][0]["factors"].update({"<b>": 1})),
    "setting": in_plan(lambda plan: plan["conditions"][0]["values"].update(max_sweeps="x")),
    "model": in_plan(lambda plan: plan.update(model="lda")),
    "seeds": in_plan(lambda plan: plan.update(seeds=["x"])),
    "plan": shorten("experiment.json", 0.5),
    "no plan": shorten("experiment.json", 0.0),
    "score": in_line(heldout_skill="<b>"),
    "infinite": in_line(heldout_skill=float("inf")),
    "name of a score": in_line(**{"heldout_![x](http://e)": 1.0}),
    **{f"{value} seconds": in_line(cpu_seconds=value) for value in (None, -1.0, 1e300)},
    "huge sweeps": in_line(sweeps=10**400),
    "error": in_line(error=["x"]),
    "run": in_line(run=1),
    "far run": in_line(run=10**9),
    "condition": in_line(condition="<b>"),
    "missing lines": shorten("runs.jsonl", 0.0),
    "kind": move_data("experiment", kind="stream"),
    "key": move_data("experiment", dataset="../../escaped"),
    "other data": other_data,
}


SEARCH: dict[str, Change] = {
    "trial": in_trial(number=7),
    "perplexity": in_trial(perplexity=0),
    "infinite perplexity": in_trial(perplexity=float("inf")),
    "seconds": in_trial(cpu_seconds=float("inf")),
    "negative seconds": in_trial(cpu_seconds=-1),
    "value": change_json("trials.jsonl", lambda line: line["values"].update(step_scale=float("nan"))),
    "method": in_search(method="vb"),
    "setting": change_json("search.json", lambda plan: plan["settings"].update(watch=1)),
    "trials": in_search(trials=10**30 + 0.5),
    "range": change_json("search.json", lambda plan: plan["ranges"][0].update(low=-1.0)),
    "deep": lambda files, _: files.update(
        {next(name for name in files if name.endswith("search.json")): b"[" * 100_000}
    ),
}


CHANGES = [
    *(("experiment", "links", change) for change in EXPERIMENT.values()),
    *(("search", "texts b", change) for change in SEARCH.values()),
]


@for_each("noun, data, change", CHANGES)
def test_a_changed_plan_is_refused_and_the_other_is_taken(
    archive: bytes, tmp_path: Path, noun: str, data: str, change: Change
) -> None:
    other = Home(tmp_path / "two", "another")
    part = other.read(rewrite(archive, change)).others[noun]
    assert (part.imported, list(part.refused)) == ([], [f"{noun} on {data}"])
    assert str(tmp_path) not in str(part.refused)
    assert not list(tmp_path.rglob("*escaped*"))
    taken = [len(book.jobs("another")) for book in (other.experiments, other.searches)]
    assert taken == ([0, 0] if change is other_data else [noun == "search", noun == "experiment"])
    folder = {"experiment": "experiments", "search": "searches"}[noun]
    assert not list((tmp_path / "two" / folder).glob("*"))


@for_each(
    "changes",
    [
        *({"job_id": value} for value in ("../../escaped", "")),
        *({"created": value} for value in ("now", float("nan"), -1e300, 1e300)),
        {"name": 1},
        {"more": 1},
    ],
)
def test_a_list_that_names_plans_otherwise_is_refused(
    archive: bytes, tmp_path: Path, changes: dict[str, Any]
) -> None:
    other = Home(tmp_path / "two", "another")
    with pytest.raises(StoreError, match="list of files is damaged"):
        other.read(rewrite(archive, move_data("search", **changes)))
    assert not list(tmp_path.rglob("*escaped*"))
