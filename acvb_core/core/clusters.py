"""Order clusters by size and drop the tiny ones: one permutation for everything that has a cluster axis."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from acvb_core.core.protocols import Array, Posterior

Order = NDArray[np.int64]


def order_by_size(mass: Array, shrink: float = 0.0) -> Order:
    """Return the indices of the clusters worth keeping, largest first.

    Parameters
    ----------
    mass : ndarray, shape (K,)
        Expected number of objects of each cluster.
    shrink : float
        A cluster whose share of the total mass is below this is left out (IRM14 §7.1).

    Returns
    -------
    ndarray of int64, shape (<= K,)
        Stable: clusters of equal size keep their order. Empty only where there are no clusters.
    """
    mass = np.asarray(mass, dtype=np.float64)
    order = np.argsort(-mass, kind="stable").astype(np.int64)
    keep = mass[order] >= shrink * mass.sum()
    keep[:1] = True
    return order[keep]


def is_identity(order: Order, n_clusters: int) -> bool:
    """True when `order` neither moves nor drops any of `n_clusters` clusters."""
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
    """L1 distance between two sets of responsibilities, or of the counts they add up to, relative to their size.

    For responsibilities, whose rows sum to one, this is the mean over all objects of the L1 distance; that of
    counts is at most as large. `old` must already be in the order of `new`. A pair of different widths counts
    as a change of 2, the most two distributions can differ by. Where there is nothing, nothing changes.
    """
    total = 0.0
    size = 0.0
    for name, array in new.items():
        mass = float(np.abs(array).sum(dtype=np.float64))
        size += mass
        same = old[name].shape == array.shape
        total += float(np.abs(array - old[name]).sum(dtype=np.float64)) if same else 2.0 * mass
    return total / size if size else 0.0
