"""Paired tests hold against SciPy's and against simulations, and say nothing where there is nothing to test."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from acvb_core.core.errors import ParameterError
from acvb_core.evaluate import significance
from acvb_core.evaluate.significance import adjust_holm, compare_paired, compare_with_best


def test_the_tests_are_those_of_scipy() -> None:
    rng = np.random.default_rng(1)
    one, other = rng.normal(size=(5, 10)), rng.normal(0.3, 1.0, size=(5, 10))
    tests = compare_paired(one, other)
    by_scipy = stats.ttest_rel(one, other, axis=1)
    np.testing.assert_allclose(tests.p_t, by_scipy.pvalue, rtol=1e-12)
    interval = by_scipy.confidence_interval(0.95)
    np.testing.assert_allclose([tests.low, tests.high], [interval.low, interval.high], rtol=1e-12)
    np.testing.assert_allclose(tests.p_wilcoxon, stats.wilcoxon(one, other, axis=1).pvalue, rtol=1e-12)
    np.testing.assert_allclose(tests.difference, (one - other).mean(axis=1))


def test_a_missing_score_takes_its_split_out() -> None:
    one, other = np.array([1.0, 2.0, np.nan, 5.0, 4.0]), np.array([0.5, np.nan, 3.0, 4.0, 4.2])
    both = [0, 3, 4]
    tests, alone = compare_paired(one, other), compare_paired(one[both], other[both])
    assert tests.n == 3
    for name in tests._fields:
        np.testing.assert_array_equal(getattr(tests, name), getattr(alone, name))


def test_equal_scores_are_no_difference() -> None:
    """Neither are scores that differ by rounding, however regular that is."""
    scores = np.linspace(-1.0, -0.5, 10)
    for other in (scores, scores * (1 + 3e-16), scores - 1e-13):
        tests = compare_paired(scores, other)
        assert (tests.difference, tests.p_t, tests.p_wilcoxon) == (0.0, 1.0, 1.0)


def test_a_constant_difference_is_certain() -> None:
    scores = np.arange(4.0)
    tests = compare_paired(scores + 1.0, scores)
    assert (tests.difference, tests.low, tests.high, tests.p_t) == (1.0, 1.0, 1.0, 0.0)


@pytest.mark.parametrize("scores", [np.empty(0), np.array([1.0]), np.array([np.nan, 2.0])])
def test_fewer_than_two_splits_test_nothing(scores: np.ndarray) -> None:
    tests = compare_paired(scores, scores + 1.0)
    assert np.isnan([tests.low, tests.high, tests.p_t, tests.p_wilcoxon]).all()


def test_scores_of_other_splits_are_refused() -> None:
    with pytest.raises(ParameterError, match="not of 3 and 4 splits"):
        compare_paired(np.zeros(3), np.zeros(4))


def test_signed_ranks_may_be_left_out() -> None:
    scores = np.array([[0.1, 0.5, 0.4], [0.2, 0.3, 0.1], [0.0, 0.4, 0.6]])
    for with_ranks, without in (
        (compare_paired(scores[0], scores[1]), compare_paired(scores[0], scores[1], ranks=False)),
        (compare_with_best(scores).tests, compare_with_best(scores, ranks=False).tests),
    ):
        assert np.isnan(without.p_wilcoxon).all()
        np.testing.assert_array_equal(without.p_t, with_ranks.p_t)
        np.testing.assert_array_equal(without.difference, with_ranks.difference)


def test_holm_steps_down() -> None:
    """Worked by hand: .01 x 3, .02 x 2, .04 x 1, none below the one before; NaN does not count."""
    np.testing.assert_allclose(adjust_holm([0.04, 0.01, 0.02]), [0.04, 0.03, 0.04])
    np.testing.assert_allclose(adjust_holm([0.5, np.nan, 0.6]), [1.0, np.nan, 1.0])
    assert len(adjust_holm([])) == 0


def test_the_best_has_the_highest_mean_of_those_with_all_scores() -> None:
    scores = np.array([[1.0, 2.0, 3.0], [9.0, np.nan, np.nan], [2.0, 3.0, 4.5], [np.nan] * 3])
    best, tests = compare_with_best(scores)
    assert best == 2
    assert tests.n.tolist() == [3, 1, 3, 0]
    assert np.isnan(tests.p_t).tolist() == [False, True, True, True]
    assert compare_with_best(np.full((2, 3), np.nan)).best is None


def test_the_best_against_others_is_adjusted_over_all_pairs() -> None:
    rng = np.random.default_rng(2)
    scores = rng.normal(size=(3, 10)) + np.array([[0.0], [0.8], [2.0]])
    best, tests = compare_with_best(scores)
    pairs = {(i, j): stats.ttest_rel(scores[i], scores[j]).pvalue for i, j in ((0, 1), (0, 2), (1, 2))}
    adjusted = dict(zip(pairs, adjust_holm(list(pairs.values())), strict=True))
    assert best == 2
    np.testing.assert_allclose(tests.p_t[:2], [adjusted[0, 2], adjusted[1, 2]])


@pytest.fixture
def t_tests_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the tests of ranks, which take nine tenths of the time."""
    monkeypatch.setattr(significance, "_test_signed_ranks", lambda _: 1.0)


@pytest.mark.usefixtures("t_tests_alone")
@pytest.mark.parametrize("n_methods", [2, 4])
def test_no_difference_is_rarely_called_one(n_methods: int) -> None:
    """Of 1,000 experiments whose methods do not differ, at most 6 % find a method worse than the best by the t-test.

    The splits differ more than the methods: only paired tests are fair then.
    """
    rng = np.random.default_rng(3)
    scores = rng.normal(size=(1_000, n_methods, 10)) + 5.0 * rng.normal(size=(1_000, 1, 10))
    wrong = sum((compare_with_best(one).tests.p_t < 0.05).any() for one in scores)
    assert wrong <= 60


@pytest.mark.usefixtures("t_tests_alone")
def test_a_difference_of_one_standard_deviation_is_mostly_found() -> None:
    """At 10 splits the power is .803 by the noncentral t distribution; 1,000 draws are within 3 errors of it."""
    rng = np.random.default_rng(4)
    power = stats.nct.sf(stats.t.ppf(0.975, 9), 9, np.sqrt(10)) + stats.nct.cdf(
        -stats.t.ppf(0.975, 9), 9, np.sqrt(10)
    )
    assert power >= 0.80
    base = rng.normal(size=(1_000, 10))
    tests = compare_paired(base + rng.normal(1.0, 1.0, size=base.shape), base)
    assert abs((tests.p_t < 0.05).mean() - power) < 3 * np.sqrt(power * (1 - power) / 1_000)
