"""An experiment in the background: inspect, pause, resume, stop, go on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from acvb_core.engine.experiments.report import Experiment
from acvb_core.engine.experiments.run import run_experiment
from acvb_core.engine.handle import ExecutorChoice, Handle, JobState, Status
from acvb_core.engine.problem import Problem
from acvb_core.engine.snapshot import Snapshot


@dataclass(frozen=True, kw_only=True, eq=False)
class ExperimentInspection(JobState):
    """An experiment at one moment."""

    experiment: Experiment  #: the runs that are over
    run_done: float = 0.0  #: share of the run under way that is done, of its cap in sweeps, 0 to 1

    @property
    def done(self) -> float:
        """Share of the experiment that is done, in runs, 0 to 1."""
        return min((len(self.experiment.rows) + self.run_done) / self.experiment.plan.n_runs, 1.0)


class ExperimentJob(Handle[ExperimentInspection]):
    """An experiment on a thread of the executor, one run after another.

    Each run is handed to `keep` before it is published. A stop keeps the runs that are over; the one under way is
    given up, and is made again when the experiment goes on.
    """

    def __init__(
        self,
        experiment: Experiment,
        executor: ExecutorChoice,
        keep: Callable[[Mapping[str, Any]], None],
        *,
        job_id: str | None = None,
        owner: str = "",
    ) -> None:
        super().__init__(ExperimentInspection(experiment=experiment), executor, job_id=job_id, owner=owner)
        self._keep = keep

    @classmethod
    def restore(
        cls,
        experiment: Experiment,
        executor: ExecutorChoice,
        keep: Callable[[Mapping[str, Any]], None],
        *,
        job_id: str,
        owner: str = "",
    ) -> ExperimentJob:
        """Return the handle of an experiment that ended or was interrupted, perhaps in another process."""
        job = cls(experiment, executor, keep, job_id=job_id, owner=owner)
        job._publish(Status.FINISHED if experiment.is_complete else Status.INTERRUPTED)
        job._ended.set()
        return job

    @property
    def can_go_on(self) -> bool:
        """True when runs are missing and none is under way."""
        now = self._state
        return not now.status.active and not now.experiment.is_complete

    def go_on(self) -> None:
        """Make the runs that are missing.

        Raises ValueError: none is missing, or they are being made.
        """
        if not self.can_go_on:
            raise ValueError("no run of the experiment is missing, or they are being made")
        self._go_on()

    def _do(self) -> None:
        self._publish(Status.STARTING)
        known = self._state.experiment
        for latest in run_experiment(
            known.plan, known, watch=self._watch, checkpoint=self._checkpoint, executor=self._executor
        ):
            self._keep(latest.rows[-1])
            self._publish(Status.RUNNING, experiment=latest, run_done=0.0)
        self._publish(Status.RUNNING, run_done=0.0)

    def _watch(self, problem: Problem, snapshot: Snapshot) -> None:
        self._publish(Status.RUNNING, run_done=min(snapshot.sweep / problem.max_sweeps, 1.0))
