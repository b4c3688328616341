"""Compiled Gibbs draws of the clusters of all objects of a domain, for blocks of counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray

from acvb_core.core.protocols import Poll, no_poll
from acvb_core.core.special import INLINE, OPTIONS, lgamma, log
from acvb_core.data.relation import CountRelation
from acvb_core.models.irm.gibbs import BlockPair
from acvb_core.models.irm.gibbs_kernels import Labels, Side, choose_cluster, swap_clusters
from acvb_core.models.irm.kernels import Floats, Layout, chunk_length

Indices = NDArray[np.int64]
#: Tables of blocks have a multiple of so many columns: compiled loops take so many at a time.
_LANES = 8
#: Links to a cluster at most whose log Gamma is computed as a product, and factors of a product at most, so that it is
#: never too large or too small for a number.
_FEW, _FACTORS = 8.0, 24.0
_IN, _OUT = 1.0, -1.0


class Counts(NamedTuple):
    """The counts of the objects that are drawn, as rows, and their activity.

    Both halves of a directed network have entries: links from an object, then links to it.
    """

    links: tuple[Floats, Floats]  #: the counts of the links, by row, then by column
    own: Floats  #: shape (H, N); activity of the objects that are drawn, by the direction of the link
    across: Floats  #: shape (H, N2); activity of the objects across

    @classmethod
    def of(cls, relation: CountRelation, side: Side) -> Counts:
        """Return the counts of a side."""
        links = relation.transposed.counts if side.links.directed else relation.counts
        activity = np.stack([relation.row_activity]), np.stack([relation.column_activity])
        if side.links.directed:
            activity = relation.activity, relation.activity[::-1].copy()
        return cls((relation.counts, links), *activity)


class BlockTable(NamedTuple):
    """The sums of all blocks, shape (H, L, R), and logarithms of them that many objects share.

    Columns are clusters of the objects that are drawn, the first empty one is the cluster that may be born next. A
    directed network has a second half, H = 2, the transpose of the first.
    """

    counts: Floats
    exposures: Floats
    base: Floats  #: shape (R,); sum of (a + count) log(b + exposure) of each column
    reach: Floats  #: shape (H, L); activity of all objects in a cluster across


def draw_side(
    relation: CountRelation,
    others: Labels | None,
    labels: Labels,
    counts: BlockPair,
    prior: tuple[float, float],
    alpha: float,
    rng: np.random.Generator,
    poll: Poll = no_poll,
    *,
    directed: bool,
) -> tuple[Labels, BlockPair, int]:
    """Draw the cluster of every row object in turn, in a fresh random order.

    `others` are the clusters of the columns, None for a network. `labels` have no gaps; `counts`: shape (K, L) each,
    the counts of their blocks, and these plus the exposures.
    Returns new labels without gaps, the counts of their blocks, and how many objects changed company.
    """
    side = Side.of(relation, others, directed=directed)
    data = Counts.of(relation, side)
    objects, uniforms = rng.permutation(len(labels)), rng.random(len(labels))
    labels, (sums, entries) = labels.copy(), counts
    exposures = np.maximum(entries - sums, 0.0)
    per_object = sum(pointers[-1] for pointers in side.links.pointers) // len(labels)
    at = moved = 0
    while at < len(objects):
        length = chunk_length(len(sums), len(data.own) * sums.shape[1] + per_object // len(sums), 3.0)
        some = objects[at : at + length], uniforms[at : at + length]
        drawn, sums, exposures, changed = draw_some(*some, labels, side, data, sums, exposures, prior, alpha)
        at, moved = at + drawn, moved + changed
        poll()
    sums, exposures = sum_blocks(labels, side, data)
    return labels, (sums, sums + exposures), moved


def count_labels(relation: CountRelation, labels: Mapping[str, Labels], layout: Layout) -> BlockPair:
    """Return the counts of all blocks, and these plus the exposures: `gibbs.count_blocks`, of counts and far sooner."""
    rows, columns = (labels[domain] for domain in layout.axes)
    directed = layout.one_domain and not layout.symmetric
    side = Side.of(relation, None if layout.one_domain else columns, directed=directed)
    counts, exposures = sum_blocks(rows, side, Counts.of(relation, side))
    return counts, counts + exposures


@nb.njit(**OPTIONS)
def draw_some(
    objects: Labels,
    uniforms: Floats,
    labels: Labels,
    side: Side,
    data: Counts,
    counts: Floats,
    exposures: Floats,
    prior: tuple[float, float],
    alpha: float,
) -> tuple[int, Floats, Floats, int]:
    """Draw the clusters of objects in turn, until all are drawn or there is no room for another cluster.

    `labels` have no gaps, and have none afterwards; they are changed in place. `counts`, `exposures`: shape (K, L).
    Returns how many objects were drawn, the new sums of the blocks, and how many objects changed company.
    """
    # Arrays are taken out of tuples before the loop: Numba counts references whenever it takes one out.
    width = counts.shape[0]
    room = _round_up(width + max(width // 2, 8))
    (pointers, indices, own_links, _, _, _), _, labels_across, is_network = side
    if is_network:
        labels_across = labels
    weights, own, across = data
    halves = own.shape[0]
    links_at, missing_at, links_back_at, missing_back_at = pointers
    linked, missing, linked_back, missing_back = indices
    weights_of, weights_back = weights
    blocks = _lay_out(room, labels_across, across, is_network, counts, exposures, prior)
    table, reach = blocks.counts, blocks.reach
    sizes, log_prior = np.zeros(room, np.int64), np.full(room, log(alpha))
    for label in labels:
        sizes[label] += 1
    for k in range(width):
        log_prior[k] = log(float(sizes[k]))
    s, x = np.zeros(reach.shape), np.zeros(reach.shape)
    log_weights, scratch = np.empty(room), np.zeros((3, max(room, reach.shape[1])))
    n_across = table.shape[1]
    drawn = moved = 0
    while drawn < objects.shape[0] and width < room:
        i = objects[drawn]
        old = labels[i]
        sizes[old] -= 1
        alone = sizes[old] == 0
        log_prior[old] = log(alpha) if alone else log(float(sizes[old]))
        # An object that is alone may stay alone in its own cluster.
        n_choices = width if alone else width + 1
        skip, own_count, own_exposure = -1, 0.0, 0.0
        if is_network:
            n_across, skip = width + 1, i
            own_count, own_exposure = own_links[i, 0], own_links[i, 1]
            for half in range(halves):
                reach[half, old] -= across[half, i]
        _add_links(i, skip, links_at, linked, weights_of, labels_across, s[0])
        add_exposures(i, skip, missing_at, missing, own[0], across[0], labels_across, reach[0], x[0])
        if halves == 2:
            _add_links(i, skip, links_back_at, linked_back, weights_back, labels_across, s[1])
            add_exposures(
                i, skip, missing_back_at, missing_back, own[1], across[1], labels_across, reach[1], x[1]
            )
        item = (s, x, own_count, own_exposure)
        _shift(_OUT, old, n_across, is_network, item, blocks, prior, scratch)
        _weigh(_round_up(n_choices), n_across, is_network, item, blocks, prior, log_weights, scratch[0])
        new = choose_cluster(uniforms[drawn], n_choices, log_prior, log_weights)
        _shift(_IN, new, n_across, is_network, item, blocks, prior, scratch)
        sizes[new] += 1
        log_prior[new] = log(float(sizes[new]))
        if is_network:
            for half in range(halves):
                reach[half, new] += across[half, i]
        drawn += 1
        labels[i] = new
        if new != old:
            moved += 1
            width += new == width
            if alone:
                width -= 1
                _rename(width, old, is_network, labels, sizes, log_prior, blocks)
    n_across = width if is_network else counts.shape[1]
    return drawn, table[0, :n_across, :width].T.copy(), blocks.exposures[0, :n_across, :width].T.copy(), moved


@nb.njit(**INLINE)
def _round_up(n: int) -> int:
    return (n + _LANES - 1) // _LANES * _LANES


@nb.njit(**OPTIONS)
def _lay_out(
    room: int,
    labels_across: Labels,
    across: Floats,
    is_network: bool,
    counts: Floats,
    exposures: Floats,
    prior: tuple[float, float],
) -> BlockTable:
    """Return the tables of blocks, with empty columns for more clusters."""
    halves, n_across = across.shape[0], room if is_network else counts.shape[1]
    shape = (halves, n_across, room)
    reach = np.zeros((halves, _round_up(n_across)))
    for half in range(halves):
        for j in range(labels_across.shape[0]):
            reach[half, labels_across[j]] += across[half, j]
    blocks = BlockTable(np.zeros(shape), np.zeros(shape), np.zeros(room), reach)
    for k in range(counts.shape[0]):
        for m in range(counts.shape[1]):
            blocks.counts[0, m, k], blocks.exposures[0, m, k] = counts[k, m], exposures[k, m]
            if halves == 2:
                blocks.counts[1, k, m], blocks.exposures[1, k, m] = counts[k, m], exposures[k, m]
    for half in range(halves):
        for m in range(n_across):
            for k in range(room):
                n, e = blocks.counts[half, m, k], blocks.exposures[half, m, k]
                blocks.base[k] += (prior[0] + n) * log(prior[1] + e)
    return blocks


@nb.njit(**OPTIONS)
def _add_links(
    i: int,
    skip: int,
    first: NDArray[np.int32],
    neighbours: NDArray[np.int32],
    weights: Floats,
    labels: Labels,
    out: Floats,
) -> None:
    """Add up the counts of row i by cluster across, that of object `skip` left out."""
    for m in range(out.shape[0]):
        out[m] = 0.0
    for p in range(first[i], first[i + 1]):
        j = neighbours[p]
        if j != skip:
            out[labels[j]] += weights[p]


@nb.njit(**OPTIONS)
def add_exposures(
    i: int,
    skip: int,
    first: NDArray[np.int32],
    unknown: NDArray[np.int32],
    own: Floats,
    across: Floats,
    labels: Labels,
    reach: Floats,
    out: Floats,
) -> None:
    """Write the exposure of row i to each cluster across, that to object `skip` left out."""
    for m in range(out.shape[0]):
        out[m] = reach[m]
    for p in range(first[i], first[i + 1]):
        j = unknown[p]
        if j != skip:
            out[labels[j]] -= across[j]
    for m in range(out.shape[0]):
        out[m] = own[i] * max(out[m], 0.0)


@nb.njit(**INLINE)
def _log_rising(x: float, n: float) -> float:
    """Return log Gamma(x + n) - log Gamma(x), for a whole number n."""
    if n > _FEW:
        return lgamma(x + n) - lgamma(x)
    product = 1.0
    for _ in range(int(n)):
        product *= x
        x += 1.0
    return log(product)


@nb.njit(**OPTIONS)
def _weigh(
    n_choices: int,
    n_across: int,
    is_network: bool,
    item: tuple[Floats, Floats, float, float],
    blocks: BlockTable,
    prior: tuple[float, float],
    out: Floats,
    product: Floats,
) -> None:
    """Write the log probability of an object's entries for each choice of its cluster; it is in none so far.

    `product`: to write to; products of a + n, a + n + 1, …, whose logarithms are differences of log Gamma.
    """
    counts, exposures, base, _ = blocks
    s, x, own_count, own_exposure = item
    a, b = prior
    halves, n_factors = counts.shape[0], 0.0
    for k in range(n_choices):
        out[k], product[k] = base[k], 1.0
    for half in range(halves):
        for m in range(n_across):
            linked, exposure = s[half, m], b + x[half, m]
            for k in range(n_choices):
                out[k] -= (a + linked + counts[half, m, k]) * log(exposure + exposures[half, m, k])
            if linked > _FEW:
                for k in range(n_choices):
                    out[k] += lgamma(a + linked + counts[half, m, k]) - lgamma(a + counts[half, m, k])
                continue
            n_factors += linked
            if n_factors > _FACTORS:
                for k in range(n_choices):
                    out[k] += log(product[k])
                    product[k] = 1.0
                n_factors = linked
            for factor in range(int(linked)):
                for k in range(n_choices):
                    product[k] *= a + factor + counts[half, m, k]
    for k in range(n_choices):
        out[k] += log(product[k])
    back = halves - 1
    if is_network and (back or own_exposure > 0.0):
        # Block (k, k) takes the links of both halves at once, and the object's link to itself.
        for k in range(n_choices):
            n, e = a + counts[0, k, k], b + exposures[0, k, k]
            more, more_exposures = own_count + back * s[back, k], own_exposure + back * x[back, k]
            out[k] += (n + s[0, k]) * log(e + x[0, k]) - (n + s[0, k] + more) * log(
                e + x[0, k] + more_exposures
            )
            out[k] += back * ((n + s[back, k]) * log(e + x[back, k]) - n * log(e))
        for k in range(n_choices):
            more = own_count + back * s[back, k]
            if more > 0.0:
                n = a + counts[0, k, k]
                out[k] += _log_rising(n + s[0, k], more) - _log_rising(n, back * s[back, k])


@nb.njit(**OPTIONS)
def _shift(
    sign: float,
    k: int,
    n_across: int,
    is_network: bool,
    item: tuple[Floats, Floats, float, float],
    blocks: BlockTable,
    prior: tuple[float, float],
    scratch: Floats,
) -> None:
    """Add an object's entries to the blocks of cluster k, or take them away, by the sign.

    `scratch`: to write to; a copy of the blocks, which are not side by side, and how the terms of `base` change.
    """
    counts, exposures, base, _ = blocks
    s, x, own_count, own_exposure = item
    a, b = prior
    halves = counts.shape[0]
    n_own = e_own = 0.0
    if is_network:
        n_own, e_own = counts[0, k, k], exposures[0, k, k]
    both, both_exposures = n_own + sign * own_count, e_own + sign * own_exposure
    for half in range(halves):
        for m in range(n_across):
            scratch[0, m], scratch[1, m] = counts[half, m, k], exposures[half, m, k]
        for m in range(_round_up(n_across)):
            n, e = scratch[0, m] + sign * s[half, m], max(scratch[1, m] + sign * x[half, m], 0.0)
            scratch[2, m] = (a + n) * log(b + e) - (a + scratch[0, m]) * log(b + scratch[1, m])
            scratch[0, m], scratch[1, m] = n, e
        for m in range(n_across):
            counts[half, m, k], exposures[half, m, k] = scratch[0, m], scratch[1, m]
        if is_network:
            both += sign * s[half, k]
            both_exposures += sign * x[half, k]
            scratch[2, k] = 0.0
            turned = halves - 1 - half
            for m in range(n_across):
                counts[turned, k, m], exposures[turned, k, m] = scratch[0, m], scratch[1, m]
                base[m] += scratch[2, m]
        total = 0.0
        for m in range(n_across):
            total += scratch[2, m]
        base[k] += total
    if is_network:
        both_exposures = max(both_exposures, 0.0)
        base[k] += halves * ((a + both) * log(b + both_exposures) - (a + n_own) * log(b + e_own))
        for half in range(halves):
            counts[half, k, k], exposures[half, k, k] = both, both_exposures


@nb.njit(**OPTIONS)
def _rename(
    last: int,
    empty: int,
    is_network: bool,
    labels: Labels,
    sizes: Indices,
    log_prior: Floats,
    blocks: BlockTable,
) -> None:
    """Give the last cluster the number of one that is empty."""
    if empty == last:
        return
    counts, exposures, base, reach = blocks
    for i in range(labels.shape[0]):
        if labels[i] == last:
            labels[i] = empty
    sizes[empty], sizes[last] = sizes[last], sizes[empty]
    log_prior[empty], log_prior[last] = log_prior[last], log_prior[empty]
    base[empty], base[last] = base[last], base[empty]
    if is_network:
        swap_clusters(empty, last, True, counts)
        swap_clusters(empty, last, True, exposures)
        for half in range(reach.shape[0]):
            reach[half, empty], reach[half, last] = reach[half, last], reach[half, empty]
    else:
        for m in range(counts.shape[1]):
            counts[0, m, empty], counts[0, m, last] = counts[0, m, last], counts[0, m, empty]
            exposures[0, m, empty], exposures[0, m, last] = exposures[0, m, last], exposures[0, m, empty]


@nb.njit(**OPTIONS)
def sum_blocks(labels: Labels, side: Side, data: Counts) -> tuple[Floats, Floats]:
    """Return the counts and the exposures of all blocks, shape (K, L); of an undirected network each pair once."""
    (pointers, indices, own_links, directed, _, _), _, labels_across, is_network = side
    if is_network:
        labels_across = labels
    shape = labels.max() + 1, labels_across.max() + 1
    counts, exposures = np.zeros(shape), np.zeros(shape)
    reach, reach_across = np.zeros(shape[0]), np.zeros(shape[1])
    links_at, missing_at, _, _ = pointers
    linked, missing, _, _ = indices
    weights, _ = data.links
    own, across = data.own[0], data.across[0]
    for j in range(labels_across.shape[0]):
        reach_across[labels_across[j]] += across[j]
    for i in range(labels.shape[0]):
        k = labels[i]
        reach[k] += own[i]
        for p in range(links_at[i], links_at[i + 1]):
            counts[k, labels_across[linked[p]]] += weights[p]
        for p in range(missing_at[i], missing_at[i + 1]):
            j = missing[p]
            exposures[k, labels_across[j]] -= own[i] * across[j]
    for k in range(shape[0]):
        for m in range(shape[1]):
            exposures[k, m] = max(exposures[k, m] + reach[k] * reach_across[m], 0.0)
    if is_network and not directed:
        # Pairs within a cluster came twice, but not the link of an object to itself.
        for i in range(labels.shape[0]):
            counts[labels[i], labels[i]] += own_links[i, 0]
            exposures[labels[i], labels[i]] += own_links[i, 1]
        for k in range(shape[0]):
            counts[k, k] /= 2.0
            exposures[k, k] /= 2.0
    return counts, exposures
