"""The block matrix: a relation sorted by cluster, at any size, with every block's numbers under the pointer."""

from __future__ import annotations

import io
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from acvb_core.data.relation import Relation
from acvb_core.models.irm.figures.arrangement import (
    NAMED,
    Arrangement,
    Side,
    Window,
    arrange_as_read,
    arrange_network,
    axis_labels,
    cluster_ticks,
    name_cluster,
    number_like,
)
from acvb_core.models.irm.figures.raster import Raster, matrix_image, picture, rasterise
from acvb_core.models.irm.scores import is_mirrored
from acvb_core.samples.catalogue import read_sample_groups
from acvb_core.views.parts import hover_grid, legend_entry, paper_note, plain_axis, scatter
from acvb_core.views.theme import (
    INK,
    LINE,
    MUTED,
    PAPER,
    UNKNOWN,
    Figure,
    Part,
    cluster_colour,
    escape,
    make_figure,
    percent,
    rgba,
)

#: Share of the axis that a number takes: of two digits, on the narrowest matrix of a page (250 pixels).
_CROWD = {"x": 0.06, "y": 0.03}
_NAMED_NARROW = 8  # names that there is room for side by side on a phone
_LEAST_STRIP = 0.002  # share of the side below which a cluster's colour could not be seen
_SIDE, _BETWEEN = 1200, (154, 165, 177)  # of the picture in a file: pixels, and colour of the borders


#: Pixels of a matrix on a phone, legend included: about as high as it is wide.
_NARROW_HEIGHT = 420


def block_figure(
    arrangement: Arrangement,
    *,
    window: Window | None = None,
    size: int = 1000,
    height: int | None = None,
    top: float | None = None,
    legend: bool = True,
    narrow: bool = False,
) -> Figure:
    """Return the block matrix.

    `arrangement`: from `arrange_result(result)`, or `arrange_as_read(relation)` for the relation as it came.
    `window`: first row, end row, first column, end column to show, in sorted places; it is binned again.
    `size`: most pixels a side.
    `height`: pixels, by default as many as the width has; a matrix with names next to it may need more.
    `top`: density that is shown darkest, to show several figures on one scale.
    `legend`: explain the tones below the matrix.
    `narrow`: for a window without room for many names side by side.
    """
    raster = _rasterise(arrangement, window, size)
    row_low, row_high, column_low, column_high = raster.window
    rows, columns = arrangement.rows, arrangement.columns
    left = axis_labels(rows, row_low, row_high, crowd=_CROWD["y"])
    above = axis_labels(columns, column_low, column_high, _CROWD["x"], _NAMED_NARROW if narrow else NAMED)
    dark = top or raster.top
    outline = {"color": LINE, "width": 1}
    data = [_hover(arrangement, raster.window), _borders(rows, columns, raster.window)]
    if arrangement.diagonal:
        data.append(scatter("diagonal", [0, rows.n], [0, rows.n], "lines", line=outline))
    axis = plain_axis(framed=True, ticklabelstandoff=12)
    notes = _numbers(rows, row_low, row_high, "y") if left.named else []
    notes += _numbers(columns, column_low, column_high, "x") if above.named else []
    right = 56 if left.named or above.named else 38
    upright = {"side": "top", "tickangle": -90 if above.named else 0}
    # The numbers of the clusters and, in a narrow window, two lines of the legend; the scale of weights has one more.
    below = 76 if raster.weighted else 64
    return make_figure(
        data + (_legend(raster, dark) if legend else []),
        max(height or (_NARROW_HEIGHT if narrow else 620), left.length),
        margin={"l": left.room, "r": right, "t": above.room, "b": below if legend else 24, "pad": 0},
        dragmode="select",
        newselection={"line": {"color": LINE, "width": 1}},
        showlegend=True,
        legend={"itemclick": False, "itemdoubleclick": False},
        xaxis=axis | above.axis | upright | {"range": [column_low, column_high]},
        yaxis=axis | left.axis | {"range": [row_high, row_low]},
        images=[matrix_image(raster, dark)],
        shapes=[*_strip(rows, row_low, row_high, "y"), *_strip(columns, column_low, column_high, "x")],
        annotations=notes,
    )


def _rasterise(arrangement: Arrangement, window: Window | None, size: int) -> Raster:
    rows, columns = arrangement.rows.position, arrangement.columns.position
    window = window or arrangement.whole
    return rasterise(arrangement.relation, rows, columns, window, size, weighted=arrangement.weighted)


def block_figures(arrangements: Sequence[Arrangement], *, size: int = 800, height: int = 480) -> list[Figure]:
    """Return several block matrices, each as narrow as there is room for side by side.

    Those that show links are on one scale of tones, and those that show weights on another.

    Clusters of the same objects have the numbers of those of the first matrix with which they share most objects, and
    so their colours and their places.
    """
    tops: dict[bool, float] = {}
    for a in arrangements:
        tops[a.weighted] = max(tops.get(a.weighted, 0.0), _rasterise(a, None, size).top)
    figures = []
    for shown in (arrangements[0], *(number_like(arrangements[0], other) for other in arrangements[1:])):
        figures.append(block_figure(shown, size=size, height=height, top=tops[shown.weighted], narrow=True))
    return figures


def block_png(arrangement: Arrangement, *, window: Window | None = None) -> bytes:
    """Return the sorted matrix, or a window of it, with the borders of its clusters as a PNG file."""
    raster = _rasterise(arrangement, window, _SIDE)
    image = picture(raster).convert("RGB")
    image = image.resize((max(image.width, _SIDE), max(image.height, _SIDE)), Image.Resampling.NEAREST)
    row_low, row_high, column_low, column_high = raster.window
    pen = ImageDraw.Draw(image)
    for k in _inner_borders(arrangement.rows, row_low, row_high):
        y = (k - row_low) * image.height / (row_high - row_low)
        pen.line((0, y, image.width, y), fill=_BETWEEN)
    for k in _inner_borders(arrangement.columns, column_low, column_high):
        x = (k - column_low) * image.width / (column_high - column_low)
        pen.line((x, 0, x, image.height), fill=_BETWEEN)
    buffer = io.BytesIO()
    image.save(buffer, "PNG", optimize=True)
    return buffer.getvalue()


def arrange_sample(relation: Relation) -> Arrangement:
    """Return a sample network sorted by the clusters that its stored run found."""
    groups = read_sample_groups(relation.name)
    clusters = np.array([groups[str(name)] - 1 for name in relation.row_labels], dtype=np.int64)
    return arrange_network(relation, clusters, int(clusters.max()) + 1)


def before_after_figures(arrangement: Arrangement, height: int = 300) -> tuple[Figure, Figure]:
    """Return the relation of an arrangement in the order it was read, and sorted, without names."""
    before = arrange_as_read(arrangement.relation, weighted=arrangement.weighted)
    return bare_figure(before, height), bare_figure(arrangement, height)


def bare_figure(arrangement: Arrangement, height: int = 300, *, sizes: bool = False) -> Figure:
    """Return a small block matrix without names; `sizes` writes the numbers of objects beside it."""
    figure = block_figure(arrangement, size=600, height=height, legend=False)
    edge = 28 if sizes else 14
    figure.layout.annotations, figure.layout.dragmode, figure.layout.height = [], False, height
    figure.layout.margin = {"l": edge, "r": 8, "t": edge, "b": 8, "pad": 0}
    for axis, side in ((figure.layout.xaxis, arrangement.columns), (figure.layout.yaxis, arrangement.rows)):
        title = f"{side.n:,} × {escape(side.kind, 40)}" if sizes else ""
        axis.update(showticklabels=False, fixedrange=True, title={"text": title})
    return figure


def _hover(arrangement: Arrangement, window: Window) -> Part:
    row_low, row_high, column_low, column_high = window
    if max(row_high - row_low, column_high - column_low) <= NAMED:
        x, y = range(column_low, column_high + 1), range(row_low, row_high + 1)
        return hover_grid(x, y, _describe_cells(arrangement, window))
    down = arrangement.rows.between(row_low, row_high)
    across = arrangement.columns.between(column_low, column_high)
    texts = [[_describe_block(arrangement, k, j) for j in across] for k in down]
    return hover_grid(
        _edges(arrangement.columns.borders, across), _edges(arrangement.rows.borders, down), texts
    )


def _edges(borders: NDArray[np.int64], clusters: list[int]) -> list[int]:
    # Clusters without objects have no width and are left out, so that those beside them still touch.
    return [int(borders[k]) for k in clusters] + [int(borders[clusters[-1] + 1])]


def _describe_block(arrangement: Arrangement, k: int, j: int) -> str:
    """Return the text of the block of two clusters (from 0)."""
    sizes = [f"{arrangement.rows.sizes[k]:,}"]
    if not (arrangement.one and k == j):
        sizes.append(f"{arrangement.columns.sizes[j]:,}")
    lines = [f"<b>{_name_block(arrangement, k, j)}</b>", f"{' × '.join(sizes)} objects"]
    return "<br>".join([*lines, *_count_block(arrangement, k, j)])


def _name_block(arrangement: Arrangement, k: int, j: int) -> str:
    if not arrangement.rows.clustered:
        return "as read"
    names = arrangement.rows.names, arrangement.columns.names
    return pair_name(k, j, arrangement.one, is_mirrored(arrangement.relation), names)


def pair_name(
    k: int, j: int, one: bool, undirected: bool, names: tuple[Sequence[str], Sequence[str]] = ((), ())
) -> str:
    """Return the name of a block of two clusters (from 0), escaped for Plotly.

    `one`: both are clusters of one clustering. `names`: of the clusters of rows and of columns.
    """
    first, second = name_cluster(k + 1, names[0]), name_cluster(j + 1, names[1])
    if not one:
        return f"row cluster {first} × column cluster {second}"
    if k == j:
        return f"inside cluster {first}"
    return f"cluster {first} {'–' if undirected else '→'} cluster {second}"


def _count_block(arrangement: Arrangement, k: int, j: int) -> list[str]:
    ones, observed = int(arrangement.ones[k, j]), int(arrangement.observed[k, j])
    share = f" ({100 * ones / observed:.3g} %)" if observed else ""
    what = "pairs" if arrangement.one else "entries"
    lines = [f"{ones:,} {'link' if ones == 1 else 'links'} among {observed:,} known {what}{share}"]
    strengths = arrangement.strengths
    if strengths is None:
        return lines
    if strengths.expected is not None:
        return [*lines, *strengths.describe_ratio(k, j)]
    mean, low, high = (100 * float(matrix[k, j]) for matrix in strengths[:3])
    return [*lines, f"estimate {mean:.3g} %, {strengths.interval} {low:.3g} to {high:.3g} %"]


def _describe_cells(arrangement: Arrangement, window: Window) -> list[list[str]]:
    """Return the text of each entry of a small window: the two objects, linked or not, and the block."""
    row_low, row_high, column_low, column_high = window
    rows, columns = arrangement.rows, arrangement.columns
    raster = _rasterise(arrangement, window, NAMED)
    linked = np.char.mod("weight %g", raster.ones) if raster.weighted else "link"
    values = np.where(raster.ones > 0, linked, np.where(raster.missing > 0, "unknown", "no link"))
    values = np.where(raster.cells > 0, values, "self-links do not count")
    row_names = [escape(rows.labels[i], 60) for i in rows.order[row_low:row_high]]
    column_names = [escape(columns.labels[j], 60) for j in columns.order[column_low:column_high]]
    row_clusters = [rows.cluster_at(place) - 1 for place in range(row_low, row_high)]
    column_clusters = [columns.cluster_at(place) - 1 for place in range(column_low, column_high)]
    network = arrangement.relation.network
    joint = "×" if network is None else "→" if network.directed else "–"
    tails = {
        (k, m): "<br>".join([_name_block(arrangement, k, m), *_count_block(arrangement, k, m)])
        for k in set(row_clusters)
        for m in set(column_clusters)
        if rows.clustered
    }
    return [
        [
            f"<b>{row} {joint} {column}: {values[i, j]}</b><br>{tails.get((k, column_clusters[j]), '')}"
            for j, column in enumerate(column_names)
        ]
        for i, (row, k) in enumerate(zip(row_names, row_clusters, strict=True))
    ]


def _inner_borders(side: Side, low: int, high: int) -> list[int]:
    return [k for k in np.unique(side.borders[1:-1]).tolist() if low < k < high]


def _borders(rows: Side, columns: Side, window: Window) -> Part:
    """Return one trace for all borders: segments with a gap after each, fainter the more there are."""
    row_low, row_high, column_low, column_high = window
    across, down = _inner_borders(rows, row_low, row_high), _inner_borders(columns, column_low, column_high)
    x = [column_low, column_high, None] * len(across) + [at for k in down for at in (k, k, None)]
    y = [at for k in across for at in (k, k, None)] + [row_low, row_high, None] * len(down)
    few = max(len(across), len(down)) <= 20
    line = {"color": rgba(LINE, 0.9 if few else 0.5), "width": 1 if few else 0.5}
    return scatter("borders", x, y, "lines", line=line)


def _strip(side: Side, low: int, high: int, axis: str) -> list[Part]:
    """Return a band beside the axis in the clusters' colours."""
    if not side.clustered:
        return []
    if axis == "y":
        across: Part = {"xref": "paper", "xsizemode": "pixel", "xanchor": 0, "x0": -8, "x1": -2}
    else:
        across = {"yref": "paper", "ysizemode": "pixel", "yanchor": 1, "y0": 8, "y1": 2}
    shapes = []
    for k in side.between(low, high):
        start, stop = max(int(side.borders[k]), low), min(int(side.borders[k + 1]), high)
        if stop - start >= _LEAST_STRIP * (high - low):
            along = {
                f"{axis}0": start,
                f"{axis}1": stop,
                f"{axis}ref": axis,
                "fillcolor": cluster_colour(k + 1, side.names),
            }
            shapes.append({"type": "rect", "line": {"width": 0}, **along, **across})
    return shapes


def _numbers(side: Side, low: int, high: int, axis: str) -> list[Part]:
    """Return the clusters' numbers for the far side of a matrix whose near side has the objects' names."""
    if not side.clustered:
        return []
    notes = []
    for middle, number in zip(*cluster_ticks(side, low, high, _CROWD[axis]), strict=True):
        if axis == "y":
            place: Part = {"x": 1, "y": middle, "yref": "y", "xshift": 4, "yanchor": "middle"}
        else:
            place = {"x": middle, "y": 0, "xref": "x", "yshift": -3, "xanchor": "center"}
        notes.append(paper_note(f"<b>{number}</b>", **place, font={"size": 12, "color": MUTED}))
    return notes


def _legend(raster: Raster, top: float) -> list[Part]:
    is_plain = raster.exact and not raster.weighted
    items = [("link", f"rgb{INK}"), ("no link", PAPER)] if is_plain else []
    if raster.missing.any():
        items.append(("unknown", f"rgb{UNKNOWN}"))
    square = {"symbol": "square", "size": 11, "line": {"color": LINE, "width": 1}}
    traces = [legend_entry(f"legend-{name}", name, square | {"color": colour}) for name, colour in items]
    return traces if is_plain else [*traces, _scale(raster, top)]


def _scale(raster: Raster, top: float) -> Part:
    """Return the scale of tones: density by its root, as the picture shows it."""
    stops = [0.0, 0.5, 1.0]
    values = [top * s ** (1.0 / raster.power) for s in stops]
    title = "share of links"
    if raster.weighted:
        title = f"{'weight' if raster.exact else 'mean weight'} (fourth-root scale)<br>"
    bar = {
        "orientation": "h", "thickness": 10, "lenmode": "pixels", "len": 150, "x": 1, "xanchor": "right", "xpad": 22,
        "y": 0, "yref": "container", "yanchor": "bottom", "ypad": 0, "ticklabelposition": "outside",
        "tickangle": 0,
        "tickvals": stops, "ticktext": [f"{value:.3g}" if raster.weighted else percent(value) for value in values],
        "title": {"text": title, "side": "top", "font": {"size": 11}},
    }  # fmt: skip
    tones = {"color": [0], "cmin": 0, "cmax": 1, "colorscale": [[0, PAPER], [1, f"rgb{INK}"]]}
    return scatter("scale", [None], [None], marker=tones | {"showscale": True, "colorbar": bar})
