"""FAB and EM beside their oracles: the same state in the forms of both, and a sweep as the oracle would do it."""

from __future__ import annotations

import numpy as np

from acvb_core.data.table import Table
from acvb_core.models.lfm.fab import Fab
from acvb_core.models.lfm.kernels import StandardisedTable
from acvb_core.models.lfm.state import FabState, Fit, Penalty, fit_weights, lower_bound
from tests.oracles import dense_lfm as dense
from tests.oracles.dense_lfm import Features

PENALTIES = {"paper": Penalty(True, False), "dof": Penalty(True, True), "em": Penalty(False)}
#: Rounding, and the ridge of 1e-9 that the oracles do without.
CLOSE = {"rel": 1e-6, "abs": 1e-6}


def cells_of(x: np.ndarray) -> StandardisedTable:
    """The cells of a table as it is, standardised or not; without the checks of `Table`."""
    known = ~np.isnan(x)
    observed = None if known.all() else known.astype(float)
    return StandardisedTable(np.where(known, x, 0.0), observed, known.sum(axis=0).astype(float))


def fit_of(x: np.ndarray, state: Features) -> Fit:
    """The parameters of a state, whatever they fit."""
    return Fit(state.weights, state.bias, state.precision, dense.residual_squares(x, state))


def features_of(mu: np.ndarray, fit: Fit, shares: np.ndarray | None = None) -> Features:
    """E[z] (K, N) and parameters as the oracles have them."""
    pi = mu.mean(axis=1) if shares is None else shares
    return Features(mu.T.copy(), fit.weights, pi, fit.bias, fit.precision)


def started(fab: Fab, mu: np.ndarray) -> FabState:
    """The state of FAB that begins with E[z] (K, N)."""
    mu = np.ascontiguousarray(mu)
    fit = fit_weights(fab.cells, mu, lost=fab.penalty.lost_degrees(len(mu)))
    return FabState(mu, fit, lower_bound(fab.cells, mu, fit, fab.penalty))


def with_holes(table: Table, share: float, seed: int = 0) -> Table:
    """The table with some cells missing; every column keeps its first three."""
    rng, values = np.random.default_rng(seed), table.values.copy()
    values[3:][rng.random(values[3:].shape) < share] = np.nan
    return table.with_values(values)


def dense_sweep(
    x: np.ndarray, state: Features, mode: str, *, accelerated: bool, rounds: int = 100
) -> tuple[Features, np.ndarray]:
    """A sweep by the oracles, and the old index of each feature: accelerate, drop, E, drop, order, M."""
    names = np.arange(state.size)
    for accelerate in (True, False) if accelerated else (False,):
        if accelerate:
            with np.errstate(divide="ignore"):  # a share that has gone to zero
                for k in range(state.size):
                    state = dense.accelerate(x, state, k, mode, rounds)
        else:
            state = dense.e_sweep(x, state, mode)
        for k in reversed(range(state.size)):
            total = state.objects[:, k].sum()
            if total > len(x) - 1:
                state = dense.always_on_to_bias(state, k)
            elif total < 1:
                state = state.reordered(np.delete(np.arange(state.size), k))
            else:
                continue
            names = np.delete(names, k)
    order = np.argsort(-state.objects.sum(axis=0), kind="stable")
    return dense.m_step(x, state.objects[:, order], mode), names[order]
