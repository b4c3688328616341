"""A corpus at a glance: every document and word counted, on axes that show them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acvb_core.data.corpus import Corpus
from acvb_core.models.lda.figures.corpus_figures import (
    document_lengths_figure,
    frequent_words_figure,
    zipf_figure,
)
from tests.views.reading import AWKWARD_WORDS, plain, texts_of

document_lengths_figure = plain(document_lengths_figure)
frequent_words_figure = plain(frequent_words_figure)
zipf_figure = plain(zipf_figure)


@given(st.lists(st.integers(0, 5000), min_size=1, max_size=60))
def test_every_document_is_in_one_bar(lengths: list[int]) -> None:
    figure = document_lengths_figure(np.array(lengths))
    bar = figure["data"][0]
    assert sum(bar["y"]) == sum(n > 0 for n in lengths)
    middles, widths = np.array(bar["x"]), np.array(bar["width"])
    assert (widths > 0).all()
    assert middles[:-1] + widths[:-1] / 2 == pytest.approx(middles[1:] - widths[1:] / 2)


def test_skewed_lengths_are_shown_on_logarithms() -> None:
    figure = document_lengths_figure(np.array([10] * 95 + [5000] * 5))
    axis, bar = figure["layout"]["xaxis"], figure["data"][0]
    assert axis["tickvals"][axis["ticktext"].index("1,000")] == 3.0
    assert bar["x"][0] - bar["width"][0] / 2 == pytest.approx(np.log10(9.5))
    assert "ticktext" not in document_lengths_figure(np.arange(50, 150))["layout"]["xaxis"]


def corpus(words: list[str]) -> Corpus:
    counts = np.zeros((2, len(words)), dtype=int)
    counts[0] = np.arange(1, len(words) + 1)
    counts[1, -1] = 5
    return Corpus.build(counts, vocabulary=words)


def test_words_of_the_corpus_are_shown_as_they_are() -> None:
    data = corpus(AWKWARD_WORDS)
    figures = frequent_words_figure(data), zipf_figure(data.frequencies, data.vocabulary)
    assert figures[0]["data"][0]["customdata"][0] == AWKWARD_WORDS[-1], "the most frequent word comes first"
    for text in [text for figure in figures for text in texts_of(figure)]:
        assert not any(mark in text.replace("rank %{x:,d}", "") for mark in ("<b>bold", "%{x}", "$")), text


def test_large_vocabularies_are_thinned_with_their_ends() -> None:
    frequencies = np.sort(np.random.default_rng(0).zipf(1.6, 100_000))
    figure = zipf_figure(frequencies, np.array([f"w{i}" for i in range(100_000)], dtype=object))
    line = figure["data"][-1]
    assert (line["x"][0], line["y"][0]) == (1, frequencies[-1])
    assert (line["x"][-1], line["y"][-1]) == (100_000, frequencies[0])
    assert len(line["x"]) <= 302
