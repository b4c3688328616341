"""Colours of coarser clusters: those of the run's own, the same in every figure and in the graph file."""

from __future__ import annotations

import io

import networkx as nx
import numpy as np
import pytest

from acvb_core.data.relation import Network, Relation
from acvb_core.engine.fitting import fit
from acvb_core.engine.result import Result
from acvb_core.models.irm.answer.tree import grow_trees, take_levels
from acvb_core.models.irm.figures.dendrogram import dendrogram_figure
from acvb_core.models.irm.figures.graph_files import graph_bytes
from acvb_core.views.theme import LINE, cluster_colour, rgba


@pytest.fixture(scope="module")
def nested() -> Result:
    """A directed network of 7 planted clusters of different sizes, in two camps."""
    z = np.repeat(np.arange(7), (16, 14, 12, 10, 9, 8, 7))
    near, same = (z % 2)[:, None] == z % 2, z[:, None] == z
    links = np.random.default_rng(4).random((len(z), len(z))) < np.where(
        same, 0.7, np.where(near, 0.25, 0.03)
    )
    np.fill_diagonal(links, False)
    return fit(Relation.build(links, network=Network(directed=True)), "acvb0", model="network", k_rows=12)


def test_a_coarser_cluster_has_one_colour_that_it_keeps(nested: Result) -> None:
    trees = grow_trees(nested, corrected=False)
    tree, kept = trees["rows"], dict[tuple[int, ...], str]()
    assert len(tree.levels) >= 6
    for at in range(len(tree.levels)):
        coarse = take_levels(nested, trees, {"rows": tree.numbers[at]})
        shapes = coarse.plot("matrix").layout.shapes
        colours = [shape.fillcolor for shape in shapes if shape.xref == "paper"]
        parts = tree.parts(at)
        assert colours == [cluster_colour(min(part)) for part in parts]
        assert len(set(colours)) == len(parts)
        assert all(kept.get(part, colour) == colour for part, colour in zip(parts, colours, strict=True))
        kept.update(zip(parts, colours, strict=True))

        assert list(coarse.plot("sizes").data[0].marker.color) == colours
        groups = {trace.uid: trace for trace in coarse.plot("groups").data}
        assert list(groups["groups"].marker.color) == colours
        arrows = [trace for uid, trace in groups.items() if uid.startswith("edge-")]
        for arrow in arrows:
            assert arrow.marker.color == rgba(colours[int(arrow.uid.split("-")[1]) - 1], 1.0)
        labels = coarse.posterior.labels("rows")
        for trace in coarse.plot("nodes").data:
            if trace.uid in ("certain", "uncertain"):
                drawn = trace.marker.color if trace.uid == "certain" else trace.marker.line.color
                wanted = [colours[labels[i]] for i in trace.customdata]
                assert [
                    "#{:02X}{:02X}{:02X}".format(*map(int, one[5:].split(",")[:3])) for one in drawn
                ] == wanted
        notes = coarse.plot("nodes").layout.annotations
        assert {note.text: note.bgcolor for note in notes} == {
            f"<b>{k}</b>": colour for k, colour in enumerate(colours, start=1)
        }
        nodes = nx.read_gexf(io.BytesIO(graph_bytes(coarse, "gexf"))).nodes.values()
        assert [node["colour"] for node in nodes] == [colours[k] for k in labels]

        drawn = {trace.uid: trace for trace in dendrogram_figure(tree, at, nested.names["rows"]).data}
        order = np.lexsort([tree.follow(level) for level in range(len(tree.levels))])
        assert list(drawn["leaves"].marker.color) == [colours[tree.follow(at)[k]] for k in order]
        merges = [
            (level, part)
            for level in range(1, len(tree.levels))
            for part in sorted(set(tree.parts(level)) - set(tree.parts(level - 1)))
        ]
        assert list(drawn["merges"].marker.color) == [
            LINE if level > at else colours[tree.follow(at)[part[0] - 1]] for level, part in merges
        ]
        leaves = next(trace for trace in coarse.plot("tree").data if trace.uid == "leaves")
        assert sorted(leaves.marker.color) == sorted(colours), "the tree of the coarser clusters themselves"
