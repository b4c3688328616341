"""Planted alignments are found; the pairs are the best of all; stability is what the pairs say."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from acvb_core.core.errors import DataError, ParameterError
from acvb_core.evaluate.alignment import align_topics, stability
from acvb_core.evaluate.ranking import jensen_shannon
from tests.loops import for_each


@pytest.fixture
def phi(rng: np.random.Generator) -> np.ndarray:
    return rng.dirichlet(np.full(40, 0.1), size=5)


def blurred(phi: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return 0.95 * phi + 0.05 * rng.dirichlet(np.full(phi.shape[1], 0.1), size=len(phi))


def test_planted_permutation_is_found(phi: np.ndarray, rng: np.random.Generator) -> None:
    order = rng.permutation(5)[:3]
    share, other_share = np.arange(5) / 10, np.arange(3) / 3
    found = align_topics(phi, blurred(phi, rng)[order], share=share, other_share=other_share)
    assert order[found.other].tolist() == found.one.tolist() == sorted(order)
    assert (found.distance < 0.3).all()
    assert sorted([*found.one, *found.unmatched_one]) == [0, 1, 2, 3, 4]
    np.testing.assert_allclose(found.change, other_share[found.other] - share[found.one])
    # {0, 1, 2} and {1, 2, 4}.
    one, other = [[0.4, 0.3, 0.2, 0.1, 0.0]], [[0.0, 0.4, 0.3, 0.1, 0.2]]
    assert align_topics(one, other, n_words=3).overlap[0] == pytest.approx(2 / 4)


def test_pairs_are_the_best_of_all(rng: np.random.Generator) -> None:
    for _ in range(5):
        one, other = rng.dirichlet(np.full(12, 0.3), size=(2, 4))
        d = jensen_shannon(one, other)
        best = min(sum(d[k, p[k]] for k in range(4)) for p in permutations(range(4)))
        found = align_topics(one, other)
        assert found.distance.sum() == pytest.approx(best)
        np.testing.assert_allclose(found.distance, d[found.one, found.other])


def test_what_does_not_fit_is_refused(phi: np.ndarray) -> None:
    with pytest.raises(DataError, match="over 39 words where 40 are expected"):
        align_topics(phi, phi[:, :39] / phi[:, :39].sum(axis=1, keepdims=True))
    with pytest.raises(DataError, match=r"shape \(4,\) were given for 5 topics"):
        align_topics(phi, phi, share=np.ones(4))


def test_stability_by_hand() -> None:
    runs = [np.eye(4)[:2], np.array([[0.0, 1, 0, 0], [0.5, 0, 0.5, 0]]), np.array([[0.0, 0, 0, 1]])]
    near = 1 - jensen_shannon([[1.0, 0, 0, 0]], [[0.5, 0, 0.5, 0]])[0, 0]
    found = stability(runs)
    # The third run has one topic, that shares no word with either: whichever it is paired with, nothing is alike.
    np.testing.assert_allclose(found.similarity, [[near, 1.0], [0.0, 0.0]], atol=1e-12)
    assert found.partner[0].tolist() == [1, 0]
    assert sorted(found.partner[1]) == [-1, 0]
    np.testing.assert_allclose(found.mean, [near / 2, 0.5], atol=1e-12)
    np.testing.assert_allclose(found.minimum, [0.0, 0.0], atol=1e-12)
    assert found.overall == pytest.approx((near + 1) / 4)


@for_each("number, reference, message", [(1, 0, "not 1"), (3, 3, "not 3")])
def test_stability_of_nothing(phi: np.ndarray, number: int, reference: int, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        stability([phi] * number, reference)
