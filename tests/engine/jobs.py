"""Jobs for tests: started, waited for, and let through their sweeps one by one."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from acvb_core.core.protocols import Poll, SweepInfo
from acvb_core.engine.executor import Executor
from acvb_core.engine.job import Job
from acvb_core.engine.prepared import PreparedRun
from tests.engine.fakes import Wrapped, small_run, with_inference

ENDLESS = 1_000_000
#: Seconds until a test gives up; nothing here takes a tenth of it.
PATIENCE = 180.0


def until(condition: Callable[[], Any]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "waited without success"
        time.sleep(0.002)


def endless(**options: Any) -> PreparedRun:
    return small_run("gibbs", max_sweeps=ENDLESS, **options)


def started(jobs: list[Job], prepared: PreparedRun, executor: Executor | None = None) -> Job:
    job = Job(prepared, executor or Executor(1))
    jobs.append(job)
    return job.start()


def sweeps(job: Job) -> int:
    snapshot = job.inspect().snapshot
    return 0 if snapshot is None else snapshot.sweep


class Gate:
    """Sweeps that wait, in the middle of a sweep, until they are let through one by one."""

    def __init__(self) -> None:
        self.tickets = threading.Semaphore(0)
        self.waiting = threading.Event()

    def __call__(self, state: Any, info: SweepInfo, poll: Poll) -> tuple[Any, SweepInfo]:
        self.waiting.set()
        assert self.tickets.acquire(timeout=PATIENCE)
        self.waiting.clear()
        poll()
        return state, info


def gated(prepared: PreparedRun) -> tuple[PreparedRun, Gate]:
    gate = Gate()
    return with_inference(prepared, Wrapped(prepared.algorithm, gate)), gate
