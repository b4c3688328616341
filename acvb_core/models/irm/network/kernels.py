"""Compiled inner loops for networks: one clustering of objects that stand on both sides of the relation.

An object's own links go out (row i) and come in (column i). Taking it out of the counts changes the rows AND the
columns of the clusters that hold it, and its neighbours' responsibilities change while the sweep goes on, so its sums
over links are made when its turn comes. Symbols in formulas: r, c the expected links of the object to and from each
cluster, R, S the observed pairs behind them; n ones and N zeros of block (k, l), Beta prior (a, b).

Directed: with the object, block (k, l) gains r_l and block (l, k) gains c_l for l != k, and block (k, k) gains
r_k + c_k and the object's link to itself. Undirected, pairs counted once: block {k, l} gains r_l, block (k, k) r_k.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray

from acvb_core.core.special import lbeta
from acvb_core.models.irm.kernels import (
    NEGLIGIBLE,
    OPTIONS,
    SMALLEST,
    BlockCounts,
    Floats,
    block_terms,
    log_prior,
    normalise,
)

Indices = NDArray[np.int32]
FourPatterns = tuple[Indices, Indices, Indices, Indices]
#: Rows of the small arrays that hold what an object brings: ones, zeros of its own row, ones, zeros of its column.
OUT_ONES, OUT_ZEROS, IN_ONES, IN_ZEROS = 0, 1, 2, 3
#: Zeros in the place that block (k, k) leaves empty where it comes only once: with one 1, log B = -log(_SPARE). Few
#: zeros anywhere make all the others slower.
_SPARE = 8.0


class NetworkLinks(NamedTuple):
    """The links of a network."""

    #: `pointers`, `indices`: CSR patterns of the ones and the missing entries, by row, then by column.
    pointers: FourPatterns
    indices: FourPatterns
    own: Floats  #: shape (N, 2); an object's link to itself: (1, 0) linked, (0, 1) not linked, (0, 0) missing
    directed: bool


class ObjectLinks(NamedTuple):
    """The links that one object adds to the blocks: `sums` by cluster, shape (4, K), its link to itself, shape (2,)."""

    sums: Floats
    own: Floats
    directed: bool


class Workspace(NamedTuple):
    """Room to work in: two arrays of shape (C, K), (C, 2 K) where directed, and as many numbers flat."""

    x: Floats
    y: Floats
    around: Floats


@nb.njit(**OPTIONS)
def make_workspace(n_choices: int, n_clusters: int, directed: bool) -> Workspace:
    """Return room for so many choices of an object's cluster."""
    width = 2 * n_clusters if directed else n_clusters
    return Workspace(np.empty((n_choices, width)), np.empty((n_choices, width)), np.empty(n_choices * width))


@nb.njit(**OPTIONS)
def sum_object_links(i: int, links: NetworkLinks, values: Floats, total: Floats, out: Floats) -> None:
    """Write what object i brings to the blocks, by cluster of the other object.

    `values`: shape (N, K); responsibilities (or their spreads).
    `total`: shape (K,); their sum over all objects.
    `out`: shape (4, K); ones and zeros of the object's row, ones and zeros of its column (directed only), itself left
      out.
    """
    n_clusters, sides = total.shape[0], 2 if links.directed else 1
    for which in range(2 * sides):
        indptr, indices = links.pointers[which], links.indices[which]
        for m in range(n_clusters):
            out[which, m] = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            if j != i:
                for m in range(n_clusters):
                    out[which, m] += values[j, m]
    for side in range(sides):
        for m in range(n_clusters):
            others = total[m] - values[i, m]
            out[2 * side + 1, m] = max(others - out[2 * side + 1, m] - out[2 * side, m], 0.0)


@nb.njit(**OPTIONS)
def shift_counts(share: float, k: int, item: ObjectLinks, ones: Floats, zeros: Floats) -> None:
    """Put `share` of an object into cluster k (or take it out, where negative): change ones and zeros in place."""
    brought, own, directed = item
    for m in range(ones.shape[0]):
        ones[k, m] += share * brought[OUT_ONES, m]
        zeros[k, m] += share * brought[OUT_ZEROS, m]
        if directed:
            ones[m, k] += share * brought[IN_ONES, m]
            zeros[m, k] += share * brought[IN_ZEROS, m]
        elif m != k:
            ones[m, k] += share * brought[OUT_ONES, m]
            zeros[m, k] += share * brought[OUT_ZEROS, m]
    ones[k, k] += share * own[0]
    zeros[k, k] += share * own[1]


@nb.njit(**OPTIONS)
def refresh_terms(
    changed: NDArray[np.bool_], ones: Floats, zeros: Floats, directed: bool, terms: Floats
) -> None:
    """Bring log B(ones, zeros) of the rows and columns of changed clusters up to date; none is changed afterwards."""
    n_clusters = ones.shape[0]
    for k in range(n_clusters):
        if changed[k]:
            for m in range(n_clusters):
                terms[k, m] = lbeta(max(ones[k, m], SMALLEST), max(zeros[k, m], SMALLEST))
    for k in range(n_clusters):
        if not changed[k]:
            for m in range(n_clusters):
                if changed[m] and directed:
                    terms[k, m] = lbeta(max(ones[k, m], SMALLEST), max(zeros[k, m], SMALLEST))
                elif changed[m]:
                    terms[k, m] = terms[m, k]
    changed[:] = False


@nb.njit(**OPTIONS)
def add_object(
    choices: NDArray[np.int64],
    item: ObjectLinks,
    least: float,
    spare: float,
    ones: Floats,
    zeros: Floats,
    x: Floats,
    y: Floats,
) -> None:
    """Write the counts (or variances) of the blocks of some clusters, `least` at least, with the object put in.

    x, y : shape (C, K) undirected, (C, 2 K) directed: the blocks (k, .), then (., k), of which (k, k) comes only once;
      in its second place stand 1 and `spare`.
    """
    # All choices in one call, and no views of rows: to count who holds an array takes longer than the additions.
    brought, own, directed = item
    n_clusters = ones.shape[0]
    for at in range(choices.shape[0]):
        k = choices[at]
        for m in range(n_clusters):
            x[at, m] = max(ones[k, m], least) + brought[OUT_ONES, m]
            y[at, m] = max(zeros[k, m], least) + brought[OUT_ZEROS, m]
        x[at, k] += own[0]
        y[at, k] += own[1]
        if directed:
            for m in range(n_clusters):
                x[at, n_clusters + m] = max(ones[m, k], least) + brought[IN_ONES, m]
                y[at, n_clusters + m] = max(zeros[m, k], least) + brought[IN_ZEROS, m]
            x[at, k] += brought[IN_ONES, k]
            y[at, k] += brought[IN_ZEROS, k]
            x[at, n_clusters + k] = 1.0
            y[at, n_clusters + k] = spare


@nb.njit(**OPTIONS)
def cluster_terms(
    choices: NDArray[np.int64],
    item: ObjectLinks,
    blocks: BlockCounts,
    terms: Floats,
    room: Workspace,
    out: Floats,
) -> None:
    """Write the log probability of what an object brings, for each of some choices of its cluster.

    `blocks` hold the counts without the object, and `terms` log B of them, shape (K, K).
    """
    ones, zeros, _ = blocks
    x, y, around = room
    n_clusters, width = ones.shape[0], x.shape[1]
    add_object(choices, item, SMALLEST, _SPARE, ones, zeros, x, y)
    block_terms(x.reshape(-1), y.reshape(-1), choices.shape[0] * width, around)
    for at in range(choices.shape[0]):
        k = choices[at]
        total = without = 0.0
        for t in range(at * width, (at + 1) * width):
            total += around[t]
        for m in range(n_clusters):
            without += terms[k, m]
        if item.directed:
            for m in range(n_clusters):
                without += terms[m, k]
            without -= terms[k, k] + math.log(_SPARE)
        out[at] = total - without


@nb.njit(**OPTIONS)
def zeroth_order_network(
    objects: NDArray[np.int64],
    choices: NDArray[np.int64],
    q: Floats,
    links: NetworkLinks,
    blocks: BlockCounts,
    alpha: float,
    update: bool,
    least: float,
) -> float:
    """CVB0 update of some objects of a network, one by one; returns the sum of log C_i.

    `objects`: objects to visit, in this order.
    `choices`: clusters among which an object's share of them is divided anew; all of them in a sweep.
    `least`: an object's choices are those that hold more of it than this; negative for all of them.
    `q`: shape (N, K); responsibilities, changed in place when `update`.
    `alpha`: concentration of the stick-breaking prior.
    """
    ones, zeros, mass = blocks
    directed = links.directed
    n_clusters = ones.shape[0]
    room = make_workspace(choices.shape[0], n_clusters, directed)
    terms = np.empty((n_clusters, n_clusters))
    changed = np.ones(n_clusters, dtype=np.bool_)
    brought = np.empty((4, n_clusters))
    prior, log_weights = np.empty(n_clusters), np.empty(choices.shape[0])
    before = np.empty(n_clusters)
    own_choices = choices.copy()
    log_normaliser = 0.0
    for visit in range(objects.shape[0]):
        i = objects[visit]
        held, n_choices = 0.0, 0
        for k in choices:
            if q[i, k] > least:
                held += q[i, k]
                own_choices[n_choices] = k
                n_choices += 1
        if n_choices == 1 and least >= 0.0:
            continue
        chosen, weights = own_choices[:n_choices], log_weights[:n_choices]
        sum_object_links(i, links, q, mass, brought)
        item = ObjectLinks(brought, links.own[i], directed)
        for k in range(n_clusters):
            before[k] = q[i, k]
            mass[k] = max(mass[k] - before[k], 0.0)
            if before[k] > NEGLIGIBLE:
                shift_counts(-before[k], k, item, ones, zeros)
                changed[k] = True
        refresh_terms(changed, ones, zeros, directed, terms)
        log_prior(mass, alpha, prior)
        cluster_terms(chosen, item, blocks, terms, room, weights)
        for at in range(n_choices):
            weights[at] += prior[chosen[at]]
        log_normaliser += normalise(weights)
        if update:
            for at in range(n_choices):
                q[i, chosen[at]] = held * weights[at]
        for k in range(n_clusters):
            mass[k] += q[i, k]
            if q[i, k] > NEGLIGIBLE:
                shift_counts(q[i, k], k, item, ones, zeros)
                changed[k] = True
    return log_normaliser
