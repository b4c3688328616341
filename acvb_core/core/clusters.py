"""Order clusters by size, drop tiny ones, and pair those of two runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from acvb_core.core.parallel import map_rows
from acvb_core.core.protocols import Array, Posterior

Order = NDArray[np.int64]

#: Numbers whose changes a thread adds up at a time: about a millisecond.
_AT_ONCE = 1 << 18


def order_by_size(mass: Array, shrink: float = 0.0) -> Order:
    """Return the indices of the clusters that are not tiny, largest first, as int64, shape (<= K,).

    `mass`: shape (K,); expected number of objects of each cluster. Clusters of equal size keep their order.
    `shrink`: a cluster whose share of the total mass is below this is left out (IRM14 §7.1), unless it is the largest.
    """
    mass = np.asarray(mass, dtype=np.float64)
    order = np.argsort(-mass, kind="stable").astype(np.int64)
    keep = mass[order] >= shrink * mass.sum()
    keep[:1] = True
    return order[keep]


def is_identity(order: Order, n_clusters: int) -> bool:
    """Return whether `order` neither moves nor drops any of `n_clusters` clusters."""
    return len(order) == n_clusters and bool((order == np.arange(n_clusters)).all())


def take(array: Array, axes: tuple[str | None, ...], orders: Mapping[str, Order]) -> Array:
    """Apply each domain's order along the axes of `array` that belong to it."""
    for axis, domain in enumerate(axes):
        if domain is not None and domain in orders:
            array = np.take(array, orders[domain], axis=axis)
    return np.ascontiguousarray(array)


def renormalise(responsibilities: Array) -> Array:
    """Return rows that sum to one again after clusters were dropped; a row left empty becomes uniform."""
    total = responsibilities.sum(axis=1, keepdims=True)
    n_clusters = responsibilities.shape[1]
    return np.divide(
        responsibilities, total, out=np.full_like(responsibilities, 1.0 / n_clusters), where=total > 0
    )


def rearrange(posterior: Posterior, orders: Mapping[str, Order]) -> Posterior:
    """Re-order and drop clusters in every array of a posterior; rows of responsibilities sum to one again."""
    changed = {}
    for name, array in posterior.arrays.items():
        moved = take(array, posterior.axes[name], orders)
        if posterior.normalised and name in posterior.averaged and moved.shape != array.shape:
            moved = renormalise(moved)
        changed[name] = moved
    return posterior.with_arrays(changed)


def mean_l1_change(new: Mapping[str, Array], old: Mapping[str, Array]) -> float:
    """Return the L1 distance of two sets of responsibilities, or of their counts, relative to their size.

    For responsibilities, whose rows sum to one, this is the mean over all objects of the L1 distance; that of
    counts is at most as large. `old` must already be in the order of `new`. A pair of different widths counts
    as a change of 2, the largest difference of two distributions. Empty arrays do not change.
    """

    def measure(some: tuple[str, slice]) -> tuple[float, float]:
        name, rows = some
        array, before = new[name][rows], old[name]
        mass = float(np.abs(array).sum(dtype=np.float64))
        if before.shape != new[name].shape:
            return mass, 2.0 * mass
        return mass, float(np.abs(array - before[rows]).sum(dtype=np.float64))

    sums = map_rows(measure, new, _AT_ONCE)
    size, total = (sum(column) for column in zip(*sums, strict=True)) if sums else (0.0, 0.0)
    return total / size if size else 0.0


class Pairing(NamedTuple):
    """Rows and columns of a matrix in pairs; all numbers are 0-based."""

    #: `rows`, `columns`: shape (n_pairs,); the two of each pair, rows in order.
    rows: Order
    columns: Order
    #: `lone_rows`, `lone_columns`: rows and columns without a partner: one of these is empty.
    lone_rows: Order
    lone_columns: Order


def pair_clusters(similarity: Array) -> Pairing:
    """Return the pairs of rows and columns with the largest sum of similarities, shape (K, L), min(K, L) of them."""
    from scipy.optimize import linear_sum_assignment  # slow to import, and only means of samples need it

    rows, columns = (side.astype(np.int64) for side in linear_sum_assignment(similarity, maximize=True))
    lone = (
        np.setdiff1d(np.arange(n), side) for n, side in zip(similarity.shape, (rows, columns), strict=True)
    )
    return Pairing(rows, columns, *lone)


def place_columns(similarity: Array, alike: Array) -> tuple[Order, int]:
    """Return each column's row in the best pairing, and the number of places.

    `similarity`: shape (K, L).
    `alike`: shape (K, L); pairs that may share a place. Columns without such a partner get places of their own after
      the rows.
    """
    n_rows, n_columns = similarity.shape
    pairs = pair_clusters(similarity)
    near = alike[pairs.rows, pairs.columns]
    place = np.full(n_columns, -1, dtype=np.int64)
    place[pairs.columns[near]] = pairs.rows[near]
    new = place < 0
    place[new] = n_rows + np.arange(new.sum())
    return place, n_rows + int(new.sum())


def match_clusters(mean: Array, sample: Array) -> tuple[Array, Array]:
    """Return `mean` (N, K) and `sample` (N, K') over one set of clusters, the sample's matched by overlap.

    Its clusters without a partner come after the mean's.
    """
    overlap = mean.T @ sample
    place, width = place_columns(overlap, overlap > 0)
    wide, matched = np.zeros((2, len(mean), width))
    wide[:, : mean.shape[1]] = mean
    matched[:, place] = sample
    return wide, matched
