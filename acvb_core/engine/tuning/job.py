"""A search for the best steps in the background: inspect, pause, resume, stop, go on for more trials."""

from __future__ import annotations

from dataclasses import dataclass, replace

from acvb_core.engine.executor import Executor
from acvb_core.engine.handle import Handle, JobState, Status
from acvb_core.engine.history import History
from acvb_core.engine.problem import Problem
from acvb_core.engine.snapshot import Snapshot
from acvb_core.engine.tuning.search import Search, run_search
from acvb_core.engine.tuning.trials import Tuning


@dataclass(frozen=True, kw_only=True, eq=False)
class TuningInspection(JobState):
    """A search at one moment."""

    tuning: Tuning  #: the trials that are over
    trials: int  #: how many there will be
    history: History  #: diagnostics of the trial under way
    #: The run of the trial under way, whose settings say what is tried; None between two trials and at the end.
    problem: Problem | None = None
    snapshot: Snapshot | None = None  #: that run after its last whole sweep

    @property
    def trial(self) -> int | None:
        """Number of the trial under way; None where the search is not going on."""
        begun = self.status.active and self.status is not Status.QUEUED
        return min(len(self.tuning.trials) + 1, self.trials) if begun else None

    @property
    def best_perplexity(self) -> float | None:
        """The lowest perplexity so far; None before there is one."""
        best = self.tuning.best_trial
        return None if best is None else best.perplexity

    @property
    def trial_done(self) -> float:
        """Share of the trial under way that is done, of its cap in sweeps, 0 to 1."""
        if self.problem is None or self.snapshot is None:
            return 0.0
        return min(self.snapshot.sweep / self.problem.max_sweeps, 1.0)

    @property
    def done(self) -> float:
        """Share of the search that is done, in trials, 0 to 1."""
        return min((len(self.tuning.trials) + self.trial_done) / self.trials, 1.0)


class TuningJob(Handle[TuningInspection]):
    """A search on a thread of the executor, one trial after the other.

    A stop keeps the trials that are over; the one under way is given up.
    """

    def __init__(self, search: Search, executor: Executor, *, job_id: str | None = None) -> None:
        self.search = search
        state = TuningInspection(tuning=Tuning(search.space.names), trials=search.trials, history=History())
        super().__init__(state, executor, job_id=job_id)

    @property
    def can_extend(self) -> bool:
        """True when the search is over, by itself or because it was stopped."""
        return self._state.status is Status.FINISHED

    def extend(self, trials: int = 0) -> None:
        """Make the trials that a stop left out, and `trials` more, as if the search had not been interrupted.

        Raises ValueError: the search is still going on, or has failed.
        """
        if not self.can_extend:
            raise ValueError("only a search that is over or was stopped can go on")
        self.search = replace(self.search, trials=self.search.trials + trials)
        self._state = replace(self._state, trials=self.search.trials)
        self._go_on()

    def result(self) -> Tuning:
        """Return the trials of a search that has ended.

        Raises ValueError: it is still going on, or ended before one trial was over.
        """
        now = self._state
        if now.status.active or not now.tuning.trials:
            raise ValueError("the search has no result: it is still going on, or no trial was made")
        return now.tuning

    def _do(self) -> None:
        self._publish(Status.STARTING)
        known = self._state.tuning
        for tuning in run_search(self.search, known, watch=self._publish_sweep, checkpoint=self._checkpoint):
            self._publish_trials(tuning)
        self._publish_trials(self._state.tuning)

    def _publish_trials(self, tuning: Tuning) -> None:
        self._publish(Status.RUNNING, tuning=tuning, problem=None, snapshot=None, history=History())

    def _publish_sweep(self, problem: Problem, snapshot: Snapshot) -> None:
        self._state.history.append(snapshot)
        self._publish(Status.RUNNING, problem=problem, snapshot=replace(snapshot, state=None))
