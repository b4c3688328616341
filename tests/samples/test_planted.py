"""What is drawn from planted clusters, topics and features has the shares, strengths and sizes that it claims."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from acvb_core.core.errors import ParameterError
from acvb_core.data.corpus import Corpus
from acvb_core.data.relation import Network
from acvb_core.samples.planted_mixtures import (
    bars,
    planted_features,
    planted_topics,
    topics_10,
    topics_40,
)
from acvb_core.samples.planted_relations import (
    large_relation,
    planted_hubs,
    planted_network,
    planted_relation,
    sparse_relation,
    synth1,
    synth2,
)
from tests.loops import for_each


def block_means(drawn) -> tuple[np.ndarray, np.ndarray]:
    """Return the share of links in each block and the number of its entries."""
    k_rows, k_cols = drawn.strengths.shape
    rows = np.eye(k_rows)[drawn.row_clusters]
    columns = np.eye(k_cols)[drawn.column_clusters]
    cells = np.outer(rows.sum(0), columns.sum(0))
    links = rows.T @ (drawn.relation.ones.astype(float) @ columns)
    return links / np.maximum(cells, 1), cells


def assert_drawn_from_strengths(drawn) -> None:
    means, cells = block_means(drawn)
    error = np.sqrt(drawn.strengths * (1 - drawn.strengths) / np.maximum(cells, 1)) + 1e-9
    assert (np.abs(means - drawn.strengths)[cells > 0] < 4.5 * error[cells > 0] + 2 / cells[cells > 0]).all()


@for_each("drawn, shape, blocks", [(synth1(), (100, 200), (4, 5)), (synth2(), (1000, 1500), (7, 6))])
def test_the_papers_relations(drawn, shape, blocks):
    assert drawn.relation.shape == shape
    assert drawn.strengths.shape == blocks
    assert (len(drawn.row_clusters), len(drawn.column_clusters)) == shape
    assert_drawn_from_strengths(drawn)


def test_missing_entries():
    drawn = planted_relation(200, 300, 2, 3, 1, missing_share=0.25)
    assert abs(drawn.relation.n_missing / 60_000 - 0.25) < 0.01
    same = planted_relation(200, 300, 2, 3, 1)
    hidden = drawn.relation.missing.toarray()
    np.testing.assert_array_equal(drawn.relation.ones.toarray(), same.relation.ones.toarray() & ~hidden)


def test_the_sparse_planted_relation_is_the_published_one():
    drawn = sparse_relation()
    assert drawn.relation.shape == (1892, 1892)
    assert drawn.relation.n_ones == 21_106
    np.testing.assert_array_equal(drawn.row_clusters, drawn.column_clusters)
    assert_drawn_from_strengths(drawn)


def test_a_large_relation_has_about_the_links_asked_for_and_its_blocks():
    drawn = large_relation(2000, 3000, 120_000, 4, 5, 2)
    assert abs(drawn.relation.n_ones - 120_000) < 5 * np.sqrt(120_000)
    assert drawn.strengths.max() <= 0.9
    assert_drawn_from_strengths(drawn)


@for_each(
    "call",
    [
        lambda: planted_relation(5, 5, 0, 1, 0),
        lambda: planted_relation(5, 5, 1, 1, 0, beta=(0.0, 1.0)),
        lambda: planted_topics(3, 4, 2, 5, float("nan"), 1, 0),
        lambda: planted_network({"a": 3, "b": 0}, np.eye(2), 0),
        lambda: planted_network({"a": 3, "b": 3}, [[1, 0], [0.5, 1]], 0),
        lambda: planted_relation(5, 5, 1, 1, 0, missing_share=1.0),
        lambda: large_relation(10, 10, 60, 2, 2, 0),
        lambda: sparse_relation(n=0),
        lambda: planted_hubs(3, 4),
        lambda: planted_hubs(contrast=0.0),
    ],
)
def test_sizes_that_make_no_sense(call):
    with pytest.raises(ParameterError):
        call()


def test_groups_of_one_camp_are_closer():
    rates = planted_hubs(60, 6, 0, contrast=20.0, n_camps=2, closeness=5.0).strengths
    assert rates[0, 2] == rates[2, 4] == pytest.approx(5.0 * rates[0, 1])
    assert rates[1, 1] == pytest.approx(20.0 * rates[0, 1])


@for_each("skew", [0.0, 1.0])
def test_counts_with_hubs_are_poisson_given_activities_and_rates(skew):
    drawn = planted_hubs(600, 3, 1, skew=skew, mean_weight=60.0)
    groups, active = drawn.row_clusters, drawn.activity
    for k in range(3):
        assert active[groups == k].mean() == pytest.approx(1.0)
    assert np.log(active).std() == pytest.approx(skew, abs=0.08)
    means = np.outer(active, active) * drawn.strengths[np.ix_(groups, groups)]
    np.fill_diagonal(means, 0.0)
    counts = drawn.relation.links.toarray()
    # Sums over nodes, and over blocks, are Poisson distributed too: standardised, they have variance 1.
    scores = (counts.sum(1) - means.sum(1)) / np.sqrt(means.sum(1))
    assert 0.85 < scores.var() < 1.15
    for k, j in ((0, 0), (0, 1), (1, 2)):
        block = np.ix_(groups == k, groups == j)
        # Each pair of a group is in the block twice.
        spread = np.sqrt(means[block].sum() * (2 if k == j else 1))
        assert abs(counts[block].sum() - means[block].sum()) < 4 * spread
    assert ((counts - means) ** 2).sum() == pytest.approx(means.sum(), rel=0.05)
    assert drawn.strengths[0, 0] == pytest.approx(8 * drawn.strengths[0, 1])


@for_each("directed", [False, True])
def test_a_planted_network_follows_its_strengths(directed):
    strengths = np.array([[0.9, 0.1], [0.5 if directed else 0.1, 0.3]])
    drawn = planted_network({"a": 60, "b": 90}, strengths, 3, directed=directed)
    relation = drawn.relation
    assert relation.network == Network(directed)
    assert relation.shape == (150, 150)
    assert np.bincount(drawn.row_clusters).tolist() == [60, 90]
    assert (drawn.row_clusters[:60] == 1).any()  # in no order
    assert drawn.column_clusters is drawn.row_clusters
    assert relation.attributes["group"].tolist() == ["ab"[z] for z in drawn.row_clusters]
    assert not relation.ones.diagonal().any()
    links = relation.ones.toarray()
    for k in range(2):
        for j in range(2):
            found = links[np.ix_(drawn.row_clusters == k, drawn.row_clusters == j)].mean()
            assert found == pytest.approx(strengths[k, j], abs=0.04)


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


def test_rows_are_sums_of_their_features_and_noise():
    drawn = planted_features(4_000, 12, 3, share=0.3, noise=0.5, seed=4)
    assert (drawn.table.shape, drawn.activations.shape, drawn.weights.shape) == (
        (4_000, 12),
        (4_000, 3),
        (3, 12),
    )
    assert set(np.unique(drawn.activations)) == {0.0, 1.0}
    rest = drawn.table.values - drawn.activations @ drawn.weights
    assert abs(rest.mean()) < 4 * 0.5 / np.sqrt(rest.size)
    assert abs(rest.std() - 0.5) < 4 * 0.5 / np.sqrt(2 * rest.size)
    np.testing.assert_allclose(drawn.activations.mean(axis=0), 0.3, atol=4 * np.sqrt(0.21 / 4_000))
    # The noise has nothing to do with the features.
    assert abs(np.corrcoef(rest[:, 0], drawn.activations[:, 0])[0, 1]) < 0.08
    assert drawn.table.columns[[0, -1]].tolist() == ["x1", "x12"]
    assert (drawn.table.n_missing, drawn.table.image, drawn.table.standardise) == (0, None, True)


@for_each(
    "arguments",
    [
        {"n_rows": 1},
        {"n_features": 0},
        {"share": 1.0},
        {"noise": np.nan},
        {"seed": -1},
    ],
)
def test_what_is_refused(arguments):
    with pytest.raises(ParameterError):
        planted_features(**{"n_rows": 5, "n_columns": 3, "n_features": 2, **arguments})
