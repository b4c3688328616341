"""Variational Bayes for latent features with a finite beta-Bernoulli prior."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from acvb_core.core.clusters import Order, is_identity
from acvb_core.core.protocols import Poll, Posterior, SweepInfo, UnaveragedMethod, no_poll
from acvb_core.models.lfm.cells import Cells, Floats
from acvb_core.models.lfm.state import FEATURES, build_posterior
from acvb_core.models.lfm.vb.state import VbPrior, VbState, lower_bound
from acvb_core.models.lfm.vb.steps import (
    Sums,
    expected_errors,
    flip_gains,
    update_activations,
    update_weights,
)

#: Sweeps in which the noise, the shares and the prior of the weights stay where they begin. Were they learned from the
#: first sweep on, from weights that random activations make all but zero, no feature would ever be needed.
WARM = 20
#: A feature with less than this many objects has died and is dropped. The bound wants a trace of every feature, so that
#: it falls by as much (nats) then, and never else.
DEAD = 1e-2


@dataclass(frozen=True)
class VariationalLfm(UnaveragedMethod):
    """VB bound to a table (an `Algorithm`).

    The factors are those of the paper: every weight, share and activation on its own (mean field over the features).
    Beyond the paper: missing cells; a noise precision of each column, with a Gamma posterior; a baseline and the prior
    variance of the weights, at the maximum of the bound; the weights of a column updated together, which is where the
    coordinate updates lead; features that die are dropped, which the bound accounts for; a feature that most objects
    have is turned into one that the others have where that raises the bound. No step lowers the bound, but that a dead
    feature is dropped, by `DEAD` at most.

    Reference: Doshi-Velez, Miller, Van Gael and Teh, Variational inference for the Indian buffet process, AISTATS
      2009, the finite approximation.
    """

    cells: Cells
    #: Number of features (K), as many as there are objects at most; 0 for the smaller of the numbers of objects and
    #: columns.
    k_max: int = 0
    alpha: float = 1.0  #: Pi_k ~ Beta(alpha / K, 1)
    #: Share of a column's known cells that the prior of its noise counts for; it holds that no feature explains any of
    #: the column.
    noise_weight: float = 0.1

    @cached_property
    def prior(self) -> VbPrior:
        """The priors."""
        most = self.k_max or self.cells.n_columns
        return VbPrior.of(self.cells, self.alpha, min(most, self.cells.n_objects), self.noise_weight)

    def init(self, rng: np.random.Generator, poll: Poll = no_poll) -> VbState:
        """Return random activations, even between 0 and 1, with the weights that fit them."""
        cells, prior = self.cells, self.prior
        nothing = np.zeros((prior.size, cells.n_columns))
        state = VbState(
            nu=rng.random((cells.n_objects, prior.size)),
            tau=np.ones((prior.size, 2)),
            means=nothing,
            variances=nothing + 1.0,
            bias=cells.values.sum(axis=0) / cells.per_column,
            shape=np.full(cells.n_columns, prior.shape),
            rate=prior.rate,
            variance=float((prior.rate / prior.shape).mean()),
        )
        sums = Sums.of(cells, state.nu, poll)
        state = update_weights(cells, state, sums, poll)
        errors = expected_errors(cells, state, sums, poll)
        return replace(state, bound=lower_bound(cells, state, prior, errors, poll))

    def sweep(
        self, state: VbState, rng: np.random.Generator, poll: Poll = no_poll
    ) -> tuple[VbState, SweepInfo]:
        """Update the activations, the weights, and once warm the shares, the weights' prior and the noise."""
        cells, learn = self.cells, state.age >= WARM
        nu, change = update_activations(cells, state, poll)
        sums = Sums.of(cells, nu, poll)
        swept = update_weights(cells, replace(state, nu=nu, age=state.age + 1), sums, poll)
        order = np.arange(nu.shape[1])
        if learn:
            swept = self._flip_features(swept, sums)
            order = live_features(swept.nu)
            swept = self._learn_priors(take_features(swept, order))
            sums = Sums.of(cells, swept.nu, poll)
        errors = expected_errors(cells, swept, sums, poll)
        if learn:
            swept = self._learn_noise(swept, errors)
        swept = replace(swept, bound=lower_bound(cells, swept, self.prior, errors, poll))
        return swept, _sweep_info(swept, order, nu.shape[1], change)

    def posterior(self, state: VbState) -> Posterior:
        """Return activations, weights, shares, baselines, noise and bound."""
        return build_posterior(
            state.nu,
            state.means,
            state.pi,
            state.bias,
            state.precision,
            bound=state.bound,
            weight_variance=state.variances,
            hyper={"weight_sd": float(np.sqrt(state.variance))},
        )

    def _flip_features(self, state: VbState, sums: Sums) -> VbState:
        """Return the state with those features flipped for which the bound gains by it."""
        flip = flip_gains(self.cells, state, sums, self.prior.first) > 0.0
        if not flip.any():
            return state
        return replace(
            state,
            nu=np.where(flip, 1.0 - state.nu, state.nu),
            means=np.where(flip[:, None], -state.means, state.means),
            bias=state.bias + state.means[flip].sum(axis=0),
        )

    def _learn_priors(self, state: VbState) -> VbState:
        """Return the state with the best q(pi) and prior variance of the weights, the mean of E w^2."""
        mass, means = state.nu.sum(axis=0), state.means
        tau = np.column_stack([self.prior.first + mass, 1.0 + self.cells.n_objects - mass])
        variance = float((means * means + state.variances).mean()) if len(mass) else state.variance
        return replace(state, tau=tau, variance=variance)

    def _learn_noise(self, state: VbState, errors: Floats) -> VbState:
        """Return the state with the best q(lambda)."""
        shape = self.prior.shape + 0.5 * self.cells.per_column
        return replace(state, shape=shape, rate=self.prior.rate + 0.5 * errors)


def _sweep_info(state: VbState, order: Order, before: int, change: float) -> SweepInfo:
    dropped = before - len(order)
    return SweepInfo(
        None,
        None if is_identity(order, before) else {FEATURES: order},
        change=change,
        not_stationary=state.age <= WARM,
        moves={"dropped": dropped} if dropped else None,
        effective={FEATURES: int((state.nu.sum(axis=0) >= 1.0).sum())},
    )


def live_features(nu: Floats) -> Order:
    """Return the features that have not died, largest first; there may be none."""
    mass = nu.sum(axis=0)
    order = np.argsort(-mass, kind="stable").astype(np.int64)
    return order[mass[order] >= DEAD]


def take_features(state: VbState, order: Order) -> VbState:
    """Return the state with its features in another order, or some of them only."""
    if is_identity(order, len(state.means)):
        return state
    return replace(
        state,
        nu=np.ascontiguousarray(state.nu[:, order]),
        tau=state.tau[order],
        means=state.means[order],
        variances=state.variances[order],
    )
