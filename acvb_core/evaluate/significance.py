"""Paired tests: whether one method's scores differ from another's over the same splits."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from acvb_core.core.errors import ParameterError

Floats = NDArray[np.float64]

#: Differences smaller than this share of the scores are rounding: methods that do the same are no different.
_ROUNDING = 1e-10


class PairedTests(NamedTuple):
    """How much scores lie above others of the same splits; arrays of shape (n_comparisons,)."""

    n: NDArray[np.int64]  #: splits on which both have a score
    difference: Floats  #: mean difference; NaN without a split
    #: `low`, `high`: its interval by Student's t; NaN for fewer than two splits.
    low: Floats
    high: Floats
    #: `p_t`, `p_wilcoxon`: two-sided p of the paired t-test and of Wilcoxon's signed-rank test, 1 where all
    #: differences are zero; NaN for fewer than two splits.
    p_t: Floats
    p_wilcoxon: Floats


def compare_paired(
    one: ArrayLike, other: ArrayLike, level: float = 0.95, *, ranks: bool = True
) -> PairedTests:
    """Test whether mean scores differ.

    The splits are draws from one data set: the claim is about further splits of the same data, not about new data
    (for these, training sets that overlap make the test too ready to see a difference; Nadeau, Bengio, Machine
    Learning 52, 2003).

    `one`, `other`: shapes (n_comparisons, n_splits) or (n_splits,); scores on the same splits; NaN where a run has
      none.
    `level`: of the interval.
    `ranks`: test signed ranks too, which takes a second where differences are equal; otherwise their p is NaN.
    Raises ParameterError: the numbers of splits differ.
    """
    first, second = (np.atleast_2d(np.asarray(scores, dtype=np.float64)) for scores in (one, other))
    if first.shape[1] != second.shape[1]:
        raise ParameterError(
            f"Scores of the same splits are needed, not of {first.shape[1]} and {second.shape[1]} splits."
        )
    differences = first - second
    differences[np.abs(differences) <= _ROUNDING * np.maximum(np.abs(first), np.abs(second))] = 0.0
    known = np.isfinite(differences)
    n = known.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.where(known, differences, 0.0).sum(axis=1) / n
        squares = np.where(known, (differences - mean[:, None]) ** 2, 0.0).sum(axis=1)
        error = np.sqrt(squares / (n - 1) / n)
        # Without spread the statistic is infinite, unless nothing differs: then it is 0/0, and p is 1.
        p_t = np.where(mean == 0.0, 1.0, 2 * stats.t.sf(np.abs(mean) / error, n - 1))
        half = stats.t.ppf((1 + level) / 2, n - 1) * error
    tested = n >= 2
    p_wilcoxon = [
        _test_signed_ranks(row[has]) if ranks else np.nan for row, has in zip(differences, known, strict=True)
    ]
    low, high, p_t, p_ranks = (
        np.where(tested, x, np.nan) for x in (mean - half, mean + half, p_t, p_wilcoxon)
    )
    return PairedTests(n, mean, low, high, p_t, p_ranks)


def _test_signed_ranks(differences: Floats) -> float:
    return float(stats.wilcoxon(differences).pvalue) if differences.any() else 1.0


def adjust_holm(p: ArrayLike) -> Floats:
    """Return p-values adjusted for their number: with the limit p, at most a share p of families has a false one.

    Source: Holm, *A simple sequentially rejective multiple test procedure*, Scandinavian Journal of Statistics 6,
    1979. A NaN, which stands for no test, stays and does not count.

    `p`: shape (n,).
    Returns: shape (n,).
    """
    values = np.asarray(p, dtype=np.float64)
    adjusted = values.copy()
    order = np.argsort(values)[: np.isfinite(values).sum()]
    steps = values[order] * np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


class AgainstBest(NamedTuple):
    """Several methods held against the one with the best mean."""

    best: int | None  #: its place; None where nothing has a score
    #: Each method against the best: below 0 is worse. Its p are adjusted by Holm over all pairs of methods, because
    #: the best is chosen by the same scores; NaN for the best itself.
    tests: PairedTests


def compare_with_best(scores: ArrayLike, *, ranks: bool = True) -> AgainstBest:
    """Hold every method against the one with the highest mean score.

    The best is chosen among the methods that have the most scores: a mean over fewer splits may be of easier ones.

    `scores`: shape (n_methods, n_splits); higher is better; NaN where a run has no score.
    `ranks`: as for `compare_paired`.
    """
    table = np.atleast_2d(np.asarray(scores, dtype=np.float64))
    known = np.isfinite(table)
    counts = known.sum(axis=1)
    if not counts.any():
        return AgainstBest(None, compare_paired(table, table, ranks=ranks))
    means = np.where(known, table, 0.0).sum(axis=1) / np.maximum(counts, 1)
    best = int(np.argmax(np.where(counts == counts.max(), means, -np.inf)))
    first, second = np.triu_indices(len(table), 1)
    pairs = compare_paired(table[first], table[second], ranks=ranks)
    with_best = (first == best) | (second == best)
    other = (first + second - best)[with_best]
    tests = compare_paired(table, table[best], ranks=ranks)
    for name in ("p_t", "p_wilcoxon"):
        values = np.full(len(table), np.nan)
        values[other] = adjust_holm(getattr(pairs, name))[with_best]
        tests = tests._replace(**{name: values})
    return AgainstBest(best, tests)
