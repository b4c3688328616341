"""The features' parts of one object: the same numbers as cell by cell, in the user's units."""

from __future__ import annotations

import numpy as np
import pytest

from acvb_core.core.errors import ParameterError
from acvb_core.data.table import Table
from acvb_core.models.lfm.features import own_units, reconstruct, row_position
from acvb_core.models.lfm.state import build_posterior
from tests.loops import for_each


def a_table(*, standardise: bool = True) -> Table:
    values = np.random.default_rng(3).normal([5.0, -300.0, 0.02], [2.0, 40.0, 0.001], (7, 3))
    values[2, 1] = np.nan
    return Table.build(values, rows=list("abcdefg"), columns=["x", "y", "z"], standardise=standardise)


RNG = np.random.default_rng(4)
POSTERIOR = build_posterior(
    RNG.random((7, 2)), RNG.normal(size=(2, 3)), np.full(2, 0.5), RNG.normal(size=3), np.array([1.0, 4.0, 0.25])
)  # fmt: skip


@for_each("standardise", [True, False])
@for_each("row", [0, 2, 6])
def test_the_numbers_are_those_of_the_definition(row: int, standardise: bool) -> None:
    table = a_table(standardise=standardise)
    mean = np.nanmean(table.values, axis=0)
    sd = np.nanstd(table.values, axis=0) if standardise else np.ones(3)
    baseline = mean + sd * POSTERIOR["bias"]
    parts = sd * POSTERIOR["objects"][row][:, None] * POSTERIOR["weights"]
    found = reconstruct(table, POSTERIOR, row)
    np.testing.assert_allclose(found.baseline, baseline, rtol=1e-12)
    np.testing.assert_allclose(found.contributions, parts, rtol=1e-12)
    np.testing.assert_allclose(found.total, baseline + parts.sum(axis=0), rtol=1e-12)
    np.testing.assert_allclose(own_units(table, POSTERIOR).noise_sd, sd * [1.0, 0.5, 2.0], rtol=1e-12)
    frame = found.table(table)
    names = ["column", "value", "baseline", "feature_1", "feature_2", "total", "residual"]
    assert list(frame.columns) == names
    np.testing.assert_allclose(frame["residual"], table.values[row] - found.total)


@for_each(
    "row, said",
    [
        ("h", "no object 'h' in table; its first is called 'a'"),
        (7, "has 7, counted from 0 to 6"),
        (1.0, "by its position or its name, not by 1.0"),
        (True, "not by True"),
    ],
)
def test_what_is_no_object_is_refused(row: int | str, said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        reconstruct(a_table(), POSTERIOR, row)
    assert (row_position(a_table(), "a"), row_position(a_table(), 6)) == (0, 6)
