"""Waiting times: starts of the program and of the app, and sweeps of large data.

The time of an answer is what was measured: processor time of a whole process, seconds of the clock, or a ratio.
"""

from __future__ import annotations

import importlib.util
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.growth.__main__ import PARTS, find_exponent, list_sweep_arguments, measure_part
from benchmarks.harness import run_module
from benchmarks.peers.answers import Answer, Clock, PeerAbsentError
from benchmarks.peers.trials import Trial

LINKS = "person,event\nann,a\nann,b\nbob,a\nbob,b\ncid,c\ndee,c\ndee,d\n"


def _time_process(command: list[str]) -> float:
    for _ in range(2):  # the first makes the bytecode that an installed package has
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(command, capture_output=True, text=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode:
            raise RuntimeError((done.stderr.strip().splitlines() or ["it ended without a word"])[-1])
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def time_import(trial: Trial, seed: int, *, module: str) -> Iterator[Answer]:
    """Time a process that only imports a module, `sys` for the bare interpreter."""
    if importlib.util.find_spec(module.split(".")[0]) is None:
        raise PeerAbsentError(f"{module} is not installed")
    seconds = _time_process([sys.executable, "-c", f"import {module}"])
    yield Answer(np.empty(0), seconds, "whole process")


def time_command(trial: Trial, seed: int, *, arguments: list[str]) -> Iterator[Answer]:
    """Time a call of the command line; LINKS means a file of seven links."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "links.csv")
        file.write_text(LINKS)
        arguments = [str(file) if argument == "LINKS" else argument for argument in arguments]
        seconds = _time_process([sys.executable, "-m", "acvb_core", *arguments])
    yield Answer(np.empty(0), seconds, "whole process")


def time_first_curve(trial: Trial, seed: int, *, warm: bool) -> Iterator[Answer]:
    """Time the app in Chromium until an example draws its first curve, by the clock.

    From the start of the app with no kernel compiled; `warm`: from the click, with all of them compiled.
    """
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if chromium is None or importlib.util.find_spec("playwright") is None:
        raise PeerAbsentError("Chromium or playwright is not installed")
    os.environ["CHROMIUM"] = chromium
    times = run_module(["benchmarks.first_curve", *(["--warm"] if warm else [])])
    step = ", ".join(f"{name} {value:.1f}" for name, value in times.items())
    yield Answer(np.empty(0), times["click to curve" if warm else "first curve"], step)


def compare_sweep(trial: Trial, seed: int, *, ones: int, clusters: int) -> Iterator[Answer]:
    """Divide the time of a CVB0 sweep by that of the two SciPy products: the median of the first seven sweeps."""
    figures = run_module(list_sweep_arguments(ones, clusters))
    step = f"{figures['ratio_first_sweep']:.1f} in the first sweep, in which nothing is settled"
    yield Answer(np.empty(0), figures["ratio_median"], step)


def measure_exponent(trial: Trial, seed: int, *, ones: int, sizes: list[int]) -> Iterator[Answer]:
    """Find the power of the number of clusters that the time of the later sweeps grows with."""
    rows = measure_part(replace(PARTS["clusters"], command=partial(list_sweep_arguments, ones)), sizes)
    later, first = (find_exponent(sizes, [row[name] for row in rows]) for name in ("seconds", "first"))
    yield Answer(np.empty(0), later, f"K = {', '.join(map(str, sizes))}; {first:.2f} in the first sweep")


def compare_threads(trial: Trial, seed: int, *, documents: int, k: int) -> Iterator[Answer]:
    """Divide the clock time of a CVB0 sweep of texts on one thread by that of the same 4 x 4 cells on two."""
    from benchmarks.growth.texts import draw_corpus
    from benchmarks.scale.threads import time_sweeps

    corpus = draw_corpus(documents)
    figures = time_sweeps(corpus, "cvb0", k, cells=4, threads=2, rounds=15)
    step = (
        f"{'the same' if figures['same_bits'] else 'OTHER'} bits; {figures['threads_to_one_cell']:.2f} of documents in "
        f"order; {corpus.size_text}, {k} topics"
    )
    yield Answer(np.empty(0), figures["threads_to_one"], step)


def measure_update_share(trial: Trial, seed: int, *, documents: int, k: int, passes: int) -> Iterator[Answer]:
    """Divide the time of a CVB0 sweep, which only updates, by that of a sweep of ACVB0, diagnostics and all."""
    from acvb_core.engine.prepared import prepare_run
    from acvb_core.engine.run import run
    from benchmarks.growth.texts import draw_corpus
    from benchmarks.topic_sweep_cost import sweeps

    corpus = draw_corpus(documents)
    prepared = prepare_run(corpus, "acvb0", {"k": k, "max_sweeps": passes}, model="lda", seed=seed)
    taken = [snapshot.cpu_seconds + snapshot.diagnostics_seconds for snapshot in run(prepared)]
    sweep, clock = sweeps(corpus, k, "cvb0"), Clock()
    with clock:
        for _ in range(passes):
            sweep()
    # The first sweep's time has that of the start in it.
    whole, update = 1e3 * (taken[-1] - taken[0]) / (len(taken) - 1), 1e3 * clock.seconds / passes
    step = f"{update:.0f} of {whole:.0f} ms a sweep; {corpus.size_text}, {k} topics"
    yield Answer(np.empty(0), update / whole, step)
