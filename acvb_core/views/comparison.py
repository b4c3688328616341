"""Runs beside each other: how alike their clusterings are, and where their objects go."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from acvb_core.evaluate.agreement import contingency
from acvb_core.views.heat_map import THREE_BLUES, heat_map
from acvb_core.views.labels import text_room
from acvb_core.views.theme import (
    GRID,
    MUTED,
    OTHERS_COLOUR,
    TEXT,
    Figure,
    base_layout,
    cluster_colour,
    colour_bar,
    escape,
    rgba,
)

_MEASURES = {"ari": "adjusted Rand index", "nmi": "normalised mutual information"}
#: Clusters of a run that an alluvial figure shows one by one; the smaller ones share "others".
MOST_CLUSTERS = 14
_PAD, _TOP, _BOTTOM = 14, 40, 16  # pixels


def agreement_figure(values: pd.DataFrame, measure: str, *, height: int | None = None) -> Figure:
    """Return how alike runs are, run by run, as an annotated heat map.

    `values`: shape (n, n); as `Comparison.agreement` gives it; the names are shown in the order given.
    """
    names = [escape(name, 28) for name in values.index]
    n = len(names)
    trace = heat_map(
        f"agreement-{measure}",
        range(n),
        range(n),
        values.to_numpy().tolist(),
        scale=THREE_BLUES,
        gap=2,
        texttemplate="%{z:.2f}",
        textfont={"size": 11},
        hovertext=[[f"{one}<br>{other}" for other in names] for one in names],
        hovertemplate=f"%{{hovertext}}<br>{_MEASURES[measure]} %{{z:.4f}}<extra></extra>",
        # Each cell says its value, and a phone has no room for a scale beside them.
        showscale=False,
    )
    axis = {"tickvals": list(range(n)), "ticktext": names, "showgrid": False, "zeroline": False}
    axis |= {"ticks": "", "ticklabelstandoff": 4, "tickfont": {"size": 12}, "automargin": True}
    room = text_room([str(name) for name in values.index], 12, limit=28) + 12
    upright = n * room > 240
    layout = base_layout(
        height or max(240, 44 * n + room),
        # Plotly measures the names: what is left of a phone's width must hold the numbers.
        margin={"l": 8, "r": 8, "t": 12, "b": 8},
        xaxis=axis | {"tickangle": -90 if upright else 0},
        yaxis=axis | {"autorange": "reversed"},
    )
    return {"data": [trace], "layout": layout}


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
    rows = np.array([left.index(k + 1) if k + 1 in left else len(left) - 1 for k in table.index])
    columns = np.array([right.index(k + 1) if k + 1 in right else len(right) - 1 for k in table.columns])
    objects = np.zeros((len(left), len(right)), dtype=np.int64)
    np.add.at(objects, (rows[:, None], columns[None, :]), table.to_numpy())
    return ObjectFlow(left, right, objects, (left_folded, right_folded))


def _group_small(sizes: pd.Series, most: int) -> tuple[list[int], int]:
    """Return the numbers (from 1) of the largest clusters, 0 for "others", and how many these others are."""
    if len(sizes) <= most:
        return [int(k) + 1 for k in sizes.index], 0
    largest = sizes.sort_values(ascending=False, kind="stable").index[: most - 1]
    return [*sorted(int(k) + 1 for k in largest), 0], len(sizes) - most + 1


def alluvial_figure(
    one: NDArray[np.int64],
    other: NDArray[np.int64],
    names: tuple[str, str],
    *,
    most: int = MOST_CLUSTERS,
    height: int = 520,
) -> Figure:
    """Return the objects of two clusterings as bands from the clusters of one to those of the other.

    `one`, `other`: shape (n,); clusters of the same objects, numbered from 0.
    `names`: names of the two runs.
    `most`: clusters on each side; the smallest beyond that share "others".
    """
    bands = object_flow(one, other, most=most)
    room = height - _TOP - _BOTTOM
    n_most = max(len(bands.left), len(bands.right))
    scale = (room - (n_most - 1) * _PAD) / max(int(bands.objects.sum()), 1)
    sources, targets = np.nonzero(bands.objects)
    numbers = [*bands.left, *bands.right]
    folded = [bands.folded[0]] * len(bands.left) + [bands.folded[1]] * len(bands.right)
    colours = [cluster_colour(k) if k else OTHERS_COLOUR for k in numbers]
    labels = [str(k) if k else f"{n} others" for k, n in zip(numbers, folded, strict=True)]
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
            "x": [0.001] * len(bands.left) + [0.999] * len(bands.right),
            "y": [
                *_middles(bands.objects.sum(axis=1), scale, room),
                *_middles(bands.objects.sum(axis=0), scale, room),
            ],
            "hovertemplate": "cluster %{label}: %{value:,d} objects<extra></extra>",
        },
        "link": {
            "source": sources.tolist(),
            "target": (targets + len(bands.left)).tolist(),
            "value": bands.objects[sources, targets].tolist(),
            "color": [rgba(colours[k], 0.38) for k in sources],
            "hovertemplate": "%{value:,d} objects<br>from %{source.label} to %{target.label}<extra></extra>",
        },
        "textfont": {"size": 12, "color": TEXT, "shadow": "none"},
        "uid": "alluvial",
    }
    heading = {"y": 1, "xref": "paper", "yref": "paper", "yanchor": "bottom", "yshift": 8, "showarrow": False}
    layout = base_layout(
        height,
        margin={"l": 12, "r": 12, "t": _TOP, "b": _BOTTOM},
        annotations=[
            heading | {"text": f"<b>{escape(name, 40)}</b>", "x": x, "xanchor": anchor, "font": {"size": 13}}
            for name, x, anchor in ((names[0], 0, "left"), (names[1], 1, "right"))
        ],
    )
    return {"data": [trace], "layout": layout}


def _middles(sizes: NDArray[np.int64], scale: float, room: int) -> list[float]:
    """Return the middle of each node as a share of the height; the space left over is divided between them."""
    heights = sizes * scale
    gap = (room - heights.sum()) / max(len(sizes) - 1, 1)
    middles = np.cumsum(heights + gap) - gap - heights / 2
    return np.clip(middles / room, 0.001, 0.999).tolist()


def contingency_figure(
    one: NDArray[np.int64], other: NDArray[np.int64], names: tuple[str, str], *, height: int = 460
) -> Figure:
    """Return how many objects each cluster of one labelling shares with each of the other, as a heat map."""
    table = contingency(one, other)
    counts = table.to_numpy()
    small = max(counts.shape) <= 16
    trace = heat_map(
        "contingency",
        [str(k + 1) for k in table.columns],
        [str(k + 1) for k in table.index],
        # Shares of the row: a large cluster must not hide how a small one is split.
        (counts / counts.sum(axis=1, keepdims=True)).tolist(),
        gap=1,
        text=[[f"{n:,}" if n else "" for n in line] for line in counts.tolist()],
        texttemplate="%{text}" if small else "",
        hovertemplate="cluster %{y} and cluster %{x}: %{text} objects (%{z:.1%} of the first)<extra></extra>",
        colorbar=colour_bar("share of the row", tickformat=".0%"),
    )
    axis = {"type": "category", "showgrid": False, "ticks": "", "tickangle": 0, "ticklabelstandoff": 4}
    title = {"font": {"size": 12, "color": MUTED}, "standoff": 6}
    layout = base_layout(
        height,
        margin={"l": 56, "r": 8, "t": 52, "b": 8},
        plot_bgcolor=GRID,
        xaxis=axis | {"side": "top", "title": title | {"text": f"clusters of {escape(names[1], 40)}"}},
        yaxis=axis
        | {"autorange": "reversed", "title": title | {"text": f"clusters of {escape(names[0], 40)}"}},
    )
    return {"data": [trace], "layout": layout}
