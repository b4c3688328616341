"""Document completion: tokens are conserved, the score is the plain sum, knowing the topics helps."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import sparse

from acvb_core.core.errors import DataError
from acvb_core.data.corpus import Corpus
from acvb_core.evaluate.heldout import document_completion


def even(n_topics: int):
    return lambda counts: np.full((counts.shape[0], n_topics), 1 / n_topics)


def test_the_parts_make_up_the_corpus_and_the_score_is_of_the_rest(rng: np.random.Generator) -> None:
    counts = rng.poisson(1.5, size=(20, 9))
    corpus = Corpus.build(counts)
    phi = rng.dirichlet(np.ones(9), size=3)
    theta = rng.dirichlet(np.ones(3), size=20)
    seen: list[sparse.csr_array] = []

    def infer(observed: sparse.csr_array) -> np.ndarray:
        seen.append(observed)
        return theta

    found = document_completion(corpus, phi, infer, seed=3)
    rest = counts - seen[0].toarray()
    assert (rest >= 0).all()
    assert found.tokens == rest.sum()
    assert (np.abs(rest.sum(axis=1) - 0.2 * counts.sum(axis=1)) < 1).all()
    assert found.documents == (rest.sum(axis=1) > 0).sum()
    expected = (rest * np.log(theta @ phi)).sum() / rest.sum()
    assert found.log_likelihood == pytest.approx(expected, rel=1e-12)
    assert found.perplexity == pytest.approx(math.exp(-expected), rel=1e-12)


def test_a_choice_among_all_words() -> None:
    corpus = Corpus.build(np.full((5, 10), 4))
    found = document_completion(corpus, np.full((2, 10), 0.1), even(2))
    assert found.perplexity == pytest.approx(10.0)
    assert (found.tokens, found.documents) == (40, 5)


def test_the_same_seed_gives_the_same_tokens(rng: np.random.Generator) -> None:
    corpus = Corpus.build(rng.poisson(1.5, size=(20, 9)))
    phi = rng.dirichlet(np.ones(9), size=3)
    one = document_completion(corpus, phi, even(3), seed=1)
    assert document_completion(corpus, phi, even(3), seed=1) == one
    assert document_completion(corpus, phi, even(3), seed=2) != one


def test_knowing_the_topics_helps() -> None:
    phi = np.array([[0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5]])
    corpus = Corpus.build([[10, 10, 0, 0], [0, 0, 10, 10]])

    def infer(observed: sparse.csr_array) -> np.ndarray:
        tokens = observed.toarray() @ (phi.T > 0)
        return tokens / tokens.sum(axis=1, keepdims=True)

    assert document_completion(corpus, phi, infer).perplexity == pytest.approx(2.0)
    assert document_completion(corpus, phi, even(2)).perplexity == pytest.approx(4.0)


def test_an_impossible_word_is_infinitely_surprising() -> None:
    corpus = Corpus.build([[10, 10]])
    found = document_completion(corpus, [[1.0, 0.0]], even(1), observed=0.5)
    assert found.log_likelihood == -math.inf
    assert found.perplexity == math.inf


def test_nothing_to_predict() -> None:
    found = document_completion(Corpus.build([[1, 0], [0, 1], [0, 0]]), [[0.5, 0.5]], even(1))
    assert (found.tokens, found.documents) == (0, 0)
    assert math.isnan(found.perplexity)


def test_what_does_not_fit_is_refused() -> None:
    corpus = Corpus.build([[3, 4], [5, 6]])
    with pytest.raises(DataError, match=r"shape \(2, 3\) were inferred for 2 documents and 1 topics"):
        document_completion(corpus, [[0.5, 0.5]], even(3))
    with pytest.raises(DataError, match="over 3 words where 2 are expected"):
        document_completion(corpus, [[0.5, 0.25, 0.25]], even(1))
