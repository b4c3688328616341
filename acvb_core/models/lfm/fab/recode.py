"""A move of FAB: two features that mix those of the data are made anew from their sums and differences."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from acvb_core.core.protocols import Checkpoint, no_checkpoint
from acvb_core.models.lfm.activations import residuals, update_activations
from acvb_core.models.lfm.cells import Cells, Floats
from acvb_core.models.lfm.fab.moves import INDIFFERENT, try_activations
from acvb_core.models.lfm.least_squares import Fit, fit_weights
from acvb_core.models.lfm.state import FabState, Penalty, lower_bound

#: Pairs that are tried, most correlated E[z] first, and the least correlation of them.
PAIRS, LEAST_CORRELATION = 10, 0.05
#: Rounds in which the two features find their objects and weights.
_ROUNDS = 6
#: Nats that a recoding must gain by itself to be tried on the whole.
_GAIN = 1.0


def recode_pair(
    cells: Cells, state: FabState, penalty: Penalty, checkpoint: Checkpoint = no_checkpoint
) -> FabState | None:
    """Return the first state with a clearly higher bound and two features made anew; None if there is none.

    A run may find features u and v of the data as u and u + v, or as v and u - v: a local optimum, as no object can
    change sides by itself. The activations of these two depend on each other, unlike those of two features of the
    data. So the most correlated pairs are made anew from the sums and differences of their weights, alone at first,
    on what the other features leave of the cells.
    """
    for pair in _correlated_pairs(state):
        fixed = [k for k in range(state.n_features) if k not in pair]
        rest = replace(state.fit, weights=state.fit.weights[fixed])
        left = Cells(
            residuals(cells, state.mu[fixed], rest), cells.observed, cells.per_column, cells.noise_floor
        )
        new = _best_pair(left, state, pair, penalty, checkpoint)
        if new is None:
            continue
        mu = state.mu.copy()
        mu[pair] = new
        tried = try_activations(cells, state, mu, penalty, checkpoint)
        # A smaller gain could come from flipping signs alone.
        if tried is not None and tried.bound > state.bound + 2.0 * INDIFFERENT:
            return tried
    return None


def _correlated_pairs(state: FabState) -> Iterator[NDArray[np.int64]]:
    """Yield pairs of features, most correlated E[z] first."""
    if state.n_features < 2:
        return
    centred = state.mu - state.mu.mean(axis=1, keepdims=True)
    inner = centred @ centred.T
    size = np.sqrt(np.maximum(np.diag(inner), 1e-300))
    first, second = np.triu_indices(state.n_features, 1)
    correlation = np.abs((inner / size / size[:, None])[first, second])
    for i in np.argsort(-correlation, kind="stable")[:PAIRS]:
        if correlation[i] < LEAST_CORRELATION:
            return
        yield np.array([first[i], second[i]])


def _best_pair(
    left: Cells, state: FabState, pair: NDArray[np.int64], penalty: Penalty, checkpoint: Checkpoint
) -> Floats | None:
    """Return the best new E[z] of two features on what the others leave, (2, N); None if the old is as good."""
    old = state.mu[pair]
    best, best_mu = (
        lower_bound(left, old, fit_weights(left, old, checkpoint=checkpoint), penalty) + _GAIN,
        None,
    )
    u, v = state.fit.weights[pair]
    for weights in ((u - v, v), (u, v - u), (u + v, v), (u, u + v)):
        mu = _fit_pair(left, np.stack(weights), state, penalty, checkpoint)
        bound = lower_bound(left, mu, fit_weights(left, mu, checkpoint=checkpoint), penalty)
        if bound > best:
            best, best_mu = bound, mu
    return best_mu


def _fit_pair(
    left: Cells, weights: Floats, state: FabState, penalty: Penalty, checkpoint: Checkpoint
) -> Floats:
    """Return E[z] of two features after some rounds from given weights, and from even chances, shape (2, N)."""
    mu, shares = np.full((2, left.n_objects), 0.5), np.full(2, 0.5)
    bias = left.values.sum(axis=0) / left.per_column - 0.5 * weights.sum(axis=0)
    fit = Fit(weights, bias, state.fit.precision, state.fit.squared_error)
    for _ in range(_ROUNDS):
        mu, _ = update_activations(left, mu, fit, shares, penalty.slope(left), checkpoint=checkpoint)
        fit = fit_weights(left, mu, fit, lost=penalty.lost(state.n_features), checkpoint=checkpoint)
        shares = np.clip(mu.mean(axis=1), 1e-3, 1.0 - 1e-3)
    return mu
