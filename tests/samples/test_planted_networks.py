"""Planted networks are what they were asked to be."""

from __future__ import annotations

import numpy as np
import pytest

from acvb_core.core.errors import ParameterError
from acvb_core.data.relation import Network
from acvb_core.samples.planted_relations import planted_network
from tests.loops import for_each


@for_each("directed", [False, True])
def test_a_planted_network_follows_its_strengths(directed):
    strengths = np.array([[0.9, 0.1], [0.5 if directed else 0.1, 0.3]])
    drawn = planted_network({"a": 60, "b": 90}, strengths, 3, directed=directed)
    relation = drawn.relation
    assert relation.network == Network(directed)
    assert relation.shape == (150, 150)
    assert np.bincount(drawn.row_clusters).tolist() == [60, 90]
    assert (drawn.row_clusters[:60] == 1).any()  # in no order
    assert drawn.column_clusters is drawn.row_clusters
    assert relation.attributes["group"].tolist() == ["ab"[z] for z in drawn.row_clusters]
    assert not relation.ones.diagonal().any()
    links = relation.ones.toarray()
    for k in range(2):
        for j in range(2):
            found = links[np.ix_(drawn.row_clusters == k, drawn.row_clusters == j)].mean()
            assert found == pytest.approx(strengths[k, j], abs=0.04)


def test_one_seed_one_network():
    first, again, other = (planted_network({"a": 20, "b": 20}, np.eye(2), seed) for seed in (1, 1, 2))
    assert first.relation.fingerprint == again.relation.fingerprint != other.relation.fingerprint


@for_each(
    "sizes, strengths, options",
    [
        ([], np.zeros((0, 0)), {}),
        ([3, 0], np.eye(2), {}),
        ([3, 3], np.eye(3), {}),
        ([3, 3], [[1, 0], [2, 1]], {"directed": True}),
        ([3, 3], [[1, 0], [0.5, 1]], {}),
    ],
)
def test_what_makes_no_sense_is_refused(sizes, strengths, options):
    with pytest.raises(ParameterError):
        planted_network(dict(zip("ab", sizes, strict=False)), strengths, 0, **options)
