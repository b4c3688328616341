"""The features that a run found, in the units of the columns: tables, weights, and the objects that carry a feature."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from acvb_core.core.protocols import Posterior
from acvb_core.data.table import Table
from acvb_core.models.lfm.cells import Floats
from acvb_core.models.lfm.reconstruction import ObjectSteps, object_steps, reconstruct

#: Most cells for which the strength of a feature in each object is computed.
MOST_CELLS = 10_000_000
#: Weights below this part of their column's noise are rounded zeros: a VB feature that all objects share alike has
#: such weights, and they have neither a colour nor a strength.
NEGLIGIBLE = 1e-9


class OwnUnits(NamedTuple):
    """Parameters of a posterior in the units of the columns."""

    weights: Floats  #: shape (K, D)
    #: `baseline`, `noise_sd`: shape (D,).
    baseline: Floats
    noise_sd: Floats


def own_units(table: Table, posterior: Posterior) -> OwnUnits:
    """Return the parameters of a posterior of the fitted table in the units of its columns."""
    scale = table.scale
    noise_sd = scale.undo_weights(np.sqrt(1.0 / posterior["precision"]))
    return OwnUnits(scale.undo_weights(posterior["weights"]), scale.undo(posterior["bias"]), noise_sd)


def result_tables(table: Table, posterior: Posterior) -> dict[str, pd.DataFrame]:
    """Return the tables that a user takes away.

    `table` is the fitted one, and the posterior on the standardised scale.

    - features: feature (from 1), share of the objects that have it, objects (their expected number), and what it adds
      to each column, in the column's own units.
    - objects: object, feature_1 …: probability that the object has each feature; known_NAME: metadata of the rows.
    - columns: column, baseline (its value for an object without features), noise_sd, mean, sd: all in its units.
    """
    objects, own, moments = np.asarray(posterior["objects"]), own_units(table, posterior), table.moments
    numbers = np.arange(1, objects.shape[1] + 1)
    features = pd.DataFrame({"feature": numbers, "share": posterior["pi"], "objects": objects.sum(axis=0)})
    # A column of the table may have the name of one of these.
    names = [f"{name} (column)" if name in features.columns else str(name) for name in table.columns]
    activations = pd.DataFrame(objects, columns=[f"feature_{k}" for k in numbers])
    activations.insert(0, "object", table.rows)
    known = pd.DataFrame(
        {f"known_{name}": values for name, values in table.metadata.items()}, activations.index
    )
    columns = {"column": table.columns, "baseline": own.baseline, "noise_sd": own.noise_sd}
    return {
        "features": pd.concat([features, pd.DataFrame(own.weights, columns=names)], axis=1),
        "objects": pd.concat([activations, known], axis=1),
        "columns": pd.DataFrame(columns | {"mean": moments.mean, "sd": moments.sd}),
    }


@dataclass(frozen=True, eq=False)
class FeatureAnswer:
    """The features of one posterior; features are numbered from 1, objects from 0."""

    posterior: Posterior  #: on the scale that the run worked on
    data: Table  #: all cells, held-out ones included
    fitted: Table  #: the cells that the run saw, with the scale that it worked on

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.weights)

    @cached_property
    def objects(self) -> Floats:
        """Probability that each object has each feature, shape (N, K)."""
        return np.asarray(self.posterior["objects"], dtype=np.float64)

    @cached_property
    def weights(self) -> Floats:
        """Weights on the scale of the run, negligible ones set to 0, shape (K, D)."""
        weights, precision = (
            np.asarray(self.posterior[name], np.float64) for name in ("weights", "precision")
        )
        return np.where(np.abs(weights) < NEGLIGIBLE / np.sqrt(precision), 0.0, weights)

    @cached_property
    def own_weights(self) -> Floats:
        """Weights in the columns' own units, shape (K, D)."""
        return self.fitted.scale.undo_weights(self.weights)

    @cached_property
    def baseline(self) -> Floats:
        """Value of each column for an object without features, in its own units, shape (D,)."""
        return own_units(self.fitted, self.posterior).baseline

    @cached_property
    def counts(self) -> Floats:
        """Expected number of objects that have each feature, shape (K,)."""
        return np.asarray(self.objects.sum(axis=0))

    @property
    def shares(self) -> Floats:
        """Expected share of the objects that have each feature, shape (K,)."""
        return self.counts / max(len(self.objects), 1)

    @property
    def sd(self) -> Floats | None:
        """Standard deviation of each column, shape (D,); None for columns that were not standardised."""
        return self.fitted.scale.sd if self.fitted.standardise else None

    @property
    def n_combinations(self) -> int:
        """Number of different combinations of features, at a probability of 1/2 or more."""
        return len(np.unique(np.packbits(self.objects >= 0.5, axis=1), axis=0))

    def hidden_cells(self, row: int) -> NDArray[np.bool_]:
        """Return which known cells of an object the run did not see, shape (D,)."""
        return np.isnan(self.fitted.values[row]) & ~np.isnan(self.data.values[row])

    def strongest_columns(self, feature: int, n: int) -> NDArray[np.int64]:
        """Return the `n` columns with the largest weights of a feature, largest first."""
        return np.argsort(-np.abs(self.weights[feature - 1]), kind="stable")[:n]

    def strength(self, feature: int) -> Floats | None:
        """Return how strongly a feature shows in each object: 1 as its weights say, 0 not at all, shape (N,).

        It is the multiple of the weights that fits best what the other features leave of the known cells. None for
        large tables; NaN for a row without known cells.
        """
        values = self.data.values
        if values.size > MOST_CELLS:
            return None
        others = self.objects.copy()
        others[:, feature - 1] = 0.0
        left = self.fitted.scale.apply(values) - others @ self.weights - np.asarray(self.posterior["bias"])
        weights = self.weights[feature - 1]
        weighted = weights * np.asarray(self.posterior["precision"])
        known = ~np.isnan(left)
        size = known @ (weighted * weights)
        with np.errstate(invalid="ignore", divide="ignore"):
            strength = np.where(known, left, 0.0) @ weighted / size
        return np.where(size > 0, strength, np.nan)

    def carriers(self, feature: int, n: int) -> pd.DataFrame:
        """Return the `n` objects that carry a feature most: object, probability, strength (NaN for large tables).

        They are sorted by probability in whole percent, then by strength.
        """
        probability, strength = self.objects[:, feature - 1], self.strength(feature)
        if strength is None:
            strength = np.full(len(probability), np.nan)
        order = np.lexsort((-np.nan_to_num(strength, nan=-np.inf), -np.round(probability, 2)))[:n]
        return pd.DataFrame({"object": order, "probability": probability[order], "strength": strength[order]})

    def group_shares(self, feature: int) -> pd.DataFrame:
        """Return each known group's share of objects with a feature, largest first: group, share, objects."""
        assert self.data.labels is not None
        frame = pd.DataFrame({"group": self.data.labels, "has": self.objects[:, feature - 1]})
        groups = frame[frame["group"] != ""].groupby("group", sort=True)["has"].agg(["mean", "size"])
        groups = groups.sort_values("mean", ascending=False, kind="stable").reset_index()
        return groups.rename(columns={"mean": "share", "size": "objects"})

    def steps(self, row: int, most: int = 6) -> ObjectSteps:
        """Return how the features make up an object; held-out cells are shown, too."""
        parts = reconstruct(self.fitted, self.posterior, int(row))
        return object_steps(parts, self.data.values[row], scale=self.sd, most=most)


def are_in_order(columns: Iterable[object]) -> bool:
    """Return whether the order of columns has a meaning: their names are increasing numbers."""
    try:
        numbers = [float(str(name)) for name in columns]
    except ValueError:
        return False
    return len(numbers) > 1 and all(one < other for one, other in pairwise(numbers))
