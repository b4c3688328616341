"""Missing cells of a table, and the distributions of its columns."""

from __future__ import annotations

from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from acvb_core.data.table import Table
from acvb_core.models.lfm.figures.feature_words import (
    axis_names,
    bare_axis,
    figure_title,
    hover_texts,
    name_ticks,
    nothing_figure,
    value_axis,
    value_text,
)
from acvb_core.models.lfm.figures.pictures import MISSING, Colours, layout_image, text_trace
from acvb_core.views.axes import axis_title
from acvb_core.views.heat_map import hover_grid
from acvb_core.views.labels import text_room
from acvb_core.views.theme import INK, LINE, MUTED, TEXT, Figure, base_layout, escape, percent

Floats = NDArray[np.float64]
Along = Literal["columns", "rows"]

_COLOUR = "#0072B2"
_TOP = 36
_SHARES = 20  # bars of the histogram of missing shares
_BINS, _ACROSS, _TILE, _GAP = 24, 6, 112, 0.14
#: Pixels of a map of missing cells, its texts under the pointer, and most columns with names, a side.
_PIXELS, _HOVER, _NAMED = 800, 60, 40


def missing_share_figure(table: Table, along: Along = "columns", *, height: int = 220) -> Figure:
    """Return how many columns (or rows) miss how much: those that miss nothing, then steps of 5 %."""
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
        text = "nothing missing" if i == 0 else f"{_step(i - 1)} to {_step(i)} % missing"
        text = f"<b>{text}</b><br>{count:,} {along if count != 1 else along[:-1]}"
        if i:
            text += "".join(f"<br>{escape(names[j], 40)}: {percent(missing[j] / of)}" for j in who[:8])
            text += f"<br>… and {count - 8:,} more" if count > 8 else ""
        hover.append(text)
    bar = {
        "type": "bar",
        "x": list(range(_SHARES + 1)),
        "y": counts.tolist(),
        "marker": {"color": [LINE] + [_COLOUR] * _SHARES},
        "uid": f"missing-{along}",
        **hover_texts(hover),
    }
    note = f" · {percent(table.n_missing / table.values.size)} of all cells, at most {percent(missing.max() / of)}"
    ticks = [4, 8, 12, 16, 20]
    shares: Figure = {"range": [-0.6, _SHARES + 0.6], "showgrid": False, "zeroline": False, "linecolor": LINE}
    shares |= {
        "tickvals": [0, *ticks],
        "ticktext": ["none", *(f"≤ {_step(t)} %" for t in ticks)],
        "tickangle": 0,
    }
    layout = base_layout(
        height,
        margin={"l": 56, "r": 14, "t": _TOP, "b": 46},
        showlegend=False,
        bargap=0.15,
        title=figure_title(heading, f"{note} of a {along[:-1]}"),
        xaxis=shares | {"title": axis_title("share missing")},
        yaxis=value_axis(along, rangemode="tozero", nticks=5, tickformat=",d"),
    )
    return {"data": [bar], "layout": layout}


def _step(i: int) -> str:
    return f"{100 * i // _SHARES}"


#: Place, size, colour and position of a column's name, smallest and largest value: right of and below its corner.
_WORDS = (
    (0, -0.95, 11, TEXT, "top right"),
    (0, 0.05, 10, MUTED, "bottom right"),
    (1, 0.05, 10, MUTED, "bottom left"),
)


def distributions_figure(table: Table, *, n: int = 36, columns: ArrayLike | None = None) -> Figure:
    """Return a small histogram of the known values of each column, with its smallest and largest value below.

    `n`: most columns; the title counts the rest.
    `columns`: which columns, in which order; by default the table's first.
    """
    chosen = np.arange(table.n_columns) if columns is None else np.asarray(columns, dtype=np.int64)
    shown = chosen[:n]
    x, y, base, width, hover = [], [], [], [], []
    names = axis_names([str(table.columns[j]) for j in shown], 13)
    corners = [(i % _ACROSS * (1 + _GAP), i // _ACROSS * 1.45 + 1.2) for i in range(len(shown))]
    words = []
    for j, short_name, (left, foot) in zip(shown.tolist(), names, corners, strict=True):
        counts, lows, highs = value_histogram(table.values[:, j])
        step, top = 1.0 / len(counts), max(int(counts.max()), 1)
        name = escape(table.columns[j], 60)
        for b, count in enumerate(counts.tolist()):
            x.append(left + (b + 0.5) * step)
            y.append(-0.9 * count / top)
            base.append(foot)
            width.append(step)
            span = value_text(lows[b]) + ("" if lows[b] == highs[b] else f" to {value_text(highs[b])}")
            hover.append(f"<b>{name}</b><br>{span}: {count:,} row{'' if count == 1 else 's'}")
        words.append((short_name, value_text(lows[0]), value_text(highs[-1])))
    rows = max(1, -(-len(shown) // _ACROSS))
    marker = {"color": _COLOUR, "line": {"width": 0}}
    bars = {
        "type": "bar",
        "x": x,
        "y": y,
        "base": base,
        "width": width,
        "marker": marker,
        "uid": "distributions",
    }
    note = f" · the first {len(shown)} of {len(chosen):,}" if len(shown) < len(chosen) else ""
    layout = base_layout(
        _TOP + round(rows * 1.45 * _TILE) + 8,
        margin={"l": 8, "r": 8, "t": _TOP, "b": 8},
        showlegend=False,
        title=figure_title("<b>Values of the columns</b>", note),
        xaxis={"visible": False, "range": [-0.02, _ACROSS * (1 + _GAP) - _GAP + 0.02]},
        yaxis={"visible": False, "range": [rows * 1.45, 0]},
    )
    traces = [bars | hover_texts(hover)]
    for k, (right, below, size, colour, position) in enumerate(_WORDS if len(shown) else ()):
        places = [left + right for left, _ in corners], [foot + below for _, foot in corners]
        named = [three[k] for three in words]
        traces.append(text_trace(*places, named, f"words-{k}", size=size, colour=colour, position=position))
    return {"data": traces, "layout": layout}


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


def missing_map_figure(table: Table, *, height: int = 420) -> Figure:
    """Return the cells of a table in its order: known ones blue, missing ones orange.

    A large table is drawn in bins: the more of a bin is missing, the more orange it is.
    """
    if not table.n_missing:
        return nothing_figure("No cell is missing.", height=120)
    missing = ~table.observed
    n, d = table.shape
    named = d <= _NAMED
    names = [str(name) for name in table.columns] if named else []
    x_ticks = name_ticks([j + 0.5 for j in range(d)], names) if named else {"nticks": 12}
    share, row_borders, column_borders = missing_shares(missing, _HOVER)
    across = [_span(table.columns, a, b, "columns") for a, b in pairwise(column_borders.tolist())]
    down = [_span(table.rows, a, b, "rows") for a, b in pairwise(row_borders.tolist())]
    texts = [
        [f"{a}<br>{b}<br>{percent(s)} missing" for b, s in zip(across, line, strict=True)]
        for a, line in zip(down, share.tolist(), strict=True)
    ]
    layout = base_layout(
        height,
        margin={"l": 70, "r": 14, "t": 38, "b": (text_room(names, 11) + 18 if named else 24) + 20, "pad": 0},
        showlegend=False,
        title=figure_title(
            "<b>Missing cells</b>", f" · {table.n_missing:,} ({percent(missing.mean())}), orange"
        ),
        xaxis=bare_axis("" if named else "column", framed=True, range=[0, d], **x_ticks)
        | {"tickangle": -90 if named else 0},
        yaxis=bare_axis("row, as in the table", framed=True, range=[n, 0], tickformat=",d", nticks=8),
        images=[layout_image(_missing_colours(missing_shares(missing, _PIXELS)[0]), 0, 0, d, n)],
    )
    return {"data": [hover_grid(column_borders.tolist(), row_borders.tolist(), texts)], "layout": layout}


def missing_shares(
    missing: NDArray[np.bool_], most: int
) -> tuple[Floats, NDArray[np.int64], NDArray[np.int64]]:
    """Return the share missing in at most `most` bins a side, and the borders of the bins of rows and columns."""
    borders = [np.arange(min(size, most) + 1) * size // min(size, most) for size in missing.shape]
    across = np.add.reduceat(missing, borders[1][:-1], axis=1, dtype=np.float64)
    counts = np.add.reduceat(across, borders[0][:-1], axis=0)
    return counts / np.outer(np.diff(borders[0]), np.diff(borders[1])), borders[0], borders[1]


def _missing_colours(share: Floats) -> Colours:
    known = 0.72 * 255 + 0.28 * np.array(INK)
    mixed = (1 - share[..., None]) * known + share[..., None] * np.array(MISSING)
    return np.rint(mixed).astype(np.uint8)


def _span(names: NDArray[np.object_], low: int, high: int, what: str) -> str:
    if high - low == 1:
        return f"<b>{escape(names[low], 40)}</b>"
    return f"{what} {low + 1:,} to {high:,}"
