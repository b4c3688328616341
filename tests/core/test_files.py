"""Temporary files are named by their process; what a killed process left is removed; threads read arrays."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from acvb_core.core.files import remove_abandoned, scratch_prefix

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
