"""A table at a glance: every missing cell counted and in its place, every value in a bar, correlations as they are."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from acvb_core.data.table import Table
from acvb_core.models.lfm.figures.pictures import MISSING
from acvb_core.models.lfm.figures.tables import (
    correlation_figure,
    correlations,
    distributions_figure,
    missing_map_figure,
    missing_share_figure,
)
from tests.views.reading import pixels, plain, trace

correlation_figure = plain(correlation_figure)
distributions_figure = plain(distributions_figure)
missing_map_figure = plain(missing_map_figure)
missing_share_figure = plain(missing_share_figure)


def table(n: int = 40, d: int = 4, missing: float = 0.2, seed: int = 0, **more: object) -> Table:
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n, d))
    values[rng.random((n, d)) < missing] = np.nan
    values[:2] = [[0.0] * d, [1.0] * d]
    return Table.build(values, **more)


def test_missing_cells_are_orange_where_they_are() -> None:
    holes = table(7, 5, 0.3, columns=list("abcde"), rows=[f"r{i}" for i in range(7)])
    figure = missing_map_figure(holes)
    shown = pixels(figure["layout"]["images"][0], 7, 5)
    assert ((shown == MISSING).all(axis=2) == ~holes.observed).all()
    assert figure["layout"]["xaxis"]["ticktext"] == list("abcde")
    i, j = (int(k[0]) for k in np.nonzero(~holes.observed))
    assert trace(figure, "hover")["hovertext"][i][j] == f"<b>r{i}</b><br><b>{'abcde'[j]}</b><br>100 % missing"


def test_a_small_histogram_for_each_column() -> None:
    values = np.array([[1.0, 0.0], [1.0, 10.0], [2.0, 20.0], [np.nan, 30.0]])
    figure = distributions_figure(Table.build(values, columns=["count", "<b>x"]))
    bars = trace(figure, "distributions")
    # Heights are shares of the highest bar of the column, upwards: the axis points down.
    assert bars["y"][:2] == [-0.9, -0.45]
    assert bars["hovertext"][0] == "<b>count</b><br>1: 2 rows"
    assert bars["hovertext"][1] == "<b>count</b><br>2: 1 row"
    assert bars["hovertext"][2].startswith("<b>&lt;b&gt;x</b><br>0 to 1.25: 1 row")
    assert sum(-y for y in bars["y"][2:]) == pytest.approx(4 * 0.9)
    assert [trace(figure, f"words-{n}")["text"][1] for n in range(3)] == ["&lt;b&gt;x", "0", "30"]


def test_correlations_are_those_of_the_rows_in_which_both_are_known() -> None:
    rng = np.random.default_rng(3)
    values = rng.normal(size=(30, 5)) @ rng.normal(size=(5, 5)) * [1, 1e6, 1e-6, 1, 1] + [0, 1e7, 0, 5, 0]
    values[rng.random(values.shape) < 0.4] = np.nan
    expected = pd.DataFrame(values).corr(min_periods=3).to_numpy()
    assert correlations(values) == pytest.approx(expected, abs=1e-9)
    few = [[1.0, np.nan], [2.0, 5.0], [np.nan, 6.0], [4.0, 7.0]]  # two rows in common
    constant = [[1.0, 1.0], [2.0, 1.0], [3.0, 1.0], [np.nan, 2.0]]
    assert np.isnan([correlations(np.array(pair))[0, 1] for pair in (few, constant)]).all()


def test_the_map_of_correlations_puts_similar_columns_together() -> None:
    rng = np.random.default_rng(0)
    base = rng.normal(size=(80, 2))
    values = base[:, [0, 1, 0, 1]] * [1, 1, -1, 1] + 0.1 * rng.normal(size=(80, 4))
    figure = correlation_figure(values, ["a", "b", "c", "<b>d"])
    names = figure["layout"]["xaxis"]["ticktext"]
    assert figure["layout"]["yaxis"]["ticktext"] == names
    assert {frozenset(names[:2]), frozenset(names[2:])} == {frozenset("ac"), frozenset({"b", "&lt;b&gt;d"})}
    order = [["a", "b", "c", "&lt;b&gt;d"].index(name) for name in names]
    shown = np.array(trace(figure, "correlations")["z"], dtype=float)
    assert shown == pytest.approx(np.corrcoef(values.T)[np.ix_(order, order)])
