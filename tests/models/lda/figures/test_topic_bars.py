"""Topics as bars: every value at its word, no word read as markup, a figure for any number of topics."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from acvb_core.evaluate.ranking import ranked_words
from acvb_core.models.lda.figures.topics import (
    document_topics_figure,
    quality_figure,
    topic_bars,
    topic_shares_figure,
)
from acvb_core.views.parts import MOST_CHARACTERS
from acvb_core.views.theme import cluster_colour
from tests.views.reading import AWKWARD_WORDS, plain, texts_of

document_topics_figure = plain(document_topics_figure)
quality_figure = plain(quality_figure)
topic_bars = plain(topic_bars)
topic_shares_figure = plain(topic_shares_figure)

PHI = np.array([[0.5, 0.3, 0.2, 0.0], [0.1, 0.1, 0.2, 0.6]])
FREQUENCIES = np.array([60, 40, 40, 60])
WORDS = ["one", "two", "three", "four"]


def ranked(by: str = "probability", n: int = 4) -> pd.DataFrame:
    return ranked_words(PHI, FREQUENCIES, WORDS, by=by, n=n)


def trace(figure: dict, uid: str) -> dict:
    return next(t for t in figure["data"] if t["uid"] == uid)


def test_bars_are_tokens_of_the_topic_over_those_of_the_corpus() -> None:
    figure = topic_bars(ranked(), 2, tokens=100.0)
    assert figure["layout"]["yaxis"]["ticktext"] == ["four", "three", "one", "two"]
    assert trace(figure, "topic")["x"] == pytest.approx([60, 20, 10, 10])
    assert trace(figure, "corpus")["x"] == [60, 40, 60, 40]
    values = [text.strip() for text in trace(figure, "values")["text"]]
    assert values == ["60 of 60", "20 of 40", "10 of 60", "10 of 40"]
    # The darker bar is drawn over the lighter one, both in the topic's colour.
    assert [t["uid"] for t in figure["data"]][:2] == ["corpus", "topic"]
    assert trace(figure, "topic")["marker"]["color"] == cluster_colour(2)
    few = topic_bars(ranked().assign(frequency=1), 2, tokens=1.0)["layout"]["xaxis"]
    assert not few["tickformat"].endswith("s")  # which would write half an occurrence as "500m"


def test_words_are_shown_as_they_are() -> None:
    n = len(AWKWARD_WORDS)
    words = ranked_words(np.full((1, n), 1 / n), np.ones(n), AWKWARD_WORDS, n=n)
    figure = topic_bars(words, 1, tokens=9.0, labels=["<i>%{y}$</i>"])
    assert not [text for text in texts_of(figure) if any(m in text for m in ("<b>bold", "<i>", "%{x}", "$"))]
    # A click returns the word itself.
    assert trace(figure, "topic")["customdata"] == AWKWARD_WORDS
    assert max(len(t) for t in figure["layout"]["yaxis"]["ticktext"] if t.startswith("a")) == MOST_CHARACTERS


def test_the_topics_of_a_document_come_largest_first() -> None:
    figure = document_topics_figure([0.1, 0.6, 0.3], [None, "sport", None], title="<b>doc")
    bar = trace(figure, "document")
    assert bar["x"] == [0.6, 0.3, 0.1]
    assert bar["customdata"] == [2, 3, 1]
    assert bar["marker"]["color"] == [cluster_colour(k) for k in (2, 3, 1)]
    assert figure["layout"]["yaxis"]["ticktext"] == ["2 · sport", "topic 3", "topic 1"]
    assert "&lt;b&gt;doc" in figure["layout"]["title"]["text"]


def test_the_smallest_topics_of_a_document_are_added_up() -> None:
    shares = np.arange(20, 0, -1) / 210
    bar = trace(document_topics_figure(shares, n=5), "document")
    assert sum(bar["x"]) == pytest.approx(1.0)
    assert bar["customdata"] == [1, 2, 3, 4, 5, 0]
    # One topic more than asked for is shown, not called "1 others".
    assert trace(document_topics_figure(shares, n=19), "document")["customdata"] == list(range(1, 21))
    document_topics_figure(np.full(20, np.nan))  # an empty document
