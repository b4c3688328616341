"""The cells of a table on the standardised scale, and which of them are known: the input of all methods."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from acvb_core.data.table import Table

Floats = NDArray[np.float64]

#: Least noise of a column, as a share of its standard deviation, for methods that fit it as a point. Without it, a
#: column that features explain to the last digit would have no noise, and its bound no limit.
NOISE_FLOOR = 0.05


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of a table."""

    #: Shape (N, D); on the scale of the table (`Table.scale`: mean 0, and standard deviation 1 where it is
    #: standardised), 0 where a cell is missing.
    values: Floats
    #: Shape (N, D), or None; 1 where a cell is known, 0 where it is missing; None where all are known.
    observed: Floats | None
    per_column: Floats  #: shape (D,); number of known cells of each column
    #: Least noise of a column, as a share of its standard deviation, for methods that fit it as a point.
    noise_floor: float = NOISE_FLOOR

    @classmethod
    def of(cls, table: Table, noise_floor: float = NOISE_FLOOR) -> Cells:
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
