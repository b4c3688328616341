"""Studies: many runs of one plan, made one after another in the background; an experiment and a search are studies."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Generic, Protocol, Self, TypeVar

from acvb_core.core.protocols import Poll, no_poll
from acvb_core.engine.executor import (
    BackgroundTask,
    Executor,
    ExecutorChoice,
    InterruptedRun,
    JobState,
    Status,
)
from acvb_core.engine.fitting import Watcher, solve
from acvb_core.engine.history import History, SweepRecord
from acvb_core.engine.prepared import PreparedRun
from acvb_core.engine.result import Result
from acvb_core.engine.run import StopRun


class Study(Protocol):
    """The runs of a plan that are over."""

    @property
    def n_runs(self) -> int:
        """How many runs are over."""

    @property
    def last_run(self) -> Any:
        """The run that ended last, in plain values, as it is kept."""

    def with_run(self, made: Any) -> Self:
        """Return the study with one more run, as its plan describes it."""

    def release(self) -> Self:
        """Return the study without results that are too large to hold while it runs."""


StudyT = TypeVar("StudyT", bound=Study)
GivenT = TypeVar("GivenT", contravariant=True)


class Strategy(Protocol[GivenT]):
    """The plan of a study: which runs it needs next, and what is kept of each; an experiment's, or a search's."""

    @property
    def n_runs(self) -> int:
        """How many runs there will be."""

    def list_missing(self, study: GivenT) -> Sequence[Any]:
        """Return the runs that can be made now, for `build_run`; none where the study is complete."""

    def build_run(self, run: Any) -> PreparedRun:
        """Return a run, not started."""

    def describe_run(self, run: Any, result: Result) -> Any:
        """Return what is kept of a run that is over, for `Study.with_run`."""

    def describe_failure(self, run: Any, error: Exception) -> Any:
        """Return what is kept of a run that failed; raises the error if it is to end the study."""


#: The verdict of a run that could not be made to its end.
FAILED = "FAILED"


def make_runs(
    plan: Strategy[StudyT],
    study: StudyT,
    *,
    watch: Watcher | None = None,
    poll: Poll = no_poll,
    executor: Executor | None = None,
) -> Iterator[StudyT]:
    """Yield a study after every run; from the runs that are over, make those that are missing.

    A run that the poll stops does not count, and ends the study. `watch`, `poll` and `executor` are as for `fit`; a
    `DaskExecutor` computes runs side by side.
    """
    with suppress(StopRun):
        poll()
        while missing := plan.list_missing(study):
            calls = [partial(_make_run, plan, run, watch, executor) for run in missing]
            for _, made in (executor or Executor()).compute_all(calls, poll):
                study = study.with_run(made)
                yield study
            poll()


def _make_run(
    plan: Strategy[Any], run: Any, watch: Watcher | None, executor: Executor | None, poll: Poll
) -> Any:
    poll()
    try:
        result = solve(plan.build_run(run), watch, poll, executor=executor)
    except (StopRun, InterruptedRun):
        raise
    except Exception as error:  # whatever it is, the other runs continue
        return plan.describe_failure(run, error)
    if result.was_stopped:
        raise StopRun
    return plan.describe_run(run, result)


def finish_study(plan: Strategy[StudyT], study: StudyT, **options: Any) -> StudyT:
    """Return a study with all its runs; `options` as for `make_runs`.

    Raises StopRun: the poll ended the first run.
    """
    last = deque(make_runs(plan, study, **options), maxlen=1)
    if not last:
        raise StopRun
    return last[0]


@dataclass(frozen=True, kw_only=True, eq=False)
class StudyState(JobState, Generic[StudyT]):
    """A study at one moment."""

    study: StudyT  #: the runs that are over
    planned: int  #: how many there will be
    #: The run under way; None between two runs and at the end.
    prepared: PreparedRun | None = None
    snapshot: SweepRecord | None = None  #: that run after its last whole sweep
    history: History = field(default_factory=History)  #: its diagnostics

    @property
    def number(self) -> int | None:
        """Number of the run under way, from 1; None if the study is not going on."""
        begun = self.status.active and self.status is not Status.QUEUED
        return min(self.study.n_runs + 1, self.planned) if begun else None

    @property
    def run_done(self) -> float:
        """Share of the run under way that is done, of its cap in sweeps, 0 to 1."""
        if self.prepared is None or self.snapshot is None:
            return 0.0
        return min(self.snapshot.sweep / self.prepared.max_sweeps, 1.0)

    @property
    def done(self) -> float:
        """Share of the study that is done, in runs, 0 to 1."""
        return min((self.study.n_runs + self.run_done) / self.planned, 1.0)

    @property
    def is_complete(self) -> bool:
        """True when all runs are over."""
        return self.study.n_runs >= self.planned


class StudyJob(BackgroundTask[StudyState[StudyT]], Generic[StudyT]):
    """A study on a thread of the executor.

    A stop keeps the runs that are over. The one under way is given up; it is made again when the study continues.

    `known`: the runs that are over.
    `keep`: called with each run before it is published.
    `begun`: the study began before, perhaps in another process: it has ended or was interrupted.
    """

    def __init__(
        self,
        plan: Strategy[StudyT],
        known: StudyT,
        executor: ExecutorChoice,
        keep: Callable[[Any], object] = bool,
        *,
        begun: bool = False,
        job_id: str | None = None,
        owner: str = "",
    ) -> None:
        state = StudyState(study=known, planned=plan.n_runs)
        super().__init__(state, executor, job_id=job_id, owner=owner)
        self.plan: Any = plan
        self._keep = keep
        if begun:
            self._publish(Status.FINISHED if state.is_complete else Status.INTERRUPTED)
            self._ended.set()

    @property
    def can_go_on(self) -> bool:
        """True when runs are missing and none is under way."""
        return not self._state.status.active and not self._state.is_complete

    def go_on(self) -> None:
        """Make the runs that are missing, as if the study had not been interrupted.

        Raises ValueError: none is missing, or they are being made.
        """
        if not self.can_go_on:
            raise ValueError("no run of the study is missing, or they are being made")
        self._go_on()

    def result(self) -> StudyT:
        """Return the runs of a study that has ended.

        Raises ValueError: it is still running, or ended before one run was over.
        """
        now = self._state
        if now.status.active or not now.study.n_runs:
            raise ValueError("the study has no result: it is still running, or no run was made")
        return now.study

    def _do(self) -> None:
        self._publish(Status.STARTING)
        for study in make_runs(
            self.plan, self._state.study, watch=self._watch, poll=self, executor=self._executor
        ):
            self._keep(study.last_run)
            self._publish_runs(study.release())
        self._publish_runs(self._state.study)

    def _publish_runs(self, study: StudyT) -> None:
        self._publish(Status.RUNNING, study=study, prepared=None, snapshot=None, history=History())

    def _watch(self, prepared: PreparedRun, snapshot: SweepRecord) -> None:
        self._state.history.append(snapshot)
        self._publish(Status.RUNNING, prepared=prepared, snapshot=replace(snapshot, state=None))
