"""scikit-learn's FactorAnalysis and PCA of a table with unknown cells, given the number of factors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.peers.answers import Answer, Clock, Floats
from benchmarks.peers.trials import Trial, standardise_heldout

#: Numbers of factors that are tried.
SIZES = (1, 2, 3, 5, 8, 12)
#: Most fits, each to the table that the one before completed.
ROUNDS = 5


def conditional_cells(values: Floats, mean: Floats, covariance: Floats) -> tuple[Floats, Floats]:
    """Return mean and variance of every unknown cell given the known ones of its row, rows normal; else NaN.

    `values`: shape (N, L), NaN where unknown; `mean`: shape (L,); `covariance`: shape (L, L), positive definite.
    """
    means, variances = np.full(values.shape, np.nan), np.full(values.shape, np.nan)
    for row, known in enumerate(~np.isnan(values)):
        weights = np.linalg.solve(covariance[np.ix_(known, known)], covariance[np.ix_(known, ~known)])
        means[row, ~known] = mean[~known] + (values[row, known] - mean[known]) @ weights
        explained = np.einsum("ku,ku->u", covariance[np.ix_(known, ~known)], weights)
        variances[row, ~known] = covariance.diagonal()[~known] - explained
    return means, variances


def fit_sklearn(trial: Trial, seed: int, *, name: str) -> Iterator[Answer]:
    """Fit for several numbers of factors, and each up to five times; every fit is an answer.

    Unknown cells begin at the mean of their column; after a fit they are what the model expects of them.
    """
    from sklearn import decomposition

    table, held = trial.train, trial.heldout
    values, truth = table.moments.apply(table.values), standardise_heldout(trial)
    for size in SIZES:
        if size >= values.shape[1]:
            break
        options = {"random_state": seed} if name == "PCA" else {}
        model: Any = getattr(decomposition, name)(size, **options)
        clock, guess = Clock(), np.zeros_like(values)
        for number in range(1, ROUNDS + 1):
            with clock:
                model.fit(np.where(np.isnan(values), guess, values))
                guess, variance = conditional_cells(values, model.mean_, model.get_covariance())
            mean, spread = guess[held.rows, held.columns], variance[held.rows, held.columns]
            log_density = -0.5 * (np.log(2 * np.pi * spread) + (truth - mean) ** 2 / spread)
            density = np.exp(log_density.astype(np.longdouble))
            yield Answer(np.stack([density, mean], axis=1), clock.seconds, f"{size} factors, {number} fits")
