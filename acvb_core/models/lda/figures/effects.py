"""Topics over time, by group and by number as figures: shares with their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from acvb_core.models.lda.answer.effects import is_clear
from acvb_core.views.parts import (
    Labels,
    heading,
    name_ticks,
    panel_axes,
    panel_title,
    plain_axis,
    scatter,
    text_room,
    topic_name,
    value_axis,
)
from acvb_core.views.theme import Figure, Part, cluster_colour, escape, make_figure, percent, rgba

#: Topics of one figure of all, the largest.
MOST_TOPICS = 24
#: Pixels of a panel, of the room above it for its title, and of the figure's lower edge.
_PANEL, _TITLE, _BOTTOM = 84, 30, 40
_LETTERS = 21  # of a panel's title
_GAP = 0.06  # share of the width between two panels
_STAR = " *"


def _stretches(known: np.ndarray[Any, Any]) -> list[slice]:
    """Return the runs of true values."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], known, [False]]).astype(np.int8)))
    return [slice(int(begin), int(end)) for begin, end in edges.reshape(-1, 2)]


def _period_traces(table: pd.DataFrame, topic: int, labels: Labels, suffix: str, size: int) -> list[Part]:
    """Return the band and the line of one topic over time; its points, of so many pixels, carry its number."""
    shown = table[table["topic"] == topic]
    x = shown["begin"].dt.strftime("%Y-%m-%d").to_numpy()
    share, low, high = (shown[name].to_numpy(dtype=np.float64) for name in ("share", "low", "high"))
    colour, axes = cluster_colour(topic, labels), {"xaxis": f"x{suffix}", "yaxis": f"y{suffix}"}
    traces = []
    for number, part in enumerate(_stretches(np.isfinite(low))):
        around = np.concatenate([x[part], x[part][::-1]]).tolist()
        ends = np.concatenate([high[part], low[part][::-1]])
        fill: Part = {"fill": "toself", "fillcolor": rgba(colour, 0.22), "line": {"width": 0}}
        traces.append(scatter(f"band-{topic}-{number}", around, ends, "lines", **fill, **axes))
    texts = [
        f"<b>{escape(line.period)}</b><br>{_describe(line, line.low, line.high)}"
        for line in shown.itertuples()
    ]
    marker = {"color": colour, "size": size}
    line = {"color": colour, "width": 2}
    traces.append(
        scatter(
            f"share-{topic}",
            x.tolist(),
            share,
            "lines+markers",
            marker=marker,
            line=line,
            customdata=[topic] * len(x),
            hovertext=texts,
            **axes,
        )
    )
    return traces


def _describe(line: Any, low: float, high: float) -> str:
    if not np.isfinite(line.share):
        return "no words"
    between = f" ({percent(low)} to {percent(high)})" if np.isfinite(low) else ""
    documents = f"{line.documents:,} document{'s' if line.documents != 1 else ''}"
    return f"{percent(line.share)} of the words{between}<br>{documents}"


def topic_over_time(table: pd.DataFrame, topic: int, labels: Labels = None, *, height: int = 320) -> Figure:
    """Return the share of one topic over time with its 95 % intervals as a band.

    `table`: as `effects.shares_by_period` gives it. A period with too few documents for an interval has no band.
    `topic`: from 1.
    """
    return make_figure(
        _period_traces(table, topic, labels, "", 6),
        height,
        margin={"l": 56, "r": 12, "t": 36, "b": 36},
        title=heading(topic_name(topic, labels, long=True, limit=60)),
        xaxis={"showline": True, "ticks": "outside", "nticks": 5},
        yaxis=value_axis("share of the words", tickformat=".2~%", rangemode="tozero"),
    )


def topics_over_time(
    table: pd.DataFrame, topics: Sequence[int], labels: Labels = None, *, across: int = 4
) -> Figure:
    """Return some topics over time as small panels, each with a scale of its own.

    `topics`: from 1, in the order of the panels, `across` in each row.
    """
    across = min(across, max(len(topics), 1))
    rows = -(-len(topics) // across)
    plot = rows * (_PANEL + _TITLE)
    width = (1 - _GAP * (across - 1)) / across
    data: list[Part] = []
    layout: Part = {}
    notes: list[Part] = []
    for at, topic in enumerate(topics):
        suffix = str(at + 1) if at else ""
        left, top = at % across * (width + _GAP), 1 - (at // across * (_PANEL + _TITLE) + _TITLE) / plot
        x, y = panel_axes(suffix, (left, min(left + width, 1.0)), (max(top - _PANEL / plot, 0.0), top))
        last = at + across >= len(topics)
        layout[f"xaxis{suffix}"] = x | {"nticks": 3, "showticklabels": last}
        layout[f"yaxis{suffix}"] = y | {"nticks": 3, "tickformat": ".2~%", "rangemode": "tozero"}
        data += _period_traces(table, topic, labels, suffix, 4)
        notes.append(panel_title(topic_name(topic, labels, limit=_LETTERS), "", left, top))
    margin = {"l": 44, "r": 8, "t": 4, "b": _BOTTOM}
    return make_figure(data, plot + 4 + _BOTTOM, margin=margin, annotations=notes, **layout)


def topic_by_group(table: pd.DataFrame, topic: int, labels: Labels = None, *, axis: str = "") -> Figure:
    """Return the share of a topic in each group as a point with its 95 % interval, and all words as a dashed line.

    `table`: as `effects.group_differences` or `effects.shares_by_level` gives it. A group that clearly differs from the
      others has a star.
    `axis`: name of the column, not escaped.
    """
    shown = table[table["topic"] == topic].reset_index(drop=True)
    share, low, high = (
        shown[name].to_numpy(dtype=np.float64) for name in ("share", "share_low", "share_high")
    )
    starred = [is_clear(line) if "p_holm" in shown else False for line in shown.itertuples()]
    names = [f"{group}{_STAR if star else ''}" for group, star in zip(shown["group"], starred, strict=True)]
    hover = []
    for line in shown.itertuples():
        text = f"<b>{escape(line.group)}</b><br>{_describe(line, line.share_low, line.share_high)}"
        if "others" in shown:
            text += f"<br>{percent(line.others)} in the others"
        hover.append(text)
    colour, places = cluster_colour(topic, labels), list(range(len(shown)))
    bars = {"type": "data", "symmetric": False, "color": colour, "thickness": 1.6, "width": 5}
    bars |= {"array": np.nan_to_num(high - share), "arrayminus": np.nan_to_num(share - low)}
    points = scatter(
        "groups", share, places, marker={"color": colour, "size": 10}, error_x=bars, hovertext=hover
    )
    whole = float((share * shown["words"]).sum() / max(shown["words"].sum(), 1))
    middle: Part = {"type": "line", "xref": "x", "yref": "paper", "x0": whole, "x1": whole, "y0": 0, "y1": 1}
    middle |= {"line": {"dash": "dash", "width": 1.2, "color": "#9AA5B1"}, "layer": "below"}
    rows = plain_axis(
        **name_ticks(places, [escape(name, 30) for name in names]),
        range=[len(shown) - 0.4, -0.6],
        automargin=True,
    )
    title = topic_name(topic, labels, long=True, limit=60)
    return make_figure(
        [points],
        max(150, 90 + 30 * len(shown)),
        margin={"l": text_room(names, 12, limit=30) + 12, "r": 16, "t": 36, "b": 44},
        title=heading(title, escape(f"by {axis}", 40) if axis else ""),
        xaxis=value_axis("share of the words", tickformat=".2~%", rangemode="tozero"),
        yaxis=rows,
        shapes=[middle],
    )
