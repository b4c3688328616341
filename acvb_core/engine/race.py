"""Restarts that race: runs from several seeds, and the worse half ends at each rung.

Successive halving (Jamieson and Talwalkar, AISTATS 2016): all candidates are brought to the first rung, a number of
sweeps; those with the better lower bound (or held-out score, as the model has it) reach the next, at twice as many
sweeps, until one is left. Each is an ordinary run from its own seed, so that the winner is bit for bit what it would
have been alone. Candidates take turns in their order, on one thread.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from acvb_core.core.protocols import Poll, no_poll
from acvb_core.engine.history import (
    Candidate,
    History,
    RaceReport,
    SweepRecord,
    Verdict,
    criterion_value,
    n_survivors,
)
from acvb_core.engine.machine import one_thread
from acvb_core.engine.prepared import PreparedRun
from acvb_core.engine.run import RunState, StopRun, finish_stopped_run, run, score_run

#: Sweeps of the first rung. Methods that merge and split clusters have begun to by then: bounds before say little.
FIRST_RUNG = 20


def race(prepared: PreparedRun, *, poll: Poll = no_poll, first_rung: int = FIRST_RUNG) -> Iterator[RunState]:
    """Yield the state after each sweep of any candidate; the last one, when one candidate is left, is of the winner.

    The winner is not run to its end: `run(state.prepared, resume=state.snapshot)` does that while it has no verdict.
    Ties go to the lower seed; a run that diverged, or has nothing to be judged by, is behind all others. The lower
    bound decides, or what `ModelSpec.raced_by` names; without a bound, the pseudo leave-one-out.

    `prepared`: with `restarts` candidates, the first from `seed`; no update if there is one.
    `poll`: as for `run`; StopRun ends the race, and the leader is kept, with verdict STOPPED unless it had ended.
    `first_rung`: sweeps; the cap of the run at most.
    Raises StopRun: the poll ended the race before there was anything to keep.
    """
    if prepared.spec.restarts > 1:
        yield from SuccessiveHalving(prepared, poll, first_rung).updates()


class SuccessiveHalving:
    """The candidates of a race and who is still in it."""

    def __init__(self, prepared: PreparedRun, poll: Poll, first_rung: int) -> None:
        settings = prepared.spec
        self.cap = prepared.max_sweeps
        self.first_rung = min(first_rung, self.cap)
        seeds = range(settings.seed, settings.seed + settings.restarts)
        self.racers = [_Racer(prepared.with_seed(seed), poll) for seed in seeds]
        self.field = self.racers
        self.leader = self.racers[0]
        self.sizes = [len(self.racers)]
        self.criterion: str = prepared.model_row.raced_by
        self.all_sweeps = _most_sweeps(len(self.racers), self.first_rung, self.cap)

    def updates(self) -> Iterator[RunState]:
        """Yield the state after each sweep, and at last that of the winner."""
        rung = self.first_rung
        try:
            while len(self.field) > 1:
                yield from self._bring_to(rung)
                rung = min(2 * rung, self.cap)
        except StopRun:
            self.leader.stop()
        for racer in self.racers:
            if racer is not self.leader:
                racer.free_memory()
        yield self._update(None, None)

    def _bring_to(self, rung: int) -> Iterator[RunState]:
        """Bring all who are in to a rung and keep the better half; a loser leaves as soon as it is known to be one."""
        keep = n_survivors(len(self.field))
        there: list[_Racer] = []
        for racer in self.field:
            for _ in racer.sweep_to(rung):
                yield self._update(rung, racer)
            there = self._rank([*there, racer])
            self.leader = there[0]
            if len(there) > keep:
                there.pop().leave(rung)
        self.field = there
        self.sizes.append(keep)

    def _rank(self, racers: list[_Racer]) -> list[_Racer]:
        """Return runs that did as many sweeps, best first."""
        values = [racer.measure(self.criterion) for racer in racers]
        if self.criterion == "lower_bound" and any(map(math.isnan, values)):
            self.criterion = "pseudo_loo"
            values = [racer.measure(self.criterion) for racer in racers]
        losses = [math.inf if math.isnan(value) else -value for value in values]
        order = sorted(zip(losses, racers, strict=True), key=lambda one: (one[0], one[1].candidate.seed))
        return [racer for _, racer in order]

    def _update(self, rung: int | None, racer: _Racer | None) -> RunState:
        leader, candidates = self.leader, tuple(one.candidate for one in self.racers)
        race_report = RaceReport(
            candidates=candidates,
            leader=leader.candidate.seed,
            sizes=tuple(self.sizes),
            rung=rung,
            running=None if racer is None else racer.candidate.seed,
            sweeps_left=0 if rung is None else self.all_sweeps - sum(one.sweeps for one in candidates),
            judged_by=self.criterion,
        )
        last_sweep = None if racer is None else (racer.prepared, racer.last)
        return RunState(
            prepared=leader.prepared,
            history=leader.history,
            max_sweeps=self.cap,
            snapshot=leader.last,
            race_report=race_report,
            last_sweep=last_sweep,
        )


class _Racer:
    """A run that is brought from rung to rung."""

    def __init__(self, prepared: PreparedRun, poll: Poll) -> None:
        self.prepared, self.poll = prepared, poll
        self.history = History()
        self.snapshot: SweepRecord | None = None
        self.candidate = Candidate(prepared.spec.seed)
        self._measures: dict[str, float] = {}
        self._sweeps = run(prepared, poll=poll)

    @property
    def last(self) -> SweepRecord:
        """The snapshot of a run that has begun."""
        assert self.snapshot is not None
        return self.snapshot

    def sweep_to(self, rung: int) -> Iterator[None]:
        """Do sweeps up to a rung or to the run's end, one at a time; raise StopRun when one was stopped."""
        while self.snapshot is None or (self.snapshot.verdict is None and self.snapshot.sweep < rung):
            snapshot = next(self._sweeps, None)
            if snapshot is None:  # stopped in its start
                raise StopRun
            self._publish(snapshot)
            if snapshot.verdict is Verdict.STOPPED:
                raise StopRun
            yield

    def measure(self, criterion: str) -> float:
        """Return what the run is ranked by, evaluated if it was not in the last sweep; NaN if there is none."""
        if self.last.verdict is Verdict.DIVERGED:
            return -math.inf
        if criterion not in self._measures:
            value = criterion_value(self.last, criterion)
            if value is None and self.last.state is not None:
                value = self._evaluate(criterion)
            # Kept apart from the run, whose own diagnostics are those it would have alone.
            self._measures[criterion] = math.nan if value is None else float(value)
            measured: dict[str, Any] = {criterion: value}
            self.candidate = replace(self.candidate, **measured)
        return self._measures[criterion]

    def _evaluate(self, criterion: str) -> float | None:
        model, last = self.prepared.model, self.last
        if criterion == "heldout":
            return criterion_value(replace(last, heldout=score_run(self.prepared, last)), criterion)
        responsibilities = self.prepared.algorithm.responsibilities(last.state)
        with one_thread():
            if criterion == "lower_bound":
                return model.lower_bound(last.posterior, responsibilities)
            return model.pseudo_loo(last.posterior, self.poll, responsibilities)

    def leave(self, rung: int) -> None:
        """Leave the race, beaten at a rung."""
        self.candidate = replace(self.candidate, out_after=rung)
        self.free_memory()

    def free_memory(self) -> None:
        """Give up the run."""
        self._sweeps.close()
        self.snapshot, self.history = None, History()

    def stop(self) -> None:
        """End the run where it is and evaluate its last sweep; raise StopRun when it did none."""
        if self.snapshot is None:
            raise StopRun
        if self.snapshot.verdict is None:
            self._publish(finish_stopped_run(self.prepared, self.snapshot))

    def _publish(self, snapshot: SweepRecord) -> None:
        self.history.append(snapshot)
        self.candidate = self.candidate.after(snapshot)
        self._measures = {}
        self.snapshot = snapshot.release_state()
        if snapshot.verdict is not None:
            self._sweeps.close()


def _most_sweeps(n: int, first_rung: int, cap: int) -> int:
    """Return how many sweeps a race and its winner do together when none of the runs converges."""
    total, before, rung = 0, 0, first_rung
    while n > 1:
        total += n * (rung - before)
        before, rung, n = rung, min(2 * rung, cap), n_survivors(n)
    return total + cap - before
