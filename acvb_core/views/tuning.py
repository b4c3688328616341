"""A search for the best steps: what each trial came to, and how that goes with every parameter."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from acvb_core.views.panels import tick_format
from acvb_core.views.theme import BORDER, GRID, LINE, MUTED, Figure, base_layout, escape, rgba

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

    Parameters
    ----------
    table : DataFrame
        `Tuning.table`.
    labels : mapping of str to str, optional
        What parameters are called.
    log : collection of str
        Parameters that are drawn on a logarithmic scale.
    uirevision : str
        As long as it is the same, what the user zoomed stays.
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
    crosses = _crosses_at(known)
    data = [*_progress(table), *_points(table, "trial", 1, "trial %{x}", crosses)]
    _place(layout, 1, (0.0, 1.0), (1 - _TRIALS_HEIGHT / plot, 1.0), _title(table), "trial")
    # Room for ten. Not a range: one that changes at every refresh would throw away the user's zoom.
    layout["xaxis"] |= {"tickformat": "d", "autorange": True, "autorangeoptions": {"include": [0.5, 10.5]}}
    width = (1 - _BETWEEN * (per_row - 1)) / per_row
    for at, name in enumerate(names):
        row, column = divmod(at, per_row)
        top = 1 - (_TRIALS_HEIGHT + _GAP + row * (_PANEL_HEIGHT + _GAP)) / plot
        left = column * (width + _BETWEEN)
        label = escape((labels or {}).get(name, name), 40)
        shown = table[table[name] > 0] if name in log else table
        data += _points(shown, name, at + 2, f"trial %{{customdata}}<br>{label} %{{x:.4~g}}", crosses)
        domain = (left, min(left + width, 1.0))
        _place(layout, at + 2, domain, (max(top - _PANEL_HEIGHT / plot, 0.0), top), None, label)
        layout[f"yaxis{at + 2}"] |= {"matches": "y"} | ({} if column == 0 else {"showticklabels": False})
        if name in log:
            layout[f"xaxis{at + 2}"] |= {"type": "log", "nticks": 5, "tickformat": "~g"} | _decades(
                shown[name]
            )
    if len(known):
        low, high = float(known.min()), float(known.max())
        scale = {"type": "log", "tickformat": ",~g"} if wide else {"tickformat": tick_format(low, high)}
        for n in range(1, len(names) + 2):
            layout[f"yaxis{n if n > 1 else ''}"] |= scale
        _mark_default(layout, table, len(names) + 1)
    return {"data": data, "layout": layout}


def _title(table: pd.DataFrame) -> str:
    title = "Held-out perplexity (lower is better)"
    best, first = table["best"].to_numpy(dtype=np.float64), table["perplexity"].to_numpy(dtype=np.float64)
    if not len(best) or not np.isfinite(best[-1]):
        return f"<b>{title}</b>"
    note = f"best {best[-1]:,.1f}"
    if best[-1] == first[0]:
        note += ", that of the defaults"
    elif np.isfinite(first[0]):
        note += f", {1 - best[-1] / first[0]:.1%} below the defaults"
    return f'<b>{title}</b><span style="font-size:11px">  {note}</span>'


def _decades(values: pd.Series) -> Figure:
    """Return what labels powers of ten only, where narrow panels have no room for 2 and 5 between them as well."""
    many = len(values) > 0 and float(values.max()) > _MANY_DECADES * float(values.min())
    return {"dtick": 1} if many else {}


def _crosses_at(known: NDArray[np.float64]) -> float:
    """Return how high trials without a perplexity are drawn: as high as the worst that has one."""
    return float(known.max()) if len(known) else 1.0


def _progress(table: pd.DataFrame) -> list[Figure]:
    """Return the best so far, as steps."""
    shown = table[np.isfinite(table["best"])]
    return [
        {
            "type": "scatter", "mode": "lines", "x": shown["trial"].tolist(), "y": shown["best"].tolist(),
            "line": {"color": _COLOUR, "width": 2, "shape": "hv"}, "uid": "best-so-far", "xaxis": "x", "yaxis": "y",
            "hovertemplate": "after trial %{x}<br>best so far %{y:,.1f}<extra></extra>",
        }
    ]  # fmt: skip


def _points(table: pd.DataFrame, column: str, n: int, hover: str, crosses: float) -> list[Figure]:
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
    traces = []
    for kind, chosen, marker, text in kinds:
        rows = table[chosen]
        y = rows["perplexity"].tolist() if kind != "lost" else [crosses] * len(rows)
        traces.append(
            {
                "type": "scatter", "mode": "markers", "x": rows[column].tolist(), "y": y, "marker": marker,
                "customdata": rows["trial"].tolist(), "text": [_ended(one) for one in rows["verdict"]],
                "hovertemplate": text, "uid": f"{column}-{kind}", "xaxis": _axis("x", n), "yaxis": _axis("y", n),
            }
        )  # fmt: skip
    return traces


def _best_row(table: pd.DataFrame) -> int:
    values = table["perplexity"].to_numpy(dtype=np.float64)
    return int(np.nanargmin(values)) if np.isfinite(values).any() else -1


def _ended(verdict: str) -> str:
    return {"DIVERGED": "diverged", "FAILED": "failed"}.get(verdict, "no perplexity")


def _axis(letter: str, n: int) -> str:
    return f"{letter}{n if n > 1 else ''}"


def _place(
    layout: Figure, n: int, x: tuple[float, float], y: tuple[float, float], title: str | None, name: str
) -> None:
    """Add the axes of a panel."""
    suffix = str(n) if n > 1 else ""
    layout[f"xaxis{suffix}"] = {
        "domain": list(x), "anchor": _axis("y", n), "showgrid": False, "zeroline": False, "showline": True,
        "linecolor": LINE, "ticks": "outside", "tickcolor": LINE, "ticklen": 4, "tickfont": {"size": 11}, "nticks": 6,
        "title": {"text": name, "font": {"size": 12, "color": MUTED}, "standoff": 4},
    }  # fmt: skip
    layout[f"yaxis{suffix}"] = {
        "domain": list(y), "anchor": _axis("x", n), "gridcolor": GRID, "zeroline": False, "nticks": 5,
        "tickfont": {"size": 11},
    }  # fmt: skip
    if title is not None:
        layout["annotations"].append(
            {
                "text": title, "font": {"size": 13}, "x": x[0], "y": y[1], "xref": "paper", "yref": "paper",
                "xanchor": "left", "yanchor": "bottom", "yshift": 4, "showarrow": False,
            }
        )  # fmt: skip


def _mark_default(layout: Figure, table: pd.DataFrame, n_panels: int) -> None:
    """Draw a line at the perplexity of the defaults in every panel, and say what it is in the first."""
    level = float(table["perplexity"].iloc[0])
    if not np.isfinite(level):
        return
    for n in range(1, n_panels + 1):
        line = {
            "type": "line", "xref": f"{_axis('x', n)} domain", "x0": 0, "x1": 1, "yref": _axis("y", n), "y0": level,
            "y1": level, "line": {"color": MUTED, "dash": "dash", "width": 1.2}, "layer": "below",
        }  # fmt: skip
        if n == 1:
            line["label"] = {"text": "the defaults", "textposition": "end", "yanchor": "bottom",
                             "font": {"size": 11, "color": MUTED}}  # fmt: skip
        layout["shapes"].append(line)
