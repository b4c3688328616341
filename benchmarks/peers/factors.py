"""scikit-learn's FactorAnalysis and PCA of a table with unknown cells, given the number of factors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.peers.answers import Answer, Clock, Floats
from benchmarks.peers.trials import Trial, standardise_heldout

#: Numbers of factors that are tried.
SIZES = (1, 2, 3, 5, 8, 12)
#: Most fits, each to the table that the one before completed.
ROUNDS = 5


def conditional_cells(values: Floats, mean: Floats, covariance: Floats) -> tuple[Floats, Floats]:
    """Return mean and variance of every unknown cell given the known ones of its row, rows normal; else NaN.

    `values`: shape (N, L), NaN if unknown; `mean`: shape (L,); `covariance`: shape (L, L), positive definite.
    """
    means, variances = np.full(values.shape, np.nan), np.full(values.shape, np.nan)
    for row, known in enumerate(~np.isnan(values)):
        weights = np.linalg.solve(covariance[np.ix_(known, known)], covariance[np.ix_(known, ~known)])
        means[row, ~known] = mean[~known] + (values[row, known] - mean[known]) @ weights
        explained = np.einsum("ku,ku->u", covariance[np.ix_(known, ~known)], weights)
        variances[row, ~known] = covariance.diagonal()[~known] - explained
    return means, variances


def fit_rounds(
    model: Any, values: Floats, held: Any, truth: Floats, rounds: int
) -> Iterator[NDArray[np.longdouble]]:
    """Fit a model several times; yield density and mean of the held-out cells after each fit, shape (n, 2).

    `values`: shape (N, L); NaN if unknown: these begin at the mean of their column, and are predicted after a fit.
    `truth`: the held-out cells, standardised.
    """
    guess = np.zeros_like(values)
    for _ in range(rounds):
        model.fit(np.where(np.isnan(values), guess, values))
        guess, variance = conditional_cells(values, model.mean_, model.get_covariance())
        mean, spread = guess[held.rows, held.columns], variance[held.rows, held.columns]
        log_density = -0.5 * (np.log(2 * np.pi * spread) + (truth - mean) ** 2 / spread)
        yield np.stack([np.exp(log_density.astype(np.longdouble)), mean], axis=1)


def fit_sklearn(trial: Trial, seed: int, *, name: str) -> Iterator[Answer]:
    """Fit for several numbers of factors, and each up to five times; every fit is an answer."""
    from sklearn import decomposition

    values, truth = trial.train.moments.apply(trial.train.values), standardise_heldout(trial)
    for size in SIZES:
        if size >= values.shape[1]:
            break
        options = {"random_state": seed} if name == "PCA" else {}
        model: Any = getattr(decomposition, name)(size, **options)
        clock, fits = Clock(), fit_rounds(model, values, trial.heldout, truth, ROUNDS)
        for number in range(1, ROUNDS + 1):
            with clock:
                predicted = next(fits)
            yield Answer(predicted, clock.seconds, f"{size} factors, {number} fits")
