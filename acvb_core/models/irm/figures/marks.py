"""Traces, captions and layouts that the figures of relations and networks share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from acvb_core.views.axes import paper_note
from acvb_core.views.theme import MUTED, Figure, base_layout

Floats = NDArray[np.float64]


def scatter(uid: str, x: Any, y: Any, mode: str = "markers", **more: Any) -> Figure:
    """Return a trace of points or lines; the pointer reads its `hovertext`, where it has one."""
    hover = {"hovertemplate": "%{hovertext}<extra></extra>"} if "hovertext" in more else {"hoverinfo": "skip"}
    return {"type": "scatter", "mode": mode, "x": x, "y": y, "showlegend": False, "uid": uid, **hover, **more}


def legend_entry(uid: str, name: str, marker: Figure) -> Figure:
    """Return a trace that shows nothing but an entry of the legend."""
    return scatter(uid, [None], [None], name=name, marker=marker, showlegend=True)


def keep_opacity() -> Figure:
    """Return what keeps the points of a trace as they are, selected or not."""
    return {"selected": {"marker": {"opacity": 1}}, "unselected": {"marker": {"opacity": 1}}}


def caption(lines: list[str], shift: int) -> Figure:
    """Return lines of text below a figure, at its left, as an annotation."""
    font = {"size": 12, "color": MUTED}
    return paper_note("<br>".join(lines), 0, 0, yshift=shift, align="left", font=font)


def plan_layout(low: Floats, high: Floats, height: int, bottom: int, **more: Any) -> Figure:
    """Return the layout of a plan without axes, from corner `low` to corner `high`, with one scale for both."""
    axis = {"visible": False, "showgrid": False, "zeroline": False}
    return base_layout(
        height,
        margin={"l": 8, "r": 8, "t": 8, "b": bottom},
        hovermode="closest",
        dragmode="pan",
        clickmode="event+select",
        xaxis=axis | {"range": [float(low[0]), float(high[0])]},
        yaxis=axis | {"range": [float(low[1]), float(high[1])], "scaleanchor": "x", "scaleratio": 1},
        **more,
    )
