"""Tinted texts: nothing read is markup, no character lost, every word can be read."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import numpy as np
import pytest

from acvb_core.data.corpora.tokenise import Tokeniser
from acvb_core.models.lda.figures.tinted import FAINTEST, STRONGEST, tint_text, word_topics
from acvb_core.views.theme import cluster_colour, rgba


class Reader(HTMLParser):
    """What a browser would show: tags met, and the text with <br> as a line break."""

    def __init__(self, markup: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(markup)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.text += "\n" if tag == "br" else ""

    def handle_data(self, data: str) -> None:
        self.text += data

    @property
    def spans(self) -> list[dict[str, str | None]]:
        return [attributes for tag, attributes in self.tags if tag == "span"]


def test_words_are_tinted_by_their_most_probable_topic() -> None:
    markup = tint_text("one two three", [(0, 3, 7), (4, 7, 8)], {7: [0.1, 0.9], 8: [0.75, 0.25]})
    first, second = Reader(markup).spans
    assert first["title"] == "topic 2 (0.90)"
    assert rgba(cluster_colour(2), FAINTEST + (STRONGEST - FAINTEST) * 0.9) in (first["style"] or "")
    assert second["title"] == "topic 1 (0.75)"
    assert re.search(r">one</span> <span[^>]*>two</span> three</div>$", markup)


def test_what_is_searched_for_is_underlined_across_words_and_colours() -> None:
    text = "The big\n<Sea> and a big  <sea>; seal"
    spans = [(8, 13, 0), (20, 23, 1)]
    markup = tint_text(text, spans, {0: [1.0], 1: [1.0]}, marked="big <SEA>")
    assert re.findall(r"<mark[^>]*>(.*?)</mark>", markup) == [
        "big<br>",
        "&lt;Sea&gt;",
        "big",
        "  &lt;sea&gt;",
    ]
    assert Reader(markup).text == text
    assert len(Reader(markup).spans) == 2


def test_hostile_texts_and_names_are_text() -> None:
    text = '<script>alert("1")</script> & <img src=x onerror=alert(1)>\n%{x} $a$ =1+1 </div>'
    spans = Tokeniser(stop_words=()).spans(text, {"alert": 0, "img": 1, "div": 2})
    markup = tint_text(text, spans, {0: [1.0], 1: [1.0], 2: [1.0]}, labels=['"><script>x'])
    reader = Reader(markup)
    assert {tag for tag, _ in reader.tags} == {"div", "span", "br"}
    assert reader.text == text
    assert len(reader.spans) == len(spans) > 2
    assert reader.spans[0]["title"] == 'topic 1 · "><script>x (1.00)'
    assert all(set(attributes) == {"style", "title"} for attributes in reader.spans)


def test_long_texts_are_cut_between_words_and_say_so() -> None:
    text = "word " * 1000
    reader = Reader(tint_text(text, [(5 * i, 5 * i + 4, 0) for i in range(1000)], {0: [1.0]}, limit=102))
    assert len(reader.spans) == reader.text.count("word") == 20
    assert "cut after 100 of 5,000 characters" in reader.text


def test_topics_of_words_follow_from_the_document() -> None:
    phi = np.array([[0.5, 0.5, 0.0, 0.0], [0.1, 0.3, 0.6, 0.0]])
    found = word_topics([2, 0, 0, 3], [0.25, 0.75], phi)
    assert sorted(found) == [0, 2]  # a word that no topic has is left out
    assert found[0] == pytest.approx(np.array([0.125, 0.075]) / 0.2)
    assert found[2] == pytest.approx([0.0, 1.0])
    assert word_topics([], [1.0], phi[:1]) == {}
