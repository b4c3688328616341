"""Sweeps over the objects: one domain at a time, or both in one random order (IRM14 Fig. 2)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from acvb_core.core.parallel import run_together
from acvb_core.core.protocols import Poll, no_poll
from acvb_core.data.relation import CountRelation, Relation
from acvb_core.models.irm.kernels import (
    NO_LIMITS,
    BlockCounts,
    Bounds,
    Floats,
    Limits,
    ObjectSums,
    chunk_length,
    cluster_sums,
    largest_count,
    make_scratch,
    neighbour_sums,
    tabulate_cluster,
    zeroth_order,
)
from acvb_core.models.irm.second_order import CountVariances, count_variances, find_neighbours, second_order
from acvb_core.models.irm.state import IrmState, block_counts, observed_sums

Variances = Literal["zeroth", "paper", "exact"]
#: An update of some objects, which returns the sum of their log C_i.
Step = Callable[[NDArray[np.int64]], float]
#: A relation of so many links is swept in parts that run side by side, if at least so many objects are updated …
LARGE, _PARTS_FROM = 1_000_000, 4_096
#: … in this number of parts. Each sees the blocks as they were before the sweep, and its own changes.
PARTS = 4
#: Ratio of the ones at two neighbouring nodes of the chords.
_STEP = 4.0
#: For fewer objects or clusters the tables would take longer than they save.
_FEWEST_OBJECTS, _FEWEST_CLUSTERS = 24, 5


class CoordinateSweep:
    """One sweep over the row objects of a relation while the columns stay fixed.

    Bits depend on the number of parts, never on the number of threads that run them.

    `own`: shape (N, K); responsibilities of the swept domain, changed in place by `run`.
    """

    def __init__(
        self,
        relation: Relation,
        own: Floats,
        other: Floats,
        a: Floats,
        b: Floats,
        alpha: float,
        poll: Poll = no_poll,
        *,
        is_gamma: bool = False,
    ) -> None:
        self.relation = relation
        self.other = np.ascontiguousarray(other)
        self._set_counts(own, *observed_sums(relation, other, poll), a, b, alpha, is_gamma)
        # The nodes of bounds are at least 1, and an object cannot have more ones than a size.
        self.sizes, self.is_large = np.maximum(self.other.sum(axis=0), 1.0), relation.n_ones >= LARGE
        if isinstance(relation, CountRelation):
            self.sizes = relation.row_activity.max() * (relation.column_activity @ self.other)

    @classmethod
    def of_state(
        cls,
        relation: Relation,
        state: IrmState,
        side: int,
        poll: Poll = no_poll,
        clusters: NDArray[np.intp] | None = None,
    ) -> CoordinateSweep:
        """Return the sweep over the rows (side 0) or the columns (side 1) of a relation, on copies of a state's arrays.

        `clusters`: the clusters of the other side to weigh; all of them unless given.
        """
        domain, other = state.layout.axes[side], state.layout.axes[1 - side]
        a, b = state.hyper.blocks(state.ones.shape)
        fixed = state.q[other]
        if side:
            relation, a, b = relation.transposed, a.T, b.T
        if clusters is not None and len(clusters) < fixed.shape[1]:
            fixed, a, b = (np.take(array, clusters, axis=1) for array in (fixed, a, b))
        a, b = np.ascontiguousarray(a), np.ascontiguousarray(b)
        alpha, is_gamma = state.hyper.alpha[domain], state.hyper.is_gamma
        return cls(relation, state.q[domain].copy(), fixed, a, b, alpha, poll, is_gamma=is_gamma)

    @classmethod
    def of_sums(
        cls, own: Floats, links: Floats, zeros: Floats, a: Floats, b: Floats, alpha: float, is_gamma: bool
    ) -> CoordinateSweep:
        """Return a sweep over objects whose ones and zeros by cluster of the columns are known (zeroth order only)."""
        sweep = cls.__new__(cls)
        sweep._set_counts(own, links, zeros, a, b, alpha, is_gamma)
        sweep.sizes, sweep.is_large = (links + zeros).max(axis=0, initial=1.0), False
        return sweep

    def _set_counts(
        self, own: Floats, links: Floats, zeros: Floats, a: Floats, b: Floats, alpha: float, is_gamma: bool
    ) -> None:
        self.own = np.ascontiguousarray(own)
        self.a, self.b, self.alpha = a, b, alpha
        self.sums = ObjectSums(links, zeros)
        # The counts are rebuilt here in every sweep, so that rounding errors of adding and subtracting cannot pile up.
        ones, zeros = cluster_sums(self.own, links), cluster_sums(self.own, zeros)
        self.blocks = BlockCounts(a + ones, b + zeros, self.own.sum(axis=0), is_gamma)

    def counts(self) -> tuple[Floats, Floats]:
        """Return the ones and the observed entries of every block, shape (K, L)."""
        return observed_counts(self.blocks, self.a, self.b)

    def run(
        self,
        order: Variances,
        objects: np.ndarray,
        poll: Poll = no_poll,
        update: bool = True,
        limits: Limits = NO_LIMITS,
    ) -> float:
        """Update the objects in the given order, at zeroth order within limits; return the sum of log C_i (nats)."""
        n_own, n_other = self.blocks.ones.shape
        length = chunk_length(n_own, n_other, 6.0 if order == "zeroth" else 40.0)
        if order != "zeroth":
            return visit_in_chunks(self._second(order == "exact", update, poll), objects, length, poll)
        before = self.blocks
        n_parts = PARTS if self.is_large and len(objects) >= _PARTS_FROM else 1
        nodes = place_nodes(self.sums, self.sizes, before, len(objects) if limits.least < 0.0 else 0)
        arrays = before[:3]
        blocks = [before]
        if n_parts > 1:
            blocks = [before.with_counts(*map(np.copy, arrays)) for _ in range(n_parts)]
        loo = [0.0] * n_parts

        def visit(part: int, some: NDArray[np.int64]) -> Iterator[bool]:
            step = self._zeroth(blocks[part], nodes, update, limits)
            for begin in range(0, len(some), length):
                loo[part] += step(some[begin : begin + length])
                yield begin + length < len(some)

        visits = [visit(part, some) for part, some in enumerate(np.array_split(objects, n_parts))]
        run_together([partial(next, each, False) for each in visits], poll)
        if n_parts > 1:
            changes = ([each[at] - counts for each in blocks] for at, counts in enumerate(arrays))
            after = (counts + sum(change) for counts, change in zip(arrays, changes, strict=True))
            self.blocks = before.with_counts(*after)
        return sum(loo)

    def _zeroth(self, blocks: BlockCounts, nodes: Floats, update: bool, limits: Limits) -> Step:
        scratch = make_scratch(*blocks.ones.shape)
        bounds = make_bounds(blocks, self.sizes, nodes)
        return lambda objects: zeroth_order(
            objects, self.own, self.sums, blocks, bounds, scratch, self.alpha, update, limits
        )

    def _second(self, exact: bool, update: bool, poll: Poll) -> Step:
        relation, own, variance = self.relation, self.own, self.other * (1.0 - self.other)
        counted = np.empty((3, 0, 0))
        if isinstance(relation, CountRelation):
            exact = False
            counted = np.stack(
                [
                    *observed_sums(relation.squared, variance, poll),
                    observed_sums(relation.multiplied, variance, poll)[0],
                ]
            )
            spread = own * (1.0 - own)
            of_blocks = np.stack([cluster_sums(spread, each) for each in counted])
        else:
            of_blocks = count_variances(relation, own, self.other, exact=exact, poll=poll)
        variances = CountVariances(
            links=neighbour_sums(relation.ones, variance, poll),
            unknown=neighbour_sums(relation.missing, variance, poll),
            other=variance,
            blocks=of_blocks,
            counted=counted,
        )
        neighbours = find_neighbours(relation, own, variance, exact, poll)
        return lambda objects: second_order(
            objects, own, self.sums, self.blocks, variances, neighbours, self.alpha, exact, update
        )


def place_nodes(sums: ObjectSums, sizes: Floats, blocks: BlockCounts, n_objects: int) -> Floats:
    """Return the nodes of chords, shape (L, J); none if bounds are of no use.

    `n_objects`: how many will be visited.
    """
    if n_objects < _FEWEST_OBJECTS or len(blocks.mass) < _FEWEST_CLUSTERS:
        return np.empty((0, 1))
    nodes, most = [1.0], largest_count(sums, sizes, blocks.is_gamma)
    while nodes[-1] < most:
        nodes.append(nodes[-1] * _STEP)
    highest = np.full(len(sizes), np.inf) if blocks.is_gamma else sizes
    return np.minimum(nodes, highest[:, None])


def make_bounds(blocks: BlockCounts, sizes: Floats, nodes: Floats) -> Bounds:
    """Return the tables for blocks, priors included; empty without nodes."""
    n_other, n_nodes = nodes.shape
    n_own = len(blocks.mass) if n_other else 0
    bounds = Bounds(
        sizes[:n_other],
        nodes,
        np.empty((n_other, n_own), np.float32),
        np.empty(n_own),
        np.empty((n_nodes, n_other, n_own), np.float32),
        np.empty(n_own),
        np.zeros(n_own),
        np.zeros((n_own, n_other)),
        blocks.is_gamma,
    )
    for k in range(n_own):
        tabulate_cluster(k, blocks.ones[k], blocks.zeros[k], bounds)
    return bounds


def observed_counts(blocks: BlockCounts, a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Return the ones and the observed entries of every block, without the prior."""
    ones = np.maximum(blocks.ones - a, 0.0)
    return ones, ones + np.maximum(blocks.zeros - b, 0.0)


def visit_in_chunks(step: Step, objects: NDArray[np.int64], length: int, poll: Poll) -> float:
    """Call `step` with `length` objects at a time; return the sum of its results."""
    total = 0.0
    for begin in range(0, len(objects), length):
        total += step(objects[begin : begin + length])
        poll()
    return float(total)


class _Side:
    """The objects of one domain in an interleaved sweep, and their sums over the other domain.

    The sums are made again for an object when it is updated, from responsibilities `q` that change in place.
    """

    def __init__(self, relation: Relation, q: Floats, n_other: int, alpha: float) -> None:
        self.relation, self.q, self.alpha = relation, q.copy(), alpha
        self.mass = self.q.sum(axis=0)
        self.links, self.zeros, self.links_variance, self.unknown_variance = np.zeros((4, len(q), n_other))

    def update(
        self, objects: NDArray[np.int64], other: _Side, counts: list[Floats], variance: Floats | None
    ) -> float:
        """Update some objects in turn while the other domain stays as it is; return the sum of log C_i (nats).

        `counts`: shape (K, L) each; ones and zeros of all blocks, priors included. `variance`: shape (3, K, L); of the
        counts by IRM14 eqs. 91-92, or None at zeroth order. All are kept up to date.
        """
        other_variance = other.q * (1.0 - other.q)
        for i in objects:
            linked, unknown = (
                pattern.indices[pattern.indptr[i] : pattern.indptr[i + 1]]
                for pattern in (self.relation.ones, self.relation.missing)
            )
            self.links[i] = other.q[linked].sum(axis=0)
            observed = other.mass - self.links[i] - other.q[unknown].sum(axis=0)
            self.zeros[i] = np.maximum(observed, 0.0)
            self.links_variance[i] = other_variance[linked].sum(axis=0)
            self.unknown_variance[i] = other_variance[unknown].sum(axis=0)
        ones, zeros = counts
        sums, blocks = ObjectSums(self.links, self.zeros), BlockCounts(ones, zeros, self.mass, False)
        if variance is None:
            bounds, scratch = make_bounds(blocks, other.mass, np.empty((0, 1))), make_scratch(*ones.shape)
            args = (objects, self.q, sums, blocks, bounds, scratch, self.alpha, True, NO_LIMITS)
            return float(zeroth_order(*args))
        none = np.empty((3, 0, 0))
        variances = CountVariances(self.links_variance, self.unknown_variance, other_variance, variance, none)
        neighbours = find_neighbours(self.relation, self.q, other_variance, exact=False)
        return float(
            second_order(objects, self.q, sums, blocks, variances, neighbours, self.alpha, False, True)
        )


def update_interleaved(
    relation: Relation, state: IrmState, order: Variances, rng: np.random.Generator, poll: Poll
) -> tuple[IrmState, float]:
    """Update every object of both domains once, in one random order; return the state and the sum of log C_i (nats).

    The clusters are ordered by size after the sweep, not after every object.
    """
    rows, cols = (state.q[domain] for domain in state.layout.axes)
    sides = (
        _Side(relation, rows, cols.shape[1], state.hyper.alpha["rows"]),
        _Side(relation.transposed, cols, rows.shape[1], state.hyper.alpha["cols"]),
    )
    a, b = state.hyper.blocks(state.ones.shape)
    counts = [a + state.ones, b + np.maximum(state.entries - state.ones, 0.0)]
    variance = None
    if order != "zeroth":
        variance = count_variances(relation, rows, cols, exact=False, poll=poll)
    update_order = rng.permutation(len(rows) + len(cols))
    is_column = update_order >= len(rows)
    last, total = 0, 0.0
    for objects in np.split(update_order, np.flatnonzero(np.diff(is_column)) + 1):  # of one domain each
        at = int(objects[0] >= len(rows))
        if at != last:
            counts = [np.ascontiguousarray(each.T) for each in counts]
            if variance is not None:
                variance = np.ascontiguousarray(variance.transpose(0, 2, 1))
        total += sides[at].update(objects - at * len(rows), sides[1 - at], counts, variance)
        last = at
        poll()
    q = dict(zip(state.layout.axes, (side.q for side in sides), strict=True))
    ones, entries = block_counts(relation, q, state.layout, poll)
    return replace(state, q=q, ones=ones, entries=entries), total
