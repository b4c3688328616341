"""The list of runs is made anew from the run files: no damage to it hides a run or shows a wrong one."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing, nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from acvb_core.core import errors
from acvb_core.engine.executor import Executor
from acvb_core.engine.fitting import fit
from acvb_core.engine.prepared import prepare_run
from acvb_core.engine.result import Result
from acvb_core.samples.catalogue import load_sample
from acvb_core.store.files import StoreError, read_arrays, write_arrays
from acvb_core.store.jobs import JobManager
from acvb_core.store.results import VERSION, write_result
from acvb_core.store.runs import RunStore
from tests.loops import for_each
from tests.store.support import SURVEY, assert_same_outline, assert_same_relation, assert_same_result

LIST = "runs.sqlite3"


@dataclass(frozen=True)
class Shelf:
    """A store with two workspaces, and what must be found in it."""

    folder: Path
    runs: dict[str, tuple[str, Result]]

    def copy(self, to: Path) -> Path:
        return Path(shutil.copytree(self.folder, to))

    def check(self, store: RunStore, executor: Executor, *, damaged: str | None = None) -> None:
        """See that every run is listed where it belongs and loads as it was; a damaged one may refuse instead."""
        for workspace in ("mine", "yours"):
            wanted = [job_id for job_id, (owner, _) in self.runs.items() if owner == workspace]
            listed = [run.job_id for run in store.runs(workspace)]
            assert set(wanted) <= set(listed)
        for job_id, (_, result) in self.runs.items():
            with suppress(StoreError) if job_id == damaged else nullcontext():
                assert_same_result(result, store.load(job_id, executor).result())


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory, women: Result, survey: Result) -> Shelf:
    folder = tmp_path_factory.mktemp("shelf") / "kept"
    runs = {"one": ("mine", women), "two": ("yours", women), "three": ("mine", survey)}
    store = RunStore(folder)
    for created, (job_id, (workspace, result)) in enumerate(runs.items()):
        store.save(workspace, job_id, float(created), result)
    store.save_dataset("mine", SURVEY, ["Read it."], {"name": "Survey"})
    with closing(sqlite3.connect(folder / LIST)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return Shelf(folder, runs)


def flip(path: Path, rng: np.random.Generator) -> None:
    found = bytearray(path.read_bytes())
    found[rng.integers(len(found))] ^= 1 << int(rng.integers(8))
    path.write_bytes(bytes(found))


@for_each("seed", range(12))
def test_a_flipped_bit_in_the_list_hides_nothing(
    shelf: Shelf, executor: Executor, tmp_path: Path, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    folder = shelf.copy(tmp_path / "kept")
    for _ in range(6):  # most of the file is empty
        flip(folder / LIST, rng)
    store = RunStore(folder)
    shelf.check(store, executor)
    with suppress(StoreError):
        store.load_dataset("mine")
    store.save("mine", "new", 9.0, shelf.runs["one"][1])
    store.delete("mine", "new")
    shelf.check(RunStore(folder), executor)


@for_each("seed", range(10))
def test_a_flipped_bit_in_a_run_file_is_never_a_wrong_run(
    shelf: Shelf, executor: Executor, tmp_path: Path, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    folder = shelf.copy(tmp_path / "kept")
    flip(folder / "runs" / "one.npz", rng)
    if seed % 2:
        (folder / LIST).unlink()
    shelf.check(RunStore(folder), executor, damaged="one")


def change(folder: Path, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(folder / LIST)) as connection, connection:
        connection.execute(statement, values)


@for_each(
    "statement",
    [
        "UPDATE runs SET summary = '{\"method' WHERE job_id = 'one'",
        "UPDATE runs SET settings = x'ff' WHERE job_id = 'one'",
        "UPDATE runs SET workspace = 'mime' WHERE job_id = 'one'",
        "UPDATE runs SET dataset = 'beef' WHERE job_id = 'one'",
        "UPDATE runs SET kind = 'relatiom'",
        "UPDATE runs SET created = 'then'",
        "DELETE FROM runs",
        "DROP TABLE runs",
        "PRAGMA user_version = 0",
        "PRAGMA user_version = -7",
    ],
)
def test_a_bad_row_or_table_hides_nothing(
    shelf: Shelf, executor: Executor, tmp_path: Path, statement: str
) -> None:
    folder = shelf.copy(tmp_path / "kept")
    change(folder, statement)
    store = RunStore(folder)
    shelf.check(store, executor)
    assert store.runs("mine")[0].summary == shelf.runs["one"][1].summary()


def test_a_list_that_is_gone_is_made_anew(shelf: Shelf, executor: Executor, tmp_path: Path) -> None:
    folder = shelf.copy(tmp_path / "kept")
    (folder / LIST).unlink()
    store = RunStore(folder)
    shelf.check(store, executor)
    (notice,) = store.notices
    assert "was missing" in notice
    assert RunStore(folder).notices == []
    assert RunStore(tmp_path / "new").notices == [], "a new folder misses nothing"


def test_a_damaged_list_is_kept_and_what_it_says_of_the_data_is_saved(
    shelf: Shelf, executor: Executor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = shelf.copy(tmp_path / "kept")
    change(folder, "DROP INDEX runs_of_dataset")
    change(folder, "PRAGMA user_version = 1")  # a step that was done is done again, and fails
    before = (folder / LIST).read_bytes()
    store = RunStore(folder)
    (notice,) = store.notices
    (aside,) = (path for path in folder.glob(f"{LIST}.damaged-*") if path.suffix not in (".wal", ".shm"))
    assert str(aside) in notice
    with monkeypatch.context() as hidden:
        hidden.setattr(errors, "_HIDDEN", {})
        errors.hide_folder(folder, "the folder of the runs")  # as the app does: its pages show the notices
        assert store.notices[0].endswith(f" The damaged list is kept as {aside.name}.")
    assert aside.stat().st_size == len(before)
    shelf.check(store, executor)
    loaded = store.load_dataset("mine")
    assert loaded is not None
    assert_same_relation(loaded[0], SURVEY)
    assert loaded[1:] == (["Read it."], {"name": "Survey"})


def spoil_format(folder: Path) -> None:
    raw = bytearray((folder / LIST).read_bytes())
    raw[18] ^= 8  # for SQLite a list that may only be read
    (folder / LIST).write_bytes(bytes(raw))


def spoil_index(folder: Path) -> None:
    change(folder, "PRAGMA journal_mode = DELETE")
    with closing(sqlite3.connect(folder / LIST)) as connection, connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute(
            "UPDATE sqlite_master SET rootpage = (SELECT rootpage FROM sqlite_master WHERE name = 'runs_of_dataset') "
            "WHERE name = 'runs_of_workspace'"
        )


@for_each("spoil", [spoil_format, spoil_index])
def test_damage_that_reading_does_not_meet_is_found(
    shelf: Shelf, executor: Executor, tmp_path: Path, spoil: Callable[[Path], None]
) -> None:
    folder = shelf.copy(tmp_path / "kept")
    spoil(folder)
    store = RunStore(folder)
    assert len(store.notices) == 1
    assert store.unwritable is None
    shelf.check(store, executor)
    store.save("mine", "new", 9.0, shelf.runs["one"][1])


def test_a_list_that_is_damaged_while_it_is_in_use_is_mended(
    shelf: Shelf, executor: Executor, tmp_path: Path
) -> None:
    folder = shelf.copy(tmp_path / "kept")
    store = RunStore(folder)
    for ending in ("-wal", "-shm"):
        (folder / f"{LIST}{ending}").unlink(missing_ok=True)
    (folder / LIST).write_bytes(b"no database" * 1000)
    shelf.check(store, executor)
    assert len(store.notices) == 1


def test_a_damaged_file_without_a_row_is_shown_everywhere(
    shelf: Shelf, executor: Executor, tmp_path: Path
) -> None:
    folder = shelf.copy(tmp_path / "kept")
    (folder / "runs" / "one.npz").write_bytes(b"PK")
    (folder / LIST).unlink()
    store = RunStore(folder)
    assert [run.job_id for run in store.runs("yours")] == ["two", "one"]
    with pytest.raises(StoreError, match=r"one\.npz is damaged"):
        store.load("one", executor)
    shutil.copy(shelf.folder / "runs" / "one.npz", folder / "runs")
    shelf.check(RunStore(folder), executor)
    assert [run.job_id for run in RunStore(folder).runs("yours")] == ["two"]
    store.delete("mine", "one")


# Files that were swapped or renamed.


def swap(one: Path, other: Path) -> None:
    first, second = one.read_bytes(), other.read_bytes()
    one.write_bytes(second)
    other.write_bytes(first)


def test_swapped_run_files_are_refused(shelf: Shelf, executor: Executor, tmp_path: Path) -> None:
    folder = shelf.copy(tmp_path / "kept")
    swap(folder / "runs" / "one.npz", folder / "runs" / "two.npz")
    store = RunStore(folder)
    for job_id in ("one", "two"):
        with pytest.raises(StoreError, match=rf"{job_id}\.npz holds another run than {job_id}\."):
            store.load(job_id, executor)
    assert [run.job_id for run in store.runs("mine")] == ["one", "three"]
    swap(folder / "runs" / "one.npz", folder / "runs" / "two.npz")
    shelf.check(RunStore(folder), executor)


def unnamed(folder: Path, runs: dict[str, tuple[str, Result]]) -> None:
    """Write the run files as version 1 did: without a word of whose they are."""
    for job_id, (_, result) in runs.items():
        write_result(folder / "runs" / f"{job_id}.npz", result)


def test_files_of_an_older_version_are_read_and_named(
    shelf: Shelf, executor: Executor, tmp_path: Path
) -> None:
    folder = shelf.copy(tmp_path / "kept")
    unnamed(folder, shelf.runs)
    assert read_arrays(folder / "runs" / "one.npz", version=1)
    shelf.check(RunStore(folder), executor)
    (folder / LIST).unlink()
    shelf.check(RunStore(folder), executor)


def test_a_file_of_an_older_version_without_a_row_says_what_is_missing(
    shelf: Shelf, executor: Executor, tmp_path: Path
) -> None:
    folder = shelf.copy(tmp_path / "kept")
    unnamed(folder, shelf.runs)
    (folder / LIST).unlink()
    store = RunStore(folder)
    assert len(store.runs("mine")) == 3
    with pytest.raises(StoreError, match=r"Put a copy of runs\.sqlite3 back"):
        store.load("one", executor)


def test_a_damaged_copy_of_the_data_is_replaced_when_they_are_kept_again(
    shelf: Shelf, executor: Executor, tmp_path: Path
) -> None:
    folder = shelf.copy(tmp_path / "kept")
    for path in (folder / "relations").iterdir():
        path.write_bytes(b"")
    store = RunStore(folder)
    store.save_dataset("mine", SURVEY, [], {})
    assert_same_result(shelf.runs["three"][1], store.load("three", executor).result())


def test_a_file_that_claims_another_data_set_is_refused(
    shelf: Shelf, executor: Executor, tmp_path: Path
) -> None:
    folder = shelf.copy(tmp_path / "kept")
    swap(*(folder / "relations").iterdir())
    store = RunStore(folder)
    for job_id in shelf.runs:
        with pytest.raises(StoreError, match="is not the relation it was stored as"):
            store.load(job_id, executor)
    path = folder / "runs" / "one.npz"
    write_arrays(path, read_arrays(path, version=VERSION), version=VERSION + 1)
    with pytest.raises(StoreError, match="newer version"):
        RunStore(folder).load("one", executor)


def test_a_listed_run_is_what_it_is_once_it_is_read(women: Result, survey: Result, tmp_path: Path) -> None:
    topics = prepare_run(load_sample("bars").data, "cvb0", {"k": 3}, heldout=0.1)
    race = fit(SURVEY, "vb", restarts=3, heldout=0.1, k_rows=3, k_cols=3, max_sweeps=6)
    stopped = women.with_state(snapshot=replace(women.snapshot, verdict=None))
    runs = [women, survey, race, topics, stopped, fit(SURVEY, "gibbs", heldout=0.1, max_sweeps=4)]
    store = RunStore(tmp_path)
    for number, one in enumerate(runs):
        store.save("mine", f"run{number}", float(number), one)
    listed = JobManager(Executor(1), RunStore(tmp_path)).jobs("mine")
    assert len(store.outlines(store.runs("mine"))) == len(listed) == len(runs)
    assert "seeds 0 to 2" in listed[2].label.name
    for job in listed:
        assert_same_outline(job.outline, job.inspect().outline)
        assert job.outline is job.inspect().outline


def test_a_file_is_opened_again_only_after_it_has_changed(
    shelf: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = shelf.copy(tmp_path / "copy")
    JobManager(Executor(1), RunStore(folder)).jobs("mine")
    opened: list[Path] = []
    load = np.load
    monkeypatch.setattr(np, "load", lambda file, **how: opened.append(Path(file.name)) or load(file, **how))
    assert len(JobManager(Executor(1), RunStore(folder)).jobs("mine")) == 2
    assert opened == []
    changed = folder / "runs" / "one.npz"
    changed.write_bytes(changed.read_bytes()[:400])
    book = JobManager(Executor(1), RunStore(folder))
    assert [job.id for job in book.jobs("mine")] == ["three"]
    assert [run.job_id for run in book.unreadable_runs("mine")] == ["one"]
    assert set(opened) == {changed}
    for damage in (b"", b"no database" * 1000):
        (folder / "outlines.sqlite3").write_bytes(damage)
        assert len(JobManager(Executor(1), RunStore(folder)).jobs("mine")) == 1
