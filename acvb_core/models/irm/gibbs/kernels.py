"""Compiled draws of cluster assignments: the Chinese restaurant process on whole-number counts."""

from __future__ import annotations

from typing import NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray

from acvb_core.core.special import log
from acvb_core.data.relation import Relation
from acvb_core.models.irm.gibbs.log_gammas import LogGammas, log_beta
from acvb_core.models.irm.kernels import OPTIONS, Floats, normalise
from acvb_core.models.irm.network.kernels import IN_ONES, IN_ZEROS, OUT_ONES, OUT_ZEROS, NetworkLinks

Labels = NDArray[np.int64]
Counts = NDArray[np.int64]


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
    """The cluster of every object, shape (N,), and the clusters' sizes: of the side that is drawn, and of that across.

    Of a network the last two are the same arrays as the first two.
    """

    labels: Labels
    sizes: Counts
    others: Labels
    other_sizes: Counts


class BlockTable(NamedTuple):
    """Ones and zeros of every block, shape (R, L), and log B of them with the prior."""

    ones: Counts
    zeros: Counts
    terms: Floats


@nb.njit(**OPTIONS)
def draw_some(
    objects: Labels,
    at: int,
    uniforms: Floats,
    members: Members,
    side: Side,
    blocks: BlockTable,
    places: Labels,
    width: int,
    gammas: LogGammas,
    alpha: float,
) -> tuple[int, int, int]:
    """Draw objects until the run is through or there is no room for another cluster.

    `places`: the numbers of the clusters in use, in the order in which they are offered, then those not in use.
    Returns the position of the next object, the number of clusters in use, and how many objects changed company.
    """
    labels, sizes, _, _ = members
    room, n_other = blocks.ones.shape
    brought = np.zeros((4, n_other), np.int64)
    own = np.zeros(2, np.int64)
    log_weights = np.empty(room)
    across = places if side.is_network else np.arange(n_other)
    for k in range(room):
        for m in range(n_other):
            blocks.terms[k, m] = log_beta(gammas, blocks.ones[k, m], blocks.zeros[k, m])
    moved = 0
    for i in objects:
        if width == room:
            break
        old, place = labels[i], width
        sizes[old] -= 1
        alone = sizes[old] == 0
        if alone:
            place = _retire(old, places, width, side.is_network)
            width -= 1
        if side.is_network:
            # With the cluster that may be born.
            across = places[: width + 1]
            own[0], own[1] = int(side.links.own[i, 0]), int(side.links.own[i, 1])
        _sum_links(i, members, across, side, brought)
        _put(-1, old, brought, own, across, side, blocks, gammas)
        weights = log_weights[: width + 1]
        _weigh(places[: width + 1], brought, own, across, side, blocks, gammas, weights)
        for t in range(width + 1):
            weights[t] += log(float(sizes[places[t]]) if t < width else alpha)
        normalise(weights)
        left = uniforms[at]
        t = 0
        while t < width and left > weights[t]:
            left -= weights[t]
            t += 1
        new = places[t]
        if (t == width) != alone or (not alone and new != old):
            moved += 1
        if t == width:
            if alone and side.is_network:  # its own cluster again
                for later in range(width, place, -1):
                    places[later] = places[later - 1]
                places[place] = new
            width += 1
        labels[i] = new
        sizes[new] += 1
        _put(1, new, brought, own, across, side, blocks, gammas)
        at += 1
    return at, width, moved


@nb.njit(**OPTIONS)
def _retire(k: int, places: Labels, width: int, keep_order: bool) -> int:
    """Put a cluster behind the others in use; return where it was. Without `keep_order` the last takes its place."""
    place = 0
    while places[place] != k:
        place += 1
    if keep_order:
        for later in range(place, width - 1):
            places[later] = places[later + 1]
    else:
        places[place] = places[width - 1]
    places[width - 1] = k
    return place


@nb.njit(**OPTIONS)
def _sum_links(i: int, members: Members, across: Labels, side: Side, brought: Counts) -> None:
    """Write what object i brings to the blocks, by cluster across, itself left out."""
    _, _, others, other_sizes = members
    for direction in range(2 if side.links.directed else 1):
        ones, zeros = brought[2 * direction], brought[2 * direction + 1]
        for m in across:
            ones[m] = 0
            zeros[m] = other_sizes[m]
        for which in range(2):
            pointers = side.links.pointers[2 * direction + which]
            indices = side.links.indices[2 * direction + which]
            for p in range(pointers[i], pointers[i + 1]):
                j = indices[p]
                if j != i or not side.is_network:
                    zeros[others[j]] -= 1
                    if which == 0:
                        ones[others[j]] += 1


@nb.njit(**OPTIONS)
def _put(
    sign: int,
    k: int,
    brought: Counts,
    own: Counts,
    across: Labels,
    side: Side,
    blocks: BlockTable,
    gammas: LogGammas,
) -> None:
    """Put what an object brings into the blocks of cluster k (sign 1), or take it out (-1)."""
    ones, zeros, terms = blocks
    for m in across:
        ones[k, m] += sign * brought[OUT_ONES, m]
        zeros[k, m] += sign * brought[OUT_ZEROS, m]
    if side.is_network:
        if side.links.directed:
            for m in across:
                ones[m, k] += sign * brought[IN_ONES, m]
                zeros[m, k] += sign * brought[IN_ZEROS, m]
        ones[k, k] += sign * own[0]
        zeros[k, k] += sign * own[1]
    for m in across:
        terms[k, m] = log_beta(gammas, ones[k, m], zeros[k, m])
    if side.is_network:
        for m in across:
            if side.links.directed:
                terms[m, k] = log_beta(gammas, ones[m, k], zeros[m, k])
            else:
                ones[m, k], zeros[m, k], terms[m, k] = ones[k, m], zeros[k, m], terms[k, m]


@nb.njit(**OPTIONS)
def _weigh(
    choices: Labels,
    brought: Counts,
    own: Counts,
    across: Labels,
    side: Side,
    blocks: BlockTable,
    gammas: LogGammas,
    out: Floats,
) -> None:
    """Write the log probability of what an object brings, for each choice of its cluster."""
    # All choices in one call: what a call costs exceeds the work for one of them.
    ones, zeros, terms = blocks
    out_ones, out_zeros = brought[OUT_ONES], brought[OUT_ZEROS]
    in_ones, in_zeros = brought[IN_ONES], brought[IN_ZEROS]
    is_network, directed = side.is_network, side.links.directed
    for t in range(choices.shape[0]):
        k = choices[t]
        gain = 0.0
        for m in across:
            gain += log_beta(gammas, ones[k, m] + out_ones[m], zeros[k, m] + out_zeros[m]) - terms[k, m]
        if is_network:
            # Block (k, k) comes only once, with all that the object brings to it.
            one, zero = ones[k, k] + out_ones[k], zeros[k, k] + out_zeros[k]
            gain -= log_beta(gammas, one, zero)
            if directed:
                for m in across:
                    gain += log_beta(gammas, ones[m, k] + in_ones[m], zeros[m, k] + in_zeros[m]) - terms[m, k]
                gain -= log_beta(gammas, ones[k, k] + in_ones[k], zeros[k, k] + in_zeros[k]) - terms[k, k]
                one += in_ones[k]
                zero += in_zeros[k]
            gain += log_beta(gammas, one + own[0], zero + own[1])
        out[t] = gain
