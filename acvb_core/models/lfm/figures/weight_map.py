"""The weights of all features in all columns, as a heat map on one scale around 0."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from acvb_core.models.lfm.figures.feature_words import (
    Names,
    axis_names,
    axis_title,
    feature_word,
    figure_title,
    nothing_figure,
    similar_order,
    subtitle,
)
from acvb_core.models.lfm.figures.pictures import DIVERGING, colour_bar, largest, robust_end
from acvb_core.views.labels import text_room
from acvb_core.views.theme import Figure, b64, base_layout, escape, percent

Floats = NDArray[np.float64]
#: Columns and features up to which they are named, and columns that are drawn.
_NAMED, _DRAWN = 60, 1500
_ANNOTATED = 14
_TOP = 34  # pixels


def weight_map_figure(
    weights: ArrayLike,
    columns: Names,
    *,
    shares: ArrayLike | None = None,
    clustered: bool = True,
    standardised: bool = True,
    height: int | None = None,
) -> Figure:
    """Return the weights of all features as a heat map: features down, columns across, one scale around 0.

    Parameters
    ----------
    weights : array, shape (K, D)
        On the standardised scale, where columns can be compared. A few far beyond the others share the last colour.
    columns : sequence, length D
    shares : array, shape (K,), optional
        Of the objects that have each feature.
    clustered : bool
        Put columns that the same features move side by side; else the table's order.
    standardised : bool
        False: the table is not, and weights are in its own units.
    height : int, optional
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
    labels = [f"{k}" if shares is None else f"{k} · {percent(s)}" for k, s in _with(numbers, shares)]
    limit = robust_end(given)
    unit = " sd" if standardised else ""
    trace = {
        "type": "heatmap",
        "x": list(range(shown.shape[1])),
        "y": numbers,
        "z": b64(shown.astype(np.float32)),
        "zmin": -limit,
        "zmax": limit,
        "colorscale": DIVERGING,
        "colorbar": colour_bar("weight (sd)" if standardised else "weight"),
        "hovertemplate": f"feature %{{y}}<br>weight %{{z:.3g}}{unit}<extra></extra>",
        "uid": "weight-map",
    }
    if exact and shown.size <= 20_000:
        trace["hovertext"] = [[escape(name, 60) for name in names]] * n_features
        trace["hovertemplate"] = (
            f"<b>%{{hovertext}}</b><br>feature %{{y}}<br>weight %{{z:.3g}}{unit}<extra></extra>"
        )
    if max(shown.shape) <= _ANNOTATED:
        trace |= {"texttemplate": "%{z:.2f}", "textfont": {"size": 11}, "xgap": 1, "ygap": 1}
    named = exact and n_columns <= _NAMED
    below = text_room(names, 11) + 18 if named else 34
    row = 26 if n_features <= 30 else 14 if n_features <= _NAMED else 5
    note = "columns in the table's order" if not clustered else "similar columns side by side"
    note += f" · colours end at ±{limit:.3g}{unit}" if limit < largest(given) else ""
    layout = base_layout(
        height or max(200, _TOP + below + 24 + row * n_features),
        margin={"l": text_room(labels, 11) + 40, "r": 20, "t": _TOP, "b": below + 24},
        title=figure_title(f"<b>Weights of {feature_word(n_features)}</b>" + subtitle(f" · {note}")),
        xaxis={
            "showgrid": False, "zeroline": False, "ticks": "", "ticklabelstandoff": 4, "tickangle": -90,
            "tickvals": list(range(n_columns)) if named else [], "tickfont": {"size": 11},
            "ticktext": axis_names(names) if named else [],
            "title": axis_title("" if named else f"{n_columns:,} columns"),
        },
        yaxis={
            "showgrid": False, "zeroline": False, "ticks": "", "range": [n_features + 0.5, 0.5],
            "ticklabelstandoff": 4, "tickfont": {"size": 11}, "title": axis_title("feature"),
            **({"tickvals": numbers, "ticktext": labels} if n_features <= _NAMED else {"nticks": 20}),
        },
    )  # fmt: skip
    return {"data": [trace], "layout": layout}


def pool_columns(values: Floats, most: int) -> Floats:
    """Return at most `most` columns, of each run of neighbours the value furthest from 0."""
    n = values.shape[1]
    if n <= most:
        return values
    first = np.arange(most) * n // most
    high, low = np.maximum.reduceat(values, first, axis=1), np.minimum.reduceat(values, first, axis=1)
    return np.where(high >= -low, high, low)


def _with(numbers: list[int], shares: ArrayLike | None) -> list[tuple[int, float]]:
    known = np.zeros(len(numbers)) if shares is None else np.asarray(shares, dtype=np.float64)
    return list(zip(numbers, known.tolist(), strict=True))
