"""Threads of one run: who does its tasks, whose cores they take, and work that several threads share."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial

import pytest

from acvb_core.core import parallel
from acvb_core.core.errors import ParameterError
from acvb_core.core.parallel import (
    SharedWork,
    computing,
    helper_seconds,
    run_together,
    use_threads,
)
from acvb_core.core.protocols import Poll, no_poll
from tests.loops import for_each

SOON = 20.0


class Pieces:
    """A task of so many pieces, each of which waits for `go`; keeps which threads did them."""

    def __init__(self, n: int, go: Callable[[], object] = bool) -> None:
        self.left, self.go = n, go
        self.threads: list[int] = []
        self.at_once = 0

    def __call__(self) -> bool:
        self.at_once += 1
        assert self.at_once == 1, "two threads in one task"
        self.threads.append(threading.get_ident())
        self.go()
        self.left -= 1
        self.at_once -= 1
        return self.left > 0


@for_each("threads", [1, 2, 3, 7])
def test_all_tasks_are_done_by_no_more_threads_than_allowed(threads: int) -> None:
    tasks = [Pieces(n, partial(time.sleep, 0.001)) for n in (1, 4, 2, 9, 3)]
    with use_threads(threads):
        run_together(tasks)
    assert [task.left for task in tasks] == [0] * 5
    assert 1 <= len({thread for task in tasks for thread in task.threads}) <= threads


def test_what_a_helper_raises_is_raised() -> None:
    me = threading.get_ident()
    meet = threading.Barrier(2, timeout=SOON)

    def fail_elsewhere() -> None:
        meet.wait()
        if threading.get_ident() != me:
            raise ZeroDivisionError

    with use_threads(2), pytest.raises(ZeroDivisionError):
        run_together([Pieces(1, fail_elsewhere), Pieces(1, fail_elsewhere)])


def test_a_stop_waits_for_the_piece_under_way_and_leaves_the_rest() -> None:
    begun, stopped, ended = (threading.Event() for _ in range(3))

    def slow() -> None:
        begun.set()
        stopped.wait(SOON)
        time.sleep(0.05)
        ended.set()

    calls = iter((False, True))

    def poll() -> None:
        if next(calls):
            assert begun.wait(SOON)
            stopped.set()
            raise Stop

    me = threading.get_ident()
    tasks = [Pieces(5, lambda: slow() if threading.get_ident() != me else begun.wait(SOON)) for _ in range(2)]
    with use_threads(2), pytest.raises(Stop):
        run_together(tasks, poll)
    assert ended.is_set()
    assert sorted(task.left for task in tasks) == [4, 4]
    run_together(tasks)
    assert [task.left for task in tasks] == [0, 0]


def test_a_second_run_takes_its_core_back() -> None:
    """The helper leaves after the piece in which another thread begins to compute; its task is not lost."""
    helped, other_runs, over = (threading.Event() for _ in range(3))
    me, late = threading.get_ident(), []

    def piece() -> None:
        if threading.get_ident() != me:
            if other_runs.is_set():
                late.append(1)
            helped.set()
        time.sleep(0.005)

    def compute() -> None:
        assert helped.wait(SOON)
        with computing():
            other_runs.set()
            over.wait(SOON)

    other = threading.Thread(target=compute)
    other.start()
    tasks = [Pieces(40, piece), Pieces(40, piece)]
    with use_threads(2), computing():
        run_together(tasks)
    over.set()
    other.join()
    assert len(late) <= 1
    assert [task.left for task in tasks] == [0, 0]


def spin() -> None:
    begun = time.thread_time()
    while time.thread_time() - begun < 0.05:
        pass


def test_processor_time_of_helpers_is_known() -> None:
    meet, before = threading.Barrier(2, timeout=SOON), helper_seconds()

    def work() -> None:
        meet.wait()
        spin()

    with use_threads(2):
        run_together([Pieces(1, work), Pieces(1, work)])
    assert 0.05 <= helper_seconds() - before < 0.1


def test_the_environment_says_how_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "_default", parallel._default.__wrapped__)
    cores = parallel._default()
    for given, wanted in (("3", 3), ("0", cores), ("", cores)):
        monkeypatch.setenv("ACVB_THREADS", given)
        assert parallel._default() == wanted
    monkeypatch.setenv("ACVB_THREADS", "two")
    with pytest.raises(ParameterError, match=r"^ACVB_THREADS is 'two'; it must be a number of threads"):
        run_together([Pieces(1)])


def test_a_program_that_ends_needs_no_helpers() -> None:
    """Runs of daemon threads continue while the interpreter shuts down: they do their tasks themselves."""
    program = """
import atexit, threading
from acvb_core.core.parallel import run_together, use_threads
def tasks(n): return [lambda: False for _ in range(n)]
with use_threads(3):
    run_together(tasks(3))
def last():
    with use_threads(3):
        run_together(tasks(3))
    print("done")
atexit.register(last)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("done\n", "")


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
        spin()
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
