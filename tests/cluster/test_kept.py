"""Runs of a cluster in the store: kept while they run, found again, and continued elsewhere."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from acvb_core.cluster import backend
from acvb_core.cluster.backend import DaskExecutor
from acvb_core.engine import run as observer
from acvb_core.engine.executor import Executor, Status
from acvb_core.engine.history import Verdict
from acvb_core.engine.run import run
from acvb_core.store.jobs import JobManager
from acvb_core.store.runs import RunStore
from tests.engine.jobs import PATIENCE, endless, sweeps, until


def test_a_run_is_kept_as_it_comes_back_and_can_go_on_in_another_process(
    executor: DaskExecutor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.setattr(backend, "WRITE_EVERY", 0.2)
    monkeypatch.setattr(backend, "_PAUSE", 0.1)
    monkeypatch.setattr(
        observer, "WRITE_EVERY", 1e9
    )  # by the work of the thread that watches, it is never due
    store = RunStore(tmp_path / "home")
    book = JobManager(executor, store)
    # When the test fails, its run would keep a worker from the tests that follow.
    request.addfinalizer(book.close)
    job = book.add("workspace", endless())
    until(lambda: sweeps(job) > 0)
    until(lambda: has_state(store, job.id))
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


def has_state(store: RunStore, job_id: str) -> bool:
    return store.read_state(job_id) is not None
