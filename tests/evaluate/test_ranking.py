"""Rankings of words by hand and against slow, plain sorting."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acvb_core.core.errors import DataError, ParameterError
from acvb_core.evaluate.ranking import exclusivity, frex, lift, ranked_words, relevance, top_words
from tests.loops import for_each

PHI = np.array([[0.5, 0.3, 0.2, 0.0], [0.1, 0.3, 0.0, 0.6]])
COUNTS = np.array([40, 30, 10, 20])
WORDS = ["the", "of", "cat", "dog"]


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=30), st.integers(1, 40))
def test_top_words_are_a_stable_sort(scores: list[int], n: int) -> None:
    expected = sorted(range(len(scores)), key=lambda w: (-scores[w], w))[:n]
    assert top_words(scores, n).tolist() == expected
    assert top_words([scores, scores], n).tolist() == [expected, expected]


def test_minus_infinity_comes_last() -> None:
    assert top_words([-np.inf, 0.0, -np.inf, 1.0], 3).tolist() == [3, 1, 0]


@for_each("scores", [[1.0, np.nan, 2.0], [np.nan, np.nan, np.nan], [np.nan, 1.0, 2.0]])
def test_scores_that_are_no_numbers_are_refused(scores: list[float]) -> None:
    with pytest.raises(DataError, match="NaN"):
        top_words(scores, 3)


def test_no_words_are_refused() -> None:
    with pytest.raises(ParameterError, match="not 0"):
        top_words([1.0], 0)


def test_relevance_by_hand() -> None:
    found = relevance(PHI, COUNTS, 0.25)
    assert found[0, 0] == pytest.approx(0.25 * math.log(0.5) + 0.75 * math.log(0.5 / 0.4))
    assert found[1, 3] == pytest.approx(0.25 * math.log(0.6) + 0.75 * math.log(0.6 / 0.2))
    assert found[0, 3] == -np.inf


@for_each("lambda_, expected", [(1.0, ["the", "of", "cat"]), (0.0, ["cat", "the", "of"])])
def test_relevance_goes_from_lift_to_probability(lambda_: float, expected: list[str]) -> None:
    table = ranked_words(PHI, COUNTS, WORDS, by="relevance", lambda_=lambda_, n=3, topics=[0])
    assert table["word"].tolist() == expected


def test_a_word_the_corpus_does_not_use_describes_no_topic() -> None:
    assert relevance([0.5, 0.5], [0, 3], 0.0).tolist() == [-np.inf, pytest.approx(math.log(0.5))]
    assert relevance([0.5, 0.5], [0, 3], 1.0)[0] == -np.inf
    assert np.isnan(lift([0.5, 0.5], [0, 3])[0])


def test_lift_by_hand() -> None:
    np.testing.assert_allclose(lift(PHI, COUNTS)[0], [1.25, 1.0, 2.0, 0.0])


def test_exclusivity_by_hand() -> None:
    np.testing.assert_allclose(exclusivity(PHI), [[5 / 6, 0.5, 1, 0], [1 / 6, 0.5, 0, 1]])
    np.testing.assert_array_equal(exclusivity([[1.0, 0.0], [1.0, 0.0]]), [[0.5, 0.0], [0.5, 0.0]])


def test_frex_by_hand() -> None:
    # First topic: ranks by probability 4, 3, 2, 1 of 4; by exclusivity 3, 2, 4, 1.
    found = frex(PHI, 0.25)[0]
    np.testing.assert_allclose(
        found, [1 / (0.25 / (3 / 4) + 0.75 / (4 / 4)), 1 / (0.25 / 0.5 + 0.75 / 0.75), 1 / (0.25 + 1.5), 0.25]
    )
    np.testing.assert_allclose(frex(PHI, 0.0)[0], [1, 0.75, 0.5, 0.25])
    np.testing.assert_allclose(frex(PHI, 1.0)[0], [0.75, 0.5, 1, 0.25])


def test_words_that_tie_have_the_same_frex() -> None:
    np.testing.assert_allclose(frex(np.full((2, 4), 0.25)), np.full((2, 4), 2.5 / 4))


@for_each("by", ["probability", "relevance", "frex"])
def test_table_is_what_the_scores_say(by: str, rng: np.random.Generator) -> None:
    phi = rng.dirichlet(np.full(40, 0.3), size=5)
    counts = rng.integers(1, 100, 40)
    words = [f"w{w}" for w in range(40)]
    scores = {"probability": phi, "relevance": relevance(phi, counts, 0.6), "frex": frex(phi)}[by]
    table = ranked_words(phi, counts, words, by=by, n=7)  # type: ignore[arg-type]
    assert table["topic"].tolist() == np.repeat(np.arange(1, 6), 7).tolist()
    assert table["rank"].tolist() == list(range(1, 8)) * 5
    best = top_words(scores, 7)
    assert table["word"].tolist() == [words[w] for w in best.ravel()]
    for column, values in (
        ("score", scores),
        ("probability", phi),
        ("lift", lift(phi, counts)),
        ("exclusivity", exclusivity(phi)),
        ("frequency", np.tile(counts, (5, 1))),
    ):
        np.testing.assert_allclose(table[column], np.take_along_axis(values, best, axis=1).ravel())


@for_each("by", ["probability", "relevance", "frex"])
def test_topics_may_be_chosen_and_permuted(by: str, rng: np.random.Generator) -> None:
    phi = rng.dirichlet(np.full(40, 0.3), size=4)
    words = [f"w{w}" for w in range(40)]
    counts = np.arange(1, 41)
    whole = ranked_words(phi, counts, words, by=by, n=5)  # type: ignore[arg-type]
    part = ranked_words(phi, counts, words, by=by, n=5, topics=[2])  # type: ignore[arg-type]
    expected = whole[whole["topic"] == 3].reset_index(drop=True)
    assert part["word"].tolist() == expected["word"].tolist()
    np.testing.assert_allclose(part["score"], expected["score"])
    moved = ranked_words(phi[[2, 0, 1, 3]], counts, words, by=by, n=5)  # type: ignore[arg-type]
    assert moved["word"].tolist()[:5] == part["word"].tolist()


def test_fewer_words_than_asked() -> None:
    assert ranked_words(PHI, COUNTS, WORDS, n=10)["rank"].tolist() == [1, 2, 3, 4] * 2


@for_each(
    "change, message",
    [
        ({"by": "length"}, "not by 'length'"),
        ({"by": "relevance", "lambda_": 1.5}, "not 1.5"),
        ({"by": "frex", "weight": -1.0}, "not -1.0"),
        ({"topics": [2]}, "topic 3"),
        ({"topics": [-1]}, "topic 0"),
        ({"topics": []}, "no topic"),
    ],
)
def test_settings_that_make_no_sense(change: dict[str, object], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        ranked_words(PHI, COUNTS, WORDS, **change)  # type: ignore[arg-type]


@for_each("counts", [[1, 2, 3], [0, 0, 0, 0]])
def test_frequencies_that_do_not_fit(counts: list[int]) -> None:
    with pytest.raises(DataError, match="frequencies of the shape"):
        ranked_words(PHI, counts, WORDS)
