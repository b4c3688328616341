"""What is damaged, newer or out of reach is named in one line, and hides nothing else."""

from __future__ import annotations

import io
import sqlite3
import zipfile
from pathlib import Path

import numpy as np
import pytest
from numpy.lib import format as npy

from acvb_core.engine.executor import Executor
from acvb_core.engine.result import Result
from acvb_core.store import files, index
from acvb_core.store.files import StoreError
from acvb_core.store.runs import RunStore
from tests.loops import for_each
from tests.store.support import SURVEY, assert_same_result


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


@for_each("damage", ["header", "no array", "locked"])
def test_a_member_that_is_damaged_is_damage_of_the_file(tmp_path: Path, damage: str) -> None:
    whole = saved(np.arange(3))
    content = {"header": whole.replace(b"}", b"("), "no array": b"[1, 2]", "locked": whole}[damage]
    path = packed(tmp_path / "bad.npz", version=saved(np.array(1)), about=content)
    if damage == "locked":  # the mark of a member that is encrypted
        path.write_bytes(
            path.read_bytes().replace(b"PK\x01\x02\x14\x03\x14\x00\x00", b"PK\x01\x02\x14\x03\x14\x00\x01")
        )
    with pytest.raises(StoreError, match=r"bad\.npz is damaged"):
        files.read_arrays(path, version=1)


@for_each("side", [2**63, 2**64, 10**400, -1])
def test_an_array_that_claims_an_impossible_side_is_damage_of_the_file(tmp_path: Path, side: int) -> None:
    content = io.BytesIO()
    npy.write_array_header_1_0(content, {"descr": "<f8", "fortran_order": False, "shape": (1, side)})
    path = packed(tmp_path / "bad.npz", version=saved(np.array(1)), about=content.getvalue())
    with pytest.raises(StoreError, match=r"bad\.npz is damaged"):
        files.read_arrays(path, version=1)


def test_a_newer_file_is_refused(tmp_path: Path) -> None:
    files.write_arrays(tmp_path / "new.npz", {"a": np.arange(3)}, version=8)
    with pytest.raises(
        StoreError, match=r"newer version of the program \(format 8, this one reads up to 7\)"
    ):
        files.read_arrays(tmp_path / "new.npz", version=7)


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


def test_a_run_of_an_unknown_method_is_refused_by_name(
    store: RunStore, executor: Executor, women: Result
) -> None:
    store.save("mine", "run", 0.0, women, state=False)
    path = store.folder / "runs" / "run.npz"
    arrays = files.read_arrays(path, version=2)
    about = files.from_text_bytes(arrays["about"])
    about["settings"]["method"] = "magic"
    files.write_arrays(path, arrays | {"about": files.text_bytes(about)}, version=2)
    with pytest.raises(StoreError, match=r"run\.npz holds a run .* no method 'magic'"):
        store.load("run", executor)


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


def test_a_file_that_is_no_database_is_put_aside(tmp_path: Path) -> None:
    noise = b"this is no database, though long enough to be read as one" * 50
    (tmp_path / "runs.sqlite3").write_bytes(noise)
    (notice,) = RunStore(tmp_path).notices
    (aside,) = tmp_path.glob("runs.sqlite3.damaged-*")
    assert str(aside) in notice
    assert aside.read_bytes() == noise


def test_an_older_database_is_brought_up_to_date(
    store: RunStore, executor: Executor, women: Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.save("mine", "old", 1.0, women)
    step = ("CREATE TABLE notes (job_id TEXT PRIMARY KEY, note TEXT NOT NULL)",)
    monkeypatch.setattr(index, "MIGRATIONS", (*index.MIGRATIONS, step))
    newer = RunStore(store.folder)
    assert [run.job_id for run in newer.runs("mine")] == ["old"]
    assert_same_result(women, newer.load("old", executor).result())
    with index.open_connection(store.folder / "runs.sqlite3") as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (len(index.MIGRATIONS),)
        assert connection.execute("SELECT COUNT(*) FROM notes").fetchone() == (0,)
    RunStore(store.folder)  # nothing is done twice


def test_a_failed_migration_changes_nothing(store: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = (("CREATE TABLE notes (note TEXT)", "THIS IS NO SQL"),)
    monkeypatch.setattr(index, "MIGRATIONS", (*index.MIGRATIONS, *steps))
    with pytest.raises(StoreError, match="cannot be used"):
        RunStore(store.folder)
    monkeypatch.undo()
    RunStore(store.folder)
    with index.open_connection(store.folder / "runs.sqlite3") as connection:
        names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    assert "notes" not in names


def test_a_folder_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="file cannot be used to keep runs"):
        RunStore(tmp_path / "file")
