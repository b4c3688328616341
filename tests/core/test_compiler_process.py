"""Processes that compile beside this one."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator

import pytest

from acvb_core.core import compiler_process
from acvb_core.core.compiler_process import share_compiling, start_compiler, start_first_compiler


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[list[str]]]:
    """What was started; in its place, a process that would sleep for a minute."""
    seen: list[list[str]] = []
    start = subprocess.Popen

    def sleep(command: list[str], **options: object) -> subprocess.Popen[bytes]:
        seen.append(command[2:])
        return start(["sleep", "60"])

    monkeypatch.setattr(compiler_process, "_started", [])
    monkeypatch.setattr(subprocess, "Popen", sleep)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    yield seen
    for process in compiler_process._started:
        process.terminate()
        process.wait()


def test_work_is_shared_with_one_process_at_a_time(commands: list[list[str]]) -> None:
    compiler = start_compiler()
    with share_compiling("irm", "vb"):
        assert len(commands) == 1
    assert compiler is not None
    assert compiler.poll() is None
    compiler.terminate()
    compiler.wait()
    with share_compiling("irm", "vb"):
        assert len(commands) == 2


def test_the_process_of_an_app_starts_once(commands: list[list[str]]) -> None:
    start_first_compiler.cache_clear()
    assert start_first_compiler() is start_first_compiler()
    start_first_compiler.cache_clear()
    assert [command[3:] for command in commands] == [["--if-new"]]
