"""Figures of blocks of counts: rates around 1, weights as tones, clusters that are linked more than expected."""

from __future__ import annotations

import numpy as np
import pytest

from acvb_core.engine.fitting import fit
from acvb_core.engine.result import Result
from acvb_core.models.irm.figures.arrangement import arrange_result, number_like
from acvb_core.models.irm.figures.blocks import block_figure, block_figures
from acvb_core.models.irm.figures.network_layout import group_graph
from acvb_core.models.irm.figures.raster import paint, rasterise
from acvb_core.models.poisson.figures.plots import list_plots, strength_figure
from acvb_core.samples.catalogue import load_sample
from tests.views.reading import plain, trace

strength_figure, block_figure = plain(strength_figure), plain(block_figure)


@pytest.fixture(scope="module")
def novel() -> Result:
    return fit(load_sample("les_miserables").relation, "vb", model="poisson-network", k_rows=8)


def test_rates_are_drawn_around_1_with_counts_under_the_pointer(novel: Result) -> None:
    shown = trace(strength_figure(novel), "strengths")
    block = novel.blocks.set_index(["row_cluster", "column_cluster"]).loc[(1, 2)]
    end = shown["zmax"]
    assert shown["zmin"] == -end
    assert shown["z"][0][1] == shown["z"][1][0] == pytest.approx(np.clip(np.log2(block["mean"]), -end, end))
    assert shown["colorscale"][1][0] == 0.5
    text = (
        f"{block['count']:,.4g} counted, {block['expected']:,.4g} expected<br>{block['mean']:.3g} × expected"
    )
    assert text in shown["hovertext"][0][1]
    assert set(list_plots(novel)) == {"matrix", "unsorted", "strengths", "sizes", "groups", "nodes", "tree"}


def test_the_matrix_has_the_weights_as_tones(novel: Result) -> None:
    """The heaviest link is darkest, and of two others the heavier one is darker; a coarse picture adds weights up."""
    relation, arrangement = novel.prepared.data, arrange_result(novel)
    place = arrangement.rows.position
    raster = rasterise(relation, place, place, arrangement.whole, weighted=True)
    weights = relation.links.toarray()[np.ix_(arrangement.rows.order, arrangement.rows.order)]
    np.testing.assert_array_equal(raster.ones, weights)
    tones = paint(raster)
    assert tones[weights == weights.max()].min() > tones[(weights > 0) & (weights < 5)].max()
    assert tones[weights == 1].min() > tones[(weights == 0) & (raster.missing == 0)].max()
    coarse = rasterise(relation, place, place, arrangement.whole, size=10, weighted=True)
    assert coarse.ones.sum() == weights.sum()
    scale = trace(block_figure(arrangement), "scale")["marker"]["colorbar"]
    assert scale["ticktext"][-1] == f"{weights.max():g}"
    near = trace(block_figure(arrangement, window=(0, 5, 0, 5)), "hover")["hovertext"]
    assert f": weight {weights[0, 1]:g}</b>" in near[0][1]


def test_weights_and_links_have_a_scale_each(novel: Result) -> None:
    links, weights = arrange_result(fit(novel.prepared.data, "vb", k_rows=8)), arrange_result(novel)
    # The second is drawn with the numbers of its partners in the first.
    shown = (links, number_like(links, weights))
    for beside, arrangement in zip(block_figures((links, weights)), shown, strict=True):
        (alone,) = block_figures([arrangement])
        assert beside.layout.images[0].source == alone.layout.images[0].source


def test_clusters_are_joined_whose_interval_is_above_what_is_expected(novel: Result) -> None:
    graph = group_graph(novel.prepared.data, novel.posterior, novel.blocks)
    blocks = novel.blocks[novel.blocks["row_cluster"] < novel.blocks["column_cluster"]]
    low = blocks["low"].fillna(blocks["low_given_clusters"])
    above = blocks[low > 1.0]
    assert 0 < len(above) < len(blocks)
    joined = {(edge.source + 1, edge.target + 1) for edge in graph.edges}
    assert joined == set(zip(above["row_cluster"], above["column_cluster"], strict=True))
    edge = graph.edges[0]
    line = above[
        (above["row_cluster"] == edge.source + 1) & (above["column_cluster"] == edge.target + 1)
    ].iloc[0]
    assert edge.excess == pytest.approx(line["count"] - line["expected"])
    assert edge.ratio == pytest.approx(line["mean"])
