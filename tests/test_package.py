"""`pip install .`: everything the package needs at run time is in the wheel."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
DEBRIS = ("__pycache__", "*.pyc", "*.nbi", "*.nbc", ".*")


def files_below(folder: Path) -> set[str]:
    return {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and not path.name.startswith(".")
    }


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """The wheel, built from a copy so that the checkout stays as it is."""
    copy = tmp_path_factory.mktemp("source")
    for name in ("acvb_core", "sample_data"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns(*DEBRIS))
    for name in ("setup.py", "pyproject.toml", "LICENSE", "README.md"):
        shutil.copy(ROOT / name, copy)
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--no-index"]
    built = subprocess.run([*command, "--wheel-dir", copy / "dist", copy], capture_output=True, text=True)
    assert built.returncode == 0, built.stdout + built.stderr
    (path,) = (copy / "dist").glob("*.whl")
    return zipfile.ZipFile(path)


def test_modules_and_sample_data_are_in_the_wheel(wheel: zipfile.ZipFile) -> None:
    expected = {
        f"acvb_core/{name}" for name in files_below(ROOT / "acvb_core") if name.endswith((".py", "py.typed"))
    }
    expected |= {f"acvb_core/sample_data/{name}" for name in files_below(ROOT / "sample_data")}
    assert expected <= set(wheel.namelist())


def test_nothing_of_the_app_is_in_the_wheel(wheel: zipfile.ZipFile) -> None:
    assert {re.split("[/-]", name)[0] for name in wheel.namelist()} == {"acvb_core"}


def test_an_app_is_not_installed_with_a_server_of_known_weaknesses(wheel: zipfile.ZipFile) -> None:
    """Starlette up to 1.0.0 has CVE-2026-48710, up to 1.3.0 CVE-2026-54282 and CVE-2026-54283."""
    (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    (line,) = (line for line in wheel.read(name).decode().splitlines() if "starlette" in line)
    allowed = Requirement(line.removeprefix("Requires-Dist: ")).specifier
    assert [version for version in ("0.46.2", "1.0.0", "1.2.0", "1.3.0") if version in allowed] == []
    assert "1.3.1" in allowed
