"""Cells set aside: how many, which, and that every column can still be standardised."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import stats

from acvb_core.core.errors import ParameterError
from acvb_core.data.table import Table, same_valued
from acvb_core.evaluate.split import hold_out_cells
from acvb_core.samples.planted_mixtures import planted_features
from tests.loops import for_each


def with_holes(n_rows=60, n_columns=7, share=0.2, seed=0):
    values = np.random.default_rng(seed).standard_normal((n_rows, n_columns))
    values[np.random.default_rng(seed + 1).random(values.shape) < share] = np.nan
    return Table.build(values)


@given(
    arrays.arrays(
        np.float64,
        arrays.array_shapes(min_dims=2, max_dims=2, max_side=9),
        elements=st.sampled_from([np.nan, 0.0, 1.0, 2.0]),
    ),
    st.floats(0, 1, exclude_max=True),
    st.integers(0, 2**32),
)
def test_the_parts_make_up_the_whole(values, share, seed):
    values = np.vstack([values, np.full(values.shape[1], -1.0), np.full(values.shape[1], 3.0)])
    table = Table.build(values)
    split = hold_out_cells(table, share, seed)
    held, train = split.heldout, split.train
    together = train.values.copy()
    assert np.isnan(together[held.rows, held.columns]).all()
    together[held.rows, held.columns] = held.values
    np.testing.assert_array_equal(together, values)
    assert not np.isnan(held.values).any()
    assert (held.rows.dtype, held.columns.dtype, held.values.dtype) == (np.int32, np.int32, np.float64)
    order = held.rows.astype(np.int64) * table.n_columns + held.columns
    assert (np.diff(order) > 0).all()
    assert held.n == train.n_missing - table.n_missing <= round(share * table.n_observed)
    assert not same_valued(train.values).any()
    assert Table.build(train.values).fingerprint == train.fingerprint
    assert table.n_missing == np.isnan(values).sum()  # the table itself is as it was


def test_the_share_is_right_and_the_seed_decides():
    table = with_holes()
    first, again, other = (hold_out_cells(table, 0.3, seed) for seed in (1, 1, 2))
    assert first.heldout.n == round(0.3 * table.n_observed)
    assert first.note is None
    np.testing.assert_array_equal(first.heldout.rows, again.heldout.rows)
    np.testing.assert_array_equal(first.heldout.values, again.heldout.values)
    assert first.train.fingerprint == again.train.fingerprint != other.train.fingerprint
    assert first.train.rows is table.rows


def test_known_cells_are_all_as_likely():
    table = with_holes(12, 4, seed=3)
    drawn = np.zeros(table.shape)
    draws, share = 4_000, 0.25
    for seed in range(draws):
        held = hold_out_cells(table, share, seed).heldout
        drawn[held.rows, held.columns] += 1
    assert (drawn[~table.observed] == 0).all()
    found = drawn[table.observed]
    expected = draws * round(share * table.n_observed) / table.n_observed
    # Without replacement the counts vary less than independent ones, by the factor that the cells left over give.
    left = 1 - round(share * table.n_observed) / table.n_observed
    statistic = ((found - expected) ** 2 / expected).sum() / left
    assert 0.001 < stats.chi2.sf(statistic, len(found) - 1) < 0.999


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


def test_what_is_given_back_is_drawn():
    """Of two cells either of which would do, each is given back as often."""
    table = Table.build([[0.0], [1.0]])
    assert hold_out_cells(table, 0.9, 0).heldout.n == 0
    table = Table.build([[0.0], [1.0], [1.0]])
    kept = [int(np.flatnonzero(hold_out_cells(table, 0.9, s).train.observed[1:, 0])[0]) for s in range(300)]
    assert 100 < sum(kept) < 200


def test_nothing_and_too_little():
    table = Table.build([[1.0, 2.0], [3.0, 4.0]])
    nothing = hold_out_cells(table, 0.0, 0)
    assert (nothing.train is table, nothing.heldout.n, nothing.note) == (True, 0, None)
    little = hold_out_cells(table, 0.1, 0)
    assert (little.train is table, little.heldout.n) == (True, 0)
    assert little.note == "The share is less than half a cell: nothing is held out."


def test_a_large_table_is_held_out_in_part():
    table = planted_features(50, 4, 2, seed=0).table
    split = hold_out_cells(table, 0.5, 0, max_entries=30)
    assert split.heldout.n == 30
    assert split.note == "Held out 30 cells, the most that are used, in place of 100."


@for_each(
    "share, seed, options",
    [(1.0, 0, {}), (-0.1, 0, {}), (np.nan, 0, {}), (0.1, -1, {}), (0.1, 0, {"max_entries": -1})],
)
def test_what_is_refused(share, seed, options):
    with pytest.raises(ParameterError):
        hold_out_cells(with_holes(), share, seed, **options)
