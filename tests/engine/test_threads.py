"""One BLAS and OpenMP thread inside a run, what there was before outside; and the threads that help a run."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import suppress

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
    """Set BLAS's number from a thread that is gone afterwards, so that no thread owns it."""
    thread = threading.Thread(target=lambda: threadpool_limits(limits=number, user_api="blas"))
    thread.start()
    thread.join()


def test_first_one_out_leaves_the_limit_to_the_others() -> None:
    """Two threads overlap; BLAS has one thread until both are out, OpenMP in each as long as it is inside."""
    inside, leave = threading.Event(), threading.Event()
    seen: dict[str, set[int]] = {}

    def first() -> None:
        with one_thread():
            inside.set()
            leave.wait()
        seen["blas after first"] = limits("blas")

    thread = threading.Thread(target=first)
    thread.start()
    inside.wait()
    assert limits("openmp") == {3}
    with one_thread():
        leave.set()
        thread.join()
        assert limits("blas") == limits("openmp") == {1}
    assert seen["blas after first"] == {1}
    assert limits("blas") == limits("openmp") == {3}


def test_thread_that_is_outside_leaves_the_limit_to_the_one_inside() -> None:
    """threadpoolctl heeds only the thread that set OpenBLAS's number first, for as long as that thread lives."""
    outside, end = threading.Event(), threading.Event()
    seen: dict[str, set[int]] = {}

    def between_two_sweeps() -> None:
        with one_thread():
            pass
        outside.set()
        end.wait()

    def sweeping() -> None:
        with one_thread():
            seen["blas"] = limits("blas")

    one, other = threading.Thread(target=between_two_sweeps), threading.Thread(target=sweeping)
    one.start()
    outside.wait()
    other.start()
    other.join()
    end.set()
    one.join()
    assert seen["blas"] == {1}
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
    inside, leave = threading.Event(), threading.Event()

    def compute() -> None:
        with one_thread():
            inside.set()
            leave.wait()

    other = threading.Thread(target=compute, daemon=True)
    other.start()
    inside.wait()
    with use_threads(2), one_thread():
        assert spin_on_two_threads() == 1
        leave.set()
        other.join()
        assert spin_on_two_threads() == 2
