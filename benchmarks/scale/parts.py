"""Time of a run of ACVB0 on texts, part by part.

    python -m benchmarks.scale parts --k 50 --sweeps 40 [--burn-in 1]

The 10,000 texts are planted, of 50,000 words. All runs on one thread; times are CPU seconds, from a profile of the run
itself: start, sweeps and diagnostics. With `--burn-in 1` the running mean begins at once, so its part is that of every
sweep. For comparison: what NumPy takes to copy the responsibilities, and to add as many numbers to them, the pace that
memory allows one thread.
"""

from __future__ import annotations

import cProfile
import pstats
import time
from collections.abc import Callable

import numpy as np

from acvb_core.core.parallel import use_threads
from acvb_core.engine.prepared import prepare_run
from acvb_core.engine.run import run
from benchmarks.growth.texts import draw_corpus
from benchmarks.harness import print_load

#: Parts, and the functions (file, name) whose whole time, with what they call, is theirs.
PARTS: dict[str, tuple[tuple[str, str], ...]] = {
    "update": (("models/lda/kernels.py", "zeroth_order"),),
    "copies of the counts": (("models/lda/state.py", "copy_counts"),),
    "mean of the responsibilities": (("core/averaging.py", "blend"),),
    "mean of the counts": (("core/averaging.py", "update_mean"),),
    "alpha and beta": (("models/lda/cvb.py", "_minka_step"),),
    "lower bound": (("models/lda/model.py", "lower_bound"),),
    "collapsed bound": (("models/lda/model.py", "extras"),),
    "start": (("models/lda/cvb.py", "init"),),
}
_ROUNDS, _DOCUMENTS = 7, 10_000


def time_parts(documents: int, k: int, sweeps: int, burn_in: int) -> dict[str, float]:
    """Return CPU milliseconds a sweep of each part of a run, and of the whole."""
    corpus = draw_corpus(documents)
    values = {"k": k, "max_sweeps": sweeps, "burn_in": burn_in, "tol": 1e-12}
    prepared = prepare_run(corpus, "acvb0", values, model="lda", seed=0)
    profile = cProfile.Profile(time.thread_time)
    with use_threads(1):
        for _ in run(prepared, max_sweeps=1):  # compiled before times are taken
            pass
        profile.enable()
        for _ in run(prepared):
            pass
        profile.disable()
    stats = pstats.Stats(profile)
    table: dict[tuple[str, int, str], tuple[int, int, float, float]] = vars(stats)["stats"]

    def add_up(functions: tuple[tuple[str, str], ...]) -> float:
        return sum(
            row[3]
            for (file, _, name), row in table.items()
            if any(file.endswith(path) and name == wanted for path, wanted in functions)
        )

    found = {part: add_up(functions) for part, functions in PARTS.items()}
    whole = float(vars(stats)["total_tt"])
    found["rest"] = whole - sum(found.values())
    return {part: 1e3 * seconds / sweeps for part, seconds in (found | {"whole": whole}).items()}


def time_memory(n_numbers: int) -> dict[str, float]:
    """Return GB a second that NumPy reads and writes on one thread."""
    one, other = np.ones(n_numbers, np.float32), np.ones(n_numbers, np.float32)
    calls: dict[str, tuple[int, Callable[[], object]]] = {
        "copy (2 numbers moved)": (2, lambda: np.copyto(one, other)),
        "add (3 numbers moved)": (3, lambda: np.add(one, other, out=one)),
    }
    found = {}
    for name, (moved, call) in calls.items():
        taken = []
        for _ in range(_ROUNDS):
            begun = time.thread_time()
            call()
            taken.append(time.thread_time() - begun)
        found[name] = 1e-9 * moved * one.nbytes / float(np.median(taken))
    return found


def print_parts(k: int, sweeps: int, burn_in: int) -> None:
    """Print the parts of a run, and the pace of memory."""
    parts = time_parts(_DOCUMENTS, k, sweeps, burn_in)
    for part, milliseconds in parts.items():
        print(f"{part:30} {milliseconds:8.2f} ms a sweep {milliseconds / parts['whole']:6.1%}")
    for name, pace in time_memory(1_000_000 * k // 2).items():
        print(f"{name:30} {pace:8.1f} GB/s")
    print_load()
