"""The weights of one feature in the columns, as bars to both sides of 0."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from acvb_core.models.lfm.figures.feature_words import (
    Names,
    Units,
    bare_axis,
    figure_title,
    hover_texts,
    name_ticks,
    nothing_figure,
    signed_text,
    subtitle,
    value_axis,
)
from acvb_core.views.axes import axis_title
from acvb_core.views.labels import text_room
from acvb_core.views.theme import (
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

_ROW, _TOP, _BOTTOM, _FONT = 21, 34, 58, 12  # pixels
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

    Bars are in standard deviations, whatever the units of the numbers behind them: grams and metres cannot be compared.
    A bar below 0 is lighter. The title counts the columns beyond the `n` largest.

    `weights`: shape (D,); of the feature (from 1), on the standardised scale.
    `sd`: shape (D,); standard deviation of each column; None: the table is not standardised, and weights are in its
      units.
    `units`: of the numbers behind the bars; the other stands under the pointer.
    `order`: largest first, or as in the table.
    `share`: of the objects that have the feature, for the title.
    """
    own, heading = np.asarray(weights, dtype=np.float64), feature_heading(feature, share)
    if not len(own):
        return nothing_figure("The table has no columns.", heading=heading)
    chosen = np.argsort(-np.abs(own), kind="stable")[: max(n, 1)]
    if order == "table":
        chosen = np.sort(chosen)
    if len(chosen) < len(own):
        heading += subtitle(f" · {len(chosen)} largest of {len(own):,} columns")
    shown, names = own[chosen], [str(columns[j]) for j in chosen]
    written = shown if sd is None or units == "sd" else (own * np.asarray(sd))[chosen]
    colour, places = cluster_colour(feature), list(range(len(chosen)))
    trace = {
        "type": "bar",
        "orientation": "h",
        "x": shown.tolist(),
        "y": places,
        "customdata": names,
        "marker": {
            "color": [colour if value >= 0 else rgba(colour, 0.4) for value in shown],
            "line": {"width": [0 if value >= 0 else 1 for value in shown], "color": colour},
        },
        "text": [signed_text(value) for value in written.tolist()],
        "textposition": "outside",
        "textfont": {"size": 11, "color": MUTED},
        "cliponaxis": False,
        "uid": "weights",
        **hover_texts(_weight_texts(own, columns, feature, sd, chosen)),
    }
    low, high = min(float(shown.min()), 0.0), max(float(shown.max()), 0.0)
    # Room for the numbers, which stand beyond the ends of the bars, on a phone too.
    pad = 0.24 * (high - low) or 1.0
    ends = [low - pad if low < 0 else 0, high + pad if high > 0 else 0] if shown.any() else [-1, 1]
    rows = bare_axis(**name_ticks(places, names), range=[len(places) - 0.4, -0.6], automargin=True)
    layout = base_layout(
        height or max(150, _TOP + _BOTTOM + _ROW * len(places)),
        margin={"l": text_room(names, _FONT) + 12, "r": 14, "t": _TOP, "b": _BOTTOM},
        showlegend=False,
        bargap=0.22,
        title=figure_title(heading),
        xaxis=value_axis(_axis_text(sd, units), range=ends, zeroline=True, zerolinecolor=LINE, nticks=6),
        yaxis=rows | {"tickfont": {"size": _FONT, "color": TEXT}},
    )
    return {"data": [trace], "layout": layout}


def _axis_text(sd: ArrayLike | None, units: Units) -> str:
    """Return the title of the axis of bars."""
    if sd is None:
        return "weight (the table's own units)"
    if units == "sd":
        return "weight (standard deviations)"
    return "bars: standard deviations<br>numbers: the column's own units"


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
    own, heading = np.asarray(weights, dtype=np.float64), feature_heading(feature, share)
    if not len(own):
        return nothing_figure("The table has no columns.", heading=heading)
    standard = sd is not None and units == "sd"
    shown = own if sd is None or standard else own * np.asarray(sd)
    points = decimate(shown, _LINE_POINTS)
    colour = cluster_colour(feature)
    trace: Figure = {"x": (points + 1).tolist(), "y": b64(shown[points]), "uid": "profile"}
    trace |= hover_texts(_weight_texts(own, columns, feature, sd, points))
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
        title=figure_title(heading),
        xaxis={
            "range": [0.4, len(own) + 0.6],
            "showgrid": False,
            "zeroline": False,
            "linecolor": LINE,
            "tickangle": 0,
        }
        | {"title": axis_title("column, as in the table"), **_column_ticks([str(name) for name in columns])},
        yaxis=value_axis(
            "weight (standard deviations)" if standard else "weight (own units)",
            zeroline=True,
            zerolinecolor=LINE,
            nticks=6,
        ),
    )
    return {"data": [trace], "layout": layout}


def _column_ticks(names: list[str]) -> Figure:
    """Return the ticks of columns in the table's order: their names where these are short, else their numbers."""
    longest = max(map(len, names))
    if longest > _SHORT:
        return {"nticks": min(20, len(names) + 1), "tickformat": ",d"}
    step = -(-len(names) * (7 * longest + 14) // _PROFILE_WIDTH)
    return name_ticks(range(1, len(names) + 1, step), names[::step])


def _weight_texts(
    weights: NDArray[np.float64], columns: Names, feature: int, sd: ArrayLike | None, chosen: Iterable[int]
) -> list[str]:
    """Return the text of each weight: in standard deviations and in the column's units."""
    texts = []
    for j in chosen:
        text = f"<b>{escape(columns[j], 60)}</b><br>feature {feature}: {signed_text(weights[j])}"
        if sd is not None:
            own = signed_text(weights[j] * np.asarray(sd)[j])
            text += f" standard deviations<br>{own} in its own units"
        texts.append(text)
    return texts


def feature_heading(feature: int, share: float | None) -> str:
    """Return "Feature 3 · 42 % of the objects", as HTML."""
    note = "" if share is None else subtitle(f" · {percent(share)} of the objects")
    return f"<b>Feature {feature}</b>{note}"
