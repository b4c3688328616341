"""Moves between sweeps, by the lower bound: merge clusters, split clusters, and try merges that only pay later.

Updates of one object at a time cannot make them: two clusters that share one true group, or one cluster that holds
two, are fixed points of every variational method here. A move is kept only when the bound has risen, and moves are
over before an average begins.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from acvb_core.data.relation import Relation
from acvb_core.irm.merge import merge_clusters, promising_merges
from acvb_core.irm.refused import Refused
from acvb_core.irm.split import split_clusters
from acvb_core.irm.state import IrmState, lower_bound, tidy
from acvb_core.protocols import Checkpoint

#: Sweeps before the first moves: earlier, clusters that are still taking shape would be lost.
MOVES_FROM = 15
#: Sweeps between moves, for the objects to find their places.
MOVES_EVERY = 5
#: No more moves after this sweep, so that a run can settle.
MOVES_UNTIL = 200
#: How many of the refused merges are tried with sweeps after them, and how many sweeps.
_TRIALS, _TRIAL_SWEEPS = 5, 5
#: A move must raise the bound by more than this (nats), or rounding could undo and redo it.
_LEAST_GAIN = 1e-6


class Sweeping(Protocol):
    """The method whose states are moved."""

    @property
    def relation(self) -> Relation:
        """What is fitted."""
        ...

    @property
    def shrink(self) -> float:
        """Share of the objects below which a cluster is dropped."""
        ...

    @property
    def keep_bound(self) -> bool:
        """Whether clusters are left unsorted where sorting would lower the bound."""
        ...

    def plain_sweep(self, state: IrmState, rng: np.random.Generator, checkpoint: Checkpoint) -> Any:
        """Return an object whose `state` is the state after a sweep without moves."""
        ...


@dataclass(frozen=True)
class MoveMemory:
    """What is remembered between moves.

    Attributes
    ----------
    due : int
        Age (sweeps) at which moves are tried next.
    refused : Refused
        Clusters and pairs of clusters that were tried in vain.
    last_look : bool
        The last attempt found nothing; one more is made before moves are over.
    """

    due: int = MOVES_FROM
    refused: Refused = Refused()  # noqa: RUF009 - never changed in place
    last_look: bool = False


@dataclass(frozen=True)
class Moves:
    """Which moves are made.

    Attributes
    ----------
    merge, split : bool
    """

    merge: bool = True
    split: bool = True

    @property
    def any(self) -> bool:
        """Whether there are any."""
        return self.merge or self.split

    def after(
        self, state: IrmState, method: Sweeping, rng: np.random.Generator, checkpoint: Checkpoint
    ) -> tuple[IrmState, dict[str, int]]:
        """Make the moves that are due after a sweep.

        Returns
        -------
        state : IrmState
            Tidy, with a lower bound no lower than before; its `moves` is None once there will be no more.
        made : dict of str to int
            How many clusters were "merged" and "split", where any was.
        """
        memory: MoveMemory | None = state.moves
        if memory is None or state.age < memory.due:
            return state, {}
        merged = split = 0
        refused = memory.refused
        if self.merge:
            state, merged = merge_clusters(state, largest_first=not method.keep_bound, checkpoint=checkpoint)
        if not merged and self.split:
            state, split, refused = split_clusters(
                state, method.relation, refused, rng, checkpoint, largest_first=not method.keep_bound
            )
        if not merged and not split and self.merge:
            state, merged, refused = _merge_on_trial(state, method, refused, rng, checkpoint)
        made = {name: count for name, count in (("merged", merged), ("split", split)) if count}
        if made:
            state, _ = tidy(state, method.relation, method.shrink, keep_bound=method.keep_bound)
        over = state.age >= MOVES_UNTIL or (not made and memory.last_look)
        due = state.age + MOVES_EVERY
        return replace(state, moves=None if over else MoveMemory(due, refused, not made)), made


#: Merges and splits.
MOVES: Moves = Moves()


def _merge_on_trial(
    state: IrmState, method: Sweeping, refused: Refused, rng: np.random.Generator, checkpoint: Checkpoint
) -> tuple[IrmState, int, Refused]:
    """Try the merges that lower the bound least, with sweeps and merges after them; keep the first that has paid."""
    before = lower_bound(state)
    for candidate, what, members in promising_merges(state, _TRIALS, checkpoint):
        if refused.knows(what, members):
            continue
        tried, _ = tidy(candidate, method.relation, method.shrink, keep_bound=method.keep_bound)
        for _ in range(_TRIAL_SWEEPS):
            tried = method.plain_sweep(tried, rng, checkpoint).state
        tried, more = merge_clusters(tried, largest_first=not method.keep_bound, checkpoint=checkpoint)
        if lower_bound(tried) > before + _LEAST_GAIN:
            return replace(tried, age=state.age), 1 + more, refused
        refused = refused.and_also(what, members)
    return state, 0, refused
