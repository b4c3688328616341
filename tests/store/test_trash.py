"""A deleted run can be brought back for a day, with all that belongs to it."""

from __future__ import annotations

import os
import shutil
import threading
import time
from typing import Any

import pytest

from acvb_core.engine.executor import Executor
from acvb_core.engine.prepared import RunLabel
from acvb_core.engine.result import Result
from acvb_core.store import runs as stored_runs
from acvb_core.store.files import StoreError
from acvb_core.store.index import LIST, open_connection
from acvb_core.store.runs import RunStore, TakenRun, Trash
from acvb_core.store.topic_names import TopicNames
from tests.store.support import assert_same_result

WORDS = [[1, 2, 3], [4, 5, 6]]


def ids(store: RunStore) -> tuple[list[str], list[str]]:
    runs, trash = ([run.job_id for run in found] for found in (store.runs("mine"), store.trash("mine")))
    return runs, trash


@pytest.fixture
def deleted(store: RunStore, women: Result) -> RunStore:
    store.save("mine", "run", 1.0, women)
    TopicNames(store.folder).rename("run", WORDS, 2, "a name")
    assert store.move_to_trash("mine", "run")
    return store


def age(store: RunStore, job_id: str = "run") -> None:
    moment = time.time() - 25 * 3600
    os.utime(store.folder / "deleted" / f"{job_id}.npz", (moment, moment))


def test_it_is_out_of_the_list_and_comes_back(deleted: RunStore, executor: Executor, women: Result) -> None:
    assert ids(deleted) == ids(RunStore(deleted.folder)) == ([], ["run"])
    again = RunStore(deleted.folder)
    assert again.take_from_trash("mine", "run")
    assert ids(again) == (["run"], [])
    assert_same_result(women, again.load("run", executor).result())
    assert TopicNames(again.folder).names("run", WORDS) == (None, "a name")
    assert again.take_from_trash("mine", "run"), "twice is no error"


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


def test_a_run_whose_row_is_gone_is_still_its_owners(store: RunStore, women: Result) -> None:
    store.save("mine", "run", 1.0, women)
    with open_connection(store.folder / LIST, write=True) as connection:
        connection.execute("DELETE FROM runs")
    with pytest.raises(StoreError, match="belongs to another workspace"):
        store.save("yours", "run", 1.0, women)
    assert store.take("yours", TakenRun("run", 1.0, women, RunLabel("x"), None)) != "run"


def test_a_run_that_is_brought_back_while_old_ones_are_looked_up_stays(
    deleted: RunStore, monkeypatch: pytest.MonkeyPatch, survey: Result
) -> None:
    deleted.save("mine", "other", 2.0, survey)
    age(deleted)
    real = Trash.outdated_ids

    def look(self: Trash) -> list[str]:
        monkeypatch.undo()
        found = real(self)
        assert deleted.take_from_trash("mine", "run")
        return found

    monkeypatch.setattr(Trash, "outdated_ids", look)
    deleted.move_to_trash("mine", "other")
    assert ids(deleted) == (["run"], ["other"])


def test_a_run_saved_while_it_is_found_gone_stays(
    store: RunStore, monkeypatch: pytest.MonkeyPatch, women: Result
) -> None:
    store.save("mine", "run", 1.0, women)
    (store.folder / "runs" / "run.npz").unlink()
    real, saving = Trash.put, threading.Thread(target=store.save, args=("mine", "run", 1.0, women))

    def put(*arguments: Any) -> bool:
        saving.start()  # it waits for its turn to write
        return real(*arguments)

    monkeypatch.setattr(Trash, "put", put)
    store.move_to_trash("mine", "run")
    saving.join(60)
    assert ids(store) == (["run"], [])


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


def test_after_a_day_it_goes_for_good(deleted: RunStore) -> None:
    RunStore(deleted.folder)
    age(deleted)
    store = RunStore(deleted.folder)
    assert ids(store) == ([], [])
    assert not store.take_from_trash("mine", "run")
    left = [path.name for path in store.folder.rglob("*") if path.is_file()]
    assert sorted(left) == ["outlines.sqlite3", "runs.sqlite3"]


def test_the_day_begins_with_the_deletion(store: RunStore, women: Result) -> None:
    store.save("mine", "run", 1.0, women)
    os.utime(store.folder / "runs" / "run.npz", (0, 0))
    assert store.move_to_trash("mine", "run")
    assert ids(RunStore(store.folder)) == ([], ["run"])


def test_a_long_running_process_removes_it_too(deleted: RunStore, survey: Result) -> None:
    age(deleted)
    deleted.save("mine", "other", 2.0, survey)
    deleted.move_to_trash("mine", "other")
    assert ids(deleted) == ([], ["other"])


def test_a_run_saved_anew_is_not_deleted_with_the_old_one(deleted: RunStore, women: Result) -> None:
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
