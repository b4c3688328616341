"""Second-order CVB of two-domain relations: variances of the block counts and their update (TNW07; IRM14 §5).

The variance of a responsibility is u = q (1 - q). The paper's variance of a count adds up u_ik u_jl over the entries.
The exact one also has the covariances of entries that share an object.
"""

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
    block_term,
    log_prior,
    neighbour_sums,
    normalise,
    total_of,
)

Indices = NDArray[np.int32]
# Position of the three variances in arrays whose first axis has length 3. Counts have exposures in place of zeros, and
# the covariance of the two in place of the total's variance.
ONES, ZEROS, TOTAL = 0, 1, 2


class CountVariances(NamedTuple):
    """Variances of second-order terms."""

    #: `links`, `unknown`: shape (N, L); sums of u_jl over an object's links and over its unknown entries.
    links: Floats
    unknown: Floats
    other: Floats  #: shape (N', L); u_jl of the other domain
    #: Shape (3, K, L); variances of the ones, zeros and totals with every object counted; kept up to date.
    blocks: Floats
    counted: Floats  #: shape (3, N, L); of counts: what an object that is in a cluster for certain adds to `blocks`


class Neighbours(NamedTuple):
    """Sums over neighbours; the sums are empty unless variances are exact."""

    #: `pointers`, `indices`: CSR patterns of the links and of the unknown entries.
    pointers: tuple[Indices, Indices]
    indices: tuple[Indices, Indices]
    soft: NDArray[np.bool_]  #: shape (N',); objects of the other domain with some u_jl worth a visit
    #: `linked`, `unknown`: shape (N', K); c_jk and h_jk with every object counted; kept up to date.
    linked: Floats
    unknown: Floats
    #: `all_linked`, `all_unknown`: shape (K, L); sum_j u_jl c_jk and sum_j u_jl h_jk; kept up to date.
    all_linked: Floats
    all_unknown: Floats


def find_neighbours(
    relation: Relation, own: Floats, variance: Floats, exact: bool, poll: Poll = no_poll
) -> Neighbours:
    """Return the sums over neighbours for responsibilities `own` of the row objects and u_jl of the others."""
    n_other = len(variance) if exact else 0
    linked = unknown = np.zeros((n_other, own.shape[1]))
    if exact:
        linked = neighbour_sums(relation.transposed.ones, own, poll)
        unknown = neighbour_sums(relation.transposed.missing, own, poll)
    variance, patterns = variance[:n_other], (relation.ones, relation.missing)
    return Neighbours(
        pointers=(patterns[0].indptr, patterns[1].indptr),
        indices=(patterns[0].indices, patterns[1].indices),
        soft=variance.max(axis=1) > 1e-12,
        linked=linked,
        unknown=unknown,
        all_linked=np.ascontiguousarray(linked.T @ variance),
        all_unknown=np.ascontiguousarray(unknown.T @ variance),
    )


@nb.njit(**OPTIONS)
def _second_terms(x: Floats, y: Floats, variance: Floats, is_gamma: bool, out: Floats) -> None:
    """Write the second-order expectation of `block_term` for variances of shape (3, n)."""
    var_x = variance[ONES]
    var_y = variance[ZEROS]
    var_total = variance[TOTAL]
    if is_gamma:
        for t in range(x.shape[0]):
            correction = trigamma(x[t]) * var_x[t] + (x[t] / y[t] * var_y[t] - 2.0 * var_total[t]) / y[t]
            out[t] = block_term(x[t], y[t], True) + 0.5 * correction
        return
    for t in range(x.shape[0]):
        correction = trigamma(x[t]) * var_x[t] + trigamma(y[t]) * var_y[t]
        correction -= trigamma(x[t] + y[t]) * var_total[t]
        out[t] = lbeta(x[t], y[t]) + 0.5 * correction


@nb.njit(**OPTIONS)
def _added_variance(
    share: float, exact: bool, plus: Floats, variance: Floats, covariance: Floats, out: Floats
) -> None:
    """Write what an object that is in the cluster with probability `share` adds to the variance of a count."""
    for m in range(out.shape[0]):
        if exact:
            out[m] = share * (variance[m] + 2.0 * covariance[m]) + share * (1.0 - share) * plus[m] * plus[m]
        else:
            out[m] = share * (1.0 - share) * variance[m]


@nb.njit(**OPTIONS)
def _covariances(
    i: int,
    total_variance: Floats,
    without: Floats,
    variances: CountVariances,
    neighbours: Neighbours,
    out: Floats,
) -> None:
    """Write c+ of the ones, zeros and totals of object i, shape (3, K, L); every input is without it.

    With c_jk, h_jk the expected number of objects of cluster k that are linked to j, unknown to j:
    ones: sum over links of u_jl c_jk; totals: sum over observed j of u_jl (m_k - h_jk); zeros: totals' and ones'
    sums rearranged so that only links and unknown entries are visited. `without` is m_k, `total_variance` sum_j u_jl.
    """
    links_variance, unknown_variance, variance, _, _ = variances
    pointers, indices, soft, linked, unknown, all_linked, all_unknown = neighbours
    n_own, n_other = out.shape[1], out.shape[2]
    for k in range(n_own):
        for m in range(n_other):
            out[ONES, k, m] = 0.0
            # Start from the sums over every j, then take the unknown ones and the links out.
            out[TOTAL, k, m] = without[k] * (total_variance[m] - unknown_variance[i, m]) - all_unknown[k, m]
            out[ZEROS, k, m] = -all_linked[k, m] - without[k] * links_variance[i, m]
    for j in indices[0][pointers[0][i] : pointers[0][i + 1]]:
        if soft[j]:
            for k in range(n_own):
                for m in range(n_other):
                    out[ONES, k, m] += variance[j, m] * linked[j, k]
                    out[ZEROS, k, m] += variance[j, m] * (unknown[j, k] + linked[j, k])
    for j in indices[1][pointers[1][i] : pointers[1][i + 1]]:
        if soft[j]:
            for k in range(n_own):
                for m in range(n_other):
                    out[TOTAL, k, m] += variance[j, m] * unknown[j, k]
                    out[ZEROS, k, m] += variance[j, m] * linked[j, k]
    for k in range(n_own):
        for m in range(n_other):
            out[ZEROS, k, m] += out[TOTAL, k, m]


@nb.njit(**OPTIONS)
def _shift_neighbours(
    i: int, shares: Floats, sign: float, variances: CountVariances, neighbours: Neighbours
) -> None:
    """Take object i out of its neighbours' sums (sign -1) or put it in (+1)."""
    pointers, indices, _, linked, unknown, all_linked, all_unknown = neighbours
    for j in indices[0][pointers[0][i] : pointers[0][i + 1]]:
        for k in range(shares.shape[0]):
            linked[j, k] += sign * shares[k]
    for j in indices[1][pointers[1][i] : pointers[1][i + 1]]:
        for k in range(shares.shape[0]):
            unknown[j, k] += sign * shares[k]
    for k in range(shares.shape[0]):
        for m in range(all_linked.shape[1]):
            all_linked[k, m] += sign * shares[k] * variances.links[i, m]
            all_unknown[k, m] += sign * shares[k] * variances.unknown[i, m]


@nb.njit(**OPTIONS)
def second_order(
    objects: NDArray[np.int64],
    q: Floats,
    sums: ObjectSums,
    blocks: BlockCounts,
    variances: CountVariances,
    neighbours: Neighbours,
    alpha: float,
    exact: bool,
    update: bool,
) -> float:
    """CVB update of some objects, with the paper's or the exact variances; returns the sum of log C_i.

    The other parameters are those of `kernels.zeroth_order`.
    """
    links, zeros = sums
    beta_ones, beta_zeros, mass, is_gamma = blocks
    links_variance, unknown_variance, _, block_variance, counted_variance = variances
    n_own, n_other = beta_ones.shape
    total_variance = variances.other.sum(axis=0)
    x = np.empty((2 * n_own, n_other))
    y = np.empty((2 * n_own, n_other))
    around = np.empty((3, 2 * n_own * n_other))
    cluster_variance = around.reshape(3, 2 * n_own, n_other)
    terms = np.empty(2 * n_own * n_other)
    covariance = np.zeros((3, n_own, n_other))
    plus = np.empty((3, n_other))
    plus_variance = np.empty((3, n_other))
    added = np.empty(n_other)
    log_weights = np.empty(n_own)
    without = np.empty(n_own)
    log_normaliser = 0.0
    for visit in range(objects.shape[0]):
        i = objects[visit]
        for m in range(n_other):
            plus[ONES, m] = links[i, m]
            plus[ZEROS, m] = zeros[i, m]
            plus[TOTAL, m] = links[i, m] + zeros[i, m]
            if is_gamma:
                for what in range(3):
                    plus_variance[what, m] = counted_variance[what, i, m]
                continue
            plus_variance[ONES, m] = links_variance[i, m]
            plus_variance[TOTAL, m] = max(total_variance[m] - unknown_variance[i, m], 0.0)
            plus_variance[ZEROS, m] = max(plus_variance[TOTAL, m] - links_variance[i, m], 0.0)
        for k in range(n_own):
            without[k] = max(mass[k] - q[i, k], 0.0)
        if exact:
            _shift_neighbours(i, q[i], -1.0, variances, neighbours)
            _covariances(i, total_variance, without, variances, neighbours, covariance)
        for k in range(n_own):
            share = q[i, k]
            row = n_own + k
            add_share(beta_ones[k], plus[ONES], 1.0 - share, x[k])
            add_share(beta_zeros[k], plus[ZEROS], 1.0 - share, y[k])
            add_share(beta_ones[k], plus[ONES], -share, x[row])
            add_share(beta_zeros[k], plus[ZEROS], -share, y[row])
            for what in range(3):
                _added_variance(share, exact, plus[what], plus_variance[what], covariance[what, k], added)
                for m in range(n_other):
                    outside = max(block_variance[what, k, m] - added[m], 0.0)
                    block_variance[what, k, m] = outside
                    cluster_variance[what, row, m] = outside
                    inside = outside + plus_variance[what, m]
                    if exact:
                        inside += 2.0 * covariance[what, k, m]
                    cluster_variance[what, k, m] = max(inside, 0.0)
        _second_terms(x.reshape(-1), y.reshape(-1), around, is_gamma, terms)
        log_prior(without, alpha, log_weights)
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
                _added_variance(q[i, k], exact, plus[what], plus_variance[what], covariance[what, k], added)
                for m in range(n_other):
                    block_variance[what, k, m] += added[m]
        if exact:
            _shift_neighbours(i, q[i], 1.0, variances, neighbours)
    return log_normaliser


def count_variances(
    relation: Relation, rows: Floats, cols: Floats, *, exact: bool, poll: Poll = no_poll
) -> Floats:
    """Return the variances of the ones, zeros and observed entries of every block, in this order.

    `rows`, `cols`: shapes (N1, K1), (N2, K2); responsibilities p and r.
    `exact`: False: sum of p(1-p) r(1-r) over the entries (IRM14 eq. 91). True: the variance of the count, in which
      entries that share an object are correlated: sum (p r - p^2 r^2) + sum_i p(1-p) [(sum_j r)^2 - sum_j r^2] + sum_j
      r(1-r) [(sum_i p)^2 - sum_i p^2].
    Returns: shape (3, K1, K2).
    """
    p, r = rows * (1.0 - rows), cols * (1.0 - cols)
    if not exact:
        of_ones = p.T @ neighbour_sums(relation.ones, r, poll)
        of_unknown = p.T @ neighbour_sums(relation.missing, r, poll)
        of_observed = np.outer(p.sum(axis=0), r.sum(axis=0)) - of_unknown
        parts = [of_ones, of_observed - of_ones, of_observed]
    else:
        # Sums of r and r^2 for each row object, of p and p^2 for each column object.
        values = (cols, cols**2, rows, rows**2)
        turned = relation.transposed
        links, unknown = (
            [neighbour_sums(pattern, each, poll) for pattern, each in zip(patterns, values, strict=True)]
            for patterns in (
                [relation.ones, relation.ones, turned.ones, turned.ones],
                [relation.missing, relation.missing, turned.missing, turned.missing],
            )
        )
        observed = [each.sum(axis=0) - part for each, part in zip(values, unknown, strict=True)]
        zeros = [all_of - part for all_of, part in zip(observed, links, strict=True)]
        parts = [
            rows.T @ sum_r - (rows**2).T @ sum_r2 + p.T @ (sum_r**2 - sum_r2) + (sum_p**2 - sum_p2).T @ r
            for sum_r, sum_r2, sum_p, sum_p2 in (links, zeros, observed)
        ]
    return np.ascontiguousarray(np.maximum(np.stack(parts), 0.0))
