"""The answer of MEIBP, its lower bound, and the steps that raise it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import gammaln

from acvb_core.core.protocols import Poll, no_poll
from acvb_core.models.lfm.cells import Cells, Floats
from acvb_core.models.lfm.half_normal import divergence, moments
from acvb_core.models.lfm.ibp.ibp import PSEUDO
from acvb_core.models.lfm.meibp.kernels import Bits, choose_features

_LOG_2PI = math.log(2.0 * math.pi)
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
    scales: Floats  #: shape (D,); variances of the columns, of which the prior of the noise has some cells

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.z.shape[1])

    def without(self, k: int) -> Meibp:
        """Return the state without a feature, whose mean share of each column goes into the baselines."""
        keep = np.ones(self.n_features, dtype=np.bool_)
        keep[k] = False
        first, _ = moments(self.parent[k], self.spread[k])
        bias = self.bias + float(self.z[:, k].mean()) * first
        return self._only(keep, bias)

    def alive(self) -> Meibp:
        """Return the state without the features that no object has."""
        keep = np.asarray(self.z.any(axis=0), dtype=np.bool_)
        return self if keep.all() else self._only(keep, self.bias)

    def _only(self, keep: NDArray[np.bool_], bias: Floats) -> Meibp:
        z = np.ascontiguousarray(self.z[:, keep])
        return replace(self, z=z, parent=self.parent[keep], spread=self.spread[keep], bias=bias)


def log_prior(size: Floats, n: int, alpha: float, most: int) -> float:
    """Return log p(Z) of `most` features, of Beta(alpha / most, 1) probabilities, the others' objects being none."""
    rate = alpha / most
    sizes = np.concatenate([size, np.zeros(1)])
    terms = math.log(rate) + gammaln(sizes + rate) + gammaln(n - sizes + 1.0) - gammaln(n + 1.0 + rate)
    return float(terms[:-1].sum() + (most - len(size)) * terms[-1])


def residual(cells: Cells, state: Meibp, first: Floats) -> Floats:
    """Return the known cells less their expectation, 0 for a missing cell, shape (N, D)."""
    return cells.residuals(state.z.astype(np.float64), first, state.bias)


def known_counts(cells: Cells, z: Bits) -> Floats:
    """Return the number of known cells of each column among the objects of each feature, shape (K, D)."""
    if cells.observed is None:
        return np.repeat(z.sum(axis=0, dtype=np.float64)[:, None], cells.n_columns, axis=1)
    return np.asarray(z.astype(np.float64).T @ cells.observed)


def lower_bound(cells: Cells, state: Meibp, most: int) -> float:
    """Return E log p(X, Z, A) + H(q) <= log p(X), at the present baselines, noise, prior and alpha, in nats.

    The log density of the noise's prior is counted, relative to its highest value.
    """
    first, second = moments(state.parent, state.spread)
    errors = squared_errors(cells, state, first, second)
    bound = -0.5 * float((cells.per_column * (_LOG_2PI + np.log(state.noise)) + errors / state.noise).sum())
    bound += log_prior(state.z.sum(axis=0, dtype=np.float64), cells.n_objects, state.alpha, most)
    # The prior of the noise: as if there were more cells, of the columns' own variances; nothing where it is as they.
    ratio = state.noise / state.scales
    bound -= 0.5 * PSEUDO * float((cells.per_column * (np.log(ratio) + 1.0 / ratio - 1.0)).sum())
    return bound - divergence(state.parent, state.spread, state.prior)


def squared_errors(cells: Cells, state: Meibp, first: Floats, second: Floats) -> Floats:
    """Return the expected sum of squared errors of each column, shape (D,)."""
    error = residual(cells, state, first)
    return np.asarray(
        np.einsum("nd,nd->d", error, error) + (known_counts(cells, state.z) * second).sum(axis=0)
    )


def choose_all(cells: Cells, state: Meibp, most: int, poll: Poll = no_poll) -> tuple[Meibp, int]:
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


def learn_weights(cells: Cells, state: Meibp, poll: Poll = no_poll) -> Meibp:
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


def learn_rest(cells: Cells, state: Meibp, most: int, one: bool = False) -> Meibp:
    """Set baselines, noise, the prior of the weights and alpha to their best values, in turn.

    `one` asks for one noise variance for all columns.
    """
    first, second = moments(state.parent, state.spread)
    error = residual(cells, state, first)
    state = replace(state, bias=state.bias + error.sum(axis=0) / cells.per_column)
    errors = squared_errors(cells, state, first, second)
    errors += PSEUDO * cells.per_column * state.scales
    noise = errors / cells.per_column
    if one:
        noise = np.full(len(errors), errors.sum() / cells.n)
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


def improve_state(cells: Cells, state: Meibp, most: int, one: bool, poll: Poll) -> tuple[Meibp, int]:
    """Return the state after one round of all steps, none of which lowers the bound."""
    state, changed = choose_all(cells, state, most, poll)
    state = learn_weights(cells, state, poll)
    return learn_rest(cells, state, most, one), changed
