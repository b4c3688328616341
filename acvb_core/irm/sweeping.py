"""What every variational method of the IRM does before its first sweep and at the end of each."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from acvb_core.clusters import Order
from acvb_core.data.relation import Relation
from acvb_core.irm.hyper import Hyper, update_hyper
from acvb_core.irm.merge import merge_clusters
from acvb_core.irm.start import Start
from acvb_core.irm.state import IrmState, block_counts, posterior_of, tidy
from acvb_core.protocols import Checkpoint, Posterior, Unaveraged, no_checkpoint

#: Merges are first tried after this sweep: earlier, clusters that are still taking shape would be lost …
MERGE_FROM = 15
#: … then every so many sweeps until none is found …
MERGE_EVERY = 5
#: … and never after this one, so that a run can settle.
MERGE_UNTIL = 60


@dataclass(frozen=True)
class VariationalMethod(Unaveraged):
    """What VB, CVB0 and CVB have in common: how they begin, and what their states say.

    Attributes
    ----------
    relation : Relation
    start : Start
        How the first responsibilities are made.
    hyper : Hyper
        Hyper-parameters to start from.
    hyper_rule : "tied", "per-block" or "fixed"
    shrink : float
        A cluster with less than this share of its domain's objects is dropped.
    merge : bool
        Whether clusters are merged in the early sweeps when the bound rises.
    """

    relation: Relation
    start: Start
    hyper: Hyper
    hyper_rule: str = "tied"
    shrink: float = 1e-5
    merge: bool = True

    def init(self, rng: np.random.Generator, checkpoint: Checkpoint = no_checkpoint) -> IrmState:
        """Return the first state."""
        rows, cols = self.start.responsibilities(self.relation, rng, checkpoint)
        ones, entries = block_counts(self.relation, rows, cols, checkpoint)
        hyper = self.hyper
        if self.hyper_rule == "per-block":
            a, b = hyper.blocks(ones.shape)
            hyper = replace(hyper, a=a.copy(), b=b.copy())
        return IrmState(rows, cols, ones, entries, hyper, moves_over=not self.merge)

    def posterior(self, state: IrmState) -> Posterior:
        """Return what the state says."""
        return posterior_of(state)


def finish_sweep(
    state: IrmState,
    relation: Relation,
    shrink: float,
    rule: str,
    checkpoint: Checkpoint,
    *,
    keep_bound: bool = False,
) -> tuple[IrmState, dict[str, Order] | None]:
    """Order and drop clusters, learn the hyper-parameters, and merge clusters when it is time.

    Returns
    -------
    state : IrmState
    order : dict of str to ndarray, or None
        As `SweepInfo.order`; None too after a merge, which is no re-ordering (the widths tell).
    """
    state, order = tidy(state, relation, shrink, keep_bound=keep_bound)
    rows, cols = state.rows.sum(axis=0), state.cols.sum(axis=0)
    learned = update_hyper(state.hyper, rule, state.ones, state.entries, rows, cols)
    state = replace(state, hyper=learned, age=state.age + 1)
    if state.moves_over or state.age < MERGE_FROM or (state.age - MERGE_FROM) % MERGE_EVERY:
        return state, order
    state, merged = merge_clusters(state, largest_first=not keep_bound, checkpoint=checkpoint)
    if merged:
        state, _ = tidy(state, relation, shrink, keep_bound=keep_bound)
        order = None
    return replace(state, moves_over=merged == 0 or state.age >= MERGE_UNTIL), order
