"""Topics as figures: ranked bars, a map, how many there should be, and the topics of two runs in pairs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from acvb_core.views.parts import (
    MOST_CHARACTERS,
    Labels,
    bars,
    heading,
    name_ticks,
    panel_axes,
    panel_title,
    paper_note,
    plain_axis,
    plain_name,
    scatter,
    separate_discs,
    text_room,
    topic_name,
    user_name,
    value_axis,
)
from acvb_core.views.theme import (
    BORDER,
    LINE,
    MUTED,
    PAPER,
    TEXT,
    Figure,
    Part,
    cluster_colour,
    escape,
    ink_on,
    make_figure,
    percent,
    rgba,
)

Floats = NDArray[np.float64]

#: Pixels of a bar with its gap, above the bars, below them; of a letter.
_ROW, _TOP, _BOTTOM, _FONT = 21, 30, 40, 12
#: Topics up to which a figure of all topics writes the values above the bars.
_FEW = 24
_COLOUR = "#0072B2"


def horizontal_bars(
    traces: list[Part],
    names: Sequence[str],
    ends: ArrayLike,
    texts: list[str],
    *,
    title: str,
    axis: str,
    height: int | None = None,
    percents: bool = False,
) -> Figure:
    """Return traces of horizontal bars with a name before and a value behind each, the first at the top.

    `names`: as they are.
    `ends`, `texts`: shape (n,); end of each bar, and its value as a text.
    `title`: escaped; empty for none.
    `axis`: what the values are.
    `height`: pixels; by default as many as the bars need.
    `percents`: the values are shares.
    """
    n, head = len(names), _TOP if title else 8
    values = np.asarray(ends, dtype=np.float64)
    right = float(values.max(initial=0.0)) * 1.02 or 1.0
    font = {"size": 11, "color": MUTED}
    behind = scatter("values", values, list(range(n)), "text", text=[f" {text}" for text in texts])
    behind |= {"textposition": "middle right", "textfont": font, "cliponaxis": False}
    labels = [escape(name, MOST_CHARACTERS) for name in names]
    rows = plain_axis(**name_ticks(range(n), labels), range=[n - 0.4, -0.6], automargin=True)
    form = ".2~%" if percents else "~s" if right >= 1000 else "~g"
    return make_figure(
        [*traces, behind],
        height or max(150, head + _BOTTOM + _ROW * n),
        margin={"l": text_room(names, _FONT) + 12, "r": text_room(texts, 11) + 12, "t": head, "b": _BOTTOM},
        barmode="overlay",
        bargap=0.22,
        title=heading(title) if title else {},
        xaxis=value_axis(axis, range=[0, right], tickformat=form),
        yaxis=rows | {"tickfont": {"size": _FONT, "color": TEXT}},
    )


def row_bars(
    uid: str, ends: ArrayLike, hover: list[str], colour: Any, keys: Sequence[Any], name: str
) -> Part:
    """Return the trace of horizontal bars; `keys` is the `customdata` of each, for clicks."""
    more = {"orientation": "h", "customdata": list(keys), "name": name}
    return bars(uid, np.asarray(ends, dtype=np.float64), list(range(len(hover))), hover, colour, **more)


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
      (how often the word occurs in the corpus) and `tokens`, the bars are numbers of tokens over those of the corpus.
    `topic`: from 1.
    `tokens`: expected number of the topic's tokens. Without it the bars are probabilities.
    `labels`: names of all topics.
    `n`: most words.
    `title`: name the topic above the bars.
    `height`: pixels; by default as many as the words need.
    """
    shown = words[words["topic"] == topic].sort_values("rank").head(n)
    inside = whole = shown["probability"].to_numpy(dtype=np.float64)
    counted = tokens is not None and "frequency" in shown
    values = [percent(p) for p in inside]
    if counted:
        whole = shown["frequency"].to_numpy(dtype=np.float64)
        # A probability has the prior's share in it, which is no token of the corpus.
        inside = np.minimum(inside * float(tokens or 0.0), whole)
        values = [f"{number(a)} of {number(b)}" for a, b in zip(inside, whole, strict=True)]
    hover = _describe_words(shown, topic, labels, values if counted else None)
    colour, keys = cluster_colour(topic, labels), shown["word"].tolist()
    traces = [row_bars("topic", inside, hover, colour, keys, "in the topic")]
    if counted:
        traces.insert(0, row_bars("corpus", whole, hover, rgba(colour, 0.28), keys, "in the corpus"))
    return horizontal_bars(
        traces,
        keys,
        np.maximum(inside, whole),
        values,
        height=height,
        title=topic_name(topic, labels, long=True, limit=60) if title else "",
        axis="occurrences (faint: in the whole corpus)" if counted else "probability in the topic",
        percents=not counted,
    )


def _describe_words(shown: pd.DataFrame, topic: int, labels: Labels, counts: list[str] | None) -> list[str]:
    name = topic_name(topic, labels, long=True)
    parts = [
        [f"<b>{escape(word)}</b>" for word in shown["word"]],
        [f"{percent(p)} of {name}" for p in shown["probability"]],
    ]
    if counts is not None:
        parts.append([f"{text.replace(' of ', ' of its ')} occurrences in the corpus" for text in counts])
    if "lift" in shown:
        parts.append([f"{x:,.3g} times as frequent as in the corpus" for x in shown["lift"]])
    if "score" in shown:
        parts.append([f"ranked by {x:.4g}" for x in shown["score"]])
    return ["<br>".join(lines) for lines in zip(*parts, strict=True)]


def number(value: float) -> str:
    """Return a number of tokens: whole from ten on, one decimal below."""
    return f"{value:,.0f}" if value >= 10 or value == int(value) else f"{value:.1f}"


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
    colours = [cluster_colour(topic, labels) for topic in topics]
    if len(shown) < len(order):
        topics.append(0)
        names.append(f"{len(order) - len(shown)} others")
        size = np.append(size, max(values.sum() - size.sum(), 0.0))
        colours.append(LINE)
    texts = [percent(x) for x in size]
    hover = [f"<b>{escape(name)}</b><br>{text}" for name, text in zip(names, texts, strict=True)]
    axis = "share of the document"
    traces = [row_bars("document", size, hover, colours, topics, axis)]
    title = escape(title, 60) if title else ""
    return horizontal_bars(traces, names, size, texts, title=title, axis=axis, height=height, percents=True)


def topic_shares_figure(share: ArrayLike, labels: Labels = None, *, height: int = 240) -> Figure:
    """Return the share of each topic in all tokens as bars, topic 1 first; `share` has the shape (K,)."""
    values = np.asarray(share, dtype=np.float64)
    hover = [percent(x) for x in values]
    texts = [f"{100 * x:.1f}" for x in values]  # the axis has the per cent signs
    return _bars_of_topics(values, labels, "Share of each topic in all words", hover, texts, height, ".2~%")


def quality_figure(
    values: ArrayLike, labels: Labels = None, *, title: str = "Coherence (NPMI)", height: int = 240
) -> Figure:
    """Return one number a topic as bars, topic 1 first: its coherence, say, or how exclusive its words are.

    `values`: shape (K,); NaN leaves a gap.
    `title`: what the numbers are.
    """
    given = np.asarray(values, dtype=np.float64)
    texts = ["" if np.isnan(x) else f"{x:z.2f}" for x in given]
    return _bars_of_topics(given, labels, escape(title, 60), texts, texts, height, "")


def _bars_of_topics(
    values: Floats, labels: Labels, title: str, hover: list[str], texts: list[str], height: int, form: str
) -> Figure:
    topics = list(range(1, len(values) + 1))
    hover = [
        f"<b>{topic_name(topic, labels, long=True)}</b><br>{text or 'not known'}"
        for topic, text in zip(topics, hover, strict=True)
    ]
    text = texts if len(topics) <= _FEW else None
    colours = [cluster_colour(topic, labels) for topic in topics]
    # A phone has room for about 16 numbers below the bars, and for none above narrow ones.
    ticks: Part = {"tickvals": topics[:: -(-len(topics) // 16) or 1], "range": [0.4, len(topics) + 0.6]}
    return make_figure(
        [bars("topics", topics, values, hover, colours, customdata=topics, text=text)],
        height,
        margin={"l": 56, "r": 12, "t": 40, "b": 44},
        title=heading(title),
        xaxis=plain_axis("topic", showline=True, **ticks),
        yaxis=value_axis("", zeroline=True, rangemode="tozero", tickformat=form),
        # Without this each number is of a size of its own.
        uniformtext={"mode": "hide", "minsize": 9},
    )


def quality_table(share: ArrayLike, labels: Labels = None, **measures: ArrayLike) -> pd.DataFrame:
    """Return a table to be shown: topic (from 1), name, share, then one column for each measure given.

    `share`: shape (K,).
    `**measures`: shape (K,); such as npmi, u_mass, uniqueness, exclusivity.
    """
    shares = np.asarray(share, dtype=np.float64)
    topics = list(range(1, len(shares) + 1))
    names = [user_name(topic, labels) for topic in topics]
    columns = {"topic": topics, "name": names, "share": shares}
    return pd.DataFrame(columns | {name: np.asarray(values) for name, values in measures.items()})


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

    `pairs`: as `Alignment.table` gives it: topic, other_topic (from 1), distance, and if known overlap, share,
      other_share.
    `labels`, `other_labels`: names of the topics of each run.
    `most`: pairs shown.
    """
    shown = pairs.sort_values("distance", ascending=False, kind="stable").head(most)
    n, topics = len(shown), shown["topic"].tolist()
    upright = n > 24
    note = f"the {n} largest of {len(pairs)} pairs" if n < len(pairs) else ""
    ticks = name_ticks(range(n), list(map(str, topics))) | {"range": [-0.6, max(n, 1) - 0.4]}
    hover = _describe_pairs(shown, labels, other_labels)
    text = [f"{d:.2f}" for d in shown["distance"]] if n <= _FEW else None
    colours = [cluster_colour(topic, labels) for topic in topics]
    distances = shown["distance"].tolist()
    return make_figure(
        [bars("moved", list(range(n)), distances, hover, colours, customdata=topics, text=text)],
        height,
        margin={"l": 56, "r": 12, "t": 40, "b": 78 if upright else 48},
        title=heading("Distance within each pair of topics", note),
        xaxis=plain_axis("topic of the first run", showline=True, **ticks)
        | {"tickangle": -90 if upright else 0},
        yaxis=value_axis("", range=[0, 1.08], tickvals=[0, 0.25, 0.5, 0.75, 1]),
    )


def _describe_pairs(shown: pd.DataFrame, labels: Labels, other_labels: Labels) -> list[str]:
    texts = []
    for line in shown.to_dict("records"):
        first = topic_name(int(line["topic"]), labels, long=True)
        own = int(line["other_topic"])
        second = escape(user_name(own, other_labels), MOST_CHARACTERS) or f"topic {own}"
        parts = [f"<b>{first}</b> → <b>{second}</b> (number {own} on its own page)"]
        parts.append(f"distance {line['distance']:.3f} (0 the same, 1 no word in common)")
        if "overlap" in line:
            parts.append(f"{100 * line['overlap']:.0f} % of their top words in common")
        if "share" in line and "other_share" in line:
            parts.append(f"share of all words {percent(line['share'])} → {percent(line['other_share'])}")
        texts.append("<br>".join(parts))
    return texts


#: Columns that can be shown -> (title, sign of what is better, how a value is written).
MEASURES: dict[str, tuple[str, int, str]] = {
    "heldout_perplexity": ("Held-out perplexity", -1, ",.1f"),
    "npmi": ("Coherence (NPMI)", 1, ".3f"),
    "exclusivity": ("Exclusivity", 1, ".3f"),
    "stability": ("Stability over seeds", 1, ".3f"),
    "loo_perplexity": ("Leave-one-out perplexity", -1, ",.1f"),
}
_IN_ROW = 3  # panels side by side
_GAP = 0.09  # share of the width between two panels: the numbers of the right one are there
_ROW_GAP = 96  # pixels between two rows of panels: numbers, the name of the axis, and a title of two lines
#: Ratio of the largest to the smallest number of topics from which the axis is logarithmic.
_WIDE = 8.0


def choose_k_figure(
    table: pd.DataFrame, *, wanted: tuple[int, int] | None = None, height: int = 320
) -> Figure:
    """Return the measures over the number of topics: a point a run, a line through the means, the best mean ringed.

    `table`: one row a run: k, seed, and any of the columns of `MEASURES`, NaN where unknown. Measures that no run has
      are left out.
    `wanted`: the least and the largest number that are recommended, as a band.
    `height`: pixels of a row of panels.
    """
    tried = np.unique(table["k"].to_numpy(dtype=np.int64)) if "k" in table else np.empty(0, dtype=np.int64)
    measures = [name for name in MEASURES if name in table and np.isfinite(table[name].astype(float)).any()]
    across = min(len(measures), _IN_ROW)
    # As many of the numbers tried as there is room for in a narrow window.
    some = tried[:: max(1, -(-len(tried) * across // 24))].tolist()
    ticks = name_ticks(some, [f"{n:,}" for n in some]) | {"title": {"text": "topics"}}
    if len(tried) > 2 and tried.max() / tried.min() >= _WIDE:
        ticks["type"] = "log"
    rows = max(-(-len(measures) // _IN_ROW), 1)
    margin = {"l": 62, "r": 16, "t": 58, "b": 46}
    inner = height - margin["t"] - margin["b"]
    plot = rows * inner + (rows - 1) * _ROW_GAP
    data: list[Part] = []
    layout: Part = {}
    notes: list[Part] = []
    bands: list[Part] = []
    width = (1 - _GAP * (across - 1)) / max(across, 1)
    for at, name in enumerate(measures):
        suffix, low = str(at + 1) if at else "", at % _IN_ROW * (width + _GAP)
        top = 1 - at // _IN_ROW * (inner + _ROW_GAP) / plot
        best = best_k(table, name)
        data += _measure_traces(table, name, suffix, best)
        title, sign, form = MEASURES[name]
        x, y = panel_axes(suffix, (low, min(low + width, 1.0)), (max(top - inner / plot, 0.0), top))
        layout[f"xaxis{suffix}"] = x | ticks | ({"matches": "x"} if at else {})
        layout[f"yaxis{suffix}"] = y | {"tickformat": ",.3~g" if form == ".3f" else ","}
        better = "lower is better" if sign < 0 else "higher is better"
        note = f"{better}, best at {best}" if best is not None else better
        small = f'<br><span style="font-size:11px;font-weight:normal">{note}</span>'
        notes.append(panel_title(title + small, "", low, top) | {"align": "left"})
        if wanted is not None:
            bands.append(_recommended_band(suffix, wanted))
    size = height + (rows - 1) * (inner + _ROW_GAP)
    return make_figure(data, size, margin=margin, annotations=notes, shapes=bands, **layout)


def _recommended_band(suffix: str, ends: tuple[int, int]) -> Part:
    """Return the band of the recommended numbers in a panel, a little wider than they are."""
    low, high = ends[0] / 1.06, ends[1] * 1.06
    place = {"xref": f"x{suffix}", "yref": f"y{suffix} domain", "x0": low, "x1": high, "y0": 0, "y1": 1}
    return {"type": "rect", "layer": "below", "line": {"width": 0}, "fillcolor": rgba(_COLOUR, 0.1), **place}


def mean_by_k(table: pd.DataFrame, measure: str) -> pd.Series:
    """Return the mean of a measure over the runs of each number of topics, those without a value left out."""
    values = table.assign(**{measure: table[measure].astype(float).replace([np.inf, -np.inf], np.nan)})
    return values.groupby("k")[measure].mean().dropna()


def best_k(table: pd.DataFrame, measure: str) -> int | None:
    """Return the number of topics with the best mean, the smallest of equals; None if fewer than two were tried.

    `table`: as for `choose_k_figure`.
    `measure`: a column of `MEASURES`.
    """
    mean = mean_by_k(table, measure)
    return int((mean * MEASURES[measure][1]).idxmax()) if len(mean) > 1 else None


def _measure_traces(table: pd.DataFrame, name: str, suffix: str, best: int | None) -> list[Part]:
    title, _, form = MEASURES[name]
    runs = table[np.isfinite(table[name].to_numpy(dtype=float))]
    mean = mean_by_k(table, name)
    axes = {"xaxis": f"x{suffix}", "yaxis": f"y{suffix}"}
    value = f"{title} %{{y:{form}}}<extra></extra>"
    seeds = runs["seed"].tolist() if "seed" in runs else ["?"] * len(runs)
    points = scatter(
        f"{name}-runs",
        runs["k"].tolist(),
        runs[name].astype(float).tolist(),
        customdata=seeds,
        marker={"color": rgba(_COLOUR, 0.45), "size": 7},
        hovertemplate=f"%{{x}} topics, seed %{{customdata}}<br>{value}",
        **axes,
    )
    line = scatter(
        f"{name}-mean",
        mean.index.tolist(),
        mean.tolist(),
        "lines+markers" if len(mean) == 1 else "lines",
        line={"color": _COLOUR, "width": 2},
        marker={"color": _COLOUR, "size": 7},
        hovertemplate=f"%{{x}} topics<br>mean {value}",
        **axes,
    )
    if best is None:
        return [points, line]
    ring = {"symbol": "circle-open", "size": 15, "color": BORDER, "line": {"width": 2.5}}
    text = f"best mean: {best} topics<br>{value}"
    chosen = scatter(f"{name}-best", [best], [float(mean[best])], marker=ring, hovertemplate=text, **axes)
    return [points, line, chosen]


_LARGEST, _SMALLEST = 96.0, 7.0  # pixels across
_FILLED = 0.42  # share of the map that discs take at most
_SIDE = 0.9  # of the height: the plot itself
_LETTERS = (8.0, 10.0, 13.0)  # least size of a word in a disc, least one of several words, and largest


def topic_map_figure(
    positions: ArrayLike,
    share: ArrayLike,
    labels: Labels = None,
    *,
    words: Sequence[str] | None = None,
    selected: int | None = None,
    height: int = 520,
) -> Figure:
    """Return topics on a plane as discs whose area is their share, moved apart until none overlaps.

    Each point's `customdata` is the number of its topic (from 1), for selections.

    `positions`: shape (K, 2); as `topic_map` gives them; one unit is as long across as up.
    `share`: shape (K,); of each topic in all tokens.
    `labels`: names of the topics.
    `words`: the first word of each topic, written into its disc if it has no name.
    `selected`: topic (from 1) that stands out.
    """
    shares = np.nan_to_num(np.asarray(share, dtype=np.float64))
    given = np.asarray(positions, dtype=np.float64).reshape(-1, 2)
    place, across = _place_discs(given, shares, _SIDE * height)
    topics = list(range(1, len(shares) + 1))
    faded = [selected is not None and topic != selected for topic in topics]
    colours = [cluster_colour(topic, labels) for topic in topics]
    texts, sizes = _write_in_discs(topics, across, labels, words)
    names = [topic_name(k, labels, long=True, limit=60) for k in topics]
    hover = [f"<b>{name}</b><br>{percent(x)} of all words" for name, x in zip(names, shares, strict=True)]
    fills = [rgba(colour, 0.35 if dim else 1.0) for colour, dim in zip(colours, faded, strict=True)]
    inks = [TEXT if dim else ink_on(colour) for colour, dim in zip(colours, faded, strict=True)]
    trace = scatter(
        "topic-map",
        place[:, 0],
        place[:, 1],
        "markers+text",
        customdata=topics,
        text=texts,
        textfont={"size": sizes, "color": inks},
        hovertext=hover,
        marker={"size": 0.7 * across, "color": LINE, "opacity": 0},  # what the pointer finds of the discs
        cliponaxis=False,
    )
    # Plotly fades what a click did not hit, words too unless one that is hit has a colour of its own.
    unseen = {"marker": {"opacity": 0}}
    ink = ink_on(colours[selected - 1] if selected else cluster_colour(3))
    trace |= {"selected": unseen | {"textfont": {"color": ink}}}
    trace |= {"unselected": unseen}
    radius = across[:, None] / 2 + 6
    low = (place - radius).min(axis=0) if len(place) else np.full(2, -1.0)
    high = (place + radius).max(axis=0) if len(place) else np.full(2, 1.0)
    x, y = (
        plain_axis(framed=True, showticklabels=False, range=[float(a), float(b)], linecolor=LINE)
        for a, b in zip(low, high, strict=True)
    )
    note = "near: similar words · area: share of all words"
    return make_figure(
        [trace],
        height,
        margin={"l": 8, "r": 8, "t": 8, "b": 28},
        dragmode="pan",
        clickmode="event+select",
        shapes=_draw_discs(place, across, fills, selected),
        annotations=[
            paper_note(note, 0, 0, yshift=-4),
            *_name_selected(place, across, labels, selected, texts),
        ],
        xaxis=x,
        yaxis=y | {"scaleanchor": "x", "scaleratio": 1},
    )


def _draw_discs(
    place: Floats, across: Floats, fills: Sequence[str], selected: int | None
) -> list[dict[str, Any]]:
    """Return discs as shapes in the units of the axes: smaller ones, in a narrow window, do not overlap either."""
    discs = []
    for k, (x, y), r, fill in zip(count(1), place.tolist(), (across / 2).tolist(), fills, strict=False):
        ends = {"x0": x - r, "x1": x + r, "y0": y - r, "y1": y + r}
        line = {"color": TEXT, "width": 2.5} if k == selected else {"color": PAPER, "width": 1}
        discs.append({"type": "circle", "layer": "below", "fillcolor": fill, "line": line, **ends})
    return discs


def _place_discs(place: Floats, share: Floats, side: float) -> tuple[Floats, Floats]:
    """Return the middles and diameters of the discs in pixels of a square plot: areas as the shares, none overlaps."""
    n, top = len(place), float(share.max(initial=0.0))
    if not n:
        return place, np.empty(0)
    relative = np.sqrt(share / top) if top > 0.0 else np.zeros(n)
    fill = max(float((relative**2).sum()), 1.0) * np.pi / 4
    largest = min(_LARGEST, side * np.sqrt(_FILLED / fill))
    across = np.maximum(largest * relative, _SMALLEST)
    extent = float(np.ptp(place, axis=0).max(initial=0.0)) if n > 1 else 0.0
    place = place * ((side - largest) / extent if extent > 0.0 else 0.0)
    place = separate_discs(place, across / 2, 2.0)
    # What was moved out of the plot comes back into it: the whole picture becomes smaller.
    reach = float(np.ptp(place, axis=0).max(initial=0.0)) + largest
    factor = min(1.0, side / reach)
    return place * factor, np.maximum(across * factor, _SMALLEST)


def _write_in_discs(
    topics: list[int], across: Floats, labels: Labels, words: Sequence[str] | None
) -> tuple[list[str], list[float]]:
    """Return the text in each disc and its size in pixels: the number, and a name or word below it if there is room.

    A name that is too long gives way to its first word.
    """
    texts, sizes = [], []
    least, least_name, largest = _LETTERS
    for topic, room in zip(topics, (0.92 * across).tolist(), strict=True):
        name = user_name(topic, labels) or (words[topic - 1] if words else "")
        tried = dict.fromkeys([name, *name.split()[:1]])
        fitting = {w: min(100 * room / text_room([w], 100), largest, 0.34 * room) for w in tried if w}
        enough = {word: least_name if " " in word else least for word in fitting}
        word = next((word for word, size in fitting.items() if size >= enough[word]), "")
        if word:
            texts.append(f"<b>{topic}</b><br>{escape(word)}")
            sizes.append(fitting[word])
        else:
            sizes.append(min(max(0.42 * room, least), largest))
            texts.append(str(topic) if room >= text_room([str(topic)], sizes[-1]) else "")
    return texts, sizes


def _name_selected(
    place: Floats, across: Floats, labels: Labels, selected: int | None, texts: list[str]
) -> list[Part]:
    """Return the name of the selected topic beside its disc, towards the middle of the map, if it is not in it."""
    name = user_name(selected, labels) if selected is not None else ""
    if selected is None or not name or escape(name) in texts[selected - 1]:
        return []
    x, y = place[selected - 1].tolist()
    off = across[selected - 1] / 2 + 3
    high = y > (place[:, 1].max() + place[:, 1].min()) / 2
    side: Part = {"yanchor": "top", "yshift": -off} if high else {"yanchor": "bottom", "yshift": off}
    text = f"<b>{topic_name(selected, labels)}</b>"
    look = {"bgcolor": rgba("#FFFFFF", 0.85), "borderpad": 1, "font": {"size": 12, "color": TEXT}}
    return [{"text": text, "x": x, "y": y, "captureevents": False, **side, **look}]
