"""Rankings of words by hand and against plain sorting; distances of distributions against SciPy's."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon

from acvb_core.core.errors import DataError, ParameterError
from acvb_core.evaluate.ranking import (
    distributions,
    exclusivity,
    frex,
    jensen_shannon,
    lift,
    ranked_words,
    relevance,
    top_words,
)
from tests.loops import for_each

PHI = np.array([[0.5, 0.3, 0.2, 0.0], [0.1, 0.3, 0.0, 0.6]])
COUNTS = np.array([40, 30, 10, 20])
WORDS = ["the", "of", "cat", "dog"]


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=30), st.integers(1, 40))
def test_top_words_are_a_stable_sort(scores: list[int], n: int) -> None:
    expected = sorted(range(len(scores)), key=lambda w: (-scores[w], w))[:n]
    assert top_words(scores, n).tolist() == expected
    assert top_words([scores, scores], n).tolist() == [expected, expected]


def test_relevance_by_hand() -> None:
    found = relevance(PHI, COUNTS, 0.25)
    assert found[0, 0] == pytest.approx(0.25 * math.log(0.5) + 0.75 * math.log(0.5 / 0.4))
    assert found[1, 3] == pytest.approx(0.25 * math.log(0.6) + 0.75 * math.log(0.6 / 0.2))
    assert found[0, 3] == -np.inf


def test_a_word_the_corpus_does_not_use_describes_no_topic() -> None:
    assert relevance([0.5, 0.5], [0, 3], 0.0).tolist() == [-np.inf, pytest.approx(math.log(0.5))]
    assert relevance([0.5, 0.5], [0, 3], 1.0)[0] == -np.inf
    np.testing.assert_allclose(lift(PHI, COUNTS)[0], [1.25, 1.0, 2.0, 0.0])
    assert np.isnan(lift([0.5, 0.5], [0, 3])[0])


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


@for_each(
    "change, message",
    [
        ({"by": "length"}, "not by 'length'"),
        ({"by": "relevance", "lambda_": 1.5}, "not 1.5"),
        ({"topics": [2]}, "topic 3"),
        ({"topics": []}, "no topic"),
    ],
)
def test_settings_that_make_no_sense(change: dict[str, object], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        ranked_words(PHI, COUNTS, WORDS, **change)  # type: ignore[arg-type]


def test_against_scipy(rng: np.random.Generator) -> None:
    one = rng.dirichlet(np.full(37, 0.05), size=6)
    other = rng.dirichlet(np.full(37, 0.5), size=4)
    one[one < 1e-4] = 0.0
    one /= one.sum(axis=1, keepdims=True)
    expected = [[jensenshannon(p, q, base=2) for q in other] for p in one]
    np.testing.assert_allclose(jensen_shannon(one, other), expected, rtol=1e-10)
    own = [[jensenshannon(p, q, base=2) for q in one] for p in one]
    np.testing.assert_allclose(jensen_shannon(one), own, rtol=1e-10, atol=1e-7)


@for_each(
    "given, message",
    [
        ([0.5, 0.5], r"shape \(2,\)"),
        (np.empty((0, 3)), r"shape \(0, 3\)"),
        ([[1.0, 0.0], [0.5, 0.4]], "row 2 is not a distribution"),
        ([[1.5, -0.5]], "row 1 is not a distribution"),
        ([[np.nan, 1.0]], "row 1 is not a distribution"),
    ],
)
def test_what_is_no_distribution_is_refused(given: object, message: str) -> None:
    with pytest.raises(DataError, match=message):
        distributions(given)  # type: ignore[arg-type]
