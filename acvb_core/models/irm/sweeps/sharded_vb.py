"""VB for relations and networks over shards."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from acvb_core.core.protocols import Checkpoint
from acvb_core.models.irm.kernels import BlockCounts, Floats
from acvb_core.models.irm.network.model import NetworkPass
from acvb_core.models.irm.state import IrmState
from acvb_core.models.irm.sweeps.sharded import ShardedSweeps, next_turn, open_shards
from acvb_core.models.irm.sweeps.sharded_network import MOST_EXCHANGES, open_network_shards
from acvb_core.models.irm.vb import VariationalIrm, expected_log_shares, expected_logs
from acvb_core.shards.group import ShardGroup
from acvb_core.shards.sums import tree_sum


@dataclass(frozen=True)
class ShardedVb(ShardedSweeps, VariationalIrm):
    """VB of a relation or a network whose objects are updated a part each.

    Of two domains nothing is lost: all rows are updated under the same q(theta) anyway, and then all columns. The
    objects of a network are updated one by one within a shard, and all shards at once: the bound may fall.
    """

    n_shards: int = 1

    @cached_property
    def group(self) -> ShardGroup:  # type: ignore[override]
        """The shards, opened when they are first needed; all runs of this method share them."""
        opened = open_network_shards if self.layout.one_domain else open_shards
        return opened(self.relation, self.n_shards)

    def update(
        self, state: IrmState, rng: np.random.Generator, checkpoint: Checkpoint
    ) -> tuple[IrmState, float | None]:
        """Update all rows at once, q(v) and q(theta), all columns, q(v) and q(theta); a network's objects in turn."""
        if self.layout.one_domain:
            return self._update_network(state, rng, checkpoint), None
        a, b = state.hyper.blocks(state.ones.shape)
        rows, cols = (state.q[domain] for domain in self.layout.axes)
        alpha, turn = state.hyper.alpha, next_turn()
        before: BlockCounts = tree_sum(self.group.ask("block_sums", "rows", turn, rows, cols))
        checkpoint()
        given = BlockCounts(a + before.ones, b + before.zeros, rows.sum(axis=0))
        rows, after = self._climb("rows", turn, cols, given, alpha["rows"])
        checkpoint()
        if self.schedule == "domains":  # the paper updates q(theta) after both
            before = after
        given = BlockCounts((a + before.ones).T, (b + before.zeros).T, cols.sum(axis=0))
        cols, after = self._climb("cols", next_turn(), rows, given, alpha["cols"])
        ones = np.ascontiguousarray(after.ones.T)
        return replace(state, q={"rows": rows, "cols": cols}, ones=ones, entries=ones + after.zeros.T), None

    def _climb(
        self, side: str, turn: int, other: Floats, blocks: BlockCounts, alpha: float
    ) -> tuple[Floats, BlockCounts]:
        """Return the responsibilities of a domain, and the ones and zeros of every block."""
        answers = self.group.ask("climb", side, turn, other, blocks, alpha)
        counts: Any = tree_sum([counts for _, counts in answers])
        return np.concatenate([own for own, _ in answers]), counts

    def _update_network(self, state: IrmState, rng: np.random.Generator, checkpoint: Checkpoint) -> IrmState:
        """Update every object in a fresh random order, under q(v) and q(theta) as they were before the sweep."""
        objects = NetworkPass(self.relation, state)
        blocks, symmetric = objects.blocks, self.layout.symmetric
        q, mass = objects.q, blocks.mass
        expected = (*expected_logs(blocks.ones, blocks.zeros), expected_log_shares(mass, objects.alpha))
        for some in np.array_split(rng.permutation(len(q)), min(self.n_shards, MOST_EXCHANGES)):
            answers = self.group.ask("climb", q, symmetric, expected, mass, some)
            q = q.copy()  # threads may have the old one
            for visited, rows in answers:
                q[visited] = rows
            mass = q.sum(axis=0)
            checkpoint()
        ones, entries = tree_sum(self.group.ask("count", q, symmetric))
        return replace(state, q={self.layout.axes[0]: q}, ones=ones, entries=entries)
