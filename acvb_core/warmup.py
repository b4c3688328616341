"""`python -m acvb_core.warmup`: compiles every kernel into Numba's cache on disk, so that no first run waits for it."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

from acvb_core.core.rows import Method
from acvb_core.data.corpora.disk_writer import read_to_disk
from acvb_core.data.corpora.readers import load_corpus
from acvb_core.data.relations.readers import load_relation
from acvb_core.data.tables.readers import load_table
from acvb_core.engine.compilation import compile_method
from acvb_core.engine.threads import one_thread
from acvb_core.registry import MODELS, methods_of

#: Two topics of five words each, the words of a document repeated now and then.
_WORDS = "".join(f"d{i},w{(i % 2) * 5 + j},{1 + (i + j) % 3}\n" for i in range(12) for j in range(5))

#: Settings that decide which compiled functions are used: all their values are tried.
_VARIED = ("variance", "track")


def warm_up() -> int:
    """Use every compiled function once on tiny data.

    Returns: number of runs made; those that were made before in this process are not made again.
    """
    _read_files()
    runs = 0
    for model in MODELS:
        if (use_figures := model.warm_up().use_figures) is not None:
            use_figures()
        for method in methods_of(model.name):
            runs += sum(compile_method(model, method, method.values(chosen)) for chosen in _settings(method))
    return runs


def _settings(method: Method) -> Iterator[dict[str, Any]]:
    """Give the settings to try a method with."""
    varied = [parameter for parameter in method.parameters if parameter.name in _VARIED]
    for chosen in product(*((True, False) if p.kind == "bool" else p.choices for p in varied)):
        yield {p.name: value for p, value in zip(varied, chosen, strict=True)}


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
    """Compile, and say in one line how long it took."""
    begun = time.monotonic()
    with one_thread():
        runs = warm_up()
    sys.stdout.write(f"The kernels are compiled ({runs} runs, {time.monotonic() - begun:.1f} s).\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
