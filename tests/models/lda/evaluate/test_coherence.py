"""Coherence by hand, against plain loops over documents, and where there is nothing to measure."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import sparse

from acvb_core.core.errors import DataError, ParameterError
from acvb_core.models.lda.topics import coherence, mean_exclusivity, topic_diversity, uniqueness

#: Documents by words. Word 3 is in every document but the empty one, word 4 in none.
COUNTS = sparse.csr_array(
    np.array([[2, 1, 0, 1, 0], [1, 0, 3, 1, 0], [0, 1, 0, 2, 0], [5, 1, 0, 1, 0], [0, 0, 0, 0, 0]])
)


def npmi(one: float, other: float, both: float) -> float:
    return math.log(both / (one * other)) / -math.log(both)


def test_by_hand() -> None:
    # Documents: word 0 in 3, word 1 in 3, word 2 in 1 of 5; 0 and 1 in 2, 0 and 2 in 1, 1 and 2 in none.
    found = coherence(COUNTS, [[0, 1, 2]])
    assert found.npmi[0] == pytest.approx((npmi(3 / 5, 3 / 5, 2 / 5) + npmi(3 / 5, 1 / 5, 1 / 5) - 1) / 3)
    assert found.u_mass[0] == pytest.approx((math.log(3 / 3) + math.log(2 / 3) + math.log(1 / 3)) / 3)
    assert found.unused.tolist() == [0]


def test_the_word_that_ranks_higher_is_the_one_that_is_given() -> None:
    assert coherence(COUNTS, [[2, 0]]).u_mass[0] == pytest.approx(math.log(2 / 1))
    assert coherence(COUNTS, [[0, 2]]).u_mass[0] == pytest.approx(math.log(2 / 3))


def test_smoothing_by_hand() -> None:
    found = coherence(COUNTS, [[0, 2], [1, 2]], npmi_smoothing=0.01, u_mass_smoothing=0.5)
    assert found.u_mass.tolist() == pytest.approx([math.log(1.5 / 3), math.log(0.5 / 3)])
    joint = 1 / 5 + 0.01
    assert found.npmi[0] == pytest.approx(math.log(joint / (3 / 5 * 1 / 5)) / -math.log(joint))
    assert found.npmi[1] == pytest.approx(math.log(0.01 / (3 / 5 * 1 / 5)) / -math.log(0.01))
    assert coherence(COUNTS, [[1, 2]], u_mass_smoothing=0.0).u_mass[0] == -math.inf


def test_extremes() -> None:
    always = sparse.csr_array(np.array([[1, 1, 0, 1], [1, 1, 0, 1], [0, 0, 1, 1]]))
    # Always together; never together; in every document.
    found = coherence(always, [[0, 1], [0, 2], [3, 0], [3, 3]])
    assert found.npmi.tolist() == pytest.approx([1.0, -1.0, 0.0, 0.0])


def test_a_word_of_no_document_is_in_no_pair() -> None:
    found = coherence(COUNTS, [[4, 0, 1], [4, 0, 4], [3, 2, 0]])
    assert found.unused.tolist() == [1, 2, 0]
    assert found.npmi[0] == pytest.approx(coherence(COUNTS, [[0, 1]]).npmi[0])
    assert found.u_mass[0] == pytest.approx(coherence(COUNTS, [[0, 1]]).u_mass[0])
    assert math.isnan(found.npmi[1])
    assert math.isnan(found.u_mass[1])


def test_one_word_makes_no_pair() -> None:
    found = coherence(COUNTS, [[0], [1]])
    assert np.isnan(found.npmi).all()
    assert np.isnan(found.u_mass).all()


def test_against_loops_over_documents(rng: np.random.Generator) -> None:
    counts = rng.poisson(0.4, size=(60, 25))
    top = np.array([rng.permutation(25)[:6] for _ in range(5)])
    sets = [set(np.flatnonzero(row)) for row in counts]

    def documents(*words: int) -> int:
        return sum(all(w in one for w in words) for one in sets)

    found = coherence(sparse.csr_array(counts), top)
    for k, words in enumerate(top):
        pairs = [(words[i], words[j]) for i in range(6) for j in range(i + 1, 6)]
        plain = [
            npmi(documents(a) / 60, documents(b) / 60, documents(a, b) / 60) if documents(a, b) else -1.0
            for a, b in pairs
        ]
        mimno = [math.log((documents(a, b) + 1) / documents(a)) for a, b in pairs]
        assert found.npmi[k] == pytest.approx(np.mean(plain), rel=1e-12)
        assert found.u_mass[k] == pytest.approx(np.mean(mimno), rel=1e-12)


def test_names_and_numbers_of_words_do_not_matter(rng: np.random.Generator) -> None:
    counts = rng.poisson(0.4, size=(40, 12))
    top = np.array([[0, 3, 5], [7, 1, 2]])
    new = rng.permutation(12)
    moved = np.empty_like(counts)
    moved[:, new] = 7 * counts[rng.permutation(40)]
    one, other = coherence(sparse.csr_array(counts), top), coherence(sparse.csr_array(moved), new[top][::-1])
    np.testing.assert_allclose(other.npmi, one.npmi[::-1])
    np.testing.assert_allclose(other.u_mass, one.u_mass[::-1])


def test_zeros_that_are_stored_are_zeros() -> None:
    stored = sparse.csr_array((np.array([1, 0, 1]), np.array([0, 1, 1]), np.array([0, 2, 3])), shape=(2, 2))
    assert coherence(stored, [[0, 1]]).npmi[0] == -1.0


@pytest.mark.parametrize("words", [[[0, 5]], [[-1, 0]]])
def test_words_beyond_the_vocabulary(words: list[list[int]]) -> None:
    with pytest.raises(DataError, match="not in the vocabulary"):
        coherence(COUNTS, words)


@pytest.mark.parametrize("words", [[0, 1], [[]]])
def test_words_of_no_topic(words: list[object]) -> None:
    with pytest.raises(ParameterError, match="topics, words"):
        coherence(COUNTS, words)  # type: ignore[arg-type]


def test_diversity_and_uniqueness_by_hand() -> None:
    top = [[0, 1, 2], [0, 3, 4], [0, 1, 5]]
    assert topic_diversity(top) == pytest.approx(6 / 9)
    np.testing.assert_allclose(
        uniqueness(top), [(1 / 3 + 1 / 2 + 1) / 3, (1 / 3 + 2) / 3, (1 / 3 + 1 / 2 + 1) / 3]
    )
    assert uniqueness(top).mean() == pytest.approx(topic_diversity(top))
    assert topic_diversity([[0, 1], [0, 1]]) == 0.5
    assert topic_diversity([[0, 1], [2, 3]]) == 1.0


def test_mean_exclusivity_by_hand() -> None:
    phi = [[0.5, 0.3, 0.2, 0.0], [0.1, 0.3, 0.0, 0.6]]
    np.testing.assert_allclose(
        mean_exclusivity(phi, [[0, 1], [3, 1]]), [(5 / 6 + 1 / 2) / 2, (1 + 1 / 2) / 2]
    )
