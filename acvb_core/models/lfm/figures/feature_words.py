"""Texts, titles and axes of the figures of features and tables, and the order of similar columns."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from acvb_core.models.lfm.answer import ObjectSteps
from acvb_core.views.axes import axis_title
from acvb_core.views.labels import MOST_CHARACTERS
from acvb_core.views.theme import GRID, LINE, MUTED, Figure, base_layout, escape, percent

#: Names of columns or objects as they come: a list, or the array of a table.
Names = Sequence[object] | NDArray[Any]
#: In the columns' own units, or in standard deviations of each column.
Units = Literal["sd", "table"]
#: Most columns that are clustered; the distances of more would take long.
MOST_CLUSTERED = 1000


def feature_word(number: int) -> str:
    """Return "1 feature", "2 features"."""
    return f"{number:,} {'feature' if number == 1 else 'features'}"


def value_text(value: float) -> str:
    """Return a value with four significant digits, whole from ten thousand on; empty for NaN."""
    if not math.isfinite(value):
        return ""
    return f"{value:z,.0f}" if 1e4 <= abs(value) < 1e9 else f"{value:z,.4g}"


def signed_text(value: float) -> str:
    """Return a value with three significant digits and its sign; empty for NaN."""
    if not math.isfinite(value):
        return ""
    return f"{value:+,.0f}" if 1e3 <= abs(value) < 1e9 else f"{value:+.3g}" if value else "0"


def axis_names(names: Sequence[str], limit: int = MOST_CHARACTERS) -> list[str]:
    """Return names for an axis, escaped; those of more than `limit` characters lose their end, or their middle.

    A name loses its middle if another one begins alike.
    """
    plain = [" ".join(name.split()) for name in names]
    starts = Counter(name[: limit - 1] for name in plain if len(name) > limit)
    ends = limit // 2
    return [
        escape(f"{name[: limit - 1 - ends]}…{name[-ends:]}")
        if len(name) > limit and starts[name[: limit - 1]] > 1
        else escape(name, limit)
        for name in plain
    ]


def similar_order(vectors: ArrayLike) -> NDArray[np.int64]:
    """Return the order of vectors (n, m) in which similar ones stand side by side, shape (n,).

    Up to `MOST_CLUSTERED` are clustered by the correlation about 0 (signs do not matter, for a column that
    falls with others belongs to them); more are sorted by their largest entry.
    """
    rows = np.nan_to_num(np.asarray(vectors, dtype=np.float64))
    n = len(rows)
    if n < 3 or rows.shape[1] == 0:
        return np.arange(n)
    if n > MOST_CLUSTERED:
        top = np.abs(rows).argmax(axis=1)
        size = rows[np.arange(n), top]
        return np.lexsort((-np.abs(size), size < 0, top)).astype(np.int64)
    from scipy.cluster.hierarchy import leaves_list, linkage, optimal_leaf_ordering
    from scipy.spatial.distance import squareform

    length = np.sqrt((rows**2).sum(axis=1))
    unit = rows / np.where(length > 0, length, 1.0)[:, None]
    distance = np.clip(1.0 - np.abs(unit @ unit.T), 0.0, 1.0)
    np.fill_diagonal(distance, 0.0)
    distances = squareform((distance + distance.T) / 2, checks=False)
    tree = linkage(distances, "average")
    # The best order of the leaves takes cubic time.
    return leaves_list(optimal_leaf_ordering(tree, distances) if n <= 150 else tree).astype(np.int64)


def figure_title(heading: str, note: str = "") -> Figure:
    """Return a title at the upper left, both parts escaped by the caller; the note is lighter than the heading."""
    text = heading + (subtitle(note) if note else "")
    place = {"x": 0, "xref": "container", "xanchor": "left", "y": 1, "yref": "container", "yanchor": "top"}
    return {"text": text, **place, "pad": {"t": 8}, "font": {"size": 13}}


def subtitle(text: str) -> str:
    """Return HTML that stands behind a title, lighter than it."""
    return f'<span style="font-size:12px;font-weight:normal;color:{MUTED}">{text}</span>'


def bare_axis(title: str = "", *, framed: bool = False, **more: Any) -> Figure:
    """Return an axis without grid and ticks, its names close to it; `framed` draws a line on both sides."""
    axis: Figure = {"showgrid": False, "zeroline": False, "ticks": "", "tickfont": {"size": 11}}
    axis |= {"ticklabelstandoff": 4, "tickangle": 0, "title": axis_title(title)}
    if framed:
        axis |= {"showline": True, "mirror": True, "linecolor": LINE}
    return axis | more


def value_axis(title: str, **more: Any) -> Figure:
    """Return an axis of numbers, with a grid."""
    axis = {"gridcolor": GRID, "zeroline": False, "tickangle": 0, "tickfont": {"size": 11}}
    return axis | {"title": axis_title(title)} | more


def name_ticks(places: Sequence[float], names: Sequence[str]) -> Figure:
    """Return the ticks of an axis that has a name at each place."""
    return {"tickmode": "array", "tickvals": list(places), "ticktext": axis_names(names)}


def bottom_legend(size: int = 12, **more: Any) -> Figure:
    """Return a legend in a row below the figure."""
    place = {"orientation": "h", "x": 0, "y": 0, "yref": "container", "yanchor": "bottom"}
    return place | {"font": {"size": size}} | more


def hover_texts(texts: Sequence[str]) -> Figure:
    """Return the part of a trace that shows a text of its own for each mark."""
    return {"hovertext": list(texts), "hovertemplate": "%{hovertext}<extra></extra>"}


def nothing_figure(text: str, *, height: int = 160, heading: str = "") -> Figure:
    """Return a figure with the reason why it is empty; its one trace is empty, as Plotly refuses none."""
    trace = {"type": "scatter", "x": [], "y": [], "showlegend": False, "hoverinfo": "skip", "uid": "nothing"}
    note = {"text": text, "showarrow": False, "font": {"size": 13, "color": MUTED}}
    hidden = {"visible": False, "range": [0, 1]}
    layout = base_layout(
        height,
        margin={"l": 12, "r": 12, "t": 36 if heading else 12, "b": 12},
        title=figure_title(heading),
        xaxis=hidden,
        yaxis=hidden,
        annotations=[note | {"x": 0.5, "y": 0.5, "xref": "paper", "yref": "paper"}],
    )
    return {"data": [trace], "layout": layout}


def object_heading(steps: ObjectSteps, name: str) -> str:
    """Return the object's name, how much of it the features explain and what is missing, as HTML."""
    explained, text = steps.explained, ""
    if explained < 0:
        text = " · the features fit worse than the baseline alone"
    elif not math.isnan(explained):
        text = f" · {percent(explained)} of it is explained by its features"
    unknown = int(np.isnan(steps.value).sum())
    text += f" · {unknown:,} of {len(steps.value):,} cells missing" if unknown else ""
    return f"<b>{escape(name, 40) or 'Object'}</b>{subtitle(text)}"
