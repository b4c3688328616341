"""The panels of the convergence figure: which measures they show, what they are called, where they stand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from acvb_core.core.display import Measure
from acvb_core.registry import model_row
from acvb_core.views.axes import (
    axis_title,
    level_line,
    panel_axes,
    panel_title,
    start_length,
    tick_format,
    view_range,
    whole_ticks,
)
from acvb_core.views.run_curve import RunCurve
from acvb_core.views.theme import MUTED, Figure, base_layout

XAxis = Literal["sweep", "cpu_seconds", "passes", "documents_seen"]
#: Title of the x axis, text above the values there, and their format.
_X_AXES: dict[XAxis, tuple[str, str, str]] = {
    "sweep": ("sweep", "sweep %{x}", "~g"),
    "cpu_seconds": ("CPU seconds", "%{x} s of CPU", ".2f"),
    "passes": ("epochs (passes over the documents)", "epoch %{x}", ".3~f"),
    "documents_seen": ("documents seen", "%{x} documents", ",.0f"),
}
_ROW_HEIGHT, _GAP = 160, 56  # pixels of a row of panels, and between two for numbers and a title
_TOP, _BOTTOM = 56, 48
#: Smaller changes are not in the first view: those of a run that stands still would squash all others.
_NO_CHANGE = 1e-9

#: Keys of the measures that a run may hold constant.
_LEARNED = ("alpha", "beta")
# Numbers stand left of the left column and right of the right one, so that long ones never meet in the middle.
_LEFT, _RIGHT = (0.0, 0.48), (0.52, 1.0)
_THIRD, _FOURTH = (0.52, 0.735), (0.785, 1.0)
_WHOLE = (0.0, 1.0)


@dataclass(frozen=True)
class Streaming:
    """The extent of streaming among the runs of a figure."""

    #: `some`, `all`: some runs take the documents window by window, or all of them.
    some: bool
    all: bool
    completion: bool  #: all runs hold out whole documents

    @property
    def sweep(self) -> str:
        """Word for a sweep."""
        return "window" if self.all else "sweep or window" if self.some else "sweep"

    def renamed_measure(self, measure: Measure) -> Measure:
        """Return a measure with the title that it has among such runs."""
        title = measure.title
        if measure.key == "change" and self.some:
            title = "Change in topics" if self.all else "Change in assignments or topics"
        if measure.key == "loo" and self.all and measure.column == "loo_perplexity":
            title = "Leave-one-out perplexity of the window"
        if measure.key == "heldout" and self.completion:
            title = "Held-out perplexity of whole documents (lower is better)"
        return replace(measure, title=title)


def streaming_among(runs: Sequence[RunCurve]) -> Streaming:
    """Return how many of some runs stream."""
    streams = [run.streams for run in runs]
    completion = [run.completion for run in runs if run.heldout]
    return Streaming(any(streams), bool(streams) and all(streams), bool(completion) and all(completion))


@dataclass(frozen=True)
class Panel:
    """One panel."""

    measure: Measure  #: what it shows
    x_domain: tuple[float, float]
    row: int  #: from the top
    side: str  #: where the numbers stand
    first: bool = False  #: its curves stand in the legend

    @property
    def number(self) -> str:
        """Suffix of the names of its axes: x, x2, …"""
        return str(self.measure.n) if self.measure.n > 1 else ""


def panels_for(runs: Sequence[RunCurve], model: str) -> list[Panel]:
    """Return the panels of a model for some runs.

    What the runs are set to do decides, not what is known of them so far: the panels stay while they go on.

    `model`: name in the registry.
    """
    streams = streaming_among(runs)
    measures = []
    for measure in model_row(model).display.measures:
        if measure.key == "heldout" and not any(run.heldout for run in runs):
            continue
        if measure.methods and not any(run.method in measure.methods for run in runs):
            continue
        # A stream has no bound, and learns no beta.
        if (measure.key == "speed" and not streams.some) or (measure.key == "bound" and streams.all):
            continue
        learns = any(run.learns for run in runs) and not (measure.key == "beta" and streams.all)
        if measure.key in _LEARNED and not learns:
            continue
        measures.append(streams.renamed_measure(measure))
    return _place_measures(measures)


def _is_known(runs: Sequence[RunCurve], column: str) -> bool:
    return any(bool(np.isfinite(run.column(column)).any()) for run in runs)


def _place_measures(measures: Sequence[Measure]) -> list[Panel]:
    """Place measures two a row; of an odd number, two small last ones share a place, else the last is wide."""
    n = len(measures)
    sharing = n % 2 == 1 and n > 2 and measures[-1].small and measures[-2].small
    panels = []
    for at, measure in enumerate(measures):
        row, side = at // 2, "left" if at % 2 == 0 else "right"
        domain = _LEFT if side == "left" else _RIGHT
        if sharing and at >= n - 2:
            row, side, domain = (n - 3) // 2, "right", _THIRD if at == n - 2 else _FOURTH
        elif n % 2 == 1 and at == n - 1:
            domain = _WHOLE
        panels.append(Panel(measure, domain, row, side, first=at == 0))
    return panels


def panel_layout(panels: Sequence[Panel], runs: Sequence[RunCurve], x: XAxis, uirevision: str) -> Figure:
    """Return the layout of the panels of some runs, drawn against `x`; `uirevision` as in `live_figure`."""
    x_title, x_hover, x_format = _X_AXES[x]
    if x == "sweep":
        word = streaming_among(runs).sweep
        x_title, x_hover = (text.replace("sweep", word) for text in (x_title, x_hover))
    n_rows = 1 + max(panel.row for panel in panels)
    plot = n_rows * _ROW_HEIGHT + (n_rows - 1) * _GAP
    legend = {"orientation": "h", "x": 0, "xanchor": "left", "y": 1 + 30 / plot, "yanchor": "bottom"}
    layout = base_layout(
        _TOP + _BOTTOM + plot,
        margin={"l": 82, "r": 82, "t": _TOP, "b": _BOTTOM},
        uirevision=uirevision,
        hovermode="x unified",
        legend=legend | {"groupclick": "togglegroup", "font": {"size": 12}, "itemwidth": 40},
        shapes=[],
        annotations=[],
    )
    averaged = [run for run in runs if run.averaged]
    tolerances = sorted({run.tolerance for run in averaged if run.tolerance is not None})
    for panel in panels:
        top = 1 - panel.row * (_ROW_HEIGHT + _GAP) / plot
        x_axis, y_axis = panel_axes(panel.number, panel.x_domain, (max(top - _ROW_HEIGHT / plot, 0.0), top))
        x_axis |= {
            "rangemode": "nonnegative",
            "hoverformat": x_format,
            "unifiedhovertitle": {"text": x_hover},
        }
        if panel.x_domain[1] - panel.x_domain[0] < 0.3:
            x_axis["nticks"] = 4
        if panel is not panels[0]:
            x_axis["matches"] = f"x{panels[0].number}"
        if panel.row == n_rows - 1:
            x_axis["title"] = axis_title(x_title)
        y_axis["side"] = panel.side
        note = ""
        if panel.measure.key == "change":
            note = "(dotted: upper limit)" if averaged else ""
            # With five, an axis of little more than one decade has a label for each digit.
            y_axis |= {"type": "log", "exponentformat": "power", "nticks": 4}
            y_axis["autorangeoptions"] = {"clipmin": min([_NO_CHANGE, *tolerances])}
            whose = "" if len(averaged) == len(runs) else ", judges averaged runs only"
            layout["shapes"] += [
                level_line(panel.number, level, f"tolerance {level:g}{whose}") for level in tolerances
            ]
        elif panel.measure.step:
            y_axis |= {"rangemode": "tozero", "tickformat": "d", "nticks": 5} | _count_ticks(panel, runs)
        else:
            levels = _baselines(runs) if panel.measure.key == "heldout" else {}
            y_axis |= _first_view(panel, runs, list(levels))
            # Curves begin near it and end above it.
            layout["shapes"] += [
                level_line(panel.number, at, name, position="end") for at, name in levels.items()
            ]
        if not _is_known(runs, panel.measure.column or panel.measure.key):
            y_axis["showticklabels"] = False
            layout["annotations"] += _announce_score(panel, runs) if panel.measure.key == "heldout" else []
        layout[f"xaxis{panel.number}"], layout[f"yaxis{panel.number}"] = x_axis, y_axis
        layout["annotations"].append(panel_title(panel.measure.title, note, panel.x_domain[0], top))
    return layout


def _baselines(runs: Sequence[RunCurve]) -> dict[float, str]:
    """Return the scores that predictions without a model have on what the runs hold out, with their names."""
    found = {}
    for run in runs:
        score = model_row(run.model).display.score
        level = run.history.last_value(f"heldout_{score.baseline}")
        if math.isfinite(level):
            found[level] = score.baseline_name
    return found


def _announce_score(panel: Panel, runs: Sequence[RunCurve]) -> list[Figure]:
    """Return a text for a panel of scores that is still empty: when there will be one."""
    first = min((run.first_score for run in runs if run.first_score is not None), default=None)
    if first is None:
        return []
    place = {"xref": f"x{panel.number} domain", "yref": f"y{panel.number} domain", "x": 0.5, "y": 0.5}
    text = f"first score at {streaming_among(runs).sweep} {first:,}"
    return [place | {"text": text, "font": {"size": 12, "color": MUTED}, "showarrow": False}]


def _count_ticks(panel: Panel, runs: Sequence[RunCurve]) -> Figure:
    """Return the ticks of a panel of whole numbers."""
    counts = [run.column(panel.measure.column) for run in runs]
    highest = (float(n.max(initial=0.0, where=np.isfinite(n))) for n in counts)
    return whole_ticks(max(highest, default=math.inf))


def _first_view(panel: Panel, runs: Sequence[RunCurve], levels: Sequence[float]) -> Figure:
    """Return where the view that Plotly chooses ends, and how the numbers are written; all of some levels are in it.

    The first sweeps of a run, which may lie far below the rest, do not decide the view; zooming out shows them.
    """
    columns = [run.column(panel.measure.column) for run in runs]
    finite = [values[np.isfinite(values)] for values in columns]
    later = [values[start_length(len(values)) :] for values in columns]
    later = [values[np.isfinite(values)] for values in later]
    shown = [rest if len(rest) else every for rest, every in zip(later, finite, strict=True) if len(every)]
    if not shown:
        return {}
    ends = [float(end) for values in shown for end in (values.min(), values.max())]
    low, high = min([*ends, *levels]), max([*ends, *levels])
    width = high - low
    low, high = view_range(low, high)
    options: Figure = {"clipmin": low, "clipmax": high}
    if levels or high - low > 2 * width:  # by itself Plotly would blow up next to nothing, and ignore a level
        options["include"] = [low, high]
    return {
        # Not a range: one that changes at every refresh would throw away the user's zoom.
        "autorange": True,
        "autorangeoptions": options,
        "tickformat": tick_format(low, high),
    }
