"""Where the panels of the convergence figure stand, and what part of the values each shows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from acvb_core.core.display import LOO_NATS, Measure
from acvb_core.registry import model_row
from acvb_core.views.curve_columns import Table
from acvb_core.views.measures import LEARNED, NO_STREAM, X_AXES, Streaming
from acvb_core.views.theme import GRID, LINE, MUTED, Figure, base_layout

_ROW_HEIGHT, _GAP = 160, 56  # pixels of a row of panels, and between two for numbers and a title
_TOP, _BOTTOM = 56, 48
#: Sweeps that the first view may cut off below: a tenth of a run, five at least, never more than half.
_START_SHARE, _START_LEAST = 0.1, 5
#: Changes below this are none: what a run whose every bit has settled tells would squash all others.
_NO_CHANGE = 1e-9
#: A count up to which every whole number has its tick.
_FEW = 5


@dataclass(frozen=True)
class Panel:
    """One panel.

    Attributes
    ----------
    key, title : str
    column : str
        Of the history; empty for the changes, which draw several.
    n : int
        Number of its axes.
    x_domain : (float, float)
    row : int
        From the top.
    side : "left" or "right"
        Where the numbers stand.
    hover : str
    marked : bool
        Show where the burn-in ended.
    step : bool
        Whole numbers: draw steps.
    first : bool
        Its curves stand in the legend.
    """

    key: str
    title: str
    column: str
    n: int
    x_domain: tuple[float, float]
    row: int
    side: str
    hover: str = "%{y}"
    marked: bool = False
    step: bool = False
    first: bool = False

    @property
    def x(self) -> str:
        """Reference of the x axis: x, x2, …"""
        return f"x{self.n if self.n > 1 else ''}"

    @property
    def y(self) -> str:
        """Reference of the y axis."""
        return f"y{self.n if self.n > 1 else ''}"

    @property
    def x_name(self) -> str:
        """Name of the x axis in a layout."""
        return f"xaxis{self.n if self.n > 1 else ''}"

    @property
    def y_name(self) -> str:
        """Name of the y axis in a layout."""
        return f"yaxis{self.n if self.n > 1 else ''}"


# Numbers stand left of the left column and right of the right one, so that long ones never meet in the middle.
_LEFT, _RIGHT = (0.0, 0.48), (0.52, 1.0)
_THIRD, _FOURTH = (0.52, 0.735), (0.785, 1.0)
_WHOLE = (0.0, 1.0)


def panels_for(
    model: str,
    histories: Sequence[Table],
    *,
    heldout: bool,
    learns: bool | None = None,
    streams: Streaming = NO_STREAM,
) -> list[Panel]:
    """Return the panels of a model's runs.

    Parameters
    ----------
    model : str
        Name in the registry.
    histories : sequence of History or Columns
        Of the runs. What is known of them so far decides between measures of one thing.
    heldout : bool
        Some run holds something out.
    learns : bool, optional
        Some run learns its concentrations; by default judged from whether they ever changed.
    streams : Streaming
    """
    chosen = []
    for measure in model_row(model).display.measures:
        if measure.key == "heldout" and not heldout:
            continue
        # A stream has no bound, and learns no beta.
        if (measure.key == "speed" and not streams.some) or (measure.key == "bound" and streams.all):
            continue
        told = None if measure.key == "beta" and streams.all else learns
        if measure.key in LEARNED and not (_varies(histories, measure.column) if told is None else told):
            continue
        if measure.column == "loo_perplexity" and not _known(histories, "loo_perplexity"):
            # Methods that know it at every sweep tell the sum in nats before the first perplexity.
            measure = LOO_NATS if _known(histories, "pseudo_loo") else measure
        chosen.append(streams.measure(measure))
    return _placed(chosen)


def _known(histories: Sequence[Table], column: str) -> bool:
    return any(bool(np.isfinite(history.column(column)).any()) for history in histories)


def _varies(histories: Sequence[Table], column: str) -> bool:
    found = (history.column(column) for history in histories)
    return any(len(np.unique(values[np.isfinite(values)])) > 1 for values in found)


def _placed(measures: Sequence[Measure]) -> list[Panel]:
    """Place measures two a row; of an odd number the last two share a place where small, else the last is wide."""
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
        panels.append(
            Panel(
                measure.key, measure.title, measure.column, measure.n, domain, row, side, measure.hover,
                measure.marked, measure.step, at == 0,
            )
        )  # fmt: skip
    return panels


def figure_layout(
    panels: Sequence[Panel],
    x: str,
    tolerances: Sequence[float],
    uirevision: str,
    streams: Streaming = NO_STREAM,
    averaged: bool = True,
) -> Figure:
    """Return the layout without the ranges of the values; `averaged`: some run is, and has a limit to its change."""
    x_title, x_hover, x_format = X_AXES[x]
    if x == "sweep":
        x_title, x_hover = (text.replace("sweep", streams.sweep) for text in (x_title, x_hover))
    n_rows = 1 + max(panel.row for panel in panels)
    plot = n_rows * _ROW_HEIGHT + (n_rows - 1) * _GAP
    height = _TOP + _BOTTOM + plot
    layout = base_layout(
        height,
        margin={"l": 82, "r": 82, "t": _TOP, "b": _BOTTOM},
        uirevision=uirevision,
        hovermode="x unified",
        legend={
            "orientation": "h", "x": 0, "xanchor": "left", "y": 1 + 30 / plot, "yanchor": "bottom",
            "groupclick": "togglegroup", "font": {"size": 12}, "itemwidth": 40,
        },
        shapes=[],
        annotations=[],
    )  # fmt: skip
    for panel in panels:
        top = 1 - panel.row * (_ROW_HEIGHT + _GAP) / plot
        bottom = max(top - _ROW_HEIGHT / plot, 0.0)
        narrow = panel.x_domain[1] - panel.x_domain[0] < 0.3
        layout[panel.x_name] = {
            "domain": list(panel.x_domain),
            "anchor": panel.y,
            "rangemode": "nonnegative",
            "showgrid": False,
            "zeroline": False,
            "showline": True,
            "linecolor": LINE,
            "ticks": "outside",
            "tickcolor": LINE,
            "ticklen": 4,
            "tickfont": {"size": 11},
            "nticks": 4 if narrow else 6,
            "hoverformat": x_format,
            "unifiedhovertitle": {"text": x_hover},
            **({} if panel is panels[0] else {"matches": panels[0].x}),
        }
        if panel.row == n_rows - 1:
            layout[panel.x_name]["title"] = {
                "text": x_title,
                "font": {"size": 12, "color": MUTED},
                "standoff": 4,
            }
        layout[panel.y_name] = {
            "domain": [bottom, top],
            "anchor": panel.x,
            "side": panel.side,
            "gridcolor": GRID,
            "zeroline": False,
            "nticks": 6,
            "tickfont": {"size": 11},
        }
        layout["annotations"].append(
            {
                "text": f"<b>{panel.title}</b>{_note(panel, averaged)}", "font": {"size": 13},
                "x": panel.x_domain[0], "y": top, "xref": "paper", "yref": "paper", "xanchor": "left",
                "yanchor": "bottom", "yshift": 4, "showarrow": False,
            }
        )  # fmt: skip
        if panel.key == "change":
            _mark_tolerances(layout, panel, tolerances)
        if panel.step:
            layout[panel.y_name] |= {"rangemode": "tozero", "tickformat": "d", "nticks": 5}
    return layout


def _note(panel: Panel, averaged: bool) -> str:
    """Return what the dotted lines are, where there are any: only averaged runs have one."""
    if panel.key != "change" or not averaged:
        return ""
    return '<span style="font-size:11px">  dotted: limit 2/s</span>'


def _mark_tolerances(layout: Figure, panel: Panel, tolerances: Sequence[float]) -> None:
    # With five, an axis of little more than one decade has a label for each digit.
    layout[panel.y_name] |= {"type": "log", "exponentformat": "power", "nticks": 4}
    layout[panel.y_name]["autorangeoptions"] = {"clipmin": min([_NO_CHANGE, *tolerances])}
    for level in tolerances:
        layout["shapes"].append(
            {
                "type": "line", "xref": f"{panel.x} domain", "x0": 0, "x1": 1, "yref": panel.y, "y0": level,
                "y1": level, "line": {"color": MUTED, "dash": "dash", "width": 1.2},
                "label": {"text": f"tolerance {level:g}", "textposition": "start", "yanchor": "bottom",
                          "font": {"size": 11, "color": MUTED}},
            }
        )  # fmt: skip


def axis_ranges(panels: Sequence[Panel], histories: Sequence[Table]) -> dict[str, Figure]:
    """Return, by axis, where the view that Plotly chooses ends, and how the numbers are written.

    The first sweeps of a run, which may lie far below the rest, do not decide the view; zooming out shows them.
    """
    found: dict[str, Figure] = {}
    for panel in panels:
        if panel.key == "change":
            continue
        if panel.step:
            counts = [history.column(panel.column) for history in histories]
            highest = (float(n.max(initial=0.0, where=np.isfinite(n))) for n in counts)
            found[panel.y_name] = whole_ticks(max(highest, default=math.inf))
            continue
        lows, highs = [], []
        for history in histories:
            values = history.column(panel.column)
            settled = values[starting(len(values)) :]
            settled = settled[np.isfinite(settled)]
            if not len(settled):
                settled = values[np.isfinite(values)]
            if len(settled):
                lows.append(float(settled.min()))
                highs.append(float(settled.max()))
        if lows:
            low, high = min(lows), max(highs)
            pad = 0.06 * (high - low) or max(abs(high) * 1e-6, 1e-9)
            found[panel.y_name] = {
                # Not a range: one that changes at every refresh would throw away the user's zoom.
                "autorange": True,
                "autorangeoptions": {"clipmin": low - pad, "clipmax": high + pad},
                "tickformat": tick_format(low - pad, high + pad),
            }
    return found


def starting(n: int) -> int:
    """Return how many of the first of a run's `n` sweeps the first view may leave out."""
    return min(max(_START_LEAST, math.ceil(_START_SHARE * n)), n // 2)


def whole_ticks(high: float) -> Figure:
    """Return the ticks of a count up to `high`: where there are few, Plotly's own lie between whole numbers as well."""
    return {"tick0": 0, "dtick": 1} if high <= _FEW else {}


def tick_format(low: float, high: float) -> str:
    """Return the format that tells the ticks of a range apart: as many decimals as their step needs."""
    step = (high - low) / 5
    decimals = max(0, math.ceil(-math.log10(step))) if step > 0 else 0
    return f",.{min(decimals, 8)}f"
