"""A map of the topics: those that use the same words lie close together."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from acvb_core.evaluate.distributions import jensen_shannon

#: Places along an axis that differ by less than this share of its length count as equally far out.
_TIE = 1e-6


class TopicMap(NamedTuple):
    """Places of topics on a plane."""

    #: Shape (K, 2); in units of the Jensen-Shannon distance (base 2); the mean is at the origin.
    positions: NDArray[np.float64]
    shown: float  #: share of the squared distances that the plane shows, between 0 and 1
    distances: NDArray[np.float64]  #: shape (K, K); the distances themselves


def topic_map(word_probability: ArrayLike) -> TopicMap:
    """Place topics on a plane by classical scaling of their Jensen-Shannon distances.

    `word_probability`: shape (K, V); distribution of each topic over words.
    """
    distances = jensen_shannon(word_probability)
    positions, shown = classical_scaling(distances)
    return TopicMap(positions, shown, distances)


def classical_scaling(
    distances: NDArray[np.float64], dimensions: int = 2
) -> tuple[NDArray[np.float64], float]:
    """Return points whose Euclidean distances come close to the ones given (Torgerson 1952).

    `distances`: shape (K, K); symmetric, zero on the diagonal.
    `dimensions`: axes beyond those the points need are zero.
    Returns `positions`: shape (K, dimensions); principal axes, the longest first, the mean at the origin. On each axis
      the point farthest out (the first of several) lies on the positive side, so that the same distances give the same
      picture.
    Returns `shown`: sum of the eigenvalues shown over the sum of all positive ones; 1 when all points are in one
      place.
    """
    n = len(distances)
    squared = distances**2
    centred = squared - squared.mean(axis=0) - squared.mean(axis=1)[:, None] + squared.mean()
    values, vectors = np.linalg.eigh(-0.5 * centred)
    values, vectors = values[::-1], vectors[:, ::-1]
    # What rounding leaves of an eigenvalue of zero is no axis.
    values = np.where(values > n * np.finfo(np.float64).eps * max(float(squared.max()), 0.0), values, 0.0)
    used = min(dimensions, n)
    positions = np.zeros((n, dimensions))
    positions[:, :used] = vectors[:, :used] * np.sqrt(values[:used])
    for axis in positions.T:
        reach = np.abs(axis)
        if axis[int((reach >= reach.max() * (1.0 - _TIE)).argmax())] < 0.0:
            axis *= -1.0
    positions += 0.0  # no negative zeros
    total = float(values.sum())
    return positions, float(values[:used].sum()) / total if total > 0.0 else 1.0
