"""Planted latent features found again, and what the acceleration of the shrinkage saves.

    python -m benchmarks.feature_recovery [--trials 10 --methods fab,random,em]
        [--cases artificial,narrow,blocks,acceleration]

"random" is FAB from the paper's random start, with as many features as columns; "ica" is FAB from independent
components alone.

artificial: N objects, 30 columns, 5 features, weights standard normal, share 0.5, noise 1 (Hayashi and Fujimaki 2013,
§6.1): the mean number of features found, and that of each trial. narrow: the same with 178, 600 and 2,000 objects, 14
columns and 4 features. blocks: 2,000 pictures of 6 x 6 pixels from four
blocks, noise 0.3: in how many trials exactly the four blocks are found (largest error of a pixel below 0.15), and the
largest error where the number is right. acceleration: 2,000 objects, 50 columns, 5 features, FAB from either start:
processor seconds with and without it, A B A B, and their ratio, medians of 8 seeds.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from acvb_core import Result, fit
from acvb_core.data.table import Table
from acvb_core.samples.planted_mixtures import PlantedFeatures, block_images, planted_features
from benchmarks.harness import make_parser, print_rows

SIZES = (100, 250, 500, 1000, 2000)
#: Method and settings by the name used here.
RUNS: dict[str, tuple[str, dict[str, Any]]] = {
    "random": ("fab", {"init": "random"}),
    "ica": ("fab", {"init": "ica"}),
}
CLOSE = 0.15


def largest_error(result: Result, truth: PlantedFeatures) -> float:
    """Return the largest error of a weight, features matched; infinite where their number is another."""
    found = result.prepared.data.scale.undo_weights(result.posterior["weights"])
    if len(found) != len(truth.weights):
        return float("inf")
    errors = np.abs(truth.weights[:, None] - found[None]).max(axis=2)
    return float(errors[linear_sum_assignment(errors)].max())


def fitted(table: Table, run: str, seed: int) -> Result:
    """Return the result of a run by its name here."""
    method, settings = RUNS.get(run, (run, {}))
    return fit(table, method, seed=seed, **settings)


def artificial(
    method: str, trials: int, sizes: Sequence[int] = SIZES, columns: int = 30, features: int = 5
) -> list[dict[str, Any]]:
    """Return one line for each number of objects."""
    lines = []
    for n in sizes:
        runs = [
            fitted(planted_features(n, columns, features, seed=s).table, method, s) for s in range(trials)
        ]
        found = [run.snapshot.effective_k["features"] for run in runs]
        lines.append(
            {
                "case": f"{features} features, {n} x {columns}",
                "method": method,
                "mean_features": statistics.mean(found),
                "features": " ".join(map(str, found)),
                "cpu_seconds": statistics.median(run.snapshot.cpu_seconds for run in runs),
                "converged": sum(str(run.verdict) == "CONVERGED" for run in runs),
            }
        )
    return lines


def blocks(method: str, trials: int) -> list[dict[str, Any]]:
    """Return the one line of the pictures."""
    found, errors, seconds = [], [], []
    for seed in range(trials):
        truth = block_images(2000, noise=0.3, seed=seed)
        result = fitted(truth.table, method, seed)
        found.append(result.snapshot.effective_k["features"])
        errors.append(largest_error(result, truth))
        seconds.append(result.snapshot.cpu_seconds)
    right = [error for error in errors if np.isfinite(error)]
    return [
        {
            "case": "blocks",
            "method": method,
            "mean_features": statistics.mean(found),
            "features": " ".join(map(str, found)),
            "cpu_seconds": statistics.median(seconds),
            "exact": f"{sum(error < CLOSE for error in errors)}/{trials}",
            "largest_error": max(right, default=float("nan")),
        }
    ]


def acceleration(init: str) -> list[dict[str, Any]]:
    """Return a line with and one without the acceleration, and one of their ratio."""
    seconds: dict[bool, list[float]] = {True: [], False: []}
    found: dict[bool, list[int]] = {True: [], False: []}
    for seed in range(8):
        table = planted_features(2000, 50, 5, seed=seed).table
        for accelerate in (True, False):
            last = fit(table, "fab", seed=seed, init=init, accelerate=accelerate).snapshot
            seconds[accelerate].append(last.cpu_seconds)
            found[accelerate].append(last.effective_k["features"])
    lines = [
        {
            "case": f"D=50 N=2000, {init} start",
            "method": "fab" if accelerate else "fab, not accelerated",
            "mean_features": statistics.mean(found[accelerate]),
            "features": " ".join(map(str, found[accelerate])),
            "cpu_seconds": statistics.median(seconds[accelerate]),
        }
        for accelerate in (True, False)
    ]
    ratios = [a / b for a, b in zip(seconds[True], seconds[False], strict=True)]
    return [
        *lines,
        {"case": f"D=50 N=2000, {init} start", "method": "ratio", "cpu_seconds": statistics.median(ratios)},
    ]


def main() -> None:
    options = make_parser(
        __doc__,
        trials=10,
        methods=["fab", "random", "em"],
        cases=["artificial", "narrow", "blocks", "acceleration"],
    ).parse_args()
    lines: list[dict[str, Any]] = []
    for method in options.methods:
        if "artificial" in options.cases:
            lines += artificial(method, options.trials)
        if "narrow" in options.cases:
            lines += artificial(method, options.trials, (178, 600, 2000), 14, 4)
        if "blocks" in options.cases:
            lines += blocks(method, options.trials)
    if "acceleration" in options.cases:
        lines += [*acceleration("random"), *acceleration("ica")]
    print_rows(lines, ".3g")


if __name__ == "__main__":
    main()
