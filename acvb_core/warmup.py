"""`acvb warmup` compiles every kernel into Numba's cache on disk, so that no first run waits for it.

A run compiles what it needs before it starts. An app that starts has this program compile beside it where a kernel is
missing, in two processes where there are two cores, and reads all kernels from the cache in the background.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

from numba.core import event

from acvb_core.core.compiler_process import (
    BESIDE,
    IF_NEW,
    share_compiling,
    start_compiler,
    start_first_compiler,
)
from acvb_core.core.files import scratch_prefix
from acvb_core.core.parallel import wait_until_idle
from acvb_core.core.spec import MethodSpec, ModelSpec
from acvb_core.data.corpora.disk_build import read_to_disk
from acvb_core.data.corpora.readers import load_corpus
from acvb_core.data.relation_readers import load_relation
from acvb_core.data.table_build import load_table
from acvb_core.engine.compilation import (
    CompilationRequest,
    compile_method,
    compile_other_half,
    refuse_to_compile,
)
from acvb_core.engine.machine import one_thread
from acvb_core.registry import MODELS, method_row, methods_of, model_row

#: Two topics of five words each, the words of a document repeated now and then.
_WORDS = "".join(f"d{i},w{(i % 2) * 5 + j},{1 + (i + j) % 3}\n" for i in range(12) for j in range(5))

#: Compile all functions, those first that another process compiles last.
_BACKWARDS = "--backwards"
#: Pages are drawn before the process of an app continues; runs, which may wait for it, are not until the first method
#: is compiled. Then the process falls behind them by as much again.
_NICENESS = 5

#: Settings that decide which compiled functions are used: all their values are tried.
_VARIED = ("variance", "track")


def warm_up_beside() -> None:
    """Make every compiled function ready in this process; what the cache on disk lacks, others compile first."""
    for start in (start_first_compiler, start_compiler):
        try:
            with refuse_to_compile():
                warm_up()
        except CompilationRequest:
            compiler = start()
            if compiler is not None:
                compiler.wait()
    warm_up()


def warm_up(gives_way: bool = False) -> int:
    """Use every compiled function once on tiny data, those that a first run needs before others.

    While another thread of this process computes, this one waits: a run makes ready for itself what it needs.
    """
    _read_files()
    first, *others = _choices()
    runs = compile_method(*first)
    if gives_way:
        _give_way()
    for choice in others:
        wait_until_idle()
        runs += compile_method(*choice)
    wait_until_idle()
    _use_figures()
    return runs


def _warm_up_backwards() -> None:
    """Do the same, but of the first method the other half, and then the others from the last."""
    first, *others = _choices()
    compile_other_half(*first)
    _give_way()
    for choice in reversed(others):
        compile_method(*choice)
    _use_figures()
    _read_files()


def _is_new() -> bool:
    """Return whether a function is missing that the first method needs."""
    try:
        with refuse_to_compile():
            compile_method(*_choices()[0])
    except CompilationRequest:
        return True
    return False


def _choices() -> list[tuple[ModelSpec, MethodSpec, dict[str, Any]]]:
    """Return each method with each of its settings that decide what is compiled, the most common first."""
    choices = [
        (model, method, method.values(chosen))
        for model in MODELS
        for method in methods_of(model.name)
        for chosen in _settings(method)
    ]
    return sorted(choices, key=_is_rare)


def _is_rare(choice: tuple[ModelSpec, MethodSpec, dict[str, Any]]) -> tuple[bool, bool]:
    """Return a key by which averaged methods and default settings come first: they are what a newcomer starts."""
    _, method, values = choice
    return values != method.values({}), not method.averaged


def _settings(method: MethodSpec) -> Iterator[dict[str, Any]]:
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
    with tempfile.TemporaryDirectory(
        prefix=scratch_prefix()
    ) as folder:  # documents out of order, which are sorted on disk
        read_to_disk(
            b"document,word,count\n" + b"a,x,2\nb,y,1\na,y,3\n", Path(folder) / "warmup", name="warmup"
        )
    load_corpus(b"document,word,count\n" + _WORDS.encode(), name="warmup")
    load_table(b"a,b,c\n1.5,-2,3e5\n0.25,4,\n7,1,-2\n", name="warmup")


class _Orphan(event.Listener):
    """Ends this process before it compiles, once the one that started it is gone."""

    def __init__(self, parent: int) -> None:
        self._parent = parent

    def on_start(self, event: Any) -> None:
        if os.getppid() != self._parent:
            os._exit(1)

    def on_end(self, event: Any) -> None:
        pass


def _give_way() -> None:
    """Let other processes go before this one."""
    if hasattr(os, "nice"):
        os.nice(_NICENESS)


def _end_with(parent: int) -> None:
    event.register("numba:compile", _Orphan(parent))


def warmup(arguments: argparse.Namespace | None = None, gives_way: bool = False) -> int:
    """Compile everything, and say in one line how long it took; return the exit code."""
    begun = time.monotonic()
    if arguments is not None:
        sys.stderr.write("making all methods ready: a few minutes the first time\n")
    with one_thread(), share_compiling(_BACKWARDS):
        runs = warm_up(gives_way)
    sys.stdout.write(f"The kernels are compiled ({runs} runs, {time.monotonic() - begun:.1f} s).\n")
    return 0


def main() -> int:
    """Compile all, or beside another process what that one asks for."""
    arguments = sys.argv[1:]
    gives_way = False
    if arguments[:1] == [BESIDE]:
        _end_with(int(arguments[1]))
        arguments = arguments[2:]
        if gives_way := arguments in ([], [IF_NEW]):
            _give_way()
    with one_thread():
        if len(arguments) == 3:
            model, method, what = arguments
            compile_other_half(model_row(model), method_row(model, method), *json.loads(what))
            return 0
        if arguments == [_BACKWARDS]:
            _warm_up_backwards()
            return 0
        if arguments == [IF_NEW] and not _is_new():
            return 0
    return warmup(gives_way=gives_way)


if __name__ == "__main__":
    sys.exit(main())
