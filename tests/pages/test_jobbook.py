from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from acvb_core.data.relation import Relation
from acvb_core.engine.executor import Executor
from acvb_core.engine.job import Job
from acvb_core.engine.problem import Problem, pose
from acvb_core.engine.result import Result
from acvb_core.engine.snapshot import Verdict
from acvb_core.store.jobbook import JobBook
from acvb_core.store.runs import RunStore

SECONDS = 30


@dataclass(frozen=True)
class Row:
    job_id: str


class MemoryStore:
    """Keeps runs in memory, and counts what is asked of it."""

    def __init__(self) -> None:
        self.kept: dict[str, tuple[str, float, Result]] = {}
        self.saved: list[str] = []
        self.loads = 0
        self.slow = threading.Event()
        self.slow.set()

    def save(self, workspace: str, job_id: str, created: float, result: Result) -> None:
        assert self.slow.wait(SECONDS)
        self.kept[job_id] = (workspace, created, result)
        self.saved.append(job_id)

    def runs(self, workspace: str) -> list[Row]:
        return [Row(job_id) for job_id, (owner, _, _) in self.kept.items() if owner == workspace]

    def load(self, job_id: str, executor: Executor) -> Job:
        self.loads += 1
        _, created, result = self.kept[job_id]
        return Job.restored(result, executor, job_id=job_id, created=created)

    def delete(self, job_id: str) -> None:
        self.kept.pop(job_id, None)


@pytest.fixture
def relation() -> Relation:
    return Relation.build(np.random.default_rng(5).random((30, 20)) < 0.3)


def short(relation: Relation, **values: object) -> Problem:
    return pose(relation, "cvb0", {"k_rows": 4, "k_cols": 4, "max_sweeps": 3, **values})


def endless(relation: Relation) -> Problem:
    return short(relation, max_sweeps=1_000_000, tol=1e-12, hyper="fixed", init="random")


@pytest.fixture
def never_ending(relation: Relation, monkeypatch: pytest.MonkeyPatch) -> Problem:
    """A run that only stops when it is told to, for nothing counts as convergence."""
    monkeypatch.setattr("acvb_core.engine.run.judge", lambda *_, last_sweep, **__: None)
    return endless(relation)


def finished(book: JobBook) -> bool:
    with book._idle:
        return book._idle.wait_for(lambda: book._at_work == 0, SECONDS)


def test_a_finished_run_is_saved_and_found_by_the_next_book(relation: Relation) -> None:
    store = MemoryStore()
    book = JobBook(Executor(2), store)
    job = book.add("mine", short(relation))
    assert finished(book)
    assert store.saved == [job.id]

    again = JobBook(Executor(2), store)
    (found,) = again.jobs("mine")
    assert (found.id, found.created) == (job.id, job.created)
    assert found.inspect().verdict is job.inspect().verdict
    assert again.jobs("mine") == [found]
    assert store.loads == 1


def test_workspaces_do_not_see_each_other(relation: Relation) -> None:
    book = JobBook(Executor(2), MemoryStore())
    mine, yours = book.add("mine", short(relation)), book.add("yours", short(relation))
    assert book.jobs("mine") == [mine]
    assert book.jobs("yours") == [yours]
    book.remove("mine", yours.id)
    assert book.jobs("yours") == [yours]
    assert finished(book)


def test_jobs_come_oldest_first(relation: Relation) -> None:
    book = JobBook(Executor(2), MemoryStore())
    jobs = [book.add("mine", short(relation, k_rows=k)) for k in (2, 3, 4)]
    assert book.jobs("mine") == jobs
    assert finished(book)


def test_an_extended_run_is_saved_again(relation: Relation) -> None:
    store = MemoryStore()
    book = JobBook(Executor(2), store)
    job = book.add("mine", short(relation, tol=1e-12))
    assert finished(book)
    job.extend(2)
    assert finished(book)
    assert store.saved == [job.id, job.id]
    assert store.kept[job.id][2].snapshot.sweep == job.inspect().snapshot.sweep == 5


def test_a_removed_run_stops_and_is_not_saved(never_ending: Problem) -> None:
    store = MemoryStore()
    book = JobBook(Executor(2), store)
    job = book.add("mine", never_ending)
    while job.inspect().snapshot is None:
        time.sleep(0.01)
    book.remove("mine", job.id)
    assert finished(book)
    assert job.inspect().verdict is Verdict.STOPPED
    assert book.jobs("mine") == []
    assert store.kept == {}


def test_a_run_removed_while_it_is_saved_is_gone(relation: Relation) -> None:
    store = MemoryStore()
    store.slow.clear()
    book = JobBook(Executor(2), store)
    job = book.add("mine", short(relation))
    assert job.wait(SECONDS)
    remover = threading.Thread(target=book.remove, args=("mine", job.id))
    remover.start()
    store.slow.set()
    remover.join(SECONDS)
    assert finished(book)
    assert store.kept == {}


def test_closing_stops_and_saves_what_still_runs(never_ending: Problem) -> None:
    store = MemoryStore()
    book = JobBook(Executor(1), store)
    running, queued = book.add("mine", never_ending), book.add("mine", never_ending)
    while running.inspect().snapshot is None:
        time.sleep(0.01)
    assert book.close(SECONDS)
    assert store.saved == [running.id]
    assert store.kept[running.id][2].verdict is Verdict.STOPPED
    assert queued.inspect().snapshot is None


def test_closing_gives_up_after_its_time(relation: Relation) -> None:
    store = MemoryStore()
    store.slow.clear()
    book = JobBook(Executor(1), store)
    assert book.add("mine", short(relation)).wait(SECONDS)
    assert not book.close(0.1)
    store.slow.set()
    assert finished(book)


def test_a_run_that_cannot_be_read_does_not_hide_the_others(relation: Relation, tmp_path: Path) -> None:
    book = JobBook(Executor(2), RunStore(tmp_path))
    bad, good = book.add("mine", short(relation)), book.add("mine", short(relation))
    assert finished(book)
    (tmp_path / "runs" / f"{bad.id}.npz").write_bytes(b"no archive")
    again = JobBook(Executor(2), RunStore(tmp_path))
    assert [job.id for job in again.jobs("mine")] == [good.id]
    (told,) = again.unreadable("mine")
    assert bad.id in told


def test_failing_to_save_keeps_the_run(
    relation: Relation, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    store = MemoryStore()
    monkeypatch.setattr(store, "save", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    book = JobBook(Executor(1), store)
    job = book.add("mine", short(relation))
    assert finished(book)
    assert book.jobs("mine") == [job]
    assert job.result().snapshot.sweep
    assert "disk full" in capsys.readouterr().err


def test_many_threads_share_a_book(relation: Relation) -> None:
    book = JobBook(Executor(2), MemoryStore())
    problem = short(relation, max_sweeps=1)

    def use(number: int) -> None:
        for _ in range(5):
            book.remove(f"ws{number}", book.add(f"ws{number}", problem).id)
            book.add("shared", problem)
            book.jobs("shared")

    threads = [threading.Thread(target=use, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS)
    assert finished(book)
    assert len(book.jobs("shared")) == 20
    assert all(book.jobs(f"ws{n}") == [] for n in range(4))
