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
from acvb_core.samples.planted_mixtures import block_images
from tests.loops import for_each

from .cases import bits_of, built, course, data_of, known, last_of, methods_for, variations
from .cases_lfm import holed
from .test_every_method import assert_posterior

TABLES = data_of("lfm")
every_method = methods_for("lfm")
#: Sweeps after which a method has learned all that it learns.
SETTLED = 30


@every_method
@for_each("name", ["planted", "missing cells", "own units"])
def test_features_are_ordered_by_share(row: MethodSpec, name: str) -> None:
    for values in variations(row):
        algorithm = built(row, TABLES[name], k_max=6, **values)
        posterior = algorithm.posterior(last_of(algorithm, SETTLED))
        assert (np.diff(posterior["objects"].sum(axis=0)) <= 1e-9).all()


@every_method
def test_no_more_features_than_asked_for(row: MethodSpec) -> None:
    for k_max in (1, 3):
        algorithm = built(row, TABLES["planted"], k_max=k_max)
        for state, info in course(algorithm, 30):
            assert algorithm.current(state).n_clusters()["features"] <= k_max
            assert algorithm.posterior(state).n_clusters()["features"] <= k_max
            if info is not None and info.effective is not None:
                assert 0 <= info.effective["features"] <= k_max


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
@for_each("missing", [0.0, 0.3])
def test_four_blocks_are_found(row: MethodSpec, missing: float) -> None:
    """Of non-overlapping blocks every method predicts what is held out nearly as well as can be."""
    truth = block_images(200, noise=0.25, seed=2)
    table = holed(truth.table, missing)
    values = known(row, {"k_max": 6, "max_sweeps": 80, "burn_in": 40})
    prepared = prepare_run(table, row.name, values, model="lfm", seed=1, heldout=0.1)
    *_, last = run(prepared)
    # Half of the pixels are of a block, and four fifths of their variance are; the others are noise.
    assert last.heldout.explained > 0.42
    assert last.heldout.rmse < 0.8
    assert np.isfinite(last.heldout.log_likelihood)
    assert last.extras["train_log_likelihood"] > -1.1
    assert_posterior(last.posterior, row, prepared.train, True)


@every_method
def test_shift_and_unit_of_a_standardised_column_do_not_matter(row: MethodSpec) -> None:
    table = TABLES["missing cells"]
    # Powers of two: not even the last digit changes.
    unit = 2.0 ** np.arange(-6, 6)
    found = [
        algorithm.posterior(last_of(algorithm, 6))
        for values in (table.values, unit * table.values)
        for algorithm in [built(row, Table.build(values))]
    ]
    for name, array in found[0].arrays.items():
        np.testing.assert_allclose(found[1][name], array, rtol=1e-6, atol=1e-8)


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
