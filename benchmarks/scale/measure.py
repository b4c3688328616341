"""One run over shards on a Dask cluster of this machine: time and memory of each process, and the answer's bits."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from distributed import Client
from distributed.deploy.subprocess import SubprocessCluster

import acvb_core
from acvb_core.data.disk import DiskCorpus
from acvb_core.engine.prepared import prepare_run
from acvb_core.engine.run import Schedule
from acvb_core.engine.run import run as sweeps
from acvb_core.models.lda.memory import driver_bytes, worker_bytes
from acvb_core.models.lda.state import BEGINNING
from benchmarks.harness import MemoryWatch, read_cpu, read_memory


@contextmanager
def watch_workers(workers: int, save_every: int) -> Iterator[MemoryWatch]:
    """Have shards held by workers of Dask whose memory is watched; the scheduler is a process of its own."""
    options: dict[str, Any] = {"threads_per_worker": 1, "dashboard_address": None, "host": "127.0.0.1"}
    options |= {"worker_kwargs": {"memory_limit": 0}}
    with SubprocessCluster(n_workers=workers, **options) as cluster, Client(cluster) as client:
        client.wait_for_workers(workers)
        with (
            MemoryWatch(list(client.run(os.getpid).values())) as watch,
            acvb_core.shard_workers(client=client, save_every=save_every),
        ):
            yield watch


def idle_memory(method: str, workers: int) -> tuple[int, int]:
    """Return the bytes of this process, and of a worker, that has done a small run: what a program itself takes."""
    with watch_workers(workers, 0) as watch:
        small = acvb_core.load_sample("bars").corpus
        acvb_core.fit(small, method, k=3, shards=workers, max_sweeps=12, heldout_documents=0.1)
    return read_memory(os.getpid()), max(watch.peaks[pid] for pid in watch.others)


def measure(folder: Path, method: str, values: dict[str, Any], workers: int, save_every: int) -> None:
    """Print the cost of a run, and what the formulas predict."""
    corpus = DiskCorpus.open(folder)
    driver_base, worker_base = idle_memory(method, workers)
    with watch_workers(workers, save_every) as watch:
        prepared = prepare_run(corpus, method, values, heldout_documents=0.01)
        prepared = replace(prepared, check_memory=False)
        cap = prepared.max_sweeps
        begun, marks, scores, last = time.monotonic(), [], [], None
        for last in sweeps(prepared, schedule=Schedule(cap, max(cap // 4, 1))):
            cpu = [time.process_time(), *map(read_cpu, watch.others)]
            marks.append((time.monotonic() - begun, *cpu))
            if last.heldout is not None:
                scores.append((last.sweep, round(last.heldout.perplexity, 2)))
                print(scores[-1], file=sys.stderr, flush=True)
        assert last is not None
        words = last.posterior["words"]
        # Those past the beginning, in which topics are exchanged several times; the last one evaluates the bound.
        first = BEGINNING if cap > BEGINNING + 1 else 0
        median = np.median(np.diff(np.array(marks), axis=0)[first:-1], axis=0)
        report = {
            "method": method,
            "documents": prepared.train.n_documents,
            "pairs": prepared.train.n_pairs,
            "settings": values,
            "workers": workers,
            "digest": hashlib.sha256(words.tobytes() + prepared.train.fingerprint.encode()).hexdigest()[:16],
            "perplexity": scores,
            "wall_seconds_of_a_sweep": round(float(median[0]), 2),
            "cpu_seconds_of_a_sweep_driver": round(float(median[1]), 2),
            "cpu_seconds_of_a_sweep_workers": [round(float(x), 2) for x in median[2:]],
            "critical_cpu_seconds": round(float(median[1] + median[2:].max()), 2),
            "worker_peak_mb": [
                round((watch.peaks[pid] - worker_base) / 1e6) for pid in watch.others if pid in watch.peaks
            ],
            "worker_formula_mb": round(worker_bytes(prepared.train, values, workers) / 1e6),
            "driver_peak_mb": round((watch.peaks[os.getpid()] - driver_base) / 1e6),
            "driver_formula_mb": round(driver_bytes(prepared.train, values, workers) / 1e6),
            "idle_worker_mb": round(worker_base / 1e6),
        }
        sys.stdout.write(json.dumps(report, indent=1) + "\n")
        last.state.group.close()
