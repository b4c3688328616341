"""Documents as a figure: points on a plane in the colours of their largest topics."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from acvb_core.models.lda.answer.document_map import DocumentMap
from acvb_core.views.parts import Labels, keep_opacity, paper_note, plain_axis, scatter, topic_name
from acvb_core.views.theme import LINE, TEXT, Figure, cluster_colour, escape, make_figure, rgba

#: Characters of a document's name under the pointer.
_NAME = 60


def document_map_figure(
    shown: DocumentMap,
    documents: Sequence[str] | NDArray[np.object_],
    shares: NDArray[np.floating],
    labels: Labels = None,
    *,
    topic: int | None = None,
    found: NDArray[np.int64] | None = None,
    opened: int | None = None,
    height: int = 520,
) -> Figure:
    """Return documents on a plane, each in the colour of its largest topic.

    Each point's `customdata` is the number of its document (from 1), for clicks.

    `shown`: as `map_documents` gives it.
    `documents`: names of all documents.
    `shares`: shape (D, K); share of each topic in each document.
    `labels`: names of the topics.
    `topic`: documents of other topics are fainter.
    `found`: documents (0-based) that were searched for; the others are fainter.
    `opened`: the document (0-based) that is open, with a ring.
    """
    faint = np.zeros(len(shown.documents), dtype=bool)
    if found is not None:
        faint = ~np.isin(shown.documents, found)
    elif topic is not None:
        faint = shown.topics != topic
    colours = [
        rgba(cluster_colour(number, labels), 0.18 if dim else 0.8)
        for number, dim in zip(shown.topics.tolist(), faint.tolist(), strict=True)
    ]
    hover = [
        f"<b>{escape(str(documents[at]), _NAME)}</b><br>{100 * float(shares[at, k - 1]):.0f} % "
        f"{topic_name(k, labels, long=True, limit=_NAME)}"
        for at, k in zip(shown.documents.tolist(), shown.topics.tolist(), strict=True)
    ]
    ring = shown.documents == opened
    marker = {
        "size": np.where(ring, 13, 7).tolist(),
        "color": colours,
        "line": {"width": np.where(ring, 2, 0).tolist(), "color": TEXT},
    }
    x, y = shown.positions.T
    trace = scatter(
        "documents", x, y, hovertext=hover, customdata=(shown.documents + 1).tolist(), marker=marker
    )
    frame = plain_axis(framed=True, showticklabels=False, linecolor=LINE)
    return make_figure(
        [trace | keep_opacity()],
        height,
        margin={"l": 8, "r": 8, "t": 8, "b": 28},
        dragmode="pan",
        clickmode="event+select",
        annotations=[paper_note("near: the same topics · colour: the largest topic", 0, 0, yshift=-4)],
        xaxis=frame,
        yaxis=frame | {"scaleanchor": "x", "scaleratio": 1},
    )
