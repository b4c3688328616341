"""Compiled inner loops of the collapsed methods for the two-domain IRM.

Each kernel updates a run of objects of one domain while the other domain stays fixed, and returns to Python in
well under 100 ms when the run is chosen by `chunk_length`. The sums over an object's links and unknown entries
(`neighbours.py`) are the same for the whole pass, so they come in ready-made.

Notation in formulas: k is a cluster of the domain that is swept, l one of the other; n ones and N zeros of block
(k, l), Beta prior (a, b); n+ and N+ what an object itself brings.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray

from acvb_core.core.special import FAST, lbeta, lbeta_large, log

Floats = NDArray[np.float64]

#: Responsibilities and their changes below this are taken as zero in the counts (rebuilt in every pass).
NEGLIGIBLE = 1e-12
#: Least value of a + n and b + N; every prior is larger.
SMALLEST = 1e-8


class ObjectSums(NamedTuple):
    """n+ and N+ of every object, its links and its zeros by cluster of the other domain, shape (N, L)."""

    links: Floats
    zeros: Floats


class BlockCounts(NamedTuple):
    """a + n and b + N of every block, shape (K, L), and the cluster sizes, shape (K,); kernels keep them up to date."""

    ones: Floats
    zeros: Floats
    mass: Floats


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
    top = log_weights[0]
    for k in range(1, log_weights.shape[0]):  # compiles faster than `max`, by a second
        top = max(top, log_weights[k])
    total = 0.0
    for k in range(log_weights.shape[0]):
        log_weights[k] = math.exp(log_weights[k] - top)
        total += log_weights[k]
    for k in range(log_weights.shape[0]):
        log_weights[k] /= total
    return top + math.log(total)


@nb.njit(**OPTIONS)
def block_terms(x: Floats, y: Floats, length: int, out: Floats) -> None:
    """Write log B(x, y) for the first `length` elements."""
    n_small = 0
    for t in range(length):
        n_small += 1 if y[t] < 7.0 else 0
    if n_small == 0:
        for t in range(length):
            out[t] = lbeta_large(x[t], y[t])
    else:
        for t in range(length):
            out[t] = lbeta(x[t], y[t])


@nb.njit(**OPTIONS)
def total_of(values: Floats) -> float:
    """Return the sum of values (a plain loop, which the compiler vectorises; `ndarray.sum` is not)."""
    total = 0.0
    for t in range(values.shape[0]):
        total += values[t]
    return total


@nb.njit(**OPTIONS)
def add_row(base: Floats, row: Floats, out: Floats) -> None:
    """Write base + row, a row added to every row of a matrix."""
    for k in range(base.shape[0]):
        for m in range(base.shape[1]):
            out[k, m] = base[k, m] + row[m]


@nb.njit(**OPTIONS)
def add_share(base: Floats, row: Floats, share: float, out: Floats) -> None:
    """Write base + share * row for one cluster; rounding may leave less than a tiny prior, not less than that."""
    for m in range(base.shape[0]):
        out[m] = max(base[m] + share * row[m], SMALLEST)


@nb.njit(**OPTIONS)
def block_bases(beta_ones: Floats, beta_zeros: Floats, out: Floats) -> None:
    """Write sum_l log B(a + n_kl, b + N_kl) for each cluster k of the swept domain."""
    n_own, n_other = beta_ones.shape
    terms = np.empty(n_other)
    for k in range(n_own):
        block_terms(beta_ones[k], beta_zeros[k], n_other, terms)
        out[k] = total_of(terms)


@nb.njit(**OPTIONS)
def zeroth_order(
    objects: NDArray[np.int64],
    q: Floats,
    sums: ObjectSums,
    blocks: BlockCounts,
    bases: Floats,
    alpha: float,
    update: bool,
    least: float,
) -> float:
    """CVB0 update of some objects (IRM14 §5 with counts replaced by their means); returns sum of log C_i.

    `objects`: objects to visit, in this order.
    `q`: shape (N, K); responsibilities of the swept domain; changed in place when `update`.
    `bases`: shape (K,); sum_l log B(a + n_kl, b + N_kl); kept up to date.
    `alpha`: concentration of the stick-breaking prior.
    `update`: False only evaluates the normalisers.
    `least`: an object's share of the clusters that hold more of it than this is divided anew; negative for all of them.
    """
    links, zeros = sums
    beta_ones, beta_zeros, mass = blocks
    n_own, n_other = beta_ones.shape
    # First the clusters that an object may be in, with it; then those that hold some of it, without it.
    x = np.empty((2 * n_own, n_other))
    y = np.empty((2 * n_own, n_other))
    terms = np.empty(2 * n_own * n_other)
    log_weights, prior = np.empty(n_own), np.empty(n_own)
    rest = np.empty(n_own)
    choices, touched = np.empty(n_own, np.int64), np.empty(n_own, np.int64)
    log_normaliser = 0.0
    for visit in range(objects.shape[0]):
        i = objects[visit]
        plus = links[i]
        minus = zeros[i]
        held, n_choices, n_touched = 0.0, 0, 0
        for k in range(n_own):
            share = q[i, k]
            rest[k] = max(mass[k] - share, 0.0)
            if share > least:
                held += share
                choices[n_choices] = k
                n_choices += 1
        if n_choices == 1 and least >= 0.0:
            continue
        if n_choices == n_own:
            # As if no cluster held any of the object, which is true for most of them …
            add_row(beta_ones, plus, x)
            add_row(beta_zeros, minus, y)
        for at in range(n_choices):
            k = choices[at]
            share = q[i, k]
            if share > NEGLIGIBLE:
                # … and right for those that do.
                row = n_choices + n_touched
                add_share(beta_ones[k], plus, 1.0 - share, x[at])
                add_share(beta_zeros[k], minus, 1.0 - share, y[at])
                add_share(beta_ones[k], plus, -share, x[row])
                add_share(beta_zeros[k], minus, -share, y[row])
                touched[n_touched] = at
                n_touched += 1
        block_terms(x.reshape(-1), y.reshape(-1), (n_choices + n_touched) * n_other, terms)
        log_prior(rest, alpha, prior)
        weights = log_weights[:n_choices]
        for at in range(n_choices):
            k = choices[at]
            weights[at] = prior[k] + total_of(terms[at * n_other : (at + 1) * n_other]) - bases[k]
        for t in range(n_touched):
            row = n_choices + t
            at = touched[t]
            weights[at] += bases[choices[at]] - total_of(terms[row * n_other : (row + 1) * n_other])
        log_normaliser += normalise(weights)
        if not update:
            continue
        n_touched = 0
        for at in range(n_choices):
            k = choices[at]
            new = weights[at] if n_choices == n_own else held * weights[at]
            change = new - q[i, k]
            q[i, k] = new
            mass[k] += change
            if abs(change) > NEGLIGIBLE:
                add_share(beta_ones[k], plus, change, beta_ones[k])
                add_share(beta_zeros[k], minus, change, beta_zeros[k])
                for m in range(n_other):  # assigning a row compiles NumPy's error messages, too: four seconds
                    x[n_touched, m] = beta_ones[k, m]
                    y[n_touched, m] = beta_zeros[k, m]
                touched[n_touched] = k
                n_touched += 1
        block_terms(x.reshape(-1), y.reshape(-1), n_touched * n_other, terms)
        for t in range(n_touched):
            bases[touched[t]] = total_of(terms[t * n_other : (t + 1) * n_other])
    return log_normaliser
