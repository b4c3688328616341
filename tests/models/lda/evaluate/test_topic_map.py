"""The map of topics: planted points are found again, and nothing about it is left to chance."""

from __future__ import annotations

import numpy as np
import pytest

from acvb_core.evaluate.ranking import jensen_shannon
from acvb_core.models.lda.topics import classical_scaling, topic_map


def between(points: np.ndarray) -> np.ndarray:
    return np.linalg.norm(points[:, None] - points[None], axis=2)


def test_planted_points_are_found(rng: np.random.Generator) -> None:
    points = rng.normal(size=(9, 2)) * [3.0, 1.0]
    found, shown = classical_scaling(between(points))
    np.testing.assert_allclose(between(found), between(points), atol=1e-10)
    np.testing.assert_allclose(found.mean(axis=0), 0, atol=1e-12)
    assert shown == pytest.approx(1.0)
    # Principal axes: uncorrelated, the longer one first.
    assert found[:, 0] @ found[:, 1] == pytest.approx(0.0, abs=1e-10)
    assert found[:, 0].var() > found[:, 1].var()


def test_share_shown_is_that_of_the_variance(rng: np.random.Generator) -> None:
    points = rng.normal(size=(12, 4)) * [4.0, 3.0, 2.0, 1.0]
    points -= points.mean(axis=0)
    variance = np.linalg.svd(points, compute_uv=False) ** 2
    found, shown = classical_scaling(between(points))
    assert shown == pytest.approx(variance[:2].sum() / variance.sum())
    assert (found**2).sum() == pytest.approx(variance[:2].sum())


def test_the_point_farthest_out_is_on_the_positive_side(rng: np.random.Generator) -> None:
    for _ in range(10):
        found, _ = classical_scaling(between(rng.normal(size=(6, 3))))
        farthest = np.abs(found).argmax(axis=0)
        assert (found[farthest, [0, 1]] > 0).all()


def test_permuted_topics_are_permuted_points(rng: np.random.Generator) -> None:
    phi = rng.dirichlet(np.full(30, 0.1), size=7)
    order = rng.permutation(7)
    np.testing.assert_allclose(topic_map(phi[order]).positions, topic_map(phi).positions[order], atol=1e-9)
    words = rng.permutation(30)
    np.testing.assert_allclose(topic_map(phi[:, words]).positions, topic_map(phi).positions, atol=1e-9)


def test_topics_alike_lie_together() -> None:
    phi = np.array([[0.5, 0.5, 0, 0], [0.45, 0.55, 0, 0], [0, 0, 0.5, 0.5], [0, 0, 0.55, 0.45]])
    d = between(topic_map(phi).positions)
    assert max(d[0, 1], d[2, 3]) < 0.1
    assert d[0, 2] > 0.9


def test_one_topic() -> None:
    found = topic_map([[0.4, 0.6]])
    assert found.positions.tolist() == [[0.0, 0.0]]
    assert found.shown == 1.0


def test_two_topics_lie_as_far_apart_as_they_are() -> None:
    phi = [[0.4, 0.6, 0.0], [0.0, 0.5, 0.5]]
    found = topic_map(phi)
    half = jensen_shannon(phi)[0, 1] / 2
    np.testing.assert_allclose(found.positions, [[half, 0], [-half, 0]], atol=1e-12)
    assert found.shown == pytest.approx(1.0)


def test_three_topics_without_common_words() -> None:
    found = topic_map(np.eye(3))
    np.testing.assert_allclose(between(found.positions), 1 - np.eye(3), atol=1e-12)
    assert found.shown == pytest.approx(1.0)


def test_identical_topics_lie_on_one_place() -> None:
    found = topic_map(np.full((4, 5), 0.2))
    assert (found.positions == 0).all()
    assert found.shown == 1.0
    pair = topic_map([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]).positions
    np.testing.assert_allclose(pair[0], pair[1], atol=1e-12)
