"""Studies: many runs of one plan, made one after another in the background; an experiment and a search are studies."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Protocol, TypeVar

from acvb_core.core.protocols import Poll
from acvb_core.engine.background import BackgroundTask, ExecutorChoice, JobState, Status
from acvb_core.engine.executor import Executor
from acvb_core.engine.fitting import Watcher
from acvb_core.engine.history import History
from acvb_core.engine.prepared import PreparedRun
from acvb_core.engine.snapshot import SweepRecord


class Study(Protocol):
    """The runs of a plan that are over."""

    @property
    def n_runs(self) -> int:
        """How many runs are over."""

    @property
    def last_run(self) -> Any:
        """The run that ended last, in plain values, as it is kept."""


StudyT = TypeVar("StudyT", bound=Study)


class MakeRuns(Protocol[StudyT]):
    """Function that makes the runs of a plan that are missing in a study: `run_experiment`, or `run_search`."""

    def __call__(
        self, plan: Any, known: StudyT, *, watch: Watcher, poll: Poll, executor: Executor
    ) -> Iterator[StudyT]:
        """Yield the study after every run; a run that the poll stops does not count, and is the last."""


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
        """Number of the run under way, from 1; None where the study is not going on."""
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

    Each run is handed to `keep` before it is published. A stop keeps the runs that are over; the one under way is given
    up, and is made again when the study goes on.

    `plan`: what the runs are made from; its `n_runs` says how many there will be.
    `known`: the runs that are over.
    `begun`: they were made before, perhaps in another process, so that the study has ended or was interrupted.
    """

    def __init__(
        self,
        plan: Any,
        make_runs: MakeRuns[StudyT],
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
        self.plan, self._make_runs, self._keep = plan, make_runs, keep
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

        Raises ValueError: it is still going on, or ended before one run was over.
        """
        now = self._state
        if now.status.active or not now.study.n_runs:
            raise ValueError("the study has no result: it is still going on, or no run was made")
        return now.study

    def _do(self) -> None:
        self._publish(Status.STARTING)
        for study in self._make_runs(
            self.plan,
            self._state.study,
            watch=self._watch,
            poll=self._poll,
            executor=self._executor,
        ):
            self._keep(study.last_run)
            self._publish_runs(study)
        self._publish_runs(self._state.study)

    def _publish_runs(self, study: StudyT) -> None:
        self._publish(Status.RUNNING, study=study, prepared=None, snapshot=None, history=History())

    def _watch(self, prepared: PreparedRun, snapshot: SweepRecord) -> None:
        self._state.history.append(snapshot)
        self._publish(Status.RUNNING, prepared=prepared, snapshot=replace(snapshot, state=None))
