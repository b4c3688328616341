"""Bars in the figures of topics and of corpora: horizontal with a name before each, or vertical over numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from acvb_core.views.axes import axis_title
from acvb_core.views.labels import MOST_CHARACTERS, text_room
from acvb_core.views.theme import GRID, LINE, MUTED, TEXT, Figure, base_layout, escape, percent

_ROW, _TOP, _BOTTOM = 21, 30, 40  # pixels of a bar with its gap, above the bars, and below them
_FONT = 12


def horizontal_bars(
    names: Sequence[str],
    values: ArrayLike,
    hover: list[str],
    colour: str | list[str],
    *,
    keys: Sequence[object],
    title: str,
    axis: str,
    uid: str,
    height: int | None = None,
    percents: bool = False,
) -> Figure:
    """Return horizontal bars with a name before and the value behind each, the first at the top.

    `names`: as they are.
    `values`: shape (n,).
    `hover`: escaped.
    `keys`: the `customdata` of each bar, for clicks.
    `title`: escaped; empty for none.
    `axis`: what the values are.
    `height`: pixels; by default as many as the bars need.
    `percents`: the values are shares; otherwise whole numbers.
    """
    ends = np.asarray(values, dtype=np.float64)
    texts = [percent(x) if percents else f"{x:,.0f}" for x in ends.tolist()]
    layout = horizontal_layout(names, ends, texts, height=height, title=title, axis=axis, percents=percents)
    data = [horizontal_bar(ends, hover, colour, axis, uid, keys), value_texts(ends, texts)]
    return {"data": data, "layout": layout}


def horizontal_bar(
    values: ArrayLike,
    hover: list[str],
    colour: str | list[str],
    name: str,
    uid: str,
    keys: Sequence[object] | pd.Series,
) -> Figure:
    """Return the trace of horizontal bars."""
    places = list(range(len(hover)))
    return {
        **bar_trace(np.asarray(values, dtype=np.float64).tolist(), places, hover, uid),
        "orientation": "h",
        "customdata": list(keys),
        "name": name,
        "marker": {"color": colour, "line": {"width": 0}},
        "textposition": "none",
    }


def bar_trace(x: Sequence[float | None], y: Sequence[float | None], hover: list[str], uid: str) -> Figure:
    """Return the common part of a trace of bars: its places and what stands under the pointer (escaped)."""
    trace = {"type": "bar", "x": x, "y": y, "hovertext": hover, "uid": uid}
    return trace | {"hovertemplate": "%{hovertext}<extra></extra>"}


def value_texts(ends: ArrayLike, texts: list[str]) -> Figure:
    """Return the numbers behind the ends of the bars: of two bars on one another, behind the longer."""
    return {
        "type": "scatter",
        "mode": "text",
        "x": np.asarray(ends, dtype=np.float64).tolist(),
        "y": list(range(len(texts))),
        "text": [f" {text}" for text in texts],
        "textposition": "middle right",
        "textfont": {"size": 11, "color": MUTED},
        "cliponaxis": False,
        "hoverinfo": "skip",
        "showlegend": False,
        "uid": "values",
    }


def horizontal_layout(
    names: Sequence[str],
    ends: ArrayLike,
    texts: list[str],
    *,
    height: int | None,
    title: str,
    axis: str,
    percents: bool,
) -> Figure:
    """Return the layout of horizontal bars: names beside them, never clipped, and room for the values."""
    n, head = len(names), _TOP if title else 8
    right = float(np.asarray(ends).max(initial=0.0)) * 1.02 or 1.0
    labels = [escape(name, MOST_CHARACTERS) for name in names]
    return base_layout(
        height or max(150, head + _BOTTOM + _ROW * n),
        margin={"l": text_room(names, _FONT) + 12, "r": text_room(texts, 11) + 12, "t": head, "b": _BOTTOM},
        showlegend=False,
        bargap=0.22,
        title={**figure_title(title), "y": 1, "yref": "container", "xanchor": "left", "pad": {"t": 6}},
        xaxis={
            "range": [0, right], "gridcolor": GRID, "zeroline": False, "nticks": 5, "tickangle": 0,
            "tickformat": ".2~%" if percents else "~s" if right >= 1000 else "~g", "tickfont": {"size": 11},
            "title": axis_title(axis),
        },
        yaxis={
            "tickmode": "array", "tickvals": list(range(n)), "ticktext": labels, "range": [n - 0.4, -0.6], "ticks": "",
            "showgrid": False, "zeroline": False, "tickfont": {"size": _FONT, "color": TEXT}, "automargin": True,
            "ticklabelstandoff": 4,
        },
    )  # fmt: skip


def vertical_bars(
    values: list[float | None],
    keys: list[int],
    texts: list[str] | None,
    hover: list[str],
    colours: list[str],
    uid: str,
    x: Sequence[int] | None = None,
) -> Figure:
    """Return the trace of vertical bars with a text above each; None leaves a gap."""
    return {
        **bar_trace(list(keys if x is None else x), values, hover, uid),
        "customdata": keys,
        "marker": {"color": colours},
        "text": texts,
        "textposition": "outside",
        "textangle": 0,
        "textfont": {"size": 10, "color": MUTED},
        "cliponaxis": False,
    }


def vertical_layout(height: int, title: str, bottom: int, xaxis: Figure, yaxis: Figure) -> Figure:
    """Return the layout of vertical bars; what the axes are given goes beyond their common look."""
    return base_layout(
        height,
        margin={"l": 56, "r": 12, "t": 40, "b": bottom},
        showlegend=False,
        bargap=0.25,
        title=figure_title(title),
        xaxis={"showgrid": False, "zeroline": False, "linecolor": LINE, "tickangle": 0, **xaxis},
        yaxis={"gridcolor": GRID, **yaxis},
    )


def figure_title(text: str) -> Figure:
    """Return the title of a figure, at its upper left corner."""
    return {"text": text, "x": 0, "xref": "container", "y": 0.98, "yanchor": "top", "font": {"size": 13}}
