"""Pairs of the features of two runs whose activations correlate most, and how far features spread over runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from acvb_core.core.clusters import Order, order_by_size, pair_clusters
from acvb_core.core.errors import DataError
from acvb_core.core.protocols import Posterior
from acvb_core.data.table import Table

Floats = NDArray[np.float64]
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
    return FeatureMatch(
        pairs.rows,
        pairs.columns,
        correlations[pairs.rows, pairs.columns],
        pairs.lone_rows,
        pairs.lone_columns,
        correlations,
    )


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
    in `runs`. `low` and `high` are the least and the largest value over the runs that have the feature; NaN where no
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
        share, weight = np.full(len(weights), np.nan), np.full(weights.shape, np.nan)
        share[one] = np.where(flipped, 1.0 - other[:, partner].mean(axis=0), other[:, partner].mean(axis=0))
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
    """Return the least and the largest value over runs, NaN where it is not known."""
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
