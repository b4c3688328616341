"""What is damaged, newer or out of reach is named and hides nothing else; the list of runs follows from the files."""

from __future__ import annotations

import io
import shutil
import sqlite3
import zipfile
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.lib import format as npy

from acvb_core.core import errors
from acvb_core.engine.executor import Executor
from acvb_core.engine.fitting import fit
from acvb_core.engine.prepared import prepare_run
from acvb_core.engine.result import Result
from acvb_core.samples.catalogue import load_sample
from acvb_core.store import files
from acvb_core.store.files import StoreError
from acvb_core.store.jobs import JobManager
from acvb_core.store.results import write_result
from acvb_core.store.runs import RunStore
from tests.loops import for_each
from tests.store.support import SURVEY, assert_same_data, assert_same_outline, assert_same_result


@for_each("folder", ["runs", "relations"])
@for_each("damage", ["gone", "empty", "cut", "noise", "flipped", "foreign"])
def test_a_damaged_file_is_named_and_hides_nothing_else(
    tmp_path: Path, executor: Executor, women: Result, survey: Result, folder: str, damage: str
) -> None:
    store = RunStore(tmp_path)
    store.save("mine", "bad", 1.0, women, state=False)
    path = next((store.folder / folder).iterdir())
    store.save("mine", "good", 2.0, survey)
    whole = path.read_bytes()
    middle = len(whole) // 2
    contents = {
        "empty": b"",
        "cut": whole[:middle],
        "noise": bytes(range(256)) * 4,
        "flipped": whole[:middle] + bytes([whole[middle] ^ 255]) + whole[middle + 1 :],
    }
    path.unlink()
    if damage == "foreign":
        np.savez(path, version=1, something=np.arange(3))
    elif damage in contents:
        path.write_bytes(contents[damage])
    assert [run.job_id for run in store.runs("mine")] == ["bad", "good"]
    with pytest.raises(StoreError) as error:
        RunStore(store.folder).load("bad", executor)
    assert str(path) in str(error.value)
    assert_same_result(survey, store.load("good", executor).result())
    store.delete("mine", "bad")
    assert [run.job_id for run in store.runs("mine")] == ["good"]


def test_no_pickle_is_read(tmp_path: Path) -> None:
    path = tmp_path / "evil.npz"
    with path.open("wb") as file:
        np.savez(file, version=1, about=np.array([{"a": 1}], dtype=object))
    with pytest.raises(StoreError, match=r"evil\.npz is damaged"):
        files.read_arrays(path, version=1)


def packed(path: Path, **members: bytes) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return path


def saved(array: np.ndarray) -> bytes:
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def sized(side: int) -> bytes:
    content = io.BytesIO()
    npy.write_array_header_1_0(content, {"descr": "<f8", "fortran_order": False, "shape": (1, side)})
    return content.getvalue()


@for_each(
    "content",
    [saved(np.arange(3)).replace(b"}", b"("), b"[1, 2]", *map(sized, (2**63, 2**64, 10**400, -1)), None],
)
def test_a_member_that_is_damaged_is_damage_of_the_file(tmp_path: Path, content: bytes | None) -> None:
    about = saved(np.arange(3)) if content is None else content
    path = packed(tmp_path / "bad.npz", version=saved(np.array(1)), about=about)
    if content is None:  # the mark of a member that is encrypted
        path.write_bytes(
            path.read_bytes().replace(b"PK\x01\x02\x14\x03\x14\x00\x00", b"PK\x01\x02\x14\x03\x14\x00\x01")
        )
    with pytest.raises(StoreError, match=r"bad\.npz is damaged"):
        files.read_arrays(path, version=1)


def test_a_newer_file_is_refused(tmp_path: Path) -> None:
    files.write_arrays(tmp_path / "new.npz", {"a": np.arange(3)}, version=8)
    with pytest.raises(StoreError, match=r"newer version of the program \(format 8, this one reads up to 7"):
        files.read_arrays(tmp_path / "new.npz", version=7)


@for_each("job_id", ["../up", "a/b", "", "x" * 101, "a.npz", "nul\0"])
def test_an_id_cannot_lead_out_of_the_folder(store: RunStore, women: Result, job_id: str) -> None:
    with pytest.raises(StoreError, match="no name of a run"):
        store.save("mine", job_id, 0.0, women)


def test_a_newer_database_is_refused(store: RunStore) -> None:
    with sqlite3.connect(store.folder / "runs.sqlite3") as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(StoreError, match=r"runs\.sqlite3 was written by a newer version .*version 99"):
        RunStore(store.folder)


def test_a_folder_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="file cannot be used to keep runs"):
        RunStore(tmp_path / "file")


LIST = "runs.sqlite3"


class Shelf:
    """A store with two workspaces, and what must be found in it."""

    def __init__(self, folder: Path, runs: dict[str, tuple[str, Result]]) -> None:
        self.folder, self.runs = folder, runs

    def copy(self, to: Path) -> Path:
        return Path(shutil.copytree(self.folder, to))

    def check(self, store: RunStore) -> None:
        """See that every run is listed in its workspace and loads as it was."""
        for job_id, (owner, result) in self.runs.items():
            assert job_id in [run.job_id for run in store.runs(owner)]
            assert_same_result(result, store.load(job_id, Executor(1)).result())


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
def test_a_flipped_bit_in_the_list_hides_nothing(shelf: Shelf, tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    folder = shelf.copy(tmp_path / "kept")
    for _ in range(6):  # most of the file is empty
        flip(folder / LIST, rng)
    store = RunStore(folder)
    shelf.check(store)
    with suppress(StoreError):
        store.load_dataset("mine")
    store.save("mine", "new", 9.0, shelf.runs["one"][1])
    store.delete("mine", "new")
    shelf.check(RunStore(folder))


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
def test_a_bad_row_or_table_hides_nothing(shelf: Shelf, tmp_path: Path, statement: str) -> None:
    folder = shelf.copy(tmp_path / "kept")
    change(folder, statement)
    store = RunStore(folder)
    shelf.check(store)
    assert store.runs("mine")[0].summary == shelf.runs["one"][1].summary()


def test_a_missing_list_is_made_again(shelf: Shelf, tmp_path: Path) -> None:
    folder = shelf.copy(tmp_path / "kept")
    (folder / LIST).unlink()
    store = RunStore(folder)
    shelf.check(store)
    (notice,) = store.notices
    assert "was missing" in notice
    assert RunStore(folder).notices == []
    assert RunStore(tmp_path / "new").notices == [], "a new folder misses nothing"


def test_a_damaged_list_is_kept_and_what_it_says_of_the_data_is_saved(
    shelf: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
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
    shelf.check(store)
    loaded = store.load_dataset("mine")
    assert loaded is not None
    assert_same_data(loaded[0], SURVEY)
    assert loaded[1:] == (["Read it."], {"name": "Survey"})


def spoil_index(folder: Path) -> None:
    change(folder, "PRAGMA journal_mode = DELETE")
    with closing(sqlite3.connect(folder / LIST)) as connection, connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute(
            "UPDATE sqlite_master SET rootpage = (SELECT rootpage FROM sqlite_master WHERE name = 'runs_of_dataset') "
            "WHERE name = 'runs_of_workspace'"
        )


def test_damage_that_reading_does_not_meet_is_found(shelf: Shelf, tmp_path: Path) -> None:
    folder = shelf.copy(tmp_path / "kept")
    spoil_index(folder)
    store = RunStore(folder)
    assert len(store.notices) == 1
    assert store.unwritable is None
    shelf.check(store)
    store.save("mine", "new", 9.0, shelf.runs["one"][1])


def test_damage_in_use_is_mended(shelf: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = shelf.copy(tmp_path / "kept")
    store = RunStore(folder)
    for ending in ("-wal", "-shm"):
        (folder / f"{LIST}{ending}").unlink(missing_ok=True)
    monkeypatch.setattr("time.strftime", lambda *_: "now")
    for _ in range(2):
        (folder / LIST).write_bytes(b"no database" * 1000)
        shelf.check(store)
    assert len(list(folder.glob(f"{LIST}.damaged-*"))) == 2, "both copies stay"


def swap(one: Path, other: Path) -> None:
    first, second = one.read_bytes(), other.read_bytes()
    one.write_bytes(second)
    other.write_bytes(first)


def unnamed(folder: Path, runs: dict[str, tuple[str, Result]]) -> None:
    """Write the run files as version 1 did: without a word of whose they are."""
    for job_id, (_, result) in runs.items():
        write_result(folder / "runs" / f"{job_id}.npz", result)


@for_each("is_older", [True, False])
def test_swapped_run_files_are_refused(
    shelf: Shelf, executor: Executor, tmp_path: Path, is_older: bool
) -> None:
    folder = shelf.copy(tmp_path / "kept")
    if is_older:
        unnamed(folder, shelf.runs)
    swap(folder / "runs" / "one.npz", folder / "runs" / "three.npz")
    store = RunStore(folder)
    for job_id in ("one", "three"):
        with pytest.raises(StoreError, match=f"holds another run than {job_id}"):
            store.load(job_id, executor)
    assert [run.job_id for run in store.runs("mine")] == ["one", "three"]
    swap(folder / "runs" / "one.npz", folder / "runs" / "three.npz")
    shelf.check(RunStore(folder))


def test_a_damaged_copy_of_the_data_is_replaced_when_they_are_kept_again(
    shelf: Shelf, executor: Executor, tmp_path: Path
) -> None:
    folder = shelf.copy(tmp_path / "kept")
    for path in (folder / "relations").iterdir():
        path.write_bytes(b"")
    store = RunStore(folder)
    store.save_dataset("mine", SURVEY, [], {})
    assert_same_result(shelf.runs["three"][1], store.load("three", executor).result())


def test_the_list_says_of_a_run_what_its_file_says(women: Result, survey: Result, tmp_path: Path) -> None:
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


def test_a_failed_write_leaves_the_old_file_and_no_debris(
    store: RunStore, executor: Executor, women: Result, survey: Result, monkeypatch: pytest.MonkeyPatch
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
