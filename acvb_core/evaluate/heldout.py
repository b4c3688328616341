"""Scores of predicted link probabilities on held-out entries."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score, roc_auc_score


class HeldOutScore(NamedTuple):
    """How well held-out entries were predicted.

    Attributes
    ----------
    log_likelihood : float
        Mean log probability of an entry, in nats.
    skill : float
        1 - log_likelihood / log likelihood of one block (the training density for every entry).
    roc_auc, average_precision : float
        Ranking of the entries by predicted probability; NaN when all entries are alike.
    """

    log_likelihood: float
    skill: float
    roc_auc: float
    average_precision: float


def score(probability: NDArray[np.float64], truth: NDArray[np.bool_], baseline: float) -> HeldOutScore:
    """Score predictions.

    Parameters
    ----------
    probability : ndarray, shape (n,)
        Predicted probability of a one.
    truth : ndarray of bool, shape (n,)
    baseline : float
        Probability that a single block predicts for every entry.
    """
    log_likelihood = mean_log_likelihood(probability, truth)
    one_block = mean_log_likelihood(np.full(len(truth), min(max(baseline, 1e-12), 1 - 1e-12)), truth)
    both = 0 < int(truth.sum()) < len(truth)
    return HeldOutScore(
        log_likelihood,
        1.0 - log_likelihood / one_block,
        float(roc_auc_score(truth, probability)) if both else float("nan"),
        float(average_precision_score(truth, probability)) if both else float("nan"),
    )


def mean_log_likelihood(probability: NDArray[np.float64], truth: NDArray[np.bool_]) -> float:
    """Return the mean of log p over the ones and log(1 - p) over the zeros, in nats."""
    return float(np.log(np.where(truth, probability, 1.0 - probability)).mean())
