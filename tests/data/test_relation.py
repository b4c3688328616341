"""The validated relation: what it accepts, normalises and refuses."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from acvb_core.core.errors import DataError
from acvb_core.data.relation import Network, Relation
from tests.loops import for_each


def test_a_link_given_twice_is_one_link_and_the_pattern_is_canonical():
    messy = sparse.coo_array(([1, 1, 0, 1], ([1, 1, 0, 0], [2, 2, 0, 1])), shape=(2, 3))
    ones = Relation.build(messy).ones
    assert ones.dtype == np.bool_
    assert (ones.indices.dtype, ones.indptr.dtype) == (np.int32, np.int32)
    assert ones.has_canonical_format
    np.testing.assert_array_equal(ones.toarray(), [[0, 1, 0], [0, 0, 1]])


def test_counts_and_density():
    relation = Relation.build([[1, 0], [0, 0]], [[0, 1], [0, 0]])
    assert (relation.shape, relation.n_ones, relation.n_missing, relation.n_observed) == ((2, 2), 1, 1, 3)
    assert relation.density == pytest.approx(1 / 3)
    assert Relation.build([[0]], [[1]]).density == 0


def test_labels_default_to_numbers_and_are_text():
    assert Relation.build(np.eye(2)).row_labels.tolist() == ["0", "1"]
    assert Relation.build(np.eye(2), row_labels=[7, "b"]).row_labels.tolist() == ["7", "b"]


def test_transposed_swaps_everything_and_comes_back():
    relation = Relation.build(
        [[1, 0, 1]], [[0, 1, 0]], row_labels=["a"], column_labels=list("xyz"), row_kind="person"
    )
    turned = relation.transposed
    assert turned.shape == (3, 1)
    assert turned.row_labels.tolist() == ["x", "y", "z"]
    assert turned.column_kind == "person"
    np.testing.assert_array_equal(turned.missing.toarray(), [[0], [1], [0]])
    assert turned.transposed is relation


def test_fingerprint_tells_data_apart_and_nothing_else():
    relation = Relation.build([[1, 0], [0, 1]])
    assert relation.fingerprint == Relation.build(sparse.eye_array(2), name="other").fingerprint
    others = [
        Relation.build([[1, 0], [1, 0]]),
        Relation.build([[1, 0], [0, 1]], [[0, 1], [0, 0]]),
        Relation.build([[1, 0, 0], [0, 1, 0]]),
    ]
    assert len({relation.fingerprint, *(other.fingerprint for other in others)}) == 4


@for_each(
    "ones, missing, options, words",
    [
        ([[1, 0]], [[0]], {}, "the ones are 1 x 2 but the missing entries 1 x 1"),
        ([[1, 0]], [[1, 0]], {}, "both 1 and missing"),
        (np.empty((0, 3)), None, {}, "0 x 3"),
        ([[1, 0]], None, {"column_labels": ["a"]}, "1 column labels were given for 2 columns"),
        ([[1, 0]], None, {"column_labels": ["a", "a"]}, "stands 2 times"),
    ],
)
def test_what_is_refused(ones, missing, options, words):
    with pytest.raises(DataError, match=words):
        Relation.build(ones, missing, **options)


@for_each("directed", [False, True])
@for_each("self_links", [False, True])
def test_pairs_are_counted_as_one_would_on_paper(directed: bool, self_links: bool) -> None:
    rng = np.random.default_rng(2)
    ones, missing = rng.random((9, 9)) < 0.3, rng.random((9, 9)) < 0.3
    if not directed:
        ones, missing = np.triu(ones), np.triu(missing)
    if not self_links:
        np.fill_diagonal(ones, False)
        np.fill_diagonal(missing, False)
    ones &= ~missing
    network = Relation.build(ones, missing, network=Network(directed, self_links))
    pairs = [(i, j) for i in range(9) for j in range(9) if (i != j or self_links) and (directed or i <= j)]
    assert network.n_links == sum(ones[pair] for pair in pairs)
    assert network.n_unknown == sum(missing[pair] for pair in pairs)
    assert network.n_known == len(pairs) - network.n_unknown
