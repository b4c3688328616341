"""Variational Bayes for latent features with a finite beta-Bernoulli prior, from every number of features."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numba as nb
import numpy as np
from scipy.special import betaln, gammaln, psi

from acvb_core.core.clusters import Order, is_identity
from acvb_core.core.protocols import Poll, Posterior, SweepInfo, UnaveragedMethod, no_poll
from acvb_core.core.spec import Values
from acvb_core.core.special import OPTIONS
from acvb_core.models.lfm.kernels import LOG_2PI, Floats, StandardisedTable, negative_entropy
from acvb_core.models.lfm.state import FEATURES, build_posterior

#: Objects whose entropy is taken at a time.
_PIECE = 8192


@dataclass(frozen=True, eq=False)
class VbPrior:
    """The priors of shares and noise."""

    alpha: float  #: Pi_k ~ Beta(alpha / size, 1)
    size: int  #: number of features of the model (K), those that died included
    shape: float
    rate: Floats  #: shape (D,); lambda_d ~ Gamma(shape, rate_d)

    @property
    def first(self) -> float:
        """First parameter of the prior of pi."""
        return self.alpha / self.size


@dataclass(frozen=True, eq=False)
class VbState:
    """The factors of q after a whole sweep; nothing in it changes afterwards."""

    nu: Floats  #: shape (N, K); q(z_nk = 1)
    tau: Floats  #: shape (K, 2); q(pi_k) = Beta(tau_k1, tau_k2)
    #: `means`, `variances`: shape (K, D); of q(w_kd).
    means: Floats
    variances: Floats
    bias: Floats  #: shape (D,)
    #: `shape`, `rate`: shape (D,); q(lambda_d) = Gamma(shape_d, rate_d).
    shape: Floats
    rate: Floats
    variance: float  #: V, the prior variance of the weights
    bound: float = -math.inf  #: lower bound of log p(cells) in nats
    age: int = 0  #: sweeps done

    @property
    def precision(self) -> Floats:
        """E lambda, shape (D,)."""
        return self.shape / self.rate

    @property
    def pi(self) -> Floats:
        """E pi, shape (K,)."""
        return np.asarray(self.tau[:, 0] / self.tau.sum(axis=1))

    @property
    def log_odds(self) -> Floats:
        """E log pi - E log(1 - pi), shape (K,)."""
        return np.asarray(psi(self.tau[:, 0]) - psi(self.tau[:, 1]))


def lower_bound(
    cells: StandardisedTable, state: VbState, prior: VbPrior, errors: Floats, poll: Poll = no_poll
) -> float:
    """Return E_q log p(x, z, w, pi, lambda) + H(q) in nats, whatever the factors of `state` are.

    `errors` (D,) is sum_n E (x_nd - sum_k z_nk w_kd - b_d)^2 over the known cells. No object has a feature that died,
    and its q(w) and q(pi) are at their best: it adds log p(z_.k = 0).
    """
    n = cells.n_objects
    log_precision = psi(state.shape) - np.log(state.rate)
    bound = 0.5 * float((cells.per_column * (log_precision - LOG_2PI) - state.precision * errors).sum())
    bound -= _gamma_divergence(state, prior, log_precision)
    squares = state.means**2 + state.variances
    bound += 0.5 * float((1.0 + np.log(state.variances / state.variance) - squares / state.variance).sum())
    total = psi(state.tau.sum(axis=1))
    log_pi, log_rest = psi(state.tau[:, 0]) - total, psi(state.tau[:, 1]) - total
    mass, first = state.nu.sum(axis=0), prior.first
    bound += float(((mass + first - state.tau[:, 0]) * log_pi).sum())
    bound += float(((n - mass + 1.0 - state.tau[:, 1]) * log_rest).sum())
    bound += float(betaln(state.tau[:, 0], state.tau[:, 1]).sum()) - len(mass) * betaln(first, 1.0)
    for begin in range(0, n, _PIECE):
        poll()
        bound -= negative_entropy(state.nu[begin : begin + _PIECE])
    return float(bound + (prior.size - len(mass)) * (betaln(first, n + 1.0) - betaln(first, 1.0)))


def _gamma_divergence(state: VbState, prior: VbPrior, log_precision: Floats) -> float:
    """Return sum_d KL(q(lambda_d) || p(lambda_d)) in nats."""
    here = state.shape * np.log(state.rate) - gammaln(state.shape) + (state.shape - 1.0) * log_precision
    there = prior.shape * np.log(prior.rate) - gammaln(prior.shape) + (prior.shape - 1.0) * log_precision
    return float((here - there - (state.rate - prior.rate) * state.precision).sum())


#: Steps of conjugate gradients in one update of the weights, at most; it ends with one that gains less than this share
#: of the gain of all.
STEPS, LEAST_GAIN = 12, 1e-3


def pieces(cells: StandardisedTable, n_features: int, weight: float = 4.0) -> Iterator[slice]:
    """Yield runs of rows that take some 50 ms each; `weight` is the number of nanoseconds a feature of a cell."""
    length = int(max(16, 50e6 / (weight * cells.n_columns * (n_features + 1))))
    for begin in range(0, cells.n_objects, length):
        yield slice(begin, min(begin + length, cells.n_objects))


class Sums(NamedTuple):
    """Sums over the objects that each column knows."""

    #: `first`, `second`: shape (K, D or 1); sum_n nu_nk, sum_n nu_nk^2.
    first: Floats
    second: Floats

    @classmethod
    def of(cls, cells: StandardisedTable, nu: Floats, poll: Poll = no_poll) -> Sums:
        """Return the sums of activations (N, K)."""
        width = 1 if cells.observed is None else cells.n_columns
        first, second = np.zeros((2, nu.shape[1], width))
        for rows in pieces(cells, nu.shape[1], 0.5):
            poll()
            here = nu[rows]
            known = np.ones((len(here), 1)) if cells.observed is None else cells.observed[rows]
            first += here.T @ known
            second += (here * here).T @ known
        return cls(first, second)


def residuals(cells: StandardisedTable, state: VbState, rows: slice) -> Floats:
    """Return x - b - nu m of some rows, 0 for a missing cell, shape (rows, D)."""
    left = cells.values[rows] - state.bias
    left -= state.nu[rows] @ state.means
    if cells.observed is not None:
        left *= cells.observed[rows]
    return left


def update_activations(
    cells: StandardisedTable, state: VbState, poll: Poll = no_poll
) -> tuple[Floats, float]:
    """Return nu after an update of q(z) of every object, one feature after the other, and the mean of |new - old|.

    nu_nk = sigmoid( log_odds_k + sum_d lambda_d [ m_kd (x_nd - b_d - sum_(l != k) nu_nl m_ld) - E w_kd^2 / 2 ] )
    """
    means, nu = state.means, state.nu
    weighted = state.precision * means
    own = weighted * means
    penalty = 0.5 * state.precision * (means * means + state.variances)
    log_odds = state.log_odds
    updated, change = np.empty_like(nu), 0.0
    all_known = np.ones((1, cells.n_columns))
    for rows in pieces(cells, len(means)):
        poll()
        left = residuals(cells, state, rows)
        known = all_known if cells.observed is None else cells.observed[rows]
        updated[rows] = nu[rows]
        sweep_rows(updated[rows], left, known, means, weighted, known @ own.T, known @ penalty.T, log_odds)
        change += float(np.abs(updated[rows] - nu[rows]).sum())
    return updated, change / max(nu.size, 1)


@nb.njit(**OPTIONS)
def sweep_rows(
    nu: Floats,
    left: Floats,
    known: Floats,
    means: Floats,
    weighted: Floats,
    own: Floats,
    penalty: Floats,
    log_odds: Floats,
) -> None:
    """Update `nu` (n, K) and the residuals `left` (n, D) in place; see `update_activations`.

    `known` (n, D), and `own` and `penalty` (n, K), the sums of lambda m^2 and lambda E w^2 / 2 over the known cells
    of a row, have a single row if all rows are alike.
    """
    alike = known.shape[0] == 1
    for n in range(nu.shape[0]):
        i = 0 if alike else n
        rest = left[n]
        for k in range(nu.shape[1]):
            row = weighted[k]
            fit = 0.0
            for d in range(rest.shape[0]):
                fit += rest[d] * row[d]
            before = nu[n, k]
            after = 1.0 / (1.0 + math.exp(-(log_odds[k] + fit + before * own[i, k] - penalty[i, k])))
            change = after - before
            if change != 0.0:
                nu[n, k] = after
                for d in range(rest.shape[0]):
                    rest[d] -= change * means[k, d] * known[i, d]


def expected_errors(cells: StandardisedTable, state: VbState, sums: Sums, poll: Poll = no_poll) -> Floats:
    """Return sum_n E (x_nd - sum_k z_nk w_kd - b_d)^2 over the known cells of each column, shape (D,)."""
    squares = state.means * state.means
    errors = np.asarray((sums.first * (squares + state.variances) - sums.second * squares).sum(axis=0))
    for rows in pieces(cells, len(squares), 0.2):
        poll()
        errors += (residuals(cells, state, rows) ** 2).sum(axis=0)
    return errors


def flip_gains(cells: StandardisedTable, state: VbState, sums: Sums, alpha: float) -> Floats:
    """Return the gain of the bound when a feature is flipped: it marks the objects that did not have it, shape (K,).

    With z -> 1 - z, w -> -w and b -> b + E w every cell keeps its mean, and Var[z w] changes only by the variance of
    w, for features are flipped one at a time. q(pi) is at its best; its prior is Beta(alpha, 1).
    """
    fit = 0.5 * ((2.0 * sums.first - cells.per_column) * state.variances * state.precision).sum(axis=1)
    mass = state.nu.sum(axis=0)
    rest = cells.n_objects - mass
    return np.asarray(fit + betaln(alpha + rest, 1.0 + mass) - betaln(alpha + mass, 1.0 + rest))


def update_weights(
    cells: StandardisedTable,
    state: VbState,
    sums: Sums,
    poll: Poll = no_poll,
    steps: int = STEPS,
    least: float = LEAST_GAIN,
) -> VbState:
    """Return the state with q(w) of all features, and the baselines with them, updated.

    The means of a factorised Gaussian are those of the joint one, so that the coordinate updates of the published
    method lead to the solution of one linear system for each column,

        (sum_n E[z z'] + diag(1 / (v lambda_d))) (m_d, b_d) = sum_n nu_n x_nd,   z = (z_n1 … z_nK, 1),

    with nothing added for b. All are solved at once by conjugate gradients from the present means, scaled by the
    diagonal; each step raises the bound. There are at most `steps` of them, and the last one gains less than `least`
    of the gain of all.
    """
    nu, precision = state.nu, state.precision
    ridge = 1.0 / (state.variance * precision)
    own = np.vstack([sums.first - sums.second + ridge, np.zeros((1, cells.n_columns))])
    diagonal = np.vstack([sums.first + ridge, cells.per_column])
    product = _second_moments(cells, nu, poll)
    solution = np.vstack([state.means, state.bias])
    left = -product(solution) - own * solution
    for rows in pieces(cells, nu.shape[1], 0.2):
        poll()
        left[:-1] += nu[rows].T @ cells.values[rows]
        left[-1] += cells.values[rows].sum(axis=0)
    scaled = left / diagonal
    direction, size, gained = scaled, (left * scaled).sum(axis=0), 0.0
    for _ in range(steps):
        image = product(direction) + own * direction
        curvature = (direction * image).sum(axis=0)
        length = np.divide(size, curvature, out=np.zeros_like(size), where=curvature > 0)
        solution = solution + length * direction
        gain = 0.5 * float((precision * length * size).sum())
        gained += gain
        if gain <= least * gained:
            break
        left = left - length * image
        scaled = left / diagonal
        before, size = size, (left * scaled).sum(axis=0)
        direction = scaled + np.divide(size, before, out=np.zeros_like(size), where=before > 0) * direction
    variances = 1.0 / (precision * diagonal[:-1])
    return replace(state, means=solution[:-1], variances=variances, bias=solution[-1])


def _second_moments(cells: StandardisedTable, nu: Floats, poll: Poll) -> Callable[[Floats], Floats]:
    """Return the product with sum_n nu_n nu_n' over the known cells, nu_n = (nu_n1 … nu_nK, 1), of a (K + 1, D)."""
    size = nu.shape[1]
    known = cells.observed
    if known is None:
        gram = np.full((size + 1, size + 1), float(len(nu)))
        gram[:size, :size] = 0.0
        gram[size, :size] = gram[:size, size] = nu.sum(axis=0)
        for rows in pieces(cells, size, 0.2):
            poll()
            gram[:size, :size] += nu[rows].T @ nu[rows]
        return lambda theta: np.asarray(gram @ theta)

    def product(theta: Floats) -> Floats:
        total = np.zeros_like(theta)
        for rows in pieces(cells, size, 0.2):
            poll()
            fitted = nu[rows] @ theta[:-1]
            fitted += theta[-1]
            fitted *= known[rows]
            total[:-1] += nu[rows].T @ fitted
            total[-1] += fitted.sum(axis=0)
        return total

    return product


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

    cells: StandardisedTable
    #: Number of features (K), as many as there are objects at most; 0 for the smaller of the numbers of objects and
    #: columns.
    k_max: int = 0
    alpha: float = 1.0  #: Pi_k ~ Beta(alpha / K, 1)
    #: Share of a column's known cells that the prior of its noise counts for; it holds that no feature explains any of
    #: the column.
    noise_weight: float = 0.1

    @cached_property
    def prior(self) -> VbPrior:
        """The priors; that of the noise has the variance of the column, and counts for a share of its cells."""
        size = min(self.k_max or self.cells.n_columns, self.cells.n_objects)
        shape = 0.5 * self.noise_weight * float(self.cells.per_column.mean())
        return VbPrior(self.alpha, size, shape, shape * self.cells.variance)

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
        before, dropped = nu.shape[1], nu.shape[1] - len(order)
        return swept, SweepInfo(
            None,
            None if is_identity(order, before) else {FEATURES: order},
            change=change,
            not_stationary=swept.age <= WARM,
            moves={"dropped": dropped} if dropped else None,
            effective={FEATURES: int((swept.nu.sum(axis=0) >= 1.0).sum())},
        )

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


#: The smallest number of features that is tried.
FEWEST = 2


@dataclass(frozen=True, eq=False)
class SizesState:
    """The run under way, and the best of those that are over."""

    size: int  #: features that the run under way began with
    inner: VbState
    best: VbState | None = None


@dataclass(frozen=True)
class EverySize(UnaveragedMethod):
    """VB from K = 2, ..., the largest number of features, one run after the other (an `Algorithm`).

    A run is over when its bound rises by less than `tolerance` for each object; the one with the highest bound answers
    (HF13 §4).
    """

    largest: VariationalLfm
    tolerance: float = 1e-4

    def of_size(self, size: int) -> VariationalLfm:
        """Return VB with a number of features."""
        return replace(self.largest, k_max=size)

    def init(self, rng: np.random.Generator, poll: Poll = no_poll) -> SizesState:
        """Return the start of the first run."""
        size = min(FEWEST, self.largest.prior.size)
        return SizesState(size, self.of_size(size).init(rng, poll))

    def sweep(
        self, state: SizesState, rng: np.random.Generator, poll: Poll = no_poll
    ) -> tuple[SizesState, SweepInfo]:
        """Sweep the run under way; begin the next one where it is over."""
        swept, info = self.of_size(state.size).sweep(state.inner, rng, poll)
        rise = swept.bound - state.inner.bound
        over = swept.age > WARM and not info.moves and rise < self.tolerance * self.largest.cells.n_objects
        last = state.size >= self.largest.prior.size
        info = info._replace(cluster_permutation=None, not_stationary=not (over and last))
        if not over or last:
            return replace(state, inner=swept), info
        best = swept if state.best is None or swept.bound > state.best.bound else state.best
        size = state.size + 1
        return SizesState(size, self.of_size(size).init(rng, poll), best), info._replace(moves=None)

    def posterior(self, state: SizesState) -> Posterior:
        """Return the answer of the best run so far, or of the one under way where it is better."""
        best = state.inner
        if state.best is not None and (state.inner.age <= WARM or state.best.bound > state.inner.bound):
            best = state.best
        return self.largest.posterior(best)

    def current(self, state: SizesState) -> Posterior:
        """Return the answer of the run under way."""
        return self.largest.posterior(state.inner)


def build_vb(data: Any, values: Values) -> VariationalLfm | EverySize:
    """Return VB on data, with the values of its parameters."""
    largest = VariationalLfm(
        StandardisedTable.of(data), values["k_max"], values["alpha"], values["noise_weight"]
    )
    return EverySize(largest, values["tol"]) if values["sizes"] == "each" else largest
