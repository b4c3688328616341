"""The standardised table with its known cells, and the compiled loops over it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from acvb_core.models.lfm.spec import NOISE_FLOOR

if TYPE_CHECKING:
    from acvb_core.data.table import Table


Floats = NDArray[np.float64]
Bits = NDArray[np.int8]
LOG_2PI = math.log(2.0 * math.pi)


@dataclass(frozen=True, eq=False)
class StandardisedTable:
    """The cells of a table."""

    #: Shape (N, D); on the scale of the table (`Table.scale`: mean 0, and standard deviation 1 if it is
    #: standardised), 0 if a cell is missing.
    values: Floats
    #: Shape (N, D), or None; 1 if a cell is known, 0 if it is missing; None if all are known.
    observed: Floats | None
    per_column: Floats  #: shape (D,); number of known cells of each column
    #: Least noise of a column, as a share of its standard deviation, for methods that fit it as a point.
    noise_floor: float = NOISE_FLOOR

    @classmethod
    def of(cls, table: Table, noise_floor: float = NOISE_FLOOR) -> StandardisedTable:
        """Return the cells of a table, standardised as it asks for."""
        values = np.ascontiguousarray(table.scale.apply(table.values))
        known = ~np.isnan(values)
        if known.all():
            return cls(values, None, np.full(values.shape[1], float(len(values))), noise_floor)
        values[~known] = 0.0
        return cls(values, known.astype(np.float64), known.sum(axis=0).astype(np.float64), noise_floor)

    @cached_property
    def variance(self) -> Floats:
        """Variance of each column's known cells, shape (D,): 1 of a standardised table."""
        centred = self.values - self.values.sum(axis=0) / self.per_column
        if self.observed is not None:
            centred *= self.observed
        return np.maximum(np.einsum("nd,nd->d", centred, centred) / self.per_column, 1e-300)

    @property
    def mean_variance(self) -> float:
        """Mean of the columns' variances."""
        return float(self.variance.mean())

    @property
    def n_objects(self) -> int:
        """Number of rows (N)."""
        return len(self.values)

    @property
    def n_columns(self) -> int:
        """Number of columns (D)."""
        return int(self.values.shape[1])

    @property
    def n(self) -> int:
        """Number of known cells."""
        return int(self.per_column.sum())

    def residuals(self, objects: Floats, weights: Floats, bias: Floats) -> Floats:
        """Return x - objects @ weights - bias over the known cells, 0 elsewhere, shape (N, D)."""
        left = objects @ weights
        left += bias
        np.subtract(self.values, left, out=left)
        if self.observed is not None:
            left *= self.observed
        return left


@njit(nogil=True, cache=True)
def update_feature(
    j: int,
    fields: Any,
    coupling: Any,
    old: Any,
    new: Any,
    scratch: Any,
    share: float,
    penalty: float,
    rounds: int,
    tolerance: float,
) -> float:
    """Update E[z] of one feature of a block for all objects, and its share; return the share that was used last.

    new_jn = sigmoid(c_n + logit(share) - penalty / (N share)), c_n = fields_jn + h_jj (old_jn - 1/2)
    - sum_{i < j} h_ij (new_in - old_in): the evidence of the weights, given the features updated before it.

    `j`: place of the feature in the block.
    `fields`: shape (B, N); w_k' Lambda (residual of the object), the residual with all features at their values before
      the block.
    `coupling`: shape (B (B + 1) / 2, N or 1); h_ij = w_i' Lambda w_j over the known cells of an object, j >= i, row j
      (j + 1) / 2 + i; one column if all objects have the same cells.
    `old`, `new`, `scratch`: shapes (B, N), (B, N), (N,); E[z] before the block's update; the result; room to work in.
    `penalty`: D / 2 for FAB, 0 for EM (HF13 eq. 12).
    `rounds`, `tolerance`: 1 keeps the share; more repeat {E[z], share} with c fixed, at most so often (HF13 Alg. 2),
      until the share's relative change is below the tolerance.
    """
    n_objects = old.shape[1]
    step = 1 if coupling.shape[1] > 1 else 0
    base = j * (j + 1) // 2
    for n in range(n_objects):
        at = n * step
        c = fields[j, n] + coupling[base + j, at] * (old[j, n] - 0.5)
        for i in range(j):
            c -= coupling[base + i, at] * (new[i, n] - old[i, n])
        scratch[n] = c
    for _ in range(rounds):
        p = min(max(share, 1e-12), 1.0 - 1e-12)
        offset = math.log(p / (1.0 - p)) - penalty / (n_objects * p)
        total = 0.0
        for n in range(n_objects):
            # exp overflows to infinity, and 1 / infinity is the 0 that is meant.
            value = 1.0 / (1.0 + math.exp(-(scratch[n] + offset)))
            new[j, n] = value
            total += value
        if rounds == 1:
            return share
        before, share = share, total / n_objects
        if abs(share - before) < tolerance * max(share, 1e-3) or total < 1e-8:
            break
    return share


@njit(nogil=True, cache=True)
def negative_entropy(q: Any) -> float:
    """Return sum q log q + (1 - q) log(1 - q) of Bernoulli means, 0 log 0 being 0; any 2-D array."""
    total = 0.0
    for i in range(q.shape[0]):
        for j in range(q.shape[1]):
            value = q[i, j]
            if 0.0 < value < 1.0:
                total += value * math.log(value) + (1.0 - value) * math.log1p(-value)
    return total


@njit(nogil=True, cache=True)
def cell_moments(
    rows: Any, columns: Any, objects: Any, weights: Any, spread: Any, means: Any, variances: Any
) -> None:
    """Add sum_k mu w to `means` and sum_k (mu - mu^2) w^2 + mu s to `variances` of the cells (rows, columns).

    Shapes: n cells; mu = E[z] in `objects` (N, K); w and its variance s in `weights` and `spread` (D, K).
    """
    for e in range(rows.shape[0]):
        mu = objects[rows[e]]
        w = weights[columns[e]]
        s = spread[columns[e]]
        mean = 0.0
        variance = 0.0
        for k in range(mu.shape[0]):
            mean += mu[k] * w[k]
            variance += (mu[k] - mu[k] * mu[k]) * w[k] * w[k] + mu[k] * s[k]
        means[e] += mean
        variances[e] += variance
