"""Planted topics have the shares, words and sizes they claim."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from acvb_core.core.errors import ParameterError
from acvb_core.data.corpus import Corpus
from acvb_core.samples.planted_mixtures import bars, planted_topics, topics_10, topics_40
from tests.loops import for_each


def assert_consistent(drawn) -> None:
    """The counts of topics are those of the corpus, and the truth is made of distributions."""
    corpus = drawn.corpus
    np.testing.assert_array_equal(drawn.document_topics.sum(1), corpus.lengths)
    np.testing.assert_array_equal(drawn.word_topics.sum(1), corpus.frequencies)
    np.testing.assert_array_equal(drawn.word_topics.sum(0), drawn.document_topics.sum(0))
    n_topics = len(drawn.phi)
    assert drawn.phi.shape == (n_topics, corpus.n_words)
    assert drawn.theta.shape == drawn.document_topics.shape == (corpus.n_documents, n_topics)
    np.testing.assert_allclose(drawn.phi.sum(1), 1)
    np.testing.assert_allclose(drawn.theta.sum(1), 1)
    assert Corpus.build(corpus.counts).fingerprint == corpus.fingerprint


def p_value(found, expected) -> float:
    """Return the p value of Pearson's statistic, cells of small expectation put together."""
    found, expected = found.ravel(), expected.ravel()
    small = expected < 5
    found = np.append(found[~small], found[small].sum())
    expected = np.append(expected[~small], expected[small].sum())
    kept = expected > 0
    return stats.chisquare(found[kept], expected[kept]).pvalue


@for_each("drawn, shape, topics", [(topics_10(), (500, 1000), 10), (topics_40(), (1500, 5000), 40)])
def test_the_papers_corpora(drawn, shape, topics):
    assert drawn.corpus.shape == shape
    assert len(drawn.phi) == topics
    assert drawn.corpus.name == f"topics_{topics}"
    assert_consistent(drawn)
    assert abs(drawn.corpus.lengths.mean() - 100) < 2
    assert drawn.corpus.lengths.std() > 5


def test_tokens_come_from_their_topics_and_topics_from_their_documents():
    drawn = planted_topics(300, 40, 6, 200, 0.5, 0.5, 1)
    topics = drawn.word_topics.sum(0)
    assert p_value(drawn.word_topics.T, drawn.phi * topics[:, None]) > 0.001
    assert p_value(drawn.document_topics, drawn.theta * drawn.corpus.lengths[:, None]) > 0.001
    # So do the counts themselves: which document a token stands in depends on its word by way of the topic only.
    documents = drawn.document_topics.astype(float)
    of_word = np.divide(drawn.word_topics, topics, where=topics > 0, out=np.zeros(drawn.word_topics.shape))
    assert p_value(drawn.corpus.counts.toarray(), documents @ of_word.T) > 0.001


def test_the_priors_are_dirichlet():
    drawn = planted_topics(4000, 50, 4, 5, 0.3, 2.0, 0)
    # The variance of a symmetric Dirichlet of K parts a: (1/K) (1 - 1/K) / (K a + 1).
    for parts, a in ((drawn.theta, 0.3), (planted_topics(2, 4, 4000, 5, 1, 2.0, 0).phi, 2.0)):
        k = parts.shape[1]
        assert parts.var() == pytest.approx((1 / k) * (1 - 1 / k) / (k * a + 1), rel=0.05)


def test_bars():
    drawn = bars()
    assert_consistent(drawn)
    assert drawn.corpus.shape == (1000, 25)
    assert (drawn.corpus.lengths == 100).all()
    assert drawn.corpus.vocabulary.tolist()[:6] == ["r1c1", "r1c2", "r1c3", "r1c4", "r1c5", "r2c1"]
    pictures = drawn.phi.reshape(10, 5, 5)
    for i in range(5):
        np.testing.assert_array_equal(np.argwhere(pictures[i])[:, 0], i)
        np.testing.assert_array_equal(np.argwhere(pictures[5 + i])[:, 1], i)
    assert set(drawn.phi.ravel().tolist()) == {0.0, 0.2}
    # Only pixels of its topics are drawn.
    assert not drawn.word_topics.T[drawn.phi == 0].any()


def test_seeds():
    for draw in (topics_10, bars):
        first, again, other = draw(3), draw(3), draw(4)
        assert first.corpus.fingerprint == again.corpus.fingerprint != other.corpus.fingerprint
        np.testing.assert_array_equal(first.document_topics, again.document_topics)


def test_documents_may_be_empty_but_not_all():
    drawn = planted_topics(200, 5, 2, 1, 1, 1, 0)
    assert (drawn.corpus.lengths == 0).any()
    assert_consistent(drawn)
    with pytest.raises(ParameterError, match="No token"):
        planted_topics(1, 5, 2, 1e-9, 1, 1, 0)


@for_each(
    "wrong, what",
    [
        ({"n_topics": 0}, "at least 1"),
        ({"n_words": 0}, "at least 1"),
        ({"length": 0}, "above 0"),
        ({"alpha": float("nan")}, "above 0"),
        ({"beta": -1}, "above 0"),
        ({"seed": -1}, "Seeds"),
    ],
)
def test_what_makes_no_sense(wrong, what):
    sound = {"n_documents": 3, "n_words": 4, "n_topics": 2, "length": 5, "alpha": 1, "beta": 1, "seed": 0}
    with pytest.raises(ParameterError, match=what):
        planted_topics(**(sound | wrong))


def test_bars_of_no_length_make_no_sense():
    with pytest.raises(ParameterError, match="above 0"):
        bars(length=0)
