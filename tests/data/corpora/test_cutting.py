"""A pattern that a user wrote finds what `re` finds, and is stopped when it would never end."""

from __future__ import annotations

import re

import pytest

from acvb_core.core.errors import ParameterError
from acvb_core.data.corpora import tokenise
from acvb_core.data.corpora.disk_build import read_to_disk
from acvb_core.data.corpora.readers import load_corpus
from acvb_core.data.corpora.tokenise import TOKEN_PATTERN, Tokeniser, find_spans
from acvb_core.models.lda.online.streaming_lda import StreamingLda
from acvb_core.models.lda.transform import as_corpus
from tests.loops import for_each

#: On forty letters this takes 2^40 steps.
ENDLESS = r"(?:a+)+\b\d"
LONG = "a" * 40 + "!"
TEXTS = ["a river of 1996", "", "Don't über-bank İ x_1", "हिन्दी é \ud800 end"]


@pytest.fixture(autouse=True)
def tiny_limit(monkeypatch):
    monkeypatch.setattr(tokenise, "SECONDS", 0.2)


@for_each(
    "pattern", [TOKEN_PATTERN + "(?:)", r"\S+", r"[A-Za-z]+", r"#?(\w)\w*", r"(?i)RIVER", r"\w+(-\w+)?"]
)
def test_spans_are_those_of_re(pattern):
    compiled = re.compile(pattern)
    wanted = [[match.span(compiled.groups) for match in compiled.finditer(text)] for text in TEXTS]
    assert list(find_spans(TEXTS, pattern)) == wanted


def test_many_texts_are_cut_in_pieces(monkeypatch):
    monkeypatch.setattr(tokenise, "LETTERS", 20)
    found = list(find_spans(TEXTS * 5, r"\S+"))
    assert found == list(find_spans(TEXTS, r"\S+")) * 5


def test_an_endless_pattern_is_refused_and_names_the_text():
    with pytest.raises(ParameterError) as caught:
        list(find_spans(["a1", "fine", LONG, "a2"], ENDLESS))
    message = str(caught.value)
    assert repr(ENDLESS) in message
    assert "text 3" in message
    assert "aaaa" in message
    assert "(a+)+" in message


def test_a_text_after_the_first_piece_has_its_own_number(monkeypatch):
    monkeypatch.setattr(tokenise, "LETTERS", 2)
    with pytest.raises(ParameterError, match="text 14"):
        list(find_spans(["a1", "a2", "", LONG], ENDLESS, first=11))


TOKENISER = Tokeniser(token_pattern=ENDLESS, stop_words=(), min_documents=1, max_share=1.0)
FILE = f"a1 a2\n{LONG}\n".encode()


def streamed():
    # The first documents have set how texts are cut.
    return StreamingLda("sdm", k=2, tokeniser=TOKENISER).partial_fit(["a1", LONG])


@for_each(
    "read",
    [
        lambda folder: TOKENISER.preview(["a1", LONG]),
        lambda folder: TOKENISER.spans(LONG, ["a"]),
        lambda folder: load_corpus(FILE, tokeniser=TOKENISER),
        lambda folder: read_to_disk(FILE, folder / "disk", tokeniser=TOKENISER),
        lambda folder: read_to_disk(FILE, folder / "disk", tokeniser=TOKENISER, broken="skip"),
        lambda folder: as_corpus(["a1", LONG], TOKENISER, "topics"),
        lambda folder: streamed(),
        lambda folder: Tokeniser(token_pattern=ENDLESS, extra_stop_words=(LONG,)).drops("a1"),
    ],
)
def test_every_way_to_cut_texts_refuses_it(read, tmp_path):
    with pytest.raises(ParameterError, match="takes more than"):
        read(tmp_path)
    assert list(tmp_path.iterdir()) == []
