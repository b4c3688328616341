"""A run in the background, as a handle: inspect, pause, resume, stop, extend."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

from acvb_core.core.errors import AcvbError
from acvb_core.core.protocols import can_keep
from acvb_core.core.spec import MethodSpec, ModelSpec
from acvb_core.engine.executor import BackgroundTask, ExecutorChoice, JobState, Status
from acvb_core.engine.history import History, RaceReport, Verdict
from acvb_core.engine.prepared import PreparedRun, RunLabel, RunSpec, name_run
from acvb_core.engine.result import Result
from acvb_core.engine.run import RunState
from acvb_core.engine.stopping import (
    estimate_sweeps_left,
    explain_convergence,
    read_progress,
    share_done,
    worst_case_sweeps,
)


@dataclass(frozen=True, kw_only=True, eq=False)
class RunOutline:
    """A run at one moment, as a list shows it; while restarts race, all of it is the leader's."""

    spec: RunSpec  #: with the run's own seed; before a race, of all restarts
    #: `row`, `model_row`: rows of the registry.
    row: MethodSpec
    model_row: ModelSpec
    #: `fingerprint`, `data_name`, `on_disk`: of the data as they were loaded, and whether these stay on disk.
    fingerprint: str
    data_name: str
    on_disk: bool
    status: Status
    error: str | None = None  #: why it failed or was interrupted
    verdict: Verdict | None = None  #: None while it runs
    sweep: int | None = None  #: sweeps done; None before the first
    cpu_seconds: float = 0.0
    effective_k: Mapping[str, int] = field(default_factory=dict)
    has_settled: bool | None = None  #: as `SweepRecord.has_settled`
    lower_bound: float = math.nan  #: NaN if it was not evaluated
    heldout: Mapping[str, float] = field(default_factory=dict)  #: the last held-out scores; empty without any
    race: tuple[int, int] | None = None  #: first seed and number of restarts of the race that it came out of

    @property
    def has_answer(self) -> bool:
        """True once a sweep was done."""
        return bool(self.sweep)

    @property
    def score(self) -> float:
        """The held-out score that runs are ranked by, higher is better; NaN without one."""
        return next(iter(self.heldout.values()), math.nan)

    @property
    def asked(self) -> RunSpec:
        """The settings that the run was started with: of a race, those of all restarts."""
        if self.race is None:
            return self.spec
        return replace(self.spec, seed=self.race[0], restarts=self.race[1])

    @property
    def usual_name(self) -> str:
        """The usual name of the run: method, size and its own seed."""
        return name_run(self.spec, self.row)


@dataclass(frozen=True, kw_only=True, eq=False)
class JobSnapshot(JobState, RunState):
    """A run in the background at one moment; while restarts race, all of it is the leader's."""

    @property
    def run(self) -> RunState:
        """The state of the run itself."""
        return RunState(**{field.name: getattr(self, field.name) for field in fields(RunState)})

    @property
    def verdict(self) -> Verdict | None:
        """Verdict of a run that is over; None before."""
        return None if self.snapshot is None or self.status.active else self.snapshot.verdict

    @cached_property
    def outline(self) -> RunOutline:
        """The run at this moment, as lists show it."""
        last, prepared = self.snapshot, self.prepared
        race = self.race_report
        scores = None if last is None or last.heldout is None else last.heldout._asdict()
        if scores is None and prepared.heldout is not None:
            first = prepared.model_row.score_type.load()._fields[0]
            value = self.history.last_value(f"heldout_{first}")
            scores = {first: value} if math.isfinite(value) else None
        bound = None if last is None else last.lower_bound
        return RunOutline(
            spec=prepared.spec,
            row=prepared.row,
            model_row=prepared.model_row,
            fingerprint=prepared.fingerprint,
            data_name=prepared.data.name,
            on_disk=prepared.model_row.on_disk(prepared.data),
            status=self.status,
            error=self.error,
            verdict=self.verdict,
            sweep=None if last is None else last.sweep,
            cpu_seconds=0.0 if last is None else last.cpu_seconds,
            effective_k={} if last is None else last.effective_k,
            has_settled=None if last is None else last.has_settled,
            lower_bound=self.history.last_value("lower_bound") if bound is None else bound,
            heldout=scores or {},
            race=None if race is None else (race.first_seed, race.restarts),
        )

    @property
    def sweeps_per_second(self) -> float | None:
        """Sweeps per second of clock time over the run so far; None before the first."""
        last = self.snapshot
        return None if last is None or last.wall_seconds <= 0 else last.sweep / last.wall_seconds or None

    @property
    def seconds_left(self) -> float | None:
        """Clock time to the cap at the present rate, an upper limit; None before the first sweep.

        It includes the rest of a race. An averaged run ends at the latest when its convergence is certain.
        """
        rate = self.sweeps_per_second
        return None if rate is None else self._most_sweeps_left / rate

    @property
    def expected_seconds_left(self) -> float | None:
        """About how long the run will take by the clock, by the progress of what it is judged by; None if unknown."""
        rate = self.sweeps_per_second
        if rate is None:
            return None
        most = self._most_sweeps_left
        left = most if self.is_racing else estimate_sweeps_left(self.prepared, self.history, most)
        return None if left is None else left / rate

    @property
    def done(self) -> float:
        """Share of the run that is done, 0 to 1; less than 1 where it was stopped before its tolerance or its cap."""
        if self.verdict is Verdict.CONVERGED:
            return 1.0
        return share_done(self.prepared, self.history, self.max_sweeps)

    @property
    def watched_change(self) -> float | None:
        """The last change that the tolerance is compared with; None if there is none (yet)."""
        progress = read_progress(self.prepared, self.history)
        return None if progress is None or not len(progress.change) else float(progress.change[-1])

    @cached_property
    def reason(self) -> str:
        """The rule that ended a converged run, in words; "" for other runs (`explain_convergence`)."""
        last = self.snapshot
        return "" if last is None else explain_convergence(self.prepared, self.history, last)

    @property
    def _most_sweeps_left(self) -> float:
        """Sweeps to the cap, or until convergence is certain; in a race, all that are to come."""
        last, race_report = self.snapshot, self.race_report
        if race_report is not None and race_report.rung is not None:
            return race_report.sweeps_left
        if last is None:
            return self.max_sweeps
        sweeps_left = max(self.max_sweeps - last.sweep, 0)
        if self.prepared.row.monitored == "mean_change" and last.samples:
            worst = worst_case_sweeps(self.prepared.spec.values["tol"])
            sweeps_left = min(sweeps_left, max(worst - last.samples, 0))
        return sweeps_left


class Job(BackgroundTask[JobSnapshot]):
    """One run on a thread of the executor, or several that race until one of them is left.

    `run`: to be done; or the outline of a stored run, which is read when more of it is asked for.
    `read`: of a stored run, returns the handle that `restore` gives; what it raises is raised by whatever asks.
    `label`: the usual name to begin with; whoever keeps several jobs sees to it that no two have the same.
    """

    def __init__(
        self,
        run: PreparedRun | RunOutline,
        executor: ExecutorChoice,
        *,
        job_id: str | None = None,
        owner: str = "",
        read: Callable[[], Job] | None = None,
    ) -> None:
        self._read, self._reading = read, threading.Lock()
        self._read_state: Callable[[], tuple[Any, Any] | None] | None = None
        self._now = None if isinstance(run, RunOutline) else JobSnapshot.begin(run)
        super().__init__(self._now, executor, job_id=job_id, owner=owner)
        if isinstance(run, RunOutline):
            self._listed, self.label = run, RunLabel(name_run(run.asked, run.row))
            self._ended.set()
        else:
            self._asked, self.label = run, RunLabel(run.label)

    @property
    def outline(self) -> RunOutline:
        """The run at this moment, as lists show it; a stored run is not read for it."""
        return self._listed if self._now is None else self.inspect().outline

    @property
    def _state(self) -> JobSnapshot:
        if self._now is None:
            with self._reading:
                if self._now is None:
                    assert self._read is not None
                    stored = self._read()
                    self._asked, self._read_state = stored._asked, stored._read_state
                    self._now = stored._state
        return self._now

    @_state.setter
    def _state(self, state: JobSnapshot) -> None:
        self._now = state

    @classmethod
    def restore(
        cls,
        stored: Result | PreparedRun,
        executor: ExecutorChoice,
        *,
        job_id: str,
        created: float,
        owner: str = "",
        read_state: Callable[[], tuple[Any, Any] | None] | None = None,
    ) -> Job:
        """Return the handle of a run of earlier, perhaps of another process: it ended, or was interrupted.

        `stored`: the `PreparedRun` alone of a run that had done no sweep.
        `read_state`: returns what the run continues from, None if it was not kept.
        """
        if not isinstance(stored, Result):
            job = cls(stored, executor, job_id=job_id, owner=owner)
            job._state = replace(job._state, status=Status.INTERRUPTED)
        else:
            job = cls(stored.prepared, executor, job_id=job_id, owner=owner)
            status = Status.INTERRUPTED if stored.snapshot.verdict is None else Status.FINISHED
            job._state = replace(job._state, status=status, **vars(stored.state))
            if (race := stored.state.race_report) is not None:
                asked = replace(stored.prepared.spec, seed=race.first_seed, restarts=race.restarts)
                job.label = RunLabel(name_run(asked))
        job.created, job._read_state = created, read_state
        job._ended.set()
        return job

    def record(self) -> Result | PreparedRun:
        """Return the run as it can be kept now; the `PreparedRun` alone if it would start over, as a race does."""
        now = self._state
        if now.snapshot is None or now.is_racing:
            return self._asked
        return Result(now.run, self.label.name)

    @property
    def prepared(self) -> PreparedRun:
        """The run, with its own seed; before a race, all restarts."""
        return self._state.prepared

    @property
    def history(self) -> History:
        """Diagnostics of every sweep of the run so far."""
        return self._state.history

    @property
    def race_report(self) -> RaceReport | None:
        """The race of restarts that is on, or that the run won; None if there is none."""
        return self._state.race_report

    def extend(self, sweeps: int) -> None:
        """Continue for up to `sweeps` more sweeps a run that reached its cap or was stopped.

        After a race that was stopped, the run that was ahead continues alone.

        Raises ValueError: the run is still running, has converged, diverged or failed, or never did a sweep.
        """
        seen = self.inspect()
        if seen.snapshot is None or not self.can_extend:
            raise ValueError("only a run that reached its cap or was stopped can be extended")
        if not self._take_state():
            raise AcvbError("What the run continues from was not kept. Start it again with more sweeps.")
        self._state = replace(self._state, max_sweeps=seen.snapshot.sweep + sweeps)
        self._go_on()

    @property
    def can_extend(self) -> bool:
        """True when the run reached its cap or was stopped, and its state is still there."""
        seen = self.inspect()
        return (
            seen.status is Status.FINISHED
            and seen.verdict in (Verdict.MAX_SWEEPS, Verdict.STOPPED)
            and seen.snapshot is not None
            and (seen.snapshot.state is not None or self._read_state is not None)
        )

    @property
    def can_continue(self) -> bool:
        """True when the run was interrupted, and what it began from was kept."""
        outline = self.outline
        if outline.status is not Status.INTERRUPTED:
            return False
        return not outline.spec.start or self.prepared.start is not None

    def continue_run(self) -> None:
        """Continue an interrupted run from where it was last kept, or from scratch: it ends with the same bits.

        Raises ValueError: the run was not interrupted, or what it began from was not kept.
        Raises AcvbError: what was kept of it cannot be read.
        """
        if not self.can_continue:
            raise ValueError("only a run that was interrupted can be continued")
        if not self._take_state():
            self._state = replace(self._state, snapshot=None, history=History())
        self._go_on()

    def _take_state(self) -> bool:
        """Read the state back where it is not at hand; return whether there is one."""
        snapshot = self._state.snapshot
        if snapshot is not None:  # what is stored will be replaced, while pages still show it
            snapshot.hold_posterior()
            self._state.history.hold()
        if snapshot is None or snapshot.state is not None:
            return snapshot is not None
        read, self._read_state = self._read_state, None
        try:
            kept = None if read is None else read()
        except AcvbError as error:
            anew = " Continue it again to start from the beginning." if self.can_continue else ""
            raise AcvbError(f"{error}{anew}") from error
        if kept is not None:
            self._state = replace(self._state, snapshot=replace(snapshot, state=kept[0], memory=kept[1]))
        return kept is not None

    def release_answer(self, read: Callable[[str], Any], *, is_new: bool = False) -> None:
        """Let go of the arrays of a run that is over and was stored; `read` gives them back, by their names there.

        `is_new`: as for `SweepRecord.release_posterior`.
        """
        now = self._state
        if now.snapshot is not None and now.status is Status.FINISHED:
            now.history.release(read)
            self._state = replace(now, snapshot=now.snapshot.release_posterior(read, is_new=is_new))

    def release_state(self, read_state: Callable[[], tuple[Any, Any] | None]) -> None:
        """Let go of the state of a run that is over and was stored; `read_state` gives it back."""
        now = self._state
        if now.status is Status.FINISHED and now.snapshot is not None:
            self._read_state = read_state
            self._state = replace(now, snapshot=replace(now.snapshot, state=None, memory=None))

    def _hold(self) -> None:
        last = self._state.snapshot
        state = None if last is None else last.state
        if state is not None and can_keep(self.prepared.algorithm, state):
            self.observer.on_hold()

    def result(self) -> Result:
        """Return the result of a job that has ended with at least one sweep.

        Raises ValueError: there is none (yet).
        """
        seen = self.inspect()
        if seen.snapshot is None or seen.verdict is None:
            raise ValueError("the job has no result: it still runs, failed, or stopped before one sweep")
        return Result(seen.run, self.label.name)

    def _do(self) -> None:
        now = self._state
        begins = now.snapshot is None
        if now.snapshot is not None and now.snapshot.verdict is not None:  # extended: the end was none
            now = self._state = replace(now, snapshot=replace(now.snapshot, verdict=None))
            self.observer.on_hold()
        if begins:
            self._publish(Status.STARTING)
            self()  # it may have been stopped while it waited
        ready = Status.STARTING if begins else Status.RUNNING
        for state in self._executor.compute(
            now.run, self, lambda on: self._publish(Status.COMPILING if on else ready)
        ):
            self._publish(Status.RUNNING, **vars(state.release()))
            if state.last.verdict is None:
                self.observer.on_state(state)
