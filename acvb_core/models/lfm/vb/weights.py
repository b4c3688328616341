"""The update of the weights in variational Bayes for latent features, and the sums over objects it begins with.

Notation: `vb_steps`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from acvb_core.core.protocols import Checkpoint, no_checkpoint
from acvb_core.models.lfm.cells import Cells, Floats

#: Steps of conjugate gradients in one update of the weights, at most; it ends with one that gains less than this share
#: of what all have gained.
STEPS, LEAST_GAIN = 12, 1e-3


def pieces(cells: Cells, n_features: int, weight: float = 4.0) -> Iterator[slice]:
    """Return runs of rows that take some 50 ms each; `weight` is the number of nanoseconds a feature of a cell."""
    length = int(max(16, 50e6 / (weight * cells.n_columns * (n_features + 1))))
    for begin in range(0, cells.n_objects, length):
        yield slice(begin, min(begin + length, cells.n_objects))


class Sums(NamedTuple):
    """Sums over the objects that each column knows.

    Attributes
    ----------
    first, second : ndarray, shape (K, D or 1)
        sum_n nu_nk, sum_n nu_nk^2.
    """

    first: Floats
    second: Floats

    @classmethod
    def of(cls, cells: Cells, nu: Floats, checkpoint: Checkpoint = no_checkpoint) -> Sums:
        """Return the sums of activations (N, K)."""
        width = 1 if cells.observed is None else cells.n_columns
        first, second = np.zeros((2, nu.shape[1], width))
        for rows in pieces(cells, nu.shape[1], 0.5):
            checkpoint()
            here = nu[rows]
            known = np.ones((len(here), 1)) if cells.observed is None else cells.observed[rows]
            first += here.T @ known
            second += (here * here).T @ known
        return cls(first, second)


def update_weights(
    cells: Cells,
    nu: Floats,
    sums: Sums,
    means: Floats,
    bias: Floats,
    precision: Floats,
    variance: float,
    checkpoint: Checkpoint = no_checkpoint,
    steps: int = STEPS,
    least: float = LEAST_GAIN,
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
    sums : Sums
        Of `nu`.
    means : ndarray, shape (K, D)
    bias, precision : ndarray, shape (D,)
        Baselines; mean noise precision.
    variance : float
        v, of the prior of the weights.
    steps : int
        At most.
    least : float
        The last step is the one that gains less than this share of what all have gained.

    Returns
    -------
    means, variances : ndarray, shape (K, D)
    bias : ndarray, shape (D,)
    """
    ridge = 1.0 / (variance * precision)
    own = np.vstack([sums.first - sums.second + ridge, np.zeros((1, cells.n_columns))])
    diagonal = np.vstack([sums.first + ridge, cells.per_column])
    product = _product_with(cells, nu, checkpoint)
    solution = np.vstack([means, bias])
    left = -product(solution) - own * solution
    for rows in pieces(cells, len(means), 0.2):
        checkpoint()
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
    return solution[:-1], 1.0 / (precision * diagonal[:-1]), solution[-1]


def _product_with(cells: Cells, nu: Floats, checkpoint: Checkpoint) -> Callable[[Floats], Floats]:
    """Return sum_n nu_n nu_n' over the known cells, nu_n = (nu_n1 … nu_nK, 1), as a function of (K + 1, D)."""
    size = nu.shape[1]
    known = cells.observed
    if known is None:
        gram = np.full((size + 1, size + 1), float(len(nu)))
        gram[:size, :size] = 0.0
        gram[size, :size] = gram[:size, size] = nu.sum(axis=0)
        for rows in pieces(cells, size, 0.2):
            checkpoint()
            gram[:size, :size] += nu[rows].T @ nu[rows]
        return lambda given: np.asarray(gram @ given)

    def product(given: Floats) -> Floats:
        total = np.zeros_like(given)
        for rows in pieces(cells, size, 0.2):
            checkpoint()
            fitted = nu[rows] @ given[:-1]
            fitted += given[-1]
            fitted *= known[rows]
            total[:-1] += nu[rows].T @ fitted
            total[-1] += fitted.sum(axis=0)
        return total

    return product


def weight_variance(means: Floats, variances: Floats) -> float:
    """Return the prior variance of the weights at which the bound is largest: the mean of E w^2."""
    return float((means * means + variances).mean())
