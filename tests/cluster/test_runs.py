"""Runs on a cluster are the runs of this process: the same bits, watched, kept, paused, stopped and extended."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import acvb_core
from acvb_core.cluster import backend, worker
from acvb_core.cluster.backend import DaskExecutor
from acvb_core.cluster.wire import SentData
from acvb_core.cluster.worker import serve_run
from acvb_core.core.errors import ParameterError
from acvb_core.engine import run as observer
from acvb_core.engine.executor import Executor, InterruptedRun, Status
from acvb_core.engine.fitting import solve
from acvb_core.engine.history import Verdict
from acvb_core.engine.job import Job
from acvb_core.engine.prepared import PreparedRun, prepare_run
from acvb_core.engine.result import Result
from acvb_core.engine.run import run
from acvb_core.store.jobs import JobManager
from acvb_core.store.runs import RunStore
from tests.engine.jobs import PATIENCE, endless, started, sweeps, until
from tests.loops import for_each

RELATION = acvb_core.load_sample("southern_women").relation
CORPUS = acvb_core.load_sample("bars").corpus
TABLE = acvb_core.load_sample("fertility").table


def bits(result: Result) -> dict[str, bytes]:
    """All that a run came to, but its times."""
    last = result.snapshot
    frame = result.history.drop(columns=[name for name in result.history if name.endswith("_seconds")])
    arrays = {name: array.tobytes() for name, array in last.posterior.arrays.items()}
    scores = repr((last.sweep, last.verdict, last.lower_bound, last.heldout, last.extras))
    return {**arrays, "history": frame.to_numpy().tobytes(), "scores": scores.encode()}


@for_each(
    "prepared",
    [
        prepare_run(RELATION, "acvb0", {"k_rows": 4, "k_cols": 4}, heldout=0.1, restarts=3),
        prepare_run(CORPUS, "acvb", {"k": 5, "max_sweeps": 15, "cells": 3}, heldout=0.1),
        prepare_run(CORPUS, "sdm", {"k": 5}, heldout_documents=0.1),
        prepare_run(TABLE, "fab", {"max_sweeps": 12}, heldout=0.3),
    ],
)
def test_a_run_has_the_same_bits_wherever_it_was_computed(
    executor: DaskExecutor, prepared: PreparedRun
) -> None:
    there, here = solve(prepared, executor=executor), solve(prepared)
    assert bits(there) == bits(here)
    assert there.prepared.spec == here.prepared.spec
    assert (there.snapshot.state is None) == (here.snapshot.state is None)


def test_the_workers_keep_the_shards_of_a_run(executor: DaskExecutor, jobs: list[Job]) -> None:
    prepared = prepare_run(CORPUS, "acvb0", {"k": 5, "max_sweeps": 15, "shards": 3}, heldout=0.1)
    job = started(jobs, prepared, executor)
    assert job.wait(PATIENCE)
    assert bits(job.result()) == bits(solve(prepared))
    state: Any = job.result().snapshot.state
    group = state.inner.group
    there = set(executor.client.scheduler_info(n_workers=-1)["workers"])
    assert {worker.address for worker in group.workers} == there


def test_a_job_is_watched_paused_stopped_and_extended(executor: DaskExecutor, jobs: list[Job]) -> None:
    job = started(jobs, endless(), executor)
    until(lambda: sweeps(job) > 1)
    seen = job.inspect()
    assert seen.status is Status.RUNNING
    assert seen.snapshot is not None
    assert seen.snapshot.sweep <= len(seen.history)
    job.pause()
    until(lambda: job.inspect().snapshot.state is not None)  # type: ignore[union-attr]
    held = sweeps(job)
    assert job.inspect().status is Status.PAUSED
    other = [started(jobs, endless(seed=seed), executor) for seed in (1, 2)]  # the worker's slot is free
    until(lambda: min(map(sweeps, other)) > 0)
    assert sweeps(job) == held
    job.resume()
    until(lambda: sweeps(job) > held)
    for one in (job, *other):
        one.stop()
        assert one.wait(PATIENCE)
        assert one.inspect().verdict is Verdict.STOPPED
    stopped = sweeps(job)
    job.extend(5)
    assert job.wait(PATIENCE)
    *_, here = run(job.prepared, max_sweeps=stopped + 5)
    assert np.array_equal(job.result().snapshot.posterior["rows"], here.posterior["rows"])
    assert len(job.history) == stopped + 5


def test_runs_go_side_by_side_on_data_that_were_sent_once(
    executor: DaskExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed: list[Any] = []
    pack = SentData.pack
    monkeypatch.setattr(SentData, "pack", lambda data: packed.append(data) or pack(data))
    options: dict[str, Any] = {"k": 4, "splits": 2, "max_sweeps": 8}
    data = acvb_core.as_two_sided(RELATION)
    both = threading.Barrier(2)  # passed by two runs that run at once

    def watch(prepared: PreparedRun, snapshot: Any) -> None:
        if snapshot.verdict is not None:
            both.wait(PATIENCE)

    there = acvb_core.experiment(data, ["cvb0", "vb"], executor=executor, watch=watch, **options).table()
    here = acvb_core.experiment(data, ["cvb0", "vb"], **options).table()
    assert len(packed) == 1
    names = [name for name in here if not name.endswith("_seconds")]
    assert there.sort_values("run", ignore_index=True)[names].equals(here[names])


def test_a_fault_of_a_run_is_the_same_error(executor: DaskExecutor) -> None:
    executor.client.run(exec, "import os; os.environ['ACVB_MEMORY_PERCENT'] = '0'")
    with pytest.raises(ParameterError, match="from 1 to 100"):
        solve(prepare_run(CORPUS, "cvb0"), executor=executor)
    executor.client.run(exec, "import os; del os.environ['ACVB_MEMORY_PERCENT']")


def test_a_run_that_its_app_forgot_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    here = SimpleNamespace(address="", log_event=lambda *_: None, state=SimpleNamespace(nthreads=5))
    monkeypatch.setattr("distributed.get_worker", lambda: here)
    monkeypatch.setattr(worker, "_REPEAT", 0.0)
    monkeypatch.setattr(worker, "PATIENCE", -1.0)
    with pytest.raises(InterruptedRun):
        serve_run("token", "topic", SentData("corpus", {}))
    assert not worker._runs


def test_a_run_of_a_cluster_is_kept_and_continues_in_another_process(
    executor: DaskExecutor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.setattr(backend, "WRITE_EVERY", 0.2)
    monkeypatch.setattr(backend, "_PAUSE", 0.1)
    monkeypatch.setattr(observer, "WRITE_EVERY", 1e9)  # the thread that watches never writes
    store = RunStore(tmp_path / "home")
    book = JobManager(executor, store)
    # When the test fails, its run would keep a worker from the tests that follow.
    request.addfinalizer(book.close)
    job = book.add("workspace", endless())
    until(lambda: store.read_state(job.id) is not None)
    until(lambda: copy_home(tmp_path))  # as after the end of this process
    found = JobManager(Executor(1), RunStore(tmp_path / "copy")).jobs("workspace")[0]
    assert found.inspect().status is Status.INTERRUPTED
    kept = sweeps(found)
    assert kept > 0
    assert book.close(PATIENCE)
    assert job.inspect().verdict is Verdict.STOPPED
    found.continue_run()
    until(lambda: sweeps(found) > kept)
    found.stop()
    assert found.wait(PATIENCE)
    last = found.result().snapshot
    *_, here = run(job.prepared, max_sweeps=last.sweep)
    assert np.array_equal(last.posterior["rows"], here.posterior["rows"])


def copy_home(folder: Path) -> bool:
    """Copy the store; False where a file went meanwhile, as a database has some only while it is written to."""
    shutil.rmtree(folder / "copy", ignore_errors=True)
    try:
        shutil.copytree(folder / "home", folder / "copy")
    except shutil.Error:
        return False
    return True
