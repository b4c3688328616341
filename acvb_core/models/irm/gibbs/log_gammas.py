"""Tables of log Gamma: a sampler's counts are whole numbers, and its priors stay as they are for a whole sweep."""

from __future__ import annotations

from typing import NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray

from acvb_core.core.special import INLINE, lbeta, lgamma
from acvb_core.models.irm.kernels import OPTIONS, Floats

#: Entries of a table at most (256 KB, which a processor keeps near). Larger counts are computed.
_MOST = 2**15
#: Entries of a table at least.
_SPARE = 65
Counts = NDArray[np.int64]


class LogGammas(NamedTuple):
    """The Beta prior (a, b) of all blocks, and log Gamma at each of a, b and a + b plus 0, 1, 2, …

    The tables are of one length, so that one look at the entries of a block tells whether all of its counts are there.
    """

    a: float
    b: float
    ones: Floats
    zeros: Floats
    both: Floats


@nb.njit(**OPTIONS)
def tabulate(a: float, b: float, ones: Counts, zeros: Counts) -> LogGammas:
    """Return tables for blocks of up to about twice as many observed entries as there are in any of these."""
    most = 0
    for k in range(ones.shape[0]):
        for m in range(ones.shape[1]):
            most = max(most, ones[k, m] + zeros[k, m])
    tables = np.empty((3, min(2 * most + _SPARE, _MOST)))
    _fill(a, tables[0])
    _fill(b, tables[1])
    _fill(a + b, tables[2])
    return LogGammas(a, b, tables[0], tables[1], tables[2])


@nb.njit(**OPTIONS)
def _fill(start: float, table: Floats) -> None:
    for n in range(table.shape[0]):
        table[n] = lgamma(start + n)


@nb.njit(**INLINE)
def log_beta(gammas: LogGammas, ones: int, zeros: int) -> float:
    """Return log B(a + ones, b + zeros)."""
    if ones + zeros < gammas.both.shape[0]:
        # Unsigned, or the compiler would look for indices from the end.
        n, m = np.uint64(ones), np.uint64(zeros)
        return gammas.ones[n] + gammas.zeros[m] - gammas.both[n + m]
    return lbeta(gammas.a + ones, gammas.b + zeros)
