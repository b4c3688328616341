"""One process a folder: a second one is told who has it, and gets it when the first is gone."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from acvb_core.cli import main
from acvb_core.store.files import OUTPUT, StoreError, StoreLock

HOLD = """
import sys, time
from pathlib import Path
from acvb_core.store import files
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


def test_a_folder_that_cannot_be_written_to_needs_no_lock(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    StoreLock(tmp_path / "file").release()
    assert (tmp_path / "file").read_text() == ""


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
