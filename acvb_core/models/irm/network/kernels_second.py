"""Compiled inner loop of second-order CVB for networks, with the paper's variances (TNW07; IRM14 eqs. 91-99).

As in `kernels_second.py`, every log Gamma(c + count) becomes log Gamma(c + mean) + 1/2 trigamma(c + mean) variance,
and the variance of a count is that of its entries taken as independent: sum over the pairs of u_ik u_jl, with
u = q (1 - q). An object brings spreads to the variances as it brings links to the counts (`kernels.py`).
"""

from __future__ import annotations

from typing import NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray

from acvb_core.core.special import lbeta, trigamma
from acvb_core.data.relation import Relation
from acvb_core.models.irm.kernels import (
    NEGLIGIBLE,
    OPTIONS,
    SMALLEST,
    BlockCounts,
    Floats,
    log_prior,
    normalise,
)
from acvb_core.models.irm.layout import Layout
from acvb_core.models.irm.network.kernels import (
    NetworkLinks,
    ObjectLinks,
    add_object,
    shift_counts,
    sum_object_links,
)
from acvb_core.models.irm.state import block_counts


def spread_counts(relation: Relation, spread: Floats, layout: Layout) -> Floats:
    """Return the variances of the ones and of the zeros of every block, shape (2, K, K); totals' are their sum."""
    ones, entries = block_counts(relation, {layout.axes[0]: spread}, layout)
    return np.ascontiguousarray(np.maximum(np.stack([ones, entries - ones]), 0.0))


class NetworkSpreads(NamedTuple):
    """Spreads and variances of second-order terms; all are kept up to date."""

    spread: Floats  #: shape (N, K); q (1 - q)
    total: Floats  #: shape (K,); its sum over the objects, made anew in every call
    variance: Floats  #: shape (2, K, K); variances of the ones and of the zeros of every block


@nb.njit(**OPTIONS)
def _second_terms(x: Floats, y: Floats, var_x: Floats, var_y: Floats, out: Floats) -> None:
    """Write the second-order E log B(x, y) for independent variances of x and y (flat arrays)."""
    for t in range(out.shape[0]):
        one, zero = max(x[t], SMALLEST), max(y[t], SMALLEST)
        of_one, of_zero = max(var_x[t], 0.0), max(var_y[t], 0.0)
        correction = trigamma(one) * of_one + trigamma(zero) * of_zero
        correction -= trigamma(one + zero) * (of_one + of_zero)
        out[t] = lbeta(one, zero) + 0.5 * correction


@nb.njit(**OPTIONS)
def _move_object(
    i: int,
    sign: float,
    q: Floats,
    item: ObjectLinks,
    item_spreads: ObjectLinks,
    blocks: BlockCounts,
    spreads: NetworkSpreads,
) -> None:
    """Put object i into the counts and their variances (sign 1), or take it out (-1)."""
    ones, zeros, mass = blocks
    spread, total_spread, variance = spreads
    for k in range(mass.shape[0]):
        mass[k] = max(mass[k] + sign * q[i, k], 0.0)
        total_spread[k] = max(total_spread[k] + sign * spread[i, k], 0.0)
        if q[i, k] > NEGLIGIBLE:
            shift_counts(sign * q[i, k], k, item, ones, zeros)
            shift_counts(sign * spread[i, k], k, item_spreads, variance[0], variance[1])


@nb.njit(**OPTIONS)
def second_order_network(
    objects: NDArray[np.int64],
    choices: NDArray[np.int64],
    q: Floats,
    links: NetworkLinks,
    blocks: BlockCounts,
    spreads: NetworkSpreads,
    alpha: float,
    update: bool,
) -> float:
    """CVB update of some objects of a network; returns the sum of log C_i.

    The other parameters are those of `kernels.zeroth_order_network`.
    """
    ones, zeros, mass = blocks
    spread, total_spread, variance = spreads
    directed = links.directed
    n_clusters, n_choices = ones.shape[0], choices.shape[0]
    width = 2 * n_clusters if directed else n_clusters
    x, y = np.empty((n_choices, width)), np.empty((n_choices, width))
    var_x, var_y = np.empty((n_choices, width)), np.empty((n_choices, width))
    around = np.empty((n_choices, width))
    terms = np.empty((n_clusters, n_clusters))
    brought, brought_spreads = np.empty((4, n_clusters)), np.empty((4, n_clusters))
    certain = np.zeros(2)
    total_spread[:] = 0.0
    for j in range(spread.shape[0]):
        for k in range(n_clusters):
            total_spread[k] += spread[j, k]
    prior, log_weights = np.empty(n_clusters), np.empty(n_choices)
    log_normaliser = 0.0
    for visit in range(objects.shape[0]):
        i = objects[visit]
        sum_object_links(i, links, q, mass, brought)
        sum_object_links(i, links, spread, total_spread, brought_spreads)
        item = ObjectLinks(brought, links.own[i], directed)
        item_spreads = ObjectLinks(brought_spreads, links.own[i], directed)
        # Put in for certain, the object's link to itself varies no more.
        certain_spreads = ObjectLinks(brought_spreads, certain, directed)
        held = 0.0
        for at in range(n_choices):
            held += q[i, choices[at]]
        _move_object(i, -1.0, q, item, item_spreads, blocks, spreads)
        _second_terms(
            ones.reshape(-1),
            zeros.reshape(-1),
            variance[0].reshape(-1),
            variance[1].reshape(-1),
            terms.reshape(-1),
        )
        add_object(choices, item, SMALLEST, 1.0, ones, zeros, x, y)
        add_object(choices, certain_spreads, 0.0, 0.0, variance[0], variance[1], var_x, var_y)
        if directed:
            for at in range(n_choices):
                var_x[at, n_clusters + choices[at]] = 0.0
        _second_terms(x.reshape(-1), y.reshape(-1), var_x.reshape(-1), var_y.reshape(-1), around.reshape(-1))
        log_prior(mass, alpha, prior)
        for at in range(n_choices):
            k = choices[at]
            weight = prior[k]
            for t in range(width):
                weight += around[at, t]
            for m in range(n_clusters):
                weight -= terms[k, m]
                if directed and m != k:
                    weight -= terms[m, k]
            log_weights[at] = weight
        log_normaliser += normalise(log_weights)
        if update:
            for at in range(n_choices):
                k = choices[at]
                q[i, k] = held * log_weights[at]
                spread[i, k] = q[i, k] * (1.0 - q[i, k])
        _move_object(i, 1.0, q, item, item_spreads, blocks, spreads)
    return log_normaliser
