"""A small network object by object: dots in their clusters' colours, links as thin lines."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from acvb_core.core.protocols import Posterior
from acvb_core.data.relation import Relation
from acvb_core.models.irm.figures.arrangement import degrees
from acvb_core.models.irm.figures.marks import keep_opacity, legend_entry, plan_layout, scatter
from acvb_core.models.irm.figures.network_layout import GroupGraph, node_layout
from acvb_core.models.irm.figures.number_places import number_places
from acvb_core.models.irm.scores import has_directions, links_of
from acvb_core.views.heat_map import png_uri
from acvb_core.views.labels import ink_on, text_room
from acvb_core.views.theme import MUTED, PAPER, TEXT, Figure, b64, cluster_colour, escape, rgba

Floats = NDArray[np.float64]

#: Probability of its cluster below which an object is marked as uncertain.
SURE = 0.9
#: Objects up to which names are written beside dots with room for them; links up to which their direction is drawn.
NAMED = 200
_NAME_LENGTH = 18
_NAME_SIZE = 10
_DIRECTED_LINKS = 1_500
_FEW = 16  # clusters whose numbers are written large
_HEIGHT = 640  # pixels
_PLOT = 0.86  # of the height: what the plot itself has
_WIDE = 1.5  # its width at least, in heights
_EDGE = 1.4  # room around the dots, in places between neighbours
_FRAME = 2  # pixels of the page's colour around a cluster's number
_MOST_LINES = 4_000  # links up to which each is a line of the figure; more are one picture below the dots
_PICTURE = 1_200  # pixels of the longer side of that picture
_AT_ONCE = 2_000_000  # its points that are counted at once
_SHADES = 32  # of its opacity
_SHORTEST_ARROW = 0.6  # in places between neighbours


def node_link_figure(
    relation: Relation,
    posterior: Posterior,
    graph: GroupGraph,
    *,
    selected: int | None = None,
    height: int = _HEIGHT,
) -> Figure:
    """Return a network with one dot for each object.

    Objects whose most probable cluster has a probability below `SURE` are hollow; those without links are drawn like
    all others. A dot's `customdata` is the index of its object, for selections.

    `relation`: a network that is not `why_too_large`.
    `posterior`: of one clustering.
    `graph`: the graph of the same posterior, which places the clusters.
    `selected`: cluster (from 1) that stands out.
    `height`: pixels.
    Raises ParameterError: the network is too large for a picture, or no network.
    """
    clusters = posterior.labels("rows")
    place = node_layout(relation, clusters, graph.positions)
    probability = np.asarray(posterior["rows"], dtype=np.float64)[np.arange(len(clusters)), clusters]
    rows, columns = links_of(relation)
    many = len(rows) > _MOST_LINES
    data = [] if many else [_lines(place, rows, columns)]
    if graph.directed and 0 < len(rows) <= _DIRECTED_LINKS:
        data.append(_heads(place, rows, columns))
    size = _dot(len(clusters)) * height / _HEIGHT
    names = _names(relation, place, height) if len(clusters) <= NAMED else None
    data += _dots(relation, place, clusters, probability, size, selected, names)
    notes = _numbers(relation, place, clusters, size, names, _pixels(place, height))
    layout = _layout(place, notes, height)
    if many:
        layout["images"] = [_haze(place, rows, columns)]
    return {"data": data, "layout": layout}


def _pixels(place: Floats, height: int) -> float:
    """Return the pixels between neighbours, in a plot that is half as wide again as it is high."""
    room = np.ptp(place, axis=0) + 2 * _EDGE
    return float(_PLOT * height / max(room[1], room[0] / _WIDE))


def _dot(n: int) -> float:
    return float(np.clip(150.0 / np.sqrt(n), 5.5, 15.0))


def _lines(place: Floats, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> Figure:
    """Return one trace for all links: two ends and a gap for each."""
    ends = np.full((len(rows), 3, 2), np.nan, dtype=np.float32)
    ends[:, 0], ends[:, 1] = place[rows], place[columns]
    style = {"width": 1, "color": rgba(MUTED, _opacity(len(rows)))}
    x, y = (b64(ends[:, :, axis].ravel()) for axis in (0, 1))
    return scatter("links", x, y, "lines", line=style)


def _opacity(n_links: int) -> float:
    """Return the opacity of one line: few are lines, many a haze in which single ones cannot be followed."""
    return float(np.clip(6.0 / np.sqrt(n_links + 1.0), 0.05, 0.55))


def _haze(place: Floats, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> Figure:
    """Return all links as one picture, darker where more of them cross, for networks of too many lines.

    Browsers draw so many lines by WebGL alone, for which the app's content policy leaves no room.
    """
    low, size = place.min(axis=0), np.maximum(np.ptp(place, axis=0), 1.0)
    scale = _PICTURE / size.max()
    width, height = np.ceil(size * scale).astype(np.int64).tolist()
    # The first row of a picture is its highest.
    ends = (np.where([True, False], place - low, low + size - place) * scale).astype(np.float32)
    ends = np.clip(ends, 0, [width - 1, height - 1])
    start, way = ends[rows], ends[columns] - ends[rows]
    points = np.abs(way).max(axis=1).astype(np.int64) + 1  # one a pixel
    stop = np.cumsum(points)
    count = np.zeros(height * width)
    parts = np.searchsorted(stop, range(0, stop[-1] + _AT_ONCE, _AT_ONCE), side="right").tolist()
    for some in (slice(*ends) for ends in pairwise(parts)):
        n = points[some]
        step = np.arange(n.sum()) - np.repeat(np.cumsum(n) - n, n)
        x, y = (
            (np.repeat(start[some, axis], n) + step * np.repeat(way[some, axis] / n, n)).astype(np.int32)
            for axis in (0, 1)
        )
        count += np.bincount(y * width + x, minlength=len(count))
    shade = np.rint((_SHADES - 1) * (1.0 - (1.0 - _opacity(len(rows))) ** count)).astype(np.uint8)
    image = Image.frombytes("P", (width, height), shade.tobytes())
    image.putpalette(list(bytes.fromhex(MUTED[1:])) * _SHADES)
    image.info["transparency"] = bytes(np.linspace(0, 255, _SHADES).astype(np.uint8))
    corner = {
        "x": low[0],
        "y": low[1] + size[1],
        "xanchor": "left",
        "yanchor": "top",
        "xref": "x",
        "yref": "y",
    }
    return {
        "source": png_uri(image, least=1),
        "layer": "below",
        "sizex": size[0],
        "sizey": size[1],
        "sizing": "stretch",
        **corner,
    }


def _heads(place: Floats, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> Figure:
    """Return small arrows on the way to where each link goes; links between close neighbours have no room."""
    delta = place[columns] - place[rows]
    length = np.sqrt((delta**2).sum(axis=1))
    long = length > _SHORTEST_ARROW
    at = place[rows][long] + 0.62 * delta[long]
    angle = np.round(np.degrees(np.arctan2(delta[long, 0], delta[long, 1])), 1).tolist()
    marker = {
        "symbol": "triangle-up",
        "size": 5,
        "angle": angle,
        "color": rgba(MUTED, 0.55),
        "line": {"width": 0},
    }
    return scatter("heads", b64(at[:, 0].astype(np.float32)), b64(at[:, 1].astype(np.float32)), marker=marker)


def _dots(
    relation: Relation,
    place: Floats,
    clusters: NDArray[np.int64],
    probability: Floats,
    size: float,
    selected: int | None,
    names: list[str] | None,
) -> list[Figure]:
    sure = probability >= SURE
    texts = _hover(relation, clusters, probability)
    traces: list[Figure] = []
    for group, name, hollow in (
        (np.flatnonzero(sure), "", False),
        (np.flatnonzero(~sure), f"cluster uncertain (probability below {SURE:g})", True),
    ):
        if not len(group):
            continue
        colours = [_shade(int(clusters[i]) + 1, selected) for i in group]
        outline = {"width": max(size / 4, 2.0), "color": colours} if hollow else {"width": 1, "color": PAPER}
        fill = PAPER if hollow else colours
        trace = scatter(
            "uncertain" if hollow else "certain",
            b64(place[group, 0]),
            b64(place[group, 1]),
            customdata=group.tolist(),
            marker={"size": size, "opacity": 1, "color": fill, "line": outline},
            hovertext=[texts[i] for i in group],
            name=name,
            **keep_opacity(),
        )
        if names:
            trace |= {
                "mode": "markers+text",
                "text": [names[i] for i in group],
                "textposition": "top center",
                "textfont": {"size": _NAME_SIZE, "color": TEXT},
            }
        traces.append(trace)
        if hollow:
            # A dot of its own: the trace's would have the colour of its first object.
            dot = {"size": 11, "color": PAPER, "line": {"width": 3, "color": MUTED}}
            traces.append(legend_entry("legend-uncertain", name, dot))
    return traces


def _names(relation: Relation, place: Floats, height: int) -> list[str]:
    """Return the names that are written: those of most links first, none over another (the pointer shows all)."""
    pixels = place * _pixels(place, height)
    degree = np.sum(degrees(relation), axis=0)
    widths = [text_room([name], _NAME_SIZE, limit=_NAME_LENGTH) for name in relation.row_labels]
    texts = [""] * len(place)
    taken: list[int] = []
    for i in np.argsort(-degree, kind="stable").tolist():
        near = [
            j
            for j in taken
            if abs(pixels[i, 1] - pixels[j, 1]) < _NAME_SIZE + 3
            and abs(pixels[i, 0] - pixels[j, 0]) < (widths[i] + widths[j]) / 2 + 2
        ]
        if not near:
            taken.append(i)
            texts[i] = escape(relation.row_labels[i], _NAME_LENGTH)
    return texts


def _shade(cluster: int, selected: int | None) -> str:
    return rgba(cluster_colour(cluster), 1.0 if selected in (None, cluster) else 0.2)


def _hover(relation: Relation, clusters: NDArray[np.int64], probability: Floats) -> list[str]:
    out, into = degrees(relation)
    directed = has_directions(relation)
    texts = []
    for i, name in enumerate(relation.row_labels):
        links = f"{out[i]:,} links out, {into[i]:,} in" if directed else _links(int(out[i]))
        texts.append(
            f"<b>{escape(name, 60)}</b><br>cluster {clusters[i] + 1}, probability {probability[i]:.3g}<br>{links}"
        )
    return texts


def _links(n: int) -> str:
    return "no links" if n == 0 else f"{n:,} link{'' if n == 1 else 's'}"


def _numbers(
    relation: Relation,
    place: Floats,
    clusters: NDArray[np.int64],
    size: float,
    names: list[str] | None,
    scale: float,
) -> list[Figure]:
    """Return the numbers of the clusters: above the dots, framed in the colour of the page, where fewest dots are."""
    used, member = np.unique(clusters, return_inverse=True)
    # Many numbers would hide the objects they stand beside.
    few = len(used) <= _FEW
    font, pad = (12, 2) if few else (9, 0)
    frame = 2 * (pad + _FRAME + 1)
    sizes = [(text_room([str(k + 1)], font) + frame, 1.3 * font + frame) for k in used.tolist()]
    written = [i for i, name in enumerate(names or []) if name]
    texts = np.zeros((len(written), 4))
    for line, i in enumerate(written):
        wide = text_room([relation.row_labels[i]], _NAME_SIZE, limit=_NAME_LENGTH)
        above = size / 2 + 0.65 * _NAME_SIZE
        texts[line] = *(place[i] * scale + (0.0, above)), wide / 2, 0.65 * _NAME_SIZE
    at = number_places(place * scale, member, sizes, size / 2, texts) / scale
    look = {"showarrow": False, "xanchor": "center", "yanchor": "middle", "captureevents": False}
    look |= {"bordercolor": PAPER, "borderwidth": _FRAME, "borderpad": pad}
    return [
        {
            "text": f"<b>{k + 1}</b>",
            "x": float(x),
            "y": float(y),
            "bgcolor": cluster_colour(k + 1),
            "font": {"size": font, "color": ink_on(cluster_colour(k + 1))},
            **look,
        }
        for k, (x, y) in zip(used.tolist(), at, strict=True)
    ]


def _layout(place: Floats, notes: list[Figure], height: int) -> Figure:
    numbers = np.array([(note["x"], note["y"]) for note in notes])
    ends = np.vstack([place - _EDGE, place + _EDGE, numbers - 0.7 * _EDGE, numbers + 0.7 * _EDGE])
    low, high = ends.min(axis=0), ends.max(axis=0)
    legend = {"orientation": "h", "x": 0, "xanchor": "left", "y": 0, "yanchor": "top"}
    legend |= {"itemclick": False, "itemdoubleclick": False, "font": {"size": 12, "color": MUTED}}
    return plan_layout(low, high, height, 34, showlegend=True, legend=legend, annotations=notes)
