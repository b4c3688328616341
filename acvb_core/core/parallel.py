"""Several threads for one run: how many it may have, and pieces of its work that they do side by side.

Who does a piece changes nothing in what it gives, so a result has the same bits with any number of threads. Cores are
shared: a run that is alone has all of them, and gives them back, a piece later, as soon as another one computes.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Generic, TypeVar

from acvb_core.core.errors import ParameterError
from acvb_core.core.protocols import Array, Poll, no_poll

ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")
#: Does a piece of a task, of at most some 50 ms; returns whether there is more.
Task = Callable[[], bool]

_VARIABLE = "ACVB_THREADS"
#: Seconds between two looks at whether a run is to pause or to stop, while others finish their part.
_LOOK_EVERY = 0.05
#: A worker that has not called its poll for so many seconds may be paused: the others no longer wait for it.
_PATIENCE = 2.0

#: Of each thread: as many threads as its runs may have when they are alone; 0 for all cores.
_most = ContextVar("threads", default=0)
_lock = threading.Lock()
_computing = Counter[int]()  # by thread: how often it is inside `computing`
_helped = threading.local()


@contextmanager
def use_threads(threads: int = 0) -> Iterator[None]:
    """Have runs that are computed inside, on this thread, use at most so many threads; 0 for one a core.

    Runs that compute at the same time share them. No bit of a result depends on the number.

    Raises
    ------
    ParameterError
        The number is negative.
    """
    if threads < 0:
        raise ParameterError(f"threads is {threads}; it must be at least 0.")
    before = _most.set(threads)
    try:
        yield
    finally:
        _most.reset(before)


@contextmanager
def computing() -> Iterator[None]:
    """Count this thread among those that compute."""
    me = threading.get_ident()
    with _lock:
        _computing[me] += 1
    try:
        yield
    finally:
        with _lock:
            _computing[me] -= 1
            if not _computing[me]:
                del _computing[me]


def wait_until_idle() -> None:
    """Return when no other thread computes."""
    while set(_computing) - {threading.get_ident()}:
        time.sleep(_LOOK_EVERY)


@cache
def _default() -> int:
    """Return what the environment says, or the number of cores that this process may use."""
    given = os.environ.get(_VARIABLE, "")
    if given and not given.isdecimal():
        raise ParameterError(f"{_VARIABLE} is {given!r}; it must be a number of threads, or 0 for all cores.")
    cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    return int(given or 0) or cores


def _share(limit: int, leader: int) -> int:
    runs = len(_computing) + (leader not in _computing)
    return max(1, limit // runs)


def _limit() -> int:
    return _most.get() or _default()


def helper_seconds() -> float:
    """Return the processor seconds that other threads have worked for this one so far."""
    return getattr(_helped, "seconds", 0.0)


def add_helper_seconds(seconds: float) -> None:
    """Count processor seconds that another thread has worked for this one."""
    _helped.seconds = helper_seconds() + seconds


def run_together(tasks: Sequence[Task], poll: Poll = no_poll) -> None:
    """Do tasks on as many threads as the run may have, each task by one thread at a time, and return when all are done.

    The poll is called between this thread's pieces. While it blocks no other thread begins a piece; where it
    raises, all have ended theirs when this does: what is left of the tasks can be done later.
    """
    _Team(tasks, poll).run()


def cut_rows(array: Array, at_once: int) -> list[slice]:
    """Return slices of the rows of an array (n, …) with about so many numbers each, for threads to share."""
    step = max(1, at_once // max(array[:1].size, 1))
    return [slice(begin, begin + step) for begin in range(0, len(array), step)]


def map_together(
    call: Callable[[ItemT], ResultT], items: Iterable[ItemT], poll: Poll = no_poll
) -> list[ResultT]:
    """Return what a call gives for each item, in their order; each takes some 50 ms at most."""
    items = list(items)
    if len(items) == 1:  # nothing to share
        poll()
        return [call(items[0])]
    found: dict[int, ResultT] = {}

    def work(number: int, item: ItemT) -> bool:
        found[number] = call(item)
        return False

    run_together([partial(work, number, item) for number, item in enumerate(items)], poll)
    return [found[number] for number in range(len(found))]


def map_rows(
    call: Callable[[tuple[str, slice]], ResultT], arrays: Mapping[str, Array], at_once: int
) -> list[ResultT]:
    """Return what a call gives for each array's name and slice of rows (`cut_rows`), each of some 50 ms at most.

    Arrays that need no cutting stay on this thread: to wake another takes longer than what is done with them.
    """
    parts = [(name, rows) for name, array in arrays.items() for rows in cut_rows(array, at_once)]
    return map_together(call, parts) if len(parts) > len(arrays) else [call(part) for part in parts]


class _Team:
    """A thread whose run has tasks, and those that help it."""

    def __init__(self, tasks: Sequence[Task], poll: Poll) -> None:
        self._waiting, self._poll = deque(tasks), poll
        self._leader, self._limit = threading.get_ident(), _limit()
        self._gate = threading.Lock()  # the leader holds it while its run may be paused
        self._is_over = False
        self._seconds: list[float] = []  # of processor time, of each helper that has ended

    def run(self) -> None:
        n_helpers = min(_share(self._limit, self._leader), len(self._waiting)) - 1
        if n_helpers < 1:
            return self._work(self._come_by)
        helpers = _recruit([partial(self._help, number) for number in range(1, n_helpers + 1)])
        try:
            while True:
                self._work(self._come_by)
                running = [one for one in helpers if not one.done()]
                if not running and not self._waiting:
                    break
                wait(running, _LOOK_EVERY, FIRST_COMPLETED)
                self._come_by()
        finally:
            self._is_over = True
            for one in helpers:
                one.cancel()
            wait(helpers)
            add_helper_seconds(sum(self._seconds))
        for one in helpers:
            if not one.cancelled():
                one.result()

    def _work(self, goes_on: Callable[[], bool]) -> None:
        """Do tasks until none waits, or this thread must stop."""
        while goes_on():
            try:
                task = self._waiting.popleft()
            except IndexError:
                return
            while task():
                if not goes_on():
                    self._waiting.appendleft(task)
                    return

    def _come_by(self) -> bool:
        """Call the run's poll."""
        with self._gate:
            self._poll()
        return True

    def _help(self, number: int) -> None:
        begun = time.thread_time()
        try:
            self._work(partial(self._may_help, number))
        finally:
            self._seconds.append(time.thread_time() - begun)

    def _may_help(self, number: int) -> bool:
        """Return whether a helper continues: its core is no other run's, and the run is not paused or stopped."""
        if (
            self._is_over
            or number >= _share(self._limit, self._leader)
            or not self._gate.acquire(timeout=_LOOK_EVERY)
        ):
            return False
        self._gate.release()
        return not self._is_over


def _recruit(calls: Sequence[Callable[[], None]]) -> list[Future[None]]:
    """Have threads of the process make some calls; none where the program is about to end."""
    if not calls:
        return []
    niceness = os.getpriority(os.PRIO_PROCESS, threading.get_native_id()) if sys.platform == "linux" else 0
    with suppress(RuntimeError):
        return [_pool(os.getpid(), niceness).submit(call) for call in calls]
    return []


@cache
def _pool(process: int, niceness: int) -> ThreadPoolExecutor:
    """Return threads that are made when they are needed and stay, with the priority of those they help."""
    return ThreadPoolExecutor(64, f"helper-{niceness}")


@dataclass(eq=False)
class _Task(Generic[ResultT]):
    """Work under way."""

    ended: threading.Event = field(default_factory=threading.Event)
    results: list[ResultT] = field(default_factory=list)  #: one result, or none where the worker was stopped
    seconds: float = 0.0  #: of processor time
    seen: float = field(default_factory=time.monotonic)  #: when the worker last came by its poll


class SharedWork(Generic[ResultT]):
    """Results by key, kept only while a thread works one out: whoever asks meanwhile gets the same."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tasks: dict[Hashable, _Task[ResultT]] = {}

    def get(self, key: Hashable, work: Callable[[Poll], ResultT], poll: Poll) -> ResultT:
        """Return what `work` gives; equal keys must mean equal results.

        The poll is called while working and while waiting. A thread that waits does the work itself when the
        worker is stopped or paused. The processor time counts for every thread, as if it had worked.
        """
        while True:
            with self._lock:
                task = self._tasks.get(key)
                if is_worker := task is None:
                    task = self._tasks[key] = _Task()
            if is_worker:
                break
            while not task.ended.wait(_LOOK_EVERY):
                poll()
                if time.monotonic() > task.seen + _PATIENCE:
                    return work(poll)
            if task.results:
                add_helper_seconds(task.seconds)
                return task.results[0]

        def come_by() -> None:
            poll()
            task.seen = time.monotonic()

        begun = time.thread_time() + helper_seconds()
        try:
            result = work(come_by)
            task.seconds = time.thread_time() + helper_seconds() - begun
            task.results.append(result)
            return result
        finally:
            with self._lock:
                del self._tasks[key]
            task.ended.set()
