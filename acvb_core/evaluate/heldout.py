"""Scores of predictions of what was held out: entries of a relation, words of documents, cells of a table."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class LinkScore(NamedTuple):
    """How well held-out entries of a relation were predicted."""

    log_likelihood: float  #: mean log probability of an entry, in nats
    skill: float  #: 1 - log_likelihood / log likelihood of one block (the training density for every entry)
    #: `roc_auc`, `average_precision`: ranking of the entries by predicted probability; NaN when all entries are alike.
    roc_auc: float
    average_precision: float
    #: The same of the mean of what samples predict: a sampler's own, or those of the chain that a run began from. NaN
    #: before the end of a run, and where there are none.
    averaged_log_likelihood: float = float("nan")
    averaged_skill: float = float("nan")
    averaged_roc_auc: float = float("nan")

    def with_averaged(self, other: LinkScore) -> LinkScore:
        """Return the scores with those of other predictions as the averaged ones."""
        return self._replace(
            averaged_log_likelihood=other.log_likelihood,
            averaged_skill=other.skill,
            averaged_roc_auc=other.roc_auc,
        )


class WordScore(NamedTuple):
    """How well held-out words were predicted."""

    log_likelihood: float  #: mean log probability of a word, in nats
    perplexity: float  #: exp(-log_likelihood): as uncertain as a choice among so many words


class CellScore(NamedTuple):
    """How well held-out cells of a table were predicted, on the standardised scale."""

    log_likelihood: float  #: mean log density of a cell, in nats
    rmse: float  #: root of the mean squared error, in standard deviations of the columns
    #: 1 - squared error / squared error of the columns' means: the share of the variance that is predicted.
    explained: float
    #: The same as `log_likelihood` if each column's mean and variance in the training data are all that is known.
    means_log_likelihood: float = float("nan")


def score_cells(predicted: NDArray[np.longdouble], truth: NDArray[np.float64]) -> CellScore:
    """Score predicted cells.

    `predicted`: shape (n, 2); density and mean of each held-out cell.
    `truth`: shape (n,); on the standardised scale, where every column has mean 0 and variance 1.
    """
    # A density too small for the type counts as its smallest number.
    density = np.maximum(predicted[:, 0], np.finfo(predicted.dtype).tiny)
    error = float(np.mean((truth - predicted[:, 1]) ** 2))
    by_mean = float(np.mean(truth**2))
    explained = 1.0 - error / by_mean if by_mean > 0 else float("nan")
    means = -0.5 * (float(np.log(2.0 * np.pi)) + by_mean)
    return CellScore(float(np.log(density).mean()), float(np.sqrt(error)), explained, means)


def score_words(probability: NDArray[np.float64], counts: NDArray[np.int32]) -> WordScore:
    """Score predicted words.

    `probability`: shape (n,); predicted probability of each held-out (document, word) pair.
    `counts`: shape (n,); how often the pair was held out.
    """
    log_likelihood = float(np.average(np.log(probability), weights=counts))
    return WordScore(log_likelihood, float(np.exp(-log_likelihood)))


def score_links(probability: NDArray[np.float64], truth: NDArray[np.bool_], baseline: float) -> LinkScore:
    """Score predicted links.

    `probability`: shape (n,); predicted probability of a one.
    `truth`: shape (n,).
    `baseline`: probability that a single block predicts for every entry.
    """
    log_likelihood = mean_log_likelihood(probability, truth)
    one_block = mean_log_likelihood(np.full(len(truth), min(max(baseline, 1e-12), 1 - 1e-12)), truth)
    both = 0 < int(truth.sum()) < len(truth)
    return LinkScore(
        log_likelihood,
        1.0 - log_likelihood / one_block,
        *(score_ranking(probability, truth) if both else (float("nan"), float("nan"))),
    )


def score_ranking(probability: NDArray[np.float64], truth: NDArray[np.bool_]) -> tuple[float, float]:
    """Return how well links are ranked before others: the area under the ROC curve, and the average precision.

    Entries of equal probability count as one step of either curve. The parameters are those of `score_links`; there
    is at least one link and one other. Own code, as scikit-learn's takes longer to import than a small run takes, and
    milliseconds a call.
    """
    order = np.argsort(-probability)
    ranked = probability[order]
    last = np.append(np.flatnonzero(ranked[1:] != ranked[:-1]), len(ranked) - 1)  # of each step
    links = np.append(0, np.cumsum(truth[order])[last])
    others = np.append(0, last + 1) - links
    precision = links[1:] / (last + 1)
    area = np.trapezoid(links, others) / (links[-1] * others[-1])
    return float(area), float(np.diff(links) @ precision / links[-1])


def mean_log_likelihood(probability: NDArray[np.float64], truth: NDArray[np.bool_]) -> float:
    """Return the mean of log p over the ones and log(1 - p) over the zeros, in nats."""
    return float(np.log(np.where(truth, probability, 1.0 - probability)).mean())
