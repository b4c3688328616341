"""Axes of figures with several panels: their look, titles, marked levels, and ticks that differ from each other."""

from __future__ import annotations

import math
from typing import Any

from acvb_core.views.theme import GRID, LINE, MUTED, Figure

#: Sweeps that the first view may leave out below: a tenth of a run, five at least, never more than half.
_START_SHARE, _START_LEAST = 0.1, 5
#: Room beside the values of a view: a share of their range; of one value alone, a share of the value.
_ROOM, _ROOM_OF_ONE = 0.06, 0.05
#: A count up to which every whole number has its tick.
_FEW = 5


def panel_axes(
    number: str, x_domain: tuple[float, float], y_domain: tuple[float, float]
) -> tuple[Figure, Figure]:
    """Return the x and the y axis of one panel.

    `number`: suffix of their names: "", "2", "3", ….
    `x_domain`, `y_domain`: shares of the width and height.
    """
    common = {"zeroline": False, "nticks": 6, "tickfont": {"size": 11}}
    x_axis = {
        "domain": list(x_domain),
        "anchor": f"y{number}",
        "showgrid": False,
        "showline": True,
        "linecolor": LINE,
        "ticks": "outside",
        "tickcolor": LINE,
        "ticklen": 4,
    }
    y_axis = {"domain": list(y_domain), "anchor": f"x{number}", "gridcolor": GRID}
    return x_axis | common, y_axis | common


def axis_title(text: str) -> Figure:
    """Return the title of an axis."""
    return {"text": text, "font": {"size": 12, "color": MUTED}, "standoff": 4}


def paper_note(text: str, x: float, y: float, **more: Any) -> Figure:
    """Return small text at a share of the width and height, its upper left corner there, as an annotation."""
    place = {"x": x, "y": y, "xref": "paper", "yref": "paper", "xanchor": "left", "yanchor": "top"}
    return {"text": text, "showarrow": False, "font": {"size": 11, "color": MUTED}, **place, **more}


def panel_title(title: str, note: str, x: float, y: float) -> Figure:
    """Return the title above a panel, with a note in smaller letters, as an annotation."""
    small = f'<span style="font-size:11px">  {note}</span>' if note else ""
    return paper_note(f"<b>{title}</b>{small}", x, y, yanchor="bottom", yshift=4, font={"size": 13})


def level_line(number: str, level: float, text: str = "", *, position: str = "start") -> Figure:
    """Return a dashed line at one value across a panel, as a shape, with a text above it."""
    line: Figure = {"type": "line", "xref": f"x{number} domain", "x0": 0, "x1": 1, "yref": f"y{number}"}
    line |= {"y0": level, "y1": level, "line": {"color": MUTED, "dash": "dash", "width": 1.2}}
    if text:
        font = {"size": 11, "color": MUTED}
        # The numbers of the axis end where the line starts.
        shown = f"\N{EN SPACE}{text}" if position == "start" else text
        line["label"] = {"text": shown, "textposition": position, "yanchor": "bottom", "font": font}
    return line


def start_length(n: int) -> int:
    """Return how many of the first of a run's `n` sweeps the first view may leave out."""
    return min(max(_START_LEAST, math.ceil(_START_SHARE * n)), n // 2)


def whole_ticks(high: float) -> Figure:
    """Return the ticks of a count up to `high`: of a small count, Plotly's own also lie between whole numbers."""
    return {"tick0": 0, "dtick": 1} if high <= _FEW else {}


def view_range(low: float, high: float) -> tuple[float, float]:
    """Return the range that shows values from `low` to `high`, with some room.

    It is wide enough for ticks of four significant digits, or whole numbers, to differ: changes far behind the decimal
    point would blow up to the height of the panel.
    """
    size, width = max(abs(low), abs(high)), high - low
    if width <= 1e-9 * size:
        room = _ROOM_OF_ONE * size or 1.0
    else:
        least = 6 * min(10.0 ** (math.floor(math.log10(size)) - 3), 1.0)
        room = max(_ROOM * width, (least - width) / 2)
    return low - room, high + room


def tick_format(low: float, high: float) -> str:
    """Return a format that distinguishes the ticks of a range: as many decimals as their step needs."""
    step = (high - low) / 5
    decimals = max(0, math.ceil(-math.log10(step))) if step > 0 else 0
    return f",.{min(decimals, 8)}f"
