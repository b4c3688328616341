"""Tables of log Gamma: a sampler's counts are whole numbers, and its priors stay as they are for a whole sweep."""

from __future__ import annotations

from typing import NamedTuple

import numba as nb
import numpy as np

from acvb_core.core.special import INLINE, lbeta, lgamma
from acvb_core.models.irm.kernels import OPTIONS, Floats

#: Entries of a table at most (256 KB, which a processor keeps near). Larger counts are computed.
_MOST = 2**15


class LogGammas(NamedTuple):
    """The Beta prior (a, b) of all blocks, and log Gamma at each of a, b and a + b plus 0, 1, 2, …"""

    a: float
    b: float
    ones: Floats
    zeros: Floats
    both: Floats


def tabulate(a: float, b: float, most_ones: int, most_entries: int) -> LogGammas:
    """Return tables for blocks of up to so many ones and observed entries."""
    ones = np.empty(min(most_ones + 1, _MOST))
    zeros, both = np.empty((2, min(most_entries + 1, _MOST)))
    for start, table in ((a, ones), (b, zeros), (a + b, both)):
        _fill(start, table)
    return LogGammas(a, b, ones, zeros, both)


@nb.njit(**OPTIONS)
def _fill(start: float, table: Floats) -> None:
    for n in range(table.shape[0]):
        table[n] = lgamma(start + n)


@nb.njit(**INLINE)
def log_beta(gammas: LogGammas, ones: int, zeros: int) -> float:
    """Return log B(a + ones, b + zeros)."""
    if ones < gammas.ones.shape[0] and ones + zeros < gammas.both.shape[0]:
        # Unsigned, or the compiler would look for indices from the end.
        n, m = np.uint64(ones), np.uint64(zeros)
        return gammas.ones[n] + gammas.zeros[m] - gammas.both[n + m]
    return lbeta(gammas.a + ones, gammas.b + zeros)
