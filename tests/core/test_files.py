"""Temporary files are named by their process; what a killed process left is removed; threads read arrays."""

from __future__ import annotations

import gc
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from acvb_core.core.files import remove_abandoned, scratch_prefix
from acvb_core.data.disk import load_array
from acvb_core.store.files import read_npz
from tests.loops import for_each

ROOT = Path(__file__).resolve().parents[2]
LEAVE = """
import os, sys, tempfile
from acvb_core.core.files import scratch_prefix
folder = tempfile.mkdtemp(prefix=scratch_prefix(), dir=sys.argv[1])
open(os.path.join(folder, "part"), "w").close()
print(folder, flush=True)
sys.stdin.read()
"""


def test_every_temporary_file_is_named_by_its_process() -> None:
    made = re.compile(r"\b(?:mkdtemp|mkstemp|\w*Temporary(?:Directory|File))\(")
    for path in (*ROOT.glob("acvb_core/**/*.py"), *ROOT.glob("pages/**/*.py"), ROOT / "app.py"):
        text = path.read_text(encoding="utf-8")
        for call in made.finditer(text):
            assert "prefix=scratch_prefix()" in text[call.end() : call.end() + 80], path


def test_what_a_killed_process_left_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = [sys.executable, "-c", LEAVE, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT) as process:
        assert process.stdout is not None
        left = Path(process.stdout.readline().decode().strip())
        own = tmp_path / f"{scratch_prefix()}mine"
        foreign = [
            tmp_path / name for name in ("acvb-shards-x", "other-here-1-x", "acvb-elsewhere-999999999-x")
        ]
        for folder in (own, *foreign):
            folder.mkdir()
        assert left.name.startswith("acvb-")
        assert remove_abandoned(tmp_path) == []
        process.kill()
    with monkeypatch.context() as user:
        user.setattr(os, "geteuid", lambda: os.getuid() + 1)
        assert remove_abandoned(tmp_path) == []
    assert remove_abandoned(tmp_path) == [left]
    assert set(tmp_path.iterdir()) == {own, *foreign}


class Rubbish:
    """What only the collector clears away; other threads continue meanwhile."""

    def __init__(self) -> None:
        self.itself = self

    def __del__(self) -> None:
        time.sleep(1e-4)


@pytest.fixture
def collect_often() -> Iterator[None]:
    usual = gc.get_threshold()
    gc.set_threshold(5)
    yield
    gc.set_threshold(*usual)


@pytest.mark.usefixtures("collect_often")
@for_each(
    "read", [lambda folder: load_array(folder, "a.npy"), lambda folder: read_npz(folder / "a.npz")["a"]]
)
def test_threads_read_arrays_while_rubbish_is_collected(
    read: Callable[[Path], np.ndarray], tmp_path: Path
) -> None:
    """Before Python 3.11.8, a header that is read while another thread reads one raises SystemError."""
    numbers = np.arange(10)
    np.save(tmp_path / "a.npy", numbers)
    np.savez(tmp_path / "a.npz", a=numbers)

    def read_many(_: int) -> None:
        for _ in range(100):
            Rubbish()
            assert (read(tmp_path) == numbers).all()

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(read_many, range(4)))
