"""A corpus at a glance: how long its documents are, its most frequent words, how its words are spread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from acvb_core.data.corpus import Corpus
from acvb_core.data.disk import DiskCorpus
from acvb_core.models.lda.figures.topics import horizontal_bars, row_bars
from acvb_core.views.parts import bars, heading, name_ticks, paper_note, plain_axis, scatter, value_axis
from acvb_core.views.theme import LINE, PAPER, Figure, Part, escape, make_figure

_COLOUR = "#0072B2"
_BINS, _LOG_BINS = 40, 28
#: Ratio of the 99 % quantile to the median from which lengths are shown on a logarithmic axis.
_SKEWED = 8.0
_POINTS = 300
_MARGIN = {"l": 64, "r": 14, "t": 36, "b": 46}


def document_lengths_figure(lengths: ArrayLike, *, height: int = 260) -> Figure:
    """Return how many documents have how many words, as a histogram; on a logarithmic axis if lengths are skewed.

    `lengths`: shape (D,); number of tokens of each document. The title counts empty documents.
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
    middles = (places[1:] + places[:-1]) / 2
    trace = bars("lengths", middles, counts, hover, _COLOUR, width=np.diff(places))
    trace["marker"] |= {"line": {"color": PAPER, "width": 0.5}}
    notes = [f"median {np.median(used):,.0f} words"] if len(used) else []
    notes += [f"{empty:,} without any"] if empty else []
    ticks = _log_ticks(float(places[0]), float(places[-1])) if log else {"nticks": 8}
    return make_figure(
        [trace],
        height,
        margin=_MARGIN,
        bargap=0,
        title=heading("Lengths of the documents", ", ".join(notes)),
        xaxis=plain_axis("words in the document", showline=True, **ticks),
        yaxis=value_axis("documents", rangemode="tozero", tickformat=","),
    )


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


def _log_ticks(low: float, high: float) -> Part:
    """Return ticks at 1, 2, 5, 10, … for an axis of logarithms."""
    decades = range(int(np.floor(low)), int(np.ceil(high)) + 1)
    steps = (1, 2, 5) if high - low < 3 else (1,)
    values = [s * 10**d for d in decades if d >= 0 for s in steps]
    values = [v for v in values if low <= np.log10(v) <= high]
    return name_ticks([float(np.log10(v)) for v in values], [f"{v:,}" for v in values])


def frequent_words_figure(corpus: Corpus | DiskCorpus, n: int = 30, *, height: int | None = None) -> Figure:
    """Return the words that occur most often in a corpus as horizontal bars.

    `corpus`: of one on disk the number of documents with a word is not known.
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
    axis, texts = "times in all documents", [f"{count:,.0f}" for count in counts.tolist()]
    traces = [row_bars("frequent-words", counts, hover, _COLOUR, words, axis)]
    return horizontal_bars(
        traces, words, counts, texts, title="Most frequent words", axis=axis, height=height
    )


def zipf_figure(
    frequencies: ArrayLike, vocabulary: Sequence[str] | NDArray[Any] | None = None, *, height: int = 260
) -> Figure:
    """Return the words' frequencies by rank on logarithmic axes, thinned to some hundred points.

    `frequencies`: shape (V,); how often each word occurs in the corpus; words that it does not use are left out.
    `vocabulary`: names the words under the pointer.
    """
    counts = np.asarray(frequencies, dtype=np.float64)
    order = np.argsort(-counts, kind="stable")
    order = order[counts[order] > 0]
    sorted_counts = counts[order]
    ranks = _thin_ranks(sorted_counts)
    hover = "rank %{x:,d}: %{y:,d} times<extra></extra>"
    more: Part = {"hovertemplate": hover}
    if vocabulary is not None:
        named = [f"<b>{escape(vocabulary[order[i]], 60)}</b><br>" for i in ranks]
        more = {"hovertext": named, "hovertemplate": "%{hovertext}" + hover}
    look = {"line": {"color": _COLOUR, "width": 1.5}, "marker": {"color": _COLOUR, "size": 4}}
    data = [scatter("zipf", ranks + 1, sorted_counts[ranks], "lines+markers", **look, **more)]
    notes = []
    if len(ranks) > 1:
        data.insert(0, _slope(sorted_counts))
        notes.append(paper_note("dashed: Zipf's law, frequency ∝ 1 / rank", 1, 1, xanchor="right"))
    log = {"type": "log", "dtick": 1, "tickformat": "~s"}
    return make_figure(
        data,
        height,
        margin=_MARGIN,
        title=heading("Frequency of the words by rank"),
        xaxis=value_axis("rank of the word", **log),
        yaxis=value_axis("times in all documents", **log),
        annotations=notes,
    )


def _thin_ranks(counts: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return ranks (0-based) that keep the look of the curve: evenly spaced in their logarithm, ends kept."""
    if not len(counts):
        return np.empty(0, dtype=np.int64)
    spaced = np.geomspace(1, len(counts), _POINTS)
    return np.unique(np.append(np.round(spaced), [1, len(counts)]).astype(np.int64)) - 1


def _slope(counts: NDArray[np.float64]) -> Part:
    """Return 1 / rank through the middle of the curve (in logarithms)."""
    ranks = _thin_ranks(counts)
    level = float(np.exp(np.mean(np.log(counts[ranks]) + np.log(ranks + 1))))
    last = min(float(len(counts)), level / 0.8)
    line = {"color": LINE, "width": 1.2, "dash": "dash"}
    return scatter("zipf-law", [1, last], [level, level / last], "lines", line=line)
