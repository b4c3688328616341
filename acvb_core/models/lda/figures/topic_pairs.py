"""The topics of two runs beside each other: which is which, and which moved."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from acvb_core.models.lda.figures.bars import vertical_bars, vertical_layout
from acvb_core.views.axes import axis_title
from acvb_core.views.labels import Labels, plain_name, text_room, topic_name
from acvb_core.views.theme import (
    BORDER,
    GRID,
    LINE,
    MUTED,
    Figure,
    b64,
    base_layout,
    cluster_colour,
    escape,
    percent,
)

_FEW = 14  # topics a side up to which the values are written into the cells
_NAMED = 30  # topics a side up to which every one has its number, and its name
_UPRIGHT = 14  # pairs from which their numbers stand upright
_LONGEST = 22  # characters of a name
#: Pairs that `pair_distance_figure` shows, those that moved most.
MOST_PAIRS = 40


def similarity_figure(
    distances: ArrayLike,
    one: ArrayLike,
    other: ArrayLike,
    names: tuple[str, str],
    *,
    labels: Labels = None,
    other_labels: Labels = None,
    height: int | None = None,
) -> Figure:
    """Return how alike the topics of two runs are, as a heat map with the pairs framed along its diagonal.

    Parameters
    ----------
    distances : array, shape (K, L)
        Jensen-Shannon distances (base 2) of the first run's topics from the other's; one less it is the similarity.
    one, other : int arrays, shape (n_pairs,)
        The pairs (0-based), as `evaluate.alignment.align_topics` gives them.
    names : (str, str)
        Of the two runs.
    labels, other_labels : sequence of str or None, optional
        Names of the topics of each run.
    height : int, optional
    """
    similarity = 1.0 - np.asarray(distances, dtype=np.float64)
    n_rows, n_columns = similarity.shape
    pairs = list(zip(np.asarray(one).tolist(), np.asarray(other).tolist(), strict=True))
    rows = [i for i, _ in pairs] + sorted(set(range(n_rows)) - {i for i, _ in pairs})
    columns = [j for _, j in pairs] + sorted(set(range(n_columns)) - {j for _, j in pairs})
    shown = similarity[np.ix_(rows, columns)]
    left = [plain_name(i + 1, labels) for i in rows]
    above = [plain_name(j + 1, other_labels) for j in columns]
    beside, over = (text_room(called, 11, limit=_LONGEST) for called in (left, above))
    few = max(n_rows, n_columns) <= _FEW
    trace = {
        "type": "heatmap",
        "x": [escape(name, _LONGEST) for name in above],
        "y": [escape(name, _LONGEST) for name in left],
        "z": b64(shown.astype(np.float32)),
        "zmin": 0,
        "zmax": 1,
        "colorscale": [[0, "#FFFFFF"], [0.5, "#8DBBDA"], [1, "#0072B2"]],
        "xgap": 1 if few else 0,
        "ygap": 1 if few else 0,
        "texttemplate": "%{z:.2f}" if few else "",
        "hovertemplate": f"topic %{{y}} of {escape(names[0], 40)}<br>topic %{{x}} of {escape(names[1], 40)}"
        "<br>similarity %{z:.3f}<extra></extra>",
        "colorbar": {"thickness": 12, "tickfont": {"size": 11}, "outlinewidth": 1, "outlinecolor": LINE,
                     "title": {"text": "1 - Jensen-Shannon distance", "side": "right", "font": {"size": 12}}},
        "uid": "topic-similarity",
    }  # fmt: skip
    frames = [
        {
            "type": "rect", "x0": at - 0.5, "x1": at + 0.5, "y0": at - 0.5, "y1": at + 0.5, "layer": "above",
            "line": {"color": BORDER, "width": 2 if few else 1},
        }
        for at in range(len(pairs))
    ]  # fmt: skip
    axis = {
        "type": "category",
        "showgrid": False,
        "ticks": "",
        "ticklabelstandoff": 4,
        "tickfont": {"size": 11},
    }
    if max(n_rows, n_columns) > _NAMED:
        axis |= {"nticks": 24}
    title = {"font": {"size": 12, "color": MUTED}, "standoff": 6}
    upright = over > 30
    layout = base_layout(
        height or max(360, min(660, 26 * n_rows + (over if upright else 16) + 80)),
        margin={"l": beside + 42, "r": 8, "t": (over if upright else 16) + 42, "b": 8},
        plot_bgcolor=GRID,
        shapes=frames,
        xaxis=axis
        | {"side": "top", "tickangle": -90 if upright else 0,
           "title": title | {"text": f"topics of {escape(names[1], 40)}"}},
        yaxis=axis
        | {"autorange": "reversed", "title": title | {"text": f"topics of {escape(names[0], 40)}"}},
    )  # fmt: skip
    return {"data": [trace], "layout": layout}


def pair_distance_figure(
    pairs: pd.DataFrame,
    labels: Labels = None,
    other_labels: Labels = None,
    *,
    most: int = MOST_PAIRS,
    height: int = 300,
) -> Figure:
    """Return how far apart the topics of each pair are, those that moved most first.

    Parameters
    ----------
    pairs : DataFrame
        As `Alignment.table` gives it: topic, other_topic (from 1), distance, and where known overlap, share,
        other_share.
    labels, other_labels : sequence of str or None, optional
        Names of the topics of each run.
    most : int
        Pairs shown.
    height : int
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
    left_out = f", the {n} that moved most of {len(pairs)} pairs" if n < len(pairs) else ""
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
