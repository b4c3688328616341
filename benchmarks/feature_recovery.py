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


def summarise(case: str, method: str, runs: Sequence[Result]) -> dict[str, Any]:
    """Return a line: the numbers of features that runs found, and their median time."""
    found = [run.snapshot.effective_k["features"] for run in runs]
    return {
        "case": case,
        "method": method,
        "mean_features": statistics.mean(found),
        "features": " ".join(map(str, found)),
        "cpu_seconds": statistics.median(run.snapshot.cpu_seconds for run in runs),
    }


def artificial(
    method: str, trials: int, sizes: Sequence[int] = SIZES, columns: int = 30, features: int = 5
) -> list[dict[str, Any]]:
    """Return one line for each number of objects."""
    lines = []
    for n in sizes:
        runs = [
            fitted(planted_features(n, columns, features, seed=s).table, method, s) for s in range(trials)
        ]
        line = summarise(f"{features} features, {n} x {columns}", method, runs)
        lines.append(line | {"converged": sum(str(run.verdict) == "CONVERGED" for run in runs)})
    return lines


def blocks(method: str, trials: int) -> list[dict[str, Any]]:
    """Return the one line of the pictures."""
    truths = [block_images(2000, noise=0.3, seed=seed) for seed in range(trials)]
    runs = [fitted(truth.table, method, seed) for seed, truth in enumerate(truths)]
    errors = [largest_error(run, truth) for run, truth in zip(runs, truths, strict=True)]
    right = [error for error in errors if np.isfinite(error)]
    exact = f"{sum(error < CLOSE for error in errors)}/{trials}"
    largest = max(right, default=float("nan"))
    return [summarise("blocks", method, runs) | {"exact": exact, "largest_error": largest}]


def acceleration(init: str) -> list[dict[str, Any]]:
    """Return a line with and one without the acceleration, and one of their ratio."""
    runs: dict[bool, list[Result]] = {True: [], False: []}
    for seed in range(8):
        table = planted_features(2000, 50, 5, seed=seed).table
        for accelerate, own in runs.items():
            own.append(fit(table, "fab", seed=seed, init=init, accelerate=accelerate))
    case = f"D=50 N=2000, {init} start"
    pairs = zip(runs[True], runs[False], strict=True)
    ratio = statistics.median(one.snapshot.cpu_seconds / other.snapshot.cpu_seconds for one, other in pairs)
    lines = [summarise(case, "fab", runs[True]), summarise(case, "fab, not accelerated", runs[False])]
    return [*lines, {"case": case, "method": "ratio", "cpu_seconds": ratio}]


def main() -> None:
    cases = ["artificial", "narrow", "blocks", "acceleration"]
    options = make_parser(__doc__, trials=10, methods=["fab", "random", "em"], cases=cases).parse_args()
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
