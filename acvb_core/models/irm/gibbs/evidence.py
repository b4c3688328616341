"""Evidence of blocks whose counts are whole numbers, as those of samples are: log Gamma comes from tables."""

from __future__ import annotations

from typing import Any, NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray

from acvb_core.core.special import lbeta, lgamma
from acvb_core.models.irm.kernels import OPTIONS, Floats

Counts = NDArray[np.int64]

#: Entries of a table at most: half a megabyte. Larger blocks are computed one by one.
_MOST = 1 << 16


class BlockPrior(NamedTuple):
    """The Beta prior (a, b) of all blocks, and tables of log Gamma(a + n) - log Gamma(a), n = 0, 1, …"""

    a: float
    b: float
    ones: Floats
    zeros: Floats  #: the same for b
    entries: Floats  #: the same for a + b


class BlockSums(NamedTuple):
    """Ones and zeros of every block, shape (K, L), and the cluster sizes, shape (K,); kernels keep them up to date."""

    ones: Counts
    zeros: Counts
    sizes: Counts


def tabulate_prior(a: float, b: float, most: float) -> BlockPrior:
    """Return a prior with tables up to so many entries of a block, and a few more than that."""
    length = int(min(1.5 * most + 64, _MOST))
    return BlockPrior(a, b, *(_log_rising(value, length) for value in (a, b, a + b)))


@nb.njit(**OPTIONS)
def _log_rising(value: float, length: int) -> Floats:
    out = np.empty(length)
    base = lgamma(value)
    for n in range(length):
        out[n] = lgamma(value + n) - base
    return out


@nb.njit(**OPTIONS)
def block_evidence(ones: int, zeros: int, prior: BlockPrior) -> float:
    """Return log B(a + n, b + N) - log B(a, b)."""
    entries = ones + zeros
    if entries < prior.entries.shape[0]:
        return prior.ones[ones] + prior.zeros[zeros] - prior.entries[entries]
    return lbeta(prior.a + ones, prior.b + zeros) - lbeta(prior.a, prior.b)


@nb.njit(**OPTIONS)
def row_evidence(
    ones: Counts, zeros: Counts, more_ones: Counts, more_zeros: Counts, prior: BlockPrior
) -> float:
    """Return the evidence of a row of blocks, each with more ones and zeros."""
    total = 0.0
    for m in range(ones.shape[0]):
        total += block_evidence(ones[m] + more_ones[m], zeros[m] + more_zeros[m], prior)
    return total


def extend_counts(counts: Any, shape: tuple[int, ...]) -> Counts:
    """Return counts as whole numbers, with zeros up to a shape."""
    out = np.zeros(shape, dtype=np.int64)
    out[tuple(slice(n) for n in counts.shape)] = np.rint(counts)
    return out
