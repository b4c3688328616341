"""What the Features page shows of one answer, worked out once and kept while it is looked at."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from acvb_core.data.table import Table
from acvb_core.engine.job import Job
from acvb_core.engine.result import Result
from acvb_core.models.lfm.figures.feature_words import signed_text
from acvb_core.models.lfm.figures.object_steps import ObjectSteps, object_steps
from acvb_core.models.lfm.reconstruction import reconstruct
from pages.ui.shared.picking import Key, key_of

Floats = NDArray[np.float64]

#: Columns that a feature is told by in a list.
TOLD = 3
#: Cells up to which it is worked out how strongly a feature shows in each object.
MOST_CELLS = 10_000_000
#: Weights below this part of their column's noise are zeros that were rounded: a VB feature that holds all objects
#: alike has such weights, and neither a colour nor a strength can be made of them.
NOTHING = 1e-9


@dataclass(frozen=True, eq=False)
class FeatureView:
    """One answer, and what follows from it.

    Attributes
    ----------
    run : str
        Id of the run.
    result : Result
    data : Table
        All cells, those that were held out included.
    fitted : Table
        The cells that the run saw; its scale is the one that the run worked on.
    """

    run: str
    result: Result
    data: Table
    fitted: Table

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.weights.shape[0])

    @cached_property
    def objects(self) -> Floats:
        """Probability that each object has each feature, shape (N, K)."""
        return np.asarray(self.result.posterior["objects"], dtype=np.float64)

    @cached_property
    def weights(self) -> Floats:
        """What each feature adds on the scale that the run worked on, shape (K, D); next to nothing is nothing."""
        found = np.asarray(self.result.posterior["weights"], dtype=np.float64)
        noise = 1.0 / np.sqrt(np.asarray(self.result.posterior["precision"], dtype=np.float64))
        return np.where(np.abs(found) < NOTHING * noise, 0.0, found)

    @cached_property
    def own_weights(self) -> Floats:
        """The same in the columns' own units."""
        return self.fitted.scale.undo_weights(self.weights)

    @cached_property
    def baseline(self) -> Floats:
        """What an object without features has in each column, in its own units, shape (D,)."""
        return self.fitted.scale.undo(np.asarray(self.result.posterior["bias"], dtype=np.float64))

    @cached_property
    def counts(self) -> Floats:
        """Expected number of objects that have each feature, shape (K,)."""
        found: Floats = self.objects.sum(axis=0)
        return found

    @property
    def shares(self) -> Floats:
        """The same as a share of all objects."""
        return self.counts / max(len(self.objects), 1)

    @property
    def sd(self) -> Floats | None:
        """Standard deviation of each column, shape (D,); None where the columns were not standardised."""
        return self.fitted.scale.sd if self.fitted.standardise else None

    @property
    def noise_sd(self) -> Floats:
        """Standard deviation of what is left over in each column, in its own units, shape (D,)."""
        precision = np.asarray(self.result.posterior["precision"], dtype=np.float64)
        return self.fitted.scale.undo_weights(np.sqrt(1.0 / precision))

    def strongest(self, feature: int, n: int = TOLD, own: bool = True) -> list[str]:
        """Return the columns in which a feature (from 1) weighs most, each with its weight: "rain +12"."""
        weights = self.weights[feature - 1]
        shown = self.own_weights[feature - 1] if own else weights
        order = np.argsort(-np.abs(weights), kind="stable")[:n]
        return [f"{self.data.columns[j]} {signed_text(float(shown[j]))}" for j in order]

    def strength(self, feature: int) -> Floats | None:
        """Return how strongly a feature (from 1) shows in each object: 1 as its weights say, 0 not at all, shape (N,).

        It is the multiple of the weights that fits best what the other features leave of the known cells. None for
        large tables; NaN where a row has no known cell.
        """
        values = self.data.values
        if values.size > MOST_CELLS:
            return None
        at = feature - 1
        others = self.objects.copy()
        others[:, at] = 0.0
        scale = self.fitted.scale
        left = scale.apply(values) - others @ self.weights - np.asarray(self.result.posterior["bias"])
        w = self.weights[at] * np.asarray(self.result.posterior["precision"])
        known = ~np.isnan(left)
        size = known @ (w * self.weights[at])
        with np.errstate(invalid="ignore", divide="ignore"):
            found: Floats = np.where(known, left, 0.0) @ w / size
        return np.where(size > 0, found, np.nan)

    def carriers(self, feature: int, n: int) -> pd.DataFrame:
        """Return the objects that carry a feature (from 1) most: object (0-based), probability, strength.

        By probability in whole percent, then by how strongly the feature shows.
        """
        probability = self.objects[:, feature - 1]
        strength = self.strength(feature)
        ranked = np.nan_to_num(strength, nan=-np.inf) if strength is not None else np.zeros(len(probability))
        order = np.lexsort((-ranked, -np.round(probability, 2)))[:n]
        return pd.DataFrame(
            {
                "object": order,
                "probability": probability[order],
                "strength": np.nan if strength is None else strength[order],
            }
        )

    def by_group(self, feature: int) -> pd.DataFrame:
        """Return each known group's number of objects and the share of them with a feature (from 1), most first."""
        assert self.data.labels is not None
        frame = pd.DataFrame({"group": self.data.labels, "has": self.objects[:, feature - 1]})
        found = frame[frame["group"] != ""].groupby("group", sort=True)["has"].agg(["mean", "size"])
        found = found.sort_values("mean", ascending=False, kind="stable").reset_index()
        return found.rename(columns={"mean": "share", "size": "objects"})

    def steps(self, row: int, most: int = 6) -> ObjectSteps:
        """Return how the features make up an object (0-based); cells that were held out are shown, too."""
        made = reconstruct(self.fitted, self.result.posterior, int(row))
        return object_steps(made, self.data.values[row], scale=self.sd, most=most)


def view_of(job: Job, result: Result) -> FeatureView:
    """Return what is shown of an answer; the same object until the run goes on."""
    return _view(key_of(job, result), result)


@st.cache_resource(show_spinner=False, max_entries=8)
def _view(key: Key, _result: Result) -> FeatureView:
    problem = _result.problem
    return FeatureView(key[0], _result, problem.data, problem.train)
