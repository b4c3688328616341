"""Second-order CVB of two-domain relations: variances of the block counts and their update (TNW07; IRM14 §5)."""

from __future__ import annotations

from typing import NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray

from acvb_core.core.protocols import Poll, no_poll
from acvb_core.core.special import OPTIONS, lbeta, trigamma
from acvb_core.data.relation import Relation
from acvb_core.models.irm.kernels import (
    NEGLIGIBLE,
    BlockCounts,
    Floats,
    ObjectSums,
    add_share,
    log_prior,
    neighbour_sums,
    normalise,
    total_of,
)

# Position of the three variances in arrays whose first axis has length 3.
ONES, ZEROS, TOTAL = 0, 1, 2


class Spreads(NamedTuple):
    """Spreads and variances of second-order terms."""

    #: `links`, `unknown`: shape (N, L); sums of u_jl over an object's links and over its unknown entries.
    links: Floats
    unknown: Floats
    other: Floats  #: shape (N', L); u_jl of the other domain
    #: Shape (3, K, L); variances of the ones, zeros and totals with every object counted; kept up to date.
    variance: Floats


class Neighbours(NamedTuple):
    """Sums over neighbours, for the exact variances only."""

    #: `pointers`, `indices`: CSR patterns of the links and of the unknown entries.
    pointers: tuple[NDArray[np.int32], NDArray[np.int32]]
    indices: tuple[NDArray[np.int32], NDArray[np.int32]]
    soft: NDArray[np.bool_]  #: shape (N',); objects of the other domain of which some u_jl is worth a visit
    #: `linked`, `unknown`: shape (N', K); c_jk and h_jk with every object counted; kept up to date.
    linked: Floats
    unknown: Floats
    #: `all_linked`, `all_unknown`: shape (K, L); sum_j u_jl c_jk and sum_j u_jl h_jk; kept up to date.
    all_linked: Floats
    all_unknown: Floats


@nb.njit(**OPTIONS)
def _second_terms(x: Floats, y: Floats, variance: Floats, out: Floats) -> None:
    """Write the second-order E log B(x, y) for variances of x, y and x + y of shape (3, n)."""
    var_x = variance[ONES]
    var_y = variance[ZEROS]
    var_total = variance[TOTAL]
    for t in range(x.shape[0]):
        correction = trigamma(x[t]) * var_x[t] + trigamma(y[t]) * var_y[t]
        correction -= trigamma(x[t] + y[t]) * var_total[t]
        out[t] = lbeta(x[t], y[t]) + 0.5 * correction


@nb.njit(**OPTIONS)
def _added_variance(
    share: float, exact: bool, plus: Floats, spread: Floats, covariance: Floats, out: Floats
) -> None:
    """Write what an object that is in the cluster with probability `share` adds to the variance of a count."""
    for m in range(out.shape[0]):
        if exact:
            out[m] = share * (spread[m] + 2.0 * covariance[m]) + share * (1.0 - share) * plus[m] * plus[m]
        else:
            out[m] = share * (1.0 - share) * spread[m]


@nb.njit(**OPTIONS)
def _covariances(
    ones_of: NDArray[np.int32],
    unknown_of: NDArray[np.int32],
    spread: Floats,
    neighbours: Neighbours,
    total_spread: Floats,
    rest: Floats,
    plus_spread: Floats,
    unknown_spread: Floats,
    out: Floats,
) -> None:
    """Write c+ of the ones, zeros and totals of one object, shape (3, K, L); every input is without it.

    With c_jk, h_jk the expected number of objects of cluster k that are linked to j, unknown to j:
    ones: sum over links of u_jl c_jk; totals: sum over observed j of u_jl (m_k - h_jk); zeros: totals' and ones'
    sums rearranged so that only links and unknown entries are visited.
    """
    _, _, soft, linked, unknown, all_linked, all_unknown = neighbours
    n_own, n_other = out.shape[1], out.shape[2]
    for k in range(n_own):
        for m in range(n_other):
            out[ONES, k, m] = 0.0
            # Start from the sums over every j, then take the unknown ones and the links out.
            out[TOTAL, k, m] = rest[k] * (total_spread[m] - unknown_spread[m]) - all_unknown[k, m]
            out[ZEROS, k, m] = -all_linked[k, m] - rest[k] * plus_spread[m]
    for j in ones_of:
        if soft[j]:
            for k in range(n_own):
                for m in range(n_other):
                    out[ONES, k, m] += spread[j, m] * linked[j, k]
                    out[ZEROS, k, m] += spread[j, m] * (unknown[j, k] + linked[j, k])
    for j in unknown_of:
        if soft[j]:
            for k in range(n_own):
                for m in range(n_other):
                    out[TOTAL, k, m] += spread[j, m] * unknown[j, k]
                    out[ZEROS, k, m] += spread[j, m] * linked[j, k]
    for k in range(n_own):
        for m in range(n_other):
            out[ZEROS, k, m] += out[TOTAL, k, m]


@nb.njit(**OPTIONS)
def second_order(
    objects: NDArray[np.int64],
    q: Floats,
    sums: ObjectSums,
    blocks: BlockCounts,
    spreads: Spreads,
    neighbours: Neighbours,
    alpha: float,
    exact: bool,
    update: bool,
) -> float:
    """CVB update of some objects, with the paper's or the exact variances; returns the sum of log C_i.

    The other parameters are those of `kernels.zeroth_order`.
    """
    links, zeros = sums
    beta_ones, beta_zeros, mass = blocks
    links_spread, unknown_spread, spread, variance = spreads
    pointers, indices, _, linked, unknown, all_linked, all_unknown = neighbours
    n_own, n_other = beta_ones.shape
    total_spread = spread.sum(axis=0)
    x = np.empty((2 * n_own, n_other))
    y = np.empty((2 * n_own, n_other))
    around = np.empty((3, 2 * n_own * n_other))
    cluster_variance = around.reshape(3, 2 * n_own, n_other)
    terms = np.empty(2 * n_own * n_other)
    covariance = np.zeros((3, n_own, n_other))
    plus = np.empty((3, n_other))
    plus_spread = np.empty((3, n_other))
    added = np.empty(n_other)
    log_weights = np.empty(n_own)
    rest = np.empty(n_own)
    log_normaliser = 0.0
    for visit in range(objects.shape[0]):
        i = objects[visit]
        ones_of = indices[0][pointers[0][i] : pointers[0][i + 1]]
        unknown_of = indices[1][pointers[1][i] : pointers[1][i + 1]]
        for m in range(n_other):
            plus[ONES, m] = links[i, m]
            plus[ZEROS, m] = zeros[i, m]
            plus[TOTAL, m] = links[i, m] + zeros[i, m]
            plus_spread[ONES, m] = links_spread[i, m]
            plus_spread[TOTAL, m] = max(total_spread[m] - unknown_spread[i, m], 0.0)
            plus_spread[ZEROS, m] = max(plus_spread[TOTAL, m] - links_spread[i, m], 0.0)
        for k in range(n_own):
            rest[k] = max(mass[k] - q[i, k], 0.0)
        if exact:
            _shift_neighbours(q[i], -1.0, ones_of, unknown_of, linked, unknown)
            for k in range(n_own):
                for m in range(n_other):
                    all_linked[k, m] -= q[i, k] * links_spread[i, m]
                    all_unknown[k, m] -= q[i, k] * unknown_spread[i, m]
            _covariances(
                ones_of,
                unknown_of,
                spread,
                neighbours,
                total_spread,
                rest,
                links_spread[i],
                unknown_spread[i],
                covariance,
            )
        for k in range(n_own):
            share = q[i, k]
            row = n_own + k
            add_share(beta_ones[k], plus[ONES], 1.0 - share, x[k])
            add_share(beta_zeros[k], plus[ZEROS], 1.0 - share, y[k])
            add_share(beta_ones[k], plus[ONES], -share, x[row])
            add_share(beta_zeros[k], plus[ZEROS], -share, y[row])
            for what in range(3):
                _added_variance(share, exact, plus[what], plus_spread[what], covariance[what, k], added)
                for m in range(n_other):
                    without = max(variance[what, k, m] - added[m], 0.0)
                    variance[what, k, m] = without
                    cluster_variance[what, row, m] = without
                    inside = without + plus_spread[what, m]
                    if exact:
                        inside += 2.0 * covariance[what, k, m]
                    cluster_variance[what, k, m] = max(inside, 0.0)
        _second_terms(x.reshape(-1), y.reshape(-1), around, terms)
        log_prior(rest, alpha, log_weights)
        for k in range(n_own):
            row = n_own + k
            log_weights[k] += total_of(terms[k * n_other : (k + 1) * n_other])
            log_weights[k] -= total_of(terms[row * n_other : (row + 1) * n_other])
        log_normaliser += normalise(log_weights)
        for k in range(n_own):
            if update:
                change = log_weights[k] - q[i, k]
                q[i, k] = log_weights[k]
                mass[k] += change
                if abs(change) > NEGLIGIBLE:
                    add_share(beta_ones[k], plus[ONES], change, beta_ones[k])
                    add_share(beta_zeros[k], plus[ZEROS], change, beta_zeros[k])
            for what in range(3):
                _added_variance(q[i, k], exact, plus[what], plus_spread[what], covariance[what, k], added)
                for m in range(n_other):
                    variance[what, k, m] += added[m]
        if exact:
            _shift_neighbours(q[i], 1.0, ones_of, unknown_of, linked, unknown)
            for k in range(n_own):
                for m in range(n_other):
                    all_linked[k, m] += q[i, k] * links_spread[i, m]
                    all_unknown[k, m] += q[i, k] * unknown_spread[i, m]
    return log_normaliser


@nb.njit(**OPTIONS)
def _shift_neighbours(
    shares: Floats,
    sign: float,
    ones_of: NDArray[np.int32],
    unknown_of: NDArray[np.int32],
    linked: Floats,
    unknown: Floats,
) -> None:
    """Take an object out of its neighbours' sums (sign -1) or put it in (+1)."""
    for j in ones_of:
        for k in range(shares.shape[0]):
            linked[j, k] += sign * shares[k]
    for j in unknown_of:
        for k in range(shares.shape[0]):
            unknown[j, k] += sign * shares[k]


class _Sums(NamedTuple):
    """Sums over the entries of one pattern: of r, r^2 for each row object, of p, p^2 for each column object."""

    r: Floats
    r_squared: Floats
    p: Floats
    p_squared: Floats

    def less(self, other: _Sums) -> _Sums:
        return _Sums(*(own - part for own, part in zip(self, other, strict=True)))


def count_variances(
    relation: Relation, rows: Floats, cols: Floats, *, exact: bool, poll: Poll = no_poll
) -> Floats:
    """Return the variances of the ones, zeros and observed entries of every block.

    `rows`, `cols`: shapes (N1, K1), (N2, K2); responsibilities p and r.
    `exact`: False: sum of p(1-p) r(1-r) over the entries (IRM14 eq. 91). True: the variance of the count, in which
      entries that share an object are correlated: sum (p r - p^2 r^2) + sum_i p(1-p) [(sum_j r)^2 - sum_j r^2] + sum_j
      r(1-r) [(sum_i p)^2 - sum_i p^2].
    Returns: shape (3, K1, K2); in the order ones, zeros, observed entries.
    """
    if exact:
        links = _pattern_sums(relation, rows, cols, "ones", poll)
        unknown = _pattern_sums(relation, rows, cols, "missing", poll)
        observed = _all_entries(rows, cols).less(unknown)
        parts = [_exact(sums, rows, cols) for sums in (links, observed.less(links), observed)]
    else:
        p, r = rows * (1.0 - rows), cols * (1.0 - cols)
        of_ones = p.T @ neighbour_sums(relation.ones, r, poll)
        of_unknown = p.T @ neighbour_sums(relation.missing, r, poll)
        of_observed = np.outer(p.sum(axis=0), r.sum(axis=0)) - of_unknown
        parts = [of_ones, of_observed - of_ones, of_observed]
    return np.ascontiguousarray(np.maximum(np.stack(parts), 0.0))


def _pattern_sums(relation: Relation, rows: Floats, cols: Floats, which: str, poll: Poll) -> _Sums:
    pattern, turned = getattr(relation, which), getattr(relation.transposed, which)
    return _Sums(
        neighbour_sums(pattern, cols, poll),
        neighbour_sums(pattern, cols**2, poll),
        neighbour_sums(turned, rows, poll),
        neighbour_sums(turned, rows**2, poll),
    )


def _all_entries(rows: Floats, cols: Floats) -> _Sums:
    def whole(values: Floats, count: int) -> Floats:
        return np.broadcast_to(values.sum(axis=0), (count, values.shape[1]))

    return _Sums(
        whole(cols, len(rows)), whole(cols**2, len(rows)), whole(rows, len(cols)), whole(rows**2, len(cols))
    )


def _exact(sums: _Sums, p: Floats, r: Floats) -> Floats:
    return (
        p.T @ sums.r
        - (p**2).T @ sums.r_squared
        + (p * (1.0 - p)).T @ (sums.r**2 - sums.r_squared)
        + (sums.p**2 - sums.p_squared).T @ (r * (1.0 - r))
    )
