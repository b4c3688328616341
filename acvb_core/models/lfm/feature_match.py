"""Which feature of one run is which of another: pairs whose activations go together most."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment

from acvb_core.core.errors import DataError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class FeatureMatch:
    """The features of two runs in pairs, in the order of the first run's features; all numbers are 0-based.

    Attributes
    ----------
    one, other : ndarray of int64, shape (n_pairs,)
        Features of the first run and their partners in the other.
    correlation : ndarray, shape (n_pairs,)
        Of the activations of each pair, -1 to 1. Below 0: one is had where the other is not, which says the same.
    unmatched_one, unmatched_other : ndarray of int64
        Features without a partner: one of these is empty.
    correlations : ndarray, shape (K, L)
        Of all features of the first run with all of the other.
    """

    one: Integers
    other: Integers
    correlation: Floats
    unmatched_one: Integers
    unmatched_other: Integers
    correlations: Floats

    @property
    def alike(self) -> Floats:
        """How alike the two of each pair are, 0 to 1: the size of the correlation."""
        return np.abs(self.correlation)

    def table(self) -> pd.DataFrame:
        """Return the pairs as a table: feature and other_feature numbered from 1, correlation; least alike first."""
        found = pd.DataFrame(
            {"feature": self.one + 1, "other_feature": self.other + 1, "correlation": self.correlation}
        )
        return found.iloc[np.argsort(self.alike, kind="stable")].reset_index(drop=True)


def match_features(objects: ArrayLike, other_objects: ArrayLike) -> FeatureMatch:
    """Pair the features of two runs so that the correlations within pairs are largest in all, whatever their signs.

    Parameters
    ----------
    objects, other_objects : arrays, shapes (N, K) and (N, L)
        Probability that each object has each feature, of the same objects. K and L may differ: min(K, L) pairs are
        made. A feature that all objects have alike goes together with none: its correlations are 0.

    Raises
    ------
    DataError
        The runs are not of as many objects.
    """
    one, other = np.asarray(objects, dtype=np.float64), np.asarray(other_objects, dtype=np.float64)
    if one.ndim != 2 or other.ndim != 2 or len(one) != len(other):
        raise DataError(
            f"activations of the shapes {one.shape} and {other.shape} are not of the same objects",
            remedy="Give those of two runs on one table.",
        )
    correlations = _unit(one).T @ _unit(other)
    first, second = (
        np.asarray(side, dtype=np.int64) for side in linear_sum_assignment(-np.abs(correlations))
    )
    return FeatureMatch(
        first,
        second,
        correlations[first, second],
        np.setdiff1d(np.arange(one.shape[1]), first),
        np.setdiff1d(np.arange(other.shape[1]), second),
        correlations,
    )


def _unit(activations: Floats) -> Floats:
    """Return the columns with mean 0 and length 1; 0 where a column is constant."""
    centred = activations - activations.mean(axis=0) if len(activations) else activations
    length = np.sqrt((centred**2).sum(axis=0))
    # Rounding leaves a constant column a tiny length.
    varies = length > 1e-9 * np.sqrt(max(len(activations), 1))
    found: Floats = np.where(varies, centred / np.where(varies, length, 1.0), 0.0)
    return found
