"""A run in the background, as a handle: inspect, pause, resume, stop, extend."""

from __future__ import annotations

from dataclasses import dataclass

from acvb_core.engine.compilation import compile_for
from acvb_core.engine.executor import Executor
from acvb_core.engine.handle import Handle, Published, Status
from acvb_core.engine.history import History
from acvb_core.engine.problem import Problem
from acvb_core.engine.race import race
from acvb_core.engine.race_report import RaceReport
from acvb_core.engine.result import Result
from acvb_core.engine.run import run
from acvb_core.engine.snapshot import Snapshot, Verdict
from acvb_core.engine.stopping import worst_case_sweeps


@dataclass(frozen=True)
class Inspection:
    """A consistent look at a job.

    Attributes
    ----------
    status : Status
    snapshot : Snapshot or None
        After the last whole sweep; None before the first.
    verdict : Verdict or None
        How the run ended; None while it goes on.
    error : str or None
        Why the job failed, in one line.
    max_sweeps : int
        Cap of the run, extensions included.
    sweeps_per_second : float or None
        Over the run so far.
    seconds_left : float or None
        Clock time to the cap at the present rate, that of the race included while it is on; of an averaged run to the
        sweep at which it is certain to converge, where that comes first. An upper limit: a run may converge before.
    problem : Problem
        Of the run that the snapshot is of.
    history : History
        … and its diagnostics, those of the snapshot included.
    race_report : RaceReport or None
        Of the race of restarts that is on, or that the run came out of.
    """

    status: Status
    snapshot: Snapshot | None
    verdict: Verdict | None
    error: str | None
    max_sweeps: int
    sweeps_per_second: float | None
    seconds_left: float | None
    problem: Problem
    history: History
    race_report: RaceReport | None


@dataclass(frozen=True, kw_only=True, eq=False)
class _Published(Published):
    """… of one run as well as of one moment."""

    problem: Problem
    history: History
    snapshot: Snapshot | None = None
    race_report: RaceReport | None = None


class Job(Handle[_Published]):
    """One run on a thread of the executor's, or several that race until one of them is left.

    While a race is on, what is published is the leader's, all of it; when the lead changes, so does the run.
    """

    def __init__(self, problem: Problem, executor: Executor, *, job_id: str | None = None) -> None:
        super().__init__(_Published(problem=problem, history=History()), executor, job_id=job_id)
        self._max_sweeps = problem.max_sweeps

    @classmethod
    def restored(cls, result: Result, executor: Executor, *, job_id: str, created: float) -> Job:
        """Return the handle of a run that ended earlier, perhaps in another process."""
        job = cls(result.problem, executor, job_id=job_id)
        job.created = created
        job._max_sweeps = result.max_sweeps
        job._published = _Published(
            problem=result.problem, history=result.diagnostics, status=Status.FINISHED, snapshot=result.snapshot,
            race_report=result.race_report,
        )  # fmt: skip
        job._ended.set()
        return job

    @property
    def problem(self) -> Problem:
        """The run, with its own seed; before a race, all that will be in it."""
        return self._published.problem

    @property
    def history(self) -> History:
        """Diagnostics of every sweep of the run so far."""
        return self._published.history

    @property
    def race_report(self) -> RaceReport | None:
        """The race of restarts that is on, or that the run came out of; None where there is none."""
        return self._published.race_report

    def inspect(self) -> Inspection:
        """Return where the job is now."""
        now = self._published
        status, snapshot, race_report = self._status(now.status), now.snapshot, now.race_report
        rate = left = None
        if snapshot is not None and snapshot.sweep and snapshot.wall_seconds > 0:
            rate = snapshot.sweep / snapshot.wall_seconds
            to_come = max(self._max_sweeps - snapshot.sweep, 0)
            if race_report is not None and race_report.rung is not None:
                to_come = race_report.sweeps_left
            elif now.problem.row.monitored == "mean_change" and snapshot.samples:
                worst = worst_case_sweeps(now.problem.settings.values["tol"])
                to_come = min(to_come, max(worst - snapshot.samples, 0))
            left = to_come / rate
        verdict = snapshot.verdict if snapshot is not None and not status.active else None
        return Inspection(
            status, snapshot, verdict, now.error, self._max_sweeps, rate, left, now.problem, now.history, race_report
        )  # fmt: skip

    def extend(self, sweeps: int) -> None:
        """Go on for up to `sweeps` more sweeps, from where a run that hit its cap or was stopped is.

        A race that was stopped is over: the run that was ahead goes on alone.

        Raises
        ------
        ValueError
            The run is still going on, has converged, diverged or failed, or never did a sweep.
        """
        seen = self.inspect()
        if seen.snapshot is None or not self.can_extend:
            raise ValueError("only a run that reached its cap or was stopped can be extended")
        self._max_sweeps = seen.snapshot.sweep + sweeps
        self._go_on()

    @property
    def can_extend(self) -> bool:
        """Whether `extend` would work: the run hit its cap or was stopped, and its state is still there."""
        seen = self.inspect()
        return (
            seen.status is Status.FINISHED
            and seen.verdict in (Verdict.MAX_SWEEPS, Verdict.STOPPED)
            and seen.snapshot is not None
            and seen.snapshot.state is not None
        )

    def result(self) -> Result:
        """Return the result of a job that has ended with at least one sweep.

        Raises
        ------
        ValueError
            There is none (yet).
        """
        seen = self.inspect()
        if seen.snapshot is None or seen.verdict is None:
            raise ValueError(
                "the job has no result: it is still running, failed, or stopped before one sweep"
            )
        return Result(seen.problem, seen.history, seen.snapshot, self._max_sweeps, seen.race_report)

    def _do(self) -> None:
        if self._published.snapshot is None:
            self._publish(Status.STARTING)
            self.problem.refuse_too_large()  # before the compiler, which takes some seconds
        compile_for(self.problem, lambda: self._publish(Status.COMPILING))
        raced = self._race() if self._published.snapshot is None else None
        if raced is None or raced.verdict is None:
            self._run()

    def _race(self) -> Snapshot | None:
        """Let the restarts race, and return the winner's last snapshot; None where the run is the only one."""
        self._publish(Status.STARTING)
        for update in race(self.problem, checkpoint=self._checkpoint):
            self._publish(
                Status.RUNNING, problem=update.problem, history=update.history, snapshot=update.snapshot,
                race_report=update.race_report,
            )  # fmt: skip
        return self._published.snapshot

    def _run(self) -> None:
        """Go on from the last snapshot, if there is one, to the run's end."""
        last = self._published.snapshot
        self._publish(Status.STARTING if last is None else Status.RUNNING)
        for snapshot in run(
            self.problem, resume=last, max_sweeps=self._max_sweeps, checkpoint=self._checkpoint
        ):
            self.history.append(snapshot)
            self._publish(Status.RUNNING, snapshot=snapshot.release_state())
