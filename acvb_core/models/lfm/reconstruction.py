"""One object as a sum of features: the baseline, and what each feature adds to it, in the user's units."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from acvb_core.core.errors import ParameterError
from acvb_core.core.protocols import Posterior
from acvb_core.data.table import Table
from acvb_core.models.lfm.cells import Floats

#: Least probability of a feature that is a step of its own.
LEAST_PROBABILITY = 0.05


@dataclass(frozen=True, eq=False)
class Reconstruction:
    """An object as a sum of features, in the units of the columns."""

    row: int  #: the object's position, from 0
    baseline: Floats  #: shape (D,); values of an object without features
    activations: Floats  #: shape (K,); probability that the object has each feature, largest feature first
    weights: Floats  #: shape (K, D); what each feature adds to an object that has it

    @property
    def contributions(self) -> Floats:
        """Contribution of each feature to this object: its probability times its weights, shape (K, D)."""
        return np.asarray(self.activations[:, None] * self.weights)

    @property
    def total(self) -> Floats:
        """Expected values of the object: the baseline and all contributions, shape (D,)."""
        return np.asarray(self.baseline + self.contributions.sum(axis=0))

    def table(self, table: Table) -> pd.DataFrame:
        """Return a row a column: column, value (NaN where missing), baseline, feature_1 …, total, residual.

        The values are those of `table`, in which cells that were held out in the fit may be known.
        """
        features = {f"feature_{k + 1}": added for k, added in enumerate(self.contributions)}
        value, total = table.values[self.row], self.total
        parts = {"column": table.columns, "value": value, "baseline": self.baseline, **features}
        return pd.DataFrame(parts | {"total": total, "residual": value - total})


def reconstruct(table: Table, posterior: Posterior, row: int | str) -> Reconstruction:
    """Return one object as a sum of features.

    `table`: the fitted one: held-out cells are missing in it.
    `posterior`: on the scale that the method worked on.
    `row`: the object: its position from 0, or its name.
    Raises ParameterError: there is no such object.
    """
    position, scale = row_position(table, row), table.scale
    activations = np.array(posterior["objects"][position], dtype=np.float64)
    baseline, weights = scale.undo(posterior["bias"]), scale.undo_weights(posterior["weights"])
    return Reconstruction(position, baseline, activations, weights)


def row_position(table: Table, row: int | str) -> int:
    """Return the position of an object, from 0; a ParameterError if there is no such object."""
    if isinstance(row, str):
        places = np.flatnonzero(table.rows == row)
        if not len(places):
            raise ParameterError(
                f"there is no object {row!r} in {table.name}; its first is called {str(table.rows[0])!r}."
            )
        return int(places[0])
    if isinstance(row, bool) or not isinstance(row, int | np.integer):
        raise ParameterError(f"an object is given by its position or its name, not by {row!r}.")
    if not 0 <= row < table.n_rows:
        raise ParameterError(
            f"there is no object {row}; {table.name} has {table.n_rows:,}, counted from 0 to {table.n_rows - 1}."
        )
    return int(row)


@dataclass(frozen=True, eq=False)
class Step:
    """Contribution of one feature to an object, or of several together."""

    features: tuple[int, ...]  #: numbers, from 1
    probability: float  #: of the object to have the feature; NaN for several
    added: Floats  #: shape (D,); probability times weight, in the table's units

    @property
    def name(self) -> str:
        """Return "feature 3" or "5 others"."""
        n = len(self.features)
        return f"feature {self.features[0]}" if n == 1 else f"{n:,} others"


@dataclass(frozen=True, eq=False)
class ObjectSteps:
    """An object of a table and the steps that lead to its reconstruction, all in the table's units."""

    value: Floats  #: shape (D,); NaN where missing
    baseline: Floats  #: shape (D,)
    #: The largest first; the last one holds all that have no step of their own. They add up to reconstruction -
    #: baseline.
    steps: tuple[Step, ...]
    scale: Floats  #: shape (D,); unit of differences: the standard deviation of each column
    standardised: bool = True  #: False: the table is not, and the scale is 1

    @property
    def reconstruction(self) -> Floats:
        """Baseline and all steps."""
        return self.baseline + sum((step.added for step in self.steps), np.zeros(len(self.baseline)))

    @property
    def residual(self) -> Floats:
        """Value - reconstruction, NaN where the value is missing."""
        return self.value - self.reconstruction

    @property
    def explained(self) -> float:
        """Share of the squared distance from the baseline that the features explain in the known cells.

        In standard deviations; NaN for an object that is the baseline or has no known cell.
        """
        before = np.nansum(((self.value - self.baseline) / self.scale) ** 2)
        after = np.nansum((self.residual / self.scale) ** 2)
        return float(1.0 - after / before) if before > 0 else float("nan")


def object_steps(
    parts: Reconstruction, value: ArrayLike, *, scale: ArrayLike | None = None, most: int = 6
) -> ObjectSteps:
    """Return the steps from the baseline to an object.

    `value`: shape (D,); the object's cells in the table's units, NaN where missing.
    `scale`: shape (D,); standard deviation of each column; None for a table that is not standardised. Steps are sorted
      by the length of what they add, in this unit.
    `most`: most features with a step of their own. Those below a probability of 5 % have none either.
    """
    z, added = parts.activations, parts.contributions
    sd = np.ones(len(parts.baseline)) if scale is None else np.asarray(scale, dtype=np.float64)
    length = np.sqrt(((added / sd) ** 2).sum(axis=1))
    order = np.lexsort((-length, z < LEAST_PROBABILITY))
    n_own = min(int((z >= LEAST_PROBABILITY).sum()), max(most, 1))
    # One feature more is shown, not called "1 others".
    n_own += len(order) == n_own + 1
    own, rest = order[:n_own], np.sort(order[n_own:])
    steps = [Step((int(k) + 1,), float(z[k]), added[k]) for k in own]
    if len(rest):
        steps.append(Step(tuple(int(k) + 1 for k in rest), float("nan"), added[rest].sum(axis=0)))
    values = np.asarray(value, dtype=np.float64)
    return ObjectSteps(values, parts.baseline, tuple(steps), sd, scale is not None)
