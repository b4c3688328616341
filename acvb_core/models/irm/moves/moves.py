"""Moves between sweeps, by the lower bound: merge clusters, split clusters, and try moves that only pay later.

Updates of one object at a time cannot make them: two clusters that share one true group, or one cluster that holds
two, are fixed points of every variational method here. A move is kept only when the bound has risen, and moves are
over before an average begins.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from acvb_core.core.protocols import Poll
from acvb_core.models.irm.moves.merge import merge_clusters, promising_merges
from acvb_core.models.irm.moves.rejected_moves import RejectedMoves
from acvb_core.models.irm.moves.schedule import MOVES_EVERY, MOVES_FROM, MOVES_UNTIL
from acvb_core.models.irm.moves.split import promising_splits, split_clusters
from acvb_core.models.irm.moves.tried_splits import TriedSplits
from acvb_core.models.irm.state import IrmState, lower_bound, tidy
from acvb_core.models.irm.sweeps.rest import AT_REST

if TYPE_CHECKING:
    from acvb_core.models.irm.sweeping import VariationalMethod

#: How many of the rejected merges, and of the rejected splits, are tried with sweeps after them, how many sweeps, and
#: what such a move may lose at once (nats): sweeps do not win back more.
TRIALS, _TRIAL_SWEEPS, _WORST = 5, 5, -100.0
#: After the first sweep of a trial, which updates all objects, those that moved less (L1) are passed over.
_TRIAL_REST = 1e-2
#: A trial is given up when each sweep left would have to raise the bound by so many times more than the last did.
_HOPE = 2.0
#: A trial must end this much (nats) above where sweeps alone lead, or what still rises would count as a gain.
_TRIAL_GAIN = 0.5


#: A state after a move, what was tried, and the objects it was about.
Candidate = tuple[IrmState, str, NDArray[np.bool_]]


@dataclass(frozen=True)
class MoveMemory:
    """The memory of the moves from sweep to sweep."""

    due: int = MOVES_FROM  #: age (sweeps) at which moves are tried next
    #: Clusters and pairs of clusters that were tried in vain.
    rejected: RejectedMoves = RejectedMoves()  # noqa: RUF009 - never changed in place
    last_look: bool = False  #: the last attempt found nothing; one more is made before moves are over


@dataclass(frozen=True)
class Moves:
    """The moves that are made."""

    merge: bool = True
    split: bool = True
    #: Clusters of each domain that splits may not go beyond; no limit for a domain that is not there.
    most: Mapping[str, int] = field(default_factory=dict)
    until: int = MOVES_UNTIL  #: no more moves after this sweep

    @property
    def any(self) -> bool:
        """Return whether any are made."""
        return self.merge or self.split

    def after(
        self, state: IrmState, method: VariationalMethod, rng: np.random.Generator, poll: Poll
    ) -> tuple[IrmState, dict[str, int]]:
        """Make the moves that are due after a sweep.

        Returns `state`: tidy, with a lower bound no lower than before; its `moves` is None once there will be no more.
        Returns `made`: how many clusters were "merged" and "split", where any was.
        """
        memory: MoveMemory | None = state.moves
        if memory is None or state.age < memory.due:
            return state, {}
        merged = split = 0
        rejected, by_size = memory.rejected, not method.keep_bound
        trials, tried = _Trials(method, rng, poll), TriedSplits(TRIALS)
        if self.merge:
            state, merged = merge_clusters(state, largest_first=by_size, poll=poll)
        if not merged and self.split:
            state, split, rejected = split_clusters(
                state,
                method.relation,
                self.most,
                rejected,
                rng,
                poll,
                largest_first=by_size,
                tried=tried,
            )
        if not merged and not split and self.merge:
            candidates = promising_merges(state, TRIALS, _WORST, poll)
            state, merged, rejected = trials.best_of(state, candidates, rejected)
        if not merged and not split and self.split:
            limits = (self.most, TRIALS, _WORST, rejected, rng, poll)
            candidates = promising_splits(state, method.relation, *limits, largest_first=by_size, tried=tried)
            state, split, rejected = trials.best_of(state, candidates, rejected)
        made = {name: count for name, count in (("merged", merged), ("split", split)) if count}
        if made:
            state, _ = tidy(state, method.relation, method.shrink, keep_bound=method.keep_bound)
            state = replace(state, rest=None, at_rest=AT_REST)
        # A chain has left little to find: after it, one attempt in vain is enough.
        is_last_look = memory.last_look or state.samples is not None
        over = state.age >= self.until or (is_last_look and not made)
        due = state.age + MOVES_EVERY
        return replace(state, moves=None if over else MoveMemory(due, rejected, not made)), made


#: Merges and splits.
MOVES: Moves = Moves()


class _Trials:
    """Moves that lower the bound at first, tried with sweeps and merges after them."""

    def __init__(self, method: VariationalMethod, rng: np.random.Generator, poll: Poll) -> None:
        self.method, self.rng, self.poll = method, rng, poll
        self.least: float | None = None

    def best_of(
        self, state: IrmState, candidates: Iterable[Candidate], rejected: RejectedMoves
    ) -> tuple[IrmState, int, RejectedMoves]:
        """Return the first that has paid, or the state itself; 1 if one was kept; and the moves rejected so far."""
        for candidate, what, members in candidates:
            if rejected.contains(what, members):
                continue
            if self.least is None:
                # Sweeps of CVB and CVB0 may lower the bound; a move may not.
                self.least = max(lower_bound(state), lower_bound(self._run_sweeps(state))) + _TRIAL_GAIN
            method = self.method
            tried, _ = tidy(candidate, method.relation, method.shrink, keep_bound=method.keep_bound)
            tried, _ = merge_clusters(
                self._run_sweeps(tried, self.least),
                largest_first=not method.keep_bound,
                poll=self.poll,
            )
            # The order of the clusters is part of the bound: another one that is not kept is no gain.
            tried, _ = tidy(tried, method.relation, method.shrink, keep_bound=method.keep_bound)
            # Nor is one that has paid tried again: where sweeps undo it, it would be made in every round.
            rejected = rejected.add(what, members)
            if lower_bound(tried) > self.least:
                return replace(tried, age=state.age), 1, rejected
        return state, 0, rejected

    def _run_sweeps(self, state: IrmState, least: float = -np.inf) -> IrmState:
        """Return the state after some sweeps, or after fewer where the bound will plainly not get to `least`."""
        height = lower_bound(state)
        state = replace(state, rest=None, at_rest=_TRIAL_REST)
        for left in reversed(range(_TRIAL_SWEEPS)):
            state = self.method.plain_sweep(state, self.rng, self.poll).state
            before, height = height, lower_bound(state)
            if height + _HOPE * left * (height - before) < least:
                break
        return state
