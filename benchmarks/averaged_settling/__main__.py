"""Convergence of second-order CVB on a relation, by the rule of the priors.

    python -m benchmarks.averaged_settling FILE [--method acvb] [--k 20] [--sweeps 600] [--schedule domains]

One line a rule: median and largest change of the responsibilities in the last third of the sweeps (L1, mean over the
objects), the change of their mean in the last sweep, how often the mean began again, and the smallest prior count of a
block. The rest is as the paper prints it, the order of the updates too unless --schedule says otherwise.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import numpy as np

import acvb_core
from acvb_core.core.averaging import align_arrays, averaged_arrays
from acvb_core.core.clusters import mean_l1_change
from acvb_core.engine.prepared import prepare_run
from benchmarks.harness import make_parser

RULES = ("paper", "tied", "fixed")


def follow_sweeps(relation: Any, options: argparse.Namespace, rule: str) -> str:
    """Return the line of a rule of the priors."""
    sizes = {"k_rows": options.k, "k_cols": options.k}
    values = {**sizes, "preset": "paper", "hyper": rule, "schedule": options.schedule}
    prepared = prepare_run(relation, options.method, values, heldout=0.1)
    algorithm: Any = prepared.algorithm
    rng = np.random.default_rng(0)
    state, changes, again = algorithm.init(rng), [], 0
    for _ in range(options.sweeps):
        before = algorithm.current(state)
        samples = state.samples
        state, info = algorithm.sweep(state, rng)
        now = algorithm.current(state)
        old = align_arrays(averaged_arrays(before), info.cluster_permutation, now)
        changes.append(mean_l1_change(averaged_arrays(now), old))
        again += 0 < state.samples <= samples
    last = changes[-len(changes) // 3 :]
    smallest = min(float(np.min(state.inner.hyper.a)), float(np.min(state.inner.hyper.b)))
    of_mean = np.nan if state.change is None else state.change
    return f"{rule:8}{np.median(last):12.1e}{max(last):12.1e}{of_mean:12.1e}{again:10d}{smallest:12.1e}\n"


def main() -> int:
    """Print a line for each rule."""
    parser = make_parser(__doc__, "file", method="acvb", k=20, sweeps=600)
    parser.add_argument("--schedule", choices=("paper", "domains"), default="paper")
    options = parser.parse_args()
    relation = acvb_core.load_relation(options.file, domains="two").data
    sys.stdout.write(
        f"{'priors':8}{'change of q':>12}{'largest':>12}{'of the mean':>12}{'restarts':>10}{'least prior':>12}\n"
    )
    for rule in RULES:
        sys.stdout.write(follow_sweeps(relation, options, rule))
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
