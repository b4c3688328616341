"""Races as jobs: one handle for all entrants, whose history is always the leader's."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from acvb_core.engine.executor import Executor
from acvb_core.engine.fitting import solve
from acvb_core.engine.history import Verdict
from acvb_core.engine.job import Job, Status
from acvb_core.engine.prepared import PreparedRun
from tests.engine.fakes import all_snapshots, bits, small_run
from tests.engine.jobs import PATIENCE, gated, started, until, until_held


def race_of(restarts: int, method: str = "gibbs", **values: Any) -> PreparedRun:
    """Return a race from random starts, by default of a method that never ends before its cap."""
    chosen = {"init": "random", "k_rows": 9, "k_cols": 9, "max_sweeps": 60} | values
    prepared = small_run(method, **chosen)
    return replace(prepared, spec=replace(prepared.spec, restarts=restarts))


def test_a_race_is_one_job_and_ends_as_its_winner(jobs: list[Job]) -> None:
    prepared = race_of(4)
    job = started(jobs, prepared)
    assert job.wait(PATIENCE)
    seen, wanted = job.inspect(), solve(prepared)
    assert (seen.status, seen.verdict, seen.error) == (Status.FINISHED, Verdict.MAX_SWEEPS, None)
    assert job.prepared.spec == wanted.prepared.spec
    assert bits(seen.snapshot) == bits(wanted.snapshot)
    result = job.result()
    assert result.prepared.spec.seed == seen.race_report.leader == wanted.race_report.leader
    columns = ["seed", "sweeps", "lower_bound", "out_after"]
    assert result.race is not None
    assert result.race[columns].equals(wanted.race[columns])
    assert job.history.column("sweep").tolist() == list(range(1, 61))
    # Extended it is the winner that continues, as it would have alone.
    job.extend(7)
    assert job.wait(PATIENCE)
    alone = all_snapshots(prepared.with_seed(wanted.race_report.leader), max_sweeps=67)[-1]
    assert bits(job.inspect().snapshot) == bits(alone)
    assert job.race_report == seen.race_report
    again = Job.restore(job.result(), Executor(1), job_id="old", created=1.0)
    assert again.result().to_dict() == job.result().to_dict()
    assert again.label.name == job.label.name
    assert again.label.name.endswith("seeds 3 to 6")


def test_a_race_is_paused_and_stopped_and_its_leader_continues(jobs: list[Job]) -> None:
    prepared, gate = gated(race_of(4))
    executor = Executor(1)
    job = started(jobs, prepared, executor)
    gate.tickets.release(29)  # the first run at its rung, the second at its ninth sweep
    until(lambda: job.race_report is not None and job.race_report.sweeps == 29 and gate.waiting.is_set())
    job.pause()
    gate.tickets.release(100)
    until_held(job, executor)
    seen = job.inspect()
    assert (seen.status, seen.race_report.sweeps, seen.race_report.running) == (Status.PAUSED, 29, 4)
    job.resume()
    until(lambda: job.race_report.sweeps > 35)
    job.pause()
    until(lambda: job.inspect().status is Status.PAUSED)
    job.stop()
    assert job.wait(PATIENCE)
    seen = job.inspect()
    assert (seen.status, seen.verdict) == (Status.FINISHED, Verdict.STOPPED)
    assert not seen.race_report.is_decided
    assert job.result().was_stopped
    at, leader = seen.snapshot.sweep, seen.race_report.leader
    gate.tickets.release(1000)
    assert job.can_extend
    job.extend(5)
    assert job.wait(PATIENCE)
    assert bits(job.inspect().snapshot) == bits(
        all_snapshots(race_of(1).with_seed(leader), max_sweeps=at + 5)[-1]
    )
