"""The tree of a run's clusters: which of them a coarser level joins, and what that costs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from acvb_core.core.display import ArrangedNames
from acvb_core.engine.result import Result
from acvb_core.models.irm.answer.tree import ClusterTree, grow_trees, write_nats
from acvb_core.views.parts import name_ticks, plain_axis, plain_name, scatter, text_room
from acvb_core.views.theme import LINE, MUTED, PAPER, Figure, Part, escape, make_figure, part_colours

#: Pixels of a leaf, at least and at most; leaves up to which they are named, and characters of a name.
_ROW, _TALLEST, _NAMED, _LONGEST = 22, 900, 40, 34
#: Characters of a name in a narrow window.
_LONGEST_NARROW = 16
#: Share of the width between two merges at least, and of all these together.
_STEP, _STEPS = 0.02, 0.4
#: Share of the width between two heights that are written.
_TICK = 0.15


class _Join(NamedTuple):
    """A cluster of a level that is made of several of the level before."""

    level: int
    own: int  #: the first of the run's own clusters (from 0) in it
    ends: list[tuple[float, float]]  #: height and place of each of them
    place: float


def tree_figure(result: Result, domain: str) -> Figure:
    """Return the tree of a domain's clusters ("rows" or "cols") as it is grown by default."""
    return dendrogram_figure(grow_trees(result)[domain], 0, result.names[domain])


def dendrogram_figure(tree: ClusterTree, shown: int, names: Sequence[str], *, narrow: bool = False) -> Figure:
    """Return the tree, the run's own clusters on the left; a point carries the number of clusters after its merge.

    `shown`: position of the level whose clusters have colours. `names`: of the run's own clusters. `narrow`: for a
    window as narrow as that of a phone.
    """
    order = _order_leaves(tree)
    across = _spread_heights(tree.heights)
    joins = _list_joins(tree, order, across)
    parts = tree.parts(shown)
    if isinstance(names, ArrangedNames):  # what the tree joins are coarser clusters themselves
        parts = tuple(tuple(own for k in part for own in names.parts[k - 1]) for part in parts)
    shown_colours = part_colours(parts)
    leaves = [shown_colours[k] for k in tree.follow(shown)]
    # Beyond the level shown, merges have no colour.
    colours = [LINE if join.level > shown else leaves[join.own] for join in joins]
    lines: dict[str, tuple[list[float | None], list[float | None]]] = {}
    for join, colour in zip(joins, colours, strict=True):
        x = across[join.level]
        for height, place in join.ends:
            xs, ys = lines.setdefault(colour, ([], []))
            xs += [height, x, x, None]
            ys += [place, place, join.place, None]
    traces = [
        scatter(f"lines-{colour}", xs, ys, "lines", line={"color": colour, "width": 2})
        for colour, (xs, ys) in lines.items()
    ]
    traces += [_draw_leaves(tree, leaves, names, order), _draw_points(tree, joins, across, colours)]
    longest = _LONGEST_NARROW if narrow else _LONGEST
    texts = [plain_name(k + 1, names) if len(order) <= _NAMED else str(k + 1) for k in order]
    ticks = name_ticks(range(len(order)), [escape(text, longest) for text in texts])
    marked = _choose_ticks(tree, across)
    nats = name_ticks([across[at] for at in marked], [write_nats(tree.heights[at]) for at in marked])
    cut = across[shown] if shown + 1 == len(across) else (across[shown] + across[shown + 1]) / 2.0
    limit: Part = {"type": "line", "x0": cut, "x1": cut, "yref": "y domain", "y0": 0, "y1": 1}
    limit["line"] = {"color": MUTED, "width": 1.2, "dash": "dash"}
    return make_figure(
        traces,
        min(max(_ROW * len(order), 120), _TALLEST) + 56,
        margin={"l": text_room(texts, 11, limit=longest) + 12, "r": 24, "t": 8, "b": 44},
        xaxis=plain_axis("nats lost", framed=False, range=[-0.02, 1.04]) | nats,
        yaxis=plain_axis(range=[len(order) - 0.4, -0.6]) | ticks,
        shapes=[limit],
    )


def _order_leaves(tree: ClusterTree) -> NDArray[np.int64]:
    """Return the run's own clusters in an order in which no branches cross."""
    return np.lexsort([tree.follow(at) for at in range(len(tree.levels))])


def _spread_heights(heights: Sequence[float]) -> list[float]:
    """Return the heights as shares of the largest, with a least distance between any two levels."""
    step = min(_STEP, _STEPS / max(len(heights) - 1, 1))
    if not heights[-1]:
        step = 1.0 / max(len(heights) - 1, 1)
    rise = 1.0 - step * (len(heights) - 1)
    top = heights[-1] or 1.0
    return [rise * height / top + step * at for at, height in enumerate(heights)]


def _choose_ticks(tree: ClusterTree, across: Sequence[float]) -> list[int]:
    """Return the levels whose heights are written, so far apart that they can be read; none if all are 0."""
    chosen: list[int] = []
    for at in [len(across) - 1, *(tree.find(number) for number in tree.suggest())]:
        if tree.heights[at] and all(abs(across[at] - across[other]) >= _TICK for other in chosen):
            chosen.append(at)
    return sorted(chosen)


def _list_joins(tree: ClusterTree, order: NDArray[np.int64], across: Sequence[float]) -> list[_Join]:
    """Return the merges, the first one first."""
    ends = {int(k): (0.0, float(at)) for at, k in enumerate(order)}
    joins = []
    for level in range(1, len(tree.levels)):
        above: dict[int, list[tuple[float, float]]] = {}
        for k, parent in enumerate(tree.levels[level].parents.tolist()):
            above.setdefault(parent, []).append(ends[k])
        ends, parts = {}, tree.parts(level)
        for cluster, below in above.items():
            place = float(np.mean([at for _, at in below]))
            if len(below) > 1:
                joins.append(_Join(level, parts[cluster][0] - 1, below, place))
            ends[cluster] = (across[level], place) if len(below) > 1 else below[0]
    return joins


def _draw_leaves(
    tree: ClusterTree, colours: Sequence[str], names: Sequence[str], order: NDArray[np.int64]
) -> Part:
    """Return the run's own clusters as squares in their colours."""
    sizes = np.bincount(tree.levels[0].labels, minlength=len(order))
    texts = [f"cluster {escape(plain_name(k + 1, names))}<br>{sizes[k]:,} objects" for k in order]
    marker = {"symbol": "square", "size": 9, "color": [colours[k] for k in order]}
    numbers = [tree.numbers[0]] * len(order)
    places = list(range(len(order)))
    return scatter("leaves", [0.0] * len(order), places, hovertext=texts, marker=marker, customdata=numbers)


def _draw_points(
    tree: ClusterTree, joins: Sequence[_Join], across: Sequence[float], colours: Sequence[str]
) -> Part:
    """Return the merges as points to click."""
    texts = []
    for join in joins:
        level, lost = tree.levels[join.level], tree.losses[join.level]
        text = f"{level.n_clusters} clusters<br>{write_nats(lost)} nats below the best level"
        texts.append(f"{text}<br>{level.moved:,} objects moved" if level.moved else text)
    return scatter(
        "merges",
        [across[join.level] for join in joins],
        [join.place for join in joins],
        hovertext=texts,
        customdata=[tree.numbers[join.level] for join in joins],
        marker={"size": 10, "color": list(colours), "line": {"width": 1, "color": PAPER}},
    )
