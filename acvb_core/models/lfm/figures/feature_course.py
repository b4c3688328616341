"""The course of a run: features alive, sweep by sweep, and how well they describe the cells seen and held out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from acvb_core.engine.history import History
from acvb_core.models.lfm.figures.feature_words import axis_title, feature_word, nothing_figure
from acvb_core.views.axes import start_length, tick_format, whole_ticks
from acvb_core.views.theme import GRID, LINE, TEXT, Figure, b64, base_layout, decimate, method_style, rgba

Floats = NDArray[np.float64]

#: What may happen to features in a sweep: column of the history, sign on the curve, word.
_EVENTS = (
    ("merged", "triangle-down", "merged"),
    ("dropped", "x-thin", "dropped"),
    ("split", "triangle-up", "split"),
    ("recoded", "diamond", "told apart anew"),
    ("turned", "circle", "shown from the other side"),
)
_POINTS = 400
_LEFT, _RIGHT = [0.0, 0.46], [0.54, 1.0]


def feature_course_figure(history: History, method: str = "", *, height: int = 280) -> Figure:
    """Return the number of features over the sweeps with marks where some were lost, and the likelihoods beside it.

    Parameters
    ----------
    history : History
        Columns effective_k_features, merged, dropped, train_log_likelihood and heldout_log_likelihood (nats a cell);
        what is not there is left out.
    method : str
        Name in the registry, for the colour.
    height : int
    """
    n = len(history)
    sweep, alive = history.column("sweep")[:n], history.column("effective_k_features")[:n]
    heading = "<b>Features over the sweeps</b>"
    if not np.isfinite(alive).any():
        return nothing_figure("No sweep has been done yet.", height=height, heading=heading)
    style = method_style(method)
    colour = style.colour if method else "#0072B2"
    data = [_line(sweep, alive, "alive", "features", colour, "%{y:,d} features", shape="hv")]
    data += _events(history, n, sweep, alive, colour)
    likelihoods = [
        ("train_log_likelihood", "cells seen", rgba(colour, 0.5), "dot"),
        ("heldout_log_likelihood", "cells held out", colour, "solid"),
    ]
    shown = []
    for column, name, tone, dash in likelihoods:
        values = history.column(column)[:n]
        if np.isfinite(values).any():
            line = _line(sweep, values, column, name, tone, f"{name} %{{y:.4f}}", dash=dash)
            data.append(line | {"xaxis": "x2", "yaxis": "y2", "showlegend": True})
            shown.append(values)
    layout = _layout(height, _extent(shown), wide=not shown)
    layout["yaxis"] |= whole_ticks(float(np.nanmax(alive)))
    for axis in ("xaxis", "xaxis2"):
        if axis in layout:
            layout[axis] |= whole_ticks(float(sweep[-1]))
    layout["annotations"] = [_panel_title(heading, 0.0)]
    if shown:
        layout["annotations"].append(_panel_title("<b>Log likelihood (nats a cell)</b>", _RIGHT[0]))
    return {"data": data, "layout": layout}


def _line(
    x: Floats,
    y: Floats,
    uid: str,
    name: str,
    colour: str,
    hover: str,
    *,
    dash: str = "solid",
    shape: str = "linear",
) -> Figure:
    there = np.flatnonzero(np.isfinite(y))
    # Steps are thinned nowhere: a step between two kept points would stand at the wrong sweep.
    kept = there if shape == "hv" else there[decimate(y[there], _POINTS)]
    line: Figure = {
        "type": "scatter",
        "mode": "lines" if len(kept) > 1 else "markers",
        "x": b64(x[kept]),
        "y": b64(y[kept]),
        "name": name,
        "showlegend": False,
        "line": {"color": colour, "width": 2, "dash": dash, "shape": shape},
        "marker": {"color": colour, "size": 6},
        "hovertemplate": f"{hover}<extra></extra>",
        "uid": uid,
    }
    return line


def _events(history: History, n: int, sweep: Floats, alive: Floats, colour: str) -> list[Figure]:
    """Return a mark on the curve for each sweep in which something happened: never thinned, for each may matter."""
    counts = {kind: np.nan_to_num(history.column(kind)[:n]).astype(np.int64) for kind, _, _ in _EVENTS}
    traces = []
    for kind, symbol, word in _EVENTS:
        at = np.flatnonzero((counts[kind] > 0) & np.isfinite(alive))
        if not len(at):
            continue
        total = int(counts[kind].sum())
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "x": b64(sweep[at]),
                "y": b64(alive[at]),
                "name": f"{word} ({total:,})",
                "showlegend": True,
                "marker": {
                    "symbol": symbol,
                    "size": 8,
                    "color": "white",
                    "line": {"width": 1.5, "color": colour},
                },
                "hovertext": [
                    f"{feature_word(count)} {word} at sweep {s:g}"
                    for count, s in zip(counts[kind][at].tolist(), sweep[at].tolist(), strict=True)
                ],
                "hovertemplate": "%{hovertext}<extra></extra>",
                "uid": kind,
            }
        )
    return traces


def _extent(curves: list[Floats]) -> Figure:
    """Return the view of the likelihoods: the first sweeps, which may lie far below, do not decide it."""
    parts = []
    for values in curves:
        settled = values[start_length(len(values)) :]
        settled = settled[np.isfinite(settled)]
        parts.append(settled if len(settled) else values[np.isfinite(values)])
    if not parts:
        return {}
    low, high = min(float(p.min()) for p in parts), max(float(p.max()) for p in parts)
    pad = 0.06 * (high - low) or max(abs(high) * 1e-6, 1e-9)
    return {"range": [low - pad, high + pad], "tickformat": tick_format(low - pad, high + pad)}


def _panel_title(text: str, x: float) -> Figure:
    return {
        "text": text, "font": {"size": 13, "color": TEXT}, "x": x, "y": 1, "xref": "paper", "yref": "paper",
        "xanchor": "left", "yanchor": "bottom", "yshift": 6, "showarrow": False,
    }  # fmt: skip


def _layout(height: int, extent: Figure, *, wide: bool) -> Figure:
    x: Figure = {
        "showgrid": False, "zeroline": False, "showline": True, "linecolor": LINE, "ticks": "outside", "ticklen": 4,
        "tickcolor": LINE, "nticks": 6, "tickfont": {"size": 11}, "rangemode": "nonnegative",
        "title": axis_title("sweep"),
    }  # fmt: skip
    y: Figure = {"gridcolor": GRID, "zeroline": False, "nticks": 6, "tickfont": {"size": 11}}
    layout = base_layout(
        height,
        margin={"l": 56, "r": 14, "t": 34, "b": 78},
        hovermode="closest",
        legend={
            "orientation": "h",
            "x": 0,
            "y": 0,
            "yref": "container",
            "yanchor": "bottom",
            "font": {"size": 12},
        },
        xaxis=x | {"domain": [0.0, 1.0] if wide else _LEFT},
        yaxis=y | {"rangemode": "tozero", "tickformat": ",d"},
    )
    if not wide:
        layout |= {"xaxis2": x | {"domain": _RIGHT, "anchor": "y2", "matches": "x"}}
        layout |= {"yaxis2": y | {"anchor": "x2"} | extent}
    return layout
