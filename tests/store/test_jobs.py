"""The jobs of a workspace are saved and found again; a deleted run can be brought back for a day."""

from __future__ import annotations

import errno
import os
import shutil
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from acvb_core.core.errors import AcvbError
from acvb_core.data.relation import Relation
from acvb_core.engine.executor import Executor
from acvb_core.engine.history import Verdict
from acvb_core.engine.job import Job
from acvb_core.engine.prepared import PreparedRun, RunLabel, prepare_run
from acvb_core.engine.result import Result
from acvb_core.store import runs as stored_runs
from acvb_core.store.files import StoreError
from acvb_core.store.index import LIST, open_connection
from acvb_core.store.jobs import JobManager, UnreadableRunError
from acvb_core.store.part_names import PartNames
from acvb_core.store.runs import RunStore, TakenRun
from tests.store.support import assert_same_result

SECONDS = 300


def saved(store: RunStore) -> list[str]:
    return [run.job_id for run in store.runs("mine")]


@pytest.fixture
def relation() -> Relation:
    return Relation.build(np.random.default_rng(5).random((30, 20)) < 0.3)


def short(relation: Relation, **values: object) -> PreparedRun:
    return prepare_run(relation, "cvb0", {"k_rows": 4, "k_cols": 4, "max_sweeps": 3, **values})


def endless(relation: Relation) -> PreparedRun:
    return short(relation, max_sweeps=1_000_000, tol=1e-12, hyper="fixed", init="random")


@pytest.fixture
def never_ending(relation: Relation, monkeypatch: pytest.MonkeyPatch) -> PreparedRun:
    """A run that only stops when it is told to, for nothing counts as convergence."""
    monkeypatch.setattr("acvb_core.engine.run.judge", lambda *_, last_sweep, **__: None)
    return endless(relation)


def finished(book: JobManager) -> bool:
    with book._idle:
        return book._idle.wait_for(lambda: book._at_work == 0, SECONDS)


def test_a_name_is_for_one_run_on_the_same_data(relation: Relation, store: RunStore) -> None:
    book = JobManager(Executor(1), store)
    jobs = [book.add("mine", short(data)) for data in (relation, relation, relation.transposed)]
    for job in (*jobs, jobs[0]):
        book.relabel("mine", job.id, name="A")
    assert [job.label.name for job in jobs] == ["A", "A (2)", "A"]
    assert finished(book)
    book.remove("mine", jobs[0].id)
    book.relabel("mine", jobs[1].id, name="A")
    assert jobs[1].label.name == "A (2)", "the first may come back"


def test_a_removed_run_stops_and_is_not_saved(never_ending: PreparedRun, store: RunStore) -> None:
    book = JobManager(Executor(2), store)
    job = book.add("mine", never_ending)
    while job.inspect().snapshot is None:
        time.sleep(0.01)
    book.remove("mine", job.id)
    assert finished(book)
    assert job.inspect().verdict is Verdict.STOPPED
    assert book.jobs("mine") == []
    assert saved(store) == []


def test_closing_stops_and_saves_running_runs(never_ending: PreparedRun, store: RunStore) -> None:
    book = JobManager(Executor(1), store)
    running, queued = book.add("mine", never_ending), book.add("mine", never_ending)
    while running.inspect().snapshot is None:
        time.sleep(0.01)
    said: list[str] = []
    assert book.close(SECONDS, said.append)
    assert said[1:] == ["Saved 1 running run.", "1 run had not started."]
    assert store.load(running.id, Executor(1)).inspect().verdict is Verdict.STOPPED
    assert queued.inspect().snapshot is None


def test_a_run_that_cannot_be_read_does_not_hide_the_others(relation: Relation, tmp_path: Path) -> None:
    book = JobManager(Executor(2), RunStore(tmp_path))
    bad, good = book.add("mine", short(relation)), book.add("mine", short(relation))
    assert finished(book)
    (tmp_path / "runs" / f"{bad.id}.npz").write_bytes(b"no archive")
    again = JobManager(Executor(2), RunStore(tmp_path))
    assert [job.id for job in again.jobs("mine")] == [good.id]
    (told,) = again.unreadable_runs("mine")
    assert told.job_id == bad.id
    assert told.name == bad.label.name
    assert f"{bad.id}.npz is damaged" in told.why
    again.remove("mine", bad.id)
    assert again.unreadable_runs("mine") == []
    again.restore("mine", bad.id)
    assert again.unreadable_runs("mine")[0].why == told.why


def test_the_log_says_where_the_program_failed_to_load_a_run(
    relation: Relation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    book = JobManager(Executor(2), RunStore(tmp_path))
    job = book.add("mine", short(relation))
    assert finished(book)

    def fail(*_: Any, **__: Any) -> Job:
        raise RuntimeError("a fault of the program's")

    monkeypatch.setattr(Job, "restore", fail)
    book = JobManager(Executor(2), RunStore(tmp_path))
    (listed,) = book.jobs("mine")
    with pytest.raises(UnreadableRunError, match="a fault of the program's"):
        listed.inspect()
    assert book.jobs("mine") == []
    (told,) = book.unreadable_runs("mine")
    assert (told.job_id, told.why) == (job.id, "RuntimeError: a fault of the program's")
    assert "in fail" in capsys.readouterr().err


class FullDisk:
    """The files of a store cannot be written for want of room until there is some."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.full = True
        savez = np.savez

        def write(*args: Any, **kwargs: Any) -> None:
            if self.full:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            savez(*args, **kwargs)

        monkeypatch.setattr(np, "savez", write)


def test_a_run_that_could_not_be_saved_is_listed_until_it_is(
    relation: Relation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    disk = FullDisk(monkeypatch)
    book = JobManager(Executor(1), RunStore(tmp_path))
    job = book.add("mine", short(relation))
    assert finished(book)
    assert book.jobs("mine") == [job]
    assert job.result().snapshot.sweep
    ((job_id, why),) = book.unsaved_runs("mine").items()
    assert job_id == job.id
    assert "No space left on device" in why
    assert "No space left on device" in capsys.readouterr().err
    book.save_again("mine", job.id)
    assert list(book.unsaved_runs("mine")) == [job.id]
    disk.full = False
    book.save_again("mine", job.id)
    assert book.unsaved_runs("mine") == {}
    assert [run.job_id for run in RunStore(tmp_path).runs("mine")] == [job.id]


def test_a_deleted_run_comes_back_after_a_restart(relation: Relation, tmp_path: Path) -> None:
    book = JobManager(Executor(2), RunStore(tmp_path))
    job = book.add("mine", short(relation))
    assert finished(book)
    book.remove("mine", job.id)
    again = JobManager(Executor(2), RunStore(tmp_path))
    assert again.jobs("mine") == []
    assert [run.job_id for run in again.deleted_runs("mine")] == [job.id]
    again.restore("mine", job.id)
    assert [found.id for found in again.jobs("mine")] == [job.id]
    again.remove("mine", job.id)
    last = JobManager(Executor(2), RunStore(tmp_path))
    assert len(last.deleted_runs("mine")) == 1
    again.delete_for_good("mine")
    with pytest.raises(AcvbError, match="It is gone"):
        last.restore("mine", job.id)
    again.delete_for_good("mine")
    assert again.deleted_runs("mine") == []
    assert list((tmp_path / "relations").iterdir()) == []


def test_a_copy_that_was_put_back_is_loaded_by_its_owner_alone(relation: Relation, tmp_path: Path) -> None:
    """Without the list of runs nothing says whose a damaged run is: every workspace is told of it."""
    book = JobManager(Executor(1), RunStore(tmp_path))
    job = book.add("mine", short(relation))
    assert finished(book)
    path = tmp_path / "runs" / f"{job.id}.npz"
    whole = path.read_bytes()
    path.write_bytes(b"")
    for listed in tmp_path.glob("runs.sqlite3*"):
        listed.unlink()
    again = JobManager(Executor(1), RunStore(tmp_path))
    assert len(again.unreadable_runs("mine")) == len(again.unreadable_runs("yours")) == 1
    path.write_bytes(whole)
    again.load_again("yours", job.id)
    assert again.jobs("yours") == []
    assert "another workspace" in again.unreadable_runs("yours")[0].why
    again.load_again("mine", job.id)
    assert [found.id for found in again.jobs("mine")] == [job.id]


WORDS = [[1, 2, 3], [4, 5, 6]]


def ids(store: RunStore) -> tuple[list[str], list[str]]:
    runs, trash = ([run.job_id for run in found] for found in (store.runs("mine"), store.trash("mine")))
    return runs, trash


@pytest.fixture
def deleted(store: RunStore, women: Result) -> RunStore:
    store.save("mine", "run", 1.0, women)
    PartNames(store.folder).rename("run", {"topics": WORDS}, "topics", 2, "a name")
    assert store.move_to_trash("mine", "run")
    return store


def age(store: RunStore, job_id: str = "run") -> None:
    moment = time.time() - 25 * 3600
    os.utime(store.folder / "deleted" / f"{job_id}.npz", (moment, moment))


def test_only_its_workspace_changes_a_run(deleted: RunStore, executor: Executor, women: Result) -> None:
    deleted.save("mine", "other", 2.0, women)
    for change in (
        lambda: deleted.save("yours", "other", 9.0, women),
        lambda: deleted.save_label("yours", "other", RunLabel("theirs")),
        lambda: deleted.move_to_trash("yours", "other"),
        lambda: deleted.take_from_trash("yours", "run"),
        lambda: deleted.delete("yours", "run"),
        lambda: deleted.delete("yours", "other"),
    ):
        with pytest.raises(StoreError, match="belongs to another workspace"):
            change()
    again = RunStore(deleted.folder)
    assert ids(again) == (["other"], ["run"])
    assert again.label("other") is None
    assert_same_result(women, again.load("other", executor, "mine").result())


def test_a_run_that_is_not_listed_still_has_its_owner(store: RunStore, women: Result) -> None:
    store.save("mine", "run", 1.0, women)
    with open_connection(store.folder / LIST, write=True) as connection:
        connection.execute("DELETE FROM runs")
    with pytest.raises(StoreError, match="belongs to another workspace"):
        store.save("yours", "run", 1.0, women)
    assert store.take("yours", TakenRun("run", 1.0, women, RunLabel("x"), None)) != "run"


def test_a_deleted_run_is_removed_after_a_day(deleted: RunStore) -> None:
    RunStore(deleted.folder)
    age(deleted)
    store = RunStore(deleted.folder)
    assert ids(store) == ([], [])
    assert not store.take_from_trash("mine", "run")
    assert [path.name for path in store.folder.rglob("*") if path.is_file()] == ["runs.sqlite3"]


def test_the_day_begins_with_the_deletion(store: RunStore, women: Result) -> None:
    store.save("mine", "run", 1.0, women)
    os.utime(store.folder / "runs" / "run.npz", (0, 0))
    assert store.move_to_trash("mine", "run")
    assert ids(RunStore(store.folder)) == ([], ["run"])


def test_a_run_saved_again_is_not_deleted_with_the_old_one(deleted: RunStore, women: Result) -> None:
    aside = deleted.folder / "deleted" / "run.npz"
    copy = aside.with_suffix(".copy")
    shutil.copy(aside, copy)
    deleted.save("mine", "run", 1.0, women)
    assert ids(deleted) == (["run"], [])
    copy.rename(aside)  # as a power cut may leave it
    age(deleted)
    assert ids(RunStore(deleted.folder)) == (["run"], [])


def test_a_run_whose_file_is_gone_is_forgotten(store: RunStore, women: Result) -> None:
    store.save("mine", "run", 1.0, women)
    (store.folder / "runs" / "run.npz").unlink()
    assert not store.move_to_trash("mine", "run")
    assert ids(store) == ([], [])
    assert not store.move_to_trash("mine", "unknown")


def test_an_array_is_read_while_its_run_is_deleted(
    store: RunStore, monkeypatch: pytest.MonkeyPatch, women: Result
) -> None:
    store.save("mine", "run", 1.0, women)
    real = stored_runs.read_array

    def read(*arguments: Any) -> Any:
        monkeypatch.undo()
        store.move_to_trash("mine", "run")
        return real(*arguments)

    monkeypatch.setattr(stored_runs, "read_array", read)
    assert len(store.read_array("run", "history")) == len(women.history)


def test_workspaces_do_not_see_each_other(relation: Relation, store: RunStore) -> None:
    book = JobManager(Executor(2), store)
    mine, yours = book.add("mine", short(relation)), book.add("yours", short(relation))
    assert book.jobs("mine") == [mine]
    assert book.jobs("yours") == [yours]
    book.remove("mine", yours.id)
    assert book.jobs("yours") == [yours]
    assert finished(book)
