"""One step of a running mean, in pieces that the threads of a run share."""

from __future__ import annotations

from collections.abc import Mapping

import numba as nb
import numpy as np

from acvb_core.core.parallel import cut_rows, map_rows, map_together
from acvb_core.core.protocols import Array

_IN_CACHE = 1 << 16  # numbers of a small piece
_AT_ONCE = 1 << 20  # numbers of a mean that a call takes: less than a millisecond


def update_mean(old: Mapping[str, Array], new: Mapping[str, Array], samples: int) -> dict[str, Array]:
    """Return the mean of `samples` samples, given that of all but the last and the last, on the run's threads."""
    mean = {name: np.empty(new[name].shape, np.result_type(old[name], new[name], np.float32)) for name in new}

    def add_some(some: tuple[str, slice]) -> None:
        name, rows = some
        part = mean[name][rows]
        np.subtract(new[name][rows], old[name][rows], out=part)
        part /= samples
        part += old[name][rows]

    map_rows(add_some, mean, _IN_CACHE)
    return mean


def blend(mean: Array, new: Array, weights: Array, share: float) -> float:
    """Move `mean` (n, K) by `share` of the way to `new`, in place, on as many threads as there are.

    Returns the sum of the rows' L1 change, each row weighted by its `weights` (n,).
    """

    def blend_some(rows: slice) -> float:
        return float(blend_rows(mean[rows], new[rows], weights[rows], share))

    return sum(map_together(blend_some, cut_rows(mean, _AT_ONCE)), 0.0)


@nb.njit(nogil=True, cache=True, fastmath=True)
def blend_rows(mean: Array, new: Array, weights: Array, share: float) -> float:
    """Do what `blend` does, at once."""
    part = mean.dtype.type(share)
    total = 0.0
    for e in range(mean.shape[0]):
        own = mean[e]
        other = new[e]
        moved = mean.dtype.type(0)
        for k in range(own.shape[0]):
            step = (other[k] - own[k]) * part
            own[k] += step
            moved += abs(step)
        total += weights[e] * moved
    return total
