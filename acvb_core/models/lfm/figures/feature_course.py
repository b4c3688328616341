"""The course of a run: its features, sweep by sweep, and the likelihoods of the cells seen and held out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acvb_core.core.clusters import place_columns
from acvb_core.engine.history import History
from acvb_core.models.lfm.figures.pictures import feature_word
from acvb_core.views.parts import (
    decimate,
    later_ends,
    level_line,
    nothing_figure,
    panel_axes,
    panel_title,
    scatter,
    tick_format,
    view_range,
    whole_ticks,
)
from acvb_core.views.theme import PAPER, Figure, Part, make_figure, method_style, rgba

Floats = NDArray[np.float64]

#: Events of features in a sweep: column of the history, sign on the curve, word.
_EVENTS = (
    ("merged", "triangle-down", "merged"),
    ("dropped", "x-thin", "dropped"),
    ("split", "triangle-up", "split"),
    ("recoded", "diamond", "separated"),
    ("turned", "circle", "flipped"),
)
_POINTS = 400


def feature_course_figure(history: History, method: str = "", *, height: int = 280) -> Figure:
    """Return the number of features over the sweeps with marks where some were lost, and the likelihoods beside it.

    `history`: columns effective_k_features, merged, dropped, train_log_likelihood and heldout_log_likelihood (nats a
      cell); what is not there is left out.
    `method`: name in the registry, for the colour.
    """
    n = len(history)
    sweep, alive = history.column("sweep")[:n], history.column("effective_k_features")[:n]
    if not np.isfinite(alive).any():
        return nothing_figure("No sweep has been done yet.", height=height, title="Features over the sweeps")
    colour = method_style(method).colour if method else "#0072B2"
    data = [_line(sweep, alive, "alive", "features", colour, "%{y:,d} features", shape="hv")]
    data += _events(history, n, sweep, alive, colour)
    shown = []
    for column, name, tone, dash in (
        ("train_log_likelihood", "cells seen", rgba(colour, 0.85), "dot"),
        ("heldout_log_likelihood", "cells held out", colour, "solid"),
    ):
        values = history.column(column)[:n]
        if np.isfinite(values).any():
            line = _line(sweep, values, column, name, tone, f"{name} %{{y:.4f}}", dash=dash)
            data.append(line | {"xaxis": "x2", "yaxis": "y2", "showlegend": True})
            shown.append(values)
    right = (0.54, 1.0)
    x, y = panel_axes("", (0.0, 0.46 if shown else 1.0), (0.0, 1.0))
    sweeps = {"rangemode": "nonnegative", "title": {"text": "sweep"}, **whole_ticks(float(sweep[-1]))}
    layout: Part = {
        "xaxis": x | sweeps,
        "yaxis": y | {"rangemode": "tozero", "tickformat": ",d", **whole_ticks(float(np.nanmax(alive)))},
        "annotations": [panel_title("Features over the sweeps", "", 0.0, 1.0)],
    }
    if shown:
        x, y = panel_axes("2", right, (0.0, 1.0))
        means = history.last_value("heldout_means_log_likelihood")
        if np.isfinite(means):
            shown.append(np.array([means]))
            layout["shapes"] = [level_line("2", means, "column means (held out)", position="end")]
        layout |= {"xaxis2": x | sweeps | {"matches": "x"}, "yaxis2": y | _extent(shown)}
        layout["annotations"].append(panel_title("Log likelihood per cell", "", right[0], 1.0))
    margin = {"l": 56, "r": 14, "t": 34, "b": 78}
    return make_figure(data, height, margin=margin, showlegend=True, **layout)


def read_features_then(objects: Floats, excerpt: Mapping[str, Any]) -> Floats:
    """Return which objects had which features after a sweep, 0 or 1, shape (N, K').

    A feature has the number of the one in the answer that it shares most objects with. Columns of features that were
    not there yet are 0. Features without a partner in the answer follow.

    `objects`: shape (N, K); probabilities of the features in the run's answer.
    `excerpt`: as `LfmModel.take_excerpt` gives it.
    """
    last = (objects >= 0.5).astype(np.float64)
    then = np.unpackbits(excerpt["objects"], axis=0, count=len(last)).astype(np.float64)
    sizes = last.sum(axis=0)[:, None] + then.sum(axis=0)[None, :]
    place, width = place_columns(last.T @ then / np.maximum(sizes, 1.0), last.T @ then > 0)
    wide = np.zeros((len(last), width))
    wide[:, place] = then
    return wide


def _line(x: Floats, y: Floats, uid: str, name: str, colour: str, hover: str, **look: str) -> Part:
    """Return one curve; `look` is its dash or shape."""
    known = np.flatnonzero(np.isfinite(y))
    # Steps are not thinned: a step between two points would be at the wrong sweep.
    points = known if look.get("shape") == "hv" else known[decimate(y[known], _POINTS)]
    return scatter(
        uid,
        x[points],
        y[points],
        "lines" if len(points) > 1 else "markers",
        name=name,
        line={"color": colour, "width": 2, **look},
        marker={"color": colour, "size": 6},
        hovertemplate=f"{hover}<extra></extra>",
    )


def _events(history: History, n: int, sweep: Floats, alive: Floats, colour: str) -> list[Part]:
    """Return a mark on the curve for each sweep with an event; none is left out, for each may matter."""
    traces = []
    for kind, symbol, word in _EVENTS:
        counts = np.nan_to_num(history.column(kind)[:n]).astype(np.int64)
        at = np.flatnonzero((counts > 0) & np.isfinite(alive))
        if not len(at):
            continue
        events = zip(counts[at].tolist(), sweep[at].tolist(), strict=True)
        marker = {"symbol": symbol, "size": 8, "color": PAPER, "line": {"width": 1.5, "color": colour}}
        texts = [f"{feature_word(c)} {word} at sweep {s:g}" for c, s in events]
        more: Part = {"marker": marker, "name": f"{word} ({int(counts.sum()):,})", "showlegend": True}
        traces.append(scatter(kind, sweep[at], alive[at], hovertext=texts, **more))
    return traces


def _extent(curves: list[Floats]) -> Part:
    """Return the range of the likelihoods' axis, without the first sweeps, which may lie far below."""
    ends = later_ends(curves)
    low, high = view_range(min(ends), max(ends))
    return {"range": [low, high], "tickformat": tick_format(low, high)}
