"""Plant a fault in a copy of the project, and run the tests there that are nearest to it."""

from __future__ import annotations

import ast
import json
import os
import re
import resource
import shutil
import sys
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import NamedTuple, NoReturn

import numpy as np
import pytest

from .faults import Fault

#: Imported once for all trials.
_LIBRARIES = ("numba", "pandas", "pyarrow", "scipy.optimize", "scipy.sparse.linalg", "plotly.graph_objects")
for _library in _LIBRARIES:
    import_module(_library)

ROOT = Path(__file__).resolve().parents[2]
#: What no test reads.
_NOT_COPIED = (".git", ".venv", ".mypy_cache", ".ruff_cache", ".hypothesis", "test-output")
#: Modules and folders that have a method's name.
_METHODS = ("fab", "gibbs", "ibp", "meibp", "scvb0", "sdm", "svb", "vb")
#: Bytes of address space: a fault that asks for ever more memory fails.
_MEMORY = 8 << 30


class Outcome(NamedTuple):
    """What the tests did with a fault."""

    kind: str  #: "caught", "crashed" (the process ended), "hung" (a test did not end) or "missed"
    test: str  #: the test that failed, or in which the process ended; empty if none
    seconds: float  #: processor time


class Trials:
    """Trials one after another: each learns from those before how long tests take.

    Copies and times are kept in `folder`; `limit` is in CPU seconds a round. Round 1 has the tests about the module,
    round 2 those of its folder and room, round 3 those farther away.
    """

    def __init__(self, folder: Path, limit: float, rounds: int) -> None:
        self._folder, self._limit, self._rounds = folder, limit, rounds
        self._times = folder / "seconds.json"
        self._seconds: dict[str, float] = json.loads(self._times.read_text()) if self._times.exists() else {}

    def try_fault(self, fault: Fault) -> Outcome:
        """Run tests on a copy with the fault until one fails or their time is over."""
        copy = self._copy()
        path = copy / fault.path
        changed = fault.plant(path.read_text())
        path.unlink()  # it is the project's own file
        path.write_text(changed)
        for module in (fault.path, *_importers(fault.path)):
            for compiled in (copy / module).parent.glob(f"__pycache__/{Path(module).stem}.*.nb?"):
                compiled.unlink()
        spent = 0.0
        rounds = nearest_tests(fault.path)
        for stages in rounds[: len(rounds) - 3 + self._rounds]:
            kind, test, seconds = self._run(copy, stages, _words(fault.path))
            spent += seconds
            if kind != "missed":
                return Outcome(kind, test, spent)
        return Outcome("missed", "", spent)

    def run_without_fault(self, tests: list[str]) -> Outcome:
        """Run tests in the same way on a copy as it is; "missed" says that they all pass."""
        if not tests:
            return Outcome("missed", "", 0.0)
        return self._run(self._copy(), [sorted(set(tests))], [""], np.inf)

    def _copy(self) -> Path:
        """Return a new copy of the project, of links to its files: what is written takes their place."""
        copy = self._folder / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        # Files keep their times: by them Python and Numba know what was compiled from the sources.
        left_out = shutil.ignore_patterns(*_NOT_COPIED)
        shutil.copytree(ROOT, copy, ignore=left_out, symlinks=True, copy_function=os.link)
        return copy

    def _run(
        self, copy: Path, stages: list[list[str]], words: list[str], limit: float | None = None
    ) -> Outcome:
        """Run the tests of some stages in one process; `words`: of these, a test of the contract names one."""
        trial = self._folder / "trial.json"
        for old in self._folder.glob("trial.*"):
            old.unlink()
        orders = {"stages": stages, "words": words, "limit": limit or self._limit, "seconds": self._seconds}
        trial.write_text(json.dumps(orders))
        places = list(dict.fromkeys(place for stage in stages for place in stage))
        pid = os.fork()
        if pid == 0:
            _run_pytest(copy, trial, self._folder / "output.txt", _outermost(places))
        _, _, usage = os.wait4(pid, 0)
        return self._read(trial, usage.ru_utime + usage.ru_stime)

    def _read(self, trial: Path, seconds: float) -> Outcome:
        written, hang = trial.with_suffix(".report"), trial.with_suffix(".hang")
        if not written.exists():  # it ended before the first test: a catch if the package is the reason
            output = (self._folder / "output.txt").read_text()
            if "while loading conftest" not in output:
                raise RuntimeError(f"No test was run:\n{output[-2000:]}")
            return Outcome("caught", "tests/conftest.py", seconds)
        report = json.loads(written.read_text())
        self._seconds |= report["seconds"]
        self._times.write_text(json.dumps(self._seconds))
        if report["failed"] is not None:
            return Outcome("caught", report["failed"], seconds)
        if report["test"] is not None:
            return Outcome("hung" if hang.stat().st_size else "crashed", report["test"], seconds)
        return Outcome("missed", "", seconds)


def _run_pytest(copy: Path, trial: Path, output: Path, places: list[str]) -> NoReturn:
    """Run tests in this process, which was forked for it and ends with them: the libraries are there already."""
    with output.open("w") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    os.chdir(copy)
    os.environ["ACVB_TRIAL"] = str(trial)
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    # Everything of the project comes from the copy.
    sys.path[:] = [
        str(copy),
        *(place for place in sys.path if Path(place or ".").resolve() not in (ROOT, copy)),
    ]
    for name in [name for name in sys.modules if name.split(".")[0] == "benchmarks"]:
        del sys.modules[name]
    code = 1
    try:
        options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "benchmarks.planted_faults.order"]
        code = pytest.main([*options, *places])
    finally:
        os._exit(code)


def nearest_tests(path: str) -> list[list[list[str]]]:
    """Return the tests of a module in three rounds, each in stages: about the module, around it, and farther away."""
    module = Path(path)
    mirror = Path("tests") / module.parent.relative_to("acvb_core")
    room = Path(*mirror.parts[:3]) if mirror.parts[1] == "models" else Path(*mirror.parts[:2])
    around = [p for p in _test_modules() if p.is_relative_to(room) and "figures" not in p.parts]
    own = [p for p in around if p.parent == mirror and p.stem.startswith(f"test_{module.stem}")]
    own += [p for p in _test_modules() if p not in own and _names_module((ROOT / p).read_text(), module)]
    folder = [p for p in around if p.is_relative_to(mirror)]
    near = [[p for p in own if p.is_relative_to(room)], own], [folder, around]
    farther = {
        "models": [
            ["tests/contract"],
            ["tests/engine", "tests/store"],
            ["tests/cli", "tests/test_readme.py"],
        ],
        "engine": [["tests/store"], ["tests/cli", "tests/test_public_api.py"], ["tests/pages"]],
        "store": [["tests/engine"], ["tests/cli", "tests/test_public_api.py"], ["tests/pages"]],
    }[mirror.parts[1]]
    rounds = [[[str(p) for p in stage] for stage in stages if stage] for stages in near]
    return [*([rounds[0]] if rounds[0] else []), rounds[1], farther]


@cache
def _test_modules() -> list[Path]:
    """Return the modules of tests, those of the pages and of the contract left out."""
    modules = [p.relative_to(ROOT) for p in sorted((ROOT / "tests").rglob("test_*.py"))]
    return [p for p in modules if p.parts[1] not in ("browser", "contract", "oracles", "pages")]


def _names_module(text: str, module: Path) -> bool:
    """Return whether a test names a module of the package: it imports it, or something from it."""
    parent = ".".join(module.parent.parts)
    names = rf"from {parent}\.{module.stem} import|from {parent} import .*\b{module.stem}\b"
    return re.search(names, text) is not None


def _outermost(places: list[str]) -> list[str]:
    """Return the places that lie in no other one."""
    return [p for p in places if not any(p != o and p.startswith(f"{o}/") for o in places)]


def _words(path: str) -> list[str]:
    """Return of which model, or of which of its methods, the tests of the contract are to be."""
    parts = Path(path).parts
    if parts[1] != "models":
        return [""]
    models = ["irm", "network"] if parts[2] == "irm" else [parts[2]]
    method = next((name for name in (*parts[3:-1], Path(path).stem) if name in _METHODS), "")
    return [f"{model}-{method}" for model in models]


@cache
def _imports(root: Path) -> dict[str, set[str]]:
    """Return for each module of the package the modules that it takes names from, as paths."""
    taken: dict[str, set[str]] = {}
    for file in sorted((root / "acvb_core").rglob("*.py")):
        names = set()
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module:
                names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        taken[str(file.relative_to(root))] = {f"{name.replace('.', '/')}.py" for name in names}
    return taken


def _importers(path: str) -> set[str]:
    """Return the modules that take names from one, themselves or through others: their kernels may hold its code."""
    found, new = set(), {path}
    while new:
        found |= new
        new = {module for module, taken in _imports(ROOT).items() if taken & new} - found
    return found - {path}
