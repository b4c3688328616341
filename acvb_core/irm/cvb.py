"""Collapsed variational Bayes for the two-domain IRM, zeroth (CVB0) and second order (CVB)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from acvb_core.data.relation import Relation
from acvb_core.irm.kernels import Floats, block_bases, chunk_length, zeroth_order
from acvb_core.irm.kernels_second import second_order
from acvb_core.irm.neighbours import neighbour_sums
from acvb_core.irm.state import IrmState, observed_sums
from acvb_core.irm.sweeping import VariationalMethod
from acvb_core.irm.variance import count_variances
from acvb_core.protocols import Checkpoint, no_checkpoint

Order = Literal["zeroth", "paper", "exact"]


@dataclass(frozen=True)
class CollapsedIrm(VariationalMethod):
    """CVB0 or CVB bound to a relation (an `Inference`).

    Attributes
    ----------
    order : "zeroth", "paper" or "exact"
        CVB0, or second-order CVB with the paper's or the exact variances. The others: `VariationalMethod`.

    References
    ----------
    IRM14 §5; CVB0: Asuncion, Welling, Smyth and Teh, UAI 2009.
    """

    order: Order = "zeroth"

    def update(
        self, state: IrmState, rng: np.random.Generator, checkpoint: Checkpoint
    ) -> tuple[IrmState, float | None]:
        """Update every row object, then every column object, each in a fresh random order."""
        hyper = state.hyper
        a, b = hyper.blocks(state.ones.shape)
        of_rows, of_cols = (state.q[domain] for domain in self.layout.axes)
        rows = DomainPass(self.relation, of_rows.copy(), of_cols, a, b, hyper.alpha["rows"], checkpoint)
        pseudo_loo = rows.run(self.order, rng.permutation(self.relation.shape[0]), checkpoint)
        turned = self.relation.transposed
        a, b = np.ascontiguousarray(a.T), np.ascontiguousarray(b.T)
        cols = DomainPass(turned, of_cols.copy(), rows.own, a, b, hyper.alpha["cols"], checkpoint)
        pseudo_loo += cols.run(self.order, rng.permutation(self.relation.shape[1]), checkpoint)
        ones, entries = (np.ascontiguousarray(counts.T) for counts in cols.counts())
        q = {"rows": rows.own, "cols": cols.own}
        return replace(state, q=q, ones=ones, entries=entries), pseudo_loo


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
        self.own = np.ascontiguousarray(own)
        self.other = np.ascontiguousarray(other)
        self.a, self.b, self.alpha = a, b, alpha
        self.links, self.zeros = observed_sums(relation, other, checkpoint)
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
        length = chunk_length(len(self.mass), self.other.shape[1], 6.0 if order == "zeroth" else 40.0)
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
