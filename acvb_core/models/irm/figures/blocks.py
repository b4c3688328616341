"""The block matrix: a relation sorted by cluster, at any size, with every block's numbers under the pointer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from acvb_core.models.irm.figures.arrangement import Arrangement, Side, Window
from acvb_core.models.irm.figures.axis_labels import NAMED, AxisLabels, axis_labels, cluster_ticks
from acvb_core.models.irm.figures.block_hover import block_hover, cell_hover
from acvb_core.models.irm.figures.marks import legend_entry, scatter
from acvb_core.models.irm.figures.raster import Raster, matrix_image, rasterise
from acvb_core.views.axes import axis_title
from acvb_core.views.heat_map import hover_grid
from acvb_core.views.theme import (
    BORDER,
    INK,
    LINE,
    MUTED,
    PAPER,
    UNKNOWN,
    Figure,
    base_layout,
    cluster_colour,
    colour_bar,
    rgba,
)

#: Share of the axis that a number takes: of two digits, on the narrowest matrix of a page (250 pixels).
_CROWD = {"x": 0.06, "y": 0.03}
_NARROW = 0.01  # share of the side
_NAMED_NARROW = 8  # names that stand side by side on a phone
_LEAST_STRIP = 0.002  # share of the side below which a cluster's colour could not be seen


def block_figure(
    arrangement: Arrangement,
    *,
    window: Window | None = None,
    size: int = 1000,
    height: int = 620,
    top: float | None = None,
    legend: bool = True,
    narrow: bool = False,
) -> Figure:
    """Return the block matrix.

    `arrangement`: from `arrange_result(result)`, or `arrange_as_read(relation)` for the relation as it came.
    `window`: first row, end row, first column, end column to show, in sorted places; it is binned anew.
    `size`: most pixels a side.
    `height`: pixels; a matrix with names beside it may ask for more.
    `top`: density that is shown darkest, to show several figures on one scale.
    `legend`: explain the tones below the matrix.
    `narrow`: for a window without room for many names side by side.
    """
    shown = window or arrangement.whole
    raster = rasterise(
        arrangement.relation, arrangement.rows.position, arrangement.columns.position, shown, size
    )
    return _figure(arrangement, raster, height, top, with_legend=legend, narrow=narrow)


def block_figures(arrangements: Sequence[Arrangement], *, size: int = 800, height: int = 480) -> list[Figure]:
    """Return several block matrices on one colour scale, each as narrow as side by side there is room for."""
    rasters = [
        rasterise(a.relation, a.rows.position, a.columns.position, a.whole, size) for a in arrangements
    ]
    top = max((raster.top for raster in rasters), default=1.0)
    return [
        _figure(a, raster, height, top, with_legend=True, narrow=True)
        for a, raster in zip(arrangements, rasters, strict=True)
    ]


def _figure(
    arrangement: Arrangement,
    raster: Raster,
    height: int,
    top: float | None,
    *,
    with_legend: bool,
    narrow: bool,
) -> Figure:
    row_low, row_high, column_low, column_high = raster.window
    rows, columns = arrangement.rows, arrangement.columns
    left = axis_labels(rows, row_low, row_high, crowd=_CROWD["y"])
    above = axis_labels(
        columns, column_low, column_high, crowd=_CROWD["x"], named=_NAMED_NARROW if narrow else NAMED
    )
    named = left.named or above.named
    height = max(height, left.length, 0)
    dark = top or raster.top
    outline = {"color": LINE, "width": 1}
    data = [
        _hover(arrangement, raster.window),
        *(
            [scatter("diagonal", [0, rows.n], [0, rows.n], "lines", line=outline)]
            if arrangement.diagonal
            else []
        ),
        _borders(rows, columns, raster.window),
        *(_legend(raster, dark) if with_legend else []),
    ]
    layout = base_layout(
        height,
        # Below, the numbers of the clusters and, in a narrow window, two lines of the legend.
        margin={"l": left.room, "r": 56 if named else 38, "t": above.room, "b": 64 if with_legend else 24, "pad": 0},
        dragmode="select",
        newselection={"line": {"color": BORDER, "width": 1}},
        showlegend=True,
        legend={
            "orientation": "h", "x": 0, "xanchor": "left", "y": 0, "yref": "container", "yanchor": "bottom",
            "itemclick": False, "itemdoubleclick": False, "font": {"size": 12},
        },
        xaxis=_axis(above, column_low, column_high) | {"side": "top", "tickangle": -90 if above.named else 0},
        yaxis=_axis(left, row_low, row_high) | {"range": [row_high, row_low]},
        images=[matrix_image(raster, dark)],
        shapes=[*_strip(rows, row_low, row_high, "y"), *_strip(columns, column_low, column_high, "x")],
        annotations=[
            *(_numbers(rows, row_low, row_high, "y") if left.named else []),
            *(_numbers(columns, column_low, column_high, "x") if above.named else []),
        ],
    )  # fmt: skip
    return {"data": data, "layout": layout}


def _axis(labels: AxisLabels, low: int, high: int) -> Figure:
    return {
        "range": [low, high],
        "tickmode": "array",
        "tickvals": labels.places,
        "ticktext": labels.texts,
        "tickfont": {"size": labels.font_size},
        "ticks": "",
        "ticklabelstandoff": 12,
        "title": axis_title(labels.title),
        "showgrid": False,
        "zeroline": False,
        "showline": True,
        "mirror": True,
        "linecolor": LINE,
    }


def _hover(arrangement: Arrangement, window: Window) -> Figure:
    row_low, row_high, column_low, column_high = window
    small = max(row_high - row_low, column_high - column_low) <= NAMED
    if small:
        x = [*range(column_low, column_high + 1)]
        y = [*range(row_low, row_high + 1)]
        text = cell_hover(arrangement, window)
    else:
        row_clusters = arrangement.rows.between(row_low, row_high)
        column_clusters = arrangement.columns.between(column_low, column_high)
        y = _edges(arrangement.rows.borders, row_clusters)
        x = _edges(arrangement.columns.borders, column_clusters)
        text = block_hover(arrangement, row_clusters, column_clusters)
    return hover_grid(x, y, text)


def _edges(borders: NDArray[np.int64], clusters: list[int]) -> list[int]:
    # Clusters without objects have no width and are left out, so that those beside them still touch.
    return [int(borders[k]) for k in clusters] + [int(borders[clusters[-1] + 1])]


def _borders(rows: Side, columns: Side, window: Window) -> Figure:
    """One trace for all borders: segments with a gap (NaN) after each."""
    row_low, row_high, column_low, column_high = window
    across = [k for k in np.unique(rows.borders[1:-1]).tolist() if row_low < k < row_high]
    down = [k for k in np.unique(columns.borders[1:-1]).tolist() if column_low < k < column_high]
    # Where clusters are only a few pixels wide, the borders let the links between them shine through.
    gaps = [
        *(np.diff([row_low, *across, row_high]) / (row_high - row_low)),
        *(np.diff([column_low, *down, column_high]) / (column_high - column_low)),
    ]
    narrow = min(gaps) < _NARROW
    x: list[float | None] = []
    y: list[float | None] = []
    for place in across:
        x += [column_low, column_high, None]
        y += [place, place, None]
    for place in down:
        x += [place, place, None]
        y += [row_low, row_high, None]
    line = {"color": rgba(BORDER, 0.6 if narrow else 0.85), "width": 0.8 if narrow else 1}
    return scatter("borders", x, y, "lines", line=line)


def _strip(side: Side, low: int, high: int, axis: str) -> list[Figure]:
    """Return a band beside the axis in the clusters' colours."""
    if not side.clustered:
        return []
    shapes = []
    for k in side.between(low, high):
        start, stop = max(int(side.borders[k]), low), min(int(side.borders[k + 1]), high)
        if stop - start < _LEAST_STRIP * (high - low):
            continue
        along = {f"{axis}0": start, f"{axis}1": stop, f"{axis}ref": axis}
        if axis == "y":
            across = {"xref": "paper", "xsizemode": "pixel", "xanchor": 0, "x0": -8, "x1": -2}
        else:
            across = {"yref": "paper", "ysizemode": "pixel", "yanchor": 1, "y0": 8, "y1": 2}
        colour = cluster_colour(k + 1)
        shapes.append({"type": "rect", "fillcolor": colour, "line": {"width": 0}, **along, **across})
    return shapes


def _numbers(side: Side, low: int, high: int, axis: str) -> list[Figure]:
    """Return the clusters' numbers for the far side of a matrix whose near side has the objects' names."""
    if not side.clustered:
        return []
    notes = []
    for middle, number in zip(*cluster_ticks(side, low, high, _CROWD[axis]), strict=True):
        note = {"text": f"<b>{number}</b>", "showarrow": False, "font": {"size": 12, "color": MUTED}}
        if axis == "y":
            note |= {"x": 1, "xref": "paper", "xanchor": "left", "xshift": 4, "y": middle, "yref": "y"}
        else:
            note |= {"y": 0, "yref": "paper", "yanchor": "top", "yshift": -3, "x": middle, "xref": "x"}
        notes.append(note)
    return notes


def _legend(raster: Raster, top: float) -> list[Figure]:
    dark = f"rgb{INK}"
    items = [("link", dark), ("no link", PAPER)] if raster.exact else []
    if raster.missing.any():
        items.append(("unknown", f"rgb{UNKNOWN}"))
    outline = {"color": LINE, "width": 1}
    traces = [
        legend_entry(
            f"legend-{name}", name, {"symbol": "square", "size": 11, "color": colour, "line": outline}
        )
        for name, colour in items
    ]
    return traces if raster.exact else [*traces, _scale(top)]


def _scale(top: float) -> Figure:
    """Return the scale of tones: density by its square root, as the picture shows it."""
    stops = [0.0, 0.5, 1.0]
    bar = colour_bar(
        orientation="h",
        thickness=10,
        len=0.4,
        lenmode="fraction",
        x=1,
        xanchor="right",
        y=0,
        yref="container",
        yanchor="bottom",
        xpad=22,
        ypad=0,
        ticklabelposition="outside",
        tickvals=stops,
        ticktext=[percent(top * s * s) for s in stops],
    )
    bar["title"] = {"text": "share of links", "side": "top", "font": {"size": 11}}
    tones = {"color": [0], "cmin": 0, "cmax": 1, "colorscale": [[0, PAPER], [1, f"rgb{INK}"]]}
    return scatter("scale", [None], [None], marker=tones | {"showscale": True, "colorbar": bar})


def percent(share: float) -> str:
    """Return a share with three significant digits at most."""
    return f"{100 * share:.3g} %"
