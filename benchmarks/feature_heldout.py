"""Predictions of held-out cells by latent feature methods.

    python -m benchmarks.feature_heldout [FILE …] [--data digits,wine,breast_cancer --methods fab,ibp,factors --seeds 5]

FILE is a table of numbers; `--data` are scikit-learn's own. 30 % of the cells are held out, another set for each seed.
One line for each table and method, means over the seeds: features, log likelihood of a held-out and of a training cell
on the standardised scale (nats), the share of the variance of held-out cells that is predicted, processor seconds; and
the lowest held-out log likelihood. "paper" is FAB with the paper's criterion and random start, "random" FAB's default
criterion from a random start, "ica" from independent components alone, "sample" a single sample of IBP in place of the
mean of what all kept ones predict, "factors" scikit-learn's FactorAnalysis, "means" what the columns' means and
variances predict.
"""

from __future__ import annotations

import statistics
import time
from typing import Any

import numpy as np
from sklearn import datasets
from sklearn.decomposition import FactorAnalysis

from acvb_core import fit, load_table
from acvb_core.data.table import Table
from acvb_core.evaluate.heldout import CellScore, score_cells
from acvb_core.evaluate.split import Split, hold_out_cells
from benchmarks.harness import make_parser, print_rows
from benchmarks.peers.factors import ROUNDS, SIZES, fit_rounds
from benchmarks.peers.trials import Trial, standardise_heldout

SHARE = 0.3
#: Method and settings by the name used here.
RUNS: dict[str, tuple[str, dict[str, Any]]] = {
    "paper": ("fab", {"mode": "paper", "init": "random", "warmup": 0}),
    "random": ("fab", {"init": "random"}),
    "ica": ("fab", {"init": "ica"}),
    "sample": ("ibp", {"burn_in": 399, "max_sweeps": 400}),
}


def named(name: str) -> Table:
    """Return one of scikit-learn's tables, without constant columns."""
    found = getattr(datasets, f"load_{name}")()
    values = np.asarray(found.data, dtype=float)
    return Table.build(values[:, values.std(axis=0) > 0], name=name)


def by_means(table: Table, seed: int) -> float:
    """Return the mean log likelihood of held-out cells under each column's own normal distribution."""
    first = fit(table, "fab", heldout=SHARE, heldout_seed=seed, init="random", max_sweeps=1)
    return float(first.snapshot.heldout.means_log_likelihood)


def by_factors(table: Table, seed: int) -> CellScore:
    """Return the scores of scikit-learn's FactorAnalysis.

    A fifth of the training cells decides how many factors it has, and how often it is fitted to the table that the fit
    before completed.
    """
    split = hold_out_cells(table, SHARE, seed)
    inner = hold_out_cells(split.train, 0.2, seed)
    tried = {
        choice: score.log_likelihood
        for size in SIZES
        if size < table.n_columns
        for choice, score in score_factors(inner, size, ROUNDS).items()
    }
    size, rounds = max(tried, key=lambda choice: tried[choice])
    return score_factors(split, size, rounds)[size, rounds]


def score_factors(split: Split, size: int, rounds: int) -> dict[tuple[int, int], CellScore]:
    """Return the scores after each of some fits with a number of factors, by this number and that of the fits."""
    trial = Trial("features", split.train, split.heldout)
    truth = standardise_heldout(trial)
    values = trial.train.moments.apply(trial.train.values)
    fits = fit_rounds(FactorAnalysis(size), values, trial.heldout, truth, rounds)
    return {(size, number): score_cells(predicted, truth) for number, predicted in enumerate(fits, 1)}


def line(table: Table, method: str, seeds: int) -> dict[str, Any]:
    """Return the means over seeds of one method on one table."""
    named_line: dict[str, Any] = {"table": table.name, "method": method}
    if method == "means":
        scores = [by_means(table, seed) for seed in range(seeds)]
        return named_line | {"heldout": statistics.mean(scores), "lowest": min(scores)}
    if method == "factors":
        begun, found = time.process_time(), [by_factors(table, seed) for seed in range(seeds)]
        scores = [score.log_likelihood for score in found]
        explained = statistics.mean(score.explained for score in found)
        figures = {"heldout": statistics.mean(scores), "lowest": min(scores), "explained": explained}
        return named_line | figures | {"cpu_seconds": (time.process_time() - begun) / seeds}
    name, settings = RUNS.get(method, (method, {}))
    runs = [fit(table, name, seed=s, heldout=SHARE, heldout_seed=s, **settings) for s in range(seeds)]
    last = [run.snapshot for run in runs]
    scores = [one.heldout.log_likelihood for one in last]
    return named_line | {
        "heldout": statistics.mean(scores),
        "lowest": min(scores),
        "train": statistics.mean(one.extras["train_log_likelihood"] for one in last),
        "explained": statistics.mean(one.heldout.explained for one in last),
        "features": statistics.mean(one.effective_k["features"] for one in last),
        "each": " ".join(str(one.effective_k["features"]) for one in last),
        "sweeps": statistics.median(one.sweep for one in last),
        "cpu_seconds": statistics.median(one.cpu_seconds for one in last),
    }


def main() -> None:
    methods = ["fab", "ica", "random", "paper", "em", "vb", "ibp", "sample", "meibp", "factors", "means"]
    parser = make_parser(__doc__, data=["digits", "wine", "breast_cancer"], methods=methods, seeds=5)
    parser.add_argument("files", nargs="*", metavar="FILE")
    options = parser.parse_args()
    tables = [load_table(file).data for file in options.files] + [named(name) for name in options.data]
    lines = []
    for table in tables:
        for method in options.methods:
            lines.append(line(table, method, options.seeds))
            print(lines[-1], flush=True)
    print_rows(lines)


if __name__ == "__main__":
    main()
