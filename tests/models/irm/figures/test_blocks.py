"""The block matrix: what it shows are the relation's entries, the clusters' borders and the result's numbers."""

from __future__ import annotations

import json

import numpy as np
import pytest
from PIL import Image

from acvb_core.data.relation import Relation
from acvb_core.engine.fitting import fit
from acvb_core.engine.result import Result
from acvb_core.models.irm.figures.arrangement import (
    Arrangement,
    arrange,
    arrange_as_read,
    arrange_excerpt,
    arrange_result,
    number_like,
    renumber,
)
from acvb_core.models.irm.figures.blocks import block_figure, block_figures, block_png
from acvb_core.models.irm.figures.raster import paint, palette, rasterise
from acvb_core.models.irm.scores import sides
from acvb_core.samples.catalogue import load_sample
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


def test_hover_tells_the_numbers_of_the_result(games: Result) -> None:
    figure = block_figure(arrange_result(games))
    hover = figure["data"][0]
    line = games.blocks.iloc[0]
    assert hover["x"][0] == 0
    assert hover["x"][-1] == 178
    text = hover["hovertext"][0][0]
    row, column = (games.names[domain][0] for domain in ("rows", "cols"))
    assert f"row cluster 1 · {row} × column cluster 1 · {column}" in text
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


def test_missing_entries_have_a_tone_of_their_own(awkward: Relation) -> None:
    shown = arrange_as_read(awkward)
    raster = rasterise(shown.relation, shown.rows.position, shown.columns.position, shown.whole, 1000)
    colours = palette(True)[paint(raster)]
    assert tuple(colours[0, 0]) == INK
    assert tuple(colours[0, 1]) == UNKNOWN
    assert tuple(colours[3, 0]) == (255, 255, 255)
    names = [trace.get("name") for trace in block_figure(shown)["data"]]
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


@pytest.fixture(scope="module")
def karate() -> Result:
    return fit(load_sample("karate").relation, "cvb0")


def test_clusters_with_other_numbers_keep_the_numbers_of_their_blocks(games: Result, karate: Result) -> None:
    for result in (games, karate):
        before = arrange_result(result)
        numbers = {side: np.arange(2 * len(side.sizes), 0, -2) for side in (before.rows, before.columns)}
        rows, columns = numbers[before.rows], numbers[before.columns]
        after = renumber(before, rows, columns)
        at = np.ix_(rows - 1, columns - 1)
        assert before.strengths is not None
        assert after.strengths is not None
        for name in ("ones", "observed"):
            np.testing.assert_array_equal(getattr(after, name)[at], getattr(before, name))
        np.testing.assert_array_equal(after.strengths.low[at], before.strengths.low)
        for side, other, numbers_of in (
            (before.rows, after.rows, rows),
            (before.columns, after.columns, columns),
        ):
            np.testing.assert_array_equal(other.clusters + 1, numbers_of[side.clusters])
            assert [other.names[number - 1] for number in numbers_of] == [*side.names]
        assert number_like(before, after).rows.clusters.tolist() == before.rows.clusters.tolist()


def test_a_sweep_is_shown_with_the_numbers_of_the_answer(games: Result, karate: Result) -> None:
    rng = np.random.default_rng(0)
    for result in (games, karate):
        final, domains = arrange_result(result), sides(result.posterior)
        kept = {}
        for domain in set(domains):
            labels = result.posterior.labels(domain)
            kept[domain] = rng.permutation(labels.max() + 1)[labels].astype(np.uint8)
        then = arrange_excerpt(final, domains, kept)
        for name in ("rows", "columns"):
            one, other = getattr(final, name), getattr(then, name)
            assert other.clusters.tolist() == one.clusters.tolist()
            assert other.order.tolist() == one.order.tolist()
        np.testing.assert_array_equal(
            then.ones, final.ones[: len(then.rows.sizes), : len(then.columns.sizes)]
        )
