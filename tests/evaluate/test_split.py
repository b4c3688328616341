"""Entries and cells set aside: how many, which, and that nothing else changes."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import sparse, stats

from acvb_core.core.errors import ParameterError
from acvb_core.data.corpus import Corpus
from acvb_core.data.relation import Relation
from acvb_core.data.table import Table, same_valued
from acvb_core.evaluate.split import hold_out, hold_out_cells, hold_out_documents, hold_out_tokens
from acvb_core.samples.planted_mixtures import planted_features
from acvb_core.samples.planted_relations import planted_relation
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
    assert held.n == round(share * relation.n_observed)
    taken = sparse.coo_array(
        (np.ones(held.n, dtype=int), (held.rows, held.columns)), shape=relation.shape
    ).toarray()
    assert taken.max(initial=0) <= 1
    assert not (taken & relation.missing.toarray()).any()
    np.testing.assert_array_equal(relation.ones.toarray()[held.rows, held.columns], held.values)
    np.testing.assert_array_equal(train.ones.toarray(), relation.ones.toarray() & (taken == 0))
    np.testing.assert_array_equal(train.missing.toarray(), relation.missing.toarray() | (taken == 1))
    assert Relation.build(train.ones, train.missing).fingerprint == train.fingerprint


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


@given(
    arrays.arrays(
        np.float64,
        arrays.array_shapes(min_dims=2, max_dims=2, max_side=9),
        elements=st.sampled_from([np.nan, 0.0, 1.0, 2.0]),
    ),
    st.floats(0, 1, exclude_max=True),
    st.integers(0, 2**32),
)
def test_the_parts_of_a_table_make_up_the_whole(values, share, seed):
    values = np.vstack([values, np.full(values.shape[1], -1.0), np.full(values.shape[1], 3.0)])
    table = Table.build(values)
    split = hold_out_cells(table, share, seed)
    held, train = split.heldout, split.train
    together = train.values.copy()
    assert np.isnan(together[held.rows, held.columns]).all()
    together[held.rows, held.columns] = held.values
    np.testing.assert_array_equal(together, values)
    assert held.n == train.n_missing - table.n_missing <= round(share * table.n_observed)
    assert not same_valued(train.values).any()
    assert Table.build(train.values).fingerprint == train.fingerprint


def test_columns_get_back_what_they_need_and_no_more():
    values = np.zeros((40, 3))
    values[0, 0] = 1.0  # one cell makes the difference
    values[:, 1] = np.arange(40)
    values[:20, 2] = 1.0
    table = Table.build(values)
    returned = 0
    for seed in range(40):
        split = hold_out_cells(table, 0.5, seed)
        assert split.train.values[0, 0] == 1.0
        assert not same_valued(split.train.values).any()
        if split.note is None:
            assert split.heldout.n == 60
        else:
            returned += 1
            assert split.note.startswith("1 cell was given back")
            assert split.heldout.n == 59
    assert 8 < returned < 32  # about every other time
    crowded = hold_out_cells(table, 0.999, 0)
    assert crowded.train.n_observed == 6
    assert crowded.note.startswith("6 cells were given back")


RELATION = planted_relation(40, 50, 3, 3, 0).relation
CORPUS = Corpus.build(np.random.default_rng(0).poisson(2, (30, 40)))
EVERY_SPLIT = {
    "entries": (hold_out, RELATION),
    "cells": (hold_out_cells, planted_features(60, 7, 2, seed=0).table),
    "words": (hold_out_tokens, CORPUS),
    "documents": (hold_out_documents, CORPUS),
}


@for_each("hold, data", EVERY_SPLIT)
def test_the_seed_decides(hold, data):
    first, again, other = (hold(data, 0.3, seed) for seed in (7, 7, 8))
    assert pickle.dumps(first.heldout) == pickle.dumps(again.heldout) != pickle.dumps(other.heldout)
    assert first.train.fingerprint == again.train.fingerprint != other.train.fingerprint
    assert hold(data, 0.0, 7).heldout.n == 0


@for_each("hold, data", EVERY_SPLIT)
def test_shares_and_seeds_that_make_no_sense_are_refused(hold, data):
    for share in (-0.1, 1.0, 1.5, float("nan")):
        with pytest.raises(ParameterError, match="share"):
            hold(data, share, 0)
    with pytest.raises(ParameterError, match="Seeds must be at least 0, not -1"):
        hold(data, 0.1, -1)
    if hold in (hold_out, hold_out_cells):
        with pytest.raises(ParameterError, match="max_entries must be at least 0"):
            hold(data, 0.1, 0, max_entries=-1)
