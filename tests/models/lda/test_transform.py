"""New documents: topics are left as they are, known documents come back, nothing is lost unseen."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from acvb_core.core.errors import DataError, ParameterError
from acvb_core.data.corpora.build import corpus_of_texts
from acvb_core.data.corpora.disk_build import write_disk_corpus
from acvb_core.data.corpora.readers import read_texts
from acvb_core.data.corpora.tokenise import Tokeniser
from acvb_core.data.corpus import Corpus
from acvb_core.engine.fitting import fit
from acvb_core.engine.result import Result
from acvb_core.models.lda.transform import fold_in
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
    table = result.transform(other)
    assert table[["tokens", "unknown"]].to_numpy().tolist() == [[0, 3]]
    assert table.filter(like="topic_").isna().all(axis=None)
    with pytest.raises(DataError, match="no word of these documents is one of the topics' words"):
        result.completion(other)


@for_each("ngrams", [1, 2])
def test_texts_give_what_their_corpus_gives(ngrams: int) -> None:
    lines = ["sun moon star sky sun", "bread butter milk bread", "", "new york bread"] * 5
    tokeniser = Tokeniser(ngrams=ngrams, min_documents=1, max_share=1.0)
    corpus = corpus_of_texts(read_texts("\n".join(lines).encode(), format="lines"), tokeniser).data
    result = fit(corpus, "cvb0", k=2, hyper="fixed")
    table = result.transform(lines)
    assert (table["tokens"] == corpus.lengths).all(), "phrases are counted beside their words"
    np.testing.assert_array_equal(table.filter(like="topic_").to_numpy(), shares(result, corpus))
    table = result.transform(["unheard MOON, of the unseen", "the and of"])
    assert table["unknown"].tolist() == [2 * ngrams, 0], "a stop word is not unknown"
    assert table["tokens"].tolist() == [1, 0]


def test_other_documents_are_refused_with_what_to_give(tmp_path: Path, result: Result) -> None:
    disk = write_disk_corpus([result.prepared.data], tmp_path / "kept")
    for given, message in (
        ("red ship", "a str; put a single text into a list"),
        (["red ship"], "read as counts"),
        (disk, r"kept on disk; give what fits into memory: its in_memory\(\)"),
    ):
        with pytest.raises(ParameterError, match=message):
            result.transform(given)
