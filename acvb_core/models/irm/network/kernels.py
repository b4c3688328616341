"""Compiled inner loops for networks: one clustering of objects that stand on both sides of the relation.

An object's own links go out (row i) and come in (column i). Taking it out of the counts changes the rows AND the
columns of the clusters that hold it, and its neighbours' responsibilities change while the sweep goes on, so its sums
over links are made when its turn comes. Symbols in formulas: r, c the expected links of the object to and from each
cluster, R, S the observed pairs behind them; n ones and N zeros of block (k, l), Beta prior (a, b).

Directed: with the object, block (k, l) gains r_l and block (l, k) gains c_l for l != k, and block (k, k) gains
r_k + c_k and the object's link to itself. Undirected, pairs counted once: block {k, l} gains r_l, block (k, k) r_k.
"""

from __future__ import annotations

import numba as nb
import numpy as np
from numpy.typing import NDArray

from acvb_core.core.special import lbeta
from acvb_core.models.irm.kernels import NEGLIGIBLE, OPTIONS, SMALLEST, Floats, log_prior, normalise, total_of

Indices = NDArray[np.int32]
#: Rows of the small arrays that hold what an object brings: ones, zeros of its own row, ones, zeros of its column.
OUT_ONES, OUT_ZEROS, IN_ONES, IN_ZEROS = 0, 1, 2, 3


@nb.njit(**OPTIONS)
def gather(i: int, indptr: Indices, indices: Indices, values: Floats, out: Floats) -> None:
    """Write the sum of `values` over the stored entries of row i, the diagonal left out."""
    for m in range(out.shape[0]):
        out[m] = 0.0
    for p in range(indptr[i], indptr[i + 1]):
        j = indices[p]
        if j != i:
            for m in range(out.shape[0]):
                out[m] += values[j, m]


@nb.njit(**OPTIONS)
def bring(
    i: int,
    pointers: tuple[Indices, Indices, Indices, Indices],
    indices: tuple[Indices, Indices, Indices, Indices],
    values: Floats,
    total: Floats,
    directed: bool,
    out: Floats,
) -> None:
    """Write what object i brings to the blocks, by cluster of the other object.

    Parameters
    ----------
    pointers, indices : tuples of arrays
        CSR patterns of the ones and the missing entries, by row, then by column.
    values : ndarray, shape (N, K)
        Responsibilities (or their spreads).
    total : ndarray, shape (K,)
        Their sum over all objects.
    out : ndarray, shape (4, K)
        Ones and zeros of the object's row, ones and zeros of its column (directed only), itself left out.
    """
    for side in range(2 if directed else 1):
        ones, zeros = out[2 * side], out[2 * side + 1]
        gather(i, pointers[2 * side], indices[2 * side], values, ones)
        gather(i, pointers[2 * side + 1], indices[2 * side + 1], values, zeros)
        for m in range(ones.shape[0]):
            zeros[m] = max(total[m] - values[i, m] - zeros[m] - ones[m], 0.0)


@nb.njit(**OPTIONS)
def shift(
    share: float, k: int, brought: Floats, own: Floats, directed: bool, ones: Floats, zeros: Floats
) -> None:
    """Put `share` of an object into cluster k (or take it out, where negative): change ones and zeros in place.

    `own` is the object's link to itself: (1, 0) linked, (0, 1) not linked, (0, 0) missing.
    """
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
def refresh(k: int, ones: Floats, zeros: Floats, directed: bool, terms: Floats) -> None:
    """Bring log B(ones, zeros) of row k, and of column k, up to date."""
    n_clusters = ones.shape[0]
    for m in range(n_clusters):
        terms[k, m] = lbeta(max(ones[k, m], SMALLEST), max(zeros[k, m], SMALLEST))
    if directed:
        for m in range(n_clusters):
            terms[m, k] = lbeta(max(ones[m, k], SMALLEST), max(zeros[m, k], SMALLEST))
    else:
        for m in range(n_clusters):
            terms[m, k] = terms[k, m]


@nb.njit(**OPTIONS)
def with_object(
    k: int,
    brought: Floats,
    own: Floats,
    directed: bool,
    least: float,
    ones: Floats,
    zeros: Floats,
    x: Floats,
    y: Floats,
) -> None:
    """Write the counts (or variances) of the blocks of cluster k, `least` at least, with the object put in.

    x, y : shape (K,) undirected, (2 K,) directed: the blocks (k, .), then (., k), of which (k, k) comes only once.
    """
    n_clusters = ones.shape[0]
    for m in range(n_clusters):
        x[m] = max(ones[k, m], least) + brought[OUT_ONES, m]
        y[m] = max(zeros[k, m], least) + brought[OUT_ZEROS, m]
    x[k] += own[0]
    y[k] += own[1]
    if directed:
        for m in range(n_clusters):
            x[n_clusters + m] = max(ones[m, k], least) + brought[IN_ONES, m]
            y[n_clusters + m] = max(zeros[m, k], least) + brought[IN_ZEROS, m]
        x[k] += brought[IN_ONES, k]
        y[k] += brought[IN_ZEROS, k]
        x[n_clusters + k] = 1.0
        y[n_clusters + k] = 1.0


@nb.njit(**OPTIONS)
def cluster_terms(
    choices: NDArray[np.int64],
    brought: Floats,
    own: Floats,
    directed: bool,
    ones: Floats,
    zeros: Floats,
    terms: Floats,
    x: Floats,
    y: Floats,
    around: Floats,
    out: Floats,
) -> None:
    """Write the log probability of what an object brings, for each choice of its cluster.

    Parameters
    ----------
    choices : ndarray of int64, shape (c,)
        Clusters to try.
    ones, zeros, terms : ndarrays, shape (K, K)
        a + n, b + N without the object, and log B of them.
    x, y, around : ndarrays, shapes (C, K) or (C, 2 K), C >= c, and as many numbers flat
        Room to work in.
    """
    n_clusters, width = ones.shape[0], x.shape[1]
    for at in range(choices.shape[0]):
        with_object(choices[at], brought, own, directed, SMALLEST, ones, zeros, x[at], y[at])
    flat_x, flat_y = x.reshape(-1), y.reshape(-1)
    for t in range(choices.shape[0] * width):
        around[t] = lbeta(flat_x[t], flat_y[t])
    for at in range(choices.shape[0]):
        k = choices[at]
        without = 0.0
        for m in range(n_clusters):
            without += terms[k, m]
        if directed:
            for m in range(n_clusters):
                without += terms[m, k]
            without -= terms[k, k]
        out[at] = total_of(around[at * width : (at + 1) * width]) - without


@nb.njit(**OPTIONS)
def zeroth_order_network(
    objects: NDArray[np.int64],
    choices: NDArray[np.int64],
    q: Floats,
    pointers: tuple[Indices, Indices, Indices, Indices],
    indices: tuple[Indices, Indices, Indices, Indices],
    own: Floats,
    ones: Floats,
    zeros: Floats,
    mass: Floats,
    alpha: float,
    directed: bool,
    update: bool,
) -> float:
    """CVB0 update of some objects of a network, one by one; returns the sum of log C_i.

    Parameters
    ----------
    objects : ndarray of int64
        Objects to visit, in this order.
    choices : ndarray of int64
        Clusters among which an object's share of them is divided anew; all of them in a sweep.
    q : ndarray, shape (N, K)
        Responsibilities, changed in place when `update`.
    pointers, indices : tuples of arrays
        CSR patterns of the ones and the missing entries, by row, then by column.
    own : ndarray, shape (N, 2)
        An object's link to itself: linked, not linked (neither: missing).
    ones, zeros : ndarrays, shape (K, K)
        a + n and b + N; kept up to date.
    mass : ndarray, shape (K,)
        Cluster sizes; kept up to date.
    alpha : float
        Concentration of the stick-breaking prior.
    """
    n_clusters, n_choices = ones.shape[0], choices.shape[0]
    width = 2 * n_clusters if directed else n_clusters
    x, y = np.empty((n_choices, width)), np.empty((n_choices, width))
    around = np.empty(n_choices * width)
    terms = np.empty((n_clusters, n_clusters))
    for k in range(n_clusters):
        refresh(k, ones, zeros, directed, terms)
    brought = np.empty((4, n_clusters))
    prior, log_weights = np.empty(n_clusters), np.empty(n_choices)
    before = np.empty(n_clusters)
    log_normaliser = 0.0
    for visit in range(objects.shape[0]):
        i = objects[visit]
        bring(i, pointers, indices, q, mass, directed, brought)
        held = 0.0
        for at in range(n_choices):
            held += q[i, choices[at]]
        for k in range(n_clusters):
            before[k] = q[i, k]
            mass[k] = max(mass[k] - before[k], 0.0)
            if before[k] > NEGLIGIBLE:
                shift(-before[k], k, brought, own[i], directed, ones, zeros)
        for k in range(n_clusters):
            if before[k] > NEGLIGIBLE:
                refresh(k, ones, zeros, directed, terms)
        log_prior(mass, alpha, prior)
        cluster_terms(choices, brought, own[i], directed, ones, zeros, terms, x, y, around, log_weights)
        for at in range(n_choices):
            log_weights[at] += prior[choices[at]]
        log_normaliser += normalise(log_weights)
        if update:
            for at in range(n_choices):
                q[i, choices[at]] = held * log_weights[at]
        for k in range(n_clusters):
            mass[k] += q[i, k]
            if q[i, k] > NEGLIGIBLE:
                shift(q[i, k], k, brought, own[i], directed, ones, zeros)
        for k in range(n_clusters):
            if q[i, k] > NEGLIGIBLE:
                refresh(k, ones, zeros, directed, terms)
    return log_normaliser
