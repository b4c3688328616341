"""A corpus at a glance: how long its documents are, its most frequent words, how its words are spread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from acvb_core.data.corpus import Corpus
from acvb_core.data.disk import DiskCorpus
from acvb_core.models.lda.figures.bars import bar_trace, figure_title, horizontal_bars
from acvb_core.views.axes import axis_title, paper_note
from acvb_core.views.theme import GRID, LINE, PAPER, Figure, base_layout, escape

_COLOUR = "#0072B2"
_BINS, _LOG_BINS = 40, 28
#: Ratio of the 99 % quantile to the median from which lengths are shown on a logarithmic axis.
_SKEWED = 8.0
_POINTS = 300


def document_lengths_figure(lengths: ArrayLike, *, height: int = 260) -> Figure:
    """Return how many documents have how many words, as a histogram; on a logarithmic axis where lengths are skewed.

    `lengths`: shape (D,); number of tokens of each document. Empty documents are told in the title.
    """
    given = np.asarray(lengths, dtype=np.int64)
    used = given[given > 0]
    empty = len(given) - len(used)
    log = len(used) > 0 and float(np.quantile(used, 0.99)) >= _SKEWED * float(np.median(used))
    edges = _edges(used, log)
    counts = np.histogram(used, edges)[0]
    # On a linear axis of logarithms the bars keep the widths they are given.
    places = np.log10(edges) if log else edges
    firsts, lasts = np.ceil(edges[:-1]).astype(int), np.ceil(edges[1:]).astype(int) - 1
    hover = [
        f"{f'{a:,}' if a == b else f'{a:,} to {b:,}'} words<br>{n:,} document{'' if n == 1 else 's'}"
        for a, b, n in zip(firsts.tolist(), lasts.tolist(), counts.tolist(), strict=True)
    ]
    trace = bar_trace(((places[1:] + places[:-1]) / 2).tolist(), counts.tolist(), hover, "lengths")
    trace |= {
        "width": np.diff(places).tolist(),
        "marker": {"color": _COLOUR, "line": {"color": PAPER, "width": 0.5}},
    }
    middle = f", median {np.median(used):,.0f} words" if len(used) else ""
    without = f", {empty:,} without any" if empty else ""
    axis: Figure = {"showgrid": False, "zeroline": False, "linecolor": LINE, "tickangle": 0, "nticks": 8}
    if log:
        axis |= _log_ticks(float(places[0]), float(places[-1]))
    title = f"<b>Lengths of the documents</b>{middle}{without}"
    layout = _layout(height, title, axis, "words in the document", {"rangemode": "tozero"}, "documents")
    return {"data": [trace], "layout": layout}


def _edges(used: NDArray[np.int64], log: bool) -> NDArray[np.float64]:
    """Return borders of bins that lie between whole numbers, so that no bin has more of them by chance."""
    if not len(used):
        return np.array([0.5, 1.5])
    low, high = int(used.min()), int(used.max())
    if log:
        edges = np.round(np.geomspace(low, high + 1, _LOG_BINS + 1))
        return np.unique(edges) - 0.5
    step = -(-(high - low + 1) // _BINS)
    return np.arange(low, high + step + 1, step, dtype=np.float64) - 0.5


def _log_ticks(low: float, high: float) -> Figure:
    """Return ticks at 1, 2, 5, 10, … for an axis of logarithms."""
    decades = range(int(np.floor(low)), int(np.ceil(high)) + 1)
    steps = (1, 2, 5) if high - low < 3 else (1,)
    values = [s * 10**d for d in decades if d >= 0 for s in steps]
    values = [v for v in values if low <= np.log10(v) <= high]
    return {"tickvals": [float(np.log10(v)) for v in values], "ticktext": [f"{v:,}" for v in values]}


def frequent_words_figure(corpus: Corpus | DiskCorpus, n: int = 30, *, height: int | None = None) -> Figure:
    """Return the words that stand most often in a corpus as horizontal bars.

    `corpus`: of one on disk it is not known in how many documents a word stands.
    `n`: most words.
    `height`: pixels; by default as many as the words need.
    """
    frequencies = corpus.frequencies
    order = np.argsort(-frequencies, kind="stable")[:n]
    order = order[frequencies[order] > 0]
    words = corpus.vocabulary[order].tolist()
    counts = frequencies[order]
    hover = [
        f"<b>{escape(word)}</b><br>{count:,} times"
        for word, count in zip(words, counts.tolist(), strict=True)
    ]
    if isinstance(corpus, Corpus):
        documents = np.bincount(corpus.counts.indices, minlength=corpus.n_words)[order].tolist()
        of = f"{corpus.n_documents:,} documents"
        hover = [f"{text}<br>in {docs:,} of {of}" for text, docs in zip(hover, documents, strict=True)]
    return horizontal_bars(
        words,
        counts,
        hover,
        _COLOUR,
        keys=words,
        title="<b>Most frequent words</b>",
        axis="times in all documents",
        height=height,
        uid="frequent-words",
    )


def zipf_figure(
    frequencies: ArrayLike, vocabulary: Sequence[str] | NDArray[Any] | None = None, *, height: int = 260
) -> Figure:
    """Return the words' frequencies by rank on logarithmic axes, thinned to some hundred points.

    `frequencies`: shape (V,); how often each word stands in the corpus; words that it does not use are left out.
    `vocabulary`: names the words under the pointer.
    """
    counts = np.asarray(frequencies, dtype=np.float64)
    order = np.argsort(-counts, kind="stable")
    order = order[counts[order] > 0]
    sorted_counts = counts[order]
    ranks = _thin_ranks(sorted_counts)
    words = None if vocabulary is None else [escape(vocabulary[order[i]], 60) for i in ranks]
    line = {
        "type": "scatter",
        "mode": "lines+markers",
        "x": (ranks + 1).tolist(),
        "y": sorted_counts[ranks].tolist(),
        "line": {"color": _COLOUR, "width": 1.5},
        "marker": {"color": _COLOUR, "size": 4},
        "hovertemplate": "rank %{x:,d}: %{y:,d} times<extra></extra>",
        "uid": "zipf",
    }
    if words is not None:
        line |= {"hovertext": [f"<b>{word}</b><br>" for word in words]}
        line["hovertemplate"] = "%{hovertext}rank %{x:,d}: %{y:,d} times<extra></extra>"
    data = [line]
    if len(ranks) > 1:
        data.insert(0, _slope(sorted_counts))
    log = {"type": "log", "dtick": 1, "tickformat": "~s"}
    axis = {**log, "gridcolor": GRID, "zeroline": False, "linecolor": LINE}
    title = "<b>Frequency of the words by rank</b>"
    layout = _layout(
        height, title, axis, "rank of the word", {**log, "rangemode": "normal"}, "times in all documents"
    )
    if len(ranks) > 1:
        law = "dashed: Zipf's law, frequency ∝ 1 / rank"
        layout["annotations"] = [paper_note(law, 1, 1, xanchor="right")]
    return {"data": data, "layout": layout}


def _thin_ranks(counts: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return ranks (0-based) that keep the look of the curve: evenly spaced in their logarithm, ends kept."""
    if not len(counts):
        return np.empty(0, dtype=np.int64)
    spaced = np.geomspace(1, len(counts), _POINTS)
    return np.unique(np.append(np.round(spaced), [1, len(counts)]).astype(np.int64)) - 1


def _slope(counts: NDArray[np.float64]) -> Figure:
    """Return 1 / rank through the middle of the curve (in logarithms)."""
    ranks = _thin_ranks(counts)
    level = float(np.exp(np.mean(np.log(counts[ranks]) + np.log(ranks + 1))))
    last = min(float(len(counts)), level / 0.8)
    places = {"x": [1, last], "y": [level, level / last], "uid": "zipf-law"}
    line = {"color": LINE, "width": 1.2, "dash": "dash"}
    return {"type": "scatter", "mode": "lines", "hoverinfo": "skip", "line": line, **places}


def _layout(height: int, title: str, x: Figure, x_title: str, y: Figure, y_title: str) -> Figure:
    return base_layout(
        height,
        margin={"l": 64, "r": 14, "t": 36, "b": 46},
        showlegend=False,
        bargap=0,
        title=figure_title(title),
        xaxis=x | {"title": axis_title(x_title)},
        yaxis={"gridcolor": GRID, "zeroline": False, "nticks": 5, "tickformat": ","}
        | y
        | {"title": axis_title(y_title) | {"standoff": 6}},
    )
