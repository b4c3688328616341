"""The updates of variational Bayes for latent features.

x_nd = sum_k z_nk w_kd + b_d + noise of precision lambda_d; q(z_nk) = Bernoulli(nu_nk), q(w_kd) = N(m_kd, s_kd),
q(pi_k) = Beta(tau_k), q(lambda_d) = Gamma(shape_d, rate_d); the baselines b and the prior variance v of the weights
are point values, at the maximum of the bound. Missing cells are left out of every sum.

Shapes: N objects, D columns, K features. `Cells.observed` is None if no cell is missing: sums over objects are
then the same for all columns, and have one column here ("D or 1").
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

import numba as nb
import numpy as np
from scipy.special import betaln

from acvb_core.core.protocols import Poll, no_poll
from acvb_core.core.special import OPTIONS
from acvb_core.models.lfm.cells import Cells, Floats
from acvb_core.models.lfm.vb.state import VbState

#: Steps of conjugate gradients in one update of the weights, at most; it ends with one that gains less than this share
#: of the gain of all.
STEPS, LEAST_GAIN = 12, 1e-3


def pieces(cells: Cells, n_features: int, weight: float = 4.0) -> Iterator[slice]:
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
    def of(cls, cells: Cells, nu: Floats, poll: Poll = no_poll) -> Sums:
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


def residuals(cells: Cells, state: VbState, rows: slice) -> Floats:
    """Return x - b - nu m of some rows, 0 for a missing cell, shape (rows, D)."""
    left = cells.values[rows] - state.bias
    left -= state.nu[rows] @ state.means
    if cells.observed is not None:
        left *= cells.observed[rows]
    return left


def update_activations(cells: Cells, state: VbState, poll: Poll = no_poll) -> tuple[Floats, float]:
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


def expected_errors(cells: Cells, state: VbState, sums: Sums, poll: Poll = no_poll) -> Floats:
    """Return sum_n E (x_nd - sum_k z_nk w_kd - b_d)^2 over the known cells of each column, shape (D,)."""
    squares = state.means * state.means
    errors = np.asarray((sums.first * (squares + state.variances) - sums.second * squares).sum(axis=0))
    for rows in pieces(cells, len(squares), 0.2):
        poll()
        errors += (residuals(cells, state, rows) ** 2).sum(axis=0)
    return errors


def flip_gains(cells: Cells, state: VbState, sums: Sums, alpha: float) -> Floats:
    """Return the gain of the bound when a feature stands for the objects that do not have it, shape (K,).

    With z -> 1 - z, w -> -w and b -> b + E w every cell keeps its mean, and Var[z w] changes only by the variance of
    w, for features are flipped one at a time. q(pi) is at its best; its prior is Beta(alpha, 1).
    """
    fit = 0.5 * ((2.0 * sums.first - cells.per_column) * state.variances * state.precision).sum(axis=1)
    mass = state.nu.sum(axis=0)
    rest = cells.n_objects - mass
    return np.asarray(fit + betaln(alpha + rest, 1.0 + mass) - betaln(alpha + mass, 1.0 + rest))


def update_weights(
    cells: Cells,
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


def _second_moments(cells: Cells, nu: Floats, poll: Poll) -> Callable[[Floats], Floats]:
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
