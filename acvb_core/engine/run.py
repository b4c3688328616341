"""The engine: a generator that takes a problem and yields a SweepRecord after every sweep.

It sweeps, reads diagnostics and asks the stopping rule; callers do the rest between two snapshots.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from acvb_core.core.averaging import align_arrays, averaged_arrays
from acvb_core.core.clusters import mean_l1_change
from acvb_core.core.protocols import (
    AnyResponsibilities,
    Array,
    Checkpoint,
    Posterior,
    SweepInfo,
    count_in_use,
    no_checkpoint,
    predict_averaged,
)
from acvb_core.engine.compilation import compile_for
from acvb_core.engine.problem import Problem
from acvb_core.engine.snapshot import SweepRecord, Verdict
from acvb_core.engine.stopping import judge
from acvb_core.engine.threads import Clock, one_thread


class StopRun(Exception):  # noqa: N818 - a signal, not an error
    """Raised by a checkpoint to end a run at once; the sweep under way is given up."""


@dataclass(frozen=True)
class Schedule:
    """Sweeps between two evaluations of the bounds, and of the held-out scores; the last sweep always has both."""

    bound: int = 1
    heldout: int = 5

    @classmethod
    def for_problem(cls, problem: Problem) -> Schedule:
        """Return a schedule under which diagnostics stay cheap beside the sweeps."""
        values = dict(problem.settings.values)
        return cls(*problem.model_row.schedule(problem.train, problem.heldout, problem.row, values))


@dataclass(frozen=True)
class _Memory:
    """Values that the engine keeps from sweep to sweep: the watched ones, and the summed predictions of samples."""

    watched: dict[str, float | None]
    predicted: np.ndarray | None = None


def run(
    problem: Problem,
    *,
    resume: SweepRecord | None = None,
    max_sweeps: int | None = None,
    checkpoint: Checkpoint = no_checkpoint,
    schedule: Schedule | None = None,
) -> Generator[SweepRecord, None, None]:
    """Yield a SweepRecord after each sweep; the last one has a verdict.

    Each sweep draws from a generator of its own, seeded by (seed, sweep). Compiled functions are made ready first: what
    that takes is not in the run's times.

    `resume`: go on from here instead of starting anew; the sweeps that follow are bit for bit those of a run that was
      never interrupted.
    `max_sweeps`: in place of the problem's own cap.
    `checkpoint`: called every 100 ms or so; may block (pause) or raise StopRun (the last snapshot then repeats the
      last whole sweep, with verdict STOPPED).
    Raises ParameterError: a new run needs more memory than is free (`Problem.check_memory`).
    """
    if resume is None:
        problem.refuse_too_large()
    compile_for(problem)
    runner = _Runner(problem, checkpoint, schedule or Schedule.for_problem(problem))
    cap = problem.max_sweeps if max_sweeps is None else max_sweeps
    with one_thread():
        try:
            last = resume or runner.start()
        except StopRun:
            return
    if last.sweep >= cap:
        yield replace(last, verdict=Verdict.MAX_SWEEPS)
        return
    while last.verdict is None or last is resume:
        with one_thread():
            try:
                last = runner.sweep(last, last_sweep=last.sweep + 1 >= cap)
            except StopRun:
                last = runner.finish_stopped(last)
        yield last


def finish_stopped_run(problem: Problem, last: SweepRecord) -> SweepRecord:
    """Return the last snapshot of a run that is stopped: everything evaluated, with verdict STOPPED."""
    with one_thread():
        return _Runner(problem, no_checkpoint, Schedule.for_problem(problem)).finish_stopped(last)


def score_run(problem: Problem, last: SweepRecord) -> Any:
    """Return the held-out scores of a run: of its kept samples together, where it has any."""
    with one_thread():
        runner = _Runner(problem, no_checkpoint, Schedule.for_problem(problem))
        return runner.score(last.posterior, last.memory.predicted, last.samples)


def _add_passes(passes: float, progress: float) -> float:
    """Return the passes after a sweep: whole ones exactly, though the shares of a pass are rounded."""
    total = round(passes + progress, 12)
    whole = float(round(total))
    return whole if abs(total - whole) < 1e-9 else total


class _Runner:
    """Sweeps of a run, each with its diagnostics."""

    def __init__(self, problem: Problem, checkpoint: Checkpoint, schedule: Schedule) -> None:
        self.problem, self.schedule = problem, schedule
        self.unit = problem.bound_unit
        self.paused = 0.0
        self._checkpoint = checkpoint
        self._stop_asked = False

    def checkpoint(self) -> None:
        """Pass the caller's checkpoint on, and leave the time it blocks out of the clock time."""
        before = time.monotonic()
        self._checkpoint()
        self.paused += time.monotonic() - before

    def start(self) -> SweepRecord:
        """Return the state before the first sweep, as a snapshot that is not yielded."""
        clock = Clock()
        problem = self.problem
        state = problem.inference.init(self._rng(0), self.checkpoint)
        cpu, wall = clock.read()
        posterior = problem.inference.posterior(state)
        nothing = dict.fromkeys(("lower_bound", "pseudo_loo", "mean_change"))
        return SweepRecord(
            sweep=0,
            cpu_seconds=cpu,
            wall_seconds=wall - self.paused,
            burn_in=True,
            effective_k=posterior.n_clusters(),
            hyper=dict(posterior.hyper),
            posterior=posterior,
            state=state,
            memory=_Memory(nothing),
        )

    def _rng(self, sweep: int) -> np.random.Generator:
        return np.random.default_rng([self.problem.settings.seed, sweep])

    def sweep(self, last: SweepRecord, *, last_sweep: bool) -> SweepRecord:
        self.paused = 0.0
        clock = Clock()
        inference = self.problem.inference
        state, info = inference.sweep(last.state, self._rng(last.sweep + 1), self.checkpoint)
        own, _ = clock.read()
        snapshot = self._diagnose(last, state, info, last_sweep=last_sweep)
        if self._stop_asked and snapshot.verdict is None:
            snapshot = self.finish_stopped(snapshot)
        both, wall = clock.read()
        return replace(
            snapshot,
            cpu_seconds=last.cpu_seconds + own + info.elsewhere,
            wall_seconds=last.wall_seconds + wall - self.paused,
            diagnostics_seconds=last.diagnostics_seconds + both - own,
        )

    def finish_stopped(self, last: SweepRecord) -> SweepRecord:
        """Return the last whole sweep with everything evaluated; evaluation itself can no longer be stopped."""
        self._checkpoint = no_checkpoint
        responsibilities = self.problem.inference.responsibilities(last.state)
        bound, loo = self._fill(last.posterior, responsibilities, last.lower_bound, last.pseudo_loo)
        heldout = self.score(last.posterior, last.memory.predicted, last.samples) if last.sweep else None
        return replace(
            last,
            lower_bound=bound,
            pseudo_loo=loo,
            extras=last.extras or self.problem.model.extras(last.posterior, responsibilities, loo, bound),
            heldout=heldout,
            verdict=Verdict.STOPPED,
        )

    def _diagnose(self, last: SweepRecord, state: Any, info: SweepInfo, *, last_sweep: bool) -> SweepRecord:
        problem, inference = self.problem, self.problem.inference
        sweep = last.sweep + 1
        posterior, current = inference.posterior(state), inference.current(state)
        phase = inference.phase(state)
        mean_change, change = phase.mean_change, info.change
        if change is None:
            before = align_arrays(averaged_arrays(inference.current(last.state)), info.order, current)
            change = mean_l1_change(averaged_arrays(current), before)
        is_due = sweep % self.schedule.bound == 0
        bound, loo = None, info.pseudo_loo
        if is_due or problem.row.monitored == "lower_bound":
            bound = problem.model.lower_bound(posterior, inference.responsibilities(state))
        if is_due and loo is None:
            loo = self._pseudo_loo(posterior, inference.responsibilities(state))
        watched = {"lower_bound": bound, "pseudo_loo": loo, "mean_change": mean_change}
        verdict = judge(
            problem.row.monitored,
            problem.settings.values.get("tol"),
            watched,
            last.memory.watched,
            settling=info.settling,
            last_sweep=last_sweep,
            unit=self.unit,
        )
        if verdict is None and not np.isfinite(change):
            verdict = Verdict.DIVERGED
        extras: dict[str, float] = {}
        if (verdict is not None or is_due) and verdict is not Verdict.DIVERGED:
            responsibilities = inference.responsibilities(state)
            bound, loo = self._fill(posterior, responsibilities, bound, loo)
            extras = problem.model.extras(posterior, responsibilities, loo, bound)
        predicted = self._sum_predictions(last, current, phase.samples)
        heldout = None
        # Nothing can be ranked by predictions that are not numbers.
        if verdict is not Verdict.DIVERGED and (sweep % self.schedule.heldout == 0 or verdict is not None):
            heldout = self.score(posterior, predicted, phase.samples, is_last=verdict is not None)
        return SweepRecord(
            sweep=sweep,
            lower_bound=bound,
            pseudo_loo=loo,
            change=change,
            mean_change=mean_change,
            scaled_change=None if mean_change is None else phase.samples * mean_change,
            samples=phase.samples,
            burn_in=phase.burn_in,
            effective_k=dict(info.effective or count_in_use(problem.model, posterior)),
            hyper=dict(posterior.hyper),
            extras=extras,
            heldout=heldout,
            verdict=verdict,
            posterior=posterior,
            state=state,
            memory=_Memory(watched, predicted),
            moves=info.marks,
            passes=_add_passes(last.passes, info.progress),
        )

    def _pseudo_loo(self, posterior: Posterior, responsibilities: AnyResponsibilities | None) -> float | None:
        return self.problem.model.pseudo_loo(posterior, self._checkpoint_while_scoring, responsibilities)

    def _fill(
        self, posterior: Posterior, given: AnyResponsibilities | None, bound: float | None, loo: float | None
    ) -> tuple[float | None, float | None]:
        """Return the bound and the pseudo leave-one-out, evaluated where they are not known yet."""
        return (
            self.problem.model.lower_bound(posterior, given) if bound is None else bound,
            self._pseudo_loo(posterior, given) if loo is None else loo,
        )

    def _checkpoint_while_scoring(self) -> None:
        """Pause at once, but stop only after the diagnostics: the sweep just done is whole."""
        try:
            self.checkpoint()
        except StopRun:
            self._stop_asked = True
            self._checkpoint = no_checkpoint

    def _sum_predictions(self, last: SweepRecord, current: Posterior, samples: int) -> np.ndarray | None:
        """Return the sum over kept samples of the predicted probabilities (samplers only)."""
        if not self.problem.row.sampled or self.problem.heldout is None or samples == 0:
            return None
        now = self.problem.model.predict(current, self.problem.heldout)
        before = last.memory.predicted
        return now if before is None else before + now

    def score(self, posterior: Posterior, predicted: Array | None, samples: int, is_last: bool = True) -> Any:
        """Return the held-out scores, by the summed predictions of samples if any; at last of averages too."""
        heldout, model = self.problem.heldout, self.problem.model
        if heldout is None:
            return None
        probability = model.predict(posterior, heldout) if predicted is None else predicted / samples
        score = model.score(probability, heldout)
        add_averaged = getattr(score, "with_averaged", None) if is_last else None
        if add_averaged is None:
            return score
        averaged = predict_averaged(model, posterior, heldout) if predicted is None else probability
        return score if averaged is None else add_averaged(model.score(averaged, heldout))
