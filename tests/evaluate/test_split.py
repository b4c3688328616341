"""Entries set aside: how many, which, and that nothing else changes."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse, stats

from acvb_core.core.errors import ParameterError
from acvb_core.data.relation import Relation
from acvb_core.evaluate.split import hold_out
from acvb_core.samples.planted_relations import large_relation, planted_relation
from tests.costs import units_of
from tests.loops import for_each


@given(
    st.integers(1, 12),
    st.integers(1, 12),
    st.floats(0, 1, exclude_max=True),
    st.sampled_from([0.0, 0.3]),
    st.integers(0, 2**32),
)
def test_the_parts_make_up_the_whole(n_rows, n_cols, share, missing_share, seed):
    relation = planted_relation(n_rows, n_cols, 2, 2, seed, missing_share=missing_share).relation
    split = hold_out(relation, share, seed)
    held, train = split.heldout, split.train
    assert held.n == round(share * relation.n_observed) == len(held.rows) == len(held.columns)
    assert (held.rows.dtype, held.columns.dtype, held.values.dtype) == (np.int32, np.int32, np.bool_)
    taken = sparse.coo_array(
        (np.ones(held.n, dtype=int), (held.rows, held.columns)), shape=relation.shape
    ).toarray()
    assert taken.max(initial=0) <= 1
    assert not (taken & relation.missing.toarray()).any()
    np.testing.assert_array_equal(relation.ones.toarray()[held.rows, held.columns], held.values)
    np.testing.assert_array_equal(train.ones.toarray(), relation.ones.toarray() & (taken == 0))
    np.testing.assert_array_equal(train.missing.toarray(), relation.missing.toarray() | (taken == 1))
    cells = held.rows.astype(np.int64) * n_cols + held.columns
    assert (np.diff(cells) > 0).all()
    # The train relation is as valid as one that was built.
    assert Relation.build(train.ones, train.missing).fingerprint == train.fingerprint
    assert train.n_observed + held.n == relation.n_observed


@pytest.mark.long
@for_each("share", [0.2, 0.7])
def test_every_observed_entry_is_as_likely(share):
    relation = planted_relation(5, 6, 2, 2, 3, missing_share=0.2).relation
    draws = 4000
    counts = np.zeros(relation.shape)
    for seed in range(draws):
        held = hold_out(relation, share, seed).heldout
        counts[held.rows, held.columns] += 1
    observed = ~relation.missing.toarray()
    assert (counts[~observed] == 0).all()
    n = relation.n_observed
    rate = round(share * n) / n
    # Without replacement the counts of one draw exclude each other: that shrinks the statistic by (n - 1) / n.
    statistic = ((counts[observed] - draws * rate) ** 2).sum() / (draws * rate * (1 - rate)) * (n - 1) / n
    assert 0.001 < stats.chi2.sf(statistic, n - 1) < 0.999


def test_pairs_of_entries_are_as_likely():
    relation = Relation.build(np.eye(2))
    seen = {
        tuple(2 * held.rows + held.columns)
        for held in (hold_out(relation, 0.5, seed).heldout for seed in range(200))
    }
    assert len(seen) == 6


def test_same_seed_same_bits_other_seed_others():
    relation = planted_relation(40, 50, 3, 3, 0).relation
    first, again, other = (hold_out(relation, 0.1, seed) for seed in (7, 7, 8))
    assert first.heldout.rows.tobytes() == again.heldout.rows.tobytes()
    assert first.heldout.columns.tobytes() == again.heldout.columns.tobytes()
    assert first.train.fingerprint == again.train.fingerprint != other.train.fingerprint


def test_a_share_of_nothing_holds_nothing_out():
    relation = planted_relation(4, 5, 2, 2, 0).relation
    split = hold_out(relation, 0.0, 0)
    assert (split.heldout.n, split.note, split.train.fingerprint) == (0, None, relation.fingerprint)
    tiny = hold_out(relation, 0.001, 0)
    assert tiny.heldout.n == 0
    assert "nothing is held out" in tiny.note


def test_the_number_is_capped_and_the_note_says_so():
    split = hold_out(planted_relation(20, 20, 2, 2, 0).relation, 0.5, 0, max_entries=30)
    assert split.heldout.n == 30
    assert "30 entries" in split.note
    assert "200" in split.note


@for_each("share", [-0.1, 1.0, 1.5, float("nan")])
def test_shares_that_make_no_sense(share):
    with pytest.raises(ParameterError, match="share"):
        hold_out(planted_relation(4, 5, 2, 2, 0).relation, share, 0)


def test_negative_seeds_make_no_sense():
    with pytest.raises(ParameterError, match="Seed"):
        hold_out(planted_relation(4, 5, 2, 2, 0).relation, 0.1, -1)


def test_time_and_memory_do_not_grow_with_the_cells():
    relation = large_relation(50_000, 60_000, 20_000, 3, 3, 0).relation  # 3,000 million cells
    tracemalloc.start()
    try:
        split = hold_out(relation, 0.5, 0, max_entries=100_000)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert split.heldout.n == 100_000
    assert peak < 20e6
    assert units_of(lambda: hold_out(relation, 0.5, 0, max_entries=100_000)) < 50
