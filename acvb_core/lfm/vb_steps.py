"""The updates of variational Bayes for latent features: each takes what it needs as arrays and returns new ones.

x_nd = sum_k z_nk w_kd + b_d + noise of precision lambda_d; q(z_nk) = Bernoulli(nu_nk), q(w_kd) = N(m_kd, s_kd),
q(pi_k) = Beta(tau_k), q(lambda_d) = Gamma(shape_d, rate_d); the baselines b and the prior variance v of the weights
are point values, at the maximum of the bound. Missing cells are left out of every sum.

Shapes: N objects, D columns, K features. `Cells.observed` is None where no cell is missing: sums over objects are
then the same for all columns, and have one column here ("D or 1").
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numba as nb
import numpy as np
from scipy.special import betaln

from acvb_core.lfm.cells import Cells, Floats
from acvb_core.protocols import Checkpoint, no_checkpoint
from acvb_core.special import FAST

OPTIONS = {"nogil": True, "cache": True, "fastmath": FAST, "error_model": "numpy"}

#: Steps of conjugate gradients in one update of the weights, and the gain (nats) below which they end sooner.
STEPS, LEAST_GAIN = 12, 1e-3


def pieces(cells: Cells, n_features: int, weight: float = 4.0) -> Iterator[slice]:
    """Return runs of rows that take some 50 ms each; `weight` is the number of nanoseconds a feature of a cell."""
    length = int(max(16, 50e6 / (weight * cells.n_columns * (n_features + 1))))
    for begin in range(0, cells.n_objects, length):
        yield slice(begin, min(begin + length, cells.n_objects))


def residuals(cells: Cells, rows: slice, nu: Floats, means: Floats, bias: Floats) -> Floats:
    """Return x - b - nu m of some rows, 0 where a cell is missing, shape (rows, D)."""
    left = cells.values[rows] - bias
    left -= nu[rows] @ means
    if cells.observed is not None:
        left *= cells.observed[rows]
    return left


def sums_by_column(cells: Cells, amounts: Floats, checkpoint: Checkpoint = no_checkpoint) -> Floats:
    """Return the sum of `amounts` (N, K) over the objects that each column knows, shape (K, D or 1)."""
    if cells.observed is None:
        return np.asarray(amounts.sum(axis=0)[:, None])
    total = np.zeros((amounts.shape[1], cells.n_columns))
    for rows in pieces(cells, amounts.shape[1], 0.2):
        checkpoint()
        total += amounts[rows].T @ cells.observed[rows]
    return total


def update_weights(
    cells: Cells,
    nu: Floats,
    means: Floats,
    bias: Floats,
    precision: Floats,
    variance: float,
    checkpoint: Checkpoint = no_checkpoint,
    steps: int = STEPS,
) -> tuple[Floats, Floats, Floats]:
    """Update q(w) of all features, and the baselines with them.

    The means of a factorised Gaussian are those of the joint one, so that the coordinate updates of the published
    method lead to the solution of one linear system for each column,

        (sum_n E[z z'] + diag(1 / (v lambda_d))) (m_d, b_d) = sum_n nu_n x_nd,   z = (z_n1 … z_nK, 1),

    with nothing added for b. All are solved at once by conjugate gradients from where the means stand, scaled by the
    diagonal; each step raises the bound.

    Parameters
    ----------
    nu : ndarray, shape (N, K)
    means : ndarray, shape (K, D)
    bias, precision : ndarray, shape (D,)
        Baselines; mean noise precision.
    variance : float
        v, of the prior of the weights.
    steps : int
        At most.

    Returns
    -------
    means, variances : ndarray, shape (K, D)
    bias : ndarray, shape (D,)
    """
    ridge = np.zeros((len(means) + 1, cells.n_columns))
    ridge[:-1] = 1.0 / (variance * precision)
    extended = np.column_stack([nu, np.ones(len(nu))])
    diagonal = ridge + sums_by_column(cells, extended, checkpoint)
    product = _system(cells, extended, ridge, checkpoint)
    solution = np.vstack([means, bias])
    left = -product(solution)
    for rows in pieces(cells, len(means), 0.2):
        checkpoint()
        left += extended[rows].T @ cells.values[rows]
    scaled = left / diagonal
    direction, size = scaled, (left * scaled).sum(axis=0)
    for _ in range(steps):
        image = product(direction)
        curvature = (direction * image).sum(axis=0)
        length = np.divide(size, curvature, out=np.zeros_like(size), where=curvature > 0)
        solution = solution + length * direction
        if 0.5 * float((precision * length * size).sum()) < LEAST_GAIN:
            break
        left = left - length * image
        scaled = left / diagonal
        before, size = size, (left * scaled).sum(axis=0)
        direction = scaled + np.divide(size, before, out=np.zeros_like(size), where=before > 0) * direction
    return solution[:-1], 1.0 / (precision * diagonal[:-1]), solution[-1]


def _system(
    cells: Cells, extended: Floats, ridge: Floats, checkpoint: Checkpoint
) -> Callable[[Floats], Floats]:
    """Return the left-hand side of the columns' systems as a function of (K + 1, D)."""
    own = sums_by_column(cells, extended - extended * extended, checkpoint) + ridge
    if cells.observed is None:
        gram = np.zeros((extended.shape[1], extended.shape[1]))
        for rows in pieces(cells, extended.shape[1], 0.2):
            checkpoint()
            gram += extended[rows].T @ extended[rows]
        return lambda given: np.asarray(gram @ given + own * given)
    known = cells.observed

    def product(given: Floats) -> Floats:
        total = own * given
        for rows in pieces(cells, len(given), 0.2):
            checkpoint()
            total += extended[rows].T @ ((extended[rows] @ given) * known[rows])
        return np.asarray(total)

    return product


def weight_variance(means: Floats, variances: Floats) -> float:
    """Return the prior variance of the weights at which the bound is largest: the mean of E w^2."""
    return float((means * means + variances).mean())


def update_activations(
    cells: Cells,
    nu: Floats,
    means: Floats,
    variances: Floats,
    bias: Floats,
    precision: Floats,
    log_odds: Floats,
    checkpoint: Checkpoint = no_checkpoint,
) -> Floats:
    """Update q(z) of every object, one feature after the other.

    nu_nk = sigmoid( log_odds_k + sum_d lambda_d [ m_kd (x_nd - b_d - sum_(l != k) nu_nl m_ld) - E w_kd^2 / 2 ] )

    Parameters
    ----------
    log_odds : ndarray, shape (K,)
        E log pi_k - E log(1 - pi_k).

    Returns
    -------
    nu : ndarray, shape (N, K)
    """
    weighted = precision * means
    own, penalty = weighted * means, 0.5 * precision * (means * means + variances)
    nu = nu.copy()
    all_known = np.ones((1, cells.n_columns))
    for rows in pieces(cells, len(means)):
        checkpoint()
        left = residuals(cells, rows, nu, means, bias)
        known = all_known if cells.observed is None else cells.observed[rows]
        sweep_rows(nu[rows], left, known, means, weighted, known @ own.T, known @ penalty.T, log_odds)
    return nu


@nb.njit(**OPTIONS)
def sweep_rows(
    nu: Floats, left: Floats, known: Floats, means: Floats, weighted: Floats, own: Floats, penalty: Floats,
    log_odds: Floats,
) -> None:  # fmt: skip
    """Update `nu` (n, K) and the residuals `left` (n, D) in place; see `update_activations`.

    `known` (n, D), and `own` and `penalty` (n, K), the sums of lambda m^2 and lambda E w^2 / 2 over the known cells
    of a row, have one row where all rows are alike.
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


def spread(
    cells: Cells, nu: Floats, means: Floats, variances: Floats, checkpoint: Checkpoint = no_checkpoint
) -> Floats:
    """Return sum_n Var[sum_k z_nk w_kd] over the known cells of each column, shape (D,)."""
    first = sums_by_column(cells, nu, checkpoint)
    second = sums_by_column(cells, nu * nu, checkpoint)
    squares = means * means
    return np.asarray((first * (squares + variances) - second * squares).sum(axis=0))


def gains_of_turning(
    cells: Cells,
    nu: Floats,
    variances: Floats,
    precision: Floats,
    alpha: float,
    checkpoint: Checkpoint = no_checkpoint,
) -> Floats:
    """Return what the bound gains when a feature stands for the objects that do not have it, shape (K,).

    With z -> 1 - z, w -> -w and b -> b + E w every cell has the mean that it had, and Var[z w] changes only by what
    the variance of w weighs, for the features are turned one apart from the other. q(pi) is taken at its best.

    Parameters
    ----------
    variances : ndarray, shape (K, D)
    precision : ndarray, shape (D,)
    alpha : float
        First parameter of the prior Beta(alpha, 1) of pi.
    """
    on = sums_by_column(cells, nu, checkpoint)
    known = cells.per_column if cells.observed is not None else np.array([float(cells.n_objects)])
    fit = 0.5 * ((2.0 * on - known) * variances * precision).sum(axis=1)
    mass = nu.sum(axis=0)
    rest = cells.n_objects - mass
    return np.asarray(fit + betaln(alpha + rest, 1.0 + mass) - betaln(alpha + mass, 1.0 + rest))
