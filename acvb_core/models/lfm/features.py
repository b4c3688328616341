"""The features of a run in the columns' units, objects as sums of features, and agreement between runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from acvb_core.core.clusters import Order, order_by_size, pair_clusters
from acvb_core.core.errors import DataError, ParameterError
from acvb_core.core.protocols import Posterior
from acvb_core.data.table import Table
from acvb_core.models.lfm.kernels import Floats

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
        weights = np.asarray(self.posterior["weights"], np.float64)
        return np.where(np.abs(weights) < NEGLIGIBLE / np.sqrt(self.posterior["precision"]), 0.0, weights)

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
        """Return a row a column: column, value (NaN if missing), baseline, feature_1 …, total, residual.

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
    n, places = table.n_rows, np.flatnonzero(table.rows == row) if isinstance(row, str) else np.empty(0)
    if len(places):
        return int(places[0])
    if isinstance(row, str):
        raise ParameterError(
            f"there is no object {row!r} in {table.name}; its first is called {str(table.rows[0])!r}."
        )
    if isinstance(row, bool) or not isinstance(row, int | np.integer):
        raise ParameterError(f"an object is given by its position or its name, not by {row!r}.")
    if not 0 <= row < n:
        raise ParameterError(f"there is no object {row}; {table.name} has {n:,}, counted from 0 to {n - 1}.")
    return int(row)


@dataclass(frozen=True, eq=False)
class Step:
    """Contribution of one feature to an object, or of several together."""

    features: tuple[int, ...]  #: numbers, from 1
    probability: float  #: of the object to have the feature; NaN for several
    added: Floats  #: shape (D,); probability times weight, in the table's units
    label: str = ""  #: what the feature is called, as it is

    @property
    def name(self) -> str:
        """Return the label, "feature 3" or "5 others"."""
        n = len(self.features)
        return self.label or (f"feature {self.features[0]}" if n == 1 else f"{n:,} others")


@dataclass(frozen=True, eq=False)
class ObjectSteps:
    """An object of a table and the steps that lead to its reconstruction, all in the table's units."""

    value: Floats  #: shape (D,); NaN if missing
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
        """Value - reconstruction, NaN if the value is missing."""
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

    `value`: shape (D,); the object's cells in the table's units, NaN if missing.
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


Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class FeatureMatch:
    """The features of two runs in pairs, in the order of the first run's features; all numbers are 0-based."""

    #: `one`, `other`: shape (n_pairs,); features of the first run and their partners in the other.
    one: Integers
    other: Integers
    #: Shape (n_pairs,); of the activations of each pair, -1 to 1. Below 0: objects have one feature or the other,
    #: which says the same.
    correlation: Floats
    #: `unmatched_one`, `unmatched_other`: features without a partner: one of these is empty.
    unmatched_one: Integers
    unmatched_other: Integers
    correlations: Floats  #: shape (K, L); of all features of the first run with all of the other

    @property
    def alike(self) -> Floats:
        """Similarity of each pair, 0 to 1: the size of the correlation."""
        return np.abs(self.correlation)

    def table(self) -> pd.DataFrame:
        """Return the pairs as a table: feature and other_feature numbered from 1, correlation; least alike first."""
        pairs = {"feature": self.one + 1, "other_feature": self.other + 1, "correlation": self.correlation}
        return pd.DataFrame(pairs).iloc[np.argsort(self.alike, kind="stable")].reset_index(drop=True)


#: Correlation of features that count as the same.
ALIKE = 0.8


def match_features(objects: ArrayLike, other_objects: ArrayLike) -> FeatureMatch:
    """Pair the features of two runs so that the correlations within pairs are largest in all, whatever their signs.

    `objects`, `other_objects`: shapes (N, K) and (N, L); probability that each object has each feature, of the same
      objects. K and L may differ: min(K, L) pairs are made. A feature that all objects have alike correlates with no
      other.
    Raises DataError: the runs have different numbers of objects.
    """
    one, other = np.asarray(objects, dtype=np.float64), np.asarray(other_objects, dtype=np.float64)
    if one.ndim != 2 or other.ndim != 2 or len(one) != len(other):
        raise DataError(
            f"activations of the shapes {one.shape} and {other.shape} are not of the same objects",
            remedy="Give those of two runs on one table.",
        )
    correlations = correlate_features(one, other)
    pairs = pair_clusters(np.abs(correlations))
    correlation, lone = correlations[pairs.rows, pairs.columns], (pairs.lone_rows, pairs.lone_columns)
    return FeatureMatch(pairs.rows, pairs.columns, correlation, *lone, correlations)


def count_alike_features(posteriors: Sequence[Posterior]) -> tuple[int, int]:
    """Return how many features of the first run come back in all the others, and how many it has."""
    first, *others = (np.asarray(posterior["objects"]) for posterior in posteriors)
    back = np.ones(first.shape[1], dtype=bool)
    for other in others:
        match = match_features(first, other)
        paired = np.zeros(len(back), dtype=bool)
        paired[match.one] = match.alike >= ALIKE
        back &= paired
    return int(back.sum()), len(back)


def measure_spread(posteriors: Sequence[Posterior], table: Table) -> dict[str, pd.DataFrame]:
    """Return how far the features of the first run depend on the run, as the frames `features` and `weights`.

    features: feature (from 1, largest first), share, low, high, found, runs, in_samples.
    weights: feature, column, weight (in the column's units), low, high, sd.

    A feature is found in a run that has it with a correlation of `ALIKE` or more, of either sign: a flipped feature has
    its weights with the other sign, and the other share. `found` counts these runs, the first included, of the number
    in `runs`. `low` and `high` are the least and the largest value over the runs that have the feature; NaN if no
    other run has it. Of the first run alone are `in_samples`, the share of a sampler's kept samples that have the
    feature, and `sd`, the standard deviation of a weight given this run's features; NaN for methods without them.

    `posteriors`: of runs on one table, as their methods gave them; one or more.
    `table`: the fitted one.
    """
    first, order = posteriors[0], _order_by_size(posteriors[0])
    objects, weights = _read(first)
    in_samples, sd = np.full(len(weights), np.nan), np.full(weights.shape, np.nan)
    if "in_samples" in first.arrays:
        in_samples = first["in_samples"][order]
    if "weight_variance" in first.arrays:
        sd = table.scale.undo_weights(np.sqrt(first["weight_variance"][order]))
    shares, added, found = [objects.mean(axis=0)], [weights], np.ones(len(weights), np.int64)
    for posterior in posteriors[1:]:
        other, other_weights = _read(posterior)
        match = match_features(objects, other)
        same = match.alike >= ALIKE
        one, partner, flipped = match.one[same], match.other[same], match.correlation[same] < 0.0
        share, weight, part = np.full(len(weights), np.nan), np.full(weights.shape, np.nan), other[:, partner]
        share[one] = np.where(flipped, 1.0 - part.mean(axis=0), part.mean(axis=0))
        weight[one] = np.where(flipped, -1.0, 1.0)[:, None] * other_weights[partner]
        shares, added = [*shares, share], [*added, weight]
        found[one] += 1
    numbers, own = np.arange(1, len(weights) + 1), table.scale.undo_weights(np.array(added))
    low, high = _range_over_runs(np.array(shares), found > 1)
    features = {"feature": numbers, "share": shares[0], "low": low, "high": high, "found": found}
    low, high = _range_over_runs(own, np.broadcast_to(found[:, None] > 1, weights.shape))
    of_columns = {
        "feature": np.repeat(numbers, table.n_columns),
        "column": np.tile(table.columns, len(numbers)),
        "weight": own[0].ravel(),
        "low": low.ravel(),
        "high": high.ravel(),
        "sd": sd.ravel(),
    }
    features |= {"runs": np.full(len(numbers), len(posteriors)), "in_samples": in_samples}
    return {"features": pd.DataFrame(features), "weights": pd.DataFrame(of_columns)}


def _read(posterior: Posterior) -> tuple[Floats, Floats]:
    """Return the activations (N, K) and the weights (K, D) of a run, the largest feature first."""
    order = _order_by_size(posterior)
    return posterior["objects"][:, order].astype(np.float64), posterior["weights"][order].astype(np.float64)


def _order_by_size(posterior: Posterior) -> Order:
    return order_by_size(posterior.masses()["features"])


def _range_over_runs(values: Floats, known: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Return the least and the largest value over runs, NaN if it is not known."""
    low, high = np.nanmin(values, axis=0), np.nanmax(values, axis=0)
    return np.where(known, low, np.nan), np.where(known, high, np.nan)


def correlate_features(one: Floats, other: Floats) -> Floats:
    """Return the correlations of all activations (N, K) with all others (N, L); 0 for a constant feature."""
    units = []
    for activations in (one, other):
        centred = activations - activations.mean(axis=0) if len(activations) else activations
        length = np.sqrt((centred**2).sum(axis=0))
        # Rounding leaves a constant column a tiny length.
        varies = length > 1e-9 * np.sqrt(max(len(activations), 1))
        units.append(np.where(varies, centred / np.where(varies, length, 1.0), 0.0))
    return np.asarray(units[0].T @ units[1])
