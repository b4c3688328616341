"""Shards of a network: each updates its own objects, against the others as they were before; and CVB0."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from acvb_core.core.protocols import Array, Checkpoint
from acvb_core.data.relation import Relation
from acvb_core.models.irm.cvb import CollapsedIrm
from acvb_core.models.irm.domain import observed_counts
from acvb_core.models.irm.kernels import BlockCounts, Floats, Limits
from acvb_core.models.irm.network.model import NetworkPass, list_links
from acvb_core.models.irm.network.vb import coordinate_ascent
from acvb_core.models.irm.state import IrmState, network_counts
from acvb_core.models.irm.sweeps.rest import Objects
from acvb_core.models.irm.sweeps.sharded import ShardedSweeps, Slice, UpdateSums, cut
from acvb_core.shards.group import ShardGroup
from acvb_core.shards.place import current_place
from acvb_core.shards.sums import tree_sum

#: The shards exchange what they changed so many times in a sweep, but at most once for each shard.
MOST_EXCHANGES = 16


class Rows(NamedTuple):
    """The entries of some rows of a relation, at their places among all; the other rows are empty."""

    ones: sparse.csr_array
    missing: sparse.csr_array

    @classmethod
    def of(cls, part: Slice, n_objects: int) -> Rows:
        """Return the rows of a part at their places."""
        return cls(*(_place(pattern, part.begin, n_objects) for pattern in (part.ones, part.missing)))


@dataclass(frozen=True, eq=False)
class OwnLinks:
    """Links of some objects of a network, out and in, for a pass over these."""

    rows: Rows
    transposed: Rows
    self_links: Floats  #: shape (N, 2)

    @property
    def ones(self) -> sparse.csr_array:
        """Ones that go out."""
        return self.rows.ones

    @property
    def missing(self) -> sparse.csr_array:
        """Missing entries that go out."""
        return self.rows.missing

    @property
    def n_ones(self) -> int:
        """Number of ones that go out."""
        return int(self.ones.nnz)

    @property
    def n_missing(self) -> int:
        """Number of missing entries that go out."""
        return int(self.missing.nnz)


class NetworkShard:
    """Some of the objects, with their links (a `shards.host.Shard`); it keeps nothing of a run."""

    def __init__(self, number: int, out: Slice, into: Slice, self_links: Floats) -> None:
        self.number, self.out = number, out
        n_objects = len(self_links)
        self.links = OwnLinks(Rows.of(out, n_objects), Rows.of(into, n_objects), self_links)

    def update(
        self, state: IrmState, blocks: BlockCounts, least: float, objects: Objects
    ) -> tuple[Objects, Floats, UpdateSums]:
        """Visit the shard's objects in the order they have among all; return them and their responsibilities."""
        begin, end = self.out[:2]
        objects = objects[(objects >= begin) & (objects < end)]
        network = NetworkPass(self.links, state)  # type: ignore[arg-type]
        network.blocks = after = BlockCounts(*(np.array(counts) for counts in blocks))
        loo = network.run("zeroth", objects, least=least)
        if self.number:
            after = BlockCounts(*(new - old for new, old in zip(after, blocks, strict=True)))
        return objects, network.q[objects], UpdateSums(after, loo)

    def climb(
        self,
        q: Floats,
        symmetric: bool,
        expected: tuple[Floats, Floats, Floats],
        mass: Floats,
        objects: Objects,
    ) -> tuple[Objects, Floats]:
        """Update the shard's objects by VB, one after another; return them and their responsibilities.

        `expected`: E log theta, E log(1 - theta) and E log pi.
        """
        begin, end = self.out[:2]
        objects = objects[(objects >= begin) & (objects < end)]
        q = q.copy()
        log_one, log_zero, shares = expected
        links = list_links(self.links, not symmetric)  # type: ignore[arg-type]
        coordinate_ascent(objects, q, links, log_one, log_zero, shares, mass.copy())
        return objects, q[objects]

    def count(self, q: Floats, symmetric: bool) -> tuple[Floats, Floats]:
        """Return what the shard's objects add to the ones and the observed entries of every block."""
        own = slice(*self.out[:2])
        part, own_links = self.out, self.links.self_links[own]
        return network_counts(part, q[own], q, own_links, symmetric)  # type: ignore[arg-type]

    def save(self) -> Mapping[str, Array]:
        """Return nothing: all there is follows from the data."""
        return {}

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Leave everything as it is."""


def open_network_shards(relation: Relation, n_shards: int) -> ShardGroup:
    """Return the shards of a network."""
    turned = relation.transposed
    bounds = cut(n_shards, relation, turned)
    factories = [
        partial(
            NetworkShard,
            number,
            Slice.of(relation, bounds, number),
            Slice.of(turned, bounds, number),
            relation.self_links,
        )
        for number in range(n_shards)
    ]
    return current_place().open(factories)


@dataclass(frozen=True)
class ShardedNetwork(ShardedSweeps, CollapsedIrm):
    """CVB0 whose objects are updated a part each, with several exchanges between the parts in a sweep."""

    n_shards: int = 1

    @cached_property
    def group(self) -> ShardGroup:  # type: ignore[override]
        """The shards, opened when they are first needed; all runs of this method share them."""
        return open_network_shards(self.relation, self.n_shards)

    def _update_network(
        self,
        state: IrmState,
        visits: Mapping[str, Objects],
        limits: Mapping[str, Limits],
        checkpoint: Checkpoint,
    ) -> tuple[IrmState, float]:
        """Update objects of a network, then count the blocks anew where several shards changed them at once."""
        (domain,) = self.layout.domains
        objects, total = visits[domain], 0.0
        n_exchanges = min(self.n_shards, MOST_EXCHANGES)
        given = replace(state, moves=None, rest=None, samples=None)
        begun = NetworkPass(self.relation, given)
        q, blocks = begun.q, begun.blocks
        for some in np.array_split(objects, n_exchanges):
            given = replace(given, q={domain: q})
            answers = self.group.ask("update", given, blocks, limits[domain].least, some)
            updated: UpdateSums = tree_sum([sums for *_, sums in answers])
            blocks, total = updated.blocks, total + updated.loo
            q = q.copy()  # threads may have the old one
            for visited, rows, _ in answers:
                q[visited] = rows
            checkpoint()
        if self.n_shards > 1 or len(objects) == len(q):
            ones, entries = tree_sum(self.group.ask("count", q, self.layout.symmetric))
        else:
            ones, entries = observed_counts(blocks, begun.a, begun.b)
        return replace(state, q={domain: q}, ones=ones, entries=entries), total


def _place(pattern: sparse.csr_array, begin: int, n_rows: int) -> sparse.csr_array:
    """Return rows at their places among `n_rows`."""
    after = n_rows - begin - pattern.shape[0]
    pointers: NDArray[Any] = np.pad(pattern.indptr, (begin, after), "edge")
    return sparse.csr_array(
        (pattern.data, pattern.indices, pointers), shape=(n_rows, pattern.shape[1]), copy=False
    )
