"""The state of a run: everything that a job shows, the store keeps, the cluster sends and a result is a view of."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

from acvb_core.core.protocols import can_keep
from acvb_core.engine.history import History
from acvb_core.engine.prepared import PreparedRun
from acvb_core.engine.race_report import RaceReport
from acvb_core.engine.snapshot import SweepRecord


@dataclass(frozen=True, kw_only=True, eq=False)
class RunState:
    """A run at one moment; while restarts race, all of it is the leader's."""

    prepared: PreparedRun  #: the run, with its own seed; before a race, all restarts
    history: History  #: diagnostics of every sweep, those of the snapshot included
    max_sweeps: int  #: cap of the run, extensions included
    snapshot: SweepRecord | None = None  #: after the last whole sweep; None before the first
    race_report: RaceReport | None = None  #: of the race of restarts that is on, or that the run won
    #: The run that did the last sweep, and its result; None where no sweep was done since the state before.
    last_sweep: tuple[PreparedRun, SweepRecord] | None = None
    is_due: bool = False  #: of a run that is computed elsewhere: what it goes on from has come, to be kept

    @classmethod
    def begin(cls, prepared: PreparedRun) -> Self:
        """Return the state of a run that has not begun."""
        return cls(prepared=prepared, history=History(), max_sweeps=prepared.max_sweeps)

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields for a copy elsewhere, without a state that only this process can go on from."""
        last = self.snapshot
        if last is not None and last.state is not None and not can_keep(self.prepared.algorithm, last.state):
            last = replace(last, state=None, memory=None)
        return {**vars(self), "snapshot": last, "last_sweep": None}

    @property
    def last(self) -> SweepRecord:
        """The snapshot of a run that has done a sweep."""
        assert self.snapshot is not None
        return self.snapshot

    @property
    def is_racing(self) -> bool:
        """True while restarts race: the run is not decided yet."""
        return self.race_report is not None and self.race_report.rung is not None

    def release(self) -> Self:
        """Return the state without what the run goes on from, if it cannot be extended."""
        return replace(self, snapshot=self.last.release_state(), last_sweep=None)
