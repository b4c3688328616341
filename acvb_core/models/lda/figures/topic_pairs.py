"""The topics of two runs in pairs, and how far the two of each pair are from each other."""

from __future__ import annotations

import pandas as pd

from acvb_core.models.lda.figures.bars import vertical_bars, vertical_layout
from acvb_core.views.axes import axis_title
from acvb_core.views.labels import Labels, topic_name
from acvb_core.views.theme import (
    Figure,
    cluster_colour,
    percent,
)

_UPRIGHT = 14  # pairs from which their numbers stand upright
_LONGEST = 22  # characters of a name
#: Pairs that `pair_distance_figure` shows, those that moved most.
MOST_PAIRS = 40


def pair_distance_figure(
    pairs: pd.DataFrame,
    labels: Labels = None,
    other_labels: Labels = None,
    *,
    most: int = MOST_PAIRS,
    height: int = 300,
) -> Figure:
    """Return how far apart the topics of each pair are, those that moved most first.

    `pairs`: as `Alignment.table` gives it: topic, other_topic (from 1), distance, and where known overlap, share,
      other_share.
    `labels`, `other_labels`: names of the topics of each run.
    `most`: pairs shown.
    """
    shown = pairs.sort_values("distance", ascending=False, kind="stable").head(most)
    n = len(shown)
    numbers = [f"{a} → {b}" for a, b in zip(shown["topic"], shown["other_topic"], strict=True)]
    trace = vertical_bars(
        shown["distance"].tolist(),
        shown["topic"].tolist(),
        [f"{d:.2f}" for d in shown["distance"]] if n <= 24 else None,
        _pair_hover(shown, labels, other_labels),
        [cluster_colour(topic) for topic in shown["topic"]],
        "moved",
        range(n),
    )
    left_out = f", the {n} largest of {len(pairs)} pairs" if n < len(pairs) else ""
    upright = n > _UPRIGHT
    layout = vertical_layout(
        height,
        f"<b>Distance within each pair of topics</b>{left_out}",
        78 if upright else 48,
        {
            "tickvals": list(range(n)),
            "ticktext": numbers,
            "range": [-0.6, max(n, 1) - 0.4],
            "tickfont": {"size": 11},
        }
        | {
            "tickangle": -90 if upright else 0,
            "title": axis_title("topic of the first run → topic of the other"),
        },
        {"zeroline": False, "range": [0, 1.08], "tickvals": [0, 0.25, 0.5, 0.75, 1]},
    )
    return {"data": [trace], "layout": layout}


def _pair_hover(shown: pd.DataFrame, labels: Labels, other_labels: Labels) -> list[str]:
    texts = []
    for line in shown.to_dict("records"):
        parts = [
            f"<b>{topic_name(int(line['topic']), labels, long=True)}</b>"
            f" → <b>{topic_name(int(line['other_topic']), other_labels, long=True)}</b>",
            f"distance {line['distance']:.3f} (0 the same, 1 no word in common)",
        ]
        if "overlap" in line:
            parts.append(f"{100 * line['overlap']:.0f} % of their top words in common")
        if "share" in line and "other_share" in line:
            parts.append(f"share of all words {percent(line['share'])} → {percent(line['other_share'])}")
        texts.append("<br>".join(parts))
    return texts
