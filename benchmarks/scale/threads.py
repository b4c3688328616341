"""One run of topics over cells and threads of this machine: time of a sweep, bits, and scores against one cell."""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections import deque
from typing import Any

import numpy as np

from acvb_core.core.parallel import helper_seconds, use_threads
from acvb_core.data.corpus import Corpus
from acvb_core.engine.machine import one_thread
from acvb_core.engine.prepared import prepare_run
from acvb_core.engine.run import Schedule
from acvb_core.engine.run import run as sweeps
from acvb_core.registry import method_row

#: Sweeps that are not timed.
_FIRST = 3


class _Sweeps:
    """A run of which one sweep at a time is done, on so many threads."""

    def __init__(self, corpus: Corpus, method: str, k: int, cells: int, threads: int) -> None:
        row = method_row("lda", method)
        values = {"k": k, "cells": cells, "hyper": "fixed", "shrink": 0.0}
        values |= {"burn_in": 1} if row.averaged else {}
        self.algorithm, self.threads = row.build(corpus, row.values(values)), threads
        self.state = self.algorithm.init(np.random.default_rng(0))
        self.wall: list[float] = []
        self.cpu: list[float] = []
        #: Processor seconds of the busier of two threads: what the clock would show if no other program ran.
        self.busier: list[float] = []

    def sweep(self) -> None:
        """Do the next sweep."""
        with use_threads(self.threads), one_thread():
            begun = time.perf_counter(), time.thread_time(), helper_seconds()
            self.state, _ = self.algorithm.sweep(self.state, np.random.default_rng(0))
            ended = time.perf_counter(), time.thread_time(), helper_seconds()
        wall, own, helped = (after - before for after, before in zip(ended, begun, strict=True))
        self.wall.append(wall)
        self.cpu.append(own + helped)
        self.busier.append(max(own, helped))

    def digest(self) -> str:
        """Return what tells the bits of the answer."""
        arrays = self.algorithm.posterior(self.state).arrays
        bits = b"".join(np.ascontiguousarray(arrays[name]).tobytes() for name in ("words", "documents"))
        return hashlib.sha256(bits).hexdigest()[:16]


def time_sweeps(corpus: Corpus, method: str, k: int, cells: int, threads: int, rounds: int) -> dict[str, Any]:
    """Return seconds of a sweep of one cell, of all cells on one thread and on several, taken in turns."""
    runs = {
        "one cell": _Sweeps(corpus, method, k, 1, 1),
        "one thread": _Sweeps(corpus, method, k, cells, 1),
        f"{threads} threads": _Sweeps(corpus, method, k, cells, threads),
    }
    for _ in range(_FIRST + rounds):
        for run in runs.values():
            run.sweep()
    serial, one, several = runs.values()

    def ratio(slow: list[float], fast: list[float]) -> float:
        return round(float(np.median(np.array(slow[_FIRST:]) / np.array(fast[_FIRST:]))), 3)

    found: dict[str, Any] = {
        name: {
            "wall_ms": round(1e3 * float(np.median(run.wall[_FIRST:])), 3),
            "fastest_wall_ms": round(1e3 * min(run.wall[_FIRST:]), 3),
            "cpu_ms": round(1e3 * float(np.median(run.cpu[_FIRST:])), 3),
        }
        for name, run in runs.items()
    }
    return found | {
        "threads_to_one": ratio(one.wall, several.wall),
        "threads_to_one_cell": ratio(serial.wall, several.wall),
        "one_thread_to_one_cell": ratio(serial.cpu, one.cpu),
        "threads_to_one_by_cpu_of_the_busier": ratio(one.cpu, several.busier),
        "same_bits": one.digest() == several.digest(),
        "digest": several.digest(),
    }


def score_cells(corpus: Corpus, method: str, k: int, cells: int, n_sweeps: int, seeds: int) -> dict[str, Any]:
    """Return the held-out perplexity at the end of runs of one cell and of all cells, for each seed."""
    values = {"k": k, "max_sweeps": n_sweeps, "tol": 1e-12}
    found: dict[str, Any] = {}
    for name, n in (("one cell", 1), ("cells", cells)):
        prepared_runs = (
            prepare_run(corpus, method, values | {"cells": n}, heldout=0.1, seed=seed)
            for seed in range(seeds)
        )
        lasts = [
            deque(sweeps(prepared, schedule=Schedule(n_sweeps, n_sweeps)), 1)[0] for prepared in prepared_runs
        ]
        found[name] = [round(float(last.heldout.perplexity), 2) for last in lasts]
    return found | {"cells_to_one": round(float(np.mean(found["cells"]) / np.mean(found["one cell"])), 5)}


def measure_threads(
    corpus: Corpus,
    method: str,
    k: int,
    *,
    cells: int,
    threads: int,
    rounds: int,
    n_sweeps: int,
    seeds: int,
) -> None:
    """Print times, bits and scores."""
    before = os.getloadavg()[0]
    times = time_sweeps(corpus, method, k, cells, threads, rounds)
    load = [round(before, 2), round(os.getloadavg()[0], 2)]
    scores = score_cells(corpus, method, k, cells, n_sweeps, seeds) if n_sweeps else {}
    sys.stdout.write(f"{corpus.size_text}; {method}, K = {k}, {cells} x {cells} cells; load {load}\n")
    for name, value in times.items():
        sys.stdout.write(f"{name:36} {value}\n")
    for name, value in scores.items():
        sys.stdout.write(f"perplexity, {name:24} {value}\n")
