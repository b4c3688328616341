"""Distributions over words: their checks, their distances, and the words that describe a topic best."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, get_args

import numba as nb
import numpy as np
from numpy.typing import ArrayLike, NDArray

from acvb_core.core.errors import DataError, ParameterError
from acvb_core.core.special import FAST, log

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
Ranking = Literal["probability", "relevance", "frex"]


def top_words(scores: ArrayLike, n: int) -> NDArray[np.int64]:
    """Return the words with the highest scores, best first.

    `scores`: shape (V,) or (K, V); minus infinity is allowed.
    `n`: at least 1; all words when there are fewer.
    Returns: shape (n,) or (K, n); of words with the same score the one that comes first in the vocabulary comes first.
    Raises ParameterError: `n` is less than 1.
    Raises DataError: a score is not a number.
    """
    if n < 1:
        raise ParameterError(f"At least one word must be asked for, not {n}.")
    table = np.asarray(scores)
    if table.ndim == 1:
        return _top(table, n)
    return np.array([_top(row, n) for row in table], dtype=np.int64).reshape(len(table), -1)


def _top(row: NDArray[Any], n: int) -> NDArray[np.int64]:
    n = min(n, len(row))
    # A partial sort gives the least score of the n best; only those that reach it are put in order.
    least = np.partition(row, len(row) - n)[len(row) - n]
    high = np.flatnonzero(row >= least)
    if len(high) < n:
        raise DataError(
            "a score is not a number (NaN)", remedy="Rank words by numbers; minus infinity puts a word last."
        )
    return high[np.argsort(-row[high], kind="stable")][:n]


def relevance(word_probability: ArrayLike, frequencies: ArrayLike, lambda_: float) -> Floats:
    """Return lambda log phi + (1 - lambda) log(phi / p): how much a word says of a topic.

    `word_probability`: shape (V,) or (K, V); phi, the probability of each word in a topic.
    `frequencies`: shape (V,); how often each word stands in the corpus, in any unit; p is its share.
    `lambda_`: 1 ranks by probability, 0 by lift.
    Returns: shape of `word_probability`; nats. Minus infinity for a word that the topic or the corpus does not use.
    Reference: Sievert and Shirley 2014, eq. 1.
    """
    if not 0.0 <= lambda_ <= 1.0:
        raise ParameterError(f"lambda must be between 0 and 1, not {lambda_}.")
    with np.errstate(divide="ignore"):
        log_phi = np.log(np.asarray(word_probability, dtype=np.float64))
    return log_phi - _surprise(frequencies, lambda_)


def _surprise(frequencies: ArrayLike, lambda_: float) -> Floats:
    """Return (1 - lambda) log p of each word, infinity where the corpus does not use it."""
    return np.nan_to_num((1.0 - lambda_) * np.log(_shares(frequencies)), nan=np.inf)


def _shares(frequencies: ArrayLike) -> Floats:
    """Return the share of each word in the corpus, NaN for one that it does not use."""
    counts = np.asarray(frequencies, dtype=np.float64)
    return np.where(counts > 0.0, counts, np.nan) / counts.sum()


def lift(word_probability: ArrayLike, frequencies: ArrayLike) -> Floats:
    """Return phi / p, how much more often a topic uses a word than the corpus does; NaN if the corpus has none."""
    return np.asarray(word_probability, dtype=np.float64) / _shares(frequencies)


def exclusivity(word_probability: ArrayLike) -> Floats:
    """Return phi of each topic over the sum of phi over all topics, shape (K, V); 0 for a word of no topic."""
    phi = np.asarray(word_probability, dtype=np.float64)
    total = phi.sum(axis=0)
    return np.divide(phi, total, out=np.zeros_like(phi), where=total > 0.0)


def frex(word_probability: ArrayLike, weight: float = 0.5) -> Floats:
    """Return FREX: the harmonic mean of how high a word ranks in a topic by exclusivity and by frequency.

    `word_probability`: shape (K, V).
    `weight`: weight of exclusivity; that of frequency is the rest.
    Returns: shape (K, V); between 0 and 1. Each rank is the share of the topic's words that are no better (the
      empirical distribution function); words that tie share the mean of their ranks.
    Reference: Bischof and Airoldi 2012; Airoldi and Bischof 2016, eq. 9.
    """
    phi = np.asarray(word_probability, dtype=np.float64)
    only = exclusivity(phi)
    return np.array([_frex(row, alone, weight) for row, alone in zip(phi, only, strict=True)])


def _frex(row: Floats, alone: Floats, weight: float) -> Floats:
    if not 0.0 <= weight <= 1.0:
        raise ParameterError(f"The weight of exclusivity must be between 0 and 1, not {weight}.")
    from scipy.stats import rankdata  # slow to import

    by_exclusivity = rankdata(alone) / len(row)
    by_frequency = rankdata(row) / len(row)
    return 1.0 / (weight / by_exclusivity + (1.0 - weight) / by_frequency)


def ranked_words(
    word_probability: ArrayLike,
    frequencies: ArrayLike,
    vocabulary: Sequence[str] | NDArray[Any],
    *,
    by: Ranking = "probability",
    n: int = 10,
    lambda_: float = 0.6,
    weight: float = 0.5,
    topics: Sequence[int] | None = None,
) -> pd.DataFrame:
    """Return the words that describe each topic.

    `word_probability`: shape (K, V).
    `frequencies`: shape (V,); how often each word stands in the corpus.
    `vocabulary`: length V.
    `n`: words for each topic.
    `lambda_`: for relevance.
    `weight`: for FREX: the weight of exclusivity.
    `topics`: which topics (0-based); default all. They are measured against all of them all the same.
    Returns: one row for each topic and rank: topic and rank (from 1), word, probability, score (what the order goes
      by: the probability, the relevance in nats, or FREX), lift, frequency, and exclusivity.
    """
    import pandas as pd  # slow to import

    if by not in get_args(Ranking):
        raise ParameterError(f"Words are ranked by {', '.join(get_args(Ranking))}, not by {by!r}.")
    phi = distributions(word_probability, n_words=len(vocabulary))
    counts = np.asarray(frequencies)
    if counts.shape != phi.shape[1:] or not counts.sum() > 0:
        raise DataError(
            f"frequencies of the shape {counts.shape} were given for {phi.shape[1]:,} words",
            remedy="Give how often each word stands in the corpus, at least once for one of them.",
        )
    chosen = np.arange(len(phi)) if topics is None else check_topics(topics, len(phi))
    total = phi.sum(axis=0)
    parts = []
    for topic in chosen:
        row = phi[topic]
        alone = np.divide(row, total, out=np.zeros_like(row), where=total > 0.0)
        if by == "frex":
            score = _frex(row, alone, weight)
        else:
            score = row if by == "probability" else relevance(row, counts, lambda_)
        best = top_words(score, n)
        parts.append((best, row[best], score[best], alone[best]))
    word, probability, scores, alone = (np.ravel(column) for column in zip(*parts, strict=True))
    each = len(word) // len(chosen)
    return pd.DataFrame(
        {
            "topic": np.repeat(chosen, each) + 1,
            "rank": np.tile(np.arange(1, each + 1), len(chosen)),
            "word": np.asarray(vocabulary, dtype=object)[word],
            "probability": probability,
            "score": scores,
            "lift": probability / _shares(counts)[word],
            "frequency": counts[word],
            "exclusivity": alone,
        }
    )


def check_topics(topics: ArrayLike, n_topics: int) -> NDArray[np.int64]:
    """Return numbers of topics (0-based), at least one, each from 0 to `n_topics` - 1, or raise ParameterError."""
    chosen = np.atleast_1d(np.asarray(topics, dtype=np.int64))
    if not len(chosen):
        raise ParameterError("There is no topic to show.")
    wrong = chosen[(chosen < 0) | (chosen >= n_topics)]
    if len(wrong):
        raise ParameterError(f"There is no topic {wrong[0] + 1}, only {n_topics:,}.")
    return chosen


#: How far a row may sum from one: what single precision leaves of a sum over a large vocabulary.
SUM_TOLERANCE = 1e-3
#: Divergences below this are what rounding leaves of zero.
ROUNDING = 1e-14


def distributions(given: ArrayLike, what: str = "the topics", n_words: int | None = None) -> Floats:
    """Return an array of distributions, one a row, in double precision.

    `given`: shape (K, V); rows that sum to one.
    `what`: their name in a message.
    `n_words`: the number of columns there must be.
    Raises DataError: there is no row or no column, an entry is negative or not finite, a row does not sum to one, or
      the number of columns is another.
    """
    rows = np.ascontiguousarray(given, dtype=np.float64)
    if rows.ndim != 2 or 0 in rows.shape:
        raise DataError(
            f"{what} have the shape {rows.shape}",
            remedy="Give an array with one distribution a row, at least one.",
        )
    if n_words is not None and rows.shape[1] != n_words:
        raise DataError(
            f"{what} are over {rows.shape[1]:,} words where {n_words:,} are expected",
            remedy="Only distributions over the same vocabulary can be used together.",
        )
    total = rows.sum(axis=1)
    wrong = ~(np.abs(total - 1.0) <= SUM_TOLERANCE) | (rows.min(axis=1) < 0.0)
    if wrong.any():
        row = int(wrong.argmax())
        raise DataError(
            f"{what}: row {row + 1:,} is not a distribution (sum {total[row]:g}, least value {rows[row].min():g})",
            remedy="Give probabilities: at least 0, and 1 in all.",
        )
    return rows


def jensen_shannon(one: ArrayLike, other: ArrayLike | None = None) -> Floats:
    """Return the Jensen-Shannon distances between the rows of two arrays of distributions.

    The distance is the square root of the divergence to base 2: a metric between 0 (the same) and 1 (no word in
    common). Time grows with K L V, some 2 ns each; memory with K V and L V.

    `one`: shape (K, V).
    `other`: shape (L, V); by default `one`, which takes half the time.
    Returns: shape (K, L); symmetric with a zero diagonal when there is no `other`. Distances below 1e-7 are rounding,
      and given as 0.
    Reference: Endres and Schindelin 2003 (the square root is a metric).
    """
    rows = distributions(one)
    own = _p_log_p(rows)
    if other is None:
        columns, theirs = rows, own
    else:
        columns = distributions(other, n_words=rows.shape[1])
        theirs = _p_log_p(columns)
    divergence = np.zeros((len(rows), len(columns)))
    for i in range(len(rows)):
        start = i + 1 if other is None else 0
        # One call a row: other threads run in between.
        _divergences(rows[i], own[i], columns[start:], theirs[start:], divergence[i, start:])
    if other is None:
        divergence += divergence.T
    divergence /= math.log(2.0)
    divergence[divergence < ROUNDING] = 0.0
    return np.sqrt(np.minimum(divergence, 1.0))


def _p_log_p(rows: Floats) -> Floats:
    out = np.empty_like(rows)
    for row, into in zip(rows, out, strict=True):
        _x_log_x(row, into)
    return out


@nb.njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _x_log_x(x: Any, out: Any) -> None:
    """Write x log x; the logarithm of zero is finite here, so that 0 log 0 is 0."""
    for w in range(x.shape[0]):
        out[w] = x[w] * log(x[w])


@nb.njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _divergences(p: Any, p_log_p: Any, q: Any, q_log_q: Any, out: Any) -> None:
    """Write the divergence (nats) of p from each row of q: sum of (p log p + q log q) / 2 - m log m.

    Taken word by word, not as a difference of three entropies: what is alike cancels before it is added up.
    """
    for j in range(q.shape[0]):
        total = 0.0
        for w in range(p.shape[0]):
            m = 0.5 * (p[w] + q[j, w])
            total += 0.5 * (p_log_p[w] + q_log_q[j, w]) - m * log(m)
        out[j] = total
