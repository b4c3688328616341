"""A search for the best steps in the background: inspect, pause, resume, stop, go on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from acvb_core.engine.handle import ExecutorChoice, Handle, JobState, Status
from acvb_core.engine.history import History
from acvb_core.engine.problem import Problem
from acvb_core.engine.snapshot import Snapshot
from acvb_core.engine.tuning.search import Search, run_search
from acvb_core.engine.tuning.trials import Trial, Tuning


@dataclass(frozen=True, kw_only=True, eq=False)
class TuningInspection(JobState):
    """A search at one moment."""

    tuning: Tuning  #: the trials that are over, without the run of the best
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

    Each trial is handed to `keep` before it is published. A stop keeps the trials that are over; the one under way is
    given up, and is made again when the search goes on.
    """

    def __init__(
        self,
        search: Search,
        executor: ExecutorChoice,
        keep: Callable[[Trial], object] = bool,
        *,
        job_id: str | None = None,
        owner: str = "",
    ) -> None:
        self.search = search
        state = TuningInspection(tuning=Tuning(search.space.names), trials=search.trials, history=History())
        super().__init__(state, executor, job_id=job_id, owner=owner)
        self._keep = keep

    @classmethod
    def restore(
        cls,
        search: Search,
        tuning: Tuning,
        executor: ExecutorChoice,
        keep: Callable[[Trial], object],
        *,
        job_id: str,
        owner: str = "",
    ) -> TuningJob:
        """Return the handle of a search that ended or was interrupted, perhaps in another process."""
        job = cls(search, executor, keep, job_id=job_id, owner=owner)
        is_complete = len(tuning.trials) >= search.trials
        job._publish(Status.FINISHED if is_complete else Status.INTERRUPTED, tuning=tuning)
        job._ended.set()
        return job

    @property
    def can_go_on(self) -> bool:
        """True when trials are missing and none is under way."""
        now = self._state
        return not now.status.active and len(now.tuning.trials) < now.trials

    def go_on(self) -> None:
        """Make the trials that are missing, as if the search had not been interrupted.

        Raises ValueError: none is missing, or they are being made.
        """
        if not self.can_go_on:
            raise ValueError("no trial of the search is missing, or they are being made")
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
        for tuning in run_search(
            self.search,
            known,
            watch=self._publish_sweep,
            checkpoint=self._checkpoint,
            executor=self._executor,
        ):
            self._keep(tuning.trials[-1])
            # The best run may be large, and nothing asks a job for it.
            self._publish_trials(replace(tuning, best_result=None))
        self._publish_trials(self._state.tuning)

    def _publish_trials(self, tuning: Tuning) -> None:
        self._publish(Status.RUNNING, tuning=tuning, problem=None, snapshot=None, history=History())

    def _publish_sweep(self, problem: Problem, snapshot: Snapshot) -> None:
        self._state.history.append(snapshot)
        self._publish(Status.RUNNING, problem=problem, snapshot=replace(snapshot, state=None))
