"""The graph of the clusters: discs, more links than expected as lines between them and rings around them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from acvb_core.models.irm.figures.arrangement import name_cluster
from acvb_core.models.irm.figures.network_layout import GroupEdge, GroupGraph
from acvb_core.views.parts import keep_opacity, paper_note, scatter, separate_discs
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
    percent,
    rgba,
)

Floats = NDArray[np.float64]

#: Lines that are drawn at most; the figure says how many there are beyond.
MOST_EDGES = 120
_LARGEST, _SMALLEST = 84.0, 24.0  # pixels across
_LINE, _RING = (12.0, 1.2), (9.0, 1.0)  # pixels of the widest, of the narrowest
_APART = 46.0  # pixels between two discs
#: How far a line leaves the straight one, as a share of its length, if both directions are drawn.
_BEND = 0.13
_STEPS = 24
_PLOT = 0.8  # of the height: what the plot itself has


def group_graph_figure(
    graph: GroupGraph,
    *,
    kind: str = "object",
    selected: int | None = None,
    most: int = MOST_EDGES,
    height: int = 560,
) -> Figure:
    """Return the clusters of a network as discs whose area is their size, joined if they have more links than expected.

    A disc's `customdata` is the number of its cluster (from 1), for selections.

    `kind`: the name of an object. `selected`: cluster (from 1) whose lines stand out.
    `most`: lines at most, those of most links beyond the expected first.
    """
    shown = graph.edges[: max(most, 0)][::-1]  # the widest on top
    across = _diameters(graph.members)
    place = _pixels(graph, across, height)
    top = max([item.excess for item in (*shown, *graph.inner.values())], default=0.0)
    both = {(item.source, item.target) for item in shown}
    paths = [
        _path(place[a], place[b], _BEND if (b, a) in both else 0.0) for a, b in (item[:2] for item in shown)
    ]
    data = [
        _draw_line(item, path, across[item.target] / 2, top, graph, selected)
        for item, path in zip(shown, paths, strict=True)
    ]
    if shown:
        # Points that cannot be seen: what the pointer finds of the lines.
        x, y = np.round([path[len(path) // 2] for path in paths], 2).T
        texts = [_edge_text(item, graph, kind) for item in shown]
        data.append(scatter("edges", x, y, marker={"size": 16, "color": "rgba(0,0,0,0)"}, hovertext=texts))
    data.append(_draw_discs(graph, place, across, top, kind, selected))
    return make_figure(data, height, **_layout(graph, place, across, len(shown), height))


def _diameters(members: NDArray[np.int64]) -> Floats:
    """Return pixels across: areas in proportion to the members, the smallest still with room for a number."""
    used = int((members > 0).sum())
    largest = _LARGEST if used <= 16 else max(_LARGEST * (16 / used) ** 0.4, _SMALLEST)
    return np.asarray(np.maximum(largest * np.sqrt(members / max(int(members.max(initial=0)), 1)), _SMALLEST))


def _pixels(graph: GroupGraph, across: Floats, height: int) -> Floats:
    """Return the places in pixels of a plot of the height that is asked for, no disc over another."""
    used = graph.clusters
    place = np.full((len(across), 2), np.nan)
    if not len(used):
        return place
    inside = graph.positions[used]
    extent = np.ptp(inside, axis=0) if len(used) > 1 else np.ones(2)
    largest = float(across[used].max())
    room = np.array([1.5 * _PLOT * height - largest, _PLOT * height - largest])
    scale = float(np.min(room / np.maximum(extent, 1e-9)))
    scale = min(scale, 4 * _LARGEST)
    gap = _APART if len(used) <= 16 else _APART * 16 / len(used)
    place[used] = separate_discs(inside * scale, across[used] / 2, gap)
    return place


def _width(item: GroupEdge, top: float, widest: float, narrowest: float) -> float:
    share = max(item.excess, 0.0) / top if top > 0.0 and item.ratio > 1.0 else 0.0
    return float(max(widest * np.sqrt(share), narrowest))


def _path(a: Floats, b: Floats, bend: float) -> Floats:
    """Return points on the way from a to b, bent to the left of it, shape (n, 2)."""
    t = np.linspace(0.0, 1.0, _STEPS if bend else 9)[:, None]
    across = np.array([-(b - a)[1], (b - a)[0]])
    control = (a + b) / 2 + 2 * bend * across
    return np.asarray((1 - t) ** 2 * a + 2 * t * (1 - t) * control + t**2 * b)


def _is_clear(item: GroupEdge, selected: int | None) -> bool:
    return selected is None or selected - 1 in (item.source, item.target)


def _draw_line(
    item: GroupEdge, path: Floats, radius: float, top: float, graph: GroupGraph, selected: int | None
) -> Part:
    """Return the line between two discs; with directions, an arrow touches the disc that it goes to."""
    clear = _is_clear(item, selected)
    width = round(_width(item, top, *_LINE), 2)
    colour = cluster_colour(item.source + 1, graph.names) if graph.directed else MUTED
    line = {"width": width, "color": rgba(colour, 0.6 if clear else 0.12)}
    x, y = np.round(path, 2).T
    uid = f"edge-{item.source + 1}-{item.target + 1}"
    if not graph.directed:
        return scatter(uid, x, y, "lines", line=line)
    sizes, away = np.zeros(len(path)), np.zeros(len(path))
    sizes[-1], away[-1] = 9.0 + 1.5 * width, radius + 0.5 * _width(graph.inner[item.target], top, *_RING)
    head: Part = {
        "symbol": "arrow",
        "angleref": "previous",
        "size": sizes.tolist(),
        "standoff": away.tolist(),
    }
    head |= {"opacity": 1, "color": rgba(colour, 1.0 if clear else 0.2), "line": {"width": 0}}
    return scatter(uid, x, y, "lines+markers", line=line, marker=head)


def _draw_discs(
    graph: GroupGraph, place: Floats, across: Floats, top: float, kind: str, selected: int | None
) -> Part:
    used = graph.clusters.tolist()
    beside = {k for item in graph.edges if _is_clear(item, selected) for k in item[:2]}
    clear = [selected is None or k == selected - 1 or k in beside for k in used]
    colours = [cluster_colour(k + 1, graph.names) for k in used]
    inner = [graph.inner[k] for k in used]
    ring = {
        "width": [round(_width(item, top, *_RING), 2) for item in inner],
        "color": [TEXT if graph.exceeds(item) else PAPER for item in inner],
    }
    letters = {
        "size": [float(min(max(0.3 * across[k], 11.0), 18.0)) for k in used],
        "color": [ink_on(colour) if full else TEXT for colour, full in zip(colours, clear, strict=True)],
    }
    marker = {
        "size": np.round(across[used], 1).tolist(),
        "color": [colour if full else _fade(colour) for colour, full in zip(colours, clear, strict=True)],
        "opacity": 1,
        "line": ring,
    }
    x, y = np.round(place[used], 2).T.tolist()
    return scatter(
        "groups",
        x,
        y,
        "markers+text",
        customdata=[k + 1 for k in used],
        text=[f"<b>{k + 1}</b>" for k in used],
        textfont=letters,
        marker=marker,
        hovertext=[_group_text(graph, k, kind) for k in used],
        cliponaxis=False,
        **keep_opacity(),
    )


def _fade(colour: str) -> str:
    """Return the colour mixed with white, as a tone of the page: a disc hides the lines behind it, faded or not."""
    parts = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return "rgb({}, {}, {})".format(*(round(0.3 * part + 0.7 * 255) for part in parts))


def _group_text(graph: GroupGraph, k: int, kind: str) -> str:
    lines = [
        f"<b>cluster {name_cluster(k + 1, graph.names)}</b>",
        _count_objects(int(graph.members[k]), kind),
    ]
    known = graph.entries[k, k] > 0.0
    inside = ["inside:", *_numbers(graph.inner[k], graph)] if known else ["no known pairs inside"]
    return "<br>".join([*lines, *inside])


def _edge_text(item: GroupEdge, graph: GroupGraph, kind: str) -> str:
    joint = " → " if graph.directed else " – "
    names = joint.join(f"cluster {name_cluster(k + 1, graph.names)}" for k in item[:2])
    sizes = joint.join(_count_objects(int(graph.members[k]), kind) for k in item[:2])
    return "<br>".join([f"<b>{names}</b>", sizes, *_numbers(item, graph)])


def _count_objects(n: int, kind: str) -> str:
    return f"{n:,} × {escape(kind, 40)}"


def _numbers(item: GroupEdge, graph: GroupGraph) -> list[str]:
    k, m = item.source, item.target
    entries = float(graph.entries[k, m])
    if graph.counted:
        low, high = graph.low[k, m], graph.high[k, m]
        return [
            f"{_format_count(item.links)} counted, {_format_count(entries)} expected",
            f"{item.ratio:.3g} × expected, {graph.interval} {low:.3g} to {high:.3g}",
        ]
    interval = f"{graph.interval} {percent(graph.low[k, m])} to {percent(graph.high[k, m])}"
    counts = f"{_format_count(item.links)} links in {_format_count(entries)} known pairs"
    lines = [counts, f"density {percent(item.density)}, {interval}"]
    expected, where = graph.between, "on average between clusters"
    if k == m:
        expected, where = graph.overall, "in the whole network"
    if expected > 0.0:
        beyond = f"{_format_count(abs(item.excess))} links {'more' if item.excess >= 0 else 'fewer'}"
        lines.append(f"{item.ratio:.2g} × the {percent(expected)} {where}: {beyond} than expected")
    return lines


def _format_count(value: float) -> str:
    return f"{value:,.0f}" if abs(value - round(value)) < 0.05 else f"{value:,.1f}"


def _layout(graph: GroupGraph, place: Floats, across: Floats, n_shown: int, height: int) -> Part:
    used = graph.clusters
    inside = place[used] if len(used) else np.zeros((1, 2))
    radius = across[used] / 2 if len(used) else np.full(1, 40.0)
    low = (inside - radius[:, None]).min(axis=0) - 18.0
    high = (inside + radius[:, None]).max(axis=0) + 18.0
    # The picture is drawn in pixels of a plot of this height: a small graph is not blown up to fill it.
    lacking = np.maximum(np.array([0.0, _PLOT * height]) - (high - low), 0.0) / 2
    lines = _caption_lines(graph, n_shown)
    notes = [paper_note("<br>".join(lines), 0, 0, yshift=-2, align="left", font={"size": 12, "color": MUTED})]
    return plan_layout(low - lacking, high + lacking, 8 + 17 * len(lines)) | {"annotations": notes}


def plan_layout(low: Floats, high: Floats, bottom: int) -> Part:
    """Return the layout of a plan without axes, from corner `low` to corner `high`, with one scale for both."""
    across, down = ({"visible": False, "range": [float(a), float(b)]} for a, b in zip(low, high, strict=True))
    margin = {"l": 8, "r": 8, "t": 8, "b": bottom}
    down |= {"scaleanchor": "x", "scaleratio": 1}
    return {"margin": margin, "dragmode": "pan", "clickmode": "event+select", "xaxis": across, "yaxis": down}


def _caption_lines(graph: GroupGraph, n_shown: int) -> list[str]:
    # Each is as long as a phone is wide.
    if graph.counted:
        lines = [
            "Lines: more than expected between clusters.",
            "Rings: more than expected inside a cluster.",
            "Only if the 95 % interval is above 1 × expected.",
            "Wider means more above the expected count.",
        ]
    else:
        lines = [
            "Lines: more links than average between clusters.",
            "Rings: more links inside than in the whole network.",
            "Wider means more links above the expected number.",
        ]
    n_edges = len(graph.edges)
    if n_shown < n_edges:
        lines.append(f"Only the strongest {n_shown:,} of {n_edges:,} lines are shown.")
    if not n_edges and len(graph.clusters) > 1:
        usual = "expected" if graph.counted else "average"
        lines.append(f"No two clusters are linked clearly more often than {usual}.")
    empty = len(graph.members) - len(graph.clusters)
    if empty:
        lines.append(f"Not shown: {empty:,} clusters that are no node's most likely cluster.")
    return lines
