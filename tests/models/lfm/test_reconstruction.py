"""What the features make of one object: the same numbers as cell by cell, in the user's units."""

from __future__ import annotations

import numpy as np
import pytest

from acvb_core.core.errors import ParameterError
from acvb_core.core.protocols import Posterior
from acvb_core.data.table import Table
from acvb_core.models.lfm.answer import Reconstruction, own_units, reconstruct, row_position
from acvb_core.models.lfm.state import build_posterior
from tests.loops import for_each


def a_table(*, standardise: bool = True) -> Table:
    rng = np.random.default_rng(3)
    values = rng.normal([5.0, -300.0, 0.02], [2.0, 40.0, 0.001], (7, 3))
    values[2, 1] = np.nan
    return Table.build(values, rows=list("abcdefg"), columns=["x", "y", "z"], standardise=standardise)


def a_posterior(n_features: int = 2) -> Posterior:
    rng = np.random.default_rng(4)
    return build_posterior(
        rng.random((7, n_features)),
        rng.normal(size=(n_features, 3)),
        np.full(n_features, 0.5),
        rng.normal(size=3),
        np.array([1.0, 4.0, 0.25]),
    )


def expected(
    table: Table, posterior: Posterior, row: int
) -> tuple[list[float], list[list[float]], list[float]]:
    """Baseline, contributions and total, a cell at a time from their definitions."""
    baseline, parts, total = [], [[0.0] * 3 for _ in posterior["pi"]], []
    for d in range(3):
        known = [x for x in table.values[:, d] if x == x]
        mean = sum(known) / len(known)
        sd = (sum((x - mean) ** 2 for x in known) / len(known)) ** 0.5 if table.standardise else 1.0
        baseline.append(mean + sd * posterior["bias"][d])
        for k in range(len(parts)):
            parts[k][d] = sd * posterior["objects"][row, k] * posterior["weights"][k, d]
        total.append(baseline[d] + sum(part[d] for part in parts))
    return baseline, parts, total


@for_each("standardise", [True, False])
@for_each("row", [0, 2, 6])
def test_the_numbers_are_those_of_the_definition(row: int, standardise: bool) -> None:
    table, posterior = a_table(standardise=standardise), a_posterior()
    found = reconstruct(table, posterior, row)
    baseline, parts, total = expected(table, posterior, row)
    np.testing.assert_allclose(found.baseline, baseline, rtol=1e-12)
    np.testing.assert_allclose(found.contributions, parts, rtol=1e-12)
    np.testing.assert_allclose(found.total, total, rtol=1e-12)
    sd = np.nanstd(table.values, axis=0) if standardise else np.ones(3)
    np.testing.assert_allclose(own_units(table, posterior).noise_sd, sd * [1.0, 0.5, 2.0], rtol=1e-12)


def test_an_object_is_found_by_its_name() -> None:
    by_name, by_position = (reconstruct(a_table(), a_posterior(), row) for row in ("f", 5))
    np.testing.assert_array_equal(by_name.total, by_position.total)
    assert row_position(a_table(), "a") == 0
    assert row_position(a_table(), np.int64(6)) == 6  # type: ignore[arg-type]


@for_each(
    "row, said",
    [
        ("h", "no object 'h' in table; its first is called 'a'"),
        (7, "has 7, counted from 0 to 6"),
        (-1, "no object -1"),
        (1.0, "by its position or its name, not by 1.0"),
        (True, "not by True"),
    ],
)
def test_what_is_no_object_is_refused(row: int | str, said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        reconstruct(a_table(), a_posterior(), row)


def test_the_table_has_a_line_a_column_and_what_is_left_over() -> None:
    table = a_table()
    found: Reconstruction = reconstruct(table, a_posterior(), 2)
    frame = found.table(table)
    names = ["column", "value", "baseline", "feature_1", "feature_2", "total", "residual"]
    assert list(frame.columns) == names
    assert frame["column"].tolist() == ["x", "y", "z"]
    np.testing.assert_allclose(frame["total"], frame[["baseline", "feature_1", "feature_2"]].sum(axis=1))
    assert np.isnan(frame.loc[1, ["value", "residual"]].to_numpy(float)).all()
    np.testing.assert_allclose(frame["residual"][0], table.values[2, 0] - found.total[0])
