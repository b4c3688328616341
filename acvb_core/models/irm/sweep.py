"""Sweeps over the objects: one domain at a time, or both in one random order (IRM14 Fig. 2)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from acvb_core.core.parallel import run_together
from acvb_core.core.protocols import Poll, no_poll
from acvb_core.data.relation import Relation
from acvb_core.models.irm.kernels import (
    NO_LIMITS,
    BlockCounts,
    Floats,
    Limits,
    ObjectSums,
    chunk_length,
    cluster_sums,
    make_bounds,
    make_room,
    neighbour_sums,
    zeroth_order,
)
from acvb_core.models.irm.second_order import Neighbours, Spreads, count_variances, second_order
from acvb_core.models.irm.state import IrmState, block_counts, observed_sums

Variances = Literal["zeroth", "paper", "exact"]
#: An update of some objects, which returns the sum of their log C_i.
Step = Callable[[NDArray[np.int64]], float]
#: Of a relation with so many links, so many objects or more are visited in parts, side by side …
LARGE, _PARTS_FROM = 1_000_000, 4_096
#: … of this number. Each sees the blocks as they were before the pass, and what it has changed itself.
PARTS = 4


@dataclass
class _Part:
    """Some of the objects of a pass, in order, with the blocks as the part has changed them."""

    objects: NDArray[np.int64]
    blocks: BlockCounts
    step: Step | None = None
    at: int = 0
    loo: float = 0.0


class DomainPass:
    """One pass over the row objects of a relation while the columns stay fixed.

    Bits depend on the number of parts, never on the number of threads that visit them.

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
    ) -> None:
        self.relation = relation
        self.other = np.ascontiguousarray(other)
        self._set_counts(own, *observed_sums(relation, other, poll), a, b, alpha)
        self.sizes, self.is_large = self.other.sum(axis=0), relation.n_ones >= LARGE

    @classmethod
    def of_sums(
        cls, own: Floats, links: Floats, zeros: Floats, a: Floats, b: Floats, alpha: float
    ) -> DomainPass:
        """Return a pass over objects whose ones and zeros by cluster of the columns are known (zeroth order only)."""
        domain_pass = cls.__new__(cls)
        domain_pass._set_counts(own, links, zeros, a, b, alpha)
        domain_pass.sizes, domain_pass.is_large = (links + zeros).max(axis=0, initial=0.0), False
        return domain_pass

    def _set_counts(
        self, own: Floats, links: Floats, zeros: Floats, a: Floats, b: Floats, alpha: float
    ) -> None:
        self.own = np.ascontiguousarray(own)
        self.a, self.b, self.alpha = a, b, alpha
        self.sums = ObjectSums(links, zeros)
        # The counts are rebuilt here in every pass, so what adding and subtracting rounds off cannot pile up.
        ones, zeros = cluster_sums(self.own, links), cluster_sums(self.own, zeros)
        self.blocks = BlockCounts(a + ones, b + zeros, self.own.sum(axis=0))

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
        """Visit the objects in the given order, at zeroth order within limits; return the sum of log C_i (nats)."""
        n_own, n_other = self.blocks.ones.shape
        length = chunk_length(n_own, n_other, 6.0 if order == "zeroth" else 40.0)
        if order != "zeroth":
            step = self._second(order == "exact", update, poll)
            return visit_in_chunks(step, objects, length, poll)
        before = self.blocks
        n_parts = PARTS if self.is_large and len(objects) >= _PARTS_FROM else 1
        parts = [
            _Part(some, before if n_parts == 1 else BlockCounts(*map(np.copy, before)))
            for some in np.array_split(objects, n_parts)
        ]

        def advance(part: _Part) -> bool:
            if part.step is None:
                part.step = self._zeroth(part, update, limits)
            part.loo += part.step(part.objects[part.at : part.at + length])
            part.at += length
            return part.at < len(part.objects)

        run_together([partial(advance, part) for part in parts], poll)
        if n_parts > 1:
            changes = ([part.blocks[at] - counts for part in parts] for at, counts in enumerate(before))
            after = (counts + sum(change) for counts, change in zip(before, changes, strict=True))
            self.blocks = BlockCounts(*after)
        return sum(part.loo for part in parts)

    def _zeroth(self, part: _Part, update: bool, limits: Limits) -> Step:
        blocks, room = part.blocks, make_room(*part.blocks.ones.shape)
        n_bounded = 0 if limits.least >= 0.0 else len(part.objects)
        bounds = make_bounds(blocks.ones, blocks.zeros, self.sums.links, self.sizes, n_bounded)
        return lambda objects: zeroth_order(
            objects, self.own, self.sums, blocks, bounds, room, self.alpha, update, limits
        )

    def _second(self, exact: bool, update: bool, poll: Poll) -> Step:
        relation, own, other = self.relation, self.own, self.other
        spread = other * (1.0 - other)
        variance = count_variances(relation, own, other, exact=exact, poll=poll)
        links_spread = neighbour_sums(relation.ones, spread, poll)
        unknown_spread = neighbour_sums(relation.missing, spread, poll)
        n_other = other.shape[0] if exact else 0
        linked = unknown = np.zeros((n_other, own.shape[1]))
        if exact:
            linked = neighbour_sums(relation.transposed.ones, own, poll)
            unknown = neighbour_sums(relation.transposed.missing, own, poll)
        patterns = (relation.ones, relation.missing)
        neighbours = Neighbours(
            pointers=(patterns[0].indptr, patterns[1].indptr),
            indices=(patterns[0].indices, patterns[1].indices),
            soft=spread.max(axis=1) > 1e-12,
            linked=linked,
            unknown=unknown,
            all_linked=np.ascontiguousarray(linked.T @ spread[:n_other]),
            all_unknown=np.ascontiguousarray(unknown.T @ spread[:n_other]),
        )
        spreads = Spreads(links_spread, unknown_spread, spread, variance)
        return lambda objects: second_order(
            objects, own, self.sums, self.blocks, spreads, neighbours, self.alpha, exact, update
        )


def observed_counts(blocks: BlockCounts, a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Return the ones and the observed entries of every block, the prior taken off again."""
    ones = np.maximum(blocks.ones - a, 0.0)
    return ones, ones + np.maximum(blocks.zeros - b, 0.0)


def visit_in_chunks(step: Step, objects: NDArray[np.int64], length: int, poll: Poll) -> float:
    """Call `step` with `length` objects at a time; return the sum of what it returns."""
    total = 0.0
    for begin in range(0, len(objects), length):
        total += step(objects[begin : begin + length])
        poll()
    return float(total)


@dataclass(eq=False)
class Side:
    """The objects of one domain: their responsibilities, and the counts of all blocks, this domain along the rows."""

    relation: Relation  #: with these objects as rows
    q: Floats  #: shape (N, K); changed in place
    alpha: float
    blocks: BlockCounts  #: kept up to date
    variance: Floats  #: shape (3, K, L); of the counts, by IRM14 eqs. 91-92, kept up to date
    #: `links`, `zeros`, `links_spread`, `unknown_spread`: shape (N, L); sums over the other domain's q and q (1 - q),
    #: made anew for an object when it is visited.
    links: Floats
    zeros: Floats
    links_spread: Floats
    unknown_spread: Floats

    @classmethod
    def of(cls, relation: Relation, q: Floats, n_other: int, alpha: float) -> Side:
        """Return a side whose block counts are still to be taken from the other."""
        sums = (np.zeros((len(q), n_other)) for _ in range(4))
        variance = np.zeros((3, q.shape[1], n_other))
        blocks = BlockCounts(variance[0], variance[1], q.sum(axis=0))
        return cls(relation, q.copy(), alpha, blocks, variance, *sums)

    def take_counts(self, ones: Floats, zeros: Floats, variance: Floats) -> None:
        """Take over the counts of all blocks, priors included, and their variances."""
        self.blocks = BlockCounts(np.ascontiguousarray(ones), np.ascontiguousarray(zeros), self.blocks.mass)
        self.variance = np.ascontiguousarray(variance)

    def update(self, objects: NDArray[np.int64], other: Side, order: Variances) -> float:
        """Update some objects in turn while the other domain stays as it is; return the sum of log C_i (nats)."""
        spread = other.q * (1.0 - other.q)
        for i in objects:
            linked, unknown = (
                _neighbours(pattern, i) for pattern in (self.relation.ones, self.relation.missing)
            )
            self.links[i] = other.q[linked].sum(axis=0)
            left = other.blocks.mass - self.links[i] - other.q[unknown].sum(axis=0)
            self.zeros[i] = np.maximum(left, 0.0)
            self.links_spread[i] = spread[linked].sum(axis=0)
            self.unknown_spread[i] = spread[unknown].sum(axis=0)
        sums = ObjectSums(self.links, self.zeros)
        if order == "zeroth":
            shape = self.blocks.ones.shape
            bounds = make_bounds(self.blocks.ones, self.blocks.zeros, self.links, other.blocks.mass, 0)
            return float(
                zeroth_order(
                    objects, self.q, sums, self.blocks, bounds, make_room(*shape), self.alpha, True, NO_LIMITS
                )
            )
        spreads = Spreads(self.links_spread, self.unknown_spread, spread, self.variance)
        nothing = _no_neighbours(self)
        return float(
            second_order(objects, self.q, sums, self.blocks, spreads, nothing, self.alpha, False, True)
        )


def _neighbours(pattern: sparse.csr_array, i: int) -> NDArray[np.int32]:
    row: NDArray[np.int32] = pattern.indices[pattern.indptr[i] : pattern.indptr[i + 1]]
    return row


def _no_neighbours(side: Side) -> Neighbours:
    """Return what only the exact variances need, empty."""
    ones, missing = side.relation.ones, side.relation.missing
    n_own, n_other = side.blocks.ones.shape
    nothing, blocks = np.zeros((0, n_own)), np.zeros((n_own, n_other))
    soft = np.zeros(0, dtype=np.bool_)
    return Neighbours(
        (ones.indptr, missing.indptr), (ones.indices, missing.indices), soft, nothing, nothing, blocks, blocks
    )


def update_interleaved(
    relation: Relation, state: IrmState, order: Variances, rng: np.random.Generator, poll: Poll
) -> tuple[IrmState, float]:
    """Update every object of both domains once, in one random order; return the state and the sum of log C_i (nats).

    The clusters are ordered by size after the sweep, not after every object.
    """
    a, b = state.hyper.blocks(state.ones.shape)
    q1, q2 = (state.q[domain] for domain in state.layout.axes)
    alpha = state.hyper.alpha
    sides = (
        Side.of(relation, q1, q2.shape[1], alpha["rows"]),
        Side.of(relation.transposed, q2, q1.shape[1], alpha["cols"]),
    )
    variance = np.zeros((3, *a.shape))
    if order != "zeroth":
        variance = count_variances(relation, q1, q2, exact=False, poll=poll)
    sides[0].take_counts(a + state.ones, b + np.maximum(state.entries - state.ones, 0.0), variance)
    visits = rng.permutation(len(q1) + len(q2))
    runs, last, total = np.split(visits, np.flatnonzero(np.diff(visits >= len(q1))) + 1), 0, 0.0
    for objects in runs:  # of one domain each
        at = int(objects[0] >= len(q1))
        if at != last:
            ones, zeros, _ = sides[last].blocks
            sides[at].take_counts(ones.T, zeros.T, sides[last].variance.transpose(0, 2, 1))
        total += sides[at].update(objects - at * len(q1), sides[1 - at], order)
        last = at
        poll()
    q = dict(zip(state.layout.axes, (side.q for side in sides), strict=True))
    ones, entries = block_counts(relation, q, state.layout, poll)
    return replace(state, q=q, ones=ones, entries=entries), total
