"""Planted relations have the clusters, strengths and sizes they claim."""

from __future__ import annotations

import numpy as np
import pytest

from acvb_core.core.errors import ParameterError
from acvb_core.samples.planted_relations import (
    large_relation,
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


def test_seeds():
    assert synth1(3).relation.fingerprint == synth1(3).relation.fingerprint != synth1(4).relation.fingerprint


def test_clusters_are_uniform():
    counts = np.bincount(planted_relation(6000, 1, 3, 1, 0).row_clusters)
    assert (np.abs(counts - 2000) < 5 * np.sqrt(6000 * 2 / 9)).all()


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


def test_a_dense_large_relation_cuts_its_strengths():
    drawn = large_relation(300, 400, 50_000, 4, 5, 2)
    assert abs(drawn.relation.n_ones - 50_000) < 1500
    assert drawn.strengths.max() <= 0.9
    assert_drawn_from_strengths(drawn)


@for_each(
    "call",
    [
        lambda: planted_relation(0, 5, 1, 1, 0),
        lambda: planted_relation(5, 5, 0, 1, 0),
        lambda: planted_relation(5, 5, 1, 1, 0, beta=(0.0, 1.0)),
        lambda: planted_relation(5, 5, 1, 1, 0, missing_share=1.0),
        lambda: large_relation(10, 10, 60, 2, 2, 0),
        lambda: sparse_relation(n=0),
    ],
)
def test_sizes_that_make_no_sense(call):
    with pytest.raises(ParameterError):
        call()
