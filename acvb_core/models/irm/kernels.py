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

from acvb_core.core.special import OPTIONS, lbeta, lbeta_large, log
from acvb_core.models.irm.sweeps.bounds import (
    OUT_OF_REACH,
    Bounds,
    Floats,
    Singles,
    bound_weights,
    tabulate_cluster,
)

__all__ = ["OPTIONS", "Floats"]

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


class Limits(NamedTuple):
    """Thresholds of what an update passes over."""

    #: An object's share of the clusters that hold more of it than this is divided anew; negative for all clusters.
    least: float = -1.0
    #: Smaller responsibilities, and changes of them, are not taken out of the counts of the blocks or put in.
    negligible: float = NEGLIGIBLE
    #: A cluster that must weigh so many nats less than another does not get any of an object.
    reach: float = OUT_OF_REACH
    #: The tables of a cluster's bounds are made anew when this share of its objects has come or gone.
    tolerance: float = 0.1


#: All clusters are weighed, and every change is taken over.
NO_LIMITS = Limits()


class Room(NamedTuple):
    """Working arrays of a pass, and the sums of log B(a + n, b + N) over a cluster's blocks where they are known."""

    x: Floats
    y: Floats
    terms: Floats
    log_weights: Floats
    prior: Floats
    shares: Floats
    choices: NDArray[np.int64]
    tops: Singles
    bases: Floats
    known: NDArray[np.bool_]


def make_room(n_own: int, n_other: int) -> Room:
    """Return room for an update of objects with so many clusters, and as many of the other domain; no sum is known."""
    counts, rows = (2 * n_own, n_other), (n_own,)
    return Room(
        np.empty(counts), np.empty(counts), np.empty(2 * n_own * n_other),
        np.empty(rows), np.empty(rows), np.empty(rows), np.empty(rows, np.int64), np.empty(rows, np.float32),
        np.empty(rows), np.zeros(rows, np.bool_),
    )  # fmt: skip


def chunk_length(n_rows: int, n_columns: int, ns_per_block: float = 6.0) -> int:
    """Return how many objects a kernel call may take so that it returns within some 30 ms."""
    return int(max(16, 30e6 / (n_rows * n_columns * ns_per_block + 500.0)))


@nb.njit(**OPTIONS)
def log_prior(mass: Floats, alpha: float, out: Floats) -> None:
    """Write log p(z = k | others) of the stick-breaking prior truncated at K = len(mass), with v_K = 1.

    `mass` holds the expected cluster sizes without the object. The exponentials sum to one.
    """
    n_clusters = mass.shape[0]
    stay, beyond = np.empty(n_clusters), 0.0
    for k in range(n_clusters - 1, -1, -1):
        out[k] = beyond
        beyond += mass[k]
    for k in range(n_clusters):  # a loop of its own: the compiler vectorises it
        total = mass[k] + out[k] + alpha + 1.0
        stay[k] = log((mass[k] + 1.0) / total)
        out[k] = log((out[k] + alpha) / total)
    passed = 0.0
    for k in range(n_clusters - 1):
        beyond = passed + out[k]
        out[k] = passed + stay[k]
        passed = beyond
    out[n_clusters - 1] = passed


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
def add_share(base: Floats, row: Floats, share: float, out: Floats) -> None:
    """Write base + share * row for one cluster; rounding may leave less than a tiny prior, not less than that."""
    for m in range(base.shape[0]):
        out[m] = max(base[m] + share * row[m], SMALLEST)


@nb.njit(**OPTIONS)
def zeroth_order(
    objects: NDArray[np.int64],
    q: Floats,
    sums: ObjectSums,
    blocks: BlockCounts,
    bounds: Bounds,
    room: Room,
    alpha: float,
    update: bool,
    limits: Limits,
) -> float:
    """CVB0 update of some objects (IRM14 §5 with counts replaced by their means); returns sum of log C_i.

    `objects`: objects to visit, in this order.
    `q`: shape (N, K); responsibilities of the swept domain; changed in place when `update`.
    `bounds`: tables of the blocks, kept up to date; where they are empty, all clusters are weighed.
    `alpha`: concentration of the stick-breaking prior.
    `update`: False only evaluates the normalisers.
    """
    links, zeros = sums
    beta_ones, beta_zeros, mass = blocks
    x, y, terms, log_weights, prior, shares, choices, tops, bases, known = room
    least, negligible, out_of_reach, tolerance = limits
    n_own, n_other = beta_ones.shape
    are_bounded = bounds.whole.shape[0] > 0
    flat_x, flat_y = x.reshape(-1), y.reshape(-1)
    log_normaliser = 0.0
    for visit in range(objects.shape[0]):
        i = objects[visit]
        plus = links[i]
        minus = zeros[i]
        held, n_held = 0.0, 0
        for k in range(n_own):
            share = q[i, k]
            shares[k] = max(mass[k] - share, 0.0)
            if share > negligible and share > least:
                held += share
                choices[n_held] = k
                n_held += 1
        if n_held <= 1 and least >= 0.0:
            continue
        log_prior(shares, alpha, prior)
        if least < 0.0:
            held = 1.0
            if are_bounded:
                bound_weights(plus, minus, bounds, tops)
                for k in range(n_own):
                    tops[k] += np.float32(prior[k])
            else:
                tops[:] = np.inf
            for at in range(n_held):
                tops[choices[at]] = -np.inf
        # First the clusters that hold some of the object, with it and without it; then the most promising one of those
        # that may take some of it, and then the others.
        n_choices, n_weighed, reach = n_held, 0, -np.inf
        for stage in range(3 if least < 0.0 else 1):
            if stage == 1:
                best = 0
                for k in range(1, n_own):
                    best = k if tops[k] > tops[best] else best
                if not tops[best] > reach:
                    break
                choices[n_choices] = best
                tops[best] = -np.inf
                n_choices += 1
            elif stage == 2:
                for k in range(n_own):
                    if tops[k] > reach:
                        choices[n_choices] = k
                        n_choices += 1
            n_rows = 0
            for at in range(n_weighed, n_choices):
                k = choices[at]
                share = q[i, k] if stage == 0 else 0.0
                add_share(beta_ones[k], plus, 1.0 - share, x[n_rows])
                add_share(beta_zeros[k], minus, 1.0 - share, y[n_rows])
                n_rows += 1
                if stage == 0 or not known[k]:
                    add_share(beta_ones[k], plus, -share, x[n_rows])
                    add_share(beta_zeros[k], minus, -share, y[n_rows])
                    n_rows += 1
            block_terms(flat_x, flat_y, n_rows * n_other, terms)
            n_rows = 0
            for at in range(n_weighed, n_choices):
                k = choices[at]
                weight = total_of(terms[n_rows * n_other : (n_rows + 1) * n_other])
                n_rows += 1
                without = bases[k]
                if stage == 0 or not known[k]:
                    without = total_of(terms[n_rows * n_other : (n_rows + 1) * n_other])
                    n_rows += 1
                if stage > 0:
                    bases[k] = without
                    known[k] = True
                log_weights[at] = prior[k] + weight - without
                reach = max(reach, log_weights[at] - out_of_reach)
            n_weighed = n_choices
        log_normaliser += normalise(log_weights[:n_choices])
        if not update:
            continue
        for k in range(n_own):
            shares[k] = 0.0 if least < 0.0 else q[i, k]
        for at in range(n_choices):
            shares[choices[at]] = held * log_weights[at]
        for k in range(n_own):
            change = shares[k] - q[i, k]
            q[i, k] = shares[k]
            mass[k] += change
            if abs(change) > negligible:
                add_share(beta_ones[k], plus, change, beta_ones[k])
                add_share(beta_zeros[k], minus, change, beta_zeros[k])
                known[k] = False
                if are_bounded:
                    bounds.stale[k] += abs(change)
                    if bounds.stale[k] > tolerance * (1.0 + mass[k]):
                        tabulate_cluster(k, beta_ones[k], beta_zeros[k], bounds)
    return log_normaliser
