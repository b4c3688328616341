"""Runs and data come back from disk as they were, and what is damaged is named without hiding the rest."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from acvb_core.data.relation import Relation
from acvb_core.data.samples import load_sample
from acvb_core.engine.executor import Executor
from acvb_core.engine.fitting import fit
from acvb_core.engine.job import Job, Status
from acvb_core.engine.problem import pose
from acvb_core.engine.result import Result
from acvb_core.engine.snapshot import Verdict
from acvb_core.store import files, relations, schema
from acvb_core.store.files import StoreError
from acvb_core.store.runs import RunStore

WOMEN = load_sample("southern_women").relation
SURVEY = load_sample("survey").relation
SMALL = {"k_rows": 4, "k_cols": 3, "max_sweeps": 8}

ODD_LABELS = [
    "", " ", "a,b", '"', "line\nbreak", "nul\0inside", "ends in nul\0", "naïve Ω 日本", "👩‍👩‍👧", "\ud83d", "\ude00",
    "\ud83d\ude00", "=1+1", "x" * 5000,
]  # fmt: skip


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    return RunStore(tmp_path / "kept")


@pytest.fixture(scope="module")
def executor() -> Executor:
    return Executor(1)


@pytest.fixture(scope="module")
def women() -> Result:
    return fit(WOMEN, "acvb0", heldout=0.2, heldout_seed=3, seed=2, **SMALL)


@pytest.fixture(scope="module")
def survey() -> Result:
    return fit(SURVEY, "vb", **SMALL)


def odd_relation(last: str = "last") -> Relation:
    labels = [*ODD_LABELS, last]
    ones = np.eye(len(labels), 3, dtype=bool)
    missing = np.zeros_like(ones)
    missing[-1, :2] = True
    return Relation.build(
        ones, missing, row_labels=labels, column_labels=["x", "X", "ｘ"], name="odd 日", row_kind="行"
    )


def assert_same_relation(one: Relation, other: Relation) -> None:
    assert one.fingerprint == other.fingerprint
    for name in ("ones", "missing"):
        assert getattr(one, name).indices.dtype == getattr(other, name).indices.dtype
    assert list(one.row_labels) == list(other.row_labels)
    assert list(one.column_labels) == list(other.column_labels)
    assert one.row_labels.dtype == other.row_labels.dtype == object
    for name in ("name", "row_kind", "column_kind"):
        assert getattr(one, name) == getattr(other, name)


def assert_same_result(one: Result, other: Result) -> None:
    assert one.to_dict() == other.to_dict()
    pd.testing.assert_frame_equal(one.history, other.history, check_exact=True)
    assert one.posterior.arrays.keys() == other.posterior.arrays.keys()
    for name, array in one.posterior.arrays.items():
        assert np.array_equal(array, other.posterior[name]), name
        assert one.posterior.axes[name] == other.posterior.axes[name]
    assert one.posterior.hyper == other.posterior.hyper
    for name, table in one.tables.items():
        pd.testing.assert_frame_equal(table, other.tables[name], check_exact=True)


@pytest.mark.parametrize("method", ["acvb0", "acvb", "cvb0", "cvb", "vb", "gibbs"])
@pytest.mark.parametrize("relation", [WOMEN, SURVEY], ids=lambda relation: relation.name)
def test_a_run_comes_back_as_it_was(
    store: RunStore, executor: Executor, method: str, relation: Relation
) -> None:
    values = SMALL | ({"burn_in": 2} if method == "gibbs" else {})
    result = fit(relation, method, heldout=0.1, heldout_seed=5, seed=7, **values)
    store.save("mine", "run-1", 12.5, result)
    job = RunStore(store.folder).load("run-1", executor)
    assert (job.id, job.created) == ("run-1", 12.5)
    assert job.inspect().status is Status.FINISHED
    assert_same_result(result, job.result())
    again = job.problem
    assert again.heldout is not None
    assert result.problem.heldout is not None
    assert np.array_equal(again.heldout.rows, result.problem.heldout.rows)
    assert np.array_equal(again.heldout.values, result.problem.heldout.values)
    assert again.train.fingerprint == result.problem.train.fingerprint


def test_per_block_hyper_parameters_come_back(store: RunStore, executor: Executor) -> None:
    result = fit(WOMEN, "cvb0", hyper="per-block", **SMALL)
    store.save("mine", "run", 0.0, result)
    assert_same_result(result, store.load("run", executor).result())


def test_a_stored_run_cannot_be_extended(store: RunStore, executor: Executor, women: Result) -> None:
    assert women.verdict is Verdict.MAX_SWEEPS
    store.save("mine", "run", 0.0, women)
    job = store.load("run", executor)
    assert not job.can_extend
    with pytest.raises(ValueError, match="can be extended"):
        job.extend(5)


def test_an_extended_run_replaces_what_was_stored(store: RunStore) -> None:
    job = Job(pose(WOMEN, "acvb0", SMALL), Executor(1)).start()
    assert job.wait(30)
    store.save("mine", job.id, job.created, job.result())
    job.extend(4)
    assert job.wait(30)
    store.save("mine", job.id, job.created, job.result())
    assert len(store.runs("mine")) == 1
    loaded = store.load(job.id, Executor(1)).result()
    assert loaded.snapshot.sweep == 12
    assert loaded.max_sweeps == 12
    assert_same_result(job.result(), loaded)


def test_the_list_is_by_workspace_and_age(store: RunStore, women: Result) -> None:
    for workspace, job_id, created in (("b", "late", 3.0), ("a", "else", 2.0), ("b", "early", 1.0)):
        store.save(workspace, job_id, created, women)
    listed = store.runs("b")
    assert [(run.job_id, run.created) for run in listed] == [("early", 1.0), ("late", 3.0)]
    assert listed[0].summary == women.summary()
    assert listed[0].settings == women.problem.settings.to_dict()
    assert store.runs("nobody") == []


def test_numbers_that_are_not_finite_come_back(store: RunStore, executor: Executor) -> None:
    # All entries are ones: ranking scores are not defined.
    result = fit(Relation.build(np.ones((6, 5))), "vb", heldout=0.3, **SMALL)
    assert result.snapshot.heldout is not None
    assert np.isnan(result.snapshot.heldout.roc_auc)
    store.save("mine", "run", 0.0, result)
    loaded = store.load("run", executor).result()
    assert loaded.snapshot.heldout is not None
    assert np.isnan(loaded.snapshot.heldout.roc_auc)
    assert np.isnan(store.runs("mine")[0].summary["heldout"]["roc_auc"])


def test_a_relation_is_stored_once_and_goes_with_its_last_user(store: RunStore, women: Result) -> None:
    folder = store.folder / "relations"
    store.save("a", "one", 0.0, women)
    store.save("b", "two", 0.0, women)
    store.save_dataset("c", WOMEN, ["a line"], {})
    assert len(list(folder.iterdir())) == 1
    store.delete("one")
    store.delete("two")
    assert len(list(folder.iterdir())) == 1
    store.save_dataset("c", SURVEY, [], {})
    assert len(list(folder.iterdir())) == 1
    loaded = store.load_dataset("c")
    assert loaded is not None
    assert_same_relation(loaded[0], SURVEY)
    assert list((store.folder / "runs").iterdir()) == []
    store.delete("two")  # is no error


def test_equal_links_with_other_labels_are_kept_apart(store: RunStore) -> None:
    one, other = odd_relation("one"), odd_relation("other")
    assert one.fingerprint == other.fingerprint
    store.save_dataset("a", one, [], {})
    store.save_dataset("b", other, [], {})
    for workspace, relation in (("a", one), ("b", other)):
        loaded = store.load_dataset(workspace)
        assert loaded is not None
        assert_same_relation(loaded[0], relation)


def test_a_data_set_comes_back(store: RunStore) -> None:
    assert store.load_dataset("mine") is None
    settings = {"source": "öl.csv", "options": {"threshold": 1.5}}
    store.save_dataset("mine", odd_relation(), ["Read 3 lines.", "日本"], settings)
    loaded = RunStore(store.folder).load_dataset("mine")
    assert loaded is not None
    assert_same_relation(loaded[0], odd_relation())
    assert loaded[1:] == (["Read 3 lines.", "日本"], settings)


def test_long_labels_take_no_more_than_their_length(tmp_path: Path) -> None:
    labels = ["x" * 500_000, *(str(i) for i in range(2000))]
    relation = Relation.build(np.eye(len(labels), 1, dtype=bool), row_labels=labels)
    relations.write_relation(tmp_path / "r.npz", relation)
    assert (tmp_path / "r.npz").stat().st_size < 700_000


@pytest.mark.parametrize("folder", ["runs", "relations"])
@pytest.mark.parametrize("damage", ["gone", "empty", "cut", "noise", "flipped", "foreign"])
def test_a_damaged_file_is_named_and_hides_nothing_else(
    store: RunStore, executor: Executor, women: Result, survey: Result, folder: str, damage: str
) -> None:
    store.save("mine", "bad", 1.0, women)
    path = next((store.folder / folder).iterdir())
    store.save("mine", "good", 2.0, survey)
    whole = path.read_bytes()
    if damage == "gone":
        path.unlink()
    elif damage == "foreign":
        with path.open("wb") as file:
            np.savez(file, version=1, something=np.arange(3))
    else:
        middle = len(whole) // 2
        path.write_bytes(
            {
                "empty": b"",
                "cut": whole[:middle],
                "noise": bytes(range(256)) * 4,
                "flipped": whole[:middle] + bytes([whole[middle] ^ 255]) + whole[middle + 1 :],
            }[damage]
        )
    assert [run.job_id for run in store.runs("mine")] == ["bad", "good"]
    with pytest.raises(StoreError) as error:
        RunStore(store.folder).load("bad", executor)
    assert str(path) in str(error.value)
    assert_same_result(survey, store.load("good", executor).result())
    store.delete("bad")
    assert [run.job_id for run in store.runs("mine")] == ["good"]


def test_no_pickle_is_read(tmp_path: Path) -> None:
    path = tmp_path / "evil.npz"
    with path.open("wb") as file:
        np.savez(file, version=1, about=np.array([{"a": 1}], dtype=object))
    with pytest.raises(StoreError, match=r"evil\.npz is damaged"):
        files.read_arrays(path, version=1)


def test_a_newer_file_is_refused(tmp_path: Path) -> None:
    files.write_arrays(tmp_path / "new.npz", {"a": np.arange(3)}, version=8)
    with pytest.raises(
        StoreError, match=r"newer version of the program \(format 8, this one reads up to 7\)"
    ):
        files.read_arrays(tmp_path / "new.npz", version=7)


def test_a_failed_write_leaves_the_old_file_and_no_debris(
    store: RunStore,
    executor: Executor,
    women: Result,
    survey: Result,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store.save("mine", "run", 0.0, women)

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", full)
    with pytest.raises(StoreError, match="cannot be written: No space left on device"):
        store.save("mine", "run", 9.0, survey)
    with pytest.raises(StoreError, match="No space left"):
        store.save_dataset("mine", SURVEY, [], {})
    assert store.load_dataset("mine") is None
    assert sorted(path.name for path in store.folder.glob("*/*.part")) == []
    assert len(list((store.folder / "relations").iterdir())) == 1
    assert_same_result(women, store.load("run", executor).result())


def test_a_run_of_an_unknown_method_is_refused_by_name(
    store: RunStore, executor: Executor, women: Result
) -> None:
    store.save("mine", "run", 0.0, women)
    path = store.folder / "runs" / "run.npz"
    arrays = files.read_arrays(path, version=1)
    about = files.from_text_bytes(arrays["about"])
    about["settings"]["method"] = "magic"
    files.write_arrays(path, arrays | {"about": files.text_bytes(about)}, version=1)
    with pytest.raises(StoreError, match=r"run\.npz holds a run .* no method 'magic'"):
        store.load("run", executor)


@pytest.mark.parametrize("job_id", ["../up", "a/b", "", "x" * 101, "a.npz", "nul\0"])
def test_an_id_cannot_lead_out_of_the_folder(store: RunStore, women: Result, job_id: str) -> None:
    with pytest.raises(StoreError, match="no name of a run"):
        store.save("mine", job_id, 0.0, women)


def test_an_unknown_run_is_an_error(store: RunStore, executor: Executor) -> None:
    with pytest.raises(StoreError, match="no run 'nothing' is stored"):
        store.load("nothing", executor)


def test_a_newer_database_is_refused(store: RunStore) -> None:
    with sqlite3.connect(store.folder / "runs.sqlite3") as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(StoreError, match=r"runs\.sqlite3 was written by a newer version .*version 99"):
        RunStore(store.folder)


def test_a_damaged_database_is_named(tmp_path: Path) -> None:
    (tmp_path / "runs.sqlite3").write_bytes(b"this is no database, though long enough to be read as one" * 50)
    with pytest.raises(StoreError, match=r"runs\.sqlite3 is damaged"):
        RunStore(tmp_path)


def test_an_older_database_is_brought_up_to_date(
    store: RunStore, executor: Executor, women: Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.save("mine", "old", 1.0, women)
    step = ("CREATE TABLE notes (job_id TEXT PRIMARY KEY, note TEXT NOT NULL)",)
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, step))
    newer = RunStore(store.folder)
    assert [run.job_id for run in newer.runs("mine")] == ["old"]
    assert_same_result(women, newer.load("old", executor).result())
    with schema.connected(store.folder / "runs.sqlite3") as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (2,)
        assert connection.execute("SELECT COUNT(*) FROM notes").fetchone() == (0,)
    RunStore(store.folder)  # nothing is done twice


def test_a_failed_migration_changes_nothing(store: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = (("CREATE TABLE notes (note TEXT)", "THIS IS NO SQL"),)
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, *steps))
    with pytest.raises(StoreError, match="cannot be used"):
        RunStore(store.folder)
    monkeypatch.undo()
    RunStore(store.folder)
    with schema.connected(store.folder / "runs.sqlite3") as connection:
        names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    assert "notes" not in names


def test_a_folder_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="file cannot be used to keep runs"):
        RunStore(tmp_path / "file")


def test_stale_leftovers_are_removed_and_fresh_ones_kept(store: RunStore) -> None:
    stale, fresh = (store.folder / "runs" / f"{name}.npz.abc.part" for name in ("stale", "fresh"))
    for path in (stale, fresh):
        path.write_bytes(b"half")
    os.utime(stale, (0, 0))
    RunStore(store.folder)
    assert (stale.exists(), fresh.exists()) == (False, True)


def test_many_threads_at_once(store: RunStore, executor: Executor, women: Result) -> None:
    """Saving and deleting the only user of a relation, over and over, never leaves a run without its relation."""
    failures: list[BaseException] = []

    def work(name: str) -> None:
        try:
            other = RunStore(store.folder)
            for i in range(6):
                job_id = f"{name}-{i}"
                other.save(name, job_id, float(i), women)
                assert_same_result(women, other.load(job_id, executor).result())
                other.delete(job_id)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(f"t{i}",)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not failures
    assert list((store.folder / "relations").iterdir()) == []


def test_runs_of_the_same_data_share_them(store: RunStore, executor: Executor, women: Result) -> None:
    for job_id in ("one", "two"):
        store.save("mine", job_id, 0.0, women)
    one, two = (store.load(job_id, executor) for job_id in ("one", "two"))
    assert one.problem.relation is two.problem.relation


def test_what_is_listed_is_json(store: RunStore, women: Result) -> None:
    store.save("mine", "run", 0.0, women)
    with schema.connected(store.folder / "runs.sqlite3") as connection:
        (summary,) = connection.execute("SELECT summary FROM runs").fetchone()
        (mode,) = connection.execute("PRAGMA journal_mode").fetchone()
    assert json.loads(summary)["method"] == "acvb0"
    assert mode == "wal"
