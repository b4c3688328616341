"""Objects at rest: those that hardly moved when they were last updated are passed over in most sweeps.

After some sweeps most objects stay where they are, and an update that changes nothing costs as much as any. Nor do the
others move to just any cluster. Every fourth sweep updates all objects in all clusters. Only such a sweep can end the
burn-in of an average or a run, so a fixed point remains what it was: a state that no update changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numba as nb
import numpy as np
from numpy.typing import NDArray

from acvb_core.models.irm.kernels import OPTIONS, Floats

#: An object is at rest if its responsibilities changed by less than this (L1) in its last update.
AT_REST = 1e-4
#: Once moves are over, objects in a sweep that is not whole stay within the clusters that hold more of them than this.
PLAUSIBLE = 1e-6
#: Sweeps in a row that pass over objects at rest.
_IN_A_ROW = 3

Objects = NDArray[np.int64]


@dataclass(frozen=True)
class Rest:
    """Facts about the last updates of all objects."""

    moved: Mapping[str, Floats]  #: shape (N,); L1 change of each object's responsibilities, by domain
    pseudo_loo: float  #: of the last sweep that updated all objects (nats)
    sweeps: int = 0  #: sweeps since then
    change: float | None = None  #: mean L1 change over all objects in the last sweep

    @property
    def is_whole(self) -> bool:
        """Return whether the last sweep updated all objects."""
        return self.sweeps == 0


def find_restless(rest: Rest | None, limit: float) -> dict[str, Objects] | None:
    """Return the objects of each domain that the next sweep updates; None for all."""
    if rest is None or limit <= 0.0 or rest.sweeps >= _IN_A_ROW:
        return None
    return {domain: np.flatnonzero(moved >= limit) for domain, moved in rest.moved.items()}


def follow_moves(
    old: Mapping[str, Floats],
    new: Mapping[str, Floats],
    visits: Mapping[str, Objects],
    before: Rest | None,
    pseudo_loo: float,
) -> Rest:
    """Return the facts after a sweep from `old` to `new`; `before` is None where it updated all objects."""
    moved, total = {}, 0.0
    for domain, q in new.items():
        moved[domain] = np.empty(len(q)) if before is None else before.moved[domain].copy()
        total += _measure_moves(old[domain], q, visits[domain], moved[domain])
    change = total / sum(map(len, new.values()))
    if before is None:
        return Rest(moved, pseudo_loo, 0, change)
    return Rest(moved, before.pseudo_loo, before.sweeps + 1, change)


@nb.njit(**OPTIONS)
def _measure_moves(old: Floats, new: Floats, objects: Objects, out: Floats) -> float:
    """Write how far each object has moved; return the sum."""
    every = 0.0
    for i in objects:
        total = 0.0
        for k in range(new.shape[1]):
            total += abs(new[i, k] - old[i, k])
        out[i] = total
        every += total
    return every
