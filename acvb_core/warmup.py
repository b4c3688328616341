"""`python -m acvb_core.warmup`: compiles every kernel into Numba's cache on disk, so that no first run waits for it.

A run compiles what it needs before it starts. An app that starts reads all kernels from the cache in the background;
where one is missing, this program compiles all of them beside it, at low priority.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import Any

from acvb_core.core.rows import Method, ModelRow
from acvb_core.data.corpora.disk_writer import read_to_disk
from acvb_core.data.corpora.readers import load_corpus
from acvb_core.data.relations.readers import load_relation
from acvb_core.data.tables.readers import load_table
from acvb_core.engine.compilation import CompilationRequest, compile_method, refuse_to_compile
from acvb_core.engine.threads import one_thread
from acvb_core.registry import MODELS, methods_of

#: Two topics of five words each, the words of a document repeated now and then.
_WORDS = "".join(f"d{i},w{(i % 2) * 5 + j},{1 + (i + j) % 3}\n" for i in range(12) for j in range(5))

#: Followed by the id of the app's process.
BESIDE = "--beside"

#: Settings that decide which compiled functions are used: all their values are tried.
_VARIED = ("variance", "track")


def warm_up_beside() -> None:
    """Make every compiled function ready in this process; what the cache on disk lacks, another one compiles first."""
    try:
        with refuse_to_compile():
            warm_up()
    except CompilationRequest:
        with suppress(OSError):
            # In a session of its own, Ctrl-C does not interrupt it while it writes.
            subprocess.run(
                [sys.executable, "-m", "acvb_core.warmup", BESIDE, str(os.getpid())],
                cwd=Path(__file__).parents[1],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        warm_up()


def warm_up(go_on: Callable[[], bool] = lambda: True) -> int:
    """Use every compiled function once on tiny data, those that a first run needs before others.

    `go_on`: asked before each run; False ends the work early.
    """
    _read_files()
    runs = 0
    for model, method, values in sorted(_choices(), key=_is_rare):
        if not go_on():
            return runs
        runs += compile_method(model, method, values)
    _use_figures()
    return runs


def _choices() -> Iterator[tuple[ModelRow, Method, dict[str, Any]]]:
    """Give each method with each of its settings that decide what is compiled."""
    for model in MODELS:
        for method in methods_of(model.name):
            for chosen in _settings(method):
                yield model, method, method.values(chosen)


def _is_rare(choice: tuple[ModelRow, Method, dict[str, Any]]) -> tuple[bool, bool]:
    """Return a key by which averaged methods and default settings come first: they are what a newcomer starts."""
    _, method, values = choice
    return values != method.values({}), not method.averaged


def _settings(method: Method) -> Iterator[dict[str, Any]]:
    """Give the settings to try a method with."""
    varied = [parameter for parameter in method.parameters if parameter.name in _VARIED]
    for chosen in product(*((True, False) if p.kind == "bool" else p.choices for p in varied)):
        yield {p.name: value for p, value in zip(varied, chosen, strict=True)}


def _use_figures() -> None:
    """Call the compiled functions of figures."""
    for model in MODELS:
        if (use_figures := model.warm_up().use_figures) is not None:
            use_figures()


def _read_files() -> None:
    """Read small files of every kind."""
    many = "a,b\n" + "".join(f"x{i},y{i}\n" for i in range(2000)) + "x0,y0\n"
    load_relation(many.encode(), name="many")
    load_relation(b"a,b,value\nx,y,1\nx,z,0\nw,z,3\n", name="values")
    load_relation(b"a,x,y\nu,1,0\nv,0,1\n", name="matrix", format="matrix")
    with tempfile.TemporaryDirectory() as folder:  # documents out of order, which are sorted on disk
        read_to_disk(
            b"document,word,count\n" + b"a,x,2\nb,y,1\na,y,3\n", Path(folder) / "warmup", name="warmup"
        )
    load_corpus(b"document,word,count\n" + _WORDS.encode(), name="warmup")
    load_table(b"a,b,c\n1.5,-2,3e5\n0.25,4,\n7,1,-2\n", name="warmup")


def main() -> int:
    """Compile, and say in one line how long it took; beside an app, at low priority and only while that runs."""
    app = int(sys.argv[2]) if sys.argv[1:2] == [BESIDE] else None
    if app is not None and hasattr(os, "nice"):
        os.nice(19)
    begun = time.monotonic()
    with one_thread():
        runs = warm_up(lambda: app is None or os.getppid() == app)
    sys.stdout.write(f"The kernels are compiled ({runs} runs, {time.monotonic() - begun:.1f} s).\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
