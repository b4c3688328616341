"""Phrases that become one word, and words that are counted as one."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from acvb_core.core.errors import DataError, ParameterError
from acvb_core.data.corpora.readers import load_corpus
from acvb_core.data.corpora.rewriting import WordChange
from acvb_core.data.corpora.tokenise import Tokeniser
from acvb_core.data.corpus import Corpus
from tests.loops import for_each

EVERY = {"min_documents": 1, "max_share": 1.0, "stop_words": ()}
TEXTS = ("New York is new. New  york city!", "The colour of New Jersey; colors, new\nyork", "york new")


def count(texts: tuple[str, ...], tokeniser: Tokeniser) -> list[Counter[str]]:
    counts, vocabulary, _ = tokeniser.select(texts)
    return [Counter(dict(zip(vocabulary, row, strict=True))) for row in counts.toarray().tolist()]


def test_words_are_joined_and_merged_as_by_hand() -> None:
    changes = {
        "phrases": ["New  York", "new york city"],
        "same_words": {"colour": "color", "colors": "color"},
    }
    first, second, third = count(TEXTS, Tokeniser(**EVERY, **changes))
    assert +first == Counter({"new york": 1, "new york city": 1, "is": 1, "new": 1})
    assert +second == Counter({"the": 1, "color": 2, "of": 1, "new": 1, "jersey": 1, "new york": 1})
    assert +third == Counter({"york": 1, "new": 1})
    typed = changes | {"same_words": ["colour=color", "colors=color"]}
    assert Tokeniser(**EVERY, **typed) == Tokeniser(**EVERY, **changes)


def test_a_phrase_is_dropped_as_a_word_that_it_is_counted_as() -> None:
    tokeniser = Tokeniser(
        **EVERY, phrases=["new york"], same_words={"new york": "nyc"}, extra_stop_words=["nyc"]
    )
    assert "nyc" not in count(TEXTS, tokeniser)[0]
    assert tokeniser.preview(TEXTS).dropped["stop_word"].words.tolist() == ["nyc"]


def test_changes_follow_one_another() -> None:
    tokeniser = Tokeniser(**EVERY).with_changes(
        [
            WordChange("merge", ("color", "colour")),
            WordChange("merge", ("shade", "color", "colors")),
            WordChange("join", ("new", "york")),
            WordChange("leave_out", ("new york", "is")),
        ]
    )
    assert dict(tokeniser.same_words) == dict.fromkeys(("color", "colour", "colors"), "shade")
    first, second, _ = count(TEXTS, tokeniser)
    assert +first == Counter({"new": 1, "city": 1})  # the words of a phrase that is left out stay elsewhere
    assert second["shade"] == 2


@for_each("seed", range(5))
def test_places_in_a_text_are_those_of_the_counted_words(seed: int) -> None:
    """Each place has the word or phrase that it is counted as, and there are as many places as tokens."""
    rng = random.Random(seed)
    letters = ["aa", "bb", "cc", "dd"]
    text = " ".join(rng.choices(letters, k=40))
    same = {"dd": "aa", "aa bb": "pair"}
    tokeniser = Tokeniser(**EVERY, phrases=["aa bb", "bb cc aa"], same_words=same)
    counts, vocabulary, _ = tokeniser.select([text])
    spans = tokeniser.spans(text, vocabulary.tolist())
    assert Counter(word for _, _, word in spans) == Counter(dict(enumerate(counts.toarray()[0].tolist())))
    for begin, end, word in spans:
        assert same.get(text[begin:end], text[begin:end]) == vocabulary[word]


def test_settings_survive_and_are_named_only_if_used() -> None:
    assert {"phrases", "same_words"}.isdisjoint(Tokeniser().to_dict())
    tokeniser = Tokeniser(phrases=("a b",), same_words={"x": "y"})
    assert Tokeniser.from_dict(tokeniser.to_dict()) == tokeniser
    assert hash(tokeniser) == hash(Tokeniser(phrases=["A  b"], same_words=[("X", "y")]))


@for_each(
    "changes, said",
    [
        ({"phrases": "new york"}, "must be a list"),
        ({"phrases": ["york"]}, "two words"),
        ({"same_words": ["ab"]}, "must map"),
        ({"same_words": {"a": "b", "b": "c"}}, "stays as it is"),
        ({"same_words": [("a", "b"), ("a", "c")]}, "stays as it is"),
    ],
)
def test_unclear_changes_are_refused(changes: dict[str, object], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        Tokeniser(**changes)  # type: ignore[arg-type]


def test_a_corpus_is_cut_again_with_everything_else_as_it_was() -> None:
    corpus = load_corpus([*TEXTS, "jersey city"], tokeniser=Tokeniser(**EVERY)).data
    again = corpus.recut(Tokeniser(**EVERY, extra_stop_words=("new", "york")))
    assert again.texts == corpus.texts
    assert again.documents.tolist() == corpus.documents.tolist()
    assert again.lengths.tolist() == [2, 5, 0, 2]
    assert again.recut(corpus.tokeniser).fingerprint == corpus.fingerprint
    with pytest.raises(DataError, match="texts are not kept"):
        Corpus.build([[1, 2]]).recut(Tokeniser())
