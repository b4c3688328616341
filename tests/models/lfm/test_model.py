"""The latent feature model from outside: predictions, scores, likelihoods, tables in the user's units."""

from __future__ import annotations

import numpy as np
import pytest

from acvb_core.core.protocols import Posterior
from acvb_core.data.table import Table
from acvb_core.evaluate.split import HeldOut
from acvb_core.models.lfm import model as under_test
from acvb_core.models.lfm.model import LfmModel
from acvb_core.models.lfm.state import build_posterior
from tests.loops import for_each
from tests.oracles import dense_lfm as dense
from tests.oracles.dense_lfm import Features
from tests.oracles.lfm_cases import random_case

UNIT, SHIFT = np.array([100.0, 1e-3, 1.0, 7.0]), np.array([5.0, -2.0, 1e4, 0.0])
EVERY_SCALE = for_each("standardise", [True, False])
EVERY_VARIANCE = for_each("variance", [True, False])


def prepared(
    standardise: bool, variance: bool, size: int = 3
) -> tuple[Table, Posterior, Features, np.ndarray]:
    """A table in units of its own, any posterior, and that on the standardised scale with its weights' variance."""
    x, state = random_case(3, (8, 4), size, 0.25)
    spread = np.random.default_rng(1).uniform(0.1, 0.6, (size, 4))
    table = Table.build(SHIFT + UNIT * x, columns=["a", "b", "share", "d"], standardise=standardise)
    unit = np.ones(4) if standardise else table.moments.sd
    posterior = build_posterior(
        state.objects,
        state.weights * unit,
        state.pi,
        state.bias * unit,
        state.precision / unit**2,
        bound=-12.5,
        weight_variance=spread * unit**2 if variance else None,
        hyper={"alpha": 2.0},
    )
    return table, posterior, state, spread if variance else np.zeros_like(spread)


def every_cell(table: Table) -> HeldOut:
    rows, columns = (index.ravel().astype(np.int32) for index in np.indices(table.shape))
    values = np.where(np.isnan(table.values), table.moments.mean + 0.3 * table.moments.sd, table.values)
    return HeldOut(rows, columns, values.ravel())


@EVERY_SCALE
@EVERY_VARIANCE
def test_predictions_are_those_of_each_cell(standardise: bool, variance: bool) -> None:
    """On the standardised scale, whatever the method worked on."""
    table, posterior, state, spread = prepared(standardise, variance)
    cells = every_cell(table)
    found = LfmModel(table).predict(posterior, cells)
    assert found.shape == (cells.n, 2)
    assert found.dtype == np.longdouble
    truth = (cells.values - table.moments.mean[cells.columns]) / table.moments.sd[cells.columns]
    for n, d, value, (density, mean) in zip(cells.rows, cells.columns, truth, found, strict=True):
        assert float(np.log(density)) == pytest.approx(
            dense.log_predictive(state, n, d, value, spread), abs=1e-9
        )
        assert float(mean) == pytest.approx(dense.predictive_moments(state, n, d, spread)[0], abs=1e-9)


@EVERY_SCALE
@EVERY_VARIANCE
def test_training_likelihood_is_the_mean_over_known_cells(
    standardise: bool, variance: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, posterior, state, spread = prepared(standardise, variance)
    x = table.moments.apply(table.values)
    wanted = np.mean([dense.log_predictive(state, n, d, x[n, d], spread) for n, d in dense.cells(x)])
    model = LfmModel(table)
    for cells in (100_000, 9):
        monkeypatch.setattr(under_test, "_CELLS", cells)
        assert model.extras(posterior) == {"train_log_likelihood": pytest.approx(wanted, abs=1e-9)}
    far = HeldOut(
        np.zeros(1, np.int32), np.zeros(1, np.int32), (table.moments.mean + 60 * table.moments.sd)[:1]
    )
    assert np.log(model.predict(posterior, far)[0, 0]) < -800  # no zero


@EVERY_SCALE
def test_tables_are_in_the_units_of_the_user(standardise: bool) -> None:
    table, posterior, state, _ = prepared(standardise, False)
    tables = LfmModel(table).tables(posterior)
    features, columns = tables["features"], tables["columns"]
    mean, sd = np.nanmean(table.values, axis=0), np.nanstd(table.values, axis=0)
    # A column of the table has the name of one of ours.
    assert list(features.columns) == ["feature", "share", "objects", "a", "b", "share (column)", "d"]
    weights = features[["a", "b", "share (column)", "d"]].to_numpy()
    assert weights == pytest.approx(state.weights * sd, rel=1e-9)
    assert features["share"].tolist() == state.pi.tolist()
    assert features["objects"].to_numpy() == pytest.approx(state.objects.sum(axis=0))
    assert columns["baseline"].to_numpy() == pytest.approx(mean + sd * state.bias, rel=1e-9)
    assert columns["noise_sd"].to_numpy() == pytest.approx(sd / np.sqrt(state.precision), rel=1e-9)
