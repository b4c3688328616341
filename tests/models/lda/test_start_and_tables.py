"""Where methods begin, and what a user takes away."""

from __future__ import annotations

import numpy as np
import pytest

from acvb_core.data.corpus import Corpus
from acvb_core.models.lda import start
from acvb_core.models.lda.hyper import Concentrations
from acvb_core.models.lda.start import draw_noisy_counts, random_responsibilities, warm_responsibilities
from acvb_core.models.lda.state import Tokens
from acvb_core.models.lda.transform import fold_in
from acvb_core.samples.planted_mixtures import planted_topics

CORPUS = planted_topics(30, 90, 4, 25, 0.2, 0.1, 1).corpus


@pytest.mark.parametrize("n_pairs", [1, 300, 70_000])
def test_random_responsibilities(n_pairs: int) -> None:
    q = random_responsibilities(n_pairs, 5, np.random.default_rng(0))
    assert q.shape == (n_pairs, 5)
    assert q.dtype == np.float32
    assert (q > 0).all()
    np.testing.assert_allclose(q.sum(axis=1), 1.0, rtol=1e-6)
    assert len(np.unique(q[:, 0])) > 0.95 * n_pairs
    if n_pairs > 100:
        np.testing.assert_allclose(q.mean(axis=0), 0.2, atol=0.03)
    again = random_responsibilities(n_pairs, 5, np.random.default_rng(0))
    assert again.tobytes() == q.tobytes()


def test_random_responsibilities_are_drawn_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """The draw can be stopped between pieces, and the size of a piece does not change what is drawn."""
    whole = random_responsibilities(300, 5, np.random.default_rng(0))
    monkeypatch.setattr(start, "_NUMBERS", 37)
    calls = []
    pieces = random_responsibilities(300, 5, np.random.default_rng(0), lambda: calls.append(1))
    assert pieces.tobytes() == whole.tobytes()
    assert len(calls) >= 300 * 5 / 37


def test_responsibilities_from_topics_trained_before() -> None:
    """q ∝ (alpha_k + n_dk) (beta + n_wk) / (V beta + n_k), n_dk being what the words of the document imply."""
    tokens, rng = Tokens.of(CORPUS), np.random.default_rng(0)
    by_word = rng.gamma(0.3, 10.0, (90, 4)).astype(np.float32)
    by_word[7] = 0.0  # a new word
    alpha = np.array([0.1, 0.5, 0.02, 1.0])
    q = warm_responsibilities(tokens, by_word, Concentrations(alpha, 0.05))
    np.testing.assert_allclose(q.sum(axis=1), 1.0, rtol=1e-5)
    phi = (by_word + 0.05) / (by_word.sum(axis=0) + 90 * 0.05)
    documents = np.repeat(np.arange(30), np.diff(tokens.pointers))
    shares = fold_in(CORPUS.counts, phi.T, alpha)
    wanted = shares[documents] * phi[tokens.words]
    np.testing.assert_allclose(q, wanted / wanted.sum(axis=1, keepdims=True), rtol=1e-3, atol=1e-5)


def test_start_of_variational_bayes() -> None:
    """Documents are even over the topics, which all but agree and do not take sides between frequent and rare words."""
    counts = draw_noisy_counts(Tokens.of(CORPUS), 6, np.random.default_rng(0))
    np.testing.assert_allclose(counts.by_document, CORPUS.lengths[:, None] / np.full(6, 6.0))
    assert counts.by_word.mean() == pytest.approx(1.0, abs=0.02)
    assert counts.by_word.std() == pytest.approx(0.1, abs=0.02)
    np.testing.assert_allclose(counts.totals, counts.by_word.sum(axis=0))
    assert {array.dtype for array in (counts.by_document, counts.by_word)} == {np.dtype(np.float64)}


def test_pieces_of_a_pass_cover_every_document_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also empty ones at both ends, and one that is longer than a piece."""
    dense = np.zeros((9, 40), dtype=int)
    dense[[1, 2, 5, 7], :] = np.arange(160).reshape(4, 40) % 3
    dense[4] = 1
    tokens = Tokens.of(Corpus.build(dense))
    for length in (1, 7, 39, 40, 41, 10_000):
        monkeypatch.setattr("acvb_core.models.lda.state.chunk_pairs", lambda *_, length=length: length)
        pieces = tokens.chunks(3)
        assert [d for begin, end in pieces for d in range(begin, end)] == list(range(9))
        for begin, end in pieces:
            assert end == begin + 1 or tokens.pointers[end] - tokens.pointers[begin] <= length
