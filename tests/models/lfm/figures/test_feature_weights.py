"""Weights as bars and as a map: each at its column, in the units that are named, no name read as markup."""

from __future__ import annotations

import numpy as np
import pytest

from acvb_core.models.lfm.figures.features import feature_profile_figure, feature_weights_figure
from acvb_core.models.lfm.figures.pictures import (
    MOST_CLUSTERED,
    largest,
    robust_end,
    similar_order,
)
from acvb_core.models.lfm.figures.tables import weight_map_figure
from acvb_core.views.parts import nothing_figure
from acvb_core.views.theme import cluster_colour, rgba
from tests.views.reading import plain, trace

feature_profile_figure = plain(feature_profile_figure)
feature_weights_figure = plain(feature_weights_figure)
nothing_figure = plain(nothing_figure)
weight_map_figure = plain(weight_map_figure)

WEIGHTS = np.array([0.5, -2.0, 0.0, 1.0])
SD = np.array([100.0, 0.1, 1.0, 10.0])
COLUMNS = ["mass", "depth", "age", "length"]


def test_the_largest_weights_come_first_whatever_their_sign() -> None:
    figure = feature_weights_figure(WEIGHTS, COLUMNS, 3, sd=SD, share=0.25)
    bar = trace(figure, "weights")
    assert bar["x"] == [-2.0, 1.0, 0.5, 0.0]
    assert bar["customdata"] == ["depth", "length", "mass", "age"]
    assert figure["layout"]["yaxis"]["ticktext"] == ["depth", "length", "mass", "age"]
    assert bar["text"] == ["-2", "+1", "+0.5", "0"]
    assert bar["marker"]["color"][:2] == [rgba(cluster_colour(3), 0.4), cluster_colour(3)]
    assert "25 % of the objects" in figure["layout"]["title"]["text"]


def test_a_profile_has_every_column_in_its_place() -> None:
    figure = feature_profile_figure(WEIGHTS, COLUMNS, 2, sd=SD, units="table")
    assert np.array(trace(figure, "profile")["y"], dtype=float) == pytest.approx(WEIGHTS * SD)
    many = np.sin(np.arange(9000) / 50.0)
    many[1234] = 9.0
    line = trace(feature_profile_figure(many, np.arange(9000), 2), "profile")
    assert len(line["x"]) <= 4000
    assert line["hovertext"][line["y"].index(9.0)].startswith("<b>1234</b>")


def test_the_map_has_each_weight_at_its_feature_and_column() -> None:
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(3, 4))
    figure = weight_map_figure(weights, COLUMNS, shares=[0.5, 0.25, 0.1])
    shown = trace(figure, "weight-map")
    names = figure["layout"]["xaxis"]["ticktext"]
    assert sorted(names) == sorted(COLUMNS)
    order = [COLUMNS.index(name) for name in names]
    assert np.array(shown["z"], dtype=float) == pytest.approx(weights[:, order], abs=1e-6)
    assert (shown["zmin"], shown["zmax"]) == (-largest(weights), largest(weights))
    assert figure["layout"]["yaxis"]["ticktext"] == ["1 · 50 %", "2 · 25 %", "3 · 10 %"]
    assert shown["hovertext"][1] == names
    upright = weight_map_figure(weights, COLUMNS, shares=[0.5, 0.25, 0.1], upright=True)
    turned = trace(upright, "weight-map")
    assert np.array(turned["z"], dtype=float) == pytest.approx(weights[:, order].T, abs=1e-6)
    assert upright["layout"]["yaxis"]["ticktext"] == names
    many = weight_map_figure(rng.normal(size=(32, 4)), COLUMNS, shares=[0.5] * 32, upright=True)
    assert 10 <= len(many["layout"]["xaxis"]["ticktext"]) <= 13  # more would touch
    assert weight_map_figure(weights, COLUMNS, clustered=False)["layout"]["xaxis"]["ticktext"] == COLUMNS


def test_one_extreme_weight_does_not_hide_the_others() -> None:
    weights = np.random.default_rng(0).normal(size=(5, 200))
    assert robust_end(weights) == largest(weights)
    weights[2, 7] = -80.0
    figure = weight_map_figure(weights, np.arange(200))
    assert trace(figure, "weight-map")["zmax"] < 5
    assert "colours end at" in figure["layout"]["title"]["text"]
    assert robust_end([0.0, 0.0]) == largest([np.nan]) == 1.0


def test_similar_vectors_are_neighbours() -> None:
    for n, width in ((24, 40), (MOST_CLUSTERED + 2, 3)):
        group = np.random.default_rng(1).permutation(np.arange(n) % 3)
        order = similar_order(np.eye(3, width)[group])
        assert sorted(order) == list(range(n))
        assert (np.diff(group[order]) != 0).sum() == 2
