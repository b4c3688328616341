"""A table: missing cells, distributions and correlations of its columns, and the weights of all features in them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from acvb_core.data.table import Table
from acvb_core.models.lfm.figures.pictures import (
    DIVERGING,
    MISSING,
    Colours,
    Floats,
    Names,
    axis_names,
    column_ticks,
    feature_word,
    image_uri,
    largest,
    robust_end,
    similar_order,
    value_text,
)
from acvb_core.views.parts import (
    bars,
    heading,
    heat_map,
    hover_grid,
    name_ticks,
    nothing_figure,
    place_picture,
    plain_axis,
    scatter,
    text_room,
    value_axis,
)
from acvb_core.views.theme import GRID, INK, LINE, MUTED, TEXT, Figure, escape, make_figure, percent

Along = Literal["columns", "rows"]

_COLOUR = "#0072B2"
_TOP = 36  # pixels
_SHARES = 20  # bars of the histogram of missing shares
_BINS, _ACROSS, _TILE, _GAP = 24, 6, 112, 0.14
#: Pixels of a map of missing cells, its texts under the pointer, and most columns with names, a side.
_PIXELS, _HOVER, _NAMED_CELLS = 800, 60, 40
#: Most columns whose correlations are shown, and of which each cell has its number written in.
MOST_CORRELATED, _ANNOTATED_COLUMNS = 200, 10
#: Most columns and features with names, columns that are drawn, and a side of a map of weights with numbers in it.
_NAMED, _DRAWN, _ANNOTATED = 60, 1500, 14
#: Most features side by side in a narrow window with numbers in them, and most names that fit there.
_ANNOTATED_UPRIGHT, _NAMED_UPRIGHT = 5, 13


def correlations(values: ArrayLike) -> Floats:
    """Return the correlation of each pair of columns over the rows in which both are known.

    `values` (N, D) has NaN for missing cells. The result (D, D) has NaN for pairs that share fewer than three rows, or
    of which one does not vary in them.
    """
    given = np.asarray(values, dtype=np.float64)
    known = np.isfinite(given)
    seen = known.astype(np.float64)
    n = np.maximum(known.sum(axis=0), 1)
    x = np.where(known, given, 0.0)
    x = np.where(known, x - x.sum(axis=0) / n, 0.0)
    spread = np.sqrt((x**2).sum(axis=0) / n)
    x /= np.where(spread > 0, spread, 1.0)
    both = seen.T @ seen
    first = x.T @ seen  # of column i, where column j is known
    second = (x**2).T @ seen
    pairs = np.maximum(both, 1.0)
    covariance = x.T @ x - first * first.T / pairs
    variance = np.maximum(second - first**2 / pairs, 0.0)
    product = np.sqrt(variance * variance.T)
    enough = (both >= 3) & (product > 1e-12 * pairs)
    return np.where(enough, np.clip(covariance / np.where(enough, product, 1.0), -1.0, 1.0), np.nan)


def correlation_figure(values: ArrayLike, columns: Names, *, height: int | None = None) -> Figure:
    """Return the correlations of the columns as a heat map, similar columns side by side.

    `values`: shape (N, D); NaN where missing.
    `columns`: length D.
    """
    n = np.asarray(values).shape[1]
    title = "Correlations of the columns"
    if n < 2:
        return nothing_figure("There is one column only.", title=title)
    if n > MOST_CORRELATED:
        return nothing_figure(f"Shown for up to {MOST_CORRELATED} columns; there are {n:,}.", title=title)
    correlation = correlations(values)
    order = similar_order(correlation)
    names = [str(columns[j]) for j in order]
    hover = [escape(name, 60) for name in names]
    trace = heat_map(
        "correlations",
        range(n),
        range(n),
        correlation[np.ix_(order, order)],
        ends=(-1, 1),
        scale=DIVERGING,
        bar="correlation",
        hovertext=[[f"<b>{a}</b><br><b>{b}</b>" for b in hover] for a in hover],
        hovertemplate="%{hovertext}<br>correlation %{z:.3f}<extra></extra>",
    )
    if n <= _ANNOTATED_COLUMNS:
        trace |= {"texttemplate": "%{z:.2f}", "xgap": 1, "ygap": 1}
    named = n <= _NAMED
    room = text_room(names, 11) + 18 if named else 16
    ticks = column_ticks(range(n), names) if named else {"tickvals": []}
    axis = plain_axis(constrain="domain", **ticks)
    # A cell with its number in it is as wide as it is high.
    cell = 36 if n <= _ANNOTATED_COLUMNS else 14 if named else 6
    return make_figure(
        [trace],
        height or min(900, max(320, _TOP + room + cell * n)),
        margin={"l": room, "r": 16, "t": _TOP, "b": room},
        plot_bgcolor=GRID,
        title=heading(title, "similar columns side by side, over the rows in which both are known"),
        xaxis=axis | {"tickangle": -90},
        yaxis=axis | {"autorange": "reversed", "scaleanchor": "x"},
    )


def weight_map_figure(
    weights: ArrayLike,
    columns: Names,
    *,
    shares: ArrayLike | None = None,
    names: Sequence[str] | None = None,
    clustered: bool = True,
    standardised: bool = True,
    upright: bool = False,
    height: int | None = None,
) -> Figure:
    """Return the weights of all features as a heat map: features down, columns across, one scale around 0.

    `weights`: shape (K, D); on the standardised scale, which makes columns comparable. A few far beyond the others
      share the last colour.
    `columns`: length D.
    `shares`: shape (K,); of the objects that have each feature.
    `names`: length K; of the features, as they are.
    `clustered`: put columns that the same features move side by side; else the table's order.
    `standardised`: False: the table is not, and weights are in its own units.
    `upright`: columns down and features across, for a narrow window.
    """
    given = np.asarray(weights, dtype=np.float64)
    n_features, n_columns = given.shape
    if not n_features or not n_columns:
        return nothing_figure("There are no features: the baseline alone describes the table.")
    order = similar_order(given.T) if clustered else np.arange(n_columns)
    shown = pool_columns(given[:, order], _DRAWN)
    exact = shown.shape[1] == n_columns
    names = [str(columns[j]) for j in order]
    numbers = list(range(1, n_features + 1))
    labels = [str(k) for k in numbers]
    if shares is not None:
        labels = [f"{k} · {percent(s)}" for k, s in zip(numbers, np.asarray(shares).tolist(), strict=True)]
    limit, unit = robust_end(given), " sd" if standardised else ""
    hover = f"feature %{{{'x' if upright else 'y'}}}%{{customdata}}<br>weight %{{z:.3g}}{unit}<extra></extra>"
    places, values = range(shown.shape[1]), shown.astype(np.float32)
    axes: tuple[Any, Any, Any] = (numbers, places, values.T) if upright else (places, numbers, values)
    bar = "weight (sd)" if standardised else "weight"
    more: dict[str, Any] = {"ends": (-limit, limit), "scale": DIVERGING, "bar": bar}
    called = [f" · {escape(name, 40)}" for name in names] if names is not None else [""] * n_features
    across_all = [[text] * shown.shape[1] for text in called]
    more["customdata"] = [list(line) for line in zip(*across_all, strict=True)] if upright else across_all
    trace = heat_map("weight-map", *axes, **more, hovertemplate=hover)
    if exact and shown.size <= 20_000:
        texts = [escape(name, 60) for name in names]
        trace["hovertext"] = [[text] * n_features for text in texts] if upright else [texts] * n_features
        trace["hovertemplate"] = "<b>%{hovertext}</b><br>" + hover
    if max(shown.shape) <= _ANNOTATED and not (upright and n_features > _ANNOTATED_UPRIGHT):
        trace |= {"texttemplate": "%{z:.2f}", "xgap": 1, "ygap": 1}
    named = exact and n_columns <= _NAMED
    note = "similar columns side by side" if clustered else "columns in the table's order"
    note += f" · colours end at ±{limit:.3g}{unit}" if limit < largest(given) else ""
    ticks = column_ticks(range(n_columns), names) if named else {"tickvals": []}
    columns_axis = plain_axis("" if named else f"{n_columns:,} columns", **ticks)
    every = -(-n_features // _NAMED_UPRIGHT) if upright else 1
    named_numbers = {"tickvals": numbers[::every], "ticktext": labels[::every]}
    number_ticks = named_numbers if n_features <= _NAMED else {"nticks": 20}
    features_axis = plain_axis("feature", **number_ticks)
    across, down = (features_axis, columns_axis) if upright else (columns_axis, features_axis)
    across_names, down_names = (labels, names) if upright else (names, labels)
    below = text_room(across_names, 11) + 18 if named or upright else 34
    n_down = shown.shape[1] if upright else n_features
    row = 26 if n_down <= 30 else 14 if n_down <= _NAMED else 5 if n_down <= 200 else 1
    left = text_room(down_names, 11) + 40 if named or not upright else 40
    return make_figure(
        [trace],
        height or max(200, _TOP + below + 22 + row * n_down),
        margin={"l": left, "r": 20, "t": _TOP - 2, "b": below + 24},
        title=heading(f"Weights of {feature_word(n_features)}", "" if upright else note),
        xaxis=across | {"tickangle": -90},
        yaxis=down | {"range": [n_down - 0.5, -0.5] if upright else [n_features + 0.5, 0.5]},
    )


def pool_columns(values: Floats, most: int) -> Floats:
    """Return at most `most` columns, of each run of neighbours the value furthest from 0."""
    n = values.shape[1]
    if n <= most:
        return values
    first = np.arange(most) * n // most
    high, low = np.maximum.reduceat(values, first, axis=1), np.minimum.reduceat(values, first, axis=1)
    return np.where(high >= -low, high, low)


def missing_share_figure(table: Table, along: Along = "columns", *, height: int = 220) -> Figure:
    """Return how many columns (or rows) miss how much: those that miss nothing, then steps of 5 %."""
    missing = (~table.observed).sum(axis=0 if along == "columns" else 1)
    of = table.n_rows if along == "columns" else table.n_columns
    names = table.columns if along == "columns" else table.rows
    title = f"Missing cells by {along[:-1]}"
    if not missing.any():
        return nothing_figure("No cell is missing.", title=title, height=120)
    # Whole numbers, so that a share on a border falls where it belongs: (0, 5 %], (5 %, 10 %], …
    place = -(-missing * _SHARES // of)
    counts = np.bincount(place, minlength=_SHARES + 1)
    hover = []
    for i, count in enumerate(counts.tolist()):
        text = f"{_step(i - 1)} to {_step(i)} % missing" if i else "nothing missing"
        text = f"<b>{text}</b><br>{count:,} {along if count != 1 else along[:-1]}"
        if i:
            who = np.flatnonzero(place == i)[:8]
            text += "".join(f"<br>{escape(names[j], 40)}: {percent(missing[j] / of)}" for j in who)
            text += f"<br>… and {count - 8:,} more" if count > 8 else ""
        hover.append(text)
    places, colours = list(range(_SHARES + 1)), [LINE] + [_COLOUR] * _SHARES
    all_cells = percent(table.n_missing / table.values.size)
    note = f"{all_cells} of all cells, at most {percent(missing.max() / of)}"
    shown = [4, 8, 12, 16, 20]
    ticks = name_ticks([0, *shown], ["none", *(f"≤ {_step(t)} %" for t in shown)])
    return make_figure(
        [bars(f"missing-{along}", places, counts, hover, colours)],
        height,
        margin={"l": 56, "r": 14, "t": _TOP, "b": 46},
        bargap=0.15,
        title=heading(title, f"{note} of a {along[:-1]}"),
        xaxis=plain_axis("share missing", range=[-0.6, _SHARES + 0.6], showline=True, **ticks),
        yaxis=value_axis(along, rangemode="tozero", tickformat=",d"),
    )


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
    note = f"the first {len(shown)} of {len(chosen):,}" if len(shown) < len(chosen) else ""
    traces = [bars("distributions", x, y, hover, _COLOUR, base=base, width=width)]
    for k, (right, below, size, colour, position) in enumerate(_WORDS if len(shown) else ()):
        places = [left + right for left, _ in corners], [foot + below for _, foot in corners]
        text = scatter(f"words-{k}", *places, "text", text=[three[k] for three in words])
        text |= {"textposition": position, "textfont": {"size": size, "color": colour}, "cliponaxis": False}
        traces.append(text)
    return make_figure(
        traces,
        _TOP + round(rows * 1.45 * _TILE) + 8,
        margin={"l": 8, "r": 8, "t": _TOP, "b": 8},
        title=heading("Values of the columns", note),
        xaxis={"visible": False, "range": [-0.02, _ACROSS * (1 + _GAP) - _GAP + 0.02]},
        yaxis={"visible": False, "range": [rows * 1.45, 0]},
    )


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
    named = d <= _NAMED_CELLS
    names = [str(name) for name in table.columns] if named else []
    x_ticks = column_ticks([j + 0.5 for j in range(d)], names) if named else {"nticks": 12}
    share, row_borders, column_borders = missing_shares(missing, _HOVER)
    across = [_span(table.columns, a, b, "columns") for a, b in pairwise(column_borders.tolist())]
    down = [_span(table.rows, a, b, "rows") for a, b in pairwise(row_borders.tolist())]
    texts = [
        [f"{a}<br>{b}<br>{percent(s)} missing" for b, s in zip(across, line, strict=True)]
        for a, line in zip(down, share.tolist(), strict=True)
    ]
    across_axis = plain_axis("" if named else "column", framed=True, range=[0, d], **x_ticks)
    uri = image_uri(_missing_colours(missing_shares(missing, _PIXELS)[0]))
    return make_figure(
        [hover_grid(column_borders.tolist(), row_borders.tolist(), texts)],
        height,
        margin={"l": 70, "r": 14, "t": 38, "b": (text_room(names, 11) + 18 if named else 24) + 20, "pad": 0},
        title=heading("Missing cells", f"{table.n_missing:,} ({percent(missing.mean())}), orange"),
        xaxis=across_axis | {"tickangle": -90 if named else 0},
        yaxis=plain_axis("row, as in the table", framed=True, range=[n, 0], tickformat=",d", nticks=8),
        images=[place_picture(uri, 0, 0, d, n)],
    )


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
