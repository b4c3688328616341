"""The lower bound of FAB and EM is equal to its definition, and no step of a sweep lowers it."""

from __future__ import annotations

import numpy as np
import pytest

from acvb_core.models.lfm.fab import update_activations
from acvb_core.models.lfm.state import fit_weights, lower_bound
from tests.loops import for_each
from tests.models.lfm.fab.cases import PENALTIES, cells_of, features_of, fit_of
from tests.oracles import dense_lfm as dense
from tests.oracles.dense_lfm import MODES
from tests.oracles.lfm_cases import edge_cases, random_case

EDGES = edge_cases()
EVERY_MODE = for_each("mode", MODES)


@EVERY_MODE
@for_each("name", list(EDGES))
def test_bound_is_its_definition(name: str, mode: str) -> None:
    x, state = EDGES[name]
    cells, fit, mu = cells_of(x), fit_of(x, state), state.objects.T
    tight = state._replace(pi=state.objects.mean(axis=0))
    for found, given in (
        (lower_bound(cells, mu, fit, PENALTIES[mode]), tight),
        (lower_bound(cells, mu, fit, PENALTIES[mode], state.pi), state),
    ):
        assert found == pytest.approx(dense.bound(x, given, mode, given.pi), abs=1e-9)


@EVERY_MODE
@for_each("missing", [0.0, 0.25])
@for_each("seed", range(3))
def test_no_step_lowers_the_bound(mode: str, missing: float, seed: int) -> None:
    """Step by step, accelerated and not, at a fixed number of features; every bound by its definition."""
    penalty = PENALTIES[mode]
    x, state = random_case(seed, (30, 5), 4, missing)
    cells, mu = cells_of(x), state.objects.T.copy()
    bounds, steps = [], 0
    fit, shares = fit_weights(cells, mu, lost=penalty.lost_degrees(4)), mu.mean(axis=1)
    assert (cells.per_column > 4).all()
    for sweep in range(12):
        bounds.append(dense.bound(x, features_of(mu, fit), mode))
        assert lower_bound(cells, mu, fit, penalty) == pytest.approx(bounds[-1], abs=1e-7)
        for rounds in (1, 30, 1) if sweep % 2 else (1,):
            tried = update_activations(cells, mu, fit, shares, penalty.slope(cells), rounds)
            totals = tried[0].sum(axis=1)
            if totals.min() < 1 or totals.max() > len(x) - 1:
                break
            mu, shares = tried
            bounds.append(dense.bound(x, features_of(mu, fit, shares), mode, shares))
            steps += 1
        fit, shares = fit_weights(cells, mu, fit, lost=penalty.lost_degrees(4)), mu.mean(axis=1)
    assert np.diff(bounds).min() > -1e-7
    assert bounds[-1] - bounds[0] > 10
    assert steps >= 3
