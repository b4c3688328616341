"""Compiled inner loops of the collapsed methods for the two-domain IRM.

Each kernel updates a run of objects of one domain while the other domain stays fixed, and returns to Python in
well under 100 ms when the run is chosen by `chunk_length`. The sums over an object's links and unknown entries
(`neighbours.py`) are the same for the whole pass, so they come in ready-made.

Notation in formulas: k is a cluster of the domain that is swept, l one of the other; n ones, N zeros, T = n + N
entries of block (k, l); n+ and T+ what the object itself brings; a backslash means "without the object".
"""

from __future__ import annotations

import math

import numba as nb
import numpy as np
from numpy.typing import NDArray

from acvb_core.irm.special import FAST, lbeta, log

Floats = NDArray[np.float64]

#: Responsibilities and their changes below this are taken as zero in the counts (rebuilt in every pass).
NEGLIGIBLE = 1e-12

OPTIONS = {"nogil": True, "cache": True, "fastmath": FAST, "error_model": "numpy"}


def chunk_length(n_rows: int, n_columns: int, ns_per_block: float = 6.0) -> int:
    """Return how many objects a kernel call may take so that it returns within some 30 ms."""
    return int(max(16, 30e6 / (n_rows * n_columns * ns_per_block + 500.0)))


@nb.njit(**OPTIONS)
def log_prior(mass: Floats, alpha: float, out: Floats) -> None:
    """Write log p(z = k | others) of the stick-breaking prior truncated at K = len(mass), with v_K = 1.

    `mass` holds the expected cluster sizes without the object. The exponentials sum to one.
    """
    n_clusters = mass.shape[0]
    beyond = 0.0
    for k in range(n_clusters):
        beyond += mass[k]
    passed = 0.0
    for k in range(n_clusters):
        beyond = max(beyond - mass[k], 0.0)
        if k == n_clusters - 1:
            out[k] = passed
        else:
            total = log(mass[k] + beyond + alpha + 1.0)
            out[k] = log(mass[k] + 1.0) - total + passed
            passed += log(beyond + alpha) - total


@nb.njit(**OPTIONS)
def normalise(log_weights: Floats) -> float:
    """Turn log weights into probabilities in place; return the log of their sum."""
    top = log_weights.max()
    total = 0.0
    for k in range(log_weights.shape[0]):
        log_weights[k] = math.exp(log_weights[k] - top)
        total += log_weights[k]
    for k in range(log_weights.shape[0]):
        log_weights[k] /= total
    return top + math.log(total)


@nb.njit(**OPTIONS)
def block_terms(x: Floats, y: Floats, length: int, out: Floats) -> None:
    for t in range(length):
        out[t] = lbeta(x[t], y[t])


@nb.njit(**OPTIONS)
def fill_counts(
    ones: Floats,
    entries: Floats,
    a: Floats,
    b: Floats,
    plus: Floats,
    total: Floats,
    share: float,
    x: Floats,
    y: Floats,
) -> None:
    """Write a + n and b + N of one cluster with `share` of an object added to its counts."""
    for m in range(ones.shape[0]):
        # Rounding may leave a tiny negative count.
        x[m] = a[m] + max(ones[m] + share * plus[m], 0.0)
        y[m] = b[m] + max(entries[m] - ones[m] + share * (total[m] - plus[m]), 0.0)


@nb.njit(**OPTIONS)
def move_counts(ones: Floats, entries: Floats, plus: Floats, total: Floats, change: float) -> None:
    for m in range(ones.shape[0]):
        ones[m] += change * plus[m]
        entries[m] += change * total[m]


@nb.njit(**OPTIONS)
def zeroth_order_bases(ones: Floats, entries: Floats, a: Floats, b: Floats, out: Floats) -> None:
    """Write sum_l log B(a + n_kl, b + N_kl) for each cluster k of the swept domain."""
    n_own, n_other = ones.shape
    x = np.empty(n_other)
    y = np.empty(n_other)
    terms = np.empty(n_other)
    nothing = np.zeros(n_other)
    for k in range(n_own):
        fill_counts(ones[k], entries[k], a[k], b[k], nothing, nothing, 0.0, x, y)
        block_terms(x, y, n_other, terms)
        out[k] = terms.sum()


@nb.njit(**OPTIONS)
def zeroth_order(
    objects: NDArray[np.int64],
    q: Floats,
    links: Floats,
    totals: Floats,
    ones: Floats,
    entries: Floats,
    mass: Floats,
    bases: Floats,
    a: Floats,
    b: Floats,
    alpha: float,
    update: bool,
) -> float:
    """CVB0 update of some objects (IRM14 §5 with counts replaced by their means); returns sum of log C_i.

    Parameters
    ----------
    objects : ndarray of int64
        Objects to visit, in this order.
    q : ndarray, shape (N, K)
        Responsibilities of the swept domain; changed in place when `update`.
    links, totals : ndarrays, shape (N, L)
        n+ and T+ of every object.
    ones, entries : ndarrays, shape (K, L)
        n and T with every object counted; kept up to date.
    mass, bases : ndarrays, shape (K,)
        Cluster sizes, and sum_l log B(a + n_kl, b + N_kl); kept up to date.
    a, b : ndarrays, shape (K, L)
        Beta prior of each block.
    update : bool
        False only evaluates the normalisers.
    """
    n_own, n_other = ones.shape
    # Rows 0..K-1: every cluster with the object put in; from K on: those that hold some of it, without it.
    x = np.empty((2 * n_own, n_other))
    y = np.empty((2 * n_own, n_other))
    terms = np.empty(2 * n_own * n_other)
    log_weights = np.empty(n_own)
    rest = np.empty(n_own)
    touched = np.empty(n_own, np.int64)
    log_normaliser = 0.0
    for visit in range(objects.shape[0]):
        i = objects[visit]
        plus = links[i]
        total = totals[i]
        n_touched = 0
        for k in range(n_own):
            share = q[i, k]
            rest[k] = max(mass[k] - share, 0.0)
            fill_counts(ones[k], entries[k], a[k], b[k], plus, total, 1.0, x[k], y[k])
            if share > NEGLIGIBLE:
                fill_counts(ones[k], entries[k], a[k], b[k], plus, total, 1.0 - share, x[k], y[k])
                row = n_own + n_touched
                fill_counts(ones[k], entries[k], a[k], b[k], plus, total, -share, x[row], y[row])
                touched[n_touched] = k
                n_touched += 1
        block_terms(x.reshape(-1), y.reshape(-1), (n_own + n_touched) * n_other, terms)
        log_prior(rest, alpha, log_weights)
        for k in range(n_own):
            log_weights[k] += terms[k * n_other : (k + 1) * n_other].sum() - bases[k]
        for t in range(n_touched):
            row = n_own + t
            k = touched[t]
            log_weights[k] += bases[k] - terms[row * n_other : (row + 1) * n_other].sum()
        log_normaliser += normalise(log_weights)
        if not update:
            continue
        n_touched = 0
        for k in range(n_own):
            change = log_weights[k] - q[i, k]
            q[i, k] = log_weights[k]
            mass[k] += change
            if abs(change) > NEGLIGIBLE:
                move_counts(ones[k], entries[k], plus, total, change)
                fill_counts(ones[k], entries[k], a[k], b[k], plus, total, 0.0, x[n_touched], y[n_touched])
                touched[n_touched] = k
                n_touched += 1
        block_terms(x.reshape(-1), y.reshape(-1), n_touched * n_other, terms)
        for t in range(n_touched):
            bases[touched[t]] = terms[t * n_other : (t + 1) * n_other].sum()
    return log_normaliser
