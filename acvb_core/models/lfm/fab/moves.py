"""Moves of FAB outside its fixed point: features are merged, dropped, flipped, or made anew in pairs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from acvb_core.core.clusters import Order
from acvb_core.core.protocols import Poll, no_poll
from acvb_core.models.lfm.activations import update_activations
from acvb_core.models.lfm.cells import Cells, Floats
from acvb_core.models.lfm.least_squares import Fit, fit_weights
from acvb_core.models.lfm.state import FabState, Penalty, lower_bound

#: Pairs of features to merge, most similar weights first, and features to drop, that are tried.
TRIES = 10
#: Nats for each object below the bound at which a move is given up before its E step, which gains less.
HOPELESS = 1.0
#: Nats by which one side of a feature must be better than the other to be chosen for it (a Bayes factor of 20).
INDIFFERENT = 3.0
#: Pairs that are tried, most correlated E[z] first, and the least correlation of them.
PAIRS, LEAST_CORRELATION = 10, 0.05
#: Rounds in which the two features find their objects and weights.
_ROUNDS = 6
#: Nats that a recoding must gain by itself to be tried on the whole.
_GAIN = 1.0


@dataclass(frozen=True, eq=False)
class Move:
    """A state with fewer features and a higher bound."""

    state: FabState
    features: Order  #: old index of each feature
    kind: str


def find_move(
    cells: Cells,
    state: FabState,
    penalty: Penalty,
    poll: Poll = no_poll,
    kinds: tuple[str, ...] = ("merged", "dropped"),
) -> Move | None:
    """Return the first move of some kinds that raises the bound after one sweep at the new number of features."""
    for mu, features, kind in _candidates(state):
        if kind not in kinds:
            continue
        fewer = replace(state, fit=replace(state.fit, weights=state.fit.weights[features]))
        tried = try_activations(cells, fewer, mu, penalty, poll)
        if tried is not None:
            return Move(tried, features, kind)
    return None


def try_activations(
    cells: Cells, state: FabState, mu: Floats, penalty: Penalty, poll: Poll = no_poll
) -> FabState | None:
    """Return the state one sweep after other E[z]; None if the bound does not rise, or a feature dies."""
    tried = state.with_activations(cells, mu, penalty, poll)
    if tried.bound < state.bound - HOPELESS * cells.n_objects:
        return None
    swept, _ = update_activations(cells, tried.mu, tried.fit, tried.shares, penalty.slope(cells), poll=poll)
    totals = swept.sum(axis=1)
    if (totals < 1.0).any() or (totals > cells.n_objects - 1.0).any():
        return None
    tried = tried.with_activations(cells, swept, penalty, poll)
    return tried if tried.bound > state.bound else None


def _candidates(state: FabState) -> Iterator[tuple[Floats, Order, str]]:
    """Yield E[z] with one feature less, the features in it, and the kind of move."""
    names = np.arange(state.n_features)
    for k, other, opposite in _similar_pairs(state):
        features = names[names != other]
        at = int(np.flatnonzero(features == k)[0])
        second = 1.0 - state.mu[other] if opposite else state.mu[other]
        for joint in (np.clip(state.mu[k] + second, 0.0, 1.0), 0.5 * (state.mu[k] + second)):
            mu = state.mu[features]
            mu[at] = joint
            yield mu, features, "merged"
    share = state.shares
    explained = (state.fit.weights**2 * state.fit.precision).sum(axis=1) * share * (1.0 - share)
    for k in np.argsort(explained, kind="stable")[:TRIES]:
        features = names[names != k]
        yield state.mu[features], features, "dropped"


def _similar_pairs(state: FabState) -> list[tuple[int, int, bool]]:
    """Return pairs of features, the larger first, most similar weights first, and whether their signs are opposite."""
    if state.n_features < 2:
        return []
    scaled = state.fit.weights * np.sqrt(state.fit.precision)
    inner = scaled @ scaled.T
    size = np.diag(inner)
    first, second = np.triu_indices(state.n_features, 1)
    gap = (size[first] + size[second]) - 2.0 * np.abs(inner[first, second])
    order = np.argsort(gap, kind="stable")[:TRIES]
    return [(int(first[i]), int(second[i]), bool(inner[first[i], second[i]] < 0)) for i in order]


def flip_features(
    cells: Cells, state: FabState, penalty: Penalty, poll: Poll = no_poll
) -> tuple[FabState, int] | None:
    """Return the state with features flipped that are more readable so, and their number; None if there are none.

    The absence of a feature describes its objects as well: 1 - z, with the weights' sign changed and the weights
    in the baseline. The bound prefers the rarer side. If that is worth less than `INDIFFERENT` nats,
    the side with a positive sum of weights is chosen.
    """
    shares = np.clip(state.shares, 1e-12, 1.0 - 1e-12)
    gain = penalty.slope(cells) * np.log(shares / (1.0 - shares))
    flip = (gain > INDIFFERENT) | ((np.abs(gain) <= INDIFFERENT) & (state.fit.weights.sum(axis=1) < 0))
    if not flip.any():
        return None
    mu = np.where(flip[:, None], 1.0 - state.mu, state.mu)
    return state.with_activations(cells, mu, penalty, poll), int(flip.sum())


def recode_pair(cells: Cells, state: FabState, penalty: Penalty, poll: Poll = no_poll) -> FabState | None:
    """Return the first state with a clearly higher bound and two features made anew; None if there is none.

    A run may find features u and v of the data as u and u + v, or as v and u - v: a local optimum, as no object can
    change sides by itself. The activations of these two depend on each other, unlike those of two features of the
    data. So the most correlated pairs are made anew from the sums and differences of their weights, alone at first,
    on what the other features leave of the cells.
    """
    for pair in _correlated_pairs(state):
        fixed = [k for k in range(state.n_features) if k not in pair]
        rest = cells.residuals(state.mu[fixed].T, state.fit.weights[fixed], state.fit.bias)
        left = replace(cells, values=rest)
        new = _best_pair(left, state, pair, penalty, poll)
        if new is None:
            continue
        mu = state.mu.copy()
        mu[pair] = new
        tried = try_activations(cells, state, mu, penalty, poll)
        # A smaller gain could come from flipping signs alone.
        if tried is not None and tried.bound > state.bound + 2.0 * INDIFFERENT:
            return tried
    return None


def _correlated_pairs(state: FabState) -> Iterator[Order]:
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


def _best_pair(left: Cells, state: FabState, pair: Order, penalty: Penalty, poll: Poll) -> Floats | None:
    """Return the best new E[z] of two features on what the others leave, (2, N); None if the old is as good."""
    old = state.mu[pair]
    best, best_mu = (
        lower_bound(left, old, fit_weights(left, old, poll=poll), penalty) + _GAIN,
        None,
    )
    u, v = state.fit.weights[pair]
    for weights in ((u - v, v), (u, v - u), (u + v, v), (u, u + v)):
        mu = _fit_pair(left, np.stack(weights), state, penalty, poll)
        bound = lower_bound(left, mu, fit_weights(left, mu, poll=poll), penalty)
        if bound > best:
            best, best_mu = bound, mu
    return best_mu


def _fit_pair(left: Cells, weights: Floats, state: FabState, penalty: Penalty, poll: Poll) -> Floats:
    """Return E[z] of two features after some rounds from given weights, and from even chances, shape (2, N)."""
    mu, shares = np.full((2, left.n_objects), 0.5), np.full(2, 0.5)
    bias = left.values.sum(axis=0) / left.per_column - 0.5 * weights.sum(axis=0)
    fit = Fit(weights, bias, state.fit.precision, state.fit.squared_error)
    for _ in range(_ROUNDS):
        mu, _ = update_activations(left, mu, fit, shares, penalty.slope(left), poll=poll)
        fit = fit_weights(left, mu, fit, lost=penalty.lost_degrees(state.n_features), poll=poll)
        shares = np.clip(mu.mean(axis=1), 1e-3, 1.0 - 1e-3)
    return mu
