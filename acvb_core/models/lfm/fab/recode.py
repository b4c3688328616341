"""A move of FAB: two features that tell of two others' sums and differences are told apart."""

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

#: Pairs that are tried, those that go together most first, and the correlation of E[z] below which none is.
PAIRS, LEAST_CORRELATION = 10, 0.05
#: Rounds in which the two features find their objects and weights.
_ROUNDS = 6
#: Nats that a recoding must gain by itself to be tried on the whole.
_GAIN = 1.0


def recode_pair(
    cells: Cells, state: FabState, penalty: Penalty, checkpoint: Checkpoint = no_checkpoint
) -> FabState | None:
    """Return the first state found with a clearly higher bound and two features made anew; None where there is none.

    Features u and v of the data may be found as u and u + v, or as v and u - v: a local optimum, as no object can
    change sides by itself. Then the activations of the two found ones depend on each other, where those of two
    features of the data do not. So the pairs that go together most are made anew from the sums and differences of
    their weights, alone at first, on what the other features leave of the cells.
    """
    for pair in _pairs(state):
        fixed = [k for k in range(state.n_features) if k not in pair]
        rest = replace(state.fit, weights=state.fit.weights[fixed])
        left = Cells(
            residuals(cells, state.mu[fixed], rest), cells.observed, cells.per_column, cells.noise_floor
        )
        found = _best_pair(left, state, pair, penalty, checkpoint)
        if found is None:
            continue
        mu = state.mu.copy()
        mu[pair] = found
        tried = try_activations(cells, state, mu, penalty, checkpoint)
        # Less is what the other sides of both may be worth, which is no reason to show them.
        if tried is not None and tried.bound > state.bound + 2.0 * INDIFFERENT:
            return tried
    return None


def _pairs(state: FabState) -> Iterator[NDArray[np.int64]]:
    """Give pairs of features, those whose E[z] are most correlated first."""
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
    """Return the best new E[z] of two features on what the others leave, (2, N); None where the old is as good."""
    old = state.mu[pair]
    best, found = lower_bound(left, old, fit_weights(left, old, checkpoint=checkpoint), penalty) + _GAIN, None
    u, v = state.fit.weights[pair]
    for weights in ((u - v, v), (u, v - u), (u + v, v), (u, u + v)):
        mu = _fit_pair(left, np.stack(weights), state, penalty, checkpoint)
        bound = lower_bound(left, mu, fit_weights(left, mu, checkpoint=checkpoint), penalty)
        if bound > best:
            best, found = bound, mu
    return found


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
