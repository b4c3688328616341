"""Places for the numbers of the clusters among dots: near their own, over as few dots and names as there can be."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_STEP = 5.0  # pixels between two places that are tried
_REACH = 34.0  # pixels beyond the dots of a cluster where its number may still stand
_MOST_TRIED = 1_500  # places for one number
# The cost of a place, in pixels of distance.
_DOT, _NAME, _NUMBER, _FOREIGN = 60.0, 25.0, 1_000.0, 40.0


def number_places(
    dots: Floats,
    clusters: NDArray[np.int64],
    sizes: Sequence[tuple[float, float]],
    radius: float,
    names: Floats,
) -> Floats:
    """Return the middle of each cluster's number, in pixels, shape (K, 2); large clusters have the first choice.

    `dots` are the places of the objects, shape (n, 2), y upwards, with their `clusters` and `radius`; `sizes` are
    the width and height of each number; `names` are texts in the way, shape (m, 4): middle, half width, half height.
    """
    places = np.zeros((len(sizes), 2))
    members = np.bincount(clusters, minlength=len(sizes))
    occupied = np.zeros((0, 4))
    discs = np.column_stack([dots, np.full((len(dots), 2), radius)])
    for k in np.argsort(-members, kind="stable").tolist():
        half = np.array(sizes[k]) / 2
        own = dots[clusters == k]
        tried = _candidate_places(own)
        around = _within(dots, tried)
        cost = _DOT * _count_overlaps(tried, half, discs[around]) + _NAME * _count_overlaps(
            tried, half, names
        )
        cost += _NUMBER * _count_overlaps(tried, half, occupied)
        near, foreign = _nearest(tried, own), _nearest(tried, dots[around & (clusters != k)])
        cost += near + _FOREIGN * (foreign < near)
        cost += 0.05 * np.hypot(*(tried - own.mean(axis=0)).T)
        places[k] = tried[int(cost.argmin())]
        occupied = np.vstack([occupied, [*places[k], *half]])
    return places


def _candidate_places(own: Floats) -> Floats:
    """Return the places on a grid around a cluster's dots, shape (n, 2)."""
    low, high = own.min(axis=0) - _REACH, own.max(axis=0) + _REACH
    step = max(_STEP, float(np.sqrt(np.prod(high - low) / _MOST_TRIED)))
    x, y = (np.arange(a, b + step, step) for a, b in zip(low, high, strict=True))
    return np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)


def _within(dots: Floats, places: Floats) -> NDArray[np.bool_]:
    """Return which dots are so near to some places that they matter, shape (n,)."""
    low, high = places.min(axis=0) - _REACH, places.max(axis=0) + _REACH
    return np.asarray(((dots >= low) & (dots <= high)).all(axis=1))


def _count_overlaps(places: Floats, half: Floats, boxes: Floats) -> Floats:
    """Return how many boxes a number at each place would touch, shape (n,)."""
    separate = np.abs(places[:, None] - boxes[None, :, :2]) >= half + boxes[None, :, 2:]
    return np.asarray((~separate.any(axis=2)).sum(axis=1), dtype=np.float64)


def _nearest(places: Floats, dots: Floats) -> Floats:
    """Return the distance of each place to the nearest dot, shape (n,); infinite where there is none."""
    if not len(dots):
        return np.full(len(places), np.inf)
    squared = (places**2).sum(axis=1)[:, None] + (dots**2).sum(axis=1) - 2.0 * places @ dots.T
    return np.asarray(np.sqrt(np.maximum(squared.min(axis=1), 0.0)))
