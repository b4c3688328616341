"""The tree of topics as a figure: which have the most similar words, and what is joined to show fewer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from acvb_core.views.parts import (
    Labels,
    keep_opacity,
    name_ticks,
    plain_axis,
    plain_name,
    scatter,
    text_room,
    value_axis,
)
from acvb_core.views.theme import LINE, MUTED, TEXT, Figure, escape, make_figure

_ROW, _TOP, _BOTTOM, _FONT = 24, 12, 48, 12  # pixels; of a topic, above and below all of them, of a letter
#: Characters of a name, in a wide window and on a phone.
_NAME, _NARROW_NAME = 40, 18
_COLOUR = "#0072B2"
#: Room left of the first join, as a share of the distance between the first and the last one.
_ROOM = 0.4


def topic_tree_figure(
    steps: NDArray[np.float64],
    order: Sequence[int],
    labels: Labels = None,
    level: int | None = None,
    *,
    narrow: bool = False,
) -> Figure:
    """Return a tree with a topic in each row; a join lies at the distance of the two that it joins.

    Each join's `customdata` is the number of topics that are left after it, for clicks.

    `steps`: as `TopicTree` has them, shape (K - 1, 4).
    `order`: topics (from 1), the first row first.
    `labels`: names of the topics.
    `level`: number of topics that are shown: joins that are made for that are drawn in colour.
    """
    n = len(order)
    made = n - (n if level is None else level)
    place = {topic - 1: (0.0, float(row)) for row, topic in enumerate(order)}  # beyond the left edge
    sizes = dict.fromkeys(place, 1)
    paths: dict[bool, list[list[float]]] = {True: [[], []], False: [[], []]}
    joins: list[tuple[float, float]] = []
    hover = []
    for step, (one, other, height, _) in enumerate(steps.tolist()):
        ends = [place[int(one)], place[int(other)]]
        across, down = paths[step < made]
        across += [ends[0][0], height, height, ends[1][0], np.nan]
        down += [ends[0][1], ends[0][1], ends[1][1], ends[1][1], np.nan]
        place[n + step] = height, (ends[0][1] + ends[1][1]) / 2
        counts = sizes[int(one)], sizes[int(other)]
        sizes[n + step] = sum(counts)
        joins.append(place[n + step])
        hover.append(f"<b>{n - step - 1} topics</b><br>joins {counts[0]} and {counts[1]} at {height:.2f}")
    colours = {True: _COLOUR, False: MUTED}
    traces = [
        scatter(
            f"tree-{own}",
            paths[own][0],
            paths[own][1],
            "lines",
            line={"color": colours[own], "width": 2 if own else 1.3},
        )
        for own in (False, True)
    ]
    points = scatter(
        "joins", [x for x, _ in joins], [y for _, y in joins], hovertext=hover,
        customdata=[n - step - 1 for step in range(len(joins))],
        marker={"size": 11, "color": [colours[step < made] for step in range(len(joins))]},
    )  # fmt: skip
    limit = _NARROW_NAME if narrow else _NAME
    names = [plain_name(topic, labels, long=True) for topic in order]
    rows = plain_axis(**name_ticks(range(n), [escape(name, limit) for name in names]), range=[n - 0.4, -0.6])
    heights = steps[:, 2] if len(steps) else np.ones(1)
    low, high = float(heights.min()), max(float(heights.max()), 1e-9)
    low = max(low - _ROOM * (high - low), 0.0)
    right = high + 0.06 * (high - low or 1.0)
    return make_figure(
        [*traces, points | keep_opacity()],
        _TOP + _BOTTOM + _ROW * n,
        margin={"l": text_room(names, _FONT, limit=limit) + 12, "r": 16, "t": _TOP, "b": _BOTTOM},
        dragmode=False,
        clickmode="event+select",
        xaxis=value_axis("mean distance of their words (0 the same, 1 none in common)", range=[low, right]),
        yaxis=rows | {"tickfont": {"size": _FONT, "color": TEXT}, "showline": True, "linecolor": LINE},
    )
