"""A network object by object: dots in their clusters' colours, links as thin lines or as one picture below the dots."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from acvb_core.core.protocols import Posterior
from acvb_core.data.relation import Relation
from acvb_core.models.irm.figures.arrangement import degrees, name_cluster
from acvb_core.models.irm.figures.group_graph import plan_layout
from acvb_core.models.irm.figures.network_layout import GroupGraph, node_layout
from acvb_core.models.irm.scores import has_directions, links_of
from acvb_core.views.parts import keep_opacity, legend_entry, place_picture, png_uri, scatter, text_room
from acvb_core.views.theme import (
    MUTED,
    PAPER,
    TEXT,
    Figure,
    Part,
    cluster_colour,
    escape,
    ink_on,
    make_figure,
    rgba,
)

Floats = NDArray[np.float64]

#: Probability of its cluster below which an object is marked as uncertain.
SURE = 0.9
#: Objects up to which names are written beside dots with room for them; links up to which their direction is drawn.
NAMED, _DIRECTED_LINKS = 200, 1_500
_NAME_LENGTH, _NAME_SIZE = 18, 10
_FEW = 16  # clusters whose numbers are written large
_HEIGHT = 640  # pixels
#: Height of the plot itself, in heights of the figure, and its least width in its heights.
_PLOT, _WIDE = 0.86, 1.5
_EDGE = 1.4  # room around the dots, in places between neighbours
_MOST_LINES = 4_000  # links up to which each is a line of the figure; more are one picture below the dots
_PICTURE = 1_600  # pixels of the longer side of that picture
_AT_ONCE = 2_000  # links of it that are drawn at once
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

    `graph`: of the same posterior; it places the clusters. `selected`: cluster (from 1) that stands out.
    Raises ParameterError: the network is too large for a picture, or no network.
    """
    clusters = posterior.labels("rows")
    n = len(clusters)
    place = node_layout(relation, clusters, graph.positions)
    probability = np.asarray(posterior["rows"], dtype=np.float64)[np.arange(n), clusters]
    rows, columns = links_of(relation)
    many = len(rows) > _MOST_LINES
    size = float(np.clip(150.0 / np.sqrt(n), 4.5, 15.0)) * height / _HEIGHT
    names = _choose_names(relation, place, height) if n <= NAMED else None
    data = [] if many else [_draw_lines(place, rows, columns)]
    if graph.directed and 0 < len(rows) <= _DIRECTED_LINKS:
        data.append(_draw_heads(place, rows, columns))
    texts = _describe_nodes(relation, clusters, probability, graph.names)
    colours = [cluster_colour(k + 1, graph.names) for k in range(len(graph.members))]
    shades = [rgba(colours[k], 1.0 if selected in (None, k + 1) else 0.2) for k in clusters.tolist()]
    data += _draw_dots(texts, place, probability, size, shades, names)
    low, high = place.min(axis=0) - _EDGE, place.max(axis=0) + np.array([_EDGE, 2 * _EDGE])
    return make_figure(
        data,
        height,
        **plan_layout(low, high, 34),
        showlegend=True,
        legend={"itemclick": False, "itemdoubleclick": False, "font": {"size": 12, "color": MUTED}},
        annotations=_number_clusters(place, clusters, colours, size, names),
        images=[_draw_haze(place, rows, columns)] if many else [],
    )


def _draw_lines(place: Floats, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> Part:
    """Return one trace for all links: two ends and a gap for each."""
    ends = np.full((len(rows), 3, 2), np.nan, dtype=np.float32)
    ends[:, 0], ends[:, 1] = place[rows], place[columns]
    x, y = ends.reshape(-1, 2).T
    return scatter("links", x, y, "lines", line={"width": 1, "color": rgba(MUTED, _opacity(len(rows)))})


def _opacity(n_links: int) -> float:
    """Return the opacity of one line: few are lines, many a haze in which single ones cannot be followed."""
    return float(np.clip(6.0 / np.sqrt(n_links + 1.0), 0.05, 0.55))


def _draw_haze(place: Floats, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> Part:
    """Return all links as one picture, darker where more of them cross.

    Browsers draw so many lines by WebGL alone, which the app's content policy does not allow.
    """
    low, size = place.min(axis=0), np.maximum(np.ptp(place, axis=0), 1.0)
    width, height = np.ceil(size * _PICTURE / size.max()).astype(np.int64).tolist()
    # The first row of a picture is its highest.
    ends = np.where([True, False], place - low, low + size - place) * (_PICTURE / size.max())
    ends = np.clip(ends, 0, [width - 1, height - 1]).astype(np.float32)
    count = np.zeros(height * width)
    order = np.argsort(np.abs(ends[rows] - ends[columns]).max(axis=1))  # links at once are about equally long
    for some in np.array_split(order, max(1, len(order) // _AT_ONCE)):
        start, way = ends[rows[some]], ends[columns[some]] - ends[rows[some]]
        points = np.abs(way).max(axis=1).astype(np.int64) + 1  # one a pixel
        step = np.arange(points.max())[:, None]
        x, y = ((start[:, axis] + step * (way[:, axis] / points)).astype(np.int64) for axis in (0, 1))
        count += np.bincount((y * width + x)[step < points], minlength=len(count))
    shade = np.rint((_SHADES - 1) * (1.0 - (1.0 - _opacity(len(rows))) ** count)).astype(np.uint8)
    image = Image.frombytes("P", (width, height), shade.tobytes())
    image.putpalette(list(bytes.fromhex(MUTED[1:])) * _SHADES)
    image.info["transparency"] = bytes(np.linspace(0, 255, _SHADES).astype(np.uint8))
    return place_picture(png_uri(image, least=1), low[0], low[1] + size[1], size[0], size[1])


def _draw_heads(place: Floats, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> Part:
    """Return small arrows on the way to where each link goes; links between close neighbours have no room."""
    delta = place[columns] - place[rows]
    long = np.hypot(*delta.T) > _SHORTEST_ARROW
    at = (place[rows] + 0.62 * delta)[long].astype(np.float32)
    angle = np.round(np.degrees(np.arctan2(delta[long, 0], delta[long, 1])), 1)
    marker = {"symbol": "triangle-up", "size": 5, "angle": angle, "color": rgba(MUTED, 0.55)}
    return scatter("heads", at[:, 0], at[:, 1], marker=marker | {"line": {"width": 0}})


def _draw_dots(
    texts: list[str],
    place: Floats,
    probability: Floats,
    size: float,
    shades: list[str],
    names: list[str] | None,
) -> list[Part]:
    """Return the objects as dots; `shades` has the colour of each."""
    traces: list[Part] = []
    for uid, group in (
        ("certain", np.flatnonzero(probability >= SURE)),
        ("uncertain", np.flatnonzero(probability < SURE)),
    ):
        if not len(group):
            continue
        hollow, colours = uid == "uncertain", [shades[i] for i in group]
        outline = {"width": max(size / 4, 2.0), "color": colours} if hollow else {"width": 1, "color": PAPER}
        marker = {"size": size, "opacity": 1, "color": PAPER if hollow else colours, "line": outline}
        x, y = place[group].T
        hover: Part = {"customdata": group, "hovertext": [texts[i] for i in group]}
        trace = scatter(uid, x, y, marker=marker, **hover, **keep_opacity())
        if names:
            font = {"size": _NAME_SIZE, "color": TEXT}
            trace |= {"text": [names[i] for i in group], "textposition": "top center", "textfont": font}
            trace["mode"] = "markers+text"
        traces.append(trace)
        if hollow:
            # A dot of its own: the trace's would have the colour of its first object.
            dot = {"size": 11, "color": PAPER, "line": {"width": 3, "color": MUTED}}
            name = f"cluster uncertain (probability below {SURE:g})"
            traces.append(legend_entry("legend-uncertain", name, dot))
    return traces


def _choose_names(relation: Relation, place: Floats, height: int) -> list[str]:
    """Return the names that are written: those of most links first, none over another (the pointer shows all)."""
    room = np.ptp(place, axis=0) + 2 * _EDGE
    pixels = place * (_PLOT * height / max(room[1], room[0] / _WIDE))
    degree = np.sum(degrees(relation), axis=0)
    widths = np.array([text_room([name], _NAME_SIZE, limit=_NAME_LENGTH) for name in relation.row_labels])
    texts = [""] * len(place)
    taken: list[int] = []
    for i in np.argsort(-degree, kind="stable").tolist():
        x, y = np.abs(pixels[taken] - pixels[i]).T
        if not ((y < _NAME_SIZE + 3) & (x < (widths[taken] + widths[i]) / 2 + 2)).any():
            taken.append(i)
            texts[i] = escape(relation.row_labels[i], _NAME_LENGTH)
    return texts


def _describe_nodes(
    relation: Relation, clusters: NDArray[np.int64], probability: Floats, names: Sequence[str]
) -> list[str]:
    out, into = degrees(relation)
    directed = has_directions(relation)
    shown = [name_cluster(k, names) for k in range(1, int(clusters.max()) + 2)]
    texts = []
    for i, name in enumerate(relation.row_labels):
        links = f"{out[i]:,} link{'' if out[i] == 1 else 's'}" if out[i] else "no links"
        links = f"{out[i]:,} links out, {into[i]:,} in" if directed else links
        texts.append(
            f"<b>{escape(name, 60)}</b><br>cluster {shown[clusters[i]]}, probability {probability[i]:.3g}<br>{links}"
        )
    return texts


def _number_clusters(
    place: Floats, clusters: NDArray[np.int64], colours: list[str], size: float, names: list[str] | None
) -> list[Part]:
    """Return the numbers of the clusters, each on its colour above the highest dot of its cluster."""
    used = np.unique(clusters)
    font, pad = (12, 2) if len(used) <= _FEW else (9, 0)
    notes = []
    for k in used.tolist():
        own = np.flatnonzero(clusters == k)
        top = own[place[own, 1].argmax()]
        above = size / 2 + (_NAME_SIZE + 4 if names and names[top] else 0) + 2
        look = {"bgcolor": colours[k], "font": {"size": font, "color": ink_on(colours[k])}, "borderpad": pad}
        x, y = place[top].tolist()
        note = {"text": f"<b>{k + 1}</b>", "x": x, "y": y, "yanchor": "bottom", "yshift": above}
        notes.append(note | look | {"captureevents": False})
    return notes
