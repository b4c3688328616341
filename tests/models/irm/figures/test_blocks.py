"""The block matrix: what it shows are the relation's entries, the clusters' borders and the result's numbers."""

from __future__ import annotations

import json

import numpy as np
import pytest
from PIL import Image

from acvb_core.data.relation import Relation
from acvb_core.engine.result import Result
from acvb_core.models.irm.figures.arrangement import Arrangement, arrange, arrange_as_read, arrange_result
from acvb_core.models.irm.figures.blocks import block_figure, block_figures, block_png
from acvb_core.models.irm.figures.raster import paint, palette, rasterise
from acvb_core.samples.planted_relations import planted_relation
from acvb_core.views.theme import INK, UNKNOWN
from tests.loops import for_each
from tests.views.reading import plain

block_figure = plain(block_figure)
block_figures = plain(block_figures)


@pytest.fixture(scope="module")
def large() -> Arrangement:
    drawn = planted_relation(1700, 1600, 4, 5, 0, missing_share=0.05)
    return arrange(drawn.relation, drawn.row_clusters, drawn.column_clusters, (4, 5))


def raster_of(arrangement: Arrangement, size: int = 1000):  # type: ignore[no-untyped-def]
    return rasterise(
        arrangement.relation,
        arrangement.rows.position,
        arrangement.columns.position,
        arrangement.whole,
        size,
    )


def test_bins_hold_every_entry_once(large: Arrangement) -> None:
    raster = raster_of(large)
    assert raster.ones.shape == (1000, 1000)
    assert raster.ones.sum() == large.relation.n_ones
    assert raster.missing.sum() == large.relation.n_missing
    assert raster.cells.sum() == 1700 * 1600
    assert (raster.ones + raster.missing <= raster.cells).all()


def test_a_window_holds_its_own_entries(large: Arrangement) -> None:
    dense = large.relation.ones.toarray()[large.rows.order][:, large.columns.order]
    window = (100, 130, 1200, 1599)
    raster = rasterise(large.relation, large.rows.position, large.columns.position, window, 1000)
    assert (raster.ones == dense[100:130, 1200:1599]).all()
    assert raster.exact


def test_blocks_are_counted_by_label(large: Arrangement) -> None:
    ones = large.relation.ones.toarray()[large.rows.order][:, large.columns.order]
    a, b = large.rows.borders, large.columns.borders
    for k in range(4):
        for j in range(5):
            assert large.ones[k, j] == ones[a[k] : a[k + 1], b[j] : b[j + 1]].sum()
    assert large.observed.sum() == large.relation.n_observed


def test_objects_stand_by_cluster_then_by_degree(survey: Result) -> None:
    arrangement = arrange_result(survey)
    labels = survey.posterior.labels("rows")[arrangement.rows.order]
    assert (np.diff(labels) >= 0).all()
    sizes = np.bincount(labels, minlength=survey.posterior.n_clusters()["rows"])
    assert arrangement.rows.borders.tolist() == [0, *np.cumsum(sizes).tolist()]
    degree = np.diff(arrangement.relation.ones.indptr)[arrangement.rows.order]
    inside = np.diff(labels) == 0
    assert (np.diff(degree)[inside] <= 0).all()


def test_borders_are_one_trace_at_cumulative_sizes(games: Result) -> None:
    arrangement = arrange_result(games)
    figure = block_figure(arrangement)
    lines = [trace for trace in figure["data"] if trace.get("mode") == "lines"]
    assert len(lines) == 1
    across = {y for x, y in zip(lines[0]["x"], lines[0]["y"], strict=True) if x == 0 and y is not None}
    assert across >= set(arrangement.rows.borders[1:-1].tolist()) - {0, 937}


def test_hover_tells_the_numbers_of_the_result(games: Result) -> None:
    figure = block_figure(arrange_result(games))
    hover = figure["data"][0]
    line = games.blocks.iloc[0]
    assert hover["x"][0] == 0
    assert hover["x"][-1] == 178
    text = hover["hovertext"][0][0]
    assert "row cluster 1 × column cluster 1" in text
    mean, low, high = (f"{100 * line[name]:.3g} %" for name in ("mean", "low", "high"))
    assert mean in text
    assert f"interval {low.removesuffix(' %')} to {high}" in text


def test_a_cluster_without_objects_is_left_out() -> None:
    relation = Relation.build(np.eye(80, 70))
    clusters = np.repeat([0, 2], 40)
    arrangement = arrange(relation, clusters, np.zeros(70, dtype=int), (3, 1))
    assert arrangement.rows.between(0, 80) == [0, 2]
    assert arrangement.rows.cluster_at(40) == 3
    assert block_figure(arrangement)["data"][0]["y"] == [0, 40, 80]


def test_small_relations_show_names_as_they_are(awkward: Relation) -> None:
    clusters = np.array([0, 0, 1, 1])
    figure = block_figure(arrange(awkward, clusters, np.array([0, 1, 0]), (2, 2)))
    text = json.dumps(figure["data"]) + json.dumps(figure["layout"]["yaxis"])
    assert "<a href" not in text
    assert "<i>" not in text
    assert "&lt;b&gt;bold" in figure["layout"]["yaxis"]["ticktext"][0]
    assert "%{x}" not in text
    said = " ".join(text for line in figure["data"][0]["hovertext"] for text in line)
    assert said.count(": link<") == 5
    assert said.count(": unknown<") == 2


def test_a_narrow_window_has_few_names_side_by_side(women: Result) -> None:
    wide, narrow = (block_figure(arrange_result(women), narrow=narrow)["layout"] for narrow in (False, True))
    assert len(wide["xaxis"]["ticktext"]) == 14
    assert set(narrow["xaxis"]["ticktext"]) <= {str(k) for k in range(1, 15)}  # numbers of clusters
    assert narrow["yaxis"]["ticktext"] == wide["yaxis"]["ticktext"]
    (figure,) = block_figures([arrange_result(women)])  # those side by side are as narrow
    assert figure["layout"]["xaxis"]["ticktext"] == narrow["xaxis"]["ticktext"]


def test_missing_entries_have_a_tone_of_their_own(awkward: Relation) -> None:
    raster = raster_of(arrange_as_read(awkward))
    colours = palette(True)[paint(raster)]
    assert tuple(colours[0, 0]) == INK
    assert tuple(colours[0, 1]) == UNKNOWN
    assert tuple(colours[3, 0]) == (255, 255, 255)
    names = [trace.get("name") for trace in block_figure(arrange_as_read(awkward))["data"]]
    assert "unknown" in names


def test_several_matrices_share_one_scale() -> None:
    drawn = [planted_relation(1700, 1600, 2, 2, seed, beta=(1, b)) for seed, b in ((0, 1), (1, 60))]
    figures = block_figures([arrange(d.relation, d.row_clusters, d.column_clusters, (2, 2)) for d in drawn])
    scales = [
        trace["marker"]["colorbar"]["ticktext"]
        for f in figures
        for trace in f["data"]
        if trace["uid"] == "scale"
    ]
    assert len(scales) == 2
    assert scales[0] == scales[1]


@for_each(
    "box, window",
    [
        ({"x": [10.2, 40.7], "y": [90.0, 20.5]}, (20, 90, 10, 41)),
        ({"x": [-5, 300], "y": [900, 2000]}, (900, 937, 0, 178)),
        ({"x": [10, 10.5], "y": [20, 90]}, None),
    ],
)
def test_a_box_is_cut_to_the_matrix(games: Result, box: dict[str, list[float]], window: object) -> None:
    assert arrange_result(games).select_window(box) == window


def test_the_picture_is_a_png_with_borders(games: Result) -> None:
    import io

    arrangement = arrange_result(games)
    image = Image.open(io.BytesIO(block_png(arrangement)))
    assert image.format == "PNG"
    assert min(image.size) > 1000
    colours = {colour for _, colour in image.convert("RGB").getcolors(1 << 20)}
    assert (154, 165, 177) in colours
    assert INK in colours


@for_each("shape", [(1, 1), (1, 70), (70, 1)])
def test_degenerate_shapes_are_drawn(shape: tuple[int, int]) -> None:
    relation = Relation.build(np.zeros(shape))
    for arrangement in (
        arrange_as_read(relation),
        arrange(relation, np.zeros(shape[0], dtype=int), np.zeros(shape[1], dtype=int), (1, 1)),
    ):
        assert block_figure(arrangement)["layout"]["images"]
        assert block_png(arrangement)
