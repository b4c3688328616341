"""MEIBP: features with non-negative weights, chosen by submodular maximisation of a lower bound."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numba as nb
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import erfcx, gammaln, log_ndtr

from acvb_core.core.clusters import order_by_size
from acvb_core.core.protocols import Poll, Posterior, SweepInfo, UnaveragedMethod, no_poll
from acvb_core.core.spec import Values
from acvb_core.core.special import OPTIONS
from acvb_core.models.lfm.ibp import PSEUDO
from acvb_core.models.lfm.kernels import LOG_2PI, Bits, Floats, StandardisedTable
from acvb_core.models.lfm.state import build_posterior

_LOG_2 = math.log(2.0)
#: Below this many standard deviations, the moments' differences cancel; their series are exact there.
_FAR = -60.0


def moments(mean: Floats, variance: Floats) -> tuple[Floats, Floats]:
    """Return mean and variance of normal variables, given those before the cut at zero."""
    sd = np.sqrt(variance)
    t = mean / sd
    near = np.maximum(t, _FAR)
    hazard = math.sqrt(2.0 / math.pi) / erfcx(-near / math.sqrt(2.0))
    far = 1.0 / np.minimum(t, _FAR) ** 2
    first = np.where(t > _FAR, near + hazard, np.sqrt(far) * (1.0 - 2.0 * far + 10.0 * far**2))
    second = np.where(t > _FAR, 1.0 - hazard * (near + hazard), far * (1.0 - 6.0 * far + 50.0 * far**2))
    return sd * first, variance * second


def divergence(mean: Floats, variance: Floats, prior: float) -> float:
    """Return the sum of Kullback-Leibler divergences from the half-normal distribution of parent variance `prior`.

    `mean` and `variance` are those of the distributions' parents, which are cut off at zero.
    """
    first, second = moments(mean, variance)
    square = second + first**2
    own = -0.5 * np.log(variance) - log_ndtr(mean / np.sqrt(variance))
    own -= 0.5 * (square - 2.0 * mean * first + mean**2) / variance
    return float((own + 0.5 * math.log(prior) - _LOG_2 + 0.5 * square / prior).sum())


@nb.njit(**OPTIONS)
def choose_features(
    begin: int,
    end: int,
    z: Bits,
    size: Floats,
    worth: Floats,
    overlap: Floats,
    weights: Floats,
    observed: Floats,
    precision: Floats,
    prior: float,
) -> int:
    """Choose the features of the objects begin … end - 1 in turn; return how many entries of z changed.

    `z`, `size`: shapes (N, K), (K,); features, int8, and number of objects with each; changed in place.
    `worth`: shape (N, K); u without the prior.
    `overlap`: shape (K, K); Q of an object whose cells are all known.
    `weights`, `precision`: shapes (K, D), (D,); E[a], and that of the noise.
    `observed`: shape (N, D), or (0, D); empty if all cells are known.
    `prior`: alpha / K of the Beta prior of each feature's probability.
    """
    n_features = z.shape[1]
    u = np.empty(n_features)
    chosen = np.empty(n_features, dtype=np.int8)
    q = overlap.copy()
    changed = 0
    for n in range(begin, end):
        if len(observed):
            overlaps(weights, observed[n], precision, q)
        for k in range(n_features):
            others = size[k] - z[n, k]
            u[k] = worth[n, k] + math.log((others + prior) / (len(z) - others))
        changed += improve_set(u, q, z[n], chosen)
        for k in range(n_features):
            size[k] += chosen[k] - z[n, k]
            z[n, k] = chosen[k]
    return changed


@nb.njit(**OPTIONS)
def overlaps(weights: Floats, known: Floats, precision: Floats, out: Floats) -> None:
    """Write sum_d E[a_kd] E[a_ld] / noise_d over an object's known cells."""
    n_features, n_columns = weights.shape
    scaled = np.empty(n_columns)
    for k in range(n_features):
        for d in range(n_columns):
            scaled[d] = weights[k, d] * known[d] * precision[d]
        for other in range(k + 1):
            total = 0.0
            theirs = weights[other]
            for d in range(n_columns):
                total += scaled[d] * theirs[d]
            out[k, other] = total
            out[other, k] = total


@nb.njit(**OPTIONS)
def improve_set(u: Floats, q: Floats, now: Bits, chosen: Bits) -> int:
    """Write a set of features that is worth at least as much as `now`; return how many entries differ.

    It is the better of two, both improved until no single feature can be added or left out at a profit: the present
    one, and that of the deterministic double greedy algorithm, whose value above the least possible one is at least
    a third of the best one's (Buchbinder et al., FOCS 2012).
    """
    greedy = np.empty_like(now)
    double_greedy(u, q, greedy)
    climb(u, q, greedy)
    chosen[:] = now
    climb(u, q, chosen)
    if value(u, q, greedy) > value(u, q, chosen) + 1e-9:
        chosen[:] = greedy
    differ = 0
    for k in range(len(u)):
        differ += chosen[k] != now[k]
    return differ


@nb.njit(**OPTIONS)
def value(u: Floats, q: Floats, z: Bits) -> float:
    """Return f of a set."""
    total = 0.0
    for k in range(len(u)):
        if z[k]:
            total += u[k]
            for other in range(k):
                if z[other]:
                    total -= q[k, other]
    return total


@nb.njit(**OPTIONS)
def double_greedy(u: Floats, q: Floats, out: Bits) -> None:
    """Decide on one feature after the other, between what was taken so far and all but what was left out."""
    out[:] = 1
    for k in range(len(u)):
        gain = u[k]
        loss = u[k]
        for other in range(len(u)):
            if other != k and out[other]:
                loss -= q[k, other]
                if other < k:
                    gain -= q[k, other]
        out[k] = 1 if gain >= -loss else 0


@nb.njit(**OPTIONS)
def climb(u: Floats, q: Floats, z: Bits) -> None:
    """Add or leave out the feature that gains most, until none does."""
    gain = u.copy()
    for k in range(len(u)):
        for other in range(len(u)):
            if other != k and z[other]:
                gain[k] -= q[k, other]
    while True:
        best = 0
        most = -1.0
        for k in range(len(u)):
            profit = -gain[k] if z[k] else gain[k]
            if profit > most:
                most = profit
                best = k
        if most <= 1e-9:
            return
        sign = -1.0 if z[best] else 1.0
        z[best] = 1 - z[best]
        for k in range(len(u)):
            if k != best:
                gain[k] -= sign * q[k, best]


#: Least variance of the weights' prior, in units of the mean variance of the columns.
LEAST_PRIOR = 1e-6
#: Between what values alpha is looked for.
ALPHAS = (1e-2, 1e3)
#: Objects times columns (times features) between two polls.
_PIECE = 2e7


@dataclass(frozen=True, eq=False)
class Meibp:
    """The features of every object, and distributions of the weights."""

    z: Bits  #: shape (N, K)
    #: `parent`, `spread`: shape (K, D); mean and variance of the normal distribution of each weight before it is cut
    #: off at zero.
    parent: Floats
    spread: Floats
    #: `bias`, `noise`: shape (D,); baselines and noise variances.
    bias: Floats
    noise: Floats
    prior: float  #: variance of the half-normal prior of the weights, before it is cut off
    alpha: float
    scales: Floats  #: shape (D,); variances of the columns, which the prior of the noise uses

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.z.shape[1])

    def without(self, k: int) -> Meibp:
        """Return the state without a feature, whose mean share of each column goes into the baselines."""
        first, _ = moments(self.parent[k], self.spread[k])
        bias = self.bias + float(self.z[:, k].mean()) * first
        return replace(self._only(np.arange(self.n_features) != k), bias=bias)

    def alive(self) -> Meibp:
        """Return the state without the features that no object has."""
        keep = np.asarray(self.z.any(axis=0), dtype=np.bool_)
        return self if keep.all() else self._only(keep)

    def _only(self, keep: NDArray[np.bool_]) -> Meibp:
        z = np.ascontiguousarray(self.z[:, keep])
        return replace(self, z=z, parent=self.parent[keep], spread=self.spread[keep])


def log_prior(size: Floats, n: int, alpha: float, most: int) -> float:
    """Return log p(Z) of `most` features, of Beta(alpha / most, 1) probabilities, the others' objects being none."""
    rate = alpha / most
    sizes = np.concatenate([size, np.zeros(1)])
    terms = math.log(rate) + gammaln(sizes + rate) + gammaln(n - sizes + 1.0) - gammaln(n + 1.0 + rate)
    return float(terms[:-1].sum() + (most - len(size)) * terms[-1])


def residual(cells: StandardisedTable, state: Meibp, first: Floats) -> Floats:
    """Return the known cells less their expectation, 0 for a missing cell, shape (N, D)."""
    return cells.residuals(state.z.astype(np.float64), first, state.bias)


def known_counts(cells: StandardisedTable, z: Bits) -> Floats:
    """Return the number of known cells of each column among the objects of each feature, shape (K, D)."""
    if cells.observed is None:
        return np.repeat(z.sum(axis=0, dtype=np.float64)[:, None], cells.n_columns, axis=1)
    return np.asarray(z.astype(np.float64).T @ cells.observed)


def lower_bound(cells: StandardisedTable, state: Meibp, most: int) -> float:
    """Return E log p(X, Z, A) + H(q) <= log p(X), at the present baselines, noise, prior and alpha, in nats.

    The log density of the noise's prior is counted, relative to its highest value.
    """
    first, second = moments(state.parent, state.spread)
    errors = squared_errors(cells, state, first, second)
    bound = -0.5 * float((cells.per_column * (LOG_2PI + np.log(state.noise)) + errors / state.noise).sum())
    bound += log_prior(state.z.sum(axis=0, dtype=np.float64), cells.n_objects, state.alpha, most)
    # The prior of the noise: as if there were more cells, of the columns' own variances; nothing if it is as they.
    ratio = state.noise / state.scales
    bound -= 0.5 * PSEUDO * float((cells.per_column * (np.log(ratio) + 1.0 / ratio - 1.0)).sum())
    return bound - divergence(state.parent, state.spread, state.prior)


def squared_errors(cells: StandardisedTable, state: Meibp, first: Floats, second: Floats) -> Floats:
    """Return the expected sum of squared errors of each column, shape (D,)."""
    error = residual(cells, state, first)
    return np.asarray(
        np.einsum("nd,nd->d", error, error) + (known_counts(cells, state.z) * second).sum(axis=0)
    )


def choose_all(cells: StandardisedTable, state: Meibp, most: int, poll: Poll = no_poll) -> tuple[Meibp, int]:
    """Choose every object's features; return the state, without features nobody has, and how many entries changed."""
    if not state.n_features:
        return state, 0
    first, second = moments(state.parent, state.spread)
    precision = 1.0 / state.noise
    observed = np.empty((0, cells.n_columns)) if cells.observed is None else cells.observed
    shifted = cells.values - state.bias
    shifted *= precision
    worth = -0.5 * (first**2 + second) @ precision
    if cells.observed is not None:
        shifted *= cells.observed
        worth = -0.5 * cells.observed @ (precision * (first**2 + second)).T
    worth = worth + shifted @ first.T
    z, size = state.z.copy(), state.z.sum(axis=0, dtype=np.float64)
    overlap = (first * precision) @ first.T
    cost = 6 * state.n_features**2 * (cells.n_columns if len(observed) else 1) + 1
    changed = 0
    for begin in range(0, len(z), max(1, int(_PIECE / cost))):
        end = min(begin + max(1, int(_PIECE / cost)), len(z))
        changed += choose_features(
            begin, end, z, size, worth, overlap, first, observed, precision, state.alpha / most
        )
        poll()
    return replace(state, z=z).alive(), changed


def learn_weights(cells: StandardisedTable, state: Meibp, poll: Poll = no_poll) -> Meibp:
    """Update the distributions of the weights, one feature after the other, each the best given the others."""
    first, _ = moments(state.parent, state.spread)
    error = residual(cells, state, first)
    parent, spread = state.parent.copy(), state.spread.copy()
    counts = known_counts(cells, state.z)
    for k in range(state.n_features):
        own = np.flatnonzero(state.z[:, k])
        information = counts[k] / state.noise + 1.0 / state.prior
        sums = error[own].sum(axis=0) + counts[k] * first[k]
        parent[k], spread[k] = sums / state.noise / information, 1.0 / information
        new, _ = moments(parent[k], spread[k])
        moved = first[k] - new
        error[own] += moved if cells.observed is None else moved * cells.observed[own]
        poll()
    return replace(state, parent=parent, spread=spread)


def learn_rest(cells: StandardisedTable, state: Meibp, most: int, one: bool = False) -> Meibp:
    """Set baselines, noise, the prior of the weights and alpha to their best values, in turn.

    `one` asks for one noise variance for all columns.
    """
    first, second = moments(state.parent, state.spread)
    error = residual(cells, state, first)
    state = replace(state, bias=state.bias + error.sum(axis=0) / cells.per_column)
    errors = squared_errors(cells, state, first, second)
    errors += PSEUDO * cells.per_column * state.scales
    noise = np.full(len(errors), errors.sum() / cells.n) if one else errors / cells.per_column
    scale = float(state.scales.mean())
    prior = float((first**2 + second).mean()) if state.n_features else scale
    size = state.z.sum(axis=0, dtype=np.float64)
    return replace(
        state,
        noise=noise / (1.0 + PSEUDO),
        prior=max(prior, LEAST_PRIOR * scale),
        alpha=best_alpha(size, cells.n_objects, state.alpha, most),
    )


def best_alpha(size: Floats, n: int, alpha: float, most: int) -> float:
    """Return the alpha under which Z is most probable."""

    def loss(log_alpha: float) -> float:
        return -log_prior(size, n, math.exp(log_alpha), most)

    best = minimize_scalar(loss, bounds=tuple(map(math.log, ALPHAS)), method="bounded").x
    return math.exp(best) if loss(best) < loss(math.log(alpha)) else alpha


#: A new feature, or dropping one, is tried once the bound rises by less than this for each object in a sweep.
CALM = 1e-2
#: Objects around which a new feature is tried, and rounds in which it finds the others.
TRIES, ROUNDS = 6, 5
#: Features added in turn before the bound must have risen.
DEPTH = 3
#: Sweeps that may try a new feature without success, around other objects each time, before one is dropped.
ATTEMPTS = 3
#: Sweeps of the other features after one is dropped.
RECOVERY = 3


@dataclass(frozen=True, eq=False)
class MeibpState:
    """An answer, its bound, and the vain tries since it last changed by a move."""

    answer: Meibp
    bound: float  #: lower bound in nats
    #: `births`, `deaths`: sweeps that tried a new feature, or to drop one, and did not raise the bound.
    births: int = 0
    deaths: int = 0


@dataclass(frozen=True, eq=False)
class SubmodularIbp(UnaveragedMethod):
    """MEIBP bound to the cells of a table (an `Algorithm`).

    Weights are not negative, and have a half-normal prior; q makes them independent, each normal and cut off at
    zero. Z is a point, and so are the baselines, which may have any sign: without them standardised cells, half of
    which are negative, could not be explained. A baseline is what a column has where no feature is on, and takes no
    part in the choice of features but as a shift, so that this stays submodular maximisation.

    A run begins without features. Each sweep raises the bound by all steps in turn; once that has become slow it
    tries a feature around objects that are explained badly, alone or with one for all other objects (the two sides
    of what would be one feature if weights had signs); and when none is worth it, to do without a feature. What
    was tried is kept only where the bound is higher, so it never falls, at whatever number of features.

    Reference: Reed and Ghahramani, ICML 2013. They have neither baselines nor missing cells, and begin with random
      features.
    """

    cells: StandardisedTable
    #: Number of features of the model, most of which nobody may have (the truncation of the Indian buffet process); 0
    #: takes the smaller of the numbers of objects and columns.
    k_max: int = 0
    alpha: float = 1.0  #: to start from; the best value is learned
    noise: str = "columns"  #: "columns": every column has a noise variance of its own
    #: "empty", or as the paper prints it "random": from all features of the model, each with a random half of the
    #: objects; none is then added or tried without, and those that nobody has are dropped.
    start: str = "empty"

    @property
    def most(self) -> int:
        """Number of features of the model."""
        return self.k_max or min(self.cells.values.shape)

    def init(self, rng: np.random.Generator, poll: Poll = no_poll) -> MeibpState:
        """Return the state without features, or with random ones and the weights that fit them."""
        n, n_columns = self.cells.values.shape
        none, variance = np.empty((0, n_columns)), self.cells.variance
        start = Meibp(
            z=np.zeros((n, 0), dtype=np.int8),
            parent=none,
            spread=none,
            bias=np.zeros(n_columns),
            noise=variance,
            prior=self.cells.mean_variance,
            alpha=self.alpha,
            scales=variance,
        )
        if self.start == "empty":
            return self._evaluate(self._improve(start, poll)[0])
        z = (rng.random((n, self.most)) < 0.5).astype(np.int8)
        zeros = np.zeros((self.most, n_columns))
        start = replace(start, z=z, parent=zeros, spread=zeros + start.prior).alive()
        start = learn_weights(self.cells, start, poll)
        return self._evaluate(learn_rest(self.cells, start, self.most, self.noise == "one"))

    def sweep(
        self, state: MeibpState, rng: np.random.Generator, poll: Poll = no_poll
    ) -> tuple[MeibpState, SweepInfo]:
        """Improve the state; where that has become slow, try another number of features."""
        better, changed = self._improve(state.answer, poll)
        new = replace(self._evaluate(better), births=state.births, deaths=state.deaths)
        moving = self.start == "empty"
        if moving and new.bound - state.bound < CALM * self.cells.n_objects:
            new = self._try_move(new, rng, poll)
        before, now = state.answer.n_features, new.answer.n_features
        if now != before:
            new = replace(new, births=0, deaths=0)
        over = not moving or (new.births >= ATTEMPTS and new.deaths >= now)
        moves = {"dropped": before - now} if now < before else None
        change = self._change(state.answer, new.answer, changed)
        return new, SweepInfo(
            None, None, change=change, not_stationary=now != before or not over, moves=moves
        )

    def posterior(self, state: MeibpState) -> Posterior:
        """Return Z, the moments of the weights and the rest, the most frequent feature first."""
        answer = state.answer
        order = order_by_size(answer.z.sum(axis=0))
        first, second = moments(answer.parent[order], answer.spread[order])
        z = np.ascontiguousarray(answer.z[:, order], dtype=np.float64)
        return build_posterior(
            z,
            first,
            z.mean(axis=0),
            answer.bias,
            1.0 / answer.noise,
            bound=state.bound,
            weight_variance=second,
            hyper={
                "noise": float(np.sqrt(answer.noise).mean()),
                "alpha": answer.alpha,
                "weight_sd": math.sqrt(answer.prior),
            },
        )

    def _improve(self, answer: Meibp, poll: Poll) -> tuple[Meibp, int]:
        """Return the answer after one round of all steps, which never lowers the bound, and the entries changed."""
        answer, changed = choose_all(self.cells, answer, self.most, poll)
        answer = learn_weights(self.cells, answer, poll)
        return learn_rest(self.cells, answer, self.most, self.noise == "one"), changed

    def _evaluate(self, answer: Meibp) -> MeibpState:
        return MeibpState(answer, lower_bound(self.cells, answer, self.most))

    def _change(self, before: Meibp, now: Meibp, changed: int) -> float:
        """Return the mean over entries of |new - old|; a feature more or less changes those that have it."""
        more = now.n_features - before.n_features
        if more > 0:
            changed += int(now.z[:, -more:].sum())
        return changed / (self.cells.n_objects * max(now.n_features, before.n_features, 1))

    def _try_move(self, state: MeibpState, rng: np.random.Generator, poll: Poll) -> MeibpState:
        """Try a new feature, or when that was without success, to drop one; return the better state."""
        answer = state.answer
        if state.births < ATTEMPTS:
            tried = self._add_features(state, rng, poll)
            return tried or replace(state, births=state.births + 1)
        if state.deaths >= answer.n_features:
            return state
        rarest = order_by_size(answer.z.sum(axis=0))[-1 - state.deaths]
        fewer = answer.without(int(rarest))
        for _ in range(RECOVERY):
            fewer, _ = self._improve(fewer, poll)
        other = self._evaluate(fewer)
        return other if other.bound > state.bound else replace(state, deaths=state.deaths + 1)

    def _add_features(self, state: MeibpState, rng: np.random.Generator, poll: Poll) -> MeibpState | None:
        """Return a better state with more features, up to `DEPTH` steps away; None without any."""
        now = state
        for _ in range(DEPTH):  # the first of several that belong together may not be worth it by itself
            tried = (self._improve(each, poll)[0] for each in self._candidates(now.answer, rng))
            best = max(map(self._evaluate, tried), key=lambda each: each.bound, default=None)
            if best is None or best.bound > state.bound:
                return best
            now = best
        return None

    def _candidates(self, answer: Meibp, rng: np.random.Generator) -> Iterator[Meibp]:
        """Yield answers with a feature more, or two, around badly explained objects."""
        first, _ = moments(answer.parent, answer.spread)
        error = residual(self.cells, answer, first)
        badness = np.einsum("nd,nd,d->n", error, error, 1.0 / answer.noise)
        room = self.most - answer.n_features
        tries = min(TRIES, int(np.count_nonzero(badness)))
        for n in rng.choice(len(error), tries, replace=False, p=badness / badness.sum()) if tries else ():
            for both in (False, True)[:room]:
                grown = self._grow(answer, error, int(n), both)
                if grown is not None:
                    yield grown

    def _grow(self, answer: Meibp, error: Floats, n: int, both: bool) -> Meibp | None:
        """Return the answer with a feature for objects that deviate like object n, and baselines adapted.

        With `both`, the other objects get a feature, too, for the columns in which they lie higher.
        """
        cells = self.cells
        low = error.sum(axis=0) / cells.per_column
        weights = error[n] - low if both else np.maximum(error[n], 0.0)
        if cells.observed is not None:
            weights = weights * cells.observed[n]
        own = self._nearer(error, weights, answer.noise, 0.0)
        for _ in range(ROUNDS):
            if not own.any() or own.all():
                return None
            inside = known_counts(cells, own[:, None])[0]
            outside = cells.per_column - inside
            sums = own.astype(np.float64) @ error
            weights = sums / np.maximum(inside, 1.0) - (error.sum(axis=0) - sums) / np.maximum(outside, 1.0)
            weights = np.where(
                (inside > 0) & (outside > 0), weights if both else np.maximum(weights, 0.0), 0.0
            )
            low = (error.sum(axis=0) - inside * weights) / cells.per_column
            rest = error - low if cells.observed is None else error - low * cells.observed
            own = self._nearer(rest, weights, answer.noise, math.log(own.sum() / (len(own) - own.sum())))
        if not own.any() or own.all():
            return None
        z = np.stack([own, 1 - own], axis=1)[:, : 1 + both]
        parent = np.maximum(np.stack([weights, -weights])[: 1 + both], 0.0)
        spread = 1.0 / (known_counts(cells, z) / answer.noise + 1.0 / answer.prior)
        parent = np.concatenate([answer.parent, parent])
        return replace(
            answer,
            z=np.concatenate([answer.z, z], axis=1),
            parent=parent,
            spread=np.concatenate([answer.spread, spread]),
            bias=answer.bias + low + np.minimum(weights, 0.0),
            prior=max(answer.prior, float((parent**2).mean())),
        )

    def _nearer(self, error: Floats, weights: Floats, noise: Floats, log_odds: float) -> Bits:
        """Return the objects that deviate by `weights` rather than not at all, shape (N,)."""
        half = 0.5 * weights**2 / noise
        size = half.sum() if self.cells.observed is None else self.cells.observed @ half
        return np.asarray(error @ (weights / noise) - size + log_odds > 0.0, dtype=np.int8)


def build_meibp(data: Any, values: Values) -> SubmodularIbp:
    """Return MEIBP on data, with the values of its parameters."""
    return SubmodularIbp(
        StandardisedTable.of(data), values["k_max"], values["alpha"], values["noise"], values["init"]
    )
