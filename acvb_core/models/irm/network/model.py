"""One pass over the objects of a network, whose clusters serve both sides of the relation."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from acvb_core.core.protocols import Poll, no_poll
from acvb_core.data.relation import Relation
from acvb_core.models.irm.domain import Order, Step, observed_counts, visit_in_chunks
from acvb_core.models.irm.kernels import BlockCounts, Floats
from acvb_core.models.irm.network.exact import ExactUpdates
from acvb_core.models.irm.network.kernels import NetworkLinks, zeroth_order_network
from acvb_core.models.irm.network.kernels_second import NetworkSpreads, second_order_network, spread_counts
from acvb_core.models.irm.state import IrmState, block_counts


def list_links(relation: Relation, directed: bool) -> NetworkLinks:
    """Return the links of a network, by row and by column."""
    ones, missing, turned = relation.ones, relation.missing, relation.transposed
    return NetworkLinks(
        pointers=(ones.indptr, missing.indptr, turned.ones.indptr, turned.missing.indptr),
        indices=(ones.indices, missing.indices, turned.ones.indices, turned.missing.indices),
        own=relation.self_links,
        directed=directed,
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
        )
        self.links = list_links(relation, not state.layout.symmetric)

    def counts(self) -> tuple[Floats, Floats]:
        """Return the ones and the observed entries of every block, shape (K, K), as they were kept up."""
        return observed_counts(self.blocks, self.a, self.b)

    def run(
        self,
        order: Order,
        objects: NDArray[np.int64],
        poll: Poll = no_poll,
        update: bool = True,
        choices: NDArray[np.int64] | None = None,
        least: float = -1.0,
    ) -> float:
        """Visit the objects in the given order; return the sum of log C_i (nats).

        `choices` are the clusters among which each object's share of them is divided anew (all, unless given); with
        `least`, at zeroth order, only those that hold more of the object than this.
        """
        every = np.arange(len(self.blocks.mass)) if choices is None else choices
        if order == "exact":
            return self._update_exactly(objects, every, poll, update)
        step = self._zeroth(every, update, least) if order == "zeroth" else self._second(every, update)
        length = self.chunk_length(len(every), 6.0 if order == "zeroth" else 40.0)
        return visit_in_chunks(step, objects, length, poll)

    def _update_exactly(
        self, objects: NDArray[np.int64], choices: NDArray[np.int64], poll: Poll, update: bool
    ) -> float:
        shape, directed = self.blocks.ones.shape, not self.layout.symmetric
        a, b = (np.broadcast_to(prior, shape) for prior in (self.a, self.b))
        updates = ExactUpdates.of(self.relation, a, b, self.alpha, directed=directed)
        total = visit_in_chunks(lambda some: updates.update(self.q, some, choices, update), objects, 1, poll)
        ones, entries = block_counts(self.relation, {self.layout.axes[0]: self.q}, self.layout)
        self.blocks = BlockCounts(a + ones, b + np.maximum(entries - ones, 0.0), self.q.sum(axis=0))
        return total

    def chunk_length(self, n_choices: int, ns_per_block: float) -> int:
        """Return how many objects a kernel call may take so that it returns within some 30 ms."""
        sides, width = 1 + self.links.directed, len(self.blocks.mass)
        neighbours = (self.relation.n_ones + self.relation.n_missing) / max(len(self.q), 1)
        ns = sides * ((n_choices + 2) * width * ns_per_block + neighbours * width) + 500.0
        return int(max(16, 30e6 / ns))

    def _zeroth(self, choices: NDArray[np.int64], update: bool, least: float) -> Step:
        return lambda objects: zeroth_order_network(
            objects, choices, self.q, self.links, self.blocks, self.alpha, update, least
        )

    def _second(self, choices: NDArray[np.int64], update: bool) -> Step:
        spread = self.q * (1.0 - self.q)
        variance = spread_counts(self.relation, spread, self.layout)
        spreads = NetworkSpreads(spread, np.zeros(self.q.shape[1]), variance)
        return lambda objects: second_order_network(
            objects, choices, self.q, self.links, self.blocks, spreads, self.alpha, update
        )
