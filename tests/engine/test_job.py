"""Runs and races in the background: one handle, which shows states in order and obeys."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from acvb_core.core.protocols import Poll, SweepInfo
from acvb_core.engine.executor import Executor
from acvb_core.engine.fitting import solve
from acvb_core.engine.history import Verdict
from acvb_core.engine.job import Job, Status
from acvb_core.engine.prepared import PreparedRun
from tests.engine.fakes import Wrapped, all_snapshots, bits, small_run, with_inference
from tests.engine.jobs import PATIENCE, endless, gated, started, sweeps, until


def test_goes_through_its_states(jobs: list[Job]) -> None:
    prepared, gate = gated(small_run("cvb0", max_sweeps=2, tol=1e-12))
    executor = Executor(1)
    begin = threading.Event()
    executor.submit(lambda: begin.wait(PATIENCE) and None, "before")
    job = started(jobs, prepared, executor)
    seen = job.inspect()
    assert (seen.status, seen.snapshot, seen.verdict) == (Status.QUEUED, None, None)
    assert (seen.sweeps_per_second, seen.seconds_left) == (None, None)
    begin.set()
    assert gate.waiting.wait(PATIENCE)
    assert job.inspect().status is Status.STARTING
    gate.tickets.release()
    until(lambda: sweeps(job) == 1)
    seen = job.inspect()
    assert (seen.status, seen.verdict, seen.max_sweeps) == (Status.RUNNING, None, 2)
    assert seen.sweeps_per_second == pytest.approx(1 / seen.snapshot.wall_seconds)
    assert seen.seconds_left == pytest.approx(seen.snapshot.wall_seconds)
    with pytest.raises(ValueError, match="no result"):
        job.result()
    with pytest.raises(ValueError, match="only a run"):
        job.extend(5)
    assert not job.wait(0.0)
    gate.tickets.release()
    assert job.wait(PATIENCE)
    seen = job.inspect()
    assert (seen.status, seen.verdict, seen.seconds_left) == (Status.FINISHED, Verdict.MAX_SWEEPS, 0.0)


def test_paused_run_leaves_its_place_to_another(jobs: list[Job]) -> None:
    executor = Executor(1)
    first = started(jobs, endless(), executor)
    until(lambda: sweeps(first) >= 1)
    second = started(jobs, endless(), executor)
    assert second.inspect().status is Status.QUEUED
    first.pause()
    until(lambda: sweeps(second) >= 2)
    held, more = sweeps(first), sweeps(second)
    until(lambda: sweeps(second) >= more + 20)
    assert (sweeps(first), first.inspect().status) == (held, Status.PAUSED)
    first.resume()
    until(lambda: sweeps(first) > held)
    # Both places are given back: with the two gone there is room for one again, and for one only.
    for job in (first, second):
        job.stop()
        assert job.wait(PATIENCE)
    third, fourth = started(jobs, endless(), executor), started(jobs, endless(), executor)
    until(lambda: sweeps(third) >= 2)
    assert fourth.inspect().status is Status.QUEUED
    third.pause()
    until(lambda: third.inspect().status is Status.PAUSED)
    third.stop()
    assert third.wait(PATIENCE)


def test_stopped_while_queued_never_sweeps(jobs: list[Job]) -> None:
    executor = Executor(1)
    begin = threading.Event()
    executor.submit(lambda: begin.wait(PATIENCE) and None, "before")
    job = started(jobs, small_run("cvb0"), executor)
    after = started(jobs, small_run("cvb0"), executor)
    assert (job.position, after.position) == (1, 2)
    job.stop()
    assert (job.position, after.position) == (None, 1)
    assert job.wait(PATIENCE)
    begin.set()
    seen = job.inspect()
    assert (seen.status, seen.snapshot, seen.verdict, seen.error) == (Status.FINISHED, None, None, None)
    assert not job.can_extend
    assert len(job.history) == 0
    with pytest.raises(ValueError, match="no result"):
        job.result()


def test_stopped_in_the_first_sweep_can_continue(jobs: list[Job]) -> None:
    whole = small_run("gibbs")
    prepared, gate = gated(whole)
    job = started(jobs, prepared)
    assert gate.waiting.wait(PATIENCE)
    job.stop()
    gate.tickets.release()
    assert job.wait(PATIENCE)
    assert (job.inspect().verdict, sweeps(job)) == (Verdict.STOPPED, 0)
    job.extend(20)
    assert gate.waiting.wait(PATIENCE)
    assert job.inspect().verdict is None, "a run that continues has not ended"
    gate.tickets.release(100)
    assert job.wait(PATIENCE)
    assert bits(job.inspect().snapshot) == bits(all_snapshots(whole)[-1])


def test_extends_after_the_cap(jobs: list[Job]) -> None:
    prepared = small_run("cvb0", max_sweeps=4)
    job = started(jobs, prepared)
    assert job.wait(PATIENCE)
    assert job.inspect().verdict is Verdict.MAX_SWEEPS
    for expected in (7, 8):
        assert job.can_extend
        job.extend(expected - sweeps(job))
        assert job.wait(PATIENCE)
        assert (sweeps(job), job.inspect().max_sweeps) == (expected, expected)
        assert job.inspect().verdict is Verdict.MAX_SWEEPS
    written: list[Verdict | None] = []
    job.observer.on_hold = lambda: written.append(job._state.snapshot.verdict)  # type: ignore[method-assign]
    job.extend(10_000)
    assert job.wait(PATIENCE)
    assert written == [None], "a run that is extended is written down at once as one that goes on"
    assert job.inspect().verdict is Verdict.CONVERGED
    whole = all_snapshots(small_run("cvb0"))
    assert bits(job.inspect().snapshot) == bits(whole[-1])
    assert job.history.column("sweep").tolist() == [s.sweep for s in whole]
    assert not job.can_extend
    with pytest.raises(ValueError, match="only a run"):
        job.extend(1)


def test_restored_job_is_finished_and_can_continue(jobs: list[Job]) -> None:
    result = solve(small_run("cvb0", max_sweeps=5))
    job = Job.restore(result, Executor(1), job_id="old", created=12.0)
    jobs.append(job)
    assert (job.inspect().status, job.inspect().verdict) == (Status.FINISHED, Verdict.MAX_SWEEPS)
    job.extend(1000)
    assert job.wait(PATIENCE)
    assert bits(job.inspect().snapshot) == bits(all_snapshots(small_run("cvb0"))[-1])
    bare = result.with_state(snapshot=replace(result.snapshot, state=None))
    assert not Job.restore(bare, Executor(1), job_id="old", created=0.0).can_extend


def test_extended_at_once_has_not_ended(jobs: list[Job]) -> None:
    """Between saying FINISHED and its thread's last step a job may already have been started again."""
    prepared, gate = gated(small_run("gibbs", max_sweeps=2))
    job = Job(prepared, Executor(1))
    jobs.append(job)
    publish = job._publish

    def extend_as_soon_as_finished(status: Status, *given: Any, **options: Any) -> None:
        publish(status, *given, **options)
        if status is Status.FINISHED and job.inspect().max_sweeps == 2:
            job.extend(1)

    job._publish = extend_as_soon_as_finished  # type: ignore[method-assign]
    gate.tickets.release(2)
    job.start()
    until(lambda: sweeps(job) == 2 and job.inspect().max_sweeps == 3 and gate.waiting.is_set())
    assert not job.wait(0.0)
    gate.tickets.release()
    assert job.wait(PATIENCE)
    assert sweeps(job) == 3


def test_failed_job_says_why_and_makes_room(jobs: list[Job], capsys: pytest.CaptureFixture[str]) -> None:
    def after(state: Any, info: SweepInfo, poll: Poll) -> tuple[Any, SweepInfo]:
        if state.age == 4:
            raise MemoryError("no room for the sums")
        return state, info

    executor, prepared = Executor(1), small_run("cvb0")
    job = started(jobs, with_inference(prepared, Wrapped(prepared.algorithm, after)), executor)
    second = started(jobs, prepared, executor)
    assert second.wait(PATIENCE)
    assert second.inspect().verdict is Verdict.CONVERGED
    seen = job.inspect()
    assert (seen.status, seen.verdict, seen.snapshot.sweep) == (Status.FAILED, None, 3)
    assert seen.error == "MemoryError: no room for the sums"
    assert len(job.history) == 3
    assert not job.can_extend
    with pytest.raises(ValueError, match="no result"):
        job.result()
    assert "no room for the sums" in capsys.readouterr().err


def test_readers_see_a_consistent_job(jobs: list[Job]) -> None:
    job = started(jobs, endless())
    until(lambda: sweeps(job) >= 1)
    for _ in range(60):
        before = len(job.history)
        last = job.inspect().snapshot
        frame = job.history.frame()
        # A row is written before its snapshot is published: the history may be one sweep ahead, a snapshot never is.
        assert before - 1 <= last.sweep <= len(frame)
        assert frame["sweep"].tolist() == list(range(1, len(frame) + 1))
        row = last.row()
        np.testing.assert_array_equal(
            frame.loc[last.sweep - 1, list(row)].to_numpy(float), list(row.values())
        )


def race_of(restarts: int) -> PreparedRun:
    """Return a race from random starts of a method that never ends before its cap."""
    prepared = small_run("gibbs", init="random", k_rows=9, k_cols=9, max_sweeps=60)
    return replace(prepared, spec=replace(prepared.spec, restarts=restarts))


def test_a_race_is_one_job_and_ends_as_its_winner(jobs: list[Job]) -> None:
    prepared = race_of(4)
    job = started(jobs, prepared)
    assert job.wait(PATIENCE)
    seen, wanted = job.inspect(), solve(prepared)
    assert (seen.status, seen.verdict, seen.error) == (Status.FINISHED, Verdict.MAX_SWEEPS, None)
    assert job.prepared.spec == wanted.prepared.spec
    assert bits(seen.snapshot) == bits(wanted.snapshot)
    columns = ["seed", "sweeps", "lower_bound", "out_after"]
    assert job.result().race[columns].equals(wanted.race[columns])
    assert job.history.column("sweep").tolist() == list(range(1, 61))
    # If it is extended, the winner continues as it would have alone.
    job.extend(7)
    assert job.wait(PATIENCE)
    alone = all_snapshots(prepared.with_seed(wanted.race_report.leader), max_sweeps=67)[-1]
    assert bits(job.inspect().snapshot) == bits(alone)
    again = Job.restore(job.result(), Executor(1), job_id="old", created=1.0)
    assert again.result().to_dict() == job.result().to_dict()
    assert again.label.name == job.label.name
    assert again.label.name.endswith("seeds 3 to 6")


def test_a_race_is_stopped_and_its_leader_continues(jobs: list[Job]) -> None:
    prepared, gate = gated(race_of(4))
    job = started(jobs, prepared)
    gate.tickets.release(35)  # the first run at its rung, the second at its fifteenth sweep
    until(lambda: job.race_report is not None and job.race_report.sweeps == 35 and gate.waiting.is_set())
    job.stop()
    gate.tickets.release()
    assert job.wait(PATIENCE)
    seen = job.inspect()
    assert (seen.status, seen.verdict) == (Status.FINISHED, Verdict.STOPPED)
    assert not seen.race_report.is_decided
    at, leader = seen.snapshot.sweep, seen.race_report.leader
    gate.tickets.release(1000)
    assert job.can_extend
    job.extend(5)
    assert job.wait(PATIENCE)
    assert bits(job.inspect().snapshot) == bits(
        all_snapshots(race_of(1).with_seed(leader), max_sweeps=at + 5)[-1]
    )
