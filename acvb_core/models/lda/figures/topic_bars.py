"""Topics as ranked bars: their words, their sizes, the topics of one document, how good they are."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from acvb_core.models.lda.figures.bars import (
    horizontal_bar,
    horizontal_bars,
    horizontal_layout,
    value_texts,
    vertical_bars,
    vertical_layout,
)
from acvb_core.views.axes import axis_title
from acvb_core.views.labels import Labels, plain_name, topic_name, user_name
from acvb_core.views.theme import (
    LINE,
    Figure,
    cluster_colour,
    escape,
    percent,
    rgba,
)

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

    `words`: as `evaluate.ranking.ranked_words` gives it: topic (from 1), rank, word, probability; with `frequency`
      (how often the word stands in the corpus) and `tokens`, the bars are numbers of tokens over those of the corpus.
    `topic`: from 1.
    `tokens`: expected number of the topic's tokens. Without it the bars are probabilities.
    `labels`: names of all topics.
    `n`: most words.
    `title`: name the topic above the bars.
    `height`: pixels; by default as many as the words need.
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
        data.append(
            horizontal_bar(whole, hover, rgba(colour, 0.28), "in the corpus", "corpus", shown["word"])
        )
    data.append(horizontal_bar(inside, hover, colour, "in the topic", "topic", shown["word"]))
    longest = np.maximum(inside, whole)
    data.append(value_texts(longest, values))
    layout = horizontal_layout(
        shown["word"].tolist(),
        longest,
        values,
        height=height,
        title=f"<b>{topic_name(topic, labels, long=True, limit=60)}</b>" if title else "",
        axis="occurrences (faint: in the whole corpus)" if counted else "probability in the topic",
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
        parts.append([f"{number(a)} of its {number(b)} occurrences in the corpus" for a, b in pairs])
    if "lift" in shown:
        parts.append([f"{x:,.3g} times as frequent as in the corpus" for x in shown["lift"]])
    if "score" in shown:
        parts.append([f"ranked by {x:.4g}" for x in shown["score"]])
    return ["<br>".join(lines) for lines in zip(*parts, strict=True)]


def topic_shares_figure(share: ArrayLike, labels: Labels = None, *, height: int = 240) -> Figure:
    """Return the share of each topic in all tokens as bars, topic 1 first.

    `share`: shape (K,); shares of the topics, in the order of their numbers.
    """
    return _bars_of_topics(
        share, labels, title="Share of each topic in all words", uid="shares", height=height, percents=True
    )


def quality_figure(
    values: ArrayLike, labels: Labels = None, *, title: str = "Coherence (NPMI)", height: int = 240
) -> Figure:
    """Return one number a topic as bars, topic 1 first: its coherence, say, or how exclusive its words are.

    `values`: shape (K,); NaN leaves a gap.
    `title`: what the numbers are.
    """
    return _bars_of_topics(values, labels, title=title, uid="quality", height=height, percents=False)


def quality_table(share: ArrayLike, labels: Labels = None, **measures: ArrayLike) -> pd.DataFrame:
    """Return a table to be shown: topic (from 1), name, share, then one column for each measure given.

    `share`: shape (K,).
    `**measures`: shape (K,); such as npmi, u_mass, uniqueness, exclusivity.
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

    `shares`: shape (K,); share of each topic in the document.
    `n`: most topics; the others are added up in one bar.
    `title`: such as the document's name.
    """
    values = np.nan_to_num(np.asarray(shares, dtype=np.float64))
    order = np.argsort(-values, kind="stable")
    # One topic is not worth a bar called "1 others".
    shown = order if len(order) <= n + 1 else order[:n]
    topics, size = (shown + 1).tolist(), values[shown]
    names = [plain_name(topic, labels, long=True) for topic in topics]
    colours = [cluster_colour(topic) for topic in topics]
    if len(shown) < len(order):
        topics.append(0)
        names.append(f"{len(order) - len(shown)} others")
        size = np.append(size, max(values.sum() - size.sum(), 0.0))
        colours.append(LINE)
    hover = [f"<b>{escape(name)}</b><br>{percent(x)}" for name, x in zip(names, size, strict=True)]
    return horizontal_bars(
        names,
        size,
        hover,
        colours,
        keys=topics,
        title=f"<b>{escape(title, 60)}</b>" if title else "",
        axis="share of the document",
        uid="document",
        height=height,
        percents=True,
    )


def _bars_of_topics(
    numbers: ArrayLike, labels: Labels, *, title: str, uid: str, height: int, percents: bool
) -> Figure:
    values = np.asarray(numbers, dtype=np.float64)
    topics = list(range(1, len(values) + 1))
    texts = ["" if np.isnan(x) else percent(x) if percents else f"{x:z.2f}" for x in values]
    hover = [
        f"<b>{topic_name(topic, labels, long=True)}</b><br>{text or 'not known'}"
        for topic, text in zip(topics, texts, strict=True)
    ]
    few = len(topics) <= _FEW
    if percents:  # the axis says so
        texts = [f"{100 * x:.1f}" for x in values]
    bars = vertical_bars(
        [None if np.isnan(x) else x for x in values.tolist()],
        topics,
        texts if few else None,
        hover,
        [cluster_colour(topic) for topic in topics],
        uid,
    )
    # A phone has room for about 16 numbers below the bars, and for none above narrow ones.
    numbered = topics[:: -(-len(topics) // 16) or 1]
    layout = vertical_layout(
        height,
        f"<b>{escape(title, 60)}</b>",
        44,
        {"range": [0.4, len(topics) + 0.6], "tickvals": numbered, "title": axis_title("topic")},
        {"zeroline": True, "zerolinecolor": LINE, "rangemode": "tozero", "nticks": 5}
        | {"tickformat": ".2~%" if percents else ""},
    )
    # Without this each number is of a size of its own.
    return {"data": [bars], "layout": layout | {"uniformtext": {"mode": "hide", "minsize": 9}}}


def number(value: float) -> str:
    """Return a number of tokens: whole from ten on, one decimal below."""
    return f"{value:,.0f}" if value >= 10 or value == int(value) else f"{value:.1f}"
