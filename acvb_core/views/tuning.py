"""A search for the best steps: what each trial came to, and how that goes with every parameter."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
import pandas as pd

from acvb_core.core.display import write_number
from acvb_core.views.axes import axis_title, level_line, panel_axes, panel_title, tick_format
from acvb_core.views.theme import BORDER, MUTED, Figure, base_layout, escape, rgba

_COLOUR = "#0072B2"
_TOP, _BOTTOM = 40, 48  # pixels: above for a title, below for the numbers and the name of the axis
_TRIALS_HEIGHT, _PANEL_HEIGHT, _GAP = 200, 140, 78
_PER_ROW = 3
_BETWEEN = 0.08  # share of the width between two panels
#: Ratio of the worst to the best perplexity from which the axis is logarithmic.
_WIDE = 3.0
#: Ratio of the largest to the smallest value of a parameter from which only powers of ten are labelled.
_MANY_DECADES = 150.0
#: Columns of `Tuning.table` that are no parameters.
_OTHERS = ("trial", "perplexity", "best", "cpu_seconds", "verdict")
#: Words for the verdicts of trials without a perplexity.
_ENDINGS = {"DIVERGED": "diverged", "FAILED": "failed"}


def tuning_figure(
    table: pd.DataFrame,
    *,
    labels: Mapping[str, str] | None = None,
    log: Collection[str] = (),
    uirevision: str = "",
) -> Figure:
    """Return the perplexity of each trial above, and below a panel for each parameter: its value and the perplexity.

    The best trial is ringed, that of the defaults a diamond with a dashed line at its height, and a cross at the top
    a trial without a perplexity.

    `table`: `Tuning.table`.
    `labels`: what parameters are called.
    `log`: parameters that are drawn on a logarithmic scale.
    `uirevision`: as long as it is the same, what the user zoomed stays.
    """
    names = [name for name in table.columns if name not in _OTHERS]
    known = table["perplexity"].to_numpy(dtype=np.float64)
    known = known[np.isfinite(known)]
    wide = len(known) > 0 and bool(known.max() >= _WIDE * known.min())
    per_row = {1: 1, 2: 2, 4: 2}.get(len(names), _PER_ROW)
    n_rows = -(-len(names) // per_row)
    plot = _TRIALS_HEIGHT + n_rows * (_PANEL_HEIGHT + _GAP)
    layout = base_layout(
        _TOP + plot + _BOTTOM,
        margin={"l": 66, "r": 18, "t": _TOP, "b": _BOTTOM},
        showlegend=False,
        hovermode="closest",
        uirevision=uirevision,
        shapes=[],
        annotations=[],
    )
    crosses = float(known.max()) if len(known) else 1.0  # as high as the worst trial with a perplexity
    data = [_best_so_far(table), *_points(table, "trial", "", "trial %{x}", crosses)]
    _add_axes(layout, "", (0.0, 1.0), (1 - _TRIALS_HEIGHT / plot, 1.0), "trial")
    layout["annotations"].append(panel_title("Held-out perplexity (lower is better)", _note(table), 0.0, 1.0))
    # Room for ten. Not a range: one that changes at every refresh would throw away the user's zoom.
    layout["xaxis"] |= {"tickformat": "d", "autorange": True, "autorangeoptions": {"include": [0.5, 10.5]}}
    width = (1 - _BETWEEN * (per_row - 1)) / per_row
    for at, name in enumerate(names):
        row, column = divmod(at, per_row)
        top = 1 - (_TRIALS_HEIGHT + _GAP + row * (_PANEL_HEIGHT + _GAP)) / plot
        left = column * (width + _BETWEEN)
        label = escape((labels or {}).get(name, name), 40)
        number = str(at + 2)
        shown = table[table[name] > 0] if name in log else table
        data += _points(shown, name, number, f"trial %{{customdata}}<br>{label} %{{x:.4~g}}", crosses)
        domain = (left, min(left + width, 1.0))
        _add_axes(layout, number, domain, (max(top - _PANEL_HEIGHT / plot, 0.0), top), label)
        layout[f"yaxis{number}"] |= {"matches": "y"} | ({} if column == 0 else {"showticklabels": False})
        if name in log:
            scale = {"type": "log", "nticks": 5, "tickformat": "~g"}
            layout[f"xaxis{number}"] |= scale | _decade_ticks(shown[name])
    if len(known):
        low, high = float(known.min()), float(known.max())
        scale = {"type": "log", "tickformat": ",~g"} if wide else {"tickformat": tick_format(low, high)}
        numbers = ["", *(str(at + 2) for at in range(len(names)))]
        defaults = float(table["perplexity"].iloc[0])
        for number in numbers:
            layout[f"yaxis{number}"] |= scale
            if np.isfinite(defaults):
                text = "" if number else "the defaults"
                line = level_line(number, defaults, text, position="end")
                layout["shapes"].append(line | {"layer": "below"})
    return {"data": data, "layout": layout}


def _note(table: pd.DataFrame) -> str:
    """Return the best perplexity, and how far below that of the defaults it is; "" before there is one."""
    best, first = table["best"].to_numpy(dtype=np.float64), table["perplexity"].to_numpy(dtype=np.float64)
    if not len(best) or not np.isfinite(best[-1]):
        return ""
    note = f"best {write_number(best[-1])}"
    if best[-1] == first[0]:
        note += ", that of the defaults"
    elif np.isfinite(first[0]):
        note += f", {1 - best[-1] / first[0]:.1%} below the defaults"
    return note


def _decade_ticks(values: pd.Series) -> Figure:
    """Return ticks at powers of ten only, if a narrow panel has no room for 2 and 5 between them as well."""
    many = len(values) > 0 and float(values.max()) > _MANY_DECADES * float(values.min())
    return {"dtick": 1} if many else {}


def _best_so_far(table: pd.DataFrame) -> Figure:
    """Return the best so far, as steps."""
    shown = table[np.isfinite(table["best"])]
    return {
        "type": "scatter",
        "mode": "lines",
        "x": shown["trial"].tolist(),
        "y": shown["best"].tolist(),
        "line": {"color": _COLOUR, "width": 2, "shape": "hv"},
        "uid": "best-so-far",
        "xaxis": "x",
        "yaxis": "y",
        "hovertemplate": "after trial %{x}<br>best so far %{y:,.1f}<extra></extra>",
    }


def _points(table: pd.DataFrame, column: str, number: str, hover: str, crosses: float) -> list[Figure]:
    """Return the trials of a panel: points, the defaults, those without a perplexity, the best."""
    finite = np.isfinite(table["perplexity"].to_numpy(dtype=np.float64))
    first = table["trial"].to_numpy() == 1
    best = finite & (np.arange(len(table)) == _best_row(table))
    hover = f"{hover}<br>perplexity %{{y:,.1f}}<extra></extra>"
    plain = {"color": rgba(_COLOUR, 0.55), "size": 7}
    diamond = {"color": MUTED, "size": 10, "symbol": "diamond"}
    cross = {"color": MUTED, "size": 8, "symbol": "x-thin", "line": {"width": 1.5, "color": MUTED}}
    ring = {"symbol": "circle-open", "size": 15, "color": BORDER, "line": {"width": 2.5}}
    kinds = (
        ("trials", finite & ~first, plain, hover),
        ("default", finite & first, diamond, f"the defaults, {hover}"),
        ("lost", ~finite, cross, f"{hover.split('<br>perplexity')[0]}<br>%{{text}}<extra></extra>"),
        ("best", best, ring, f"the best, {hover}"),
    )
    traces: list[Figure] = []
    for kind, chosen, marker, text in kinds:
        rows = table[chosen]
        y = rows["perplexity"].tolist() if kind != "lost" else [crosses] * len(rows)
        points = {"x": rows[column].tolist(), "y": y, "xaxis": f"x{number}", "yaxis": f"y{number}"}
        points |= {"type": "scatter", "mode": "markers", "marker": marker, "uid": f"{column}-{kind}"}
        endings = [_ENDINGS.get(verdict, "no perplexity") for verdict in rows["verdict"]]
        hovers = {"customdata": rows["trial"].tolist(), "text": endings, "hovertemplate": text}
        traces.append(points | hovers)
    return traces


def _best_row(table: pd.DataFrame) -> int:
    """Return the place of the best trial, -1 if no trial has a perplexity."""
    values = table["perplexity"].to_numpy(dtype=np.float64)
    return int(np.nanargmin(values)) if np.isfinite(values).any() else -1


def _add_axes(
    layout: Figure, number: str, x: tuple[float, float], y: tuple[float, float], title: str
) -> None:
    """Add the axes of a panel to a layout."""
    x_axis, y_axis = panel_axes(number, x, y)
    layout[f"xaxis{number}"] = x_axis | {"title": axis_title(title)}
    layout[f"yaxis{number}"] = y_axis | {"nticks": 5}
