"""Figures of networks: one clustering on both sides, groups and what joins them, single objects."""

from __future__ import annotations

import base64
import io
import json

import networkx as nx
import numpy as np
import pytest
from PIL import Image

from acvb_core.data.relation import Network, Relation
from acvb_core.engine.fitting import fit
from acvb_core.engine.result import Result
from acvb_core.evaluate.agreement import label_agreement
from acvb_core.models.irm.figures.arrangement import arrange_as_read, arrange_result
from acvb_core.models.irm.figures.blocks import block_figure
from acvb_core.models.irm.figures.group_graph import group_graph_figure
from acvb_core.models.irm.figures.network_layout import GroupGraph, group_graph
from acvb_core.models.irm.figures.node_link import SURE, node_link_figure
from acvb_core.models.irm.figures.raster import rasterise
from acvb_core.models.irm.figures.summaries import (
    MOST_LABELS,
    label_figure,
    strength_figure,
)
from acvb_core.samples.planted_relations import planted_network
from acvb_core.views.theme import PAPER, cluster_colour, percent
from tests.views.reading import plain, trace

block_figure = plain(block_figure)
group_graph_figure = plain(group_graph_figure)
label_figure = plain(label_figure)
node_link_figure = plain(node_link_figure)
strength_figure = plain(strength_figure)


@pytest.fixture(scope="module")
def club() -> Result:
    """Zachary's karate club: 34 members, undirected, some pairs held out."""
    graph = nx.karate_club_graph()
    relation = Relation.build(
        nx.to_scipy_sparse_array(graph, weight=None),
        network=Network(directed=False),
        row_kind="member",
        attributes={"club": [graph.nodes[node]["club"] for node in graph]},
    )
    return fit(relation, "acvb0", model="network", heldout=0.05)


@pytest.fixture(scope="module")
def circle() -> Result:
    """300 objects in five groups, each linked to the next; self-links count; one object without links."""
    rng = np.random.default_rng(0)
    labels = np.sort(rng.integers(0, 5, 300))
    ones = rng.random((300, 300)) < np.where((labels[:, None] + 1) % 5 == labels[None], 0.2, 0.01)
    ones[9], ones[:, 9] = False, False
    return fit(Relation.build(ones, network=Network(directed=True, self_links=True)), "vb", model="network")


def graph_of(result: Result) -> GroupGraph:
    return group_graph(result.prepared.data, result.posterior, result.blocks)


def test_pairs_of_an_undirected_network_are_counted_once(club: Result) -> None:
    arrangement = arrange_result(club)
    upper = np.triu_indices(len(arrangement.ones))
    assert (arrangement.ones == arrangement.ones.T).all()
    assert arrangement.ones[upper].sum() == 78
    assert arrangement.observed[upper].sum() == 34 * 33 // 2
    mean = arrangement.strengths.mean
    assert (mean == mean.T).all()
    assert np.isfinite(mean).all()
    whole = arrange_as_read(club.prepared.data)
    assert (whole.ones.tolist(), whole.observed.tolist()) == ([[78]], [[561]])


def test_links_of_a_directed_network_are_counted_by_direction(circle: Result) -> None:
    arrangement = arrange_result(circle)
    assert arrangement.ones.sum() == circle.prepared.data.n_ones
    assert arrangement.observed.sum() == 300 * 300
    assert (arrangement.ones != arrangement.ones.T).any()
    figure = block_figure(arrangement)
    assert figure["layout"]["xaxis"]["title"]["text"] == "row clusters (to)"
    assert figure["layout"]["yaxis"]["title"]["text"] == "row clusters (from)"


def test_a_diagonal_that_does_not_count_is_not_unknown(club: Result, circle: Result) -> None:
    arrangement = arrange_result(club)
    raster = rasterise(
        arrangement.relation, arrangement.rows.position, arrangement.columns.position, arrangement.whole
    )
    assert not raster.missing.any()
    assert (np.diagonal(raster.cells) == 0).all()
    figure = block_figure(arrangement)
    assert "unknown" not in [item.get("name") for item in figure["data"]]
    assert trace(figure, "diagonal")["x"] == [0, 34]
    hover = trace(figure, "hover")["hovertext"]
    assert all("self-links do not count" in hover[i][i] for i in range(34))
    assert sum("self-links" in text for line in hover for text in line) == 34
    # Where self-links count, the diagonal is data.
    assert "diagonal" not in [item.get("uid") for item in block_figure(arrange_result(circle))["data"]]


def test_blocks_are_named_by_what_joins_them(club: Result, circle: Result) -> None:
    said = strength_figure(club)["data"][0]["hovertext"]
    one, two = (f"cluster {at} · {name}" for at, name in enumerate(club.names["rows"][:2], 1))
    assert f"inside {one}<" in said[0][0]
    assert f"{one} – {two}" in said[0][1]
    assert said[0][1].split("</b>")[1] == said[1][0].split("</b>")[1]
    first = club.blocks.iloc[0]
    assert f"{first['ones']:,.1f} links in {first['entries']:,.1f} known pairs" in said[0][0]
    one, two = (f"cluster {at} · {name}" for at, name in enumerate(circle.names["rows"][:2], 1))
    assert f"{one} → {two}" in strength_figure(circle)["data"][0]["hovertext"][0][1]
    text = trace(block_figure(arrange_result(circle)), "hover")["hovertext"]
    assert f"{two} → {one}" in text[1][0]


def test_groups_have_their_colours_and_sizes(circle: Result) -> None:
    graph = graph_of(circle)
    figure = group_graph_figure(graph, kind="<i>account</i>")
    discs = trace(figure, "groups")
    assert discs["customdata"] == (graph.clusters + 1).tolist()
    assert discs["marker"]["color"] == [cluster_colour(int(k) + 1) for k in graph.clusters]
    assert "<i>" not in json.dumps(figure)
    size = np.array(discs["marker"]["size"])
    assert (
        np.argsort(-size, kind="stable") == np.argsort(-graph.members[graph.clusters], kind="stable")
    ).all()
    lines = [item for item in figure["data"] if item["uid"].startswith("edge-")]
    assert len(lines) == len(graph.edges) >= 5
    # An arrow at the end of each line alone.
    assert all(max(item["marker"]["size"][:-1]) == 0 < item["marker"]["size"][-1] for item in lines)
    line = circle.blocks.iloc[0]
    assert f"interval {percent(line['low'])} to {percent(line['high'])}" in discs["hovertext"][0]


def test_every_object_and_every_link_is_drawn_once(club: Result, circle: Result) -> None:
    for result in (club, circle):
        relation = result.prepared.data
        figure = node_link_figure(relation, result.posterior, graph_of(result))
        dots = [item for item in figure["data"] if item["uid"] in ("certain", "uncertain")]
        shown = sorted(i for item in dots for i in item["customdata"])
        assert shown == list(range(relation.shape[0]))
    ends = trace(node_link_figure(club.prepared.data, club.posterior, graph_of(club)), "links")["x"]
    assert len(ends) == 3 * club.prepared.data.n_links
    assert np.isnan(ends[2::3]).all()


def test_uncertain_objects_are_hollow_and_hover_tells_all(club: Result) -> None:
    posterior = club.posterior
    q = posterior["rows"].copy()
    q[3] = 0.0
    q[3, :2] = 0.4, 0.6
    changed = posterior.with_arrays({"rows": q})
    figure = node_link_figure(club.prepared.data, changed, graph_of(club))
    hollow = trace(figure, "uncertain")
    assert 3 in hollow["customdata"]
    assert (q.max(axis=1)[hollow["customdata"]] < SURE).all()
    assert hollow["marker"]["color"] == PAPER
    at = hollow["customdata"].index(3)
    assert hollow["marker"]["line"]["color"][at].startswith("rgba(")
    assert hollow["hovertext"][at] == "<b>3</b><br>cluster 2, probability 0.6<br>6 links"
    assert "legend-uncertain" in [item["uid"] for item in figure["data"]]
    certain = trace(figure, "certain")
    assert (q.max(axis=1)[certain["customdata"]] >= SURE).all()


def test_labels_stand_beside_the_clusters_they_are_in() -> None:
    labels = ["b", "b", "a", "a", "", "c"]
    found = label_agreement([0, 0, 1, 1, 1, 1], labels)
    figure = label_figure(found, "club")
    heat = figure["data"][0]
    assert figure["layout"]["xaxis"]["ticktext"] == ["b", "a", "c"]
    assert heat["z"] == [[1.0, 0.0, 0.0], [0.0, pytest.approx(2 / 3), pytest.approx(1 / 3)]]
    assert heat["text"] == [["2", "", ""], ["", "2", "1"]]
    told = figure["layout"]["annotations"][0]["text"]
    assert f"{found.ari:.3f}" in told
    assert "1 object without a label is left out" in told


def test_many_labels_share_a_column() -> None:
    labels = [f"label {i}" for i in range(50)] + ["label 7"] * 3
    found = label_agreement(np.arange(53) % 4, labels)
    figure = label_figure(found, "club")
    assert len(figure["layout"]["xaxis"]["ticktext"]) == MOST_LABELS
    assert figure["layout"]["xaxis"]["ticktext"][-1] == "21 others"
    assert "label 7" in figure["layout"]["xaxis"]["ticktext"]
    counts = [int(text.replace(",", "") or 0) for line in figure["data"][0]["text"] for text in line]
    assert sum(counts) == 53


def test_more_links_than_browsers_draw_as_lines_are_one_picture_below_the_dots() -> None:
    relation = planted_network({"a": 150, "b": 150}, [[0.3, 0.0], [0.0, 0.3]], 0).relation
    assert relation.n_links > 4_000
    result = fit(relation, "vb", model="network", k_rows=2, init="spectral")
    figure = node_link_figure(relation, result.posterior, graph_of(result))
    (picture,) = figure["layout"]["images"]
    assert (picture["layer"], {item["type"] for item in figure["data"]}) == ("below", {"scatter"})
    pixels = np.asarray(
        Image.open(io.BytesIO(base64.b64decode(picture["source"].partition(",")[2]))).convert("RGBA")
    )
    # No link joins the two groups: the picture is empty between them, and full in the middle of their dots.
    dots = [item for item in figure["data"] if item["uid"] in ("certain", "uncertain")]
    place = np.hstack([np.array([item["x"], item["y"]], dtype=float) for item in dots])
    clusters = result.labels("rows")[np.concatenate([item["customdata"] for item in dots])]
    middles = [place[:, clusters == k].mean(axis=1) for k in (1, 2)]
    down, right = (n / picture[size] for n, size in zip(pixels.shape, ("sizey", "sizex"), strict=False))
    *groups, between = (
        pixels[int((picture["y"] - y) * down), int((x - picture["x"]) * right), 3]
        for x, y in (*middles, np.mean(middles, axis=0))
    )
    assert min(groups) > 60
    assert between == 0
