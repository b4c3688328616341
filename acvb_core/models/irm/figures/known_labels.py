"""Clusters against what is known of the objects beforehand: a table of shares with the counts written in."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from acvb_core.evaluate.agreement import LabelAgreement
from acvb_core.models.irm.figures.marks import caption
from acvb_core.views.axes import axis_title
from acvb_core.views.heat_map import heat_map
from acvb_core.views.labels import text_room
from acvb_core.views.theme import GRID, Figure, base_layout, colour_bar, escape

#: Columns of labels on a wide page and on a phone; the rarer labels share the last one.
MOST_LABELS, MOST_NARROW = 30, 12
#: Labels and clusters up to which counts are written into the cells.
MOST_ANNOTATED = 24
_NAME_LENGTH = 24
_ROW = 26  # pixels


def label_figure(agreement: LabelAgreement, attribute: str, *, most: int = MOST_LABELS) -> Figure:
    """Return which labels the objects of each cluster have, as a heat map of shares of the cluster.

    Labels stand in the order of the cluster that most of them are in, so that agreement is a diagonal.

    `attribute`: the name of the labels ("department").
    `most`: columns; the rarer labels share the last one.
    """
    names, counts = _columns(agreement, most)
    clusters = [str(k) for k in agreement.table.index]
    sums = counts.sum(axis=1, keepdims=True)
    # Shares of the cluster: a large one must not hide what a small one is made of.
    share = np.divide(counts, sums, out=np.zeros(counts.shape), where=sums > 0)
    trace = heat_map(
        "known-labels",
        range(len(names)),
        clusters,
        share.tolist(),
        gap=1,
        text=[[f"{n:,}" if n else "" for n in line] for line in counts.tolist()],
        texttemplate="%{text}" if max(counts.shape, default=0) <= MOST_ANNOTATED else "",
        hovertext=[
            [_hover(cluster, name, n, of, attribute) for name, n in zip(names, line, strict=True)]
            for cluster, line, of in zip(clusters, counts.tolist(), sums.ravel().tolist(), strict=True)
        ],
        hovertemplate="%{hovertext}<extra></extra>",
        colorbar=colour_bar(tickformat=".0%"),
    )
    upright = sum(text_room([name], 12) + 10 for name in names) > 560
    room = (text_room(names, 12, limit=_NAME_LENGTH) if upright else 16) + 40
    axis = {"showgrid": False, "zeroline": False, "ticks": "", "ticklabelstandoff": 4}
    layout = base_layout(
        max(300, room + 56 + _ROW * len(clusters)),
        margin={"l": 56, "r": 34, "t": room, "b": 50},
        plot_bgcolor=GRID,
        xaxis=axis
        | {
            "side": "top",
            "tickvals": list(range(len(names))),
            "ticktext": [escape(name, _NAME_LENGTH) for name in names],
            "tickangle": -90 if upright else 0,
            "title": axis_title(escape(attribute, 40)),
        },
        yaxis=axis | {"type": "category", "autorange": "reversed", "title": axis_title("cluster")},
        annotations=[caption(_caption_lines(agreement), -8)],
    )
    return {"data": [trace], "layout": layout}


def _columns(agreement: LabelAgreement, most: int) -> tuple[list[str], NDArray[np.int64]]:
    """Return the labels that are shown, in their order, and the counts, shape (K, n_shown)."""
    names = [str(name) for name in agreement.table.columns]
    counts = agreement.table.to_numpy(dtype=np.int64)
    if not names:
        return [], counts
    order = np.lexsort((-counts.max(axis=0), counts.argmax(axis=0)))
    if len(names) <= most:
        return [names[j] for j in order], counts[:, order]
    largest = np.argsort(-counts.sum(axis=0), kind="stable")[: most - 1]
    single = [int(j) for j in order if j in largest]
    rest = np.setdiff1d(np.arange(len(names)), single)
    others = counts[:, rest].sum(axis=1, keepdims=True)
    return [*(names[j] for j in single), f"{len(rest):,} others"], np.hstack([counts[:, single], others])


def _hover(cluster: str, name: str, n: int, of: int, attribute: str) -> str:
    share = f" ({100 * n / of:.0f} % of those with a known label)" if of else ""
    return f"<b>cluster {cluster}</b><br>{escape(attribute, 40)}: {escape(name, 60)}<br>{n:,} objects{share}"


def _caption_lines(agreement: LabelAgreement) -> list[str]:
    if not agreement.known:
        return ["No object's label is known."]
    scores = f"adjusted Rand index {agreement.ari:.3f} · normalised mutual information {agreement.nmi:.3f}"
    colour, n = "colour: share of the cluster's objects with a known label", agreement.unknown
    if n:
        colour += (
            f" · {'1 object without a label is' if n == 1 else f'{n:,} objects without a label are'} left out"
        )
    return [scores, colour]
