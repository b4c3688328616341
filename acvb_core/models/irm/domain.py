"""One pass over the objects of one domain while the other domain stays fixed."""

from __future__ import annotations

from typing import Literal

import numpy as np

from acvb_core.core.protocols import Checkpoint, no_checkpoint
from acvb_core.data.relation import Relation
from acvb_core.models.irm.kernels import Floats, block_bases, chunk_length, zeroth_order
from acvb_core.models.irm.kernels_second import second_order
from acvb_core.models.irm.moves.neighbours import neighbour_sums
from acvb_core.models.irm.state import observed_sums
from acvb_core.models.irm.variance import count_variances

Order = Literal["zeroth", "paper", "exact"]


class DomainPass:
    """One pass over the row objects of a relation while the columns stay fixed.

    Attributes
    ----------
    own : ndarray, shape (N, K)
        Responsibilities of the swept domain, changed in place by `run`.
    """

    def __init__(
        self,
        relation: Relation,
        own: Floats,
        other: Floats,
        a: Floats,
        b: Floats,
        alpha: float,
        checkpoint: Checkpoint = no_checkpoint,
    ) -> None:
        self.relation = relation
        self.other = np.ascontiguousarray(other)
        self._take(own, *observed_sums(relation, other, checkpoint), a, b, alpha)

    @classmethod
    def of_sums(
        cls, own: Floats, links: Floats, zeros: Floats, a: Floats, b: Floats, alpha: float
    ) -> DomainPass:
        """Return a pass over objects whose ones and zeros by cluster of the columns are known (zeroth order only)."""
        found = cls.__new__(cls)
        found._take(own, links, zeros, a, b, alpha)
        return found

    def _take(self, own: Floats, links: Floats, zeros: Floats, a: Floats, b: Floats, alpha: float) -> None:
        self.own = np.ascontiguousarray(own)
        self.a, self.b, self.alpha = a, b, alpha
        self.links, self.zeros = links, zeros
        # The counts are rebuilt here in every pass, so what adding and subtracting rounds off cannot pile up.
        self.beta_ones = a + self.own.T @ self.links
        self.beta_zeros = b + self.own.T @ self.zeros
        self.mass = self.own.sum(axis=0)

    def counts(self) -> tuple[Floats, Floats]:
        """Return the ones and the observed entries of every block, shape (K, L)."""
        ones = np.maximum(self.beta_ones - self.a, 0.0)
        return ones, ones + np.maximum(self.beta_zeros - self.b, 0.0)

    def run(
        self, order: Order, objects: np.ndarray, checkpoint: Checkpoint = no_checkpoint, update: bool = True
    ) -> float:
        """Visit the objects in the given order; return the sum of log C_i (nats)."""
        step = (
            self._zeroth(update) if order == "zeroth" else self._second(order == "exact", update, checkpoint)
        )
        length = chunk_length(len(self.mass), self.links.shape[1], 6.0 if order == "zeroth" else 40.0)
        total = 0.0
        for begin in range(0, len(objects), length):
            total += step(objects[begin : begin + length])
            checkpoint()
        return float(total)

    def _zeroth(self, update: bool):  # type: ignore[no-untyped-def]
        bases = np.empty(len(self.mass))
        block_bases(self.beta_ones, self.beta_zeros, bases)
        return lambda objects: zeroth_order(
            objects, self.own, self.links, self.zeros, self.beta_ones, self.beta_zeros, self.mass, bases,
            self.alpha, update,
        )  # fmt: skip

    def _second(self, exact: bool, update: bool, checkpoint: Checkpoint):  # type: ignore[no-untyped-def]
        relation, own, other = self.relation, self.own, self.other
        spread = other * (1.0 - other)
        variance = count_variances(relation, own, other, exact=exact, checkpoint=checkpoint)
        links_spread = neighbour_sums(relation.ones, spread, checkpoint)
        unknown_spread = neighbour_sums(relation.missing, spread, checkpoint)
        n_other = other.shape[0] if exact else 0
        linked = unknown = np.zeros((n_other, own.shape[1]))
        if exact:
            linked = neighbour_sums(relation.transposed.ones, own, checkpoint)
            unknown = neighbour_sums(relation.transposed.missing, own, checkpoint)
        soft = spread.max(axis=1) > 1e-12
        all_linked = np.ascontiguousarray(linked.T @ spread[:n_other])
        all_unknown = np.ascontiguousarray(unknown.T @ spread[:n_other])
        ones, missing = relation.ones, relation.missing
        return lambda objects: second_order(
            objects, own, self.links, self.zeros, links_spread, unknown_spread, self.beta_ones, self.beta_zeros,
            self.mass, variance, self.alpha, exact, ones.indptr, ones.indices, missing.indptr, missing.indices,
            spread, soft, linked, unknown, all_linked, all_unknown, update,
        )  # fmt: skip
