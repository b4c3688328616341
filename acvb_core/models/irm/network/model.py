"""One pass over the objects of a network, whose clusters serve both sides of the relation."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from acvb_core.core.protocols import Checkpoint, no_checkpoint
from acvb_core.data.relation import Relation
from acvb_core.models.irm.kernels import Floats
from acvb_core.models.irm.network.kernels import zeroth_order_network
from acvb_core.models.irm.network.kernels_second import second_order_network, spread_counts
from acvb_core.models.irm.state import IrmState

Order = Literal["zeroth", "paper"]


class NetworkPass:
    """Updates of the objects of a network, one by one.

    Attributes
    ----------
    q : ndarray, shape (N, K)
        Responsibilities, changed in place by `run`.
    """

    def __init__(self, relation: Relation, state: IrmState) -> None:
        (domain,) = state.layout.domains
        self.relation, self.layout = relation, state.layout
        self.directed = not state.layout.symmetric
        self.q = np.ascontiguousarray(state.q[domain]).copy()
        self.a, self.b = state.hyper.blocks(state.ones.shape)
        self.alpha = state.hyper.alpha[domain]
        self.beta_ones = self.a + np.maximum(state.ones, 0.0)
        self.beta_zeros = self.b + np.maximum(state.entries - state.ones, 0.0)
        self.mass = self.q.sum(axis=0)
        turned = relation.transposed
        patterns = (relation.ones, relation.missing, turned.ones, turned.missing)
        self.pointers = tuple(pattern.indptr for pattern in patterns)
        self.indices = tuple(pattern.indices for pattern in patterns)
        self.own = relation.self_links

    def counts(self) -> tuple[Floats, Floats]:
        """Return the ones and the observed entries of every block, shape (K, K), as they were kept up."""
        ones = np.maximum(self.beta_ones - self.a, 0.0)
        return ones, ones + np.maximum(self.beta_zeros - self.b, 0.0)

    def run(
        self,
        order: Order,
        objects: NDArray[np.int64],
        checkpoint: Checkpoint = no_checkpoint,
        update: bool = True,
        choices: NDArray[np.int64] | None = None,
    ) -> float:
        """Visit the objects in the given order; return the sum of log C_i (nats).

        `choices` are the clusters among which each object's share of them is divided anew (all, unless given).
        """
        every = np.arange(len(self.mass)) if choices is None else choices
        step = self._zeroth(every, update) if order == "zeroth" else self._second(every, update)
        length = self.chunk_length(len(every), 6.0 if order == "zeroth" else 40.0)
        total = 0.0
        for begin in range(0, len(objects), length):
            total += step(objects[begin : begin + length])
            checkpoint()
        return float(total)

    def chunk_length(self, n_choices: int, ns_per_block: float) -> int:
        """Return how many objects a kernel call may take so that it returns within some 30 ms."""
        sides, width = 1 + self.directed, len(self.mass)
        neighbours = (self.relation.n_ones + self.relation.n_missing) / max(len(self.q), 1)
        ns = sides * ((n_choices + 2) * width * ns_per_block + neighbours * width) + 500.0
        return int(max(16, 30e6 / ns))

    def _zeroth(self, choices: NDArray[np.int64], update: bool):  # type: ignore[no-untyped-def]
        return lambda objects: zeroth_order_network(
            objects, choices, self.q, self.pointers, self.indices, self.own, self.beta_ones, self.beta_zeros,
            self.mass, self.alpha, self.directed, update,
        )  # fmt: skip

    def _second(self, choices: NDArray[np.int64], update: bool):  # type: ignore[no-untyped-def]
        spread = self.q * (1.0 - self.q)
        variance = spread_counts(self.relation, spread, self.layout)
        return lambda objects: second_order_network(
            objects, choices, self.q, spread, self.pointers, self.indices, self.own, self.beta_ones,
            self.beta_zeros, variance, self.mass, self.alpha, self.directed, update,
        )  # fmt: skip
