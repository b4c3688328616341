"""Scores of predictions of what was held out: entries of a relation, words of documents, cells of a table."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numba as nb
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from acvb_core.core.errors import DataError
from acvb_core.core.parallel import map_together
from acvb_core.core.special import FAST
from acvb_core.data.corpus import Corpus
from acvb_core.evaluate.ranking import distributions
from acvb_core.evaluate.split import hold_out_tokens


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


#: From the observed word counts, csr (D, V), to the topic shares of the documents, (D, K).
Infer = Callable[[sparse.csr_array], ArrayLike]


class Completion(NamedTuple):
    """How well the other part of the documents was predicted."""

    #: Mean log probability of a token, in nats. NaN when there was none to predict.
    log_likelihood: float
    perplexity: float  #: exp(-log_likelihood): as uncertain as a choice among so many words
    tokens: int  #: number of tokens predicted
    documents: int  #: number of documents that contain them; one of a single token has none to predict


def document_completion(
    corpus: Corpus, word_probability: ArrayLike, infer: Infer, *, observed: float = 0.8, seed: int = 0
) -> Completion:
    """Score topics on documents they were not learnt from.

    `corpus`: the test documents, over the vocabulary of the topics.
    `word_probability`: shape (K, V); distribution of each topic over words, as learnt.
    `infer`: gives the topic shares of documents, (D, K), from the counts of the observed tokens, csr (D, V).
    `observed`: share of each document's tokens that is observed; drawn uniformly.
    `seed`: the same seed observes the same tokens.
    Reference: Wallach et al. 2009 §5 ("document completion"); SN15 §9.
    """
    phi = distributions(word_probability, n_words=corpus.n_words)
    split = hold_out_tokens(corpus, 1.0 - observed, seed)
    theta = distributions(infer(split.train.counts), "the documents' topic shares")
    if theta.shape != (corpus.n_documents, len(phi)):
        raise DataError(
            f"topic shares of the shape {theta.shape} were inferred for {corpus.n_documents:,} documents and "
            f"{len(phi):,} topics",
            remedy="Infer one row for each document, one column for each topic.",
        )
    rest = split.heldout
    if not rest.n:
        return Completion(math.nan, math.nan, 0, 0)
    # A word that no topic of its document has is infinitely unlikely: an answer, not a fault.
    with np.errstate(divide="ignore"):
        score = score_words(pair_products(theta, phi.T, rest.documents, rest.words), rest.counts)
    return Completion(score.log_likelihood, score.perplexity, rest.n, len(np.unique(rest.documents)))


_AT_ONCE = 20_000_000  # numbers that one call of the kernel takes: some 20 ms


def pair_products(
    left: NDArray[Any], right: NDArray[Any], rows: NDArray[Any], columns: NDArray[Any]
) -> NDArray[np.float64]:
    """Return sum_k left[rows[i], k] * right[columns[i], k] for each pair, shape (n,).

    `left`, `right`: shapes (N, K), (M, K).
    `rows`, `columns`: shape (n,).
    """
    out = np.empty(len(rows))
    left, right = np.ascontiguousarray(left), np.ascontiguousarray(right)
    step = max(1, _AT_ONCE // max(left.shape[1], 1))

    def multiply(begin: int) -> None:
        part = slice(begin, begin + step)
        _products(left, right, rows[part], columns[part], out[part])

    map_together(multiply, range(0, len(out), step))
    return out


@nb.njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _products(left: Any, right: Any, rows: Any, columns: Any, out: Any) -> None:
    for e in range(rows.shape[0]):
        one = left[rows[e]]
        other = right[columns[e]]
        total = left.dtype.type(0)
        for k in range(one.shape[0]):
            total += one[k] * other[k]
        out[e] = total
