"""The map of documents: distances of their topic shares as well as a plane can show them."""

from __future__ import annotations

import numpy as np
import pytest

from acvb_core.models.lda.answer.document_map import map_documents
from acvb_core.models.lda.figures.documents import document_map_figure
from acvb_core.models.lda.topics import classical_scaling


def hellinger(shares: np.ndarray) -> np.ndarray:
    overlap = np.sqrt(shares[:, None] * shares[None, :]).sum(axis=2)
    return np.sqrt(np.maximum(1.0 - overlap, 0.0))


def test_the_map_is_classical_scaling_of_hellinger_distances(rng: np.random.Generator) -> None:
    shares = rng.dirichlet(np.full(5, 0.3), size=40)
    found = map_documents(shares, np.ones(40))
    positions, shown = classical_scaling(hellinger(shares))
    np.testing.assert_allclose(found.positions, positions, atol=1e-8)
    assert found.shown == pytest.approx(shown)
    assert found.topics.tolist() == (shares.argmax(axis=1) + 1).tolist()


def test_three_topics_fit_on_the_plane(rng: np.random.Generator) -> None:
    """Roots of three shares lie on a sphere: its principal plane has the exact distances of three pure documents."""
    pure = map_documents(np.eye(3), [4, 4, 4])
    gaps = np.linalg.norm(pure.positions[:, None] - pure.positions[None, :], axis=2)
    np.testing.assert_allclose(gaps, 1.0 - np.eye(3), atol=1e-9)
    assert pure.shown == pytest.approx(1.0)


def test_empty_documents_and_too_many_are_left_out() -> None:
    shares = np.full((50, 1), 1.0)
    lengths = np.arange(50)
    found = map_documents(shares, lengths, most=7)
    assert found.documents.tolist() == [1, 9, 17, 25, 33, 41, 49]
    np.testing.assert_allclose(found.positions, 0.0, atol=1e-12)
    assert len(map_documents(shares, np.zeros(50)).documents) == 0


def test_the_figure_shows_what_was_found(rng: np.random.Generator) -> None:
    shares = rng.dirichlet(np.full(3, 0.3), size=6)
    names = [f"<b>{number}" for number in range(6)]
    figure = document_map_figure(
        map_documents(shares, np.ones(6)), names, shares, ["sea", "<i>", "x"], found=np.array([2]), opened=2
    )
    (trace,) = figure.to_plotly_json()["data"]
    assert trace["customdata"] == [1, 2, 3, 4, 5, 6]
    assert [colour.endswith("0.8)") for colour in trace["marker"]["color"]] == [
        False,
        False,
        True,
        *[False] * 3,
    ]
    assert trace["marker"]["size"][2] > trace["marker"]["size"][1]
    assert all(text.startswith("<b>&lt;b&gt;") for text in trace["hovertext"])
