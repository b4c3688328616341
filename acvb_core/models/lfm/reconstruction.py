"""What the features make of one object: the baseline, and what each feature adds to it, in the user's units."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from acvb_core.core.errors import ParameterError
from acvb_core.core.protocols import Posterior
from acvb_core.data.table import Table
from acvb_core.models.lfm.cells import Floats


@dataclass(frozen=True, eq=False)
class Reconstruction:
    """An object as a sum of features, in the units of the columns.

    Attributes
    ----------
    row : int
        Which object it is, from 0.
    baseline : float64 array, shape (D,)
        What an object without features has.
    activations : float64 array, shape (K,)
        Probability that the object has each feature, largest feature first.
    weights : float64 array, shape (K, D)
        What each feature adds to an object that has it.
    noise_sd : float64 array, shape (D,)
        Standard deviation of what is left over.
    """

    row: int
    baseline: Floats
    activations: Floats
    weights: Floats
    noise_sd: Floats

    @property
    def contributions(self) -> Floats:
        """What each feature adds to this object: its probability times its weights, shape (K, D)."""
        found: Floats = self.activations[:, None] * self.weights
        return found

    @property
    def total(self) -> Floats:
        """The baseline and all contributions: what is expected of the object, shape (D,)."""
        found: Floats = self.baseline + self.contributions.sum(axis=0)
        return found

    def table(self, table: Table) -> pd.DataFrame:
        """Return a row a column: column, value (NaN where missing), baseline, feature_1 …, total, residual.

        Parameters
        ----------
        table : Table
            Where the object's values are taken from; cells that were held out in the fit may be known here.
        """
        features = {f"feature_{k + 1}": added for k, added in enumerate(self.contributions)}
        value, total = table.values[self.row], self.total
        parts = {"column": table.columns, "value": value, "baseline": self.baseline, **features}
        return pd.DataFrame(parts | {"total": total, "residual": value - total})


def reconstruct(table: Table, posterior: Posterior, row: int | str) -> Reconstruction:
    """Return what the features make of one object.

    Parameters
    ----------
    table : Table
        The one that was fitted: what was held out is missing in it.
    posterior : Posterior
        On the scale that the method worked on.
    row : int or str
        The object: its position from 0, or its name.

    Raises
    ------
    ParameterError
        There is no such object.
    """
    position, scale = row_position(table, row), table.scale
    return Reconstruction(
        row=position,
        baseline=scale.undo(posterior["bias"]),
        activations=np.array(posterior["objects"][position], dtype=np.float64),
        weights=scale.undo_weights(posterior["weights"]),
        noise_sd=scale.undo_weights(np.sqrt(1.0 / posterior["precision"])),
    )


def row_position(table: Table, row: int | str) -> int:
    """Return the position of an object, from 0.

    Raises
    ------
    ParameterError
        There is no such object.
    """
    if isinstance(row, str):
        found = np.flatnonzero(table.rows == row)
        if not len(found):
            raise ParameterError(
                f"there is no object {row!r} in {table.name}; its first is called {str(table.rows[0])!r}."
            )
        return int(found[0])
    if isinstance(row, bool) or not isinstance(row, int | np.integer):
        raise ParameterError(f"an object is given by its position or its name, not by {row!r}.")
    if not 0 <= row < table.n_rows:
        raise ParameterError(
            f"there is no object {row}; {table.name} has {table.n_rows:,}, counted from 0 to {table.n_rows - 1}."
        )
    return int(row)
