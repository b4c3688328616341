"""Where the panels of the convergence figure stand, and what part of the values each shows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from acvb_core.engine.history import History
from acvb_core.views.theme import GRID, LINE, MUTED, Figure, base_layout

_ROW_HEIGHT, _GAP = 160, 56  # pixels of a row of panels, and between two for numbers and a title
_TOP, _BOTTOM = 56, 48
#: Sweeps that the first view may cut off below: a tenth of a run, five at least, never more than half.
_START_SHARE, _START_LEAST = 0.1, 5


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


def panels_for(heldout: bool) -> list[Panel]:
    """Return the panels: five, or six when some run holds entries out."""
    nats = "%{y:,.2f} nats"
    panels = [
        Panel(
            "bound", "Lower bound (nats)", "lower_bound", 1, _LEFT, 0, "left", nats, marked=True, first=True
        ),
        Panel("loo", "Pseudo leave-one-out (nats)", "pseudo_loo", 2, _RIGHT, 0, "right", nats, marked=True),
    ]
    change = "Change of q"
    rows, columns = "Row clusters", "Column clusters"
    if not heldout:
        return [
            *panels,
            Panel("change", change, "", 3, _LEFT, 1, "left"),
            Panel("k_rows", rows, "effective_k_rows", 4, _THIRD, 1, "right", "%{y}", step=True),
            Panel("k_cols", columns, "effective_k_cols", 5, _FOURTH, 1, "right", "%{y}", step=True),
        ]
    entry = "%{y:.4f} nats an entry"
    return [
        *panels,
        Panel("change", change, "", 3, _LEFT, 1, "left"),
        Panel("heldout", "Held-out log likelihood (nats an entry)", "heldout_log_likelihood", 6, _RIGHT, 1,
              "right", entry),
        Panel("k_rows", rows, "effective_k_rows", 4, _LEFT, 2, "left", "%{y}", step=True),
        Panel("k_cols", columns, "effective_k_cols", 5, _RIGHT, 2, "right", "%{y}", step=True),
    ]  # fmt: skip


def figure_layout(panels: Sequence[Panel], x: str, tolerances: Sequence[float], uirevision: str) -> Figure:
    """Return the layout without the ranges of the values."""
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
            "hoverformat": "~g" if x == "sweep" else ".2f",
            "unifiedhovertitle": {"text": "sweep %{x}" if x == "sweep" else "%{x} s of CPU"},
            **({} if panel.n == 1 else {"matches": "x"}),
        }
        if panel.row == n_rows - 1:
            name = "sweep" if x == "sweep" else "CPU seconds"
            layout[panel.x_name]["title"] = {
                "text": name,
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
                "text": f"<b>{panel.title}</b>{_note(panel)}", "font": {"size": 13}, "x": panel.x_domain[0], "y": top,
                "xref": "paper", "yref": "paper", "xanchor": "left", "yanchor": "bottom", "yshift": 4,
                "showarrow": False,
            }
        )  # fmt: skip
        if panel.key == "change":
            _mark_tolerances(layout, panel, tolerances)
        if panel.step:
            layout[panel.y_name] |= {"rangemode": "tozero", "tickformat": "d", "nticks": 5}
    return layout


def _note(panel: Panel) -> str:
    if panel.key != "change":
        return ""
    return '<span style="font-size:11px">  dotted: limit 2/s</span>'


def _mark_tolerances(layout: Figure, panel: Panel, tolerances: Sequence[float]) -> None:
    layout[panel.y_name] |= {"type": "log", "exponentformat": "power", "nticks": 5}
    for level in tolerances:
        layout["shapes"].append(
            {
                "type": "line", "xref": f"{panel.x} domain", "x0": 0, "x1": 1, "yref": panel.y, "y0": level,
                "y1": level, "line": {"color": MUTED, "dash": "dash", "width": 1.2},
                "label": {"text": f"tolerance {level:g}", "textposition": "start", "yanchor": "bottom",
                          "font": {"size": 11, "color": MUTED}},
            }
        )  # fmt: skip


def axis_ranges(panels: Sequence[Panel], histories: Sequence[History]) -> dict[str, Figure]:
    """Return, by axis, where the view that Plotly chooses ends, and how the numbers are written.

    The first sweeps of a run, which may lie far below the rest, do not decide the view; zooming out shows them.
    """
    found: dict[str, Figure] = {}
    for panel in panels:
        if panel.key == "change" or panel.step:
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


def tick_format(low: float, high: float) -> str:
    """Return the format that tells the ticks of a range apart: as many decimals as their step needs."""
    step = (high - low) / 5
    decimals = max(0, math.ceil(-math.log10(step))) if step > 0 else 0
    return f",.{min(decimals, 8)}f"
