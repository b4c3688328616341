"""Paired tests hold against SciPy's and against simulations, and say nothing where there is nothing to test."""

from __future__ import annotations

import numpy as np
from scipy import stats

from acvb_core.evaluate.significance import (
    LEAST_SPLITS,
    adjust_holm,
    compare_paired,
    compare_with_best,
    compare_with_margin,
)
from tests.loops import for_each


def test_the_tests_are_those_of_scipy() -> None:
    rng = np.random.default_rng(1)
    one, other = rng.normal(size=(5, 10)), rng.normal(0.3, 1.0, size=(5, 10))
    tests = compare_paired(one, other, ratio=0.0)
    by_scipy = stats.ttest_rel(one, other, axis=1)
    np.testing.assert_allclose([tests.p_t, tests.p_uncorrected], [by_scipy.pvalue] * 2, rtol=1e-12)
    interval = by_scipy.confidence_interval(0.95)
    np.testing.assert_allclose([tests.low, tests.high], [interval.low, interval.high], rtol=1e-12)
    np.testing.assert_allclose(tests.p_wilcoxon, stats.wilcoxon(one, other, axis=1).pvalue, rtol=1e-12)
    np.testing.assert_allclose(tests.difference, (one - other).mean(axis=1))


def test_the_correction_widens_the_variance_of_the_mean() -> None:
    """By hand: differences 1 ... 6 have variance 3.5, and their mean (1/6 + 1/9) of it."""
    differences = np.arange(1.0, 7.0)
    tests = compare_paired(differences, np.zeros(6), ratio=1 / 9)
    error = np.sqrt((1 / 6 + 1 / 9) * 3.5)
    half = stats.t.ppf(0.975, 5) * error
    np.testing.assert_allclose([tests.low[0], tests.high[0]], [3.5 - half, 3.5 + half], rtol=1e-12)
    np.testing.assert_allclose(tests.p_t, 2 * stats.t.sf(3.5 / error, 5), rtol=1e-12)
    np.testing.assert_allclose(tests.p_uncorrected, stats.ttest_1samp(differences, 0.0).pvalue, rtol=1e-12)
    for other in (differences * (1 + 3e-16), differences - 0.25):  # no spread: nothing to test
        tests = compare_paired(differences, other, ratio=0.1)
        assert np.isnan([tests.low, tests.p_t, tests.p_uncorrected, tests.p_wilcoxon]).all()


def test_a_missing_score_takes_its_split_out() -> None:
    one = np.array([1.0, 2.0, np.nan, 5.0, 4.0, 2.0, 3.0])
    other = np.array([0.5, np.nan, 3.0, 4.0, 4.2, 2.5, 2.9])
    both = [0, 3, 4, 5, 6]
    tests, alone = compare_paired(one, other, ratio=0.1), compare_paired(one[both], other[both], ratio=0.1)
    assert tests.n == 5
    for name in tests._fields:
        np.testing.assert_array_equal(getattr(tests, name), getattr(alone, name))


@for_each("n", range(LEAST_SPLITS + 1))
def test_few_splits_test_nothing(n: int) -> None:
    scores = np.random.default_rng(0).normal(size=(2, n))
    tests = compare_paired(*scores, ratio=0.1)
    values = np.array([tests.low, tests.high, tests.p_t, tests.p_uncorrected, tests.p_wilcoxon])
    assert np.isnan(values).all() == (n < LEAST_SPLITS)


def test_within_a_margin_is_shown_where_the_interval_is() -> None:
    """Two one-sided tests at 5 % are the 90 % interval; a difference that is not found need not be within."""
    rng = np.random.default_rng(7)
    scores = rng.normal(size=(40, 8)) * rng.uniform(0.05, 2.0, size=(40, 1)) + rng.normal(size=(40, 1))
    none = np.zeros((40, 8))
    tests = compare_with_margin(scores, none, 1.0, ratio=0.1)
    inner, outer = (compare_paired(scores, none, level, ratio=0.1, ranks=False) for level in (0.9, 0.95))
    np.testing.assert_array_equal(tests.p_within < 0.05, (inner.low > -1.0) & (inner.high < 1.0))
    np.testing.assert_array_equal(tests.p_beyond < 0.05, (outer.low > 1.0) | (outer.high < -1.0))
    assert ((outer.p_t > 0.05) & (tests.p_within > 0.05)).any()
    assert (tests.p_within < 0.05).any()
    assert (tests.p_beyond < 0.05).any()


def test_holm_steps_down() -> None:
    """Worked by hand: .01 x 3, .02 x 2, .04 x 1, none below the one before; NaN does not count."""
    np.testing.assert_allclose(adjust_holm([0.04, 0.01, 0.02]), [0.04, 0.03, 0.04])
    np.testing.assert_allclose(adjust_holm([0.5, np.nan, 0.6]), [1.0, np.nan, 1.0])
    assert len(adjust_holm([])) == 0


def test_the_best_has_the_highest_mean_of_those_with_all_scores() -> None:
    none = np.full(5, np.nan)
    scores = np.array([[1.0, 2.0, 3.0, 4.0, 5.0], [9.0, *none[1:]], [2.0, 3.0, 4.5, 5.0, 6.0], none])
    best, tests = compare_with_best(scores, ratio=0.1)
    assert best == 2
    assert tests.n.tolist() == [5, 1, 5, 0]
    assert np.isnan(tests.p_t).tolist() == [False, True, True, True]
    assert compare_with_best(np.full((2, 3), np.nan), ratio=0.1).best is None


def test_the_best_against_others_is_adjusted_over_all_pairs() -> None:
    rng = np.random.default_rng(2)
    scores = rng.normal(size=(3, 10)) + np.array([[0.0], [0.8], [2.0]])
    best, tests = compare_with_best(scores, ratio=0.0)
    pairs = {(i, j): stats.ttest_rel(scores[i], scores[j]).pvalue for i, j in ((0, 1), (0, 2), (1, 2))}
    adjusted = dict(zip(pairs, adjust_holm(list(pairs.values())), strict=True))
    assert best == 2
    np.testing.assert_allclose(tests.p_t[:2], [adjusted[0, 2], adjusted[1, 2]])
