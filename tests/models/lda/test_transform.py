"""New documents: topics are left as they are, known documents come back, nothing is lost unseen."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from acvb_core.core.errors import DataError, ParameterError
from acvb_core.data.corpora.build import corpus_of_texts
from acvb_core.data.corpora.disk_build import write_disk_corpus
from acvb_core.data.corpora.readers import read_texts
from acvb_core.data.corpora.tokenise import Tokeniser
from acvb_core.data.corpus import Corpus
from acvb_core.engine.fitting import fit
from acvb_core.engine.result import Result
from acvb_core.models.lda.transform import fold_in, infer_topic_counts, map_onto_vocabulary
from acvb_core.samples.planted_mixtures import planted_topics
from tests.loops import for_each


@pytest.fixture(scope="module")
def result() -> Result:
    return fit(planted_topics(150, 60, 4, 60, 0.1, 0.05, 0).corpus, "cvb0", k=4)


def shares(result: Result, corpus: Corpus) -> np.ndarray:
    return result.transform(corpus).filter(like="topic_").to_numpy()


def test_a_settled_document_is_a_fixed_point(result: Result) -> None:
    corpus, alpha = result.prepared.data, result.posterior["alpha"]
    phi = result.prepared.model.topics(result.posterior).word_probability
    theta = fold_in(corpus.counts[:5], phi, alpha)
    for d in range(5):
        row = corpus.counts[[d]].toarray().ravel()
        words, counts = np.flatnonzero(row), row[row > 0]
        n = theta[d] * (alpha.sum() + counts.sum()) - alpha
        q = (n + alpha) * phi[:, words].T
        q /= q.sum(axis=1, keepdims=True)
        for _ in range(50):  # the q of each word at these counts, its own left out
            q = (np.maximum(n - q, 0) + alpha) * phi[:, words].T
            q /= q.sum(axis=1, keepdims=True)
        np.testing.assert_allclose((counts[:, None] * q).sum(axis=0), n, atol=0.02)


def test_counts_of_topics_that_a_document_leaves_are_not_below_zero(rng: np.random.Generator) -> None:
    # A count that is added to and taken from a thousand times ends a little below.
    phi = rng.dirichlet(np.full(30, 0.02), 10) + 1e-7
    counts = sparse.csr_array(rng.poisson(1.0, (200, 30)) * rng.integers(1, 1000, (200, 30)))
    alpha = np.full(10, 1e-5)
    assert infer_topic_counts(counts, phi / phi.sum(axis=1, keepdims=True), alpha).min() >= 0.0
    assert fold_in(counts, phi / phi.sum(axis=1, keepdims=True), alpha).min() > 0.0


def test_the_order_of_the_vocabulary_does_not_matter_and_unknown_words_are_counted(result: Result) -> None:
    corpus = result.prepared.data
    order = np.random.default_rng(0).permutation(corpus.n_words)
    counts = np.hstack([corpus.counts.toarray()[:, order], np.full((corpus.n_documents, 1), 2)])
    other = Corpus.build(counts, vocabulary=[*corpus.vocabulary[order], "never-seen"])
    table = result.transform(other)
    assert (table["unknown"] == 2).all()
    assert (table["tokens"] == corpus.lengths).all()
    np.testing.assert_allclose(shares(result, other), shares(result, corpus), atol=2e-3)


def test_a_document_without_known_words_has_no_shares(result: Result) -> None:
    other = Corpus.build(np.array([[3]]), vocabulary=["never-seen"])
    assert result.transform(other)["tokens"].tolist() == [0]
    assert np.isnan(shares(result, other)).all()
    assert map_onto_vocabulary(other, result.prepared.data.vocabulary).unknown.tolist() == [3]


def test_topics_complete_new_documents_better_than_word_frequencies() -> None:
    drawn = planted_topics(300, 60, 4, 60, 0.1, 0.05, 0).corpus
    train, test = (Corpus.build(drawn.counts[part]) for part in (slice(0, 200), slice(200, None)))
    result = fit(train, "cvb0", k=4)
    found = result.completion(test, seed=1)
    frequency = (train.frequencies + 0.5) / (train.frequencies + 0.5).sum()
    even = float((test.frequencies * np.log(frequency)).sum() / test.n_tokens)
    assert 0.15 * test.n_tokens < found.tokens < 0.25 * test.n_tokens
    assert found.log_likelihood > even + 0.3
    assert found.perplexity == pytest.approx(np.exp(-found.log_likelihood))


def test_texts_are_cut_as_the_fitted_ones_were() -> None:
    lines = "\n".join(["sun moon star sky sun", "bread butter milk bread"] * 12).encode()
    tokeniser = Tokeniser(min_documents=1, max_share=1.0)
    corpus = corpus_of_texts(read_texts(lines, format="lines"), tokeniser).data
    result = fit(corpus, "cvb0", k=2, hyper="fixed")
    table = result.transform(["The SUN and the moon!", "Milk, bread, bread.", "nothing of it"])
    assert table["tokens"].tolist() == [2, 3, 0]
    main = table.filter(like="topic_").to_numpy().argmax(axis=1)
    assert main[0] != main[1]
    table = result.transform(["unheard moon of the unseen", "the and of"])
    assert table["unknown"].tolist() == [2, 0], "a stop word is not unknown"
    assert table["tokens"].tolist() == [1, 0]


@for_each("ngrams", [1, 2])
def test_texts_give_what_their_corpus_gives(ngrams: int) -> None:
    lines = ["sun moon star sky sun", "bread butter milk bread", "", "new york bread"] * 5
    tokeniser = Tokeniser(ngrams=ngrams, min_documents=1, max_share=1.0)
    corpus = corpus_of_texts(read_texts("\n".join(lines).encode(), format="lines"), tokeniser).data
    result = fit(corpus, "cvb0", k=2, hyper="fixed")
    table = result.transform(lines)
    assert (table["tokens"] == corpus.lengths).all(), "phrases are counted beside their words"
    np.testing.assert_array_equal(table.filter(like="topic_").to_numpy(), shares(result, corpus))


def test_nothing_can_be_completed_without_known_words(result: Result) -> None:
    with pytest.raises(DataError, match="no word of these documents is one of the topics' words"):
        result.completion(Corpus.build(np.array([[3]]), vocabulary=["never-seen"]))


def test_texts_need_to_be_cut_and_relations_have_no_documents() -> None:
    counted = fit(planted_topics(10, 8, 2, 5, 0.1, 0.1, 0).corpus, "vb", k=2, max_sweeps=2)
    with pytest.raises(ParameterError, match="read as counts"):
        counted.transform(["a text"])


def test_one_text_and_a_corpus_on_disk_are_told_what_to_give(tmp_path: Path) -> None:
    corpus = planted_topics(20, 15, 2, 20, 0.1, 0.1, 0).corpus
    result = fit(corpus, "cvb0", k=2, max_sweeps=2)
    with pytest.raises(ParameterError, match="a str; put a single text into a list"):
        result.transform("red ship")
    with pytest.raises(ParameterError, match=r"kept on disk; give what fits into memory: its in_memory\(\)"):
        result.transform(write_disk_corpus([corpus], tmp_path / "kept"))
