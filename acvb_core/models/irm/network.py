"""Networks, where one clustering serves both ends of a link: compiled updates and sweeps."""

from __future__ import annotations

import math
from typing import NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray

from acvb_core.core.protocols import Poll, no_poll
from acvb_core.core.special import OPTIONS, lbeta, trigamma
from acvb_core.data.relation import CountRelation, Relation
from acvb_core.models.irm.kernels import (
    NEGLIGIBLE,
    SMALLEST,
    BlockCounts,
    Floats,
    Layout,
    block_term,
    block_terms,
    log_prior,
    normalise,
)
from acvb_core.models.irm.state import IrmState, block_counts
from acvb_core.models.irm.sweep import Step, Variances, observed_counts, visit_in_chunks

Indices = NDArray[np.int32]
FourPatterns = tuple[Indices, Indices, Indices, Indices]
#: Rows of the small arrays that hold what an object brings: ones, zeros of its own row, ones, zeros of its column.
OUT_ONES, OUT_ZEROS, IN_ONES, IN_ZEROS = 0, 1, 2, 3
#: Zeros in the place that block (k, k) leaves empty if it comes only once: with one 1, log B = -log(_SPARE). Few
#: zeros anywhere make all the others slower.
_SPARE = 8.0


class NetworkLinks(NamedTuple):
    """The links of a network."""

    #: `pointers`, `indices`: CSR patterns of the ones and the missing entries, by row, then by column.
    pointers: FourPatterns
    indices: FourPatterns
    #: Shape (N, 2); an object's link to itself: (1, 0) linked, (0, 1) not linked, (0, 0) missing. Of counts: its count
    #: and its exposure.
    own: Floats
    directed: bool
    #: `weights`: of the ones by row and by column, empty if all are 1. `activity`: shape (2, N), of an object as a row
    #: and as a column; (2, 0) if links are not counted.
    weights: tuple[Floats, Floats]
    activity: Floats


class ObjectLinks(NamedTuple):
    """The links that one object adds to the blocks: `sums` by cluster, shape (4, K), its link to itself, shape (2,)."""

    sums: Floats
    own: Floats
    directed: bool


@nb.njit(**OPTIONS)
def sum_object_links(i: int, links: NetworkLinks, values: Floats, total: Floats, out: Floats) -> None:
    """Write what object i brings to the blocks, by cluster of the other object.

    `values`: shape (N, K); responsibilities (or their spreads).
    `total`: shape (1, K); their sum over all objects. Of counts, shape (2, K): `sum_reach` of them.
    `out`: shape (4, K); ones and zeros of the object's row, ones and zeros of its column (directed only), itself left
      out.
    """
    n_clusters, sides = total.shape[1], 2 if links.directed else 1
    activity = links.activity
    is_counted = activity.shape[1] > 0
    for which in range(2 * sides):
        indptr, indices, weights = links.pointers[which], links.indices[which], links.weights[which // 2]
        for m in range(n_clusters):
            out[which, m] = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            if j != i and is_counted:
                share = activity[1 - which // 2, j] if which % 2 else weights[p]
                for m in range(n_clusters):
                    out[which, m] += share * values[j, m]
            elif j != i:
                for m in range(n_clusters):
                    out[which, m] += values[j, m]
    for side in range(sides):
        if is_counted:
            own, across = activity[side, i], activity[1 - side, i]
            for m in range(n_clusters):
                others = total[side, m] - across * values[i, m]
                out[2 * side + 1, m] = own * max(others - out[2 * side + 1, m], 0.0)
        else:
            for m in range(n_clusters):
                others = total[0, m] - values[i, m]
                out[2 * side + 1, m] = max(others - out[2 * side + 1, m] - out[2 * side, m], 0.0)


@nb.njit(**OPTIONS)
def shift_reach(i: int, sign: float, values: Floats, activity: Floats, reach: Floats) -> None:
    """Put object i into the sums of `sum_reach` (sign 1), or take it out (-1)."""
    for side in range(reach.shape[0]):
        for m in range(reach.shape[1]):
            reach[side, m] += sign * activity[1 - side, i] * values[i, m]


def sum_reach(values: Floats, activity: Floats) -> Floats:
    """Return the sums of values times the activity as a column, and as a row, shape (2, K); (0, K) without activity."""
    if not activity.shape[1]:
        return np.empty((0, values.shape[1]))
    return np.ascontiguousarray(activity[::-1] @ values)


@nb.njit(**OPTIONS)
def shift_counts(share: float, k: int, item: ObjectLinks, ones: Floats, zeros: Floats) -> None:
    """Put `share` of an object into cluster k (or take it out, if negative): change ones and zeros in place."""
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
def refresh_terms(changed: NDArray[np.bool_], blocks: BlockCounts, directed: bool, terms: Floats) -> None:
    """Bring `block_term` of the rows and columns of changed clusters up to date; none is changed afterwards."""
    ones, zeros, _, is_gamma = blocks
    n_clusters = ones.shape[0]
    for k in range(n_clusters):
        if changed[k]:
            for m in range(n_clusters):
                terms[k, m] = block_term(max(ones[k, m], SMALLEST), max(zeros[k, m], SMALLEST), is_gamma)
    for k in range(n_clusters):
        if not changed[k]:
            for m in range(n_clusters):
                if changed[m] and directed:
                    terms[k, m] = block_term(max(ones[k, m], SMALLEST), max(zeros[k, m], SMALLEST), is_gamma)
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

    x, y : shape (C, K) undirected, (C, 2 K) directed: the blocks (k, .), then (., k). Block (k, k) comes only once;
      its second place has 1 and `spare`.
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
    x: Floats,
    y: Floats,
    around: Floats,
    out: Floats,
) -> None:
    """Write the log probability of what an object brings, for each of some choices of its cluster.

    `blocks` have the counts without the object, and `terms` the `block_term` of them, shape (K, K).
    `x`, `y`, `around`: room to work in: as in `add_object`, and as many numbers flat.
    """
    ones, zeros, _, is_gamma = blocks
    n_clusters, width = ones.shape[0], x.shape[1]
    add_object(choices, item, SMALLEST, _SPARE, ones, zeros, x, y)
    block_terms(x.reshape(-1), y.reshape(-1), choices.shape[0] * width, is_gamma, around)
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
    reach: Floats,
    alpha: float,
    update: bool,
    least: float,
) -> float:
    """CVB0 update of some objects of a network, one by one; returns the sum of log C_i.

    `objects`: objects to visit, in this order.
    `choices`: clusters among which an object's share of them is divided again; all of them in a sweep.
    `least`: an object's choices are those that hold more of it than this; negative for all of them.
    `q`: shape (N, K); responsibilities, changed in place when `update`.
    `reach`: `sum_reach` of them; kept up to date.
    `alpha`: concentration of the stick-breaking prior.
    """
    ones, zeros, mass, _ = blocks
    total = reach if reach.shape[0] else mass.reshape((1, -1))
    directed = links.directed
    n_clusters = ones.shape[0]
    width = 2 * n_clusters if directed else n_clusters
    x, y = np.empty((choices.shape[0], width)), np.empty((choices.shape[0], width))
    around = np.empty(choices.shape[0] * width)
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
        sum_object_links(i, links, q, total, brought)
        item = ObjectLinks(brought, links.own[i], directed)
        shift_reach(i, -1.0, q, links.activity, reach)
        for k in range(n_clusters):
            before[k] = q[i, k]
            mass[k] = max(mass[k] - before[k], 0.0)
            if before[k] > NEGLIGIBLE:
                shift_counts(-before[k], k, item, ones, zeros)
                changed[k] = True
        refresh_terms(changed, blocks, directed, terms)
        log_prior(mass, alpha, prior)
        cluster_terms(chosen, item, blocks, terms, x, y, around, weights)
        for at in range(n_choices):
            weights[at] += prior[chosen[at]]
        log_normaliser += normalise(weights)
        if update:
            for at in range(n_choices):
                q[i, chosen[at]] = held * weights[at]
        shift_reach(i, 1.0, q, links.activity, reach)
        for k in range(n_clusters):
            mass[k] += q[i, k]
            if q[i, k] > NEGLIGIBLE:
                shift_counts(q[i, k], k, item, ones, zeros)
                changed[k] = True
    return log_normaliser


def spread_counts(relation: Relation, spread: Floats, layout: Layout) -> Floats:
    """Return variances of every block, shape (3, K, K): of the ones, of the zeros, and the covariance of the two.

    The covariance of links is 0: an entry is one or zero.
    """
    q = {layout.axes[0]: spread}
    if isinstance(relation, CountRelation):
        both, _ = block_counts(relation.multiplied, q, layout)
        relation = relation.squared
    else:
        both = np.zeros((spread.shape[1],) * 2)
    ones, entries = block_counts(relation, q, layout)
    return np.ascontiguousarray(np.maximum(np.stack([ones, entries - ones, both]), 0.0))


class NetworkSpreads(NamedTuple):
    """Spreads and variances of second-order terms; all are kept up to date."""

    spread: Floats  #: shape (N, K); q (1 - q)
    total: Floats  #: shape (1, K); its sum over the objects, or of counts (2, K): `sum_reach` of the squared activity
    variance: Floats  #: shape (3, K, K); of every block, from `spread_counts`
    squares: NetworkLinks  #: of counts: the links with their counts and the activity squared
    products: NetworkLinks  #: of counts: the links with counts times exposure, and no activity


@nb.njit(**OPTIONS)
def _second_terms(
    x: Floats, y: Floats, var_x: Floats, var_y: Floats, both: Floats, is_gamma: bool, out: Floats
) -> None:
    """Write the second-order expectation of `block_term` (flat arrays); `both` is the covariance, of counts only."""
    for t in range(out.shape[0]):
        one, zero = max(x[t], SMALLEST), max(y[t], SMALLEST)
        of_one, of_zero = max(var_x[t], 0.0), max(var_y[t], 0.0)
        if is_gamma:
            correction = trigamma(one) * of_one + (one / zero * of_zero - 2.0 * max(both[t], 0.0)) / zero
            out[t] = block_term(one, zero, True) + 0.5 * correction
            continue
        correction = trigamma(one) * of_one + trigamma(zero) * of_zero
        correction -= trigamma(one + zero) * (of_one + of_zero)
        out[t] = lbeta(one, zero) + 0.5 * correction


@nb.njit(**OPTIONS)
def _move_object(
    i: int,
    sign: float,
    q: Floats,
    items: tuple[ObjectLinks, ObjectLinks, ObjectLinks],
    blocks: BlockCounts,
    spreads: NetworkSpreads,
    unused: Floats,
) -> None:
    """Put object i into the counts and their variances (sign 1), or take it out (-1)."""
    ones, zeros, mass, is_gamma = blocks
    spread, total_spread, variance, squares, _ = spreads
    if is_gamma:
        shift_reach(i, sign, spread, squares.activity, total_spread)
    for k in range(mass.shape[0]):
        mass[k] = max(mass[k] + sign * q[i, k], 0.0)
        if not is_gamma:
            total_spread[0, k] = max(total_spread[0, k] + sign * spread[i, k], 0.0)
        if q[i, k] > NEGLIGIBLE:
            shift_counts(sign * q[i, k], k, items[0], ones, zeros)
            shift_counts(sign * spread[i, k], k, items[1], variance[0], variance[1])
            if is_gamma:
                shift_counts(sign * spread[i, k], k, items[2], variance[2], unused)


@nb.njit(**OPTIONS)
def second_order_network(
    objects: NDArray[np.int64],
    choices: NDArray[np.int64],
    q: Floats,
    links: NetworkLinks,
    blocks: BlockCounts,
    reach: Floats,
    spreads: NetworkSpreads,
    alpha: float,
    update: bool,
) -> float:
    """CVB update of some objects of a network; returns the sum of log C_i.

    The other parameters are those of `kernels.zeroth_order_network`.
    """
    ones, zeros, mass, is_gamma = blocks
    spread, total_spread, variance, squares, products = spreads
    total = reach if is_gamma else mass.reshape((1, -1))
    directed = links.directed
    n_clusters, n_choices = ones.shape[0], choices.shape[0]
    width = 2 * n_clusters if directed else n_clusters
    x, y = np.empty((n_choices, width)), np.empty((n_choices, width))
    var_x, var_y = np.empty((n_choices, width)), np.empty((n_choices, width))
    both = np.zeros((n_choices, width))
    around, unused = np.empty((n_choices, width)), np.empty((n_choices, width))
    terms, no_zeros = np.empty((n_clusters, n_clusters)), np.empty((n_clusters, n_clusters))
    brought, brought_spreads = np.empty((4, n_clusters)), np.empty((4, n_clusters))
    brought_both = np.zeros((4, n_clusters))
    certain = np.zeros(2)
    total_spread[:] = 0.0
    for j in range(spread.shape[0]):
        if is_gamma:
            shift_reach(j, 1.0, spread, squares.activity, total_spread)
            continue
        for k in range(n_clusters):
            total_spread[0, k] += spread[j, k]
    prior, log_weights = np.empty(n_clusters), np.empty(n_choices)
    log_normaliser = 0.0
    for visit in range(objects.shape[0]):
        i = objects[visit]
        sum_object_links(i, links, q, total, brought)
        sum_object_links(i, squares, spread, total_spread, brought_spreads)
        item = ObjectLinks(brought, links.own[i], directed)
        item_spreads = ObjectLinks(brought_spreads, squares.own[i], directed)
        if is_gamma:
            sum_object_links(i, products, spread, total_spread, brought_both)
            shift_reach(i, -1.0, q, links.activity, reach)
        items = (item, item_spreads, ObjectLinks(brought_both, products.own[i], directed))
        # Put in for certain, the object's link to itself varies no more.
        certain_spreads = ObjectLinks(brought_spreads, certain, directed)
        held = 0.0
        for at in range(n_choices):
            held += q[i, choices[at]]
        _move_object(i, -1.0, q, items, blocks, spreads, no_zeros)
        _second_terms(
            ones.reshape(-1),
            zeros.reshape(-1),
            variance[0].reshape(-1),
            variance[1].reshape(-1),
            variance[2].reshape(-1),
            is_gamma,
            terms.reshape(-1),
        )
        add_object(choices, item, SMALLEST, 1.0, ones, zeros, x, y)
        add_object(choices, certain_spreads, 0.0, 0.0, variance[0], variance[1], var_x, var_y)
        if directed:
            for at in range(n_choices):
                var_x[at, n_clusters + choices[at]] = 0.0
        if is_gamma:
            certain_both = ObjectLinks(brought_both, certain, directed)
            add_object(choices, certain_both, 0.0, 0.0, variance[2], no_zeros, both, unused)
            if directed:
                for at in range(n_choices):
                    both[at, n_clusters + choices[at]] = 0.0
        _second_terms(
            x.reshape(-1),
            y.reshape(-1),
            var_x.reshape(-1),
            var_y.reshape(-1),
            both.reshape(-1),
            is_gamma,
            around.reshape(-1),
        )
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
        if is_gamma:
            shift_reach(i, 1.0, q, links.activity, reach)
        _move_object(i, 1.0, q, items, blocks, spreads, no_zeros)
    return log_normaliser


def list_links(relation: Relation, directed: bool) -> NetworkLinks:
    """Return the links of a network, by row and by column."""
    ones, missing, turned = relation.ones, relation.missing, relation.transposed
    weights, activity = (np.empty(0), np.empty(0)), np.empty((2, 0))
    if isinstance(relation, CountRelation) and isinstance(turned, CountRelation):
        weights, activity = (relation.counts, turned.counts), relation.activity
    return NetworkLinks(
        pointers=(ones.indptr, missing.indptr, turned.ones.indptr, turned.missing.indptr),
        indices=(ones.indices, missing.indices, turned.ones.indices, turned.missing.indices),
        own=relation.self_links,
        directed=directed,
        weights=weights,
        activity=activity,
    )


class NetworkPass:
    """Updates of the objects of a network, one by one.

    `q`: shape (N, K); responsibilities, changed in place by `run`.
    """

    def __init__(self, relation: Relation, state: IrmState) -> None:
        (domain,) = state.layout.domains
        self.relation, self.layout = relation, state.layout
        self.q = np.ascontiguousarray(state.q[domain]).copy()
        self.a, self.b = state.hyper.blocks(state.ones.shape)
        self.alpha = state.hyper.alpha[domain]
        self.blocks = BlockCounts(
            self.a + np.maximum(state.ones, 0.0),
            self.b + np.maximum(state.entries - state.ones, 0.0),
            self.q.sum(axis=0),
            state.hyper.is_gamma,
        )
        self.links = list_links(relation, not state.layout.symmetric)
        self.reach = sum_reach(self.q, self.links.activity)

    def counts(self) -> tuple[Floats, Floats]:
        """Return the ones and the observed entries of every block, shape (K, K), as they were kept up."""
        return observed_counts(self.blocks, self.a, self.b)

    def run(
        self,
        order: Variances,
        objects: NDArray[np.int64],
        poll: Poll = no_poll,
        update: bool = True,
        choices: NDArray[np.int64] | None = None,
        least: float = -1.0,
    ) -> float:
        """Visit the objects in the given order; return the sum of log C_i (nats).

        `choices` are the clusters among which each object's share of them is divided again (all, unless given); with
        `least`, at zeroth order, only those that hold more of the object than this.
        """
        every = np.arange(len(self.blocks.mass)) if choices is None else choices
        step = self._zeroth(every, update, least) if order == "zeroth" else self._second(every, update)
        length = self.chunk_length(len(every), 6.0 if order == "zeroth" else 40.0)
        return visit_in_chunks(step, objects, length, poll)

    def chunk_length(self, n_choices: int, ns_per_block: float) -> int:
        """Return how many objects a kernel call may take so that it returns within some 30 ms."""
        sides, width = 1 + self.links.directed, len(self.blocks.mass)
        neighbours = (self.relation.n_ones + self.relation.n_missing) / max(len(self.q), 1)
        ns = sides * ((n_choices + 2) * width * ns_per_block + neighbours * width) + 500.0
        return int(max(16, 30e6 / ns))

    def _zeroth(self, choices: NDArray[np.int64], update: bool, least: float) -> Step:
        return lambda objects: zeroth_order_network(
            objects, choices, self.q, self.links, self.blocks, self.reach, self.alpha, update, least
        )

    def _second(self, choices: NDArray[np.int64], update: bool) -> Step:
        spread = self.q * (1.0 - self.q)
        variance = spread_counts(self.relation, spread, self.layout)
        squares = products = self.links
        if isinstance(self.relation, CountRelation):
            squares, products = (
                list_links(each, self.links.directed)
                for each in (self.relation.squared, self.relation.multiplied)
            )
        total = np.zeros((max(len(self.reach), 1), self.q.shape[1]))
        spreads = NetworkSpreads(spread, total, variance, squares, products)
        return lambda objects: second_order_network(
            objects, choices, self.q, self.links, self.blocks, self.reach, spreads, self.alpha, update
        )


@nb.njit(**OPTIONS)
def coordinate_ascent(
    objects: NDArray[np.int64],
    q: Floats,
    links: NetworkLinks,
    log_one: Floats,
    log_zero: Floats,
    shares: Floats,
    mass: Floats,
    reach: Floats,
) -> None:
    """Update some objects of a network under fixed q(v) and q(theta).

    `q`: shape (N, K); responsibilities, changed in place, as are their sum `mass`, shape (K,), and `reach`.
    `log_one`, `log_zero`: shape (K, K); from `vb.expected_logs`.
    `shares`: shape (K,); E log pi_k.
    """
    own, directed = links.own, links.directed
    total = reach if reach.shape[0] else mass.reshape((1, -1))
    n_clusters = mass.shape[0]
    brought, weights = np.empty((4, n_clusters)), np.empty(n_clusters)
    for visit in range(objects.shape[0]):
        i = objects[visit]
        sum_object_links(i, links, q, total, brought)
        shift_reach(i, -1.0, q, links.activity, reach)
        for k in range(n_clusters):
            weight = shares[k] + own[i, 0] * log_one[k, k] + own[i, 1] * log_zero[k, k]
            for m in range(n_clusters):
                weight += brought[OUT_ONES, m] * log_one[k, m] + brought[OUT_ZEROS, m] * log_zero[k, m]
            if directed:
                for m in range(n_clusters):
                    weight += brought[IN_ONES, m] * log_one[m, k] + brought[IN_ZEROS, m] * log_zero[m, k]
            weights[k] = weight
        normalise(weights)
        for k in range(n_clusters):
            mass[k] += weights[k] - q[i, k]
            q[i, k] = weights[k]
        shift_reach(i, 1.0, q, links.activity, reach)
