"""Count the entries of a relation in bins: pixels of a picture, or blocks of clusters."""

from __future__ import annotations

from typing import Any

import numba as nb
import numpy as np
from numpy.typing import NDArray

Bins = NDArray[np.int32]
Counts = NDArray[np.int64]

#: Rows go to the kernel in pieces of about this many entries, so that a call returns within some 30 ms.
_ENTRIES_PER_CALL = 4_000_000


@nb.njit(nogil=True, cache=True)
def _count(
    indptr: Any, indices: Any, row_bin: Bins, column_bin: Bins, first: int, stop: int, out: Counts
) -> None:
    for row in range(first, stop):
        y = row_bin[row]
        if y < 0:
            continue
        for e in range(indptr[row], indptr[row + 1]):
            x = column_bin[indices[e]]
            if x >= 0:
                out[y, x] += 1


def count_in_bins(
    pattern: Any, row_bin: NDArray[Any], column_bin: NDArray[Any], shape: tuple[int, int]
) -> Counts:
    """Return how many entries of a pattern fall into each of `shape` bins; a negative bin leaves its objects out."""
    out = np.zeros(shape, dtype=np.int64)
    rows = np.ascontiguousarray(row_bin, dtype=np.int32)
    columns = np.ascontiguousarray(column_bin, dtype=np.int32)
    indptr = pattern.indptr
    first = 0
    while first < len(rows):
        stop = int(np.searchsorted(indptr, int(indptr[first]) + _ENTRIES_PER_CALL, side="right")) - 1
        stop = min(max(stop, first + 1), len(rows))
        _count(indptr, pattern.indices, rows, columns, first, stop, out)
        first = stop
    return out


def bins_of(
    position: NDArray[Any], low: int, high: int, n_bins: int
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the bin of each object when positions low … high - 1 are shared out evenly, and the bins' sizes.

    Objects outside the window get -1.
    """
    where = np.asarray(position, dtype=np.int64) - low
    length = high - low
    bins = where * n_bins // length
    bins[(where < 0) | (where >= length)] = -1
    sizes = np.bincount(np.arange(length) * n_bins // length, minlength=n_bins)
    return bins.astype(np.int32), sizes.astype(np.int64)
