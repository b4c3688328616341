"""A strip of colours for the known labels of objects, beside a matrix of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from acvb_core.models.lfm.figures.pictures import EMPTY, Colours
from acvb_core.views.theme import OTHERS_COLOUR, Figure, escape

#: Soft colours, none of which is a feature's; the rarer labels share a grey.
LABEL_COLOURS = [
    "#8DD3C7",
    "#FB8072",
    "#BEBADA",
    "#FDB462",
    "#80B1D3",
    "#B3DE69",
    "#FCCDE5",
    "#BC80BD",
    "#FFED6F",
    "#A6761D",
]


@dataclass(frozen=True, eq=False)
class LabelStrip:
    """The most frequent label of each bin of objects."""

    names: list[str]  #: the labels that have a colour, the most frequent first
    counts: list[int]  #: objects of each
    #: Shape (n_bins,); index of the most frequent known label of the bin; len(names) for all others, -1 if no label is
    #: known.
    top: NDArray[np.int64]
    others: int  #: labels without a colour of their own

    def colours(self) -> Colours:
        """Return the strip as a picture, shape (n_bins, 1, 3)."""
        hexes = [*LABEL_COLOURS[: len(self.names)], OTHERS_COLOUR]
        table = np.array([[int(c[i : i + 2], 16) for i in (1, 3, 5)] for c in hexes] + [list(EMPTY)])
        return table[self.top].astype(np.uint8)[:, None]

    def room(self, n_features: int) -> float:
        """Return how wide the strip is, its gap included, in widths of a feature."""
        return max(0.03 * n_features, 0.12)

    def legend(self) -> list[Figure]:
        """Return traces that show nothing but their entry in the legend."""
        entries = [
            (f"{escape(name, 24)} ({count:,})", colour)
            for name, count, colour in zip(self.names, self.counts, LABEL_COLOURS, strict=False)
        ]
        if self.others:
            entries.append((f"{self.others:,} other labels", OTHERS_COLOUR))
        if (self.top < 0).any():
            entries.append(("not known", f"rgb{EMPTY}"))
        square = {"type": "scatter", "mode": "markers", "x": [None], "y": [None], "hoverinfo": "skip"}
        return [
            square
            | {"name": name, "uid": f"label-{i}", "marker": {"symbol": "square", "size": 11, "color": colour}}
            for i, (name, colour) in enumerate(entries)
        ]


def build_strip(labels: NDArray[np.object_], borders: NDArray[np.int64]) -> LabelStrip:
    """Return the strip of labels in the order that is shown; a label's colour does not depend on the part shown.

    `labels`: shape (n,); of all objects, None or empty if it is not known.
    `borders`: shape (n_bins + 1,); where each bin begins, and where the last ends: a part of them, or all.
    """
    known = np.array([label is not None and str(label) != "" for label in labels.tolist()], dtype=bool)
    names, index, counts = np.unique(labels[known].astype(str), return_inverse=True, return_counts=True)
    rank = np.argsort(-counts, kind="stable")
    coloured = len(names) if len(names) <= len(LABEL_COLOURS) else len(LABEL_COLOURS)
    place = np.empty(len(names), dtype=np.int64)
    place[rank] = np.minimum(np.arange(len(names)), coloured)
    kind = np.full(len(labels), -1, dtype=np.int64)
    kind[known] = place[index.reshape(-1)] if len(names) else -1
    kind = kind[borders[0] : borders[-1]]
    known = kind >= 0
    of = np.repeat(np.arange(len(borders) - 1), np.diff(borders))
    votes = np.zeros((len(borders) - 1, coloured + 1), dtype=np.int64)
    np.add.at(votes, (of[known], kind[known]), 1)
    top = np.where(votes.any(axis=1), votes.argmax(axis=1), -1)
    first = rank[:coloured]
    return LabelStrip(
        names[first].tolist(), counts[first].tolist(), top.astype(np.int64), len(names) - coloured
    )
