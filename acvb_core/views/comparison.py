"""Two runs side by side: how alike their clusterings or parts are, and which objects their clusters share."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from acvb_core.evaluate.agreement import contingency
from acvb_core.evaluate.alignment import number_alike, number_partners
from acvb_core.views.parts import (
    THREE_BLUES,
    Labels,
    heat_map,
    name_ticks,
    paper_note,
    plain_axis,
    text_room,
    topic_name,
    user_name,
)
from acvb_core.views.theme import (
    GRID,
    OTHERS_COLOUR,
    TEXT,
    Figure,
    Part,
    cluster_colour,
    escape,
    make_figure,
    rgba,
)

_MEASURES = {"ari": "adjusted Rand index", "nmi": "normalised mutual information"}
#: Clusters of a run that an alluvial figure shows one by one; the smaller ones share "others".
MOST_CLUSTERS = 14
_PAD, _TOP, _BOTTOM = 14, 40, 16  # pixels
#: Parts with their similarities written in, parts that are all named, and characters of a name.
_FEW, _NAMED, _LONGEST = 14, 30, 22
#: Characters of the name of a cluster under the pointer.
_HOVER_LENGTH = 60
#: Names of the clusters of two runs; empty for clusters without.
ClusterNames = tuple[Sequence[str], Sequence[str]]


def agreement_figure(values: pd.DataFrame, measure: str, *, height: int | None = None) -> Figure:
    """Return how alike runs are, run by run, as an annotated heat map.

    `values`: shape (n, n); as `agreement_tables` gives it; the names are shown in the order given.
    """
    names = [escape(name, 28) for name in values.index]
    n = len(names)
    trace = heat_map(
        f"agreement-{measure}",
        range(n),
        range(n),
        values.to_numpy(),
        scale=THREE_BLUES,
        gap=2,
        texttemplate="%{z:.2f}",
        hovertext=[[f"{one}<br>{other}" for other in names] for one in names],
        hovertemplate=f"%{{hovertext}}<br>{_MEASURES[measure]} %{{z:.4f}}<extra></extra>",
        # Each cell says its value, and a phone has no room for a scale beside them.
        showscale=False,
    )
    room = text_room(map(str, values.index), 12, limit=28) + 12
    upright = n * room > 240
    axis = plain_axis(**name_ticks(range(n), names), automargin=True)
    return make_figure(
        [trace],
        height or max(240, 44 * n + room),
        # Plotly measures the names: the numbers need what is left of a phone's width.
        margin={"l": 8, "r": 8, "t": 12, "b": 8},
        xaxis=axis | {"tickangle": -90 if upright else 0},
        yaxis=axis | {"autorange": "reversed"},
    )


def partner_name(own: int, number: int, names: Labels = None) -> str:
    """Return the number that a part of another run has by its partner, and its own name, not escaped: "3 · sport"."""
    name = user_name(own, names)
    return f"{number} · {name}" if name else str(number)


@dataclass(frozen=True, eq=False)
class ObjectFlow:
    """Two clusterings of the same objects, small clusters put together."""

    #: `left`, `right`: numbers (from 1) of the clusters shown one by one; 0 for "others", at the end.
    left: list[int]
    right: list[int]
    objects: NDArray[np.int64]  #: shape (len(left), len(right)); objects in both clusters of a pair
    folded: tuple[int, int]  #: clusters in each "others"


def object_flow(one: NDArray[np.int64], other: NDArray[np.int64], *, most: int = MOST_CLUSTERS) -> ObjectFlow:
    """Return where the objects of each cluster of one labelling (numbered from 0) are in the other."""
    table = contingency(one, other)
    left, left_folded = _group_small(table.sum(axis=1), most)
    right, right_folded = _group_small(table.sum(axis=0), most)
    rows = [k + 1 if k + 1 in left else 0 for k in table.index]
    columns = [k + 1 if k + 1 in right else 0 for k in table.columns]
    folded = table.set_axis(rows, axis=0).set_axis(columns, axis=1).groupby(level=0).sum()
    folded = folded.T.groupby(level=0).sum().T.reindex(index=left, columns=right)
    return ObjectFlow(left, right, folded.to_numpy(), (left_folded, right_folded))


def _group_small(sizes: pd.Series, most: int) -> tuple[list[int], int]:
    """Return the numbers (from 1) of the largest clusters, 0 for "others", and how many these others are."""
    if len(sizes) <= most:
        return [int(k) + 1 for k in sizes.index], 0
    largest = sizes.sort_values(ascending=False, kind="stable").index[: most - 1]
    return [*sorted(int(k) + 1 for k in largest), 0], len(sizes) - most + 1


def _number_partners(
    one: NDArray[np.int64], other: NDArray[np.int64], names: ClusterNames
) -> tuple[NDArray[np.int64], list[str], list[str]]:
    """Return another clustering with the numbers of the first (`number_alike`), and the names of both.

    `one`, `other`: shape (n,); clusters of the same objects, from 0.
    `names`: of the clusters of each.
    Returns: shape (n,), from 0; and the names of both by their numbers, escaped for Plotly. Those of the other run say
      which number the cluster has on the page of that run, if it is another one.
    """
    shape = int(one.max(initial=-1)) + 1, int(other.max(initial=-1)) + 1
    numbers = number_alike(one, other, shape)
    first = [topic_name(k + 1, names[0], limit=_HOVER_LENGTH) for k in range(shape[0])]
    second = [""] * int(numbers.max(initial=0))
    for own, number in enumerate(numbers.tolist(), start=1):
        text = escape(partner_name(own, number, names[1]), _HOVER_LENGTH)
        second[number - 1] = text if own == number else f"{text} (number {own} on its own page)"
    return numbers[other] - 1, first, second


def alluvial_figure(
    one: NDArray[np.int64],
    other: NDArray[np.int64],
    names: tuple[str, str],
    *,
    cluster_names: ClusterNames = ((), ()),
    most: int = MOST_CLUSTERS,
    height: int = 520,
) -> Figure:
    """Return the objects of two clusterings as bands from the clusters of one to those of the other.

    Clusters that share most objects have one number and one colour.

    `one`, `other`: shape (n,); clusters of the same objects, numbered from 0.
    `names`: names of the two runs.
    `cluster_names`: of the clusters of each run, by their own numbers; shown under the pointer.
    `most`: clusters on each side; the smallest beyond that share "others".
    """
    other, *called = _number_partners(one, other, cluster_names)
    flow = object_flow(one, other, most=most)
    room = height - _TOP - _BOTTOM
    n_most = max(len(flow.left), len(flow.right))
    scale = (room - (n_most - 1) * _PAD) / max(int(flow.objects.sum()), 1)
    sources, targets = np.nonzero(flow.objects)
    colours = [cluster_colour(k) if k else OTHERS_COLOUR for k in (*flow.left, *flow.right)]
    labels, texts = [], []
    for clusters, folded, known in zip((flow.left, flow.right), flow.folded, called, strict=True):
        labels += [str(k) if k else f"{folded} others" for k in clusters]
        texts += [f"cluster {known[k - 1]}" if k else f"{folded} other clusters" for k in clusters]
    middles = [
        *_middles(flow.objects.sum(axis=1), scale, room),
        *_middles(flow.objects.sum(axis=0), scale, room),
    ]
    trace = {
        "type": "sankey",
        "arrangement": "fixed",
        "valueformat": ",d",
        "node": {
            "label": labels,
            "color": colours,
            "pad": _PAD,
            "thickness": 16,
            "line": {"width": 0},
            "x": [0.001] * len(flow.left) + [0.999] * len(flow.right),
            "y": middles,
            "customdata": texts,
            "hovertemplate": "%{customdata}: %{value:,d} objects<extra></extra>",
        },
        "link": {
            "source": sources.tolist(),
            "target": (targets + len(flow.left)).tolist(),
            "value": flow.objects[sources, targets].tolist(),
            "color": [rgba(colours[k], 0.38) for k in sources],
            "hovertemplate": "%{value:,d} objects<br>from %{source.customdata}<br>to %{target.customdata}"
            "<extra></extra>",
        },
        "textfont": {"size": 12, "color": TEXT, "shadow": "none"},
        "uid": "alluvial",
    }
    notes = [
        paper_note(f"<b>{escape(name, 40)}</b>", x, 1, xanchor=anchor, yanchor="bottom", yshift=8)
        | {"font": {"size": 13, "color": TEXT}}
        for name, x, anchor in ((names[0], 0, "left"), (names[1], 1, "right"))
    ]
    margin = {"l": 12, "r": 12, "t": _TOP, "b": _BOTTOM}
    return make_figure([trace], height, margin=margin, annotations=notes)


def _middles(sizes: NDArray[np.int64], scale: float, room: int) -> list[float]:
    """Return the middle of each node as a share of the height; the space left over is divided between them."""
    heights = sizes * scale
    gap = (room - heights.sum()) / max(len(sizes) - 1, 1)
    middles = np.cumsum(heights + gap) - gap - heights / 2
    return np.clip(middles / room, 0.001, 0.999).tolist()


def contingency_figure(
    one: NDArray[np.int64],
    other: NDArray[np.int64],
    names: tuple[str, str],
    *,
    cluster_names: ClusterNames = ((), ()),
    height: int = 460,
) -> Figure:
    """Return how many objects each cluster of one labelling shares with each of the other, as a heat map.

    The arguments are those of `alluvial_figure`, and so are the numbers of the clusters.
    """
    other, first, second = _number_partners(one, other, cluster_names)
    table = contingency(one, other)
    counts = table.to_numpy()
    trace = heat_map(
        "contingency",
        [str(k + 1) for k in table.columns],
        [str(k + 1) for k in table.index],
        # Shares of the row: a large cluster must not hide how a small one is split.
        counts / counts.sum(axis=1, keepdims=True),
        gap=1,
        bar="share of the row",
        text=[[f"{n:,}" if n else "" for n in line] for line in counts.tolist()],
        texttemplate="%{text}" if max(counts.shape) <= 16 else "",
        hovertext=[
            [f"cluster {first[k]}<br>cluster {second[j]}" for j in table.columns] for k in table.index
        ],
        hovertemplate="%{hovertext}<br>%{text} objects (%{z:.1%} of the first)<extra></extra>",
    )
    trace["colorbar"] |= {"tickformat": ".0%"}
    across, down = (
        plain_axis(f"clusters of {escape(name, 40)}", type="category") for name in (names[1], names[0])
    )
    return make_figure(
        [trace],
        height,
        margin={"l": 56, "r": 8, "t": 52, "b": 8},
        plot_bgcolor=GRID,
        xaxis=across | {"side": "top"},
        yaxis=down | {"autorange": "reversed"},
    )


def similarity_figure(
    similarity: ArrayLike,
    one: ArrayLike,
    other: ArrayLike,
    names: tuple[str, str],
    *,
    part: str,
    measure: str,
    scale: str,
    labels: Labels = None,
    other_labels: Labels = None,
) -> Figure:
    """Return the similarities of the parts of two runs, as a heat map with the pairs framed along its diagonal.

    `similarity`: shape (K, L); of each part of the first run with each of the other, 0 to 1.
    `one`, `other`: shape (n_pairs,); the pairs (0-based).
    `names`: names of the two runs.
    `part`: word for a part: "topic".
    `measure`, `scale`: name of the similarity under the pointer, and beside the colours.
    `labels`, `other_labels`: names of the parts of each run. Parts of the other run have the numbers of their partners.
    """
    given = np.asarray(similarity, dtype=np.float32)
    pairs = list(zip(np.asarray(one).tolist(), np.asarray(other).tolist(), strict=True))
    rows = [i for i, _ in pairs] + sorted(set(range(given.shape[0])) - {i for i, _ in pairs})
    columns = [j for _, j in pairs] + sorted(set(range(given.shape[1])) - {j for _, j in pairs})
    left = [topic_name(i + 1, labels, limit=_LONGEST) for i in rows]
    numbers = number_partners(one, other, given.shape)
    above = [escape(partner_name(j + 1, numbers[j], other_labels), _LONGEST) for j in columns]
    beside, over = (text_room(map(html.unescape, called), 11, limit=_LONGEST) for called in (left, above))
    first, second = (escape(name, 40) for name in names)
    few = max(given.shape) <= _FEW
    trace = heat_map(
        f"{part}-similarity",
        above,
        left,
        given[np.ix_(rows, columns)],
        scale=THREE_BLUES,
        gap=1 if few else 0,
        bar=scale,
        texttemplate="%{z:.2f}" if few else "",
        hovertemplate=f"{part} %{{y}} of {first}<br>{part} %{{x}} of {second}<br>"
        f"{measure} %{{z:.3f}}<extra></extra>",
    )
    frame = {"type": "rect", "line": {"color": TEXT, "width": 2 if few else 1}}
    ends = [(at - 0.5, at + 0.5) for at in range(len(pairs))]
    more: Part = {"nticks": 24} if max(given.shape) > _NAMED else {}
    upright = over > 30
    over = over if upright else 16
    across, down = (plain_axis(f"{part}s of {name}", type="category", **more) for name in (second, first))
    return make_figure(
        [trace],
        max(360, min(660, 26 * len(rows) + over + 80)),
        margin={"l": beside + 42, "r": 8, "t": over + 42, "b": 8},
        plot_bgcolor=GRID,
        shapes=[frame | {"x0": low, "x1": high, "y0": low, "y1": high} for low, high in ends],
        xaxis=across | {"side": "top", "tickangle": -90 if upright else 0},
        yaxis=down | {"autorange": "reversed"},
    )
