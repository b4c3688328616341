"""Workers that die, a scheduler that is gone, and workers that may not compute: what becomes of the runs."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from acvb_core.cluster import backend
from acvb_core.cluster.backend import DaskExecutor, Places
from acvb_core.cluster.local import LOOPBACK, start_cluster
from acvb_core.core import versions
from acvb_core.core.errors import AcvbError
from acvb_core.engine.executor import Executor, Status
from acvb_core.engine.fitting import solve
from acvb_core.engine.job import Job
from acvb_core.engine.run import run
from tests.engine.fakes import small_run
from tests.engine.jobs import PATIENCE, endless, started, sweeps, until
from tests.loops import for_each


def kill_worker_of_a_run(executor: DaskExecutor) -> None:
    """Kill the worker that computes, by force."""
    client = executor.client
    at_work = [address for address, tasks in client.processing().items() if tasks]
    os.kill(client.run(os.getpid, workers=at_work)[at_work[0]], signal.SIGKILL)


def test_a_run_whose_worker_dies_continues_from_its_last_kept_state(
    executor: DaskExecutor, jobs: list[Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backend, "WRITE_EVERY", 0.1)
    monkeypatch.setattr(backend, "WRITE_RATIO", 0.0)
    monkeypatch.setattr(backend, "_PAUSE", 0.1)
    orders: list[Any] = []
    pack = backend.pack_order
    monkeypatch.setattr(backend, "pack_order", lambda *given: orders.append(given) or pack(*given))
    prepared = endless()
    job = started(jobs, prepared, executor)
    until(lambda: sweeps(job) > 100)
    kill_worker_of_a_run(executor)
    until(lambda: len(orders) == 2 and job.inspect().status is Status.RUNNING)
    job.stop()
    assert job.wait(PATIENCE)
    last = job.result().snapshot
    *_, here = run(prepared, max_sweeps=last.sweep)
    assert np.array_equal(last.posterior["rows"], here.posterior["rows"])
    assert np.array_equal(job.history.column("sweep"), np.arange(1.0, last.sweep + 1))
    assert orders[1][0].snapshot is not None, "it began from scratch"


def test_a_worker_of_another_version_is_refused(
    executor: DaskExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = versions.describe_process()
    until(lambda: len(executor.list_workers()) == 2)  # a worker that comes is asked for its versions
    monkeypatch.setattr(versions, "describe_process", lambda: here | {"acvb_core": "9.9", "numpy": "1.0"})
    with pytest.raises(
        AcvbError, match=r"tcp.*has version .* of acvb_core, and this program 9.9. Install the same"
    ):
        solve(small_run("vb"), executor=executor)
    assert executor.list_workers()[0].differences == (f"numpy {here['numpy']}, here 1.0",)
    monkeypatch.setattr(versions, "describe_process", lambda: here | {"sources": "0"})
    with pytest.raises(AcvbError, match="other sources of acvb_core"):
        solve(small_run("vb"), executor=executor)


def test_a_run_whose_scheduler_is_gone_can_be_continued_here(
    jobs: list[Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backend, "WRITE_EVERY", 0.1)
    monkeypatch.setattr(backend, "_PAUSE", 0.1)
    cluster = start_cluster(1, 1)
    executor = DaskExecutor.connect(cluster.scheduler_address)
    job = started(jobs, endless(), executor)
    until(lambda: sweeps(job) > 200)
    cluster.close(timeout=30)
    assert job.wait(PATIENCE)
    executor.client.close()
    seen = job.inspect()
    assert seen.status is Status.INTERRUPTED
    assert "Continue the run when it is back" in str(seen.error)
    assert seen.snapshot is not None
    assert seen.snapshot.state is not None
    assert len(seen.history) == seen.snapshot.sweep > 0
    assert job.can_continue


@for_each("address", ["tcp://127.0.0.1:1", "nonsense"])
def test_a_scheduler_that_does_not_answer_is_an_error_and_leaves_no_thread(
    monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setattr("acvb_core.cluster.backend.PATIENCE", 0.2)
    before = set(threading.enumerate())
    with pytest.raises(AcvbError, match=f"No Dask scheduler answers at {address} "):
        DaskExecutor.connect(address)
    assert "IO loop" not in [thread.name for thread in set(threading.enumerate()) - before]


@pytest.fixture
def mute_scheduler() -> Iterator[str]:
    """The address of a program that accepts connections and never says anything."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as server:
        yield f"tcp://127.0.0.1:{server.getsockname()[1]}"


def test_owners_wait_for_one_attempt_to_reach_a_silent_scheduler(
    monkeypatch: pytest.MonkeyPatch, mute_scheduler: str
) -> None:
    """Two people start runs while a connection is attempted: both get the sentence, and this machine is not held up."""
    monkeypatch.setattr("acvb_core.cluster.backend.PATIENCE", 0.5)
    places = Places(Executor(1), mute_scheduler)
    places.choose("at home", False)
    began = time.monotonic()
    with ThreadPoolExecutor() as pool:
        waiting = [pool.submit(places.find, owner) for owner in ("one", "two", "three")]
        assert places.find("at home") is places.here
        assert time.monotonic() - began < 0.4
        for each in waiting:
            with pytest.raises(AcvbError, match="No Dask scheduler answers"):
                each.result()
    assert time.monotonic() - began < 10


def test_a_scheduler_with_certificates_asks_for_ours() -> None:
    with pytest.raises(AcvbError, match=r"tls://127\.0\.0\.1:1 needs certificates"):
        DaskExecutor.connect("tls://127.0.0.1:1")


def test_a_cluster_listens_on_this_machine_alone(cluster: Any, executor: DaskExecutor) -> None:
    import psutil

    client = executor.client
    processes = [os.getpid(), *client.run(os.getpid).values(), *client.run(os.getppid).values()]
    listening = {
        connection.laddr.ip
        for process in processes
        for connection in psutil.Process(process).net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    }
    assert listening == {LOOPBACK}
