"""One BLAS and OpenMP thread inside a run, what there was before outside; and the threads that help a run."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

import pytest
import sklearn.cluster  # noqa: F401 - loads OpenMP
from threadpoolctl import threadpool_info, threadpool_limits

from acvb_core.core.parallel import run_together, use_threads
from acvb_core.engine.machine import Clock, one_thread


def limits(api: str) -> set[int]:
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == api}


@pytest.fixture(autouse=True)
def _several_threads() -> Iterator[None]:
    """More than one thread outside, whatever the machine has."""
    with threadpool_limits(limits=3, user_api="openmp"):
        before = limits("blas")
        set_blas(3)
        assert limits("blas") == limits("openmp") == {3}
        yield
    set_blas(max(before))


def set_blas(number: int) -> None:
    """Set BLAS's number from a thread that ends afterwards, so that no thread owns it."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(threadpool_limits, limits=number, user_api="blas").result()


@contextmanager
def thread_inside() -> Iterator[Callable[[], object]]:
    """Have another thread inside, until the function that is given is called."""
    inside, leave = threading.Event(), threading.Event()

    def compute() -> None:
        with one_thread():
            inside.set()
            leave.wait()

    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(compute)
        inside.wait()
        yield lambda: (leave.set(), running.result())
        leave.set()


def test_first_one_out_leaves_the_limit_to_the_others() -> None:
    """Two threads overlap; BLAS has one thread until both are out, OpenMP in each as long as it is inside."""
    with thread_inside() as leave:
        assert limits("openmp") == {3}
        with one_thread():
            leave()
            assert limits("blas") == limits("openmp") == {1}
    assert limits("blas") == limits("openmp") == {3}


def test_thread_that_is_outside_leaves_the_limit_to_the_one_inside() -> None:
    """threadpoolctl heeds only the thread that set OpenBLAS's number first, for as long as that thread lives."""

    def sweep() -> set[int]:
        with one_thread():
            return limits("blas")

    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(1) as other:  # the first thread lives on
        assert one.submit(sweep).result() == other.submit(sweep).result() == {1}
    assert limits("blas") == {3}


def spin_on_two_threads() -> int:
    """Compute for a tenth of a second of processor time, on two threads if there may be two; return how many."""
    used: set[int] = set()
    meet = threading.Barrier(2)

    def spin() -> bool:
        used.add(threading.get_ident())
        with suppress(threading.BrokenBarrierError):
            meet.wait(1.0)
        begun = time.thread_time()
        while time.thread_time() - begun < 0.05:
            pass
        return False

    run_together([spin, spin])
    return len(used)


def test_the_clock_counts_threads_that_help() -> None:
    for threads in (1, 2):
        with use_threads(threads), one_thread():
            clock = Clock()
            assert spin_on_two_threads() == threads
            cpu, wall = clock.read()
        assert 0.1 <= cpu < 0.2
        assert wall >= 0.05


def test_a_run_that_is_not_alone_has_no_help() -> None:
    with thread_inside() as leave, use_threads(2), one_thread():
        assert spin_on_two_threads() == 1
        leave()
        assert spin_on_two_threads() == 2
