"""Compiled Gibbs draws of the clusters of all objects of a domain, on whole-number counts."""

from __future__ import annotations

import math
from typing import NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray

from acvb_core.core.special import INLINE, OPTIONS, lbeta, lgamma, log
from acvb_core.data.relation import EQUAL, Relation
from acvb_core.models.irm.kernels import Floats
from acvb_core.models.irm.network import NetworkLinks, list_links

#: Entries of a table at most (256 KB, which stays in a processor's cache), and beyond the largest count at first.
TABLE_LENGTH, _SPARE = 2**15, 65
Counts = NDArray[np.int64]
Labels = NDArray[np.int64]
#: Sums are added up in order: tables are read faster one entry at a time than several at once.
STRICT = {**OPTIONS, "fastmath": False}
#: Signs of entries that are added and taken away; a function is compiled for each plain number that it is given.
_IN, _OUT = np.int64(1), np.int64(-1)


class LogGammas(NamedTuple):
    """The Beta prior (a, b) of all blocks, and log Gamma at each of a, b and a + b plus 0, 1, 2, …"""

    a: float
    b: float
    ones: Floats
    zeros: Floats  #: as long as `both`
    both: Floats


@nb.njit(**OPTIONS)
def tabulate(a: float, b: float, ones: Counts, entries: Counts, tables: Floats) -> LogGammas:
    """Write tables for these blocks, with room for them to grow; larger counts are computed when they occur.

    `tables`: shape (3, `TABLE_LENGTH`); the first entries of its rows are returned.
    """
    most_ones = most_entries = 0
    for k in range(ones.shape[0]):
        for m in range(ones.shape[1]):
            most_ones, most_entries = max(most_ones, ones[k, m]), max(most_entries, entries[k, m])
    n_ones = min(most_ones + most_ones // 4 + _SPARE, tables.shape[1])
    n_entries = min(most_entries + most_entries // 4 + _SPARE, tables.shape[1])
    of_ones, of_zeros, of_both = tables[0, :n_ones], tables[1, :n_entries], tables[2, :n_entries]
    _fill(a, of_ones)
    _fill(b, of_zeros)
    _fill(a + b, of_both)
    return LogGammas(a, b, of_ones, of_zeros, of_both)


@nb.njit(**OPTIONS)
def _fill(start: float, table: Floats) -> None:
    for n in range(table.shape[0]):
        table[n] = lgamma(start + n)


@nb.njit(**INLINE)
def log_beta(gammas: LogGammas, ones: int, zeros: int) -> float:
    """Return log B(a + ones, b + zeros)."""
    if ones < gammas.ones.shape[0] and ones + zeros < gammas.both.shape[0]:
        # Unsigned: signed indices would be tested for negative values.
        n, m = np.uint64(ones), np.uint64(zeros)
        return gammas.ones[n] + gammas.zeros[m] - gammas.both[n + m]
    return lbeta(gammas.a + ones, gammas.b + zeros)


class Side(NamedTuple):
    """The objects that are drawn, as rows of their links, and the objects across."""

    links: NetworkLinks
    sizes: Counts  #: shape (L,); objects in each cluster across; empty for a network
    others: Labels  #: cluster of each object across; empty for a network
    is_network: bool

    @classmethod
    def of(cls, relation: Relation, others: Labels | None, *, directed: bool = False) -> Side:
        """Return the rows of a relation; `others` are the clusters of its columns, None for a network."""
        if others is None:
            nothing = np.zeros(0, np.int64)
            return cls(list_links(relation, directed), nothing, nothing, True)
        patterns = (relation.ones, relation.missing) * 2  # a relation has no second direction
        links = NetworkLinks(
            tuple(pattern.indptr for pattern in patterns),
            tuple(pattern.indices for pattern in patterns),
            np.zeros((0, 2)),
            False,
            (EQUAL, EQUAL),
            np.empty((2, 0)),
        )
        return cls(links, np.bincount(others), others, False)


class BlockTable(NamedTuple):
    """The counts of all blocks, shape (H, R, L), and sums over them that many objects share.

    Rows are clusters of the objects that are drawn. The first empty row is the cluster that may be born next. A
    directed network has a second half, H = 2, the transpose of the first: rows are read faster than columns.
    """

    ones: Counts
    zeros: Counts
    terms: Floats  #: log B of each block
    unlinked: Floats  #: log B of each block once an object without links to its columns has joined its row
    base: Floats  #: shape (R,); sum of `unlinked` - `terms` of each row, without block (k, k) of a network


@nb.njit(**OPTIONS)
def draw_some(
    objects: Labels,
    uniforms: Floats,
    labels: Labels,
    side: Side,
    ones: Floats,
    entries: Floats,
    prior: tuple[float, float],
    alpha: float,
    tables: Floats,
) -> tuple[int, Floats, Floats, int]:
    """Draw the clusters of objects in turn, until all are drawn or there is no room for another cluster.

    `labels` have no gaps, and have none afterwards; they are changed in place. `ones`, `entries`: shape (K, L), the
    counts of their blocks. `tables`: shape (3, `TABLE_LENGTH`), to write to.
    Returns how many objects were drawn, the new counts, and how many objects changed company.
    """
    # Arrays are taken out of tuples before the loop: Numba counts references whenever it takes one out.
    width = ones.shape[0]
    room = width + max(width // 2, 8)
    sizes, log_prior, blocks, gammas = _lay_out(labels, side, ones, entries, prior, room, tables)
    (pointers, indices, own_links, directed, _, _), sizes_across, labels_across, is_network = side
    if is_network:
        sizes_across, labels_across = sizes, labels
    n_across = blocks.ones.shape[2]
    ones_at, missing_at, ones_back, missing_back = pointers
    linked, missing, linked_back, missing_back_of = indices
    brought = np.zeros((4 if directed else 2, n_across), np.int64)
    special = np.zeros((2, n_across + 1), np.int64)
    log_weights = np.empty(room)
    log_alpha = log(alpha)
    log_prior[width:] = log_alpha
    own = (0, 0)
    drawn = moved = 0
    while drawn < objects.shape[0] and width < room:
        i = objects[drawn]
        old = labels[i]
        sizes[old] -= 1
        alone = sizes[old] == 0
        log_prior[old] = log_alpha if alone else log(float(sizes[old]))
        # An object that is alone may stay alone in its own cluster.
        n_choices = width if alone else width + 1
        skip = -1
        if is_network:
            n_across, skip = width + 1, i
            own = int(own_links[i, 0]), int(own_links[i, 1])
        _count_entries(i, skip, ones_at, linked, labels_across, n_across, brought[0])
        _count_entries(i, skip, missing_at, missing, labels_across, n_across, brought[1])
        if directed:
            _count_entries(i, skip, ones_back, linked_back, labels_across, n_across, brought[2])
            _count_entries(i, skip, missing_back, missing_back_of, labels_across, n_across, brought[3])
        _find_special(old if is_network else -1, n_across, sizes_across, brought, special)
        _weigh(old, n_choices, (n_across, is_network), brought, special, own, blocks, gammas, log_weights)
        new = choose_cluster(uniforms[drawn], n_choices, log_prior, log_weights)
        sizes[new] += 1
        log_prior[new] = log(float(sizes[new]))
        drawn += 1
        if new != old:
            moved += 1
            labels[i] = new
            width = _move(
                old,
                new,
                width,
                brought,
                own,
                (labels, sizes, log_prior),
                sizes_across,
                is_network,
                blocks,
                gammas,
            )
    n_across = width if is_network else n_across
    counted = blocks.ones[0, :width, :n_across] * 1.0
    return drawn, counted, counted + blocks.zeros[0, :width, :n_across], moved


@nb.njit(**OPTIONS)
def _lay_out(
    labels: Labels,
    side: Side,
    ones: Floats,
    entries: Floats,
    prior: tuple[float, float],
    room: int,
    tables: Floats,
) -> tuple[Counts, Floats, BlockTable, LogGammas]:
    """Return the sizes of the clusters, the logarithms of these, and the tables of blocks, with empty rows for more."""
    sizes, log_prior = np.zeros(room, np.int64), np.zeros(room)
    for label in labels:
        sizes[label] += 1
    for k in range(ones.shape[0]):
        log_prior[k] = log(float(sizes[k]))
    halves, n_across = 2 if side.links.directed else 1, room if side.is_network else ones.shape[1]
    shape = (halves, room, n_across)
    counted, zeros = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    for k in range(ones.shape[0]):
        for m in range(ones.shape[1]):
            counted[0, k, m] = round(ones[k, m])
            zeros[0, k, m] = round(entries[k, m]) - counted[0, k, m]
            if halves == 2:
                counted[1, m, k], zeros[1, m, k] = counted[0, k, m], zeros[0, k, m]
    gammas = tabulate(prior[0], prior[1], counted[0], counted[0] + zeros[0], tables)
    blocks = BlockTable(counted, zeros, np.empty(shape), np.empty(shape), np.zeros(room))
    sizes_across = sizes if side.is_network else side.sizes
    for k in range(room):
        _refresh(k, n_across, sizes_across, False, blocks, gammas)
        if side.is_network:
            for half in range(halves):
                blocks.base[k] -= blocks.unlinked[half, k, k] - blocks.terms[half, k, k]
    return sizes, log_prior, blocks, gammas


@nb.njit(**OPTIONS)
def _count_entries(
    i: int,
    skip: int,
    first: NDArray[np.int32],
    neighbours: NDArray[np.int32],
    labels: Labels,
    n_across: int,
    out: Counts,
) -> None:
    """Count the stored entries of row i by cluster across, that of object `skip` left out."""
    for m in range(n_across):
        out[m] = 0
    for p in range(first[i], first[i + 1]):
        j = neighbours[p]
        if j != skip:
            out[labels[j]] += 1


@nb.njit(**OPTIONS)
def _find_special(left: int, n_across: int, sizes: Counts, brought: Counts, special: Counts) -> None:
    """Turn unknown entries into zeros, and list the clusters with links or unknown entries, `left` excepted.

    `special`: shape (H, L + 1); the clusters of each half, and in its last column how many there are.
    """
    for half in range(brought.shape[0] // 2):
        n = 0
        for m in range(n_across):
            linked, unknown = brought[2 * half, m], brought[2 * half + 1, m]
            brought[2 * half + 1, m] = sizes[m] - unknown - linked
            special[half, n] = m
            n += linked + unknown > 0 and m != left
        special[half, special.shape[1] - 1] = n


@nb.njit(**STRICT)
def _weigh(
    old: int,
    n_choices: int,
    across: tuple[int, bool],
    brought: Counts,
    special: Counts,
    own: tuple[int, int],
    blocks: BlockTable,
    gammas: LogGammas,
    out: Floats,
) -> None:
    """Write the log probability of an object's entries for each choice of its cluster; it is in `old` so far."""
    ones, zeros, terms, unlinked, base = blocks
    n_across, is_network = across
    halves, last = ones.shape[0], special.shape[1] - 1
    for k in range(n_choices):
        gain = 0.0 if k == old else base[k]
        for half in range(halves):
            if k == old:
                for m in range(n_across):
                    if m != k or not is_network:
                        one, zero = (
                            ones[half, k, m] - brought[2 * half, m],
                            zeros[half, k, m] - brought[2 * half + 1, m],
                        )
                        gain += terms[half, k, m] - log_beta(gammas, one, zero)
            else:
                for at in range(special[half, last]):
                    m = special[half, at]
                    if m != k or not is_network:
                        one, zero = (
                            ones[half, k, m] + brought[2 * half, m],
                            zeros[half, k, m] + brought[2 * half + 1, m],
                        )
                        gain += log_beta(gammas, one, zero) - unlinked[half, k, m]
        if is_network:
            sign = -1 if k == old else 1
            both_ones, both_zeros = ones[0, k, k] + sign * own[0], zeros[0, k, k] + sign * own[1]
            for half in range(halves):
                both_ones += sign * brought[2 * half, k]
                both_zeros += sign * brought[2 * half + 1, k]
                if k != old:
                    # Block (k, old) without the object.
                    turned = halves - 1 - half
                    one, zero = (
                        ones[half, k, old] - brought[2 * turned, k],
                        zeros[half, k, old] - brought[2 * turned + 1, k],
                    )
                    gain += log_beta(gammas, one + brought[2 * half, old], zero + brought[2 * half + 1, old])
                    gain -= log_beta(gammas, one, zero) + unlinked[half, k, old] - terms[half, k, old]
            gain += sign * (log_beta(gammas, both_ones, both_zeros) - terms[0, k, k])
        out[k] = gain


@nb.njit(**OPTIONS)
def choose_cluster(uniform: float, n_choices: int, log_prior: Floats, log_weights: Floats) -> int:
    """Return the choice that a uniform random number draws."""
    top = -np.inf
    for k in range(n_choices):
        log_weights[k] += log_prior[k]
        top = max(top, log_weights[k])
    total = 0.0
    for k in range(n_choices):
        log_weights[k] = math.exp(log_weights[k] - top)
        total += log_weights[k]
    left, new = uniform * total, 0
    while new < n_choices - 1 and left > log_weights[new]:
        left -= log_weights[new]
        new += 1
    return new


@nb.njit(**OPTIONS)
def _move(
    old: int,
    new: int,
    width: int,
    brought: Counts,
    own: tuple[int, int],
    members: tuple[Labels, Counts, Floats],
    sizes_across: Counts,
    is_network: bool,
    blocks: BlockTable,
    gammas: LogGammas,
) -> int:
    """Move an object's entries from cluster to cluster; return the number of clusters, those without objects last."""
    labels, sizes, log_prior = members
    n_across = width if is_network else sizes_across.shape[0]
    _shift(_OUT, old, n_across, is_network, brought, own, blocks)
    _shift(_IN, new, n_across, is_network, brought, own, blocks)
    born = new == width
    width += born
    n_rows = min(width + 1, sizes.shape[0])
    n_across = n_rows if is_network else n_across
    _refresh(old, n_across, sizes_across, is_network, blocks, gammas)
    _refresh(new, n_across, sizes_across, is_network, blocks, gammas)
    if born and width < sizes.shape[0]:
        _refresh(width, n_across, sizes_across, is_network, blocks, gammas)
    if sizes[old] == 0:
        width -= 1
        if old != width:
            for i in range(labels.shape[0]):
                if labels[i] == width:
                    labels[i] = old
            base = blocks.base
            sizes[old], sizes[width] = sizes[width], sizes[old]
            log_prior[old], log_prior[width] = log_prior[width], log_prior[old]
            base[old], base[width] = base[width], base[old]
            swap_clusters(old, width, is_network, blocks.ones)
            swap_clusters(old, width, is_network, blocks.zeros)
            swap_clusters(old, width, is_network, blocks.terms)
            swap_clusters(old, width, is_network, blocks.unlinked)
    return width


@nb.njit(**OPTIONS)
def _shift(
    sign: int,
    k: int,
    n_across: int,
    is_network: bool,
    brought: Counts,
    own: tuple[int, int],
    blocks: BlockTable,
) -> None:
    """Add an object's entries to the counts of the blocks of cluster k, or take them away, by the sign."""
    ones, zeros, _, _, _ = blocks
    halves = ones.shape[0]
    for half in range(halves):
        turned = halves - 1 - half
        for m in range(n_across):
            one, zero = sign * brought[2 * half, m], sign * brought[2 * half + 1, m]
            ones[half, k, m] += one
            zeros[half, k, m] += zero
            if is_network and (m != k or halves == 2):
                ones[turned, m, k] += one
                zeros[turned, m, k] += zero
        if is_network:
            ones[half, k, k] += sign * own[0]
            zeros[half, k, k] += sign * own[1]


@nb.njit(**STRICT)
def _refresh(
    k: int, n_across: int, sizes: Counts, is_network: bool, blocks: BlockTable, gammas: LogGammas
) -> None:
    """Bring what is known of the blocks of cluster k up to date; a network's in its rows and columns."""
    ones, zeros, terms, unlinked, base = blocks
    halves = ones.shape[0]
    base[k] = 0.0
    for half in range(halves):
        for m in range(n_across):
            terms[half, k, m] = log_beta(gammas, ones[half, k, m], zeros[half, k, m])
            unlinked[half, k, m] = log_beta(gammas, ones[half, k, m], zeros[half, k, m] + sizes[m])
            if m != k or not is_network:
                base[k] += unlinked[half, k, m] - terms[half, k, m]
    if is_network:
        for half in range(halves):
            for m in range(n_across):
                if m != k:
                    before = unlinked[half, m, k] - terms[half, m, k]
                    terms[half, m, k] = terms[halves - 1 - half, k, m]
                    unlinked[half, m, k] = log_beta(gammas, ones[half, m, k], zeros[half, m, k] + sizes[k])
                    base[m] += unlinked[half, m, k] - terms[half, m, k] - before


@nb.njit(**OPTIONS)
def swap_clusters(one: int, other: int, is_network: bool, table: Counts | Floats) -> None:
    """Swap two rows of a table of blocks, and the columns too if they are the same clusters."""
    for half in range(table.shape[0]):
        for m in range(table.shape[2]):
            table[half, one, m], table[half, other, m] = table[half, other, m], table[half, one, m]
        for k in range(table.shape[1] if is_network else 0):
            table[half, k, one], table[half, k, other] = table[half, k, other], table[half, k, one]
