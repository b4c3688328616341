"""Held-out scores by hand: of links, words and cells, of the rest of a document, and products of pairs of rows."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import average_precision_score, roc_auc_score

from acvb_core.data.corpus import Corpus
from acvb_core.evaluate.heldout import (
    document_completion,
    pair_products,
    score_cells,
    score_links,
    score_ranking,
)
from tests.loops import for_each

P = np.array([0.9, 0.6, 0.5, 0.2])
TRUTH = np.array([True, False, True, False])


def test_links_by_hand() -> None:
    found = score_links(P, TRUTH, 0.25)
    expected = (math.log(0.9) + math.log(0.4) + math.log(0.5) + math.log(0.8)) / 4
    assert found.log_likelihood == pytest.approx(expected, rel=1e-14)
    assert found.skill == pytest.approx(1 - expected / ((2 * math.log(0.25) + 2 * math.log(0.75)) / 4))
    # One of the four pairs of a one and a zero, (0.5, 0.6), is in the wrong order.
    assert found.roc_auc == pytest.approx(3 / 4)
    assert found.average_precision == pytest.approx((1 + 2 / 3) / 2)


@for_each("levels", [2, 5, 1000])
def test_ranking_is_that_of_scikit_learn(levels: int) -> None:
    rng = np.random.default_rng(levels)
    for share in (0.02, 0.5, 0.9):
        truth = rng.random(400) < share
        probability = rng.integers(1, levels, size=400, endpoint=True) / (levels + 1.0)
        expected = roc_auc_score(truth, probability), average_precision_score(truth, probability)
        assert score_ranking(probability, truth) == pytest.approx(expected, rel=1e-12)


def test_entries_all_alike_cannot_be_ranked() -> None:
    """A warning would fail this test."""
    for value, baseline in ((False, 0.0), (True, 1.0)):
        found = score_links(np.array([0.1, 0.4, 0.2]), np.full(3, value), baseline)
        assert np.isnan([found.roc_auc, found.average_precision]).all()
        assert np.isfinite([found.log_likelihood, found.skill]).all()


def test_cells_by_hand() -> None:
    """The mean of a column is 0 on the standardised scale, for any mean of the held-out cells."""
    truth, mean, density = np.array([1.0, 2.0, 3.0]), np.array([1.5, 2.0, 1.0]), np.array([0.5, 0.25, 0.125])
    found = score_cells(np.stack([density, mean], axis=1).astype(np.longdouble), truth)
    assert found.log_likelihood == pytest.approx(-2.0 * math.log(2.0), rel=1e-14)
    assert found.rmse == pytest.approx(math.sqrt((0.25 + 4.0) / 3), rel=1e-14)
    assert found.explained == pytest.approx(1 - 4.25 / 14, rel=1e-14)
    assert found.means_log_likelihood == pytest.approx(-0.5 * math.log(2 * math.pi) - 14 / 6, rel=1e-14)


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


def even(n_topics: int):
    return lambda counts: np.full((counts.shape[0], n_topics), 1 / n_topics)


def test_nothing_to_predict() -> None:
    found = document_completion(Corpus.build([[1, 0], [0, 1], [0, 0]]), [[0.5, 0.5]], even(1))
    assert (found.tokens, found.documents) == (0, 0)
    assert math.isnan(found.perplexity)


@for_each("dtype", [np.float32, np.float64])
def test_in_pieces(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, dtype: type) -> None:
    theta, phi = (
        rng.dirichlet(np.ones(3), size=8).astype(dtype),
        rng.dirichlet(np.ones(9), size=3).astype(dtype),
    )
    documents, words = rng.integers(8, size=50), rng.integers(9, size=50)
    monkeypatch.setattr("acvb_core.evaluate.heldout._AT_ONCE", 21)
    found = pair_products(theta, phi.T, documents, words)
    np.testing.assert_allclose(found, (theta @ phi)[documents, words], rtol=1e-6)
