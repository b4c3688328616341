"""FAB and EM for latent features: E[z], moves between sweeps, and shrinkage of superfluous features."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from acvb_core.core.clusters import Order, is_identity, order_by_size
from acvb_core.core.protocols import Poll, Posterior, SweepInfo, UnaveragedMethod, no_poll
from acvb_core.core.spec import Values
from acvb_core.models.lfm.kernels import Floats, StandardisedTable, update_feature
from acvb_core.models.lfm.start import independent_start, random_start, suitable_start
from acvb_core.models.lfm.state import (
    FEATURES,
    FabState,
    Fit,
    Penalty,
    build_posterior,
    fit_weights,
    lower_bound,
)

#: Features whose fields come from one product; with missing cells every pair of a block has a product of its own.
_BLOCK, _BLOCK_MISSING = 16, 4
#: Relative change of a feature's share at which its repeated update ends.
_STILL = 1e-4


def update_activations(
    cells: StandardisedTable,
    mu: Floats,
    fit: Fit,
    shares: Floats,
    penalty: float,
    rounds: int = 1,
    poll: Poll = no_poll,
) -> tuple[Floats, Floats]:
    """Return E[z] after one pass over all features, and their shares.

    `mu`: shape (K, N); E[z] before; it is left as it is.
    `shares`: shape (K,); pi.
    `penalty`: D / 2 for FAB, 0 for EM.
    `rounds`: 1 is the plain E step; more bring each feature and its share to their common fixed point (HF13 Alg. 2).
    """
    mu, shares = mu.copy(), shares.copy()
    scratch = np.empty(cells.n_objects)
    weighted = fit.weights * fit.precision
    missing = cells.observed is not None
    residual = cells.residuals(mu.T, fit.weights, fit.bias) if missing else None
    size = _BLOCK_MISSING if missing else _BLOCK
    for begin in range(0, len(mu), size):
        poll()
        block = slice(begin, begin + size)
        old = mu[block].copy()
        if residual is None:
            fields, coupling = _shared_fields(cells, mu, fit, weighted, block)
        else:
            fields, coupling = _own_fields(cells, residual, fit, weighted, block)
        for j in range(len(old)):
            poll()
            shares[begin + j] = update_feature(
                j, fields, coupling, old, mu[block], scratch, shares[begin + j], penalty, rounds, _STILL
            )
        if residual is not None and cells.observed is not None:
            step = (mu[block] - old).T @ fit.weights[block]
            step *= cells.observed
            residual -= step
    return mu, shares


def _shared_fields(
    cells: StandardisedTable, mu: Floats, fit: Fit, weighted: Floats, block: slice
) -> tuple[Floats, Floats]:
    """Return a block's fields and couplings where all cells are known: the couplings are those of all objects."""
    gram = weighted[block] @ fit.weights.T
    fields = weighted[block] @ cells.values.T
    fields -= gram @ mu
    fields -= (weighted[block] @ fit.bias)[:, None]
    lower = np.tril_indices(len(gram))
    return fields, np.ascontiguousarray(gram[:, block][lower][:, None])


def _own_fields(
    cells: StandardisedTable, residual: Floats, fit: Fit, weighted: Floats, block: slice
) -> tuple[Floats, Floats]:
    """Return a block's fields and couplings, each object's over its own known cells."""
    assert cells.observed is not None
    later, earlier = np.tril_indices(len(weighted[block]))
    pairs = weighted[block][later] * fit.weights[block][earlier]
    return weighted[block] @ residual.T, pairs @ cells.observed.T


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
    cells: StandardisedTable,
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
    cells: StandardisedTable, state: FabState, mu: Floats, penalty: Penalty, poll: Poll = no_poll
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
    cells: StandardisedTable, state: FabState, penalty: Penalty, poll: Poll = no_poll
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


def recode_pair(
    cells: StandardisedTable, state: FabState, penalty: Penalty, poll: Poll = no_poll
) -> FabState | None:
    """Return the first state with a clearly higher bound and two features fitted again; None if there is none.

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


def _best_pair(
    left: StandardisedTable, state: FabState, pair: Order, penalty: Penalty, poll: Poll
) -> Floats | None:
    """Return the best new E[z] of two features on what the others leave, (2, N); None if the old is as good."""
    old, best_mu = state.mu[pair], None
    best = lower_bound(left, old, fit_weights(left, old, poll=poll), penalty) + _GAIN
    u, v = state.fit.weights[pair]
    for weights in ((u - v, v), (u, v - u), (u + v, v), (u, u + v)):
        mu = _fit_pair(left, np.stack(weights), state, penalty, poll)
        bound = lower_bound(left, mu, fit_weights(left, mu, poll=poll), penalty)
        if bound > best:
            best, best_mu = bound, mu
    return best_mu


def _fit_pair(
    left: StandardisedTable, weights: Floats, state: FabState, penalty: Penalty, poll: Poll
) -> Floats:
    """Return E[z] of two features after some rounds from given weights, and from even chances, shape (2, N)."""
    mu, shares = np.full((2, left.n_objects), 0.5), np.full(2, 0.5)
    bias = left.values.sum(axis=0) / left.per_column - 0.5 * weights.sum(axis=0)
    fit = Fit(weights, bias, state.fit.precision, state.fit.squared_error)
    for _ in range(_ROUNDS):
        mu, _ = update_activations(left, mu, fit, shares, penalty.slope(left), poll=poll)
        fit = fit_weights(left, mu, fit, lost=penalty.lost_degrees(state.n_features), poll=poll)
        shares = np.clip(mu.mean(axis=1), 1e-3, 1.0 - 1e-3)
    return mu


#: Repetitions of a feature's update with its share, at most (HF13 Alg. 2).
ROUNDS = 100
#: Tables with fewer objects than the first, and at most so many columns, are tried from two starts, for at most so many
#: sweeps each. In larger ones a random start costs more; independent components still miss features if columns are few.
FEW_OBJECTS, MODERATE_COLUMNS, TRIAL_SWEEPS = 500, 100, 200


@dataclass(frozen=True)
class Fab(UnaveragedMethod):
    """FAB, or EM without a penalty, bound to a table (an `Algorithm`).

    A sweep is: accelerate, drop, E step, drop, M step. For a given number of features none of them lowers the
    bound. Dropping may (the bound has no upper limit as a feature's share goes to zero), so bounds are compared at
    equal numbers only. A feature with less than one object is dropped; one that all objects have becomes part of the
    baseline.

    Reference: K. Hayashi, R. Fujimaki, Factorized Asymptotic Bayesian Inference for Latent Feature Models, NIPS 26,
      2013.
    """

    cells: StandardisedTable
    k_max: int = 0  #: features to begin with; 0 leaves it to the start
    penalty: Penalty = field(default_factory=Penalty)
    warmup: int = 5  #: plain sweeps before shrinkage is accelerated
    #: After the warm-up, bring each feature and its share to their common fixed point first (HF13 Alg. 2).
    accelerate: bool = True
    merge: bool = True  #: at convergence, merge, drop or recode features if that raises the bound
    #: Moves are looked for when the bound rises by less than this for each object in a sweep.
    tol: float = 1e-4
    #: Begin with independent components, with random E[z], or with whichever suits the table (see `start`, `init`).
    start: Literal["auto", "ica", "random", "binary"] = "auto"
    merge_only: bool = False  #: of the moves at convergence, merge features alone

    def init(self, rng: np.random.Generator, poll: Poll = no_poll) -> FabState:
        """Return E[z] as `start` has it, and the weights that are best for it.

        A small table is tried from a random start as well: the start that ends at the higher bound is returned.
        """
        cells = self.cells
        if self.start in ("random", "binary"):
            mu = random_start(cells, self.k_max, rng)
            mu = mu if self.start == "random" else (mu > 0.5).astype(np.float64)
        else:
            make = independent_start if self.start == "ica" else suitable_start
            mu = make(cells, self.k_max, rng, poll)
        state = self._begin(mu, poll)
        if self.start != "auto" or not is_small(cells):
            return state
        other = self._begin(random_start(cells, self.k_max, rng), poll)
        return max(state, other, key=lambda start: self._find_end(start, rng, poll))

    def _begin(self, mu: Floats, poll: Poll) -> FabState:
        """Return the state of E[z], with the weights that are best for it."""
        mu = mu[order_by_size(mu.sum(axis=1))]
        fit = fit_weights(self.cells, mu, lost=self.penalty.lost_degrees(len(mu)), poll=poll)
        return FabState(mu, fit, lower_bound(self.cells, mu, fit, self.penalty))

    def _find_end(self, state: FabState, rng: np.random.Generator, poll: Poll) -> float:
        """Return the bound, in nats, at which a run from a state converges."""
        for _ in range(TRIAL_SWEEPS):
            before = state.bound
            state, info = self.sweep(state, rng, poll)
            if not info.not_stationary and abs(state.bound - before) < self.tol * self.cells.n_objects:
                break
        return state.bound

    def sweep(
        self, state: FabState, rng: np.random.Generator, poll: Poll = no_poll
    ) -> tuple[FabState, SweepInfo]:
        """Update E[z] of all features, drop those that died, then the weights; at convergence look for moves."""
        swept, names = self._update(state, poll)
        dropped = state.n_features - len(names)
        warming = swept.sweeps <= self.warmup
        swept = replace(
            swept, still=dropped == 0 and not warming, moves_over=state.moves_over and dropped == 0
        )
        moves = {"dropped": dropped} if dropped else {}
        risen = (swept.bound - state.bound) / self.cells.n_objects
        if self.merge and swept.still and state.still and not swept.moves_over and abs(risen) < self.tol:
            swept, names, made = self._make_moves(swept, names, poll)
            swept, names = sort_by_share(swept, names)
            moves |= made
        same = is_identity(names, state.n_features)
        old = state.mu if same else state.mu[names]
        info = SweepInfo(
            None,
            None if same else {FEATURES: names},
            change=float(np.abs(swept.mu - old).mean()) if swept.mu.size else 0.0,
            not_stationary=not swept.still or (self.merge and not swept.moves_over),
            moves=moves or None,
        )
        return swept, info

    def _update(self, state: FabState, poll: Poll) -> tuple[FabState, Order]:
        """Return the state after its E and M steps, features by share, and the old index of each."""
        cells, penalty, names = self.cells, self.penalty, np.arange(state.n_features, dtype=np.int64)
        mu, fit, shares = state.mu, state.fit, state.shares
        for rounds in (ROUNDS, 1) if self.accelerate and state.sweeps >= self.warmup else (1,):
            mu, shares = update_activations(cells, mu, fit, shares, penalty.slope(cells), rounds, poll)
            alive = alive_features(mu)
            if not alive.all():
                always = mu.mean(axis=1) > 0.5
                bias = fit.bias + fit.weights[~alive & always].sum(axis=0)
                fit = replace(fit, weights=fit.weights[alive], bias=bias)
                mu, shares, names = mu[alive], shares[alive], names[alive]
        swept, names = sort_by_share(replace(state, mu=mu, fit=fit), names)
        return swept.with_activations(cells, swept.mu, penalty, poll, sweeps=state.sweeps + 1), names

    def _make_moves(
        self, state: FabState, names: Order, poll: Poll
    ) -> tuple[FabState, Order, dict[str, int]]:
        """Make all moves that raise the bound; return the state, its features' old indices, and moves by kind."""
        made: dict[str, int] = {}
        kinds = ("merged",) if self.merge_only else ("merged", "dropped")
        while (move := find_move(self.cells, state, self.penalty, poll, kinds)) is not None:
            state, names = move.state, names[move.features]
            made[move.kind] = made.get(move.kind, 0) + 1
        if self.merge_only:
            return replace(state, still=not made, moves_over=not made, turned=True), names, made
        again = recode_pair(self.cells, state, self.penalty, poll)
        if again is not None:
            state, made["recoded"] = again, 1
        if made:
            return replace(state, still=False, turned=False), names, made
        flipped = None if state.turned else flip_features(self.cells, state, self.penalty, poll)
        if flipped is not None:
            return replace(flipped[0], still=False, turned=True), names, {"turned": flipped[1]}
        return replace(state, moves_over=True, turned=True), names, {}

    def posterior(self, state: FabState) -> Posterior:
        """Return E[z], weights, shares, baseline, noise and bound."""
        fit = state.fit
        return build_posterior(
            state.mu.T, fit.weights, state.shares, fit.bias, fit.precision, bound=state.bound
        )


def is_small(cells: StandardisedTable) -> bool:
    """Return whether a table is so small that FAB tries two starts."""
    return cells.n_objects < FEW_OBJECTS and cells.n_columns <= MODERATE_COLUMNS


def sort_by_share(state: FabState, names: Order) -> tuple[FabState, Order]:
    """Return the state with its features by share, largest first, and their names in that order."""
    order = order_by_size(state.mu.sum(axis=1))
    if is_identity(order, state.n_features):
        return state, names
    fit = replace(state.fit, weights=state.fit.weights[order])
    return replace(state, mu=np.ascontiguousarray(state.mu[order]), fit=fit), names[order]


def alive_features(mu: Floats) -> NDArray[np.bool_]:
    """Return which features have an object, and are not in all of them (less one), shape (K,) of bool."""
    totals = mu.sum(axis=1)
    return np.asarray((totals >= 1.0) & (totals <= mu.shape[1] - 1.0))


def build_fab(data: Any, values: Values) -> Fab:
    """Return FAB on data, with the values of its parameters."""
    return Fab(
        StandardisedTable.of(data, values["noise_floor"]),
        values["k_max"],
        Penalty(True, values["mode"] == "dof"),
        values["warmup"],
        values["accelerate"],
        values["merge"],
        values["tol"],
        values["init"],
        values["moves"] == "merge",
    )


def build_em(data: Any, values: Values) -> Fab:
    """Return EM on data, with the values of its parameters."""
    cells = StandardisedTable.of(data, values["noise_floor"])
    return Fab(cells, values["k_max"], Penalty(False), 0, False, False, values["tol"], "random")
