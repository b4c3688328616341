"""Compiled Gibbs draws: the Chinese restaurant process on whole-number counts."""

from __future__ import annotations

from typing import NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray

from acvb_core.core.special import INLINE, OPTIONS, lbeta, lgamma, log
from acvb_core.data.relation import Relation
from acvb_core.models.irm.kernels import Floats, normalise
from acvb_core.models.irm.network import NetworkLinks

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


#: Sums are added up in their order: tables are read faster one by one than several at once.
STRICT = {**OPTIONS, "fastmath": False}
#: Signs of what is put in and taken out: of a Python number in its place, each would be compiled for itself.
_IN, _OUT = np.int64(1), np.int64(-1)
Labels = NDArray[np.int64]


class Side(NamedTuple):
    """The objects that are drawn, as rows of their links, and the objects across."""

    links: NetworkLinks
    sizes: Counts  #: shape (L,); objects of each cluster across; of a network, whose clusters these are, not used
    others: Labels  #: cluster of each object across; likewise
    is_network: bool

    @classmethod
    def of(cls, relation: Relation, others: Labels | None, *, directed: bool = False) -> Side:
        """Return the rows of a relation; `others` are the clusters of its columns, None for a network."""
        ones, missing = relation.ones, relation.missing
        turned = relation.transposed if directed else relation
        patterns = (ones, missing, turned.ones, turned.missing)
        own = np.zeros((0, 2)) if others is not None else relation.self_links
        links = NetworkLinks(
            tuple(pattern.indptr for pattern in patterns),
            tuple(pattern.indices for pattern in patterns),
            own,
            directed,
        )
        across = np.zeros(0, np.int64) if others is None else others
        return cls(links, np.bincount(across), across, others is None)


class Members(NamedTuple):
    """The label of every object, shape (N,), the place of every label, and the size of the cluster at every place.

    Labels and places not in use come behind the others; `names` are the labels by place.
    """

    labels: Labels
    places: Labels
    names: Labels
    sizes: Counts


class BlockTable(NamedTuple):
    """Ones and zeros of every block, shape (H, R, L), and log B of them with the prior.

    A directed network has a second half, H = 2, which is the first one turned: rows are read faster than columns.
    """

    ones: Counts
    zeros: Counts
    terms: Floats


@nb.njit(**OPTIONS)
def fill_terms(blocks: BlockTable, gammas: LogGammas) -> None:
    """Compute log B of all blocks."""
    ones, zeros, terms = blocks
    for half in range(ones.shape[0]):
        for k in range(ones.shape[1]):
            for m in range(ones.shape[2]):
                terms[half, k, m] = log_beta(gammas, ones[half, k, m], zeros[half, k, m])


@nb.njit(**OPTIONS)
def draw_some(
    objects: Labels,
    at: int,
    uniforms: Floats,
    members: Members,
    side: Side,
    blocks: BlockTable,
    width: int,
    gammas: LogGammas,
    alpha: float,
) -> tuple[int, int, int]:
    """Draw objects until the run is through or there is no room for another cluster.

    `width`: the number of clusters in use, and the place of the one that may be born.
    Returns the position of the next object, the number of clusters in use, and how many objects changed company.
    """
    labels, places, names, sizes = members
    own_links, is_network = side.links.own, side.is_network
    halves, room, n_other = blocks.ones.shape
    brought = np.zeros((2 * halves, n_other), np.int64)
    own = np.zeros(2, np.int64)
    log_weights = np.empty(room)
    moved = 0
    for i in objects:
        if width == room:
            break
        old = places[labels[i]]
        sizes[old] -= 1
        alone = sizes[old] == 0
        # One that is alone may stay so in its own cluster.
        n_choices = width if alone else width + 1
        if is_network:
            n_other = n_choices
            own[0], own[1] = int(own_links[i, 0]), int(own_links[i, 1])
        _sum_links(i, n_other, members, side, brought)
        _put(_OUT, old, brought, own, n_other, is_network, blocks, gammas)
        weights = log_weights[:n_choices]
        _weigh(brought, own, n_other, is_network, blocks, gammas, weights)
        for k in range(n_choices):
            weights[k] += log(float(sizes[k]) if sizes[k] > 0 else alpha)
        normalise(weights)
        left = uniforms[at]
        new = 0
        while new < n_choices - 1 and left > weights[new]:
            left -= weights[new]
            new += 1
        moved += new != old
        labels[i] = names[new]
        sizes[new] += 1
        _put(_IN, new, brought, own, n_other, is_network, blocks, gammas)
        if new == width:
            width += 1
        elif alone and new != old:
            width -= 1
            _swap_places(old, width, members)
            _move_blocks(width, old, width + 1 if is_network else n_other, is_network, blocks)
        at += 1
    return at, width, moved


@nb.njit(**OPTIONS)
def _swap_places(one: int, other: int, members: Members) -> None:
    """Swap the places of two clusters."""
    _, places, names, sizes = members
    names[one], names[other] = names[other], names[one]
    sizes[one], sizes[other] = sizes[other], sizes[one]
    places[names[one]], places[names[other]] = one, other


@nb.njit(**OPTIONS)
def _move_blocks(old: int, new: int, n_other: int, is_network: bool, blocks: BlockTable) -> None:
    """Swap the blocks of the cluster at place `old` with those of an empty one at `new`."""
    for half in range(blocks.ones.shape[0]):
        ones, zeros, terms = blocks.ones[half], blocks.zeros[half], blocks.terms[half]
        for m in range(n_other):
            ones[old, m], ones[new, m] = ones[new, m], ones[old, m]
            zeros[old, m], zeros[new, m] = zeros[new, m], zeros[old, m]
            terms[old, m], terms[new, m] = terms[new, m], terms[old, m]
        if is_network:
            for k in range(n_other):
                ones[k, old], ones[k, new] = ones[k, new], ones[k, old]
                zeros[k, old], zeros[k, new] = zeros[k, new], zeros[k, old]
                terms[k, old], terms[k, new] = terms[k, new], terms[k, old]


@nb.njit(**OPTIONS)
def _sum_links(
    i: int,
    n_other: int,
    members: Members,
    side: Side,
    brought: Counts,
) -> None:
    """Write what object i brings to the blocks, by cluster across, itself left out."""
    labels, places, _, sizes = members
    (pointers, indices, _, _), across, others, is_network = side
    for which in range(brought.shape[0]):
        first, neighbours, out = pointers[which], indices[which], brought[which]
        for m in range(n_other):
            out[m] = 0
        for p in range(first[i], first[i + 1]):
            j = neighbours[p]
            if not is_network:
                out[others[j]] += 1
            elif j != i:
                out[places[labels[j]]] += 1
    for half in range(brought.shape[0] // 2):
        ones, zeros = brought[2 * half], brought[2 * half + 1]
        for m in range(n_other):
            zeros[m] = (sizes[m] if is_network else across[m]) - zeros[m] - ones[m]


@nb.njit(**OPTIONS)
def _put(
    sign: int,
    k: int,
    brought: Counts,
    own: Counts,
    n_other: int,
    is_network: bool,
    blocks: BlockTable,
    gammas: LogGammas,
) -> None:
    """Put what an object brings into the blocks of cluster k, or take it out, by the sign."""
    halves = blocks.ones.shape[0]
    for half in range(halves):
        ones, zeros, terms = blocks.ones[half], blocks.zeros[half], blocks.terms[half]
        for m in range(n_other):
            ones[k, m] += sign * brought[2 * half, m]
            zeros[k, m] += sign * brought[2 * half + 1, m]
        if is_network:
            # Block (k, k) has all that the object brings to it, in both directions.
            for other in range(halves):
                if other != half:
                    ones[k, k] += sign * brought[2 * other, k]
                    zeros[k, k] += sign * brought[2 * other + 1, k]
            ones[k, k] += sign * own[0]
            zeros[k, k] += sign * own[1]
        for m in range(n_other):
            terms[k, m] = log_beta(gammas, ones[k, m], zeros[k, m])
    if is_network:
        for half in range(halves):
            ones, zeros, terms = blocks.ones[half], blocks.zeros[half], blocks.terms[half]
            turned = halves - 1 - half
            for m in range(n_other):
                ones[m, k] = blocks.ones[turned, k, m]
                zeros[m, k] = blocks.zeros[turned, k, m]
                terms[m, k] = blocks.terms[turned, k, m]


@nb.njit(**STRICT)
def _weigh(
    brought: Counts,
    own: Counts,
    n_other: int,
    is_network: bool,
    blocks: BlockTable,
    gammas: LogGammas,
    out: Floats,
) -> None:
    """Write the log probability of what an object brings, for each choice of its cluster."""
    # All choices in one call: what a call costs exceeds the work for one of them.
    halves = blocks.ones.shape[0]
    for k in range(out.shape[0]):
        gain = 0.0
        for half in range(halves):
            ones, zeros, terms = blocks.ones[half, k], blocks.zeros[half, k], blocks.terms[half, k]
            more_ones, more_zeros = brought[2 * half], brought[2 * half + 1]
            for m in range(n_other):
                gain += log_beta(gammas, ones[m] + more_ones[m], zeros[m] + more_zeros[m]) - terms[m]
        if is_network:
            # Block (k, k) comes only once, with all that the object brings to it.
            one, zero = blocks.ones[0, k, k], blocks.zeros[0, k, k]
            both_ones, both_zeros = one + own[0], zero + own[1]
            for half in range(halves):
                more_one, more_zero = brought[2 * half, k], brought[2 * half + 1, k]
                gain -= log_beta(gammas, one + more_one, zero + more_zero) - blocks.terms[0, k, k]
                both_ones += more_one
                both_zeros += more_zero
            gain += log_beta(gammas, both_ones, both_zeros) - blocks.terms[0, k, k]
        out[k] = gain
