"""What is cut is what scikit-learn cuts, what is dropped is told with its reason, and words are found again."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer

from acvb_core.core.errors import ParameterError
from acvb_core.data.corpora.tokenise import (
    DROP_REASONS,
    STOP_WORD_LANGUAGES,
    TOKENISER_PARAMETERS,
    CutTexts,
    Tokeniser,
    is_number,
    stop_words_of,
)
from tests.costs import units_of
from tests.loops import for_each

EVERYTHING = Tokeniser(stop_words=(), numbers=True, min_documents=1, max_share=1.0)
TEXTS = [
    "The bank by the river: the river bank of 1996.",
    "A river boat, a river boat and 1996 boats.",
    "The bank lends; the bank takes. Don't bank on it!",
    "",
    "Of the and.",
]

# Words that come again, in both cases, with stop words, numbers and what only \w calls a letter.
words = st.sampled_from(
    ["river", "River", "bank", "boat", "the", "The", "of", "1996", "42", "über", "x_1", "Ó", "don't"]
)
texts = st.lists(st.lists(words, max_size=12).map(" ".join), min_size=1, max_size=8)


@st.composite
def tokenisers(draw):
    return Tokeniser(
        lowercase=draw(st.booleans()),
        numbers=draw(st.booleans()),
        stop_words=draw(st.sampled_from([(), ("english",), ("english", "german")])),
        extra_stop_words=draw(st.sampled_from([(), ("boat",)])),
        ngrams=draw(st.integers(1, 3)),
        min_documents=draw(st.integers(1, 3)),
        max_share=draw(st.sampled_from([0.3, 0.5, 0.75, 1.0])),
        max_words=draw(st.none() | st.integers(1, 4)),
    )


def by_scikit_learn(given_texts, tokeniser, listed):
    """The same counts by one `CountVectorizer` that is told everything at once, None when nothing is left."""
    vectorizer = CountVectorizer(
        lowercase=tokeniser.lowercase,
        token_pattern=tokeniser.token_pattern,
        stop_words=listed or None,
        ngram_range=(1, tokeniser.ngrams),
        min_df=tokeniser.min_documents,
        max_df=tokeniser.max_share,
    )
    try:
        return vectorizer.fit_transform(given_texts), vectorizer.get_feature_names_out()
    except ValueError:  # nothing is left, or the two limits leave room for nothing
        return None


def never_kept(given_texts, tokeniser):
    """The words to drop whatever their counts, spelt out without the tokeniser's own code."""
    spelt = {word for text in given_texts for word in text.replace("'", " ").split()}
    spelt |= {word.lower() for word in spelt}
    stops = set(tokeniser.extra_stop_words)
    stops |= {"the", "of", "don"} if "english" in tokeniser.stop_words else set()
    stops |= {"über"} if "german" in tokeniser.stop_words else set()
    return sorted(w for w in spelt if w.lower() in stops or (w in ("1996", "42") and not tokeniser.numbers))


@given(texts, tokenisers())
def test_what_is_kept_is_what_scikit_learn_keeps(given_texts, tokeniser):
    selection = tokeniser.select(given_texts)
    without_cap = by_scikit_learn(given_texts, tokeniser, never_kept(given_texts, tokeniser))
    if without_cap is None:
        assert len(selection.vocabulary) == 0
        return
    counts, vocabulary = without_cap
    totals = np.asarray(counts.sum(axis=0)).ravel()
    order = sorted(range(len(vocabulary)), key=lambda i: (-totals[i], vocabulary[i]))[: tokeniser.max_words]
    expected = sorted(order)
    assert selection.vocabulary.tolist() == vocabulary[expected].tolist()
    assert (selection.counts.toarray() == counts.toarray()[:, expected]).all()
    assert selection.preview.kept.words.tolist() == vocabulary[order].tolist()
    assert selection.preview.kept.counts.tolist() == totals[order].tolist()


@given(texts, tokenisers())
def test_every_word_is_kept_or_dropped_once(given_texts, tokeniser):
    preview = tokeniser.preview(given_texts)
    lists = [preview.kept, *preview.dropped.values()]
    names = [word for words in lists for word in words.words]
    assert len(set(names)) == len(names)
    assert tuple(preview.dropped) == tuple(DROP_REASONS)
    assert preview.n_documents == len(given_texts)
    if tokeniser.ngrams == 1:
        everything = Tokeniser(**(EVERYTHING.to_dict() | {"lowercase": tokeniser.lowercase})).preview(
            given_texts
        )
        assert sum(words.n_tokens for words in lists) == everything.kept.n_tokens
        assert set(names) == set(everything.kept.words)


@given(texts, st.lists(tokenisers(), min_size=1, max_size=4))
def test_texts_cut_once_serve_every_setting(given_texts, several):
    cut = CutTexts(given_texts)
    for tokeniser in several:
        once, afresh = cut.select(tokeniser), tokeniser.select(given_texts)
        assert once.vocabulary.tolist() == afresh.vocabulary.tolist()
        assert (once.counts.toarray() == afresh.counts.toarray()).all()
        assert once.preview.empty.tolist() == afresh.preview.empty.tolist()


def test_texts_are_cut_again_only_where_they_are_cut_otherwise():
    seen = []
    cut = CutTexts(["A river", "a bank"])
    own = {"function": lambda text: seen.append(text) or text.split(), "max_share": 1.0}
    for settings in ({}, {"min_documents": 1}, {"stop_words": (), "max_words": 1}, {}):
        cut.select(Tokeniser(**own, **settings))
    assert seen == ["a river", "a bank"]
    cut.select(Tokeniser(**own, lowercase=False))
    assert seen == ["a river", "a bank", "A river", "a bank"]


def test_reasons():
    preview = Tokeniser(min_documents=2, max_share=0.5, extra_stop_words=("boat",), max_words=1).preview(
        TEXTS
    )
    assert preview.kept.top(9) == [("bank", 5, 2)]
    assert preview.dropped["stop_word"].top(9) == [
        ("the", 6, 3), ("and", 2, 2), ("boat", 2, 1), ("of", 2, 2),
        ("by", 1, 1), ("don", 1, 1), ("it", 1, 1), ("on", 1, 1),
    ]  # fmt: skip
    assert preview.dropped["number"].top(9) == [("1996", 2, 2)]
    assert preview.dropped["too_rare"].words.tolist() == ["boats", "lends", "takes"]
    assert preview.dropped["too_common"].n_words == 0
    assert preview.dropped["beyond_cap"].top(9) == [("river", 4, 2)]
    assert preview.empty.tolist() == [1, 3, 4]
    assert Tokeniser(min_documents=1, max_share=0.4).preview(TEXTS).dropped["too_common"].n_words == 0
    assert Tokeniser(min_documents=1, max_share=0.39).preview(TEXTS).dropped["too_common"].n_words == 2


@given(texts, tokenisers().filter(lambda t: t.ngrams == 1))
def test_spans_are_the_counts(given_texts, tokeniser):
    selection = tokeniser.select(given_texts)
    for row, text in enumerate(given_texts):
        spans = tokeniser.spans(text, selection.vocabulary)
        found = np.bincount([word for *_, word in spans], minlength=len(selection.vocabulary))
        assert (found == selection.counts[[row]].toarray().ravel()).all()
        for start, end, word in spans:
            spelt = text[start:end].lower() if tokeniser.lowercase else text[start:end]
            assert spelt == selection.vocabulary[word]


def test_spans_take_the_longest_phrase_from_the_left():
    tokeniser = Tokeniser(ngrams=3)
    text = "New York of new times; a new YORK times."
    index = {"new": 0, "york": 1, "times": 2, "new york": 3, "york new times": 4, "new york times": 5}
    spans = [(text[a:b], word) for a, b, word in tokeniser.spans(text, index)]
    assert spans == [("New York", 3), ("new", 0), ("times", 2), ("new YORK times", 5)]
    assert tokeniser.spans(text, ["york new times"]) == [(4, 21, 0)]
    assert Tokeniser().spans(text, index) == [s for s in Tokeniser().spans(text, index) if s[2] < 3]


def test_spans_where_lower_case_is_longer():
    text = "İİ İstanbul İ bank"
    spans = Tokeniser(token_pattern=r"\S+").spans(text, [text.lower().split()[1], "bank"])
    assert [text[a:b] for a, b, _ in spans] == ["İstanbul", "bank"]


def test_settings_travel_as_json():
    tokeniser = Tokeniser(stop_words=["german", "english", "german"], extra_stop_words=["ja"], max_words=50)
    assert tokeniser.stop_words == ("german", "english")
    assert Tokeniser.from_dict(json.loads(json.dumps(tokeniser.to_dict()))) == tokeniser
    assert hash(Tokeniser.from_dict({})) == hash(Tokeniser())
    assert Tokeniser(max_words=0).max_words is None
    defaults = Tokeniser()
    for parameter in TOKENISER_PARAMETERS:
        assert parameter.check(parameter.default) == (getattr(defaults, parameter.name) or parameter.default)


@for_each(
    "settings",
    [
        {"ngrams": 4},
        {"ngrams": 0},
        {"min_documents": 0},
        {"max_share": 0.0},
        {"max_share": 1.5},
        {"max_words": -1},
        {"lowercase": "yes"},
        {"stop_words": "english"},
        {"stop_words": ("klingon",)},
        {"extra_stop_words": "the"},
        {"extra_stop_words": (1,)},
        {"token_pattern": "("},
        {"token_pattern": r"\w*"},
        {"token_pattern": r"(a)(b)"},
        {"token_pattern": None},
        {"stemmer": "porter"},
    ],
)
def test_settings_that_make_no_sense(settings):
    with pytest.raises(ParameterError):
        Tokeniser.from_dict(settings)


def test_stop_words_leave_the_subject():
    english = stop_words_of("english")
    assert {"the", "and", "she'll"} <= english
    assert not {"computer", "microsoft", "state", "states", "problem", "million", "room"} & english
    short = stop_words_of(*Tokeniser().stop_words)
    assert {"the", "and", "she'll", "found", "show"} <= short < english
    assert all(word == word.lower() for language in STOP_WORD_LANGUAGES for word in stop_words_of(language))


CONTENT = [
    "bill",
    "computer",
    "cry",
    "fill",
    "fire",
    "front",
    "interest",
    "mill",
    "side",
    "system",
    "thick",
    "thin",
]


@for_each("word", CONTENT)
def test_a_content_word_is_no_stop_word(word):
    assert Tokeniser().drops(word) is None
    stored = Tokeniser.from_dict({"stop_words": ["english"]})  # what was cut with it before keeps its list
    assert stored.drops(word) == (None if word == "computer" else "stop_word")


def test_a_fact_names_the_most_frequent_words():
    told = [fact.sentence for fact in Tokeniser(max_share=1.0).preview(TEXTS).facts()]
    assert told[0] == "Dropped 7 words (14 tokens): stop words, such as the, and, of."


def test_numbers():
    assert [is_number(w) for w in ("1996", "1_000", "½", "3.14", "b2b", "x", "_", "２０")] == [
        True, True, True, True, False, False, False, True,
    ]  # fmt: skip


def test_ten_thousand_short_texts_are_quick(rng):
    vocabulary = [f"word{i}" for i in range(5_000)]
    many = [" ".join(vocabulary[i] for i in row) for row in rng.zipf(1.3, (10_000, 30)) % 5_000]
    assert units_of(lambda: Tokeniser().select(many)) < 125
    cut = CutTexts(many)
    cut.select(Tokeniser())
    most = itertools.count(100)
    assert units_of(lambda: cut.select(Tokeniser(max_words=next(most)))) < 25
