"""Files are on the disk when a call returns; one process writes to a folder; a folder may be read only."""

from __future__ import annotations

import codecs
import ctypes
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from acvb_core.cli import main
from acvb_core.engine.executor import Executor
from acvb_core.engine.result import Result
from acvb_core.store import files, index
from acvb_core.store.files import OUTPUT, StoreError, StoreLock
from acvb_core.store.runs import RunStore
from tests.store.support import SURVEY, assert_same_result


def test_a_file_is_on_the_disk_before_it_takes_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a power cut the place must hold the old file or the whole new one."""
    steps: list[tuple[str, int]] = []
    sync, replace = os.fsync, os.replace

    def noted_sync(descriptor: int) -> None:
        sync(descriptor)
        about = os.fstat(descriptor)
        steps.append(("folder", 0) if stat.S_ISDIR(about.st_mode) else ("file", about.st_size))

    def noted_replace(old: Path, new: Path) -> None:
        steps.append(("replace", Path(old).stat().st_size))
        replace(old, new)

    monkeypatch.setattr(os, "fsync", noted_sync)
    monkeypatch.setattr(os, "replace", noted_replace)
    files.write_arrays(tmp_path / "a.npz", {"numbers": np.arange(1000)}, version=1)
    size = steps[0][1]
    assert size > 0
    assert steps == [("file", size), ("replace", size), ("folder", 0)]


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Take the right to write to a folder away, from the administrator as well."""
    places = [folder, *folder.rglob("*")]
    for path in places:
        path.chmod(0o555 if path.is_dir() else 0o444)
    # The rights of the administrator to every file go with this thread's user for files, and come back with it.
    # Python's own files may then be out of reach, so zipfile's encoding is loaded before.
    codecs.lookup("cp437")
    setfsuid = ctypes.CDLL(None).setfsuid if os.geteuid() == 0 else lambda user: None
    setfsuid(65534)
    try:
        yield
    finally:
        setfsuid(0)
        for path in places:
            path.chmod(0o755 if path.is_dir() else 0o644)


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that other users can read; pytest's own cannot be."""
    made = Path(tempfile.mkdtemp(prefix="acvb-test-"))
    made.chmod(0o755)
    yield made / "kept"
    shutil.rmtree(made)


def test_a_folder_that_may_only_be_read_is_read(
    folder: Path, executor: Executor, women: Result, survey: Result
) -> None:
    RunStore(folder).save("mine", "run", 1.0, women)
    with read_only(folder):
        store = RunStore(folder)
        assert [run.job_id for run in store.runs("mine")] == ["run"]
        assert_same_result(women, store.load("run", executor).result())
        assert store.unwritable is not None
        assert "Permission denied" in store.unwritable
        for attempt in (
            lambda: store.save("mine", "new", 2.0, survey),
            lambda: store.save_dataset("mine", SURVEY, [], {}),
            lambda: store.move_to_trash("mine", "run"),
            lambda: store.delete("mine", "run"),
        ):
            with pytest.raises(StoreError, match=r"Nothing can be saved in .*Permission denied"):
                attempt()
        assert not store.move_to_trash("mine", "never-saved")
    store.save("mine", "new", 2.0, survey)  # it may be written to again
    assert store.unwritable is None
    assert [run.job_id for run in RunStore(folder).runs("mine")] == ["run", "new"]


HOLD = """
import sys, time
from pathlib import Path
from acvb_core.store import files, index
kept = files.StoreLock(Path(sys.argv[1]), getattr(files, sys.argv[2]))
print("locked", flush=True)
time.sleep(600)
"""


@contextmanager
def held(folder: Path, purpose: str) -> Iterator[subprocess.Popen[bytes]]:
    """Give another process that has locked the folder."""
    command = [sys.executable, "-c", HOLD, str(folder), purpose]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"locked\n"
        try:
            yield process
        finally:
            process.kill()


@pytest.fixture
def other(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Another process that has locked the folder as a server."""
    with held(tmp_path, "SERVER") as process:
        yield process


def test_a_second_server_is_refused_until_the_first_is_gone(
    tmp_path: Path, other: subprocess.Popen[bytes]
) -> None:
    with pytest.raises(StoreError, match=rf"process {other.pid}\) keeps its runs in {tmp_path}.*ACVB_HOME"):
        StoreLock(tmp_path)
    other.kill()
    other.wait()
    first, again = StoreLock(tmp_path), StoreLock(tmp_path)
    assert (tmp_path / "server.lock").read_text() == f"{os.getpid()}\n"
    for lock in (again, first):
        lock.release()


def test_results_are_written_by_one_process_at_a_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whichever command it is; one that was killed leaves no lock, and one that has ended no file of it."""
    out, small = str(tmp_path / "out"), ("sample:southern_women", "--quiet", "--max-sweeps", "2")
    commands = {
        "fit": ("fit", *small),
        "compare": ("compare", *small, "--methods", "vb"),
        "experiment": ("experiment", *small, "--methods", "vb", "--splits", "1"),
        "tune": ("tune", "sample:bars", "--quiet", "--k", "2"),
    }
    with held(tmp_path / "out", "OUTPUT") as process:
        for command in commands.values():
            assert main([*command, "--out", out]) == 2
            told = capsys.readouterr()
            assert f"another process ({process.pid}) writes its results to {out}" in told.err
            assert told.out == ""
        assert [path.name for path in (tmp_path / "out").iterdir()] == [OUTPUT.file]
    assert main([*commands["fit"], "--out", out]) == 0
    assert not (tmp_path / "out" / OUTPUT.file).exists()


def test_a_list_that_another_process_holds_is_waited_for_so_long_and_no_longer(
    store: RunStore, women: Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "PATIENCE", 0.1)
    with (
        index.open_connection(store.folder / "runs.sqlite3", write=True),
        pytest.raises(StoreError, match=r"runs\.sqlite3. is in use by another process for more than 0.1 s"),
    ):
        store.save("mine", "run", 1.0, women)
