"""The scripts the README names: they parse, explain themselves, and say in one sentence what is wrong."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from tests.loops import for_each

ROOT = Path(__file__).resolve().parents[1]
SCRIPTS = sorted(
    path
    for folder in ("script", ".ci")
    for path in (ROOT / folder).iterdir()
    if path.is_file() and (path.suffix == ".sh" or path.read_bytes().startswith(b"#!/usr/bin/env bash"))
)


def run(*command: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        text=True,
        timeout=300,
        stdin=subprocess.DEVNULL,
        env={**os.environ, **environment},
    )


@pytest.fixture
def bare_checkout(tmp_path: Path) -> Path:
    """The scripts alone, without an environment."""
    shutil.copytree(ROOT / "script", tmp_path / "script")
    shutil.copy(ROOT / "requirements.txt", tmp_path)
    return tmp_path


@for_each("path", SCRIPTS)
def test_bash_parses(path: Path) -> None:
    result = run("bash", "-n", path)
    assert result.returncode == 0, result.stderr


@for_each("name", ["server", "test", "bench"])
@for_each("flag", ["--help", "-h"])
def test_help(name: str, flag: str) -> None:
    result = run(ROOT / "script" / name, flag)
    assert result.returncode == 0
    assert result.stdout.startswith(f"Usage: script/{name}")
    assert result.stderr == ""


def test_server_says_that_there_is_no_python(bare_checkout: Path) -> None:
    bash = shutil.which("bash")
    assert bash
    tools = bare_checkout / "bin"
    tools.mkdir()
    for name in ("dirname", "basename"):
        (tools / name).symlink_to(shutil.which(name) or "")
    # Names on PATH that do not work, as version managers leave behind.
    (tools / "python3.13").write_text("#!/bin/sh\nexit 127\n")
    (tools / "python3.13").chmod(0o755)
    result = run(bash, bare_checkout / "script/server", PATH=str(tools), PYTHON="")
    assert result.returncode == 1
    assert "no Python 3.11 or newer was found" in result.stderr
    assert len(result.stderr.splitlines()) == 1


def put_stand_in(checkout: Path, answers: str) -> Path:
    """Put a stand-in for Python into a checkout whose requirements are installed, and return where it notes calls.

    It answers everything with success, and does what `answers` says before that.
    """
    python = checkout / ".venv/bin/python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\necho "$@" >>asked\n{answers}\nexit 0\n')
    python.chmod(0o755)
    (checkout / "acvb_core").mkdir()
    (checkout / "acvb_core/warmup.py").touch()
    (checkout / "tests/oracles").mkdir(parents=True)
    (checkout / "app.py").touch()
    for name in ("requirements.txt", "requirements-dev.txt"):
        shutil.copy(ROOT / name, checkout)
        shutil.copy(ROOT / name, checkout / f".venv/installed-{name}")
    both = (ROOT / "requirements-dev.txt").read_text() + (ROOT / "requirements.txt").read_text()
    (checkout / ".venv/installed-requirements-dev.txt").write_text(both)
    return checkout / "asked"


def test_server_hands_its_arguments_to_the_command(bare_checkout: Path) -> None:
    """Nothing is compiled before that."""
    asked = put_stand_in(bare_checkout, '[ "$2" = acvb_core ] && printf "%s|" "$@"')
    result = run(bare_checkout / "script/server", "--host", "box.local", "--allow=a name")
    assert result.stdout == "-m|acvb_core|app|--host|box.local|--allow=a name|"
    assert "warmup" not in asked.read_text()


def test_kernels_are_compiled_after_a_change_and_deleted_after_one_of_kernels(bare_checkout: Path) -> None:
    asked = put_stand_in(bare_checkout, 'case "$*" in *warmup*) touch acvb_core/kernels.nbi ;; esac')
    package = bare_checkout / "acvb_core"
    (package / "kernels.py").write_text("@nb.njit\n")
    (package / "plain.py").write_text("x = 1\n")

    def count_compilations(*changed: str) -> int:
        for name in changed:
            os.utime(bare_checkout / name, (time.time() + 60,) * 2)
        result = run(bare_checkout / "script/test", "unit")
        assert result.returncode == 0, result.stderr
        assert "pytest" in asked.read_text().splitlines()[-1]
        return asked.read_text().count("acvb_core.warmup")

    assert count_compilations() == 1
    (package / "old.nbi").touch()
    assert count_compilations() == 1
    assert count_compilations("acvb_core/plain.py") == 2
    assert (package / "old.nbi").exists()
    assert count_compilations("acvb_core/kernels.py") == 3
    assert not (package / "old.nbi").exists()
    assert (package / "kernels.nbi").exists()
