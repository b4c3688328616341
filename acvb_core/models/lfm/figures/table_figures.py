"""A table at a glance: how much is missing, and how the values of each column lie."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from acvb_core.data.table import Table
from acvb_core.models.lfm.figures.feature_words import (
    axis_names,
    axis_title,
    figure_title,
    nothing_figure,
    subtitle,
    value_text,
)
from acvb_core.views.theme import GRID, LINE, MUTED, TEXT, Figure, base_layout, escape, percent

Floats = NDArray[np.float64]
Along = Literal["columns", "rows"]

_COLOUR = "#0072B2"
_TOP = 36
_SHARES = 20  # bars of the histogram of missing shares
_BINS, _ACROSS, _TILE, _GAP = 24, 6, 112, 0.14


def missing_share_figure(table: Table, along: Along = "columns", *, height: int = 220) -> Figure:
    """Return how many columns (or rows) miss how much: those that miss nothing, then steps of 5 %.

    Parameters
    ----------
    table : Table
    along : "columns" or "rows"
    height : int
    """
    missing = (~table.observed).sum(axis=0 if along == "columns" else 1)
    of = table.n_rows if along == "columns" else table.n_columns
    names = table.columns if along == "columns" else table.rows
    heading = f"<b>Missing cells by {along[:-1]}</b>"
    if not missing.any():
        return nothing_figure("No cell is missing.", heading=heading, height=120)
    # Whole numbers, so that a share on a border falls where it belongs: (0, 5 %], (5 %, 10 %], …
    place = -(-missing * _SHARES // of)
    counts = np.bincount(place, minlength=_SHARES + 1)
    hover = []
    for i, count in enumerate(counts.tolist()):
        who = np.flatnonzero(place == i)
        some = "<br>".join(f"{escape(names[j], 40)}: {percent(missing[j] / of)}" for j in who[:8])
        what = "nothing missing" if i == 0 else f"{_step(i - 1)} to {_step(i)} % missing"
        more = f"<br>… and {count - 8:,} more" if count > 8 else ""
        hover.append(
            f"<b>{what}</b><br>{count:,} {along if count != 1 else along[:-1]}"
            + (f"<br>{some}{more}" if i else "")
        )
    bar = {
        "type": "bar",
        "x": list(range(_SHARES + 1)),
        "y": counts.tolist(),
        "marker": {"color": [LINE] + [_COLOUR] * _SHARES},
        "hovertext": hover,
        "hovertemplate": "%{hovertext}<extra></extra>",
        "uid": f"missing-{along}",
    }
    told = f" · {percent(table.n_missing / table.values.size)} of all cells, at most {percent(missing.max() / of)}"
    ticks = [0, 4, 8, 12, 16, 20]
    layout = base_layout(
        height,
        margin={"l": 56, "r": 14, "t": _TOP, "b": 46},
        showlegend=False,
        bargap=0.15,
        title=figure_title(heading + subtitle(f"{told} of a {along[:-1]}")),
        xaxis={
            "range": [-0.6, _SHARES + 0.6], "showgrid": False, "zeroline": False, "linecolor": LINE, "tickangle": 0,
            "tickvals": ticks, "ticktext": ["none", *(f"≤ {_step(t)} %" for t in ticks[1:])],
            "title": axis_title("share missing"),
        },
        yaxis={"gridcolor": GRID, "zeroline": False, "rangemode": "tozero", "nticks": 5, "tickformat": ",d",
               "title": axis_title(along)},
    )  # fmt: skip
    return {"data": [bar], "layout": layout}


def _step(i: int) -> str:
    return f"{100 * i // _SHARES}"


def distributions_figure(table: Table, *, n: int = 36, columns: ArrayLike | None = None) -> Figure:
    """Return a small histogram of the known values of each column, with its smallest and largest value below.

    Parameters
    ----------
    table : Table
    n : int
        Most columns; the title counts the rest.
    columns : int array, optional
        Which columns, in which order; by default the table's first.
    """
    chosen = np.arange(table.n_columns) if columns is None else np.asarray(columns, dtype=np.int64)
    kept = chosen[:n]
    x, y, base, width, hover, words = [], [], [], [], [], []
    names = axis_names([str(table.columns[j]) for j in kept], 13)
    for i, j in enumerate(kept.tolist()):
        left, foot = i % _ACROSS * (1 + _GAP), i // _ACROSS * 1.45 + 1.2
        counts, lows, highs = value_histogram(table.values[:, j])
        step = 1.0 / len(counts)
        top = max(int(counts.max()), 1)
        name = escape(table.columns[j], 60)
        for b, count in enumerate(counts.tolist()):
            x.append(left + (b + 0.5) * step)
            y.append(-0.9 * count / top)
            base.append(foot)
            width.append(step)
            span = value_text(lows[b]) + ("" if lows[b] == highs[b] else f" to {value_text(highs[b])}")
            hover.append(f"<b>{name}</b><br>{span}: {count:,} row{'' if count == 1 else 's'}")
        words += [
            (left, foot - 0.95, names[i], 11, TEXT, "top right"),
            (left, foot + 0.05, value_text(lows[0]), 10, MUTED, "bottom right"),
            (left + 1, foot + 0.05, value_text(highs[-1]), 10, MUTED, "bottom left"),
        ]
    rows = max(1, -(-len(kept) // _ACROSS))
    bars = {
        "type": "bar", "x": x, "y": y, "base": base, "width": width, "hovertext": hover, "uid": "distributions",
        "hovertemplate": "%{hovertext}<extra></extra>", "marker": {"color": _COLOUR, "line": {"width": 0}},
    }  # fmt: skip
    told = f" · the first {len(kept)} of {len(chosen):,}" if len(kept) < len(chosen) else ""
    layout = base_layout(
        _TOP + round(rows * 1.45 * _TILE) + 8,
        margin={"l": 8, "r": 8, "t": _TOP, "b": 8},
        showlegend=False,
        title=figure_title(f"<b>Values of the columns</b>{subtitle(told)}"),
        xaxis={"visible": False, "range": [-0.02, _ACROSS * (1 + _GAP) - _GAP + 0.02]},
        yaxis={"visible": False, "range": [rows * 1.45, 0]},
    )
    return {"data": [bars, *_texts(words)], "layout": layout}


def value_histogram(values: ArrayLike) -> tuple[NDArray[np.int64], Floats, Floats]:
    """Return the bars of the known values: counts, and the first and the last value of each.

    Few whole numbers have a bar each, of which the first and the last value are the same.
    """
    known = np.asarray(values, dtype=np.float64)
    known = known[np.isfinite(known)]
    if not len(known):
        return np.zeros(1, dtype=np.int64), np.full(1, np.nan), np.full(1, np.nan)
    low, high = float(known.min()), float(known.max())
    if high - low < _BINS and bool((known == np.round(known)).all()):
        each = np.arange(low, high + 1)
        return np.bincount((known - low).astype(np.int64), minlength=len(each)).astype(np.int64), each, each
    edges = np.linspace(low, high, _BINS + 1)
    return np.histogram(known, edges)[0].astype(np.int64), edges[:-1], edges[1:]


def _texts(words: list[tuple[float, float, str, int, str, str]]) -> list[Figure]:
    """Return one trace for each kind of text."""
    return [
        {
            "type": "scatter", "mode": "text", "x": [w[0] for w in words[k::3]], "y": [w[1] for w in words[k::3]],
            "text": [w[2] for w in words[k::3]], "textposition": words[k][5], "cliponaxis": False,
            "textfont": {"size": words[k][3], "color": words[k][4]}, "hoverinfo": "skip", "uid": f"words-{k}",
        }
        for k in range(3 if words else 0)
    ]  # fmt: skip
