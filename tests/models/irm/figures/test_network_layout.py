"""The graph of the groups and the places of single objects, on numbers that can be checked by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist, pdist

from acvb_core.core.errors import ParameterError
from acvb_core.core.protocols import Posterior
from acvb_core.data.relation import Network, Relation
from acvb_core.models.irm.figures.network_layout import (
    MOST_NODES,
    GroupEdge,
    group_graph,
    group_positions,
    node_layout,
    why_too_large,
)
from acvb_core.views.parts import separate_discs


def blocks_of(ones: np.ndarray, entries: np.ndarray, *, upper: bool) -> pd.DataFrame:
    """The frame `blocks` as a result has it."""
    lines = [
        {
            "row_cluster": k + 1, "column_cluster": m + 1, "ones": float(ones[k, m]),
            "entries": float(entries[k, m]), "mean": ones[k, m] / entries[k, m], "low": 0.0, "high": 1.0,
        }
        for k in range(len(ones))
        for m in range(k if upper else 0, len(ones))
    ]  # fmt: skip
    return pd.DataFrame(lines)


def network_of(labels: np.ndarray, *, directed: bool) -> tuple[Relation, Posterior]:
    n = len(labels)
    ones = np.zeros((n, n))
    ones[0, 1] = 1
    relation = Relation.build(ones, network=Network(directed=directed))
    q = np.eye(int(labels.max()) + 1)[labels]
    return relation, Posterior({"rows": q}, {"rows": (None, "rows")}, ("rows",))


def three_groups(*, directed: bool) -> tuple[Relation, Posterior, pd.DataFrame]:
    relation, posterior = network_of(np.repeat([0, 1, 2], 10), directed=directed)
    entries = np.full((3, 3), 100.0)
    ones = np.array([[40.0, 30.0, 2.0], [30.0, 5.0, 2.0], [2.0, 2.0, 1.0]])
    if directed:
        ones[1, 0] = 2.0
    return relation, posterior, blocks_of(ones, entries, upper=not directed)


def test_an_undirected_edge_is_there_once() -> None:
    graph = group_graph(*three_groups(directed=False))
    assert not graph.directed
    assert graph.overall == pytest.approx((40 + 5 + 1 + 30 + 2 + 2) / 600)
    assert graph.between == pytest.approx(34 / 300)
    assert [(item.source, item.target) for item in graph.edges] == [(0, 1)]
    edge = graph.edges[0]
    assert edge.density == pytest.approx(0.3)
    assert edge.ratio == pytest.approx(0.3 / (34 / 300))
    assert edge.excess == pytest.approx(30 - 34 / 3)
    assert graph.density[1, 0] == pytest.approx(0.3)
    assert graph.inner[0].excess == pytest.approx(40 - 100 * graph.overall)
    assert graph.inner[2].excess < 0


@pytest.mark.parametrize(("links", "edges"), [(61.0, [(0, 1)]), (59.0, [])])
def test_an_edge_begins_two_standard_deviations_of_a_binomial_above_the_mean(
    links: float, edges: list[tuple[int, int]]
) -> None:
    """With 150 links of 300 entries between groups a block of 100 has 50 on average, give or take 5."""
    relation, posterior = network_of(np.repeat([0, 1, 2], 10), directed=False)
    rest = (150.0 - links) / 2
    ones = np.array([[90.0, links, rest], [links, 90.0, rest], [rest, rest, 90.0]])
    graph = group_graph(relation, posterior, blocks_of(ones, np.full((3, 3), 100.0), upper=True))
    assert graph.between == pytest.approx(0.5)
    assert [(item.source, item.target) for item in graph.edges] == edges


def test_clusters_without_members_are_no_nodes() -> None:
    relation, posterior = network_of(np.repeat([0, 2], 5), directed=True)
    ones = np.array([[1.0, 0.0, 9.0], [0.0, 0.0, 0.0], [1.0, 0.0, 1.0]])
    graph = group_graph(relation, posterior, blocks_of(ones, np.full((3, 3), 25.0), upper=False))
    assert graph.clusters.tolist() == [0, 2]
    assert graph.members.tolist() == [5, 0, 5]
    assert np.isnan(graph.positions[1]).all()
    assert set(graph.inner) == {0, 2}


def test_linked_groups_lie_closer_together() -> None:
    clusters = np.arange(6)
    edges = [GroupEdge(k, m, 0.1, 3.0, 10.0, 5.0) for k, m in ((0, 1), (1, 2), (3, 4), (4, 5), (0, 2))]
    place = group_positions(clusters, edges)
    distance = cdist(place, place)
    assert max(distance[item.source, item.target] for item in edges) < distance[:3, 3:].min()
    assert (place == group_positions(clusters, edges)).all()
    assert np.ptp(place[:, 0]) >= np.ptp(place[:, 1])
    assert place.mean(axis=0) == pytest.approx([0, 0], abs=1e-9)


def test_discs_do_not_overlap() -> None:
    rng = np.random.default_rng(0)
    place, radius = rng.random((12, 2)), rng.uniform(0.1, 1.0, 12)
    place[1] = place[0]
    apart = np.add.outer(radius, radius)[np.triu_indices(12, 1)]
    assert (pdist(separate_discs(place, radius, 0.2)) >= apart + 0.2 - 1e-3).all()


def test_objects_lie_with_their_cluster() -> None:
    rng = np.random.default_rng(0)
    labels = np.sort(rng.integers(0, 4, 120))
    ones = rng.random((120, 120)) < np.where(labels[:, None] == labels[None], 0.25, 0.01)
    ones[7], ones[:, 7] = False, False
    relation = Relation.build(ones & ~np.eye(120, dtype=bool), network=Network(directed=False))
    corners = np.array([[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]])
    place = node_layout(relation, labels, corners)
    assert (place == node_layout(relation, labels, corners)).all()
    assert np.isfinite(place).all()
    middle = np.array([place[labels == k].mean(axis=0) for k in range(4)])
    assert (cdist(place, middle).argmin(axis=1) == labels).mean() > 0.97
    # The discs are arranged as the groups are.
    assert (np.sign(middle - middle.mean(axis=0)) == np.sign(corners)).all()
    assert pdist(place).min() > 0.15
    linked, same, distance = relation.ones.toarray(), labels[:, None] == labels, cdist(place, place)
    others = ~linked & same & ~np.eye(120, dtype=bool)
    assert distance[linked & same].mean() < 0.95 * distance[others].mean()


def test_what_is_too_large_is_said() -> None:
    n = MOST_NODES + 1
    relation = Relation.build(sparse.csr_array((n, n)), network=Network())
    reason = why_too_large(relation)
    assert reason is not None
    assert "5,001 nodes" in reason
    with pytest.raises(ParameterError, match="5,001 nodes"):
        node_layout(relation, np.zeros(n, dtype=int), np.zeros((1, 2)))
    dense = Relation.build(np.ones((320, 320)) - np.eye(320), network=Network())
    assert "102,080 links" in (why_too_large(dense) or "")
    assert why_too_large(three_groups(directed=True)[0]) is None
    with pytest.raises(ParameterError, match="two sets"):
        node_layout(Relation.build(np.eye(3)), np.zeros(3, dtype=int), np.zeros((1, 2)))
