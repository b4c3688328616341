"""Heat maps of columns: their correlations, and the weights of all features in them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from acvb_core.models.lfm.figures.feature_words import (
    Names,
    bare_axis,
    feature_word,
    figure_title,
    name_ticks,
    nothing_figure,
    similar_order,
)
from acvb_core.models.lfm.figures.pictures import DIVERGING, largest, robust_end
from acvb_core.views.heat_map import heat_map
from acvb_core.views.labels import text_room
from acvb_core.views.theme import GRID, Figure, b64, base_layout, colour_bar, escape, percent

Floats = NDArray[np.float64]
#: Most columns whose correlations are shown, and of which each cell has its number written in.
MOST_CORRELATED, _ANNOTATED_COLUMNS = 200, 10
#: Most columns and features with names, columns that are drawn, and a side of a map of weights with numbers in it.
_NAMED, _DRAWN, _ANNOTATED = 60, 1500, 14
#: Most features side by side in a narrow window with numbers in them, and most names that fit there.
_ANNOTATED_UPRIGHT, _NAMED_UPRIGHT = 5, 13
_TOP = 36  # pixels


def correlations(values: ArrayLike) -> Floats:
    """Return the correlation of each pair of columns over the rows in which both are known.

    `values` (N, D) has NaN for missing cells. The result (D, D) has NaN for pairs that share fewer than three rows, or
    of which one does not vary in them.
    """
    given = np.asarray(values, dtype=np.float64)
    known = np.isfinite(given)
    seen = known.astype(np.float64)
    n = np.maximum(known.sum(axis=0), 1)
    x = np.where(known, given, 0.0)
    x = np.where(known, x - x.sum(axis=0) / n, 0.0)
    spread = np.sqrt((x**2).sum(axis=0) / n)
    x /= np.where(spread > 0, spread, 1.0)
    both = seen.T @ seen
    first = x.T @ seen  # of column i, where column j is known
    second = (x**2).T @ seen
    pairs = np.maximum(both, 1.0)
    covariance = x.T @ x - first * first.T / pairs
    variance = np.maximum(second - first**2 / pairs, 0.0)
    product = np.sqrt(variance * variance.T)
    enough = (both >= 3) & (product > 1e-12 * pairs)
    return np.where(enough, np.clip(covariance / np.where(enough, product, 1.0), -1.0, 1.0), np.nan)


def correlation_figure(values: ArrayLike, columns: Names, *, height: int | None = None) -> Figure:
    """Return the correlations of the columns as a heat map, similar columns side by side.

    `values`: shape (N, D); NaN where missing.
    `columns`: length D.
    """
    n = np.asarray(values).shape[1]
    heading = "<b>Correlations of the columns</b>"
    if n < 2:
        return nothing_figure("There is one column only.", heading=heading)
    if n > MOST_CORRELATED:
        return nothing_figure(f"Shown for up to {MOST_CORRELATED} columns; there are {n:,}.", heading=heading)
    correlation = correlations(values)
    order = similar_order(correlation)
    names = [str(columns[j]) for j in order]
    hover = [escape(name, 60) for name in names]
    trace = heat_map(
        "correlations",
        range(n),
        range(n),
        b64(correlation[np.ix_(order, order)]),
        ends=(-1, 1),
        scale=DIVERGING,
        colorbar=colour_bar("correlation"),
        hovertext=[[f"<b>{a}</b><br><b>{b}</b>" for b in hover] for a in hover],
        hovertemplate="%{hovertext}<br>correlation %{z:.3f}<extra></extra>",
    )
    if n <= _ANNOTATED_COLUMNS:
        trace |= {"texttemplate": "%{z:.2f}", "xgap": 1, "ygap": 1}
    named = n <= _NAMED
    room = text_room(names, 11) + 18 if named else 16
    axis = bare_axis(**(name_ticks(range(n), names) if named else {"tickvals": []}), constrain="domain")
    # A cell with its number in it is as wide as it is high.
    cell = 36 if n <= _ANNOTATED_COLUMNS else 22 if named else 6
    layout = base_layout(
        height or min(900, max(320, _TOP + room + cell * n)),
        margin={"l": room, "r": 16, "t": _TOP, "b": room},
        plot_bgcolor=GRID,
        title=figure_title(heading, " · similar columns side by side, over the rows in which both are known"),
        xaxis=axis | {"tickangle": -90},
        yaxis=axis | {"autorange": "reversed", "scaleanchor": "x"},
    )
    return {"data": [trace], "layout": layout}


def weight_map_figure(
    weights: ArrayLike,
    columns: Names,
    *,
    shares: ArrayLike | None = None,
    clustered: bool = True,
    standardised: bool = True,
    upright: bool = False,
    height: int | None = None,
) -> Figure:
    """Return the weights of all features as a heat map: features down, columns across, one scale around 0.

    `weights`: shape (K, D); on the standardised scale, which makes columns comparable. A few far beyond the others
      share the last colour.
    `columns`: length D.
    `shares`: shape (K,); of the objects that have each feature.
    `clustered`: put columns that the same features move side by side; else the table's order.
    `standardised`: False: the table is not, and weights are in its own units.
    `upright`: columns down and features across, for a narrow window.
    """
    given = np.asarray(weights, dtype=np.float64)
    n_features, n_columns = given.shape
    if not n_features or not n_columns:
        return nothing_figure("There are no features: the baseline alone describes the table.")
    order = similar_order(given.T) if clustered else np.arange(n_columns)
    shown = pool_columns(given[:, order], _DRAWN)
    exact = shown.shape[1] == n_columns
    names = [str(columns[j]) for j in order]
    numbers = list(range(1, n_features + 1))
    labels = [str(k) for k in numbers]
    if shares is not None:
        labels = [f"{k} · {percent(s)}" for k, s in zip(numbers, np.asarray(shares).tolist(), strict=True)]
    limit, unit = robust_end(given), " sd" if standardised else ""
    hover = f"feature %{{{'x' if upright else 'y'}}}<br>weight %{{z:.3g}}{unit}<extra></extra>"
    bar = colour_bar("weight (sd)" if standardised else "weight")
    places, values = range(shown.shape[1]), shown.astype(np.float32)
    axes = (numbers, places, b64(values.T)) if upright else (places, numbers, b64(values))
    trace = heat_map("weight-map", *axes, ends=(-limit, limit), scale=DIVERGING)
    trace |= {"colorbar": bar, "hovertemplate": hover}
    if exact and shown.size <= 20_000:
        texts = [escape(name, 60) for name in names]
        trace["hovertext"] = [[text] * n_features for text in texts] if upright else [texts] * n_features
        trace["hovertemplate"] = "<b>%{hovertext}</b><br>" + hover
    if max(shown.shape) <= _ANNOTATED and not (upright and n_features > _ANNOTATED_UPRIGHT):
        trace |= {"texttemplate": "%{z:.2f}", "xgap": 1, "ygap": 1}
    named = exact and n_columns <= _NAMED
    note = " · columns in the table's order" if not clustered else " · similar columns side by side"
    note += f" · colours end at ±{limit:.3g}{unit}" if limit < largest(given) else ""
    ticks = name_ticks(range(n_columns), names) if named else {"tickvals": []}
    columns_axis = bare_axis("" if named else f"{n_columns:,} columns", **ticks)
    every = -(-n_features // _NAMED_UPRIGHT) if upright else 1
    named_numbers = {"tickvals": numbers[::every], "ticktext": labels[::every]}
    number_ticks = named_numbers if n_features <= _NAMED else {"nticks": 20}
    features_axis = bare_axis("feature", **number_ticks)
    across, down = (features_axis, columns_axis) if upright else (columns_axis, features_axis)
    across_names, down_names = (labels, names) if upright else (names, labels)
    below = text_room(across_names, 11) + 18 if named or upright else 34
    n_down = shown.shape[1] if upright else n_features
    row = 26 if n_down <= 30 else 14 if n_down <= _NAMED else 5 if n_down <= 200 else 1
    left = text_room(down_names, 11) + 40 if named or not upright else 40
    layout = base_layout(
        height or max(200, _TOP + below + 22 + row * n_down),
        margin={"l": left, "r": 20, "t": _TOP - 2, "b": below + 24},
        title=figure_title(f"<b>Weights of {feature_word(n_features)}</b>", "" if upright else note),
        xaxis=across | {"tickangle": -90},
        yaxis=down | {"range": [n_down - 0.5, -0.5] if upright else [n_features + 0.5, 0.5]},
    )
    return {"data": [trace], "layout": layout}


def pool_columns(values: Floats, most: int) -> Floats:
    """Return at most `most` columns, of each run of neighbours the value furthest from 0."""
    n = values.shape[1]
    if n <= most:
        return values
    first = np.arange(most) * n // most
    high, low = np.maximum.reduceat(values, first, axis=1), np.minimum.reduceat(values, first, axis=1)
    return np.where(high >= -low, high, low)
