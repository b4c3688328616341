"""Run a prepared algorithm sweep by sweep: the state of a run, its observers, and the loop."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from acvb_core.core.averaging import align_arrays, averaged_arrays
from acvb_core.core.clusters import mean_l1_change
from acvb_core.core.protocols import (
    Algorithm,
    AnyResponsibilities,
    Array,
    Poll,
    Posterior,
    SweepInfo,
    can_keep,
    count_in_use,
    no_poll,
    predict_averaged,
    take_excerpt,
)
from acvb_core.engine.compilation import compile_for
from acvb_core.engine.history import History, RaceReport, SweepRecord, Verdict, is_excerpted
from acvb_core.engine.machine import Clock, one_thread
from acvb_core.engine.prepared import PreparedRun
from acvb_core.engine.stopping import judge


@dataclass(frozen=True, kw_only=True, eq=False)
class RunState:
    """A run at one moment; while restarts race, all of it is the leader's."""

    prepared: PreparedRun  #: the run, with its own seed; before a race, all restarts
    history: History  #: diagnostics of every sweep, those of the snapshot included
    max_sweeps: int  #: cap of the run, extensions included
    snapshot: SweepRecord | None = None  #: after the last whole sweep; None before the first
    race_report: RaceReport | None = None  #: of the race of restarts that is on, or that the run won
    #: The run that did the last sweep, and its result; None if no sweep was done since the state before.
    last_sweep: tuple[PreparedRun, SweepRecord] | None = None
    is_due: bool = False  #: of a run that is computed elsewhere: what it continues from has come, to be kept

    @classmethod
    def begin(cls, prepared: PreparedRun) -> Self:
        """Return the state of a run that has not begun."""
        return cls(prepared=prepared, history=History(), max_sweeps=prepared.max_sweeps)

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields for a copy elsewhere, without a state that only this process can continue from."""
        last = self.snapshot
        if last is not None and last.state is not None and not can_keep(self.prepared.algorithm, last.state):
            last = replace(last, state=None, memory=None)
        return {**vars(self), "snapshot": last, "last_sweep": None}

    @property
    def last(self) -> SweepRecord:
        """The snapshot of a run that has done a sweep."""
        assert self.snapshot is not None
        return self.snapshot

    @property
    def is_racing(self) -> bool:
        """True while restarts race: the run is not decided yet."""
        return self.race_report is not None and self.race_report.rung is not None

    def release(self) -> Self:
        """Return the state without what the run continues from, if it cannot be extended."""
        return replace(self, snapshot=self.last.release_state(), last_sweep=None)


#: Processor seconds of a run between two times that it is written …
WRITE_EVERY = 10.0
#: … or as many times what writing it took, if that is longer: then it takes at most 2 % of the run.
WRITE_RATIO = 50.0


class Observer:
    """Observer of a job, which is called when something happens to it; this one does nothing."""

    def on_start(self) -> None:
        """The job was handed to an executor; called by who started it."""

    def on_begin(self) -> None:
        """The work begins; called on its thread, as are all that follow."""

    def on_state(self, state: RunState) -> None:
        """A sweep was done, and the run continues."""

    def on_hold(self) -> None:
        """It may be long until the run continues, or it has just changed without a sweep."""

    def on_end(self) -> None:
        """The job is over, and `wait` has returned."""


class CheckpointWriter(Observer):
    """Writes a run down every few seconds of its work, at a small share of them.

    `write`: writes the run as it is now. It raises nothing.
    """

    def __init__(self, write: Callable[[], None]) -> None:
        self._write = write
        self._since = 0.0
        self._pause = WRITE_EVERY

    def on_begin(self) -> None:
        """Count the run's work from now on."""
        self._since = time.thread_time()

    def on_state(self, state: RunState) -> None:
        """Write a run if that is due; one that is computed elsewhere, whenever its state has come."""
        is_due = time.thread_time() - self._since >= self._pause and state.last.state is not None
        if state.is_due or is_due:
            self.on_hold()

    def on_hold(self) -> None:
        """Write the run now."""
        began = time.monotonic()
        self._write()
        self._pause = max(WRITE_EVERY, WRITE_RATIO * (time.monotonic() - began))
        self._since = time.thread_time()


class StopRun(Exception):  # noqa: N818 - a signal, not an error
    """Raised by a poll to end a run at once; the sweep under way is given up."""


@dataclass(frozen=True)
class Schedule:
    """Sweeps between two evaluations of the bounds, and of the held-out scores; the last sweep always has both."""

    bound: int = 1
    heldout: int = 5

    @classmethod
    def for_run(cls, prepared: PreparedRun) -> Schedule:
        """Return a schedule under which diagnostics stay cheap compared with the sweeps."""
        values = dict(prepared.spec.values)
        return cls(*prepared.model_row.schedule(prepared.train, prepared.heldout, prepared.row, values))


@dataclass(frozen=True)
class _Memory:
    """Values that the engine keeps from sweep to sweep: the watched ones, and the summed predictions of samples."""

    watched: dict[str, float | None]
    predicted: np.ndarray | None = None


def run(
    prepared: PreparedRun,
    *,
    resume: SweepRecord | None = None,
    max_sweeps: int | None = None,
    poll: Poll = no_poll,
    schedule: Schedule | None = None,
) -> Generator[SweepRecord, None, None]:
    """Yield a SweepRecord after each sweep; the last one has a verdict.

    Each sweep draws from a generator of its own, seeded by (seed, sweep). Compiled functions are made ready first: what
    that takes is not in the run's times.

    `resume`: continue from here instead of starting from scratch; the sweeps that follow are bit for bit those of a run
      that was never interrupted.
    `max_sweeps`: in place of the run's own cap.
    `poll`: called every 100 ms or so; may block (pause) or raise StopRun (the last snapshot then repeats the
      last whole sweep, with verdict STOPPED).
    """
    compile_for(prepared)
    runner = _Runner(prepared, poll, schedule or Schedule.for_run(prepared))
    cap = prepared.max_sweeps if max_sweeps is None else max_sweeps
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


def finish_stopped_run(prepared: PreparedRun, last: SweepRecord) -> SweepRecord:
    """Return the last snapshot of a run that is stopped: everything evaluated, with verdict STOPPED."""
    with one_thread():
        return _Runner(prepared, no_poll, Schedule.for_run(prepared)).finish_stopped(last)


def score_run(prepared: PreparedRun, last: SweepRecord) -> Any:
    """Return the held-out scores of a run: of its kept samples together, where it has any."""
    with one_thread():
        runner = _Runner(prepared, no_poll, Schedule.for_run(prepared))
        return runner.score(last.posterior, last.memory.predicted, last.samples)


def _add_passes(passes: float, progress: float) -> float:
    """Return the passes after a sweep: whole ones exactly, though the shares of a pass are rounded."""
    total = round(passes + progress, 12)
    whole = float(round(total))
    return whole if abs(total - whole) < 1e-9 else total


class _Runner:
    """Sweeps of a run, each with its diagnostics."""

    def __init__(self, prepared: PreparedRun, poll: Poll, schedule: Schedule) -> None:
        self.prepared, self.schedule = prepared, schedule
        self.unit = prepared.bound_unit
        self.paused = 0.0
        self._poll = poll
        self._stop_asked = False

    def poll(self) -> None:
        """Pass the caller's poll on, and leave the time it blocks out of the clock time."""
        before = time.monotonic()
        self._poll()
        self.paused += time.monotonic() - before

    def find_algorithm(self) -> Algorithm:
        """Return the method; what it decides by the data first can be stopped, and takes no time when asked again."""
        prepared = self.prepared
        if prepared.row.prepare is not None:
            prepared.row.prepare(prepared.train, dict(prepared.spec.values), self.poll)
        return prepared.algorithm

    def start(self) -> SweepRecord:
        """Return the state before the first sweep, as a snapshot that is not yielded."""
        clock = Clock()
        algorithm = self.find_algorithm()
        state = algorithm.init(self._rng(0), self.poll)
        cpu, wall = clock.read()
        posterior = algorithm.posterior(state)
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
        return np.random.default_rng([self.prepared.spec.seed, sweep])

    def sweep(self, last: SweepRecord, *, last_sweep: bool) -> SweepRecord:
        self.paused = 0.0
        clock = Clock()
        algorithm = self.find_algorithm()
        state, info = algorithm.sweep(last.state, self._rng(last.sweep + 1), self.poll)
        own, _ = clock.read()
        snapshot = self._diagnose(last, state, info, last_sweep=last_sweep)
        if self._stop_asked and snapshot.verdict is None:
            snapshot = self.finish_stopped(snapshot)
        both, wall = clock.read()
        return replace(
            snapshot,
            cpu_seconds=last.cpu_seconds + own + info.remote_cpu_seconds,
            wall_seconds=last.wall_seconds + wall - self.paused,
            diagnostics_seconds=last.diagnostics_seconds + both - own,
        )

    def finish_stopped(self, last: SweepRecord) -> SweepRecord:
        """Return the last whole sweep with everything evaluated; evaluation itself can no longer be stopped."""
        self._poll = no_poll
        responsibilities = self.prepared.algorithm.responsibilities(last.state)
        bound, loo = self._fill(last.posterior, responsibilities, last.lower_bound, last.pseudo_loo)
        heldout = self.score(last.posterior, last.memory.predicted, last.samples) if last.sweep else None
        return replace(
            last,
            lower_bound=bound,
            pseudo_loo=loo,
            extras=last.extras or self.prepared.model.extras(last.posterior, responsibilities, loo, bound),
            heldout=heldout,
            verdict=Verdict.STOPPED,
            excerpt=self._take_excerpt(last.sweep, last.posterior, Verdict.STOPPED),
        )

    def _diagnose(self, last: SweepRecord, state: Any, info: SweepInfo, *, last_sweep: bool) -> SweepRecord:
        prepared, algorithm = self.prepared, self.prepared.algorithm
        sweep = last.sweep + 1
        posterior, current = algorithm.posterior(state), algorithm.current(state)
        phase = algorithm.phase(state)
        mean_change, change = phase.mean_change, info.change
        if change is None:
            before = align_arrays(
                averaged_arrays(algorithm.current(last.state)), info.cluster_permutation, current
            )
            change = mean_l1_change(averaged_arrays(current), before)
        is_due = sweep % self.schedule.bound == 0
        bound, loo = None, info.pseudo_loo
        if is_due:
            bound, loo = self._fill(posterior, algorithm.responsibilities(state), None, loo)
        elif prepared.row.monitored == "lower_bound":
            bound = prepared.model.lower_bound(posterior, algorithm.responsibilities(state))
        watched = {"lower_bound": bound, "pseudo_loo": loo, "mean_change": mean_change}
        verdict = judge(
            prepared.row.monitored,
            prepared.spec.values.get("tol"),
            watched,
            last.memory.watched,
            not_stationary=info.not_stationary,
            last_sweep=last_sweep,
            unit=self.unit,
        )
        if verdict is None and not np.isfinite(change):
            verdict = Verdict.DIVERGED
        extras: dict[str, float] = {}
        if (verdict is not None or is_due) and verdict is not Verdict.DIVERGED:
            responsibilities = algorithm.responsibilities(state)
            bound, loo = self._fill(posterior, responsibilities, bound, loo)
            extras = prepared.model.extras(posterior, responsibilities, loo, bound)
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
            effective_k=dict(info.effective or count_in_use(prepared.model, posterior)),
            hyper=dict(posterior.hyper),
            extras=extras,
            heldout=heldout,
            verdict=verdict,
            posterior=posterior,
            state=state,
            memory=_Memory(watched, predicted),
            moves=info.marks,
            excerpt=self._take_excerpt(sweep, posterior, verdict),
            passes=_add_passes(last.passes, info.progress),
        )

    def _take_excerpt(
        self, sweep: int, posterior: Posterior, verdict: Verdict | None
    ) -> dict[str, Array] | None:
        """Return what is kept of a sweep: of the last one always."""
        is_kept = is_excerpted(sweep) or (verdict is not None and sweep > 0)
        return take_excerpt(self.prepared.model, posterior) if is_kept else None

    def _fill(
        self, posterior: Posterior, given: AnyResponsibilities | None, bound: float | None, loo: float | None
    ) -> tuple[float | None, float | None]:
        """Return the bound and the pseudo leave-one-out, evaluated where they are not known yet."""
        model = self.prepared.model
        return (
            model.lower_bound(posterior, given) if bound is None else bound,
            model.pseudo_loo(posterior, self._poll_while_scoring, given) if loo is None else loo,
        )

    def _poll_while_scoring(self) -> None:
        """Pause at once, but stop only after the diagnostics: the sweep just done is whole."""
        try:
            self.poll()
        except StopRun:
            self._stop_asked = True
            self._poll = no_poll

    def _sum_predictions(self, last: SweepRecord, current: Posterior, samples: int) -> np.ndarray | None:
        """Return the sum over kept samples of the predicted probabilities (samplers only)."""
        if not self.prepared.row.sampled or self.prepared.heldout is None or samples == 0:
            return None
        now = self.prepared.model.predict(current, self.prepared.heldout)
        before = last.memory.predicted
        return now if before is None else before + now

    def score(self, posterior: Posterior, predicted: Array | None, samples: int, is_last: bool = True) -> Any:
        """Return the held-out scores, by the summed predictions of samples if any; at last of averages too."""
        heldout, model = self.prepared.heldout, self.prepared.model
        if heldout is None:
            return None
        probability = model.predict(posterior, heldout) if predicted is None else predicted / samples
        score = model.score(probability, heldout)
        add_averaged = getattr(score, "with_averaged", None) if is_last else None
        if add_averaged is None:
            return score
        averaged = predict_averaged(model, posterior, heldout) if predicted is None else probability
        return score if averaged is None else add_averaged(model.score(averaged, heldout))
