"""Shards of a relation of two domains: rows given the columns, then columns given the rows, a part each; and CVB0."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from acvb_core.core.protocols import Array, Checkpoint, SweepInfo, no_checkpoint
from acvb_core.data.relation import Relation
from acvb_core.models.irm.cvb import CollapsedIrm
from acvb_core.models.irm.domain import DomainPass, observed_counts
from acvb_core.models.irm.kernels import BlockCounts, Floats, Limits
from acvb_core.models.irm.moves.neighbours import cluster_sums
from acvb_core.models.irm.state import IrmState, observed_sums
from acvb_core.models.irm.sweeps.rest import Objects
from acvb_core.models.irm.vb import update_domain
from acvb_core.shards.group import ShardGroup
from acvb_core.shards.place import current_place
from acvb_core.shards.sums import tree_sum


class Slice(NamedTuple):
    """Some neighbouring objects of one domain, with their entries."""

    begin: int
    end: int
    ones: sparse.csr_array  #: shape (n, N of the other domain)
    missing: sparse.csr_array

    @property
    def n_missing(self) -> int:
        """Number of missing entries."""
        return int(self.missing.nnz)

    @classmethod
    def of(cls, relation: Relation, bounds: NDArray[np.int64], number: int) -> Slice:
        """Return the row objects of one shard."""
        begin, end = bounds[number : number + 2].tolist()
        return cls(begin, end, relation.ones[begin:end], relation.missing[begin:end])


class UpdateSums(NamedTuple):
    """Sums over the objects that a shard has visited."""

    #: The first shard's blocks as they are after its objects, of the others by how much theirs changed.
    blocks: BlockCounts
    loo: float  #: log C_i, in nats


class PassSums(NamedTuple):
    """Sums of one pass over a shard's objects, kept so that the driver sends the responsibilities once."""

    turn: int
    own: Floats  #: responsibilities of the shard's objects
    links: Floats  #: ones of each object by cluster of the other domain
    zeros: Floats
    sizes: Floats  #: of the clusters of the other domain


class RelationShard:
    """Some of the rows and some of the columns (a `shards.host.Shard`); of a run it keeps the sums of one pass."""

    def __init__(self, number: int, rows: Slice, columns: Slice) -> None:
        self.number, self.sides = number, {"rows": rows, "cols": columns}
        self._sums: PassSums | None = None

    def block_sums(self, side: str, turn: int, own: Floats, other: Floats) -> BlockCounts:
        """Return the ones and zeros of every block and the sizes of the clusters, of the shard's objects.

        `turn`: what tells these responsibilities from those of any other call.
        """
        rows = own[slice(*self.sides[side][:2])]
        links, zeros = observed_sums(self.sides[side], other)  # type: ignore[arg-type]
        self._sums = PassSums(turn, rows, links, zeros, other.sum(axis=0))
        return BlockCounts(cluster_sums(rows, links), cluster_sums(rows, zeros), rows.sum(axis=0))

    def update(
        self,
        side: str,
        turn: int,
        blocks: BlockCounts,
        settings: tuple[float, Limits],
        objects: NDArray[np.int64],
    ) -> tuple[Floats, UpdateSums] | None:
        """Visit the shard's objects in the order they have among all; None where `block_sums` was not asked before.

        `blocks`: counts of the blocks with their priors.
        `settings`: the concentration, and the limits of `DomainPass.run`.
        """
        if self._sums is None or self._sums.turn != turn:
            return None
        alpha, limits = settings
        begin, end = self.sides[side][:2]
        objects = objects[(objects >= begin) & (objects < end)] - begin
        none = np.zeros(blocks.ones.shape)
        sums = self._sums
        domain_pass = DomainPass.of_sums(sums.own.copy(), sums.links, sums.zeros, none, none, alpha)
        after = BlockCounts(*(np.array(counts) for counts in blocks))
        domain_pass.blocks, domain_pass.sizes = after, sums.sizes
        loo = domain_pass.run("zeroth", objects, limits=limits)
        if self.number:
            after = BlockCounts(*(new - old for new, old in zip(after, blocks, strict=True)))
        return domain_pass.own, UpdateSums(after, loo)

    def climb(
        self, side: str, turn: int, other: Floats, blocks: BlockCounts, alpha: float
    ) -> tuple[Floats, BlockCounts]:
        """Update the shard's objects by VB; return their responsibilities, and the ones and zeros of every block.

        `blocks`: parameters of q(theta), and the sizes of the clusters, of all objects.
        """
        known = self._sums if self._sums is not None and self._sums.turn == turn else None
        links, zeros = known[2:4] if known else observed_sums(self.sides[side], other)  # type: ignore[arg-type]
        own = update_domain(blocks.mass, links, zeros, blocks.ones, blocks.zeros, alpha)
        return own, BlockCounts(cluster_sums(own, links), cluster_sums(own, zeros), own.sum(axis=0))

    def save(self) -> Mapping[str, Array]:
        """Return nothing: all there is follows from the data."""
        return {}

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Leave everything as it is."""


class ShardedSweeps:
    """A method whose sweeps also say what the workers of its shards have come to."""

    group: ShardGroup

    def sweep(
        self, state: IrmState, rng: np.random.Generator, checkpoint: Checkpoint = no_checkpoint
    ) -> tuple[IrmState, SweepInfo]:
        """Sweep as the method does."""
        before = self.group.tally()
        swept, info = super().sweep(state, rng, checkpoint)  # type: ignore[misc]
        return swept, info._replace(**self.group.since(before))


def open_shards(relation: Relation, n_shards: int) -> ShardGroup:
    """Return the shards of a relation of two domains."""
    sides = (relation, relation.transposed)
    cuts = [cut(n_shards, side) for side in sides]
    slices = [
        [Slice.of(side, bounds, number) for side, bounds in zip(sides, cuts, strict=True)]
        for number in range(n_shards)
    ]
    return current_place().open([partial(RelationShard, i, *parts) for i, parts in enumerate(slices)])


@dataclass(frozen=True)
class ShardedIrm(ShardedSweeps, CollapsedIrm):
    """CVB0 whose objects are updated a part each: between the parts, the blocks are those before the pass."""

    n_shards: int = 1

    @cached_property
    def group(self) -> ShardGroup:  # type: ignore[override]
        """The shards, opened when they are first needed; all runs of this method share them."""
        return open_shards(self.relation, self.n_shards)

    def _update_domains(
        self,
        state: IrmState,
        visits: Mapping[str, Objects],
        limits: Mapping[str, Limits],
        checkpoint: Checkpoint,
    ) -> tuple[IrmState, float]:
        """Update objects of two domains; one without any keeps its responsibilities."""
        a, b = state.hyper.blocks(state.ones.shape)
        rows, cols = (state.q[domain] for domain in self.layout.axes)
        ones, entries, loo, alpha = state.ones, state.entries, 0.0, state.hyper.alpha
        if len(visits["rows"]):
            rows, blocks, loo = self._pass(
                "rows", (rows, cols), (a, b), (alpha["rows"], limits["rows"]), visits["rows"]
            )
            ones, entries = observed_counts(blocks, a, b)
            checkpoint()
        if len(visits["cols"]):
            a, b = np.ascontiguousarray(a.T), np.ascontiguousarray(b.T)
            cols, blocks, more = self._pass(
                "cols", (cols, rows), (a, b), (alpha["cols"], limits["cols"]), visits["cols"]
            )
            ones, entries = (np.ascontiguousarray(counts.T) for counts in observed_counts(blocks, a, b))
            loo += more
            checkpoint()
        return replace(state, q={"rows": rows, "cols": cols}, ones=ones, entries=entries), loo

    def _pass(
        self,
        side: str,
        q: tuple[Floats, Floats],
        priors: tuple[Floats, Floats],
        settings: tuple[float, Limits],
        objects: NDArray[np.int64],
    ) -> tuple[Floats, BlockCounts, float]:
        """Return the responsibilities of a domain after all shards have visited it, its blocks, and the log C_i.

        `settings`: the concentration, and the limits of `DomainPass.run`.
        """
        answers: list[Any] = [None]
        while None in answers:  # the worker in the place of one that was lost knows nothing of this pass
            turn = next_turn()
            sums: Any = tree_sum(self.group.ask("block_sums", side, turn, *q))
            blocks = BlockCounts(priors[0] + sums.ones, priors[1] + sums.zeros, sums.mass)
            answers = self.group.ask("update", side, turn, blocks, settings, objects)
        updated: UpdateSums = tree_sum([update for _, update in answers])
        return np.concatenate([own for own, _ in answers]), updated.blocks, updated.loo


def cut(n_parts: int, *relations: Relation) -> NDArray[np.int64]:
    """Return where to cut row objects into parts of about as much work: one each, and one for each link or gap."""
    n_objects = relations[0].shape[0]
    work = np.arange(n_objects + 1)
    for relation in relations:
        work = work + relation.ones.indptr.astype(np.int64) + relation.missing.indptr
    starts = np.searchsorted(work, np.arange(1, n_parts) * work[-1] / n_parts)
    return np.concatenate([[0], starts, [n_objects]]).astype(np.int64)


_turn = 0


def next_turn() -> int:
    """Return a number that no other pass of this program has."""
    global _turn
    _turn += 1
    return _turn
