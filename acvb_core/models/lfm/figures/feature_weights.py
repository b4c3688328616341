"""What a feature means: its weights in the columns, as bars to both sides of 0."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from acvb_core.models.lfm.figures.feature_words import (
    Names,
    Units,
    axis_names,
    axis_title,
    figure_title,
    nothing_figure,
    signed_text,
    subtitle,
)
from acvb_core.views.labels import text_room
from acvb_core.views.theme import (
    GRID,
    LINE,
    MUTED,
    TEXT,
    Figure,
    b64,
    base_layout,
    cluster_colour,
    decimate,
    escape,
    percent,
    rgba,
)

Order = Literal["size", "table"]

_ROW, _TOP, _BOTTOM, _FONT = 21, 34, 44, 12  # pixels
#: Columns up to which a profile has a bar for each; of more it is a line.
_BARS = 400
_LINE_POINTS = 4000
#: Characters up to which names of columns stand below a profile, and the pixels that it has for them at least.
_SHORT, _PROFILE_WIDTH = 6, 300


def feature_weights_figure(
    weights: ArrayLike,
    columns: Names,
    feature: int,
    *,
    sd: ArrayLike | None = None,
    units: Units = "sd",
    order: Order = "size",
    share: float | None = None,
    n: int = 25,
    height: int | None = None,
) -> Figure:
    """Return the columns in which a feature weighs most, as bars to both sides of 0.

    Bars are in standard deviations, whatever the units of the numbers written behind them: grams and metres cannot
    be compared. A bar below 0 is lighter.

    Parameters
    ----------
    weights : array, shape (D,)
        Of the feature, on the standardised scale.
    columns : sequence, length D
        Names.
    feature : int
        From 1; decides the colour.
    sd : array, shape (D,), optional
        Standard deviation of each column; None where the table is not standardised, and weights are in its units.
    units : "sd" or "table"
        Of the numbers behind the bars; the other stands under the pointer.
    order : "size" or "table"
        Largest first, or as in the table.
    share : float, optional
        Of the objects that have the feature, for the title.
    n : int
        Most columns; the title counts the rest.
    height : int, optional
        Pixels; by default as many as the columns need.
    """
    own = np.asarray(weights, dtype=np.float64)
    told = feature_heading(feature, share)
    if not len(own):
        return nothing_figure("The table has no columns.", heading=told)
    kept = np.argsort(-np.abs(own), kind="stable")[: max(n, 1)]
    if order == "table":
        kept = np.sort(kept)
    if len(kept) < len(own):
        told += subtitle(f" · {len(kept)} largest of {len(own):,} columns")
    shown = own[kept]
    written = own[kept] if sd is None or units == "sd" else (own * np.asarray(sd))[kept]
    names = [str(columns[j]) for j in kept]
    colour = cluster_colour(feature)
    trace = {
        "type": "bar",
        "orientation": "h",
        "x": shown.tolist(),
        "y": list(range(len(kept))),
        "customdata": names,
        "marker": {
            "color": [colour if value >= 0 else rgba(colour, 0.4) for value in shown],
            "line": {"width": [0 if value >= 0 else 1 for value in shown], "color": colour},
        },
        "text": [signed_text(value) for value in written.tolist()],
        "textposition": "outside",
        "textfont": {"size": 11, "color": MUTED},
        "cliponaxis": False,
        "hovertext": [
            weight_hover(columns[j], feature, own[j], None if sd is None else np.asarray(sd)[j]) for j in kept
        ],
        "hovertemplate": "%{hovertext}<extra></extra>",
        "uid": "weights",
    }
    low, high = min(float(shown.min()), 0.0), max(float(shown.max()), 0.0)
    # Room for the numbers, which stand beyond the ends of the bars.
    pad = 0.14 * (high - low) or 1.0
    layout = base_layout(
        height or max(150, _TOP + _BOTTOM + _ROW * len(kept)),
        margin={"l": text_room(names, _FONT) + 12, "r": 14, "t": _TOP, "b": _BOTTOM},
        showlegend=False,
        bargap=0.22,
        title=figure_title(told),
        xaxis={
            "range": [low - pad if low < 0 else 0, high + pad if high > 0 else 0],
            "gridcolor": GRID, "zeroline": True, "zerolinecolor": LINE, "nticks": 6, "tickangle": 0,
            "tickfont": {"size": 11}, "title": axis_title(_axis(sd is not None, units)),
        },
        yaxis={
            "tickmode": "array", "tickvals": list(range(len(kept))), "range": [len(kept) - 0.4, -0.6],
            "ticktext": axis_names(names), "ticks": "", "showgrid": False,
            "zeroline": False, "tickfont": {"size": _FONT, "color": TEXT}, "automargin": True,
            "ticklabelstandoff": 4,
        },
    )  # fmt: skip
    if not shown.any():
        layout["xaxis"]["range"] = [-1, 1]
    return {"data": [trace], "layout": layout}


def feature_profile_figure(
    weights: ArrayLike,
    columns: Names,
    feature: int,
    *,
    sd: ArrayLike | None = None,
    units: Units = "sd",
    share: float | None = None,
    height: int = 260,
) -> Figure:
    """Return the weights of a feature in all columns in the table's order: bars, or a line where there are many.

    Parameters as in `feature_weights_figure`, but the values drawn are in the units asked for; meant for
    hundreds of columns in an order that means something (frequencies, time).
    """
    own = np.asarray(weights, dtype=np.float64)
    if not len(own):
        return nothing_figure("The table has no columns.", heading=feature_heading(feature, share))
    shown = own if sd is None or units == "sd" else own * np.asarray(sd)
    kept = decimate(shown, _LINE_POINTS)
    colour = cluster_colour(feature)
    trace: Figure = {
        "x": (kept + 1).tolist(),
        "y": b64(shown[kept]),
        "hovertext": [
            weight_hover(columns[j], feature, own[j], None if sd is None else np.asarray(sd)[j]) for j in kept
        ],
        "hovertemplate": "%{hovertext}<extra></extra>",
        "uid": "profile",
    }
    if len(own) <= _BARS:
        trace |= {"type": "bar", "marker": {"color": colour, "line": {"width": 0}}}
    else:
        trace |= {"type": "scatter", "mode": "lines", "line": {"color": colour, "width": 1.3}}
        trace |= {"fill": "tozeroy", "fillcolor": rgba(colour, 0.2)}
    layout = base_layout(
        height,
        margin={"l": 60, "r": 14, "t": _TOP, "b": _BOTTOM},
        showlegend=False,
        bargap=0.1,
        title=figure_title(feature_heading(feature, share)),
        xaxis={
            "range": [0.4, len(own) + 0.6], "showgrid": False, "zeroline": False, "linecolor": LINE, "tickangle": 0,
            "title": axis_title("column, as in the table"), **_column_ticks([str(name) for name in columns]),
        },
        yaxis={
            "gridcolor": GRID, "zeroline": True, "zerolinecolor": LINE, "nticks": 6, "tickfont": {"size": 11},
            "title": axis_title("weight (sd)" if sd is not None and units == "sd" else "weight (own units)"),
        },
    )  # fmt: skip
    return {"data": [trace], "layout": layout}


def _column_ticks(names: list[str]) -> Figure:
    """Return the ticks of columns in the table's order: their names where these are short, else their numbers."""
    longest = max(map(len, names))
    if longest > _SHORT:
        return {"nticks": min(20, len(names) + 1), "tickformat": ",d"}
    step = -(-len(names) * (7 * longest + 14) // _PROFILE_WIDTH)
    return {
        "tickmode": "array",
        "tickvals": list(range(1, len(names) + 1, step)),
        "ticktext": axis_names(names[::step]),
    }


def _axis(standardised: bool, units: Units) -> str:
    if not standardised:
        return "weight (the table's own units)"
    if units == "sd":
        return "weight (standard deviations)"
    return "bars: standard deviations · numbers: the column's own units"


def weight_hover(column: object, feature: int, weight: float, sd: float | None) -> str:
    """Return the text of one weight: in standard deviations and in the column's units."""
    first = f"<b>{escape(column, 60)}</b><br>feature {feature}: {signed_text(weight)}"
    return (
        first if sd is None else f"{first} standard deviations<br>{signed_text(weight * sd)} in its own units"
    )


def feature_heading(feature: int, share: float | None) -> str:
    """Return "Feature 3 · 42 % of the objects", as HTML."""
    return f"<b>Feature {feature}</b>" + (
        "" if share is None else subtitle(f" · {percent(share)} of the objects")
    )
