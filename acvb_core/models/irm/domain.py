"""One pass over the objects of one domain while the other domain stays fixed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

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
    make_room,
    zeroth_order,
)
from acvb_core.models.irm.kernels_second import Neighbours, Spreads, second_order
from acvb_core.models.irm.moves.neighbours import cluster_sums, neighbour_sums
from acvb_core.models.irm.state import observed_sums
from acvb_core.models.irm.sweeps.bounds import make_bounds
from acvb_core.models.irm.variance import count_variances

Order = Literal["zeroth", "paper", "exact"]
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
        order: Order,
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
