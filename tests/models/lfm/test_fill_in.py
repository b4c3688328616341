"""Missing cells get the mean over all combinations of features, and the standard deviation of this mixture."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from acvb_core.data.table import Table
from acvb_core.engine.fitting import fit
from acvb_core.models.lfm.answer.summary import fill_in
from tests.loops import for_each


@for_each("method, standardise", [("fab", True), ("vb", True), ("vb", False)])
def test_moments_are_those_of_all_combinations_of_features(method: str, standardise: bool) -> None:
    rng = np.random.default_rng(1)
    has = rng.random((50, 2)) < 0.5
    values = (
        100.0
        + has @ np.array([[3.0, 30.0, 0.0], [0.0, -20.0, 5.0]])
        + rng.normal(0.0, [1.0, 9.0, 1.0], (50, 3))
    )
    values[rng.random((50, 3)) < 0.15] = np.nan
    table = Table.build(values, columns=["a", "b", "c"], standardise=standardise)
    result = fit(table, method, heldout=0.1, max_sweeps=15)
    filled, cells = fill_in(result)
    posterior, scale = result.posterior, result.prepared.train.scale
    objects, weights = posterior["objects"], posterior["weights"]
    spread = posterior.arrays.get("weight_variance", np.zeros_like(weights))
    assert len(cells) == table.n_missing > 5
    assert filled["filled"].tolist() == ["; ".join(table.columns[gap]) for gap in ~table.observed]
    for cell in cells.itertuples():
        row, column = int(cell.object), list(table.columns).index(cell.column)
        first = second = 0.0
        for choice in product((0, 1), repeat=len(weights)):
            z = np.array(choice)
            p = np.prod(np.where(z, objects[row], 1.0 - objects[row]))
            mean = z @ weights[:, column] + posterior["bias"][column]
            first += p * mean
            second += p * (mean**2 + z @ spread[:, column] + 1.0 / posterior["precision"][column])
        assert cell.value == pytest.approx(first * scale.sd[column] + scale.mean[column], rel=1e-9)
        assert cell.sd == pytest.approx(np.sqrt(second - first**2) * scale.sd[column], rel=1e-6)
        assert filled[cell.column][row] == cell.value
    known = table.observed
    assert np.array_equal(filled[["a", "b", "c"]].to_numpy()[known], values[known]), (
        "held-out cells are known"
    )
