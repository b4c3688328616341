"""A relation of millions of links over shards in processes: time of a sweep, and blocks beside the serial ones."""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from acvb_core.engine.problem import build_problem
from acvb_core.engine.run import Schedule
from acvb_core.engine.run import run as sweeps
from acvb_core.evaluate.agreement import agreement
from acvb_core.samples.planted_relations import large_relation
from benchmarks.scale.measure import read_cpu, watch_workers


def measure_links(method: str, values: dict[str, Any], workers: int, ones: int, labels: Path | None) -> None:
    """Print what a run took.

    `labels`: a file. The run without shards writes its clusters there; others say how well theirs agree with them.
    """
    planted = large_relation(10_681, 69_878, ones, 15, 20, 1)
    with watch_workers(workers, 0) as watch:
        problem = replace(build_problem(planted.relation, method, values), check_memory=False)
        group = getattr(getattr(problem.inference, "inner", problem.inference), "group", None)
        begun, marks, traffic, last = time.monotonic(), [], [], None
        for last in sweeps(problem, schedule=Schedule(problem.max_sweeps, problem.max_sweeps)):
            cpu = [read_cpu(os.getpid()), *map(read_cpu, watch.pids)]
            marks.append((time.monotonic() - begun, *cpu))
            traffic.append(group.traffic if group else (0, 0))
            sys.stderr.write(f"{last.sweep}: {marks[-1]}\n")
        assert last is not None
        found = {side: last.posterior.labels(side) for side in ("rows", "cols")}
        clusters = {"rows": planted.row_clusters, "cols": planted.column_clusters}
        report = {
            "method": method,
            "ones": planted.relation.n_ones,
            "settings": values,
            "workers": workers,
            "wall_seconds_of_each_sweep": np.diff(np.array(marks)[:, 0]).round(2).tolist(),
            "cpu_seconds_of_each_sweep": np.diff(np.array(marks)[:, 1:], axis=0).round(2).tolist(),
            "wall_seconds_of_a_sweep": round(float(np.median(np.diff(np.array(marks)[:, 0]))), 2),
            "megabytes_down_and_up": (np.median(np.diff(np.array(traffic), axis=0), axis=0) / 1e6).tolist(),
            "lower_bound": last.lower_bound,
            "ari_to_planted": {side: agreement(clusters[side], found[side])["ari"] for side in found},
        }
        if labels is not None and not values["shards"]:
            np.savez(labels, rows=found["rows"], cols=found["cols"])
        elif labels is not None:
            with np.load(labels) as serial:
                report["ari_to_serial"] = {
                    side: agreement(serial[side], found[side])["ari"] for side in found
                }
        sys.stdout.write(json.dumps(report, indent=1) + "\n")
