"""What every method keeps to that finds latent features."""

from __future__ import annotations

import numpy as np

from acvb_core.core.spec import MethodSpec
from acvb_core.data.table import Table
from acvb_core.engine.prepared import prepare_run
from acvb_core.engine.run import run
from acvb_core.evaluate.split import hold_out_cells
from acvb_core.samples.planted_mixtures import block_images
from tests.loops import for_each

from .cases import bits_of, built, data_of, known, last_of, methods_for
from .cases_lfm import holed
from .test_every_method import assert_posterior

every_method = methods_for("lfm")


@every_method
def test_missing_cells_say_nothing(row: MethodSpec) -> None:
    """Whatever a table has where cells are held out, the fit is the same; and without them it is another."""
    table = data_of("lfm")["planted"]
    split = hold_out_cells(table, 0.2, 0)
    values = table.values.copy()
    values[split.heldout.rows, split.heldout.columns] = np.nan
    fits = []
    for data in (split.train, Table.build(values), table):
        algorithm = built(row, data)
        fits.append(bits_of(algorithm.posterior(last_of(algorithm, 8))))
    assert fits[0] == fits[1] != fits[2]


@every_method
@for_each("missing", [0.0, 0.3])
def test_four_blocks_are_found(row: MethodSpec, missing: float) -> None:
    """Of non-overlapping blocks every method predicts what is held out nearly as well as can be."""
    table = holed(block_images(200, noise=0.25, seed=2).table, missing)
    values = known(row, {"k_max": 6, "max_sweeps": 80, "burn_in": 40})
    prepared = prepare_run(table, row.name, values, model="lfm", seed=1, heldout=0.1)
    *_, last = run(prepared)
    # Half of the pixels are of a block, and four fifths of their variance are; the others are noise.
    assert last.heldout.explained > 0.42
    assert last.extras["train_log_likelihood"] > -1.1
    assert_posterior(last.posterior, row, prepared.train, True)
