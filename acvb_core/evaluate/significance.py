"""Paired tests: do one method's scores differ from another's over the same splits?"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from acvb_core.core.errors import ParameterError

Floats = NDArray[np.float64]

#: Differences smaller than this share of the scores are rounding: methods that do the same are no different.
_ROUNDING = 1e-10
#: Fewer splits than this are not tested: their spread is hardly known.
LEAST_SPLITS = 5


class PairedTests(NamedTuple):
    """How much scores lie above others of the same splits; arrays of shape (n_comparisons,)."""

    n: NDArray[np.int64]  #: splits on which both have a score
    difference: Floats  #: mean difference; NaN without a split
    #: All that follows is NaN if nothing is tested: with fewer splits than `LEAST_SPLITS`, or without any spread of
    #: the differences.
    low: Floats  #: `low`, `high`: interval of the mean difference, by the corrected t-test
    high: Floats
    p_t: Floats  #: two-sided p of the corrected t-test
    #: `p_uncorrected`, `p_wilcoxon`: two-sided p of the paired t-test and of Wilcoxon's signed-rank test. They ask
    #: whether further splits of the same data would show a difference, and not whether other data would.
    p_uncorrected: Floats
    p_wilcoxon: Floats


def compare_paired(
    one: ArrayLike, other: ArrayLike, level: float = 0.95, *, ratio: float, ranks: bool = True
) -> PairedTests:
    """Test whether mean scores differ, by the corrected resampled t-test.

    Random splits of one data set share most of their training data, so their scores are not independent: the variance
    of their mean is taken as (1/n + ratio) times that of one difference, in place of 1/n. The claim is about this data
    set; methods that are equal on average over data sets may well differ on one.

    `one`, `other`: shapes (n_comparisons, n_splits) or (n_splits,); scores on the same splits; NaN if a run has
      none.
    `level`: of the interval.
    `ratio`: held-out data as a multiple of the training data, .1/.9 where a tenth is held out; 0 if the scores are
      independent, such as the means of several data sets.
    `ranks`: test signed ranks too, which takes a second where differences are equal; otherwise their p is NaN.
    Raises ParameterError: the numbers of splits differ.
    Source: C. Nadeau, Y. Bengio, Inference for the generalization error, Machine Learning 52, 2003.
    """
    differences, n, mean, variance, has_spread = _measure_differences(one, other)
    with np.errstate(divide="ignore", invalid="ignore"):
        error, narrow = np.sqrt((1 / n + ratio) * variance), np.sqrt(variance / n)
        p_t, p_uncorrected = (2 * stats.t.sf(np.abs(mean) / by, n - 1) for by in (error, narrow))
        half = stats.t.ppf((1 + level) / 2, n - 1) * error
    tested = (n >= LEAST_SPLITS) & has_spread
    p_wilcoxon = np.full(len(n), np.nan)
    if ranks:
        for place in np.flatnonzero(tested):
            p_wilcoxon[place] = _test_signed_ranks(differences[place][np.isfinite(differences[place])])
    low, high, p_t, p_uncorrected = (
        np.where(tested, x, np.nan) for x in (mean - half, mean + half, p_t, p_uncorrected)
    )
    return PairedTests(n, mean, low, high, p_t, p_uncorrected, p_wilcoxon)


class MarginTests(NamedTuple):
    """Tests of whether mean scores differ by more than a margin; arrays of shape (n_comparisons,)."""

    n: NDArray[np.int64]  #: splits on which both have a score
    difference: Floats  #: mean difference; NaN without a split
    #: `p_within`: of two one-sided tests the larger p; small where the difference is shown to be within the margin.
    #: `p_beyond`: two-sided; small where it is shown to be beyond. Both are NaN with fewer splits than `LEAST_SPLITS`.
    p_within: Floats
    p_beyond: Floats


def compare_with_margin(one: ArrayLike, other: ArrayLike, margin: float, *, ratio: float) -> MarginTests:
    """Test whether mean scores are equal but for a margin: a difference that is not found may still be there.

    Two one-sided tests (Schuirmann, Journal of Pharmacokinetics and Biopharmaceutics 15, 1987), each corrected as by
    `compare_paired`. The same difference on every split has no spread to judge it by: the signs of its distances from
    the margin are tested.

    `one`, `other`, `ratio`: as for `compare_paired`.
    `margin`: in the scores' units, not below 0.
    Raises ParameterError: the numbers of splits differ.
    """
    _, n, mean, variance, has_spread = _measure_differences(one, other)
    with np.errstate(divide="ignore", invalid="ignore"):
        edge = (np.abs(mean) - margin) / np.sqrt((1 / n + ratio) * variance)
    p_within, p_beyond = stats.t.cdf(edge, n - 1), np.minimum(2 * stats.t.sf(edge, n - 1), 1.0)
    for place in np.flatnonzero(~has_spread):
        is_within = np.abs(mean[place]) <= margin
        p_within[place], p_beyond[place] = (0.5 ** n[place], 1.0) if is_within else (1.0, 2 * 0.5 ** n[place])
    p_within, p_beyond = (np.where(n >= LEAST_SPLITS, p, np.nan) for p in (p_within, p_beyond))
    return MarginTests(n, mean, p_within, p_beyond)


def _measure_differences(
    one: ArrayLike, other: ArrayLike
) -> tuple[Floats, NDArray[np.int64], Floats, Floats, NDArray[np.bool_]]:
    """Return the differences split by split, their number, mean and variance, and whether they have any spread."""
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
        deviations = np.where(known, differences - mean[:, None], 0.0)
        variance = (deviations**2).sum(axis=1) / (n - 1)
    has_spread = np.abs(deviations).max(axis=1, initial=0.0) > _ROUNDING * np.abs(np.nan_to_num(mean))
    return differences, n, mean, variance, has_spread


def _test_signed_ranks(differences: Floats) -> float:
    return float(stats.wilcoxon(differences).pvalue)


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

    best: int | None  #: its place; None if nothing has a score
    #: Each method against the best: below 0 is worse. Its p are adjusted by Holm over all pairs of methods, because
    #: the best is chosen by the same scores; NaN for the best itself.
    tests: PairedTests


def compare_with_best(scores: ArrayLike, *, ratio: float, ranks: bool = True) -> AgainstBest:
    """Hold every method against the one with the highest mean score.

    The best is chosen among the methods that have the most scores: a mean over fewer splits may be of easier ones.

    `scores`: shape (n_methods, n_splits); higher is better; NaN if a run has no score.
    `ratio`, `ranks`: as for `compare_paired`.
    """
    table = np.atleast_2d(np.asarray(scores, dtype=np.float64))
    known = np.isfinite(table)
    counts = known.sum(axis=1)
    if not counts.any():
        return AgainstBest(None, compare_paired(table, table, ratio=ratio, ranks=ranks))
    means = np.where(known, table, 0.0).sum(axis=1) / np.maximum(counts, 1)
    best = int(np.argmax(np.where(counts == counts.max(), means, -np.inf)))
    first, second = np.triu_indices(len(table), 1)
    pairs = compare_paired(table[first], table[second], ratio=ratio, ranks=ranks)
    with_best = (first == best) | (second == best)
    other = (first + second - best)[with_best]
    tests = compare_paired(table, table[best], ratio=ratio, ranks=ranks)
    for name in ("p_t", "p_uncorrected", "p_wilcoxon"):
        values = np.full(len(table), np.nan)
        values[other] = adjust_holm(getattr(pairs, name))[with_best]
        tests = tests._replace(**{name: values})
    return AgainstBest(best, tests)
