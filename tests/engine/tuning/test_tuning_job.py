"""A search in the background does what its handle says."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from acvb_core.core.errors import AcvbError
from acvb_core.engine.executor import Executor, Status
from acvb_core.engine.study import StudyJob
from acvb_core.engine.tuning import Search, Trial, Tuning
from tests.engine.jobs import PATIENCE, Gate, until
from tests.engine.tuning.tunings import all_of, small_search, told


def search_job(
    jobs: list[Any],
    what: Search,
    executor: Executor | None = None,
    keep: Any = bool,
    known: Tuning | None = None,
) -> StudyJob[Tuning]:
    """Return the job of a search: one that begins, or that made some trials before."""
    begun = Tuning(what.space.names) if known is None else known
    job = StudyJob(what, begun, executor or Executor(1), keep, begun=known is not None)
    jobs.append(job)
    return job


def gated() -> tuple[Search, Gate]:
    """Return a search of three trials of two sweeps each, which wait to be let through."""
    gate = Gate()
    return told(lambda values: 50.0, trials=3, after=gate, max_sweeps=2), gate


def sweeps(job: StudyJob[Tuning]) -> int:
    """Sweeps of the search, those of the trials that are over among them."""
    seen = job.inspect()
    return 2 * len(seen.study.trials) + (0 if seen.snapshot is None else seen.snapshot.sweep)


def test_a_search_shows_its_progress(jobs: list[Any]) -> None:
    what, gate = gated()
    executor, begin = Executor(1), threading.Event()
    executor.submit(lambda: begin.wait(PATIENCE) and None, "before")
    job = search_job(jobs, what, executor).start()
    seen = job.inspect()
    assert (seen.status, seen.number, seen.planned, seen.done) == (Status.QUEUED, None, 3, 0.0)
    begin.set()
    assert gate.waiting.wait(PATIENCE)
    seen = job.inspect()
    assert (seen.status, seen.number, seen.prepared) == (Status.STARTING, 1, None)
    gate.tickets.release()
    until(lambda: sweeps(job) == 1)
    seen = job.inspect()
    assert (seen.status, seen.number, seen.run_done, seen.done) == (Status.RUNNING, 1, 0.5, 0.5 / 3)
    with pytest.raises(ValueError, match="no result"):
        job.result()
    gate.tickets.release(2)
    until(lambda: sweeps(job) == 3)
    seen = job.inspect()
    assert (seen.number, seen.run_done, seen.done) == (2, 0.5, 1.5 / 3)
    assert seen.study.best_trial.perplexity == 50.0
    assert seen.history.column("sweep").tolist() == [1]
    gate.tickets.release(3)
    assert job.wait(PATIENCE)
    seen = job.inspect()
    assert (seen.status, seen.done, seen.prepared, seen.snapshot) == (Status.FINISHED, 1.0, None, None)


def test_a_pause_holds_the_trial_under_way_and_leaves_the_place_to_another(jobs: list[Any]) -> None:
    executor = Executor(1)
    what, gate = gated()
    job = search_job(jobs, what, executor).start()
    gate.tickets.release(3)
    until(lambda: sweeps(job) == 3)
    assert gate.waiting.wait(PATIENCE)
    job.pause()
    assert job.inspect().status is Status.PAUSED
    gate.tickets.release(10)  # plenty, but the poll behind the gate holds
    other = search_job(jobs, small_search(2), executor).start()
    assert other.wait(PATIENCE)
    assert (sweeps(job), job.inspect().status) == (3, Status.PAUSED)
    job.resume()
    assert job.wait(PATIENCE)
    assert len(job.result().trials) == 3


def test_a_stopped_search_continues_with_the_same_trials(jobs: list[Any]) -> None:
    whole = all_of(small_search(7))
    for made in (0, 2, 6):
        kept: list[Trial] = []
        before = Tuning(whole.names, whole.trials[:made])
        job = search_job(jobs, small_search(7), keep=kept.append, known=before)
        assert (job.inspect().status, job.can_go_on) == (Status.INTERRUPTED, True)
        job.go_on()
        assert job.wait(PATIENCE)
        assert tuple(kept) == job.result().trials[made:]
        scores, wanted = ([(t.values, t.perplexity) for t in one.trials] for one in (job.result(), whole))
        assert scores == wanted
    job = search_job(jobs, small_search(7), known=whole)
    assert (job.inspect().status, job.can_go_on) == (Status.FINISHED, False)


def test_a_search_stopped_at_once_has_no_result(jobs: list[Any]) -> None:
    what, gate = gated()
    job = search_job(jobs, what).start()
    assert gate.waiting.wait(PATIENCE)
    with pytest.raises(ValueError, match="they are being made"):
        job.go_on()
    job.stop()
    gate.tickets.release(10)
    assert job.wait(PATIENCE)
    with pytest.raises(ValueError, match="no run was made"):
        job.result()
    job.go_on()
    gate.tickets.release(3)
    until(lambda: sweeps(job) >= 3)
    job.stop()
    gate.tickets.release(10)
    assert job.wait(PATIENCE)
    seen = job.inspect()
    assert (seen.status, seen.error, seen.prepared, seen.number) == (Status.FINISHED, None, None, None)
    assert job.result().trials


def test_a_trial_that_cannot_be_kept_ends_a_search(jobs: list[Any]) -> None:
    def refuse(trial: Trial) -> None:
        if trial.number == 2:
            raise AcvbError("the disk is full")

    job = search_job(jobs, small_search(3), keep=refuse).start()
    assert job.wait(PATIENCE)
    seen = job.inspect()
    assert (seen.status, seen.error, len(seen.study.trials)) == (Status.FAILED, "the disk is full", 1)
