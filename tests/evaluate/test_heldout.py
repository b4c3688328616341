"""Held-out scores on numbers that can be checked by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

from acvb_core.evaluate.heldout import (
    mean_log_likelihood,
    score_cells,
    score_links,
    score_ranking,
    score_words,
)
from tests.loops import for_each

P = np.array([0.9, 0.6, 0.5, 0.2])
TRUTH = np.array([True, False, True, False])


def test_log_likelihood_by_hand() -> None:
    expected = (math.log(0.9) + math.log(0.4) + math.log(0.5) + math.log(0.8)) / 4
    assert mean_log_likelihood(P, TRUTH) == pytest.approx(expected, rel=1e-14)
    assert score_links(P, TRUTH, 0.25).log_likelihood == pytest.approx(expected, rel=1e-14)


def test_skill_is_against_the_density_for_every_entry() -> None:
    log_likelihood = mean_log_likelihood(P, TRUTH)
    one_block = (2 * math.log(0.25) + 2 * math.log(0.75)) / 4
    assert score_links(P, TRUTH, 0.25).skill == pytest.approx(1 - log_likelihood / one_block)
    assert score_links(np.full(4, 0.25), TRUTH, 0.25).skill == pytest.approx(0.0, abs=1e-15)
    assert (
        score_links(np.array([0.01, 0.99, 0.01, 0.99]), TRUTH, 0.25).skill
        < 0
        < score_links(P, TRUTH, 0.25).skill
    )


def test_ranking_by_hand() -> None:
    found = score_links(P, TRUTH, 0.5)
    # Of the four pairs of a one and a zero, (0.5, 0.6) alone is in the wrong order.
    assert found.roc_auc == pytest.approx(3 / 4)
    # Precision at the first one is 1/1, at the second 2/3.
    assert found.average_precision == pytest.approx((1 + 2 / 3) / 2)


def test_ties_count_half() -> None:
    found = score_links(np.array([0.5, 0.5]), np.array([True, False]), 0.5)
    assert (found.roc_auc, found.average_precision) == (0.5, 0.5)


@for_each("levels", [2, 5, 1000])
def test_ranking_is_that_of_scikit_learn(levels: int) -> None:
    rng = np.random.default_rng(levels)
    for share in (0.02, 0.5, 0.9):
        truth = rng.random(400) < share
        probability = rng.integers(1, levels, size=400, endpoint=True) / (levels + 1.0)
        expected = roc_auc_score(truth, probability), average_precision_score(truth, probability)
        assert score_ranking(probability, truth) == pytest.approx(expected, rel=1e-12)


@for_each("value", [False, True])
@for_each("baseline", [0.0, 0.3, 1.0])
def test_entries_all_alike_cannot_be_ranked(value: bool, baseline: float) -> None:
    """A warning would fail this test."""
    found = score_links(np.array([0.1, 0.4, 0.2]), np.full(3, value), baseline)
    assert math.isnan(found.roc_auc)
    assert math.isnan(found.average_precision)
    assert math.isfinite(found.log_likelihood)
    assert math.isfinite(found.skill)


def test_single_entry() -> None:
    found = score_links(np.array([0.25]), np.array([True]), 0.5)
    assert found.log_likelihood == pytest.approx(math.log(0.25))
    assert found.skill == pytest.approx(-1.0)


def test_a_word_counts_as_often_as_it_was_held_out() -> None:
    found = score_words(np.array([0.5, 0.25, 0.1]), np.array([1, 4, 3], dtype=np.int32))
    expected = (math.log(0.5) + 4 * math.log(0.25) + 3 * math.log(0.1)) / 8
    assert found.log_likelihood == pytest.approx(expected, rel=1e-14)
    assert found.perplexity == pytest.approx(math.exp(-expected), rel=1e-14)


def test_cells_by_hand() -> None:
    """The mean of a column is 0 on the standardised scale, whatever the mean of the held-out cells."""
    truth, mean, density = np.array([1.0, 2.0, 3.0]), np.array([1.5, 2.0, 1.0]), np.array([0.5, 0.25, 0.125])
    found = score_cells(np.stack([density, mean], axis=1).astype(np.longdouble), truth)
    assert found.log_likelihood == pytest.approx(-2.0 * math.log(2.0), rel=1e-14)
    assert found.rmse == pytest.approx(math.sqrt((0.25 + 4.0) / 3), rel=1e-14)
    assert found.explained == pytest.approx(1 - 4.25 / 14, rel=1e-14)
    assert found.means_log_likelihood == pytest.approx(-0.5 * math.log(2 * math.pi) - 14 / 6, rel=1e-14)
