"""The concentrations: learned by a fixed point that finds those that were planted."""

from __future__ import annotations

import tracemalloc
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.special import gammaln

from acvb_core.core.spec import BURN_IN_CAP
from acvb_core.engine.fitting import fit
from acvb_core.models.lda import cvb
from acvb_core.models.lda.hyper import (
    BLOCK,
    HIGH,
    LEARNED,
    LOW,
    Concentrations,
    DocumentGains,
    is_learning_due,
    learn_hyper,
    minka_step,
    minka_step_of_gains,
)
from acvb_core.models.lda.spec import LEARN_EVERY, LEARN_FROM, LEARN_UNTIL
from acvb_core.samples.planted_mixtures import PlantedTopics, topics_10


@cache
def planted() -> PlantedTopics:
    """500 documents, 10 topics; alpha is 0.1 for each topic and beta 0.1."""
    return topics_10(0)


def learned(method: str, alpha: float, beta: float) -> dict[str, Any]:
    result = fit(planted().corpus, method, k=10, seed=1, alpha=alpha, beta=beta)
    return dict(result.snapshot.posterior.hyper)


@pytest.mark.parametrize("start", [(0.1, 0.01), (1.0, 1.0)])
@pytest.mark.parametrize("method", ["cvb0", "cvb", "acvb0"])
def test_planted_concentrations_are_found(method: str, start: tuple[float, float]) -> None:
    found = learned(method, *start)
    assert 0.7 < found["alpha_total"] < 1.4
    assert 0.065 < found["beta"] < 0.14


@pytest.mark.parametrize("method", ["cvb0", "cvb"])
def test_without_the_weight_of_presence_they_come_out_twice_as_large(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every tiny count would pass for a topic that is there."""
    monkeypatch.setattr(
        cvb, "minka_step", lambda given, documents, words, *_: minka_step(given, documents, words)
    )
    found = learned(method, 1.0, 1.0)
    assert found["alpha_total"] > 1.7
    assert found["beta"] > 0.18


def evidence(counts: np.ndarray, concentration: np.ndarray) -> float:
    """Log probability of rows of counts under Dirichlet-multinomials."""
    total = concentration.sum()
    rows = (gammaln(counts + concentration) - gammaln(concentration)).sum(axis=1)
    return float((rows + gammaln(total) - gammaln(total + counts.sum(axis=1))).sum())


def test_true_counts_give_the_concentrations_of_largest_probability() -> None:
    """The fixed point is the maximum, every step of the way there goes up, and it is near the truth."""
    truth = planted()
    documents, words = truth.document_topics.astype(float), truth.word_topics.astype(float)
    given = Concentrations.symmetric(10, 1.0, 1.0)

    def value(at: Concentrations) -> float:
        return evidence(documents, at.alpha) + evidence(words.T, np.full(len(words), at.beta))

    values = [value(given)]
    for _ in range(400):
        given = minka_step(given, documents, words)
        values.append(value(given))
    assert (np.diff(values) >= -1e-9 * abs(values[-1])).all()
    for factor in (0.97, 1.03):
        assert value(Concentrations(given.alpha * factor, given.beta)) < values[-1]
        assert value(Concentrations(given.alpha, given.beta * factor)) < values[-1]
        for k in range(10):
            turned = given.alpha.copy()
            turned[k] *= factor
            assert value(Concentrations(turned, given.beta)) < values[-1]
    np.testing.assert_allclose(given.alpha, 0.1, rtol=0.25)
    assert given.beta == pytest.approx(0.1, rel=0.05)


def test_known_labels_need_no_weight() -> None:
    """Counts that are certain are present or not: the weighted step is the plain one."""
    truth = planted()
    documents, words = truth.document_topics.astype(float), truth.word_topics.astype(float)
    given = Concentrations(np.linspace(0.05, 0.5, 10), 0.3)
    absent = [np.where(counts > 0, 0.0, 1.0) for counts in (documents, words)]
    one, other = minka_step(given, documents, words), minka_step(given, documents, words, *absent)
    np.testing.assert_allclose(one.alpha, other.alpha, rtol=1e-9)
    assert one.beta == pytest.approx(other.beta, rel=1e-9)


def test_values_are_held_where_the_data_say_nothing() -> None:
    given = Concentrations(np.array([0.5, 0.5]), 0.5)
    none = minka_step(given, np.array([[3.0, 0.0], [4.0, 0.0]]), np.array([[7.0, 0.0], [0.0, 0.0]]))
    assert none.alpha[1] == LOW
    assert LOW <= none.beta <= HIGH
    empty = minka_step(given, np.zeros((2, 2)), np.zeros((2, 2)))
    np.testing.assert_array_equal(empty.alpha, given.alpha)
    assert empty.beta == given.beta


@dataclass(frozen=True)
class Learning:
    """A state as far as its concentrations go."""

    hyper: Concentrations
    age: int
    learning: bool = True


def keeps_learning(old: Concentrations, new: Concentrations, age: int) -> bool:
    state = learn_hyper(Learning(old, age), lambda: new)
    assert state.hyper is new
    return bool(state.learning)


def test_when_they_are_learned() -> None:
    due = [age for age in range(200) if is_learning_due(age)]
    assert due == list(range(LEARN_FROM, 200, LEARN_EVERY))
    one = Concentrations(np.array([0.2, 0.3]), 0.1)
    near = Concentrations(one.alpha * (1 + LEARNED / 2), 0.1)
    for other in (
        Concentrations(one.alpha * (1 + 2 * LEARNED), 0.1),
        Concentrations(one.alpha, 0.1 * (1 + 2 * LEARNED)),
        Concentrations(one.alpha[::-1].copy(), 0.1),
    ):
        assert keeps_learning(one, other, LEARN_UNTIL - LEARN_EVERY)
        assert not keeps_learning(one, other, LEARN_UNTIL)
    assert not keeps_learning(one, near, 20)
    # An average that begins by itself is of one model throughout.
    assert LEARN_UNTIL <= BURN_IN_CAP


def test_a_step_takes_little_memory_beside_many_words() -> None:
    by_word = np.random.default_rng(0).gamma(0.1, size=(6 * BLOCK, 10)).astype(np.float32)
    given, gains = Concentrations.symmetric(10, 0.1, 0.01), DocumentGains(np.ones(10), 1.0)
    tracemalloc.start()
    minka_step_of_gains(given, gains, by_word, np.exp(-by_word))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * by_word.nbytes
