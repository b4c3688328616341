"""How the features make up an object: the steps from the baseline to the reconstruction, and what is left over."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from acvb_core.models.lfm.figures.feature_words import subtitle
from acvb_core.models.lfm.reconstruction import Reconstruction
from acvb_core.views.theme import escape, percent

Floats = NDArray[np.float64]
#: Probability below which a feature is no step of its own.
LEAST = 0.05


@dataclass(frozen=True, eq=False)
class Step:
    """What one feature adds to an object, or several together.

    Attributes
    ----------
    features : tuple of int
        Numbers, from 1.
    probability : float
        That the object has the feature; NaN for several.
    added : float64 array, shape (D,)
        Probability times weight, in the table's units.
    """

    features: tuple[int, ...]
    probability: float
    added: Floats

    @property
    def name(self) -> str:
        """Return "feature 3" or "5 others"."""
        n = len(self.features)
        return f"feature {self.features[0]}" if n == 1 else f"{n:,} others"


@dataclass(frozen=True, eq=False)
class ObjectSteps:
    """An object of a table and what the features make of it, all in the table's units.

    Attributes
    ----------
    value : float64 array, shape (D,)
        NaN where missing.
    baseline : float64 array, shape (D,)
    steps : tuple of Step
        The largest first; what has no step of its own is in the last one. They add up to reconstruction - baseline.
    scale : float64 array, shape (D,)
        Standard deviation of each column: what differences are compared in.
    standardised : bool
        False: the table is not, and the scale is 1.
    """

    value: Floats
    baseline: Floats
    steps: tuple[Step, ...]
    scale: Floats
    standardised: bool = True

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
        """Return the share of the squared distance from the baseline that the features take away, in the known cells.

        In standard deviations; NaN where the object is the baseline or nothing of it is known.
        """
        before = np.nansum(((self.value - self.baseline) / self.scale) ** 2)
        return (
            float(1.0 - np.nansum((self.residual / self.scale) ** 2) / before) if before > 0 else float("nan")
        )


def object_steps(
    made: Reconstruction, value: ArrayLike, *, scale: ArrayLike | None = None, most: int = 6
) -> ObjectSteps:
    """Return the steps from the baseline to an object.

    Parameters
    ----------
    made : Reconstruction
        Of the object, from the model.
    value : array, shape (D,)
        The object's cells in the table's units, NaN where missing.
    scale : array, shape (D,), optional
        Standard deviation of each column; None where the table is not standardised. The order of the steps is by the
        length of what they add, in it.
    most : int
        Most features with a step of their own. Those below a probability of 5 % have none either.
    """
    z, added = made.activations, made.contributions
    sd = np.ones(len(made.baseline)) if scale is None else np.asarray(scale, dtype=np.float64)
    length = np.sqrt(((added / sd) ** 2).sum(axis=1))
    order = np.lexsort((-length, z < LEAST))
    n_own = min(int((z >= LEAST).sum()), max(most, 1))
    # One feature more is shown, not called "1 others".
    n_own += len(order) == n_own + 1
    own, rest = order[:n_own], np.sort(order[n_own:])
    steps = [Step((int(k) + 1,), float(z[k]), added[k]) for k in own]
    if len(rest):
        steps.append(Step(tuple(int(k) + 1 for k in rest), float("nan"), added[rest].sum(axis=0)))
    values = np.asarray(value, dtype=np.float64)
    return ObjectSteps(values, made.baseline, tuple(steps), sd, scale is not None)


def object_heading(made: ObjectSteps, name: str) -> str:
    """Return the object's name, how much of it the features explain and what is missing, as HTML."""
    explained = made.explained
    told = (
        ""
        if np.isnan(explained)
        else f" · the features explain {percent(max(explained, 0.0))} of what sets it apart"
    )
    if explained < 0:
        told = " · the features lead away from it"
    unknown = int(np.isnan(made.value).sum())
    told += f" · {unknown:,} of {len(made.value):,} cells missing" if unknown else ""
    return f"<b>{escape(name, 40) or 'Object'}</b>{subtitle(told)}"
