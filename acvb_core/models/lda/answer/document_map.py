"""Documents as points on a plane: those with the same topics lie close together."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: Documents that a map shows at most: each is an element of the page.
MOST_DOCUMENTS = 2_000
#: Positions on an axis that differ by less than this share of its length count as equally far out.
_TIE = 1e-6


class DocumentMap(NamedTuple):
    """Positions of some documents on a plane."""

    documents: NDArray[np.int64]  #: shape (n,); those that are shown (0-based)
    positions: NDArray[np.float64]  #: shape (n, 2); in units of the Hellinger distance, with mean zero
    topics: NDArray[np.int64]  #: shape (n,); the largest topic of each (from 1)
    shown: float  #: share of the squared distances that the plane shows, between 0 and 1


def map_documents(document_share: ArrayLike, lengths: ArrayLike, most: int = MOST_DOCUMENTS) -> DocumentMap:
    """Place documents on a plane by classical scaling of the Hellinger distances of their topic shares.

    These are Euclidean distances of the square roots of shares, so that the axes are the principal ones of these roots.
    On each axis, the first of the points farthest out is positive. Documents without words are left out; of more than
    `most`, evenly spaced ones are shown.

    `document_share`: shape (D, K); rows sum to one. `lengths`: shape (D,); words of each document.
    """
    shares = np.asarray(document_share, dtype=np.float64)
    used = np.flatnonzero(np.asarray(lengths) > 0)
    if len(used) > most:
        used = used[np.linspace(0, len(used) - 1, most).round().astype(np.int64)]
    # Half of the squared distance of the roots is the squared Hellinger distance, which is at most 1.
    roots = np.sqrt(np.maximum(shares[used], 0.0) / 2.0)
    roots -= roots.mean(axis=0) if len(used) else 0.0
    values, vectors = np.linalg.eigh(roots.T @ roots)
    axes = vectors[:, ::-1][:, :2]
    positions = np.zeros((len(used), 2))
    positions[:, : axes.shape[1]] = roots @ axes
    for axis in positions.T:
        reach = np.abs(axis)
        if len(reach) and axis[int((reach >= reach.max() * (1.0 - _TIE)).argmax())] < 0.0:
            axis *= -1.0
    total = float(np.maximum(values, 0.0).sum())
    shown = float(np.maximum(values[::-1][:2], 0.0).sum()) / total if total > 0.0 else 1.0
    return DocumentMap(used, positions + 0.0, shares[used].argmax(axis=1) + 1, shown)
