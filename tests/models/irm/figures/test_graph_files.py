"""Graph files: opened again they have the same objects, links, clusters, names, colours and places."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import pytest

from acvb_core.core.errors import ParameterError
from acvb_core.data.relation import Network, Relation
from acvb_core.engine.fitting import fit
from acvb_core.engine.result import Result
from acvb_core.models.irm.figures import graph_files
from acvb_core.models.irm.figures.graph_files import graph_bytes
from acvb_core.models.irm.figures.network_layout import group_graph, node_layout
from acvb_core.samples.catalogue import load_sample
from acvb_core.views.theme import cluster_colour
from tests.loops import for_each

READ: dict[str, Callable[[Any], Any]] = {"gexf": nx.read_gexf, "graphml": nx.read_graphml}
ODD = ['<b>&amp;"', "naïve Ω 日本", "=1+1", "bell\x07", " spaces  within ", "👩‍👩‍👧"]


@pytest.fixture(scope="module")
def weighted() -> Result:
    """A directed network with weights, odd names, and clusters that were given names."""
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1, 2], 10)
    links = rng.poisson(np.where(group[:, None] == group, 1.5, 0.1)).astype(float) / 2
    np.fill_diagonal(links, 0.0)
    names = [*ODD, *(f"n{i}" for i in range(24))]
    relation = Relation.build(
        links,
        threshold=0.0,
        row_labels=names,
        network=Network(directed=True),
        name="trade <of> goods",
        attributes={"group": [f"g{k}" for k in group]},
    )
    return fit(relation, "acvb0", model="poisson-network", k_rows=6)


def read(result: Result, format: str) -> Any:
    return READ[format](io.BytesIO(graph_bytes(result, format)))


@for_each("format", list(READ))
def test_a_network_comes_back_with_its_clusters(format: str, weighted: Result) -> None:
    graph, relation = read(weighted, format), weighted.prepared.data
    assert graph.is_directed()
    names = [str(label).replace("\x07", "\ufffd") for label in relation.row_labels]
    assert list(graph) == names
    found = nx.to_numpy_array(graph, nodelist=names, weight="weight")
    np.testing.assert_array_equal(found, relation.links.toarray())
    rows = weighted.rows
    centres = group_graph(relation, weighted.posterior, weighted.blocks).positions
    place = node_layout(relation, weighted.posterior.labels("rows"), centres)
    for i, node in enumerate(graph.nodes[name] for name in names):
        cluster = int(rows["cluster"][i])
        assert (node["label"], node["cluster"]) == (names[i], cluster)
        assert node["cluster_name"] == weighted.names["rows"][cluster - 1].replace("\x07", "\ufffd")
        assert node["certainty"] == pytest.approx(rows["probability"][i], rel=1e-5)
        assert (node["colour"], node["known_group"]) == (cluster_colour(cluster), f"g{i // 10}")
        assert [node["x"], node["y"]] == pytest.approx(30.0 * place[i], rel=1e-4)
        if format == "gexf":
            colour = "#{r:02X}{g:02X}{b:02X}".format(**node["viz"]["color"])
            assert colour == cluster_colour(cluster)
            assert [node["viz"]["position"][axis] for axis in "xy"] == [node["x"], node["y"]]


def test_two_sets_of_objects_are_two_sides_that_do_not_overlap() -> None:
    relation = load_sample("southern_women").relation
    result = fit(relation, "acvb0", k_rows=4, k_cols=4)
    graph = read(result, "gexf")
    sides = nx.get_node_attributes(graph, "side")
    assert [sides[name] for name in (*relation.row_labels, *relation.column_labels)] == ["person"] * 18 + [
        "event"
    ] * 14
    assert nx.to_numpy_array(graph, weight="weight")[:18, 18:].tolist() == relation.ones.toarray().tolist()
    clusters = nx.get_node_attributes(graph, "cluster")
    assert [clusters[name] for name in relation.column_labels] == result.columns["cluster"].tolist()
    across = nx.get_node_attributes(graph, "x")
    assert max(across[name] for name in relation.row_labels) < min(
        across[name] for name in relation.column_labels
    )
    same = fit(Relation.build(np.eye(3), row_labels=["a", "b", "c"], column_labels=["a", "b", "d"]), "vb")
    assert len(read(same, "graphml")) == 6, "objects of two sides that share a name are two nodes"


def test_large_networks_have_places_and_huge_ones_are_refused(
    weighted: Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graph_files, "why_too_large", lambda relation: "large")
    graph, clusters = read(weighted, "graphml"), weighted.rows["cluster"].to_numpy()
    place = np.array([[node["x"], node["y"]] for node in graph.nodes.values()]) / 30.0
    apart = np.sqrt(((place[:, None] - place) ** 2).sum(axis=2)) + 9.0 * np.eye(len(place))
    assert apart.min() > 0.3
    middles = np.array([place[clusters == k].mean(axis=0) for k in range(1, clusters.max() + 1)])
    assert (np.sqrt(((place - middles[clusters - 1]) ** 2).sum(axis=1)) < 0.7 * np.sqrt(30)).all()
    monkeypatch.setattr(graph_files, "MOST_LINKS", 3)
    with pytest.raises(ParameterError, match="at most 3 links; this relation has"):
        graph_bytes(weighted, "gexf")
    with pytest.raises(ParameterError, match="no graph format 'dot'; there are gexf and graphml"):
        graph_bytes(weighted, "dot")
