"""Which columns of a table go together: their correlations as a heat map."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from acvb_core.models.lfm.figures.feature_words import (
    Names,
    axis_names,
    figure_title,
    nothing_figure,
    similar_order,
    subtitle,
)
from acvb_core.models.lfm.figures.pictures import DIVERGING, colour_bar
from acvb_core.views.labels import text_room
from acvb_core.views.theme import GRID, Figure, b64, base_layout, escape

Floats = NDArray[np.float64]
#: Columns up to which correlations are shown, and up to which they are named, and have their number written in.
MOST_CORRELATED, _NAMED, _ANNOTATED = 200, 60, 10
_TOP = 36  # pixels


def correlations(values: ArrayLike) -> Floats:
    """Return the correlation of each pair of columns over the rows in which both are known.

    Parameters
    ----------
    values : array, shape (N, D)
        NaN where missing.

    Returns
    -------
    ndarray, shape (D, D)
        NaN for pairs that share fewer than three rows, or of which one does not vary in them.
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

    Parameters
    ----------
    values : array, shape (N, D)
        NaN where missing.
    columns : sequence, length D
    height : int, optional
    """
    n = np.asarray(values).shape[1]
    heading = "<b>Correlations of the columns</b>"
    if n < 2:
        return nothing_figure("There is one column only.", heading=heading)
    if n > MOST_CORRELATED:
        return nothing_figure(f"Shown for up to {MOST_CORRELATED} columns; there are {n:,}.", heading=heading)
    found = correlations(values)
    order = similar_order(found)
    names = [str(columns[j]) for j in order]
    labels = axis_names(names)
    hover = [escape(name, 60) for name in names]
    trace = {
        "type": "heatmap", "x": list(range(n)), "y": list(range(n)), "z": b64(found[np.ix_(order, order)]),
        "zmin": -1, "zmax": 1, "colorscale": DIVERGING, "colorbar": colour_bar("correlation"),
        "hovertext": [[f"<b>{a}</b><br><b>{b}</b>" for b in hover] for a in hover], "uid": "correlations",
        "hovertemplate": "%{hovertext}<br>correlation %{z:.3f}<extra></extra>",
    }  # fmt: skip
    if n <= _ANNOTATED:
        trace |= {"texttemplate": "%{z:.2f}", "textfont": {"size": 10}, "xgap": 1, "ygap": 1}
    named = n <= _NAMED
    room = text_room(names, 11) + 18 if named else 16
    axis: Figure = {
        "showgrid": False, "zeroline": False, "ticks": "", "ticklabelstandoff": 4, "tickfont": {"size": 11},
        "tickvals": list(range(n)) if named else [], "ticktext": labels if named else [],
    }  # fmt: skip
    # A cell with its number in it is as wide as it is high.
    cell = 36 if n <= _ANNOTATED else 22 if named else 6
    layout = base_layout(
        height or min(900, max(320, _TOP + room + cell * n)),
        margin={"l": room, "r": 16, "t": _TOP, "b": room},
        plot_bgcolor=GRID,
        title=figure_title(
            heading + subtitle(" · similar columns side by side, over the rows in which both are known")
        ),
        xaxis=axis | {"tickangle": -90, "constrain": "domain"},
        yaxis=axis | {"autorange": "reversed", "scaleanchor": "x", "constrain": "domain"},
    )
    return {"data": [trace], "layout": layout}
