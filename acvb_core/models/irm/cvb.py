"""Collapsed variational Bayes for the IRM of one domain or two, zeroth (CVB0) and second order (CVB)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from acvb_core.core.averaging import AveragedInference
from acvb_core.core.protocols import Checkpoint
from acvb_core.core.rows import Values
from acvb_core.models.irm.domain import DomainPass, Order
from acvb_core.models.irm.network.model import NetworkPass
from acvb_core.models.irm.state import IrmState, block_counts
from acvb_core.models.irm.sweeping import VariationalMethod, read_variational_settings


@dataclass(frozen=True)
class CollapsedIrm(VariationalMethod):
    """CVB0 or CVB bound to a relation (an `Inference`).

    Reference: IRM14 §2.2.1 and §5; CVB0: Asuncion, Welling, Smyth and Teh, UAI 2009.
    """

    #: CVB0, or second-order CVB with the paper's or the exact variances (of two domains only).
    order: Order = "zeroth"

    def update(
        self, state: IrmState, rng: np.random.Generator, checkpoint: Checkpoint
    ) -> tuple[IrmState, float | None]:
        """Update every row object, then every column object, each in a fresh random order; a network's objects once."""
        if self.layout.one_domain:
            return self._update_network(state, rng, checkpoint)
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

    def _update_network(
        self, state: IrmState, rng: np.random.Generator, checkpoint: Checkpoint
    ) -> tuple[IrmState, float | None]:
        objects = NetworkPass(self.relation, state)
        pseudo_loo = objects.run(self.order, rng.permutation(len(objects.q)), checkpoint)
        q = {self.layout.axes[0]: objects.q}
        # Rebuilt in every sweep, so what adding and subtracting rounds off cannot pile up.
        ones, entries = block_counts(self.relation, q, self.layout, checkpoint)
        return replace(state, q=q, ones=ones, entries=entries), pseudo_loo


def build_cvb0(data: Any, values: Values) -> CollapsedIrm:
    """Return CVB0 on data, with the values of its parameters."""
    return CollapsedIrm(**read_variational_settings(data, values))


def build_cvb(data: Any, values: Values) -> CollapsedIrm:
    """Return second-order CVB on data, with the values of its parameters."""
    return CollapsedIrm(**read_variational_settings(data, values), order=values.get("variance", "paper"))


def build_acvb0(data: Any, values: Values) -> AveragedInference:
    """Return ACVB0 on data, with the values of its parameters."""
    return AveragedInference(build_cvb0(data, values), values["burn_in"])


def build_acvb(data: Any, values: Values) -> AveragedInference:
    """Return ACVB on data, with the values of its parameters."""
    return AveragedInference(build_cvb(data, values), values["burn_in"])
