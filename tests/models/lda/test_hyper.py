"""The concentrations: learned by a fixed point that finds those that were planted."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy.special import gammaln

from acvb_core.engine.fitting import fit
from acvb_core.models.lda.hyper import (
    HIGH,
    LOW,
    Concentrations,
    is_learning_due,
    minka_step,
    sample_concentrations,
)
from acvb_core.models.lda.kernels import Counts
from acvb_core.models.lda.spec import LEARN_EVERY, LEARN_FROM
from acvb_core.samples.planted_mixtures import PlantedTopics, topics_10
from tests.loops import for_each


@cache
def planted() -> PlantedTopics:
    """500 documents, 10 topics; alpha is 0.1 for each topic and beta 0.1."""
    return topics_10(0)


@for_each("method, start", [("cvb0", (0.1, 0.01)), ("cvb", (1.0, 1.0)), ("acvb0", (1.0, 1.0))])
def test_planted_concentrations_are_found(method: str, start: tuple[float, float]) -> None:
    found = fit(planted().corpus, method, k=10, seed=1, alpha=start[0], beta=start[1]).posterior.hyper
    assert 0.7 < found["alpha_total"] < 1.4
    assert 0.065 < found["beta"] < 0.14


def test_values_are_held_where_the_data_say_nothing() -> None:
    given = Concentrations(np.array([0.5, 0.5]), 0.5)
    none = minka_step(given, np.array([[3.0, 0.0], [4.0, 0.0]]), np.array([[7.0, 0.0], [0.0, 0.0]]))
    assert none.alpha[1] == LOW
    assert LOW <= none.beta <= HIGH
    empty = minka_step(given, np.zeros((2, 2)), np.zeros((2, 2)))
    np.testing.assert_array_equal(empty.alpha, given.alpha)
    assert empty.beta == given.beta


def test_when_they_are_learned() -> None:
    due = [age for age in range(200) if is_learning_due(age)]
    assert due == list(range(LEARN_FROM, 200, LEARN_EVERY))


def test_sampled_concentrations_are_drawn_from_their_posterior() -> None:
    """Mean and spread of log alpha and log beta, against a grid of their densities under Gamma(1, 1) priors."""
    rng = np.random.default_rng(0)
    by_document, by_word = rng.integers(0, 6, (9, 3)), rng.integers(0, 4, (15, 3))
    counts = Counts(
        by_document.astype(np.float32), by_word.astype(np.float32), by_word.sum(axis=0).astype(float)
    )
    given, drawn = Concentrations.symmetric(3, 1.0, 1.0), []
    for _ in range(4_000):
        given = sample_concentrations(given, counts, rng)
        drawn.append((np.log(given.alpha[0]), np.log(given.beta)))
    found = np.array(drawn)
    x = np.linspace(-7, 5, 4_001)
    for at, rows in enumerate((by_document, by_word.T)):
        c = np.exp(x)[:, None]
        terms = gammaln(rows.shape[1] * c) - gammaln(rows.shape[1] * c + rows.sum(axis=1))
        logs = terms.sum(axis=1) - np.exp(x) + x
        logs += sum((gammaln(c + row) - gammaln(c)).sum(axis=1) for row in rows)
        density = np.exp(logs - logs.max())
        density /= density.sum()
        mean, sd = density @ x, np.sqrt(density @ x**2 - (density @ x) ** 2)
        assert found[:, at].mean() == pytest.approx(mean, abs=4 * sd / np.sqrt(1_000))
        assert found[:, at].std() == pytest.approx(sd, rel=0.1)
