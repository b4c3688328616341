"""What every method keeps to that finds latent features."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from acvb_core.core.spec import MethodSpec
from acvb_core.data.table import Table
from acvb_core.engine.prepared import prepare_run
from acvb_core.engine.run import run
from acvb_core.evaluate.split import hold_out_cells

from .cases import bits_of, built, data_of, known, last_of, methods_for

TABLES = data_of("lfm")
every_method = methods_for("lfm")
#: Sweeps after which a method has learned all that it learns.
SETTLED = 30


@every_method
def test_missing_cells_say_nothing(row: MethodSpec) -> None:
    """Whatever a table has where cells are held out, the fit is the same; and without them it is another."""
    table = TABLES["planted"]
    split = hold_out_cells(table, 0.2, 0)
    values = table.values.copy()
    values[split.heldout.rows, split.heldout.columns] = np.nan
    fits = [
        bits_of(algorithm.posterior(last_of(algorithm, 8)))
        for data in (split.train, Table.build(values), table)
        for algorithm in [built(row, data)]
    ]
    assert fits[0] == fits[1]
    assert fits[0] != fits[2]


@every_method
def test_held_out_scores_are_the_same_in_any_unit(row: MethodSpec) -> None:
    """Of tables that are not standardised too: they are told on the standardised scale."""

    def score(standardise: bool, unit: Any) -> Any:
        table = Table.build(unit * TABLES["planted"].values, standardise=standardise)
        prepared = prepare_run(table, row.name, known(row, {"max_sweeps": 12, "burn_in": 4, "k_max": 4}), model="lfm",
                       seed=1, heldout=0.1)  # fmt: skip
        *_, last = run(prepared)
        return last.heldout

    plain, scaled = score(True, 1.0), score(True, 1024.0)
    assert tuple(scaled) == pytest.approx(tuple(plain), rel=1e-6)
    own = score(False, 1.0)
    assert own.explained == pytest.approx(plain.explained, abs=0.5)
    assert np.isfinite(tuple(own)).all()
    assert tuple(score(False, 2.0**-40)) == pytest.approx(tuple(own), rel=1e-6)
