"""Collapsed variational Bayes for networks, zeroth (CVB0) and second order (CVB)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from acvb_core.core.protocols import Checkpoint
from acvb_core.models.irm.network.model import NetworkPass, Order
from acvb_core.models.irm.state import IrmState, block_counts
from acvb_core.models.irm.sweeping import VariationalMethod


@dataclass(frozen=True)
class CollapsedNetwork(VariationalMethod):
    """CVB0 or CVB of the one-domain IRM bound to a network (an `Inference`).

    Attributes
    ----------
    order : "zeroth" or "paper"
        CVB0, or second-order CVB with the paper's variances. The others: `VariationalMethod`.

    References
    ----------
    IRM14 §2.2.1 and §5; CVB0: Asuncion, Welling, Smyth and Teh, UAI 2009.
    """

    order: Order = "zeroth"

    def update(
        self, state: IrmState, rng: np.random.Generator, checkpoint: Checkpoint
    ) -> tuple[IrmState, float | None]:
        """Update every object in a fresh random order."""
        objects = NetworkPass(self.relation, state)
        pseudo_loo = objects.run(self.order, rng.permutation(len(objects.q)), checkpoint)
        q = {self.layout.axes[0]: objects.q}
        # Rebuilt in every sweep, so what adding and subtracting rounds off cannot pile up.
        ones, entries = block_counts(self.relation, q, self.layout, checkpoint)
        return replace(state, q=q, ones=ones, entries=entries), pseudo_loo
