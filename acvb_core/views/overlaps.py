"""Runs with the same curves: the averaged form of a method repeats the method itself until its mean begins."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from acvb_core.views.run_curve import RunCurve

#: Columns in which runs are compared; the same in so many sweeps is no accident.
_COLUMNS, _FEWEST = ("change", "lower_bound"), 3


class Overlap(NamedTuple):
    """Two runs whose first sweeps are identical; the second is drawn over the first."""

    under: RunCurve
    over: RunCurve
    sweeps: int  #: how many
    whole: bool  #: these are all sweeps of both

    def describe(self) -> str:
        """Return the overlap as a sentence."""
        word = "window" if self.under.streams else "sweep"
        which = "all" if self.whole else "the first"
        return (
            f"{self.under.label} and {self.over.label} are identical in {which} {self.sweeps:,} {word}s: "
            f"{self.under.label} is the wide pale line below."
        )


def find_overlaps(runs: Sequence[RunCurve]) -> list[Overlap]:
    """Return the overlaps of runs in the order in which they are drawn, each run below with the first over it."""
    overlaps: dict[str, Overlap] = {}
    for under, over in combinations(runs, 2):
        if under.id in overlaps:
            continue
        sweeps = _count_same(under, over)
        if sweeps >= _FEWEST:
            whole = sweeps == len(under.history) == len(over.history)
            overlaps[under.id] = Overlap(under, over, sweeps, whole)
    return list(overlaps.values())


def _count_same(one: RunCurve, other: RunCurve) -> int:
    """Return how many of the first sweeps are the same, wherever both have a value."""
    same = None
    for name in _COLUMNS:
        a, b = one.history.column(name), other.history.column(name)
        length = min(len(a), len(b))
        differs = np.flatnonzero(
            np.isfinite(a[:length]) & np.isfinite(b[:length]) & (a[:length] != b[:length])
        )
        first = int(differs[0]) if len(differs) else length
        if name == "change" and not (a[:first] > 0).sum() >= _FEWEST:
            return 0
        same = first if same is None else min(same, first)
    return same or 0
