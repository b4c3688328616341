"""Work that several threads want at once is done once, and nobody waits without success."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from acvb_core.core import parallel
from acvb_core.core.parallel import SharedWork, helper_seconds
from acvb_core.core.protocols import Poll, no_poll

SOON = 10.0


class Stop(Exception):  # noqa: N818 - as a run is stopped
    """Raised by a poll."""


class Worker:
    """Work that a thread is in until it may continue."""

    def __init__(self, shared: SharedWork[object]) -> None:
        self.shared = shared
        self.begun, self.goes_on = threading.Event(), threading.Event()
        self.times_begun = 0
        self.stops = False

    def work(self, poll: Poll) -> object:
        self.times_begun += 1
        self.begun.set()
        while not self.goes_on.wait(0.01):
            poll()
        begun = time.thread_time()
        while time.thread_time() - begun < 0.05:
            pass
        return object()

    def come_by(self) -> None:
        if self.stops:
            raise Stop

    def ask(self, key: str = "key", poll: Callable[[], None] = no_poll) -> tuple[object, float]:
        """Return the result, and the processor seconds that others have worked for this thread."""
        before = helper_seconds()
        result = self.shared.get(key, self.work, poll)
        return result, helper_seconds() - before


@pytest.fixture
def worker() -> Iterator[Worker]:
    worker = Worker(SharedWork())
    yield worker
    worker.goes_on.set()  # no thread stays behind when a test fails


@pytest.fixture
def threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(3)


def start_first(threads: ThreadPoolExecutor, worker: Worker) -> Future[tuple[object, float]]:
    """Start a thread that works, and return when it does."""
    first = threads.submit(worker.ask, poll=worker.come_by)
    assert worker.begun.wait(SOON)
    return first


def test_threads_that_ask_at_once_get_one_result_and_its_processor_time(
    worker: Worker, threads: ThreadPoolExecutor
) -> None:
    asked = [start_first(threads, worker)]
    for _ in range(2):
        waits = threading.Event()
        asked.append(threads.submit(worker.ask, poll=waits.set))
        assert waits.wait(SOON)
    worker.goes_on.set()
    (result, own), *others = [one.result(SOON) for one in asked]
    assert own == 0.0
    for other, seconds in others:
        assert other is result
        assert 0.05 <= seconds < 1.0
    assert worker.times_begun == 1


def test_nothing_is_kept_when_the_work_is_done(worker: Worker) -> None:
    worker.goes_on.set()
    assert worker.ask()[0] is not worker.ask()[0]
    assert worker.times_begun == 2


def test_other_keys_are_other_work(worker: Worker, threads: ThreadPoolExecutor) -> None:
    first = start_first(threads, worker)
    second = threads.submit(worker.ask, "other")
    worker.goes_on.set()
    assert first.result(SOON)[0] is not second.result(SOON)[0]


def test_a_thread_that_waits_can_be_stopped(worker: Worker, threads: ThreadPoolExecutor) -> None:
    first = start_first(threads, worker)

    def stop() -> None:
        raise Stop

    with pytest.raises(Stop):
        threads.submit(worker.ask, poll=stop).result(SOON)
    worker.goes_on.set()
    first.result(SOON)


def test_a_thread_that_waits_takes_over_when_the_worker_is_stopped(
    worker: Worker, threads: ThreadPoolExecutor
) -> None:
    waits = threading.Event()
    first, second = start_first(threads, worker), threads.submit(worker.ask, poll=waits.set)
    assert waits.wait(SOON)
    worker.stops = True
    with pytest.raises(Stop):
        first.result(SOON)
    worker.goes_on.set()
    assert second.result(SOON)[1] == 0.0
    assert worker.times_begun == 2


def test_a_thread_does_not_wait_for_a_worker_that_is_paused(
    worker: Worker, threads: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parallel, "_PATIENCE", 0.2)
    paused = threading.Event()

    def pause() -> None:
        paused.wait(SOON)

    first = threads.submit(worker.ask, poll=pause)
    assert worker.begun.wait(SOON)
    second = threads.submit(worker.ask)
    end = time.monotonic() + SOON
    while worker.times_begun < 2:
        assert time.monotonic() < end
        time.sleep(0.01)
    worker.goes_on.set()
    result = second.result(SOON)[0]
    assert not first.done()
    paused.set()
    assert first.result(SOON)[0] is not result
