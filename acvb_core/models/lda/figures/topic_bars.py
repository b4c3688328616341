"""Topics as ranked bars: their words, their sizes, the topics of one document, how good they are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from acvb_core.views.labels import (
    MOST_CHARACTERS,
    Labels,
    plain_name,
    text_room,
    topic_name,
    user_name,
)
from acvb_core.views.theme import (
    GRID,
    LINE,
    MUTED,
    TEXT,
    Figure,
    base_layout,
    cluster_colour,
    escape,
    percent,
    rgba,
)

_ROW, _TOP, _BOTTOM = 21, 30, 40  # pixels of a bar with its gap, above the bars, and below them
_FONT = 12
#: Topics up to which a figure of all topics writes the values beside the bars.
_FEW = 24


def topic_bars(
    words: pd.DataFrame,
    topic: int,
    *,
    tokens: float | None = None,
    labels: Labels = None,
    n: int = 30,
    title: bool = True,
    height: int | None = None,
) -> Figure:
    """Return the words that describe a topic as horizontal bars, the first at the top.

    Parameters
    ----------
    words : DataFrame
        As `evaluate.ranking.ranked_words` gives it: topic (from 1), rank, word, probability; with `frequency` (how
        often the word stands in the corpus) and `tokens`, the bars are numbers of tokens over those of the corpus.
    topic : int
        From 1.
    tokens : float, optional
        Expected number of the topic's tokens. Without it the bars are probabilities.
    labels : sequence of str or None, optional
        Names of all topics.
    n : int
        Most words.
    title : bool
        Name the topic above the bars.
    height : int, optional
        Pixels; by default as many as the words need.
    """
    shown = words[words["topic"] == topic].sort_values("rank").head(n)
    probability = shown["probability"].to_numpy(dtype=np.float64)
    counted = tokens is not None and "frequency" in shown
    whole = shown["frequency"].to_numpy(dtype=np.float64) if counted else probability
    # A probability has the prior's share in it, which is no token of the corpus.
    inside = np.minimum(probability * float(tokens or 0.0), whole) if counted else probability
    if counted:
        values = [f"{number(a)} of {number(b)}" for a, b in zip(inside, whole, strict=True)]
    else:
        values = [percent(p) for p in probability]
    hover = _word_hover(shown, topic, labels, inside if counted else None)
    colour = cluster_colour(topic)
    data = []
    if counted:
        data.append(_bar(whole, hover, rgba(colour, 0.28), "in the corpus", "corpus", shown["word"]))
    data.append(_bar(inside, hover, colour, "in the topic", "topic", shown["word"]))
    data.append(_values(np.maximum(inside, whole), values))
    top = float(np.maximum(inside, whole).max(initial=0.0))
    layout = _horizontal_layout(
        shown["word"].tolist(),
        top,
        text_room(values, 11),
        height=height,
        title=f"<b>{topic_name(topic, labels, long=True, limit=60)}</b>" if title else "",
        axis="tokens (light: in the whole corpus)" if counted else "probability in the topic",
        percents=not counted,
    )
    return {"data": data, "layout": layout | {"barmode": "overlay"}}


def _word_hover(shown: pd.DataFrame, topic: int, labels: Labels, tokens: ArrayLike | None) -> list[str]:
    name = topic_name(topic, labels, long=True)
    parts = [
        [f"<b>{escape(word)}</b>" for word in shown["word"]],
        [f"{percent(p)} of {name}" for p in shown["probability"]],
    ]
    if tokens is not None:
        pairs = zip(np.asarray(tokens), shown["frequency"], strict=True)
        parts.append([f"{number(a)} of its {number(b)} tokens in the corpus" for a, b in pairs])
    if "lift" in shown:
        parts.append([f"{x:,.3g} times as frequent as in the corpus" for x in shown["lift"]])
    if "score" in shown:
        parts.append([f"ranked by {x:.4g}" for x in shown["score"]])
    return ["<br>".join(lines) for lines in zip(*parts, strict=True)]


def topic_shares_figure(share: ArrayLike, labels: Labels = None, *, height: int = 240) -> Figure:
    """Return the share of each topic in all tokens as bars, topic 1 first.

    Parameters
    ----------
    share : array, shape (K,)
        Shares of the topics, in the order of their numbers.
    labels : sequence of str or None, optional
    """
    return _vertical_bars(
        share, labels, title="Share of each topic in all words", uid="shares", height=height, percents=True
    )


def quality_figure(
    values: ArrayLike, labels: Labels = None, *, title: str = "Coherence (NPMI)", height: int = 240
) -> Figure:
    """Return one number a topic as bars, topic 1 first: its coherence, say, or how exclusive its words are.

    Parameters
    ----------
    values : array, shape (K,)
        NaN leaves a gap.
    labels : sequence of str or None, optional
    title : str
        What the numbers are.
    """
    return _vertical_bars(values, labels, title=title, uid="quality", height=height, percents=False)


def quality_table(share: ArrayLike, labels: Labels = None, **measures: ArrayLike) -> pd.DataFrame:
    """Return a table to be shown: topic (from 1), name, share, then one column for each measure given.

    Parameters
    ----------
    share : array, shape (K,)
    labels : sequence of str or None, optional
    **measures : arrays, shape (K,)
        Such as npmi, u_mass, uniqueness, exclusivity.
    """
    shares = np.asarray(share, dtype=np.float64)
    topics = range(1, len(shares) + 1)
    columns = {
        "topic": list(topics),
        "name": [user_name(topic, labels) for topic in topics],
        "share": shares,
    }
    return pd.DataFrame(columns | {name: np.asarray(values) for name, values in measures.items()})


def document_topics_figure(
    shares: ArrayLike,
    labels: Labels = None,
    *,
    n: int = 12,
    title: str | None = None,
    height: int | None = None,
) -> Figure:
    """Return the topics of one document as horizontal bars, the largest first.

    Parameters
    ----------
    shares : array, shape (K,)
        Share of each topic in the document.
    labels : sequence of str or None, optional
    n : int
        Most topics; the others are added up in one bar.
    title : str, optional
        Such as the document's name.
    height : int, optional
    """
    values = np.nan_to_num(np.asarray(shares, dtype=np.float64))
    order = np.argsort(-values, kind="stable")
    # One topic is not worth a bar called "1 others".
    kept = order if len(order) <= n + 1 else order[:n]
    raw = [plain_name(k + 1, labels, long=True) for k in kept.tolist()]
    size = values[kept]
    colours = [cluster_colour(k + 1) for k in kept.tolist()]
    if len(kept) < len(order):
        raw.append(f"{len(order) - len(kept)} others")
        size = np.append(size, max(values.sum() - size.sum(), 0.0))
        colours.append(LINE)
    texts = [percent(x) for x in size]
    hover = [f"<b>{escape(name)}</b><br>{text}" for name, text in zip(raw, texts, strict=True)]
    return horizontal_bars(
        raw,
        size,
        hover,
        colours,
        texts,
        keys=[*(kept + 1).tolist(), *[0] * (len(size) - len(kept))],
        title=f"<b>{escape(title, 60)}</b>" if title else "",
        axis="share of the document",
        uid="document",
        height=height,
        percents=True,
    )


def horizontal_bars(
    names: Sequence[str],
    values: ArrayLike,
    hover: list[str],
    colour: str | list[str],
    texts: list[str],
    *,
    keys: Sequence[object],
    title: str,
    axis: str,
    uid: str,
    height: int | None = None,
    percents: bool = False,
) -> Figure:
    """Return horizontal bars with a name before and a value behind each, the first at the top.

    Parameters
    ----------
    names : sequence of str
        As they are.
    values : array, shape (n,)
    hover : list of str
        Escaped.
    colour : str or list of str
    texts : list of str
        The values as they are written.
    keys : sequence
        What a click on each bar tells (`customdata`).
    title : str
        Escaped; empty for none.
    axis : str
        What the values are.
    uid : str
    height : int, optional
        Pixels; by default as many as the bars need.
    percents : bool
        The values are shares.
    """
    ends = np.asarray(values, dtype=np.float64)
    layout = _horizontal_layout(
        names,
        float(ends.max(initial=0.0)),
        text_room(texts, 11),
        height=height,
        title=title,
        axis=axis,
        percents=percents,
    )
    return {"data": [_bar(ends, hover, colour, axis, uid, keys), _values(ends, texts)], "layout": layout}


def _bar(
    values: ArrayLike,
    hover: list[str],
    colour: str | list[str],
    name: str,
    uid: str,
    keys: Sequence[object] | pd.Series,
) -> Figure:
    return {
        "type": "bar",
        "orientation": "h",
        "x": np.asarray(values, dtype=np.float64).tolist(),
        "y": list(range(len(hover))),
        "customdata": list(keys),
        "name": name,
        "marker": {"color": colour, "line": {"width": 0}},
        "hovertext": hover,
        "hovertemplate": "%{hovertext}<extra></extra>",
        "textposition": "none",
        "uid": uid,
    }


def _values(ends: ArrayLike, texts: list[str]) -> Figure:
    """Return the numbers behind the ends of the bars: of two bars on one another, behind the longer."""
    return {
        "type": "scatter",
        "mode": "text",
        "x": np.asarray(ends, dtype=np.float64).tolist(),
        "y": list(range(len(texts))),
        "text": [f" {text}" for text in texts],
        "textposition": "middle right",
        "textfont": {"size": 11, "color": MUTED},
        "cliponaxis": False,
        "hoverinfo": "skip",
        "showlegend": False,
        "uid": "values",
    }


def _horizontal_layout(
    names: Sequence[str],
    top: float,
    value_room: int,
    *,
    height: int | None,
    title: str,
    axis: str,
    percents: bool,
) -> Figure:
    """Return the layout of horizontal bars: names beside them, never clipped, and room for the values."""
    n = len(names)
    head = _TOP if title else 8
    return base_layout(
        height or max(150, head + _BOTTOM + _ROW * n),
        margin={"l": text_room(names, _FONT) + 12, "r": value_room + 12, "t": head, "b": _BOTTOM},
        showlegend=False,
        bargap=0.22,
        title={
            "text": title, "x": 0, "xref": "container", "y": 1, "yref": "container", "yanchor": "top",
            "xanchor": "left", "pad": {"t": 6}, "font": {"size": 13},
        },
        xaxis={
            "range": [0, top * 1.02 or 1.0], "gridcolor": GRID, "zeroline": False, "nticks": 5, "tickangle": 0,
            "tickformat": ".2~%" if percents else "~s", "tickfont": {"size": 11},
            "title": {"text": axis, "font": {"size": 12, "color": MUTED}, "standoff": 4},
        },
        yaxis={
            "tickmode": "array", "tickvals": list(range(n)), "range": [n - 0.4, -0.6], "showgrid": False,
            "ticktext": [escape(name, MOST_CHARACTERS) for name in names], "ticks": "", "zeroline": False,
            "tickfont": {"size": _FONT, "color": TEXT}, "automargin": True, "ticklabelstandoff": 4,
        },
    )  # fmt: skip


def _vertical_bars(
    given: ArrayLike, labels: Labels, *, title: str, uid: str, height: int, percents: bool
) -> Figure:
    values = np.asarray(given, dtype=np.float64)
    n = len(values)
    topics = range(1, n + 1)
    texts = ["" if np.isnan(x) else percent(x) if percents else f"{x:z.2f}" for x in values]
    bar = {
        "type": "bar",
        "x": list(topics),
        "y": [None if np.isnan(x) else x for x in values.tolist()],
        "customdata": list(topics),
        "marker": {"color": [cluster_colour(topic) for topic in topics]},
        "text": texts if n <= _FEW else None,
        "textposition": "outside",
        "textangle": 0,
        "textfont": {"size": 10, "color": MUTED},
        "cliponaxis": False,
        "hovertext": [
            f"<b>{topic_name(topic, labels, long=True)}</b><br>{text or 'not known'}"
            for topic, text in zip(topics, texts, strict=True)
        ],
        "hovertemplate": "%{hovertext}<extra></extra>",
        "uid": uid,
    }
    axis = {"range": [0.4, n + 0.6], "showgrid": False, "zeroline": False, "linecolor": LINE, "tickangle": 0}
    if n <= _FEW:
        axis |= {"tickvals": list(topics), "ticktext": [str(topic) for topic in topics]}
    else:
        axis |= {"nticks": 20, "tickformat": "d"}
    layout = base_layout(
        height,
        margin={"l": 56, "r": 12, "t": 40, "b": 44},
        showlegend=False,
        bargap=0.25,
        uniformtext={"mode": "hide", "minsize": 7},  # else each number is of a size of its own
        title={"text": f"<b>{escape(title, 60)}</b>", "x": 0, "xref": "container", "y": 0.98, "yanchor": "top",
               "font": {"size": 13}},
        xaxis=axis | {"title": {"text": "topic", "font": {"size": 12, "color": MUTED}, "standoff": 4}},
        yaxis={"gridcolor": GRID, "zeroline": True, "zerolinecolor": LINE, "rangemode": "tozero", "nticks": 5,
               "tickformat": ".2~%" if percents else ""},
    )  # fmt: skip
    return {"data": [bar], "layout": layout}


def number(value: float) -> str:
    """Return a number of tokens: whole from ten on, one decimal below."""
    return f"{value:,.0f}" if value >= 10 or value == int(value) else f"{value:.1f}"
