"""Restarts that race: runs from several seeds, the worse half of which is given up at each rung.

Successive halving (Jamieson and Talwalkar, AISTATS 2016): all entrants are brought to the first rung, a number of
sweeps; those with the better lower bound (or held-out score, as the model has it) go on to the next, at twice as many
sweeps, until one is left. Each is an ordinary run from its own seed, so that the winner is bit for bit what it would
have been alone. Entrants take turns in the order they stand in, on one thread.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from acvb_core.core.protocols import Checkpoint, no_checkpoint
from acvb_core.engine.history import History
from acvb_core.engine.problem import Problem
from acvb_core.engine.race_report import Entrant, RaceReport, n_survivors
from acvb_core.engine.run import StopRun, finish_stopped_run, run, score_run
from acvb_core.engine.snapshot import Snapshot, Verdict
from acvb_core.engine.threads import one_thread

#: Sweeps of the first rung. Methods that merge and split clusters have begun to by then: bounds before say little.
FIRST_RUNG = 20


@dataclass(frozen=True)
class RaceUpdate:
    """What a race publishes after every sweep of an entrant, and once when it is over.

    Attributes
    ----------
    problem, history, snapshot
        Of the leader: its own settings, all its sweeps so far, the last of them.
    race_report : RaceReport
    swept : tuple of Problem and Snapshot, or None
        The entrant that has just done a sweep, and what came of it; None when the race is over.
    """

    problem: Problem
    history: History
    snapshot: Snapshot
    race_report: RaceReport
    swept: tuple[Problem, Snapshot] | None


def race(
    problem: Problem, *, checkpoint: Checkpoint = no_checkpoint, first_rung: int = FIRST_RUNG
) -> Iterator[RaceUpdate]:
    """Yield a RaceUpdate after each sweep of any entrant; the last one, when one entrant is left, is of the winner.

    The winner is not run to its end: `run(update.problem, resume=update.snapshot)` does that while it has no verdict.

    Parameters
    ----------
    problem : Problem
        Its settings' `restarts` is the number of entrants, `seed` that of the first; no update where it is 1.
    checkpoint : callable
        As for `run`; when it raises StopRun the race is over, and the leader so far is kept, with verdict STOPPED
        unless it had come to its end.
    first_rung : int
        Sweeps; the cap of the run at most.

    Raises
    ------
    ParameterError
        The entrants need more memory than is free (`Problem.check_memory`).
    StopRun
        The checkpoint ended the race before there was anything to keep.

    Notes
    -----
    Ties go to the lower seed; a run that diverged, or has nothing to be judged by, is behind all others. Where there is
    no lower bound (a running mean of counts without responsibilities), the pseudo leave-one-out log likelihood decides.
    Models whose bounds cannot be compared race by the mean log likelihood of what is held out (`ModelRow.raced_by`).
    """
    if problem.settings.restarts > 1:
        problem.refuse_too_large()
        yield from _Race(problem, checkpoint, first_rung).updates()


class _Race:
    def __init__(self, problem: Problem, checkpoint: Checkpoint, first_rung: int) -> None:
        settings = problem.settings
        self.cap = problem.max_sweeps
        self.first_rung = min(first_rung, self.cap)
        self.checkpoint = checkpoint
        seeds = range(settings.seed, settings.seed + settings.restarts)
        self.racers = [_Racer(problem.with_seed(seed), checkpoint) for seed in seeds]
        self.field = self.racers
        self.leader = self.racers[0]
        self.sizes = [len(self.racers)]
        self.judged_by: str = problem.model_row.raced_by
        self.all_sweeps = _most_sweeps(len(self.racers), self.first_rung, self.cap)

    def updates(self) -> Iterator[RaceUpdate]:
        rung = self.first_rung
        try:
            while len(self.field) > 1:
                yield from self._heat(rung)
                rung = min(2 * rung, self.cap)
        except StopRun:
            self.leader.stop()
        for racer in self.racers:
            if racer is not self.leader:
                racer.let_go()
        yield self._update(None, None)

    def _heat(self, rung: int) -> Iterator[RaceUpdate]:
        """Bring all who are in to a rung, and keep the better half; a loser goes as soon as it is known to be one."""
        keep = n_survivors(len(self.field))
        there: list[_Racer] = []
        for racer in self.field:
            for _ in racer.sweeps_to(rung):
                yield self._update(rung, racer)
            there = self._ranked([*there, racer])
            self.leader = there[0]
            if len(there) > keep:
                there.pop().leave(rung)
        self.field = there
        self.sizes.append(keep)

    def _ranked(self, racers: list[_Racer]) -> list[_Racer]:
        """Return runs that did as many sweeps, best first."""
        values = self._measured(racers)
        if self.judged_by == "lower_bound" and any(map(math.isnan, values)):
            self.judged_by = "pseudo_loo"
            values = self._measured(racers)
        ranks = [-math.inf if math.isnan(value) else value for value in values]
        ranked = sorted(zip(ranks, racers, strict=True), key=lambda one: (-one[0], one[1].entrant.seed))
        return [racer for _, racer in ranked]

    def _measured(self, racers: list[_Racer]) -> list[float]:
        return [racer.measured(self.judged_by, self.checkpoint) for racer in racers]

    def _update(self, rung: int | None, racer: _Racer | None) -> RaceUpdate:
        entrants = tuple(one.entrant for one in self.racers)
        left = 0 if rung is None else self.all_sweeps - sum(entrant.sweeps for entrant in entrants)
        race_report = RaceReport(
            entrants,
            self.leader.entrant.seed,
            tuple(self.sizes),
            rung,
            None if racer is None else racer.entrant.seed,
            left,
            self.judged_by,
        )
        swept = None if racer is None else (racer.problem, racer.last)
        return RaceUpdate(self.leader.problem, self.leader.history, self.leader.last, race_report, swept)


class _Racer:
    """A run that is brought from rung to rung."""

    def __init__(self, problem: Problem, checkpoint: Checkpoint) -> None:
        self.problem = problem
        self.history = History()
        self.snapshot: Snapshot | None = None
        self.entrant = Entrant(problem.settings.seed)
        self._measured: dict[str, float] = {}
        self._sweeps = run(problem, checkpoint=checkpoint)

    @property
    def last(self) -> Snapshot:
        """The snapshot of a run that has begun."""
        assert self.snapshot is not None
        return self.snapshot

    def sweeps_to(self, rung: int) -> Iterator[None]:
        """Do sweeps up to a rung or to the run's end, one at a time; raise StopRun when one was stopped."""
        while self.snapshot is None or (self.snapshot.verdict is None and self.snapshot.sweep < rung):
            found = next(self._sweeps, None)
            if found is None:  # stopped in its start
                raise StopRun
            self._take(found)
            if found.verdict is Verdict.STOPPED:
                raise StopRun
            yield

    def measured(self, by: str, checkpoint: Checkpoint) -> float:
        """Return what the run is judged by, evaluated if it was not in the last sweep; NaN where there is none."""
        if self.last.verdict is Verdict.DIVERGED:
            return -math.inf
        if by not in self._measured:
            value = _value(self.last, by)
            if value is None and self.last.state is not None:
                value = self._evaluated(by, checkpoint)
            # Kept beside the run, whose own diagnostics are to be those it would have alone.
            self._measured[by] = math.nan if value is None else float(value)
            self.entrant = self.entrant.with_criterion(by, value)
        return self._measured[by]

    def _evaluated(self, by: str, checkpoint: Checkpoint) -> float | None:
        model, last = self.problem.model, self.last
        if by == "heldout":
            return _value(replace(last, heldout=score_run(self.problem, last)), by)
        given = self.problem.inference.responsibilities(last.state)
        with one_thread():
            if by == "lower_bound":
                return model.lower_bound(last.posterior, given)
            return model.pseudo_loo(last.posterior, checkpoint, given)

    def leave(self, rung: int) -> None:
        """Be beaten at a rung."""
        self.entrant = replace(self.entrant, out_after=rung)
        self.let_go()

    def let_go(self) -> None:
        """Free the run's memory."""
        self._sweeps.close()
        self.snapshot, self.history = None, History()

    def stop(self) -> None:
        """End where the run is, and evaluate what it has; raise StopRun when that is nothing."""
        if self.snapshot is None:
            raise StopRun
        if self.snapshot.verdict is None:
            self._take(finish_stopped_run(self.problem, self.snapshot))

    def _take(self, snapshot: Snapshot) -> None:
        self.history.append(snapshot)
        self.entrant = self.entrant.after(snapshot)
        self._measured = {}
        self.snapshot = snapshot.release_state()
        if snapshot.verdict is not None:
            self._sweeps.close()


def _value(snapshot: Snapshot, by: str) -> float | None:
    """Return what a run is judged by as a snapshot has it; of the held-out scores, the first."""
    if by == "heldout":
        return None if snapshot.heldout is None else float(snapshot.heldout[0])
    found: float | None = getattr(snapshot, by)
    return found


def _most_sweeps(n: int, first_rung: int, cap: int) -> int:
    """Return how many sweeps a race and its winner do together when none of the runs converges."""
    total, before, rung = 0, 0, first_rung
    while n > 1:
        total += n * (rung - before)
        before, rung, n = rung, min(2 * rung, cap), n_survivors(n)
    return total + cap - before
