"""FAB for latent features: EM with the factorised information criterion, which shrinks superfluous features."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from acvb_core.core.clusters import Order, is_identity, order_by_size
from acvb_core.core.protocols import Poll, Posterior, SweepInfo, UnaveragedMethod, no_poll
from acvb_core.core.rows import Values
from acvb_core.models.lfm.activations import update_activations
from acvb_core.models.lfm.cells import Cells, Floats
from acvb_core.models.lfm.fab.moves import find_move, flip_features, recode_pair
from acvb_core.models.lfm.least_squares import fit_weights
from acvb_core.models.lfm.start import independent_start, random_start, suitable_start
from acvb_core.models.lfm.state import FEATURES, FabState, Penalty, build_posterior, lower_bound

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

    cells: Cells
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


def is_small(cells: Cells) -> bool:
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
        Cells.of(data, values["noise_floor"]),
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
    cells = Cells.of(data, values["noise_floor"])
    return Fab(cells, values["k_max"], Penalty(False), 0, False, False, values["tol"], "random")
