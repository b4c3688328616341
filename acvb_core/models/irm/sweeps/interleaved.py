"""A sweep as IRM14 prints it: the objects of both domains in one random order (Fig. 2)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from acvb_core.core.protocols import Poll
from acvb_core.data.relation import Relation
from acvb_core.models.irm.domain import Order
from acvb_core.models.irm.kernels import NO_LIMITS, BlockCounts, Floats, ObjectSums, make_room, zeroth_order
from acvb_core.models.irm.kernels_second import Neighbours, Spreads, second_order
from acvb_core.models.irm.state import IrmState, block_counts
from acvb_core.models.irm.sweeps.bounds import make_bounds
from acvb_core.models.irm.variance import count_variances


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

    def update(self, objects: NDArray[np.int64], other: Side, order: Order) -> float:
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
    relation: Relation, state: IrmState, order: Order, rng: np.random.Generator, poll: Poll
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
