"""The updates of variational Bayes for latent features: each takes what it needs as arrays and returns new ones.

x_nd = sum_k z_nk w_kd + b_d + noise of precision lambda_d; q(z_nk) = Bernoulli(nu_nk), q(w_kd) = N(m_kd, s_kd),
q(pi_k) = Beta(tau_k), q(lambda_d) = Gamma(shape_d, rate_d); the baselines b and the prior variance v of the weights
are point values, at the maximum of the bound. Missing cells are left out of every sum.

Shapes: N objects, D columns, K features. `Cells.observed` is None where no cell is missing: sums over objects are
then the same for all columns, and have one column here ("D or 1").
"""

from __future__ import annotations

import math

import numba as nb
import numpy as np
from scipy.special import betaln

from acvb_core.core.protocols import Checkpoint, no_checkpoint
from acvb_core.core.special import FAST
from acvb_core.models.lfm.cells import Cells, Floats
from acvb_core.models.lfm.vb.weights import Sums, pieces

OPTIONS = {"nogil": True, "cache": True, "fastmath": FAST, "error_model": "numpy"}


def residuals(cells: Cells, rows: slice, nu: Floats, means: Floats, bias: Floats) -> Floats:
    """Return x - b - nu m of some rows, 0 where a cell is missing, shape (rows, D)."""
    left = cells.values[rows] - bias
    left -= nu[rows] @ means
    if cells.observed is not None:
        left *= cells.observed[rows]
    return left


def update_activations(
    cells: Cells,
    nu: Floats,
    means: Floats,
    variances: Floats,
    bias: Floats,
    precision: Floats,
    log_odds: Floats,
    checkpoint: Checkpoint = no_checkpoint,
) -> tuple[Floats, float]:
    """Update q(z) of every object, one feature after the other.

    nu_nk = sigmoid( log_odds_k + sum_d lambda_d [ m_kd (x_nd - b_d - sum_(l != k) nu_nl m_ld) - E w_kd^2 / 2 ] )

    Parameters
    ----------
    log_odds : ndarray, shape (K,)
        E log pi_k - E log(1 - pi_k).

    Returns
    -------
    nu : ndarray, shape (N, K)
    change : float
        Mean of |new - old|.
    """
    weighted = precision * means
    own, penalty = weighted * means, 0.5 * precision * (means * means + variances)
    found, change = np.empty_like(nu), 0.0
    all_known = np.ones((1, cells.n_columns))
    for rows in pieces(cells, len(means)):
        checkpoint()
        left = residuals(cells, rows, nu, means, bias)
        known = all_known if cells.observed is None else cells.observed[rows]
        found[rows] = nu[rows]
        sweep_rows(found[rows], left, known, means, weighted, known @ own.T, known @ penalty.T, log_odds)
        change += float(np.abs(found[rows] - nu[rows]).sum())
    return found, change / max(nu.size, 1)


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


def expected_errors(
    cells: Cells,
    nu: Floats,
    sums: Sums,
    means: Floats,
    variances: Floats,
    bias: Floats,
    checkpoint: Checkpoint = no_checkpoint,
) -> Floats:
    """Return sum_n E (x_nd - sum_k z_nk w_kd - b_d)^2 over the known cells of each column, shape (D,)."""
    squares = means * means
    found = np.asarray((sums.first * (squares + variances) - sums.second * squares).sum(axis=0))
    for rows in pieces(cells, len(means), 0.2):
        checkpoint()
        found += (residuals(cells, rows, nu, means, bias) ** 2).sum(axis=0)
    return found


def flip_gains(
    cells: Cells, nu: Floats, sums: Sums, variances: Floats, precision: Floats, alpha: float
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
    fit = 0.5 * ((2.0 * sums.first - cells.per_column) * variances * precision).sum(axis=1)
    mass = nu.sum(axis=0)
    rest = cells.n_objects - mass
    return np.asarray(fit + betaln(alpha + rest, 1.0 + mass) - betaln(alpha + mass, 1.0 + rest))
