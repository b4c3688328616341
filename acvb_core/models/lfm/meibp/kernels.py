"""Compiled inner loops of MEIBP: the features of an object by submodular maximisation.

With the others fixed, what a set S of features is worth to an object is

    f(S) = sum_{k in S} u_k - sum_{k < l in S} Q_kl,      Q_kl = sum_d E[a_kd] E[a_ld] / noise_d >= 0,

which is submodular, as weights are not negative: a feature is worth the less, the more others there are.
"""

from __future__ import annotations

import math

import numba as nb
import numpy as np
from numpy.typing import NDArray

from acvb_core.core.special import OPTIONS

Floats = NDArray[np.float64]
Bits = NDArray[np.int8]


@nb.njit(**OPTIONS)
def choose_features(
    begin: int,
    end: int,
    z: Bits,
    size: Floats,
    worth: Floats,
    overlap: Floats,
    weights: Floats,
    observed: Floats,
    precision: Floats,
    prior: float,
) -> int:
    """Choose the features of the objects begin … end - 1 in turn; return how many entries of z changed.

    `z`, `size`: shapes (N, K), (K,); features, int8, and number of objects with each; changed in place.
    `worth`: shape (N, K); u without the prior.
    `overlap`: shape (K, K); Q of an object whose cells are all known.
    `weights`, `precision`: shapes (K, D), (D,); E[a], and that of the noise.
    `observed`: shape (N, D), or (0, D); empty if all cells are known.
    `prior`: alpha / K of the Beta prior of each feature's probability.
    """
    n_features = z.shape[1]
    u = np.empty(n_features)
    chosen = np.empty(n_features, dtype=np.int8)
    q = overlap.copy()
    changed = 0
    for n in range(begin, end):
        if len(observed):
            overlaps(weights, observed[n], precision, q)
        for k in range(n_features):
            others = size[k] - z[n, k]
            u[k] = worth[n, k] + math.log((others + prior) / (len(z) - others))
        changed += improve_set(u, q, z[n], chosen)
        for k in range(n_features):
            size[k] += chosen[k] - z[n, k]
            z[n, k] = chosen[k]
    return changed


@nb.njit(**OPTIONS)
def overlaps(weights: Floats, known: Floats, precision: Floats, out: Floats) -> None:
    """Write sum_d E[a_kd] E[a_ld] / noise_d over an object's known cells."""
    n_features, n_columns = weights.shape
    scaled = np.empty(n_columns)
    for k in range(n_features):
        for d in range(n_columns):
            scaled[d] = weights[k, d] * known[d] * precision[d]
        for other in range(k + 1):
            total = 0.0
            theirs = weights[other]
            for d in range(n_columns):
                total += scaled[d] * theirs[d]
            out[k, other] = total
            out[other, k] = total


@nb.njit(**OPTIONS)
def improve_set(u: Floats, q: Floats, now: Bits, chosen: Bits) -> int:
    """Write a set of features that is worth at least as much as `now`; return how many entries differ.

    It is the better of two, both improved until no single feature can be added or left out at a profit: the present
    one, and that of the deterministic double greedy algorithm, whose value above the least possible one is at least
    a third of the best one's (Buchbinder et al., FOCS 2012).
    """
    greedy = np.empty_like(now)
    double_greedy(u, q, greedy)
    climb(u, q, greedy)
    chosen[:] = now
    climb(u, q, chosen)
    if value(u, q, greedy) > value(u, q, chosen) + 1e-9:
        chosen[:] = greedy
    differ = 0
    for k in range(len(u)):
        differ += chosen[k] != now[k]
    return differ


@nb.njit(**OPTIONS)
def value(u: Floats, q: Floats, z: Bits) -> float:
    """Return f of a set."""
    total = 0.0
    for k in range(len(u)):
        if z[k]:
            total += u[k]
            for other in range(k):
                if z[other]:
                    total -= q[k, other]
    return total


@nb.njit(**OPTIONS)
def double_greedy(u: Floats, q: Floats, out: Bits) -> None:
    """Decide on one feature after the other, between what was taken so far and all but what was left out."""
    out[:] = 1
    for k in range(len(u)):
        gain = u[k]
        loss = u[k]
        for other in range(len(u)):
            if other != k and out[other]:
                loss -= q[k, other]
                if other < k:
                    gain -= q[k, other]
        out[k] = 1 if gain >= -loss else 0


@nb.njit(**OPTIONS)
def climb(u: Floats, q: Floats, z: Bits) -> None:
    """Add or leave out the feature that gains most, until none does."""
    gain = u.copy()
    for k in range(len(u)):
        for other in range(len(u)):
            if other != k and z[other]:
                gain[k] -= q[k, other]
    while True:
        best = 0
        most = -1.0
        for k in range(len(u)):
            profit = -gain[k] if z[k] else gain[k]
            if profit > most:
                most = profit
                best = k
        if most <= 1e-9:
            return
        sign = -1.0 if z[best] else 1.0
        z[best] = 1 - z[best]
        for k in range(len(u)):
            if k != best:
                gain[k] -= sign * q[k, best]
