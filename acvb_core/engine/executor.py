"""Executors: where runs compute. This one has threads of this process; others override `compute` and `limit`."""

from __future__ import annotations

import os
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TypeVar

from acvb_core.core.errors import AcvbError
from acvb_core.core.protocols import Poll, no_poll
from acvb_core.engine.compilation import compile_for
from acvb_core.engine.race import race
from acvb_core.engine.run import run
from acvb_core.engine.state import RunState

ResultT = TypeVar("ResultT")
#: Of a thread that does queued work: `owner`, and whether it `holds_slot` of its executor.
_thread = threading.local()

#: As many methods as the Run page starts together and promises to show side by side.
SIDE_BY_SIDE = 3


class InterruptedRun(AcvbError):  # noqa: N818 - the run has no fault
    """Raised when the worker that computed a run is lost; the run can go on elsewhere."""


class QueuedTask(threading.Thread):
    """Work that was handed to an executor: it waits in a queue until its thread is started."""

    def __init__(self, executor: Executor, work: Callable[[], None], name: str, owner: str) -> None:
        super().__init__(name=name, daemon=True)
        self._executor, self._work = executor, work
        self.owner = owner
        self.holds_slot = False  #: of the executor, while the work is done

    @property
    def position(self) -> int | None:
        """Position in the queue, from 1, in the order of starts as it is now; None for work that does not wait."""
        return self._executor.find_position(self)

    def leave_queue(self) -> None:
        """Start work that waits at once, beside the others: it was told to stop, so it takes no time."""
        self._executor.take_from_queue(self)

    def run(self) -> None:
        """Do the work on this thread, and give its slot to the next."""
        _thread.owner, _thread.holds_slot = self.owner, self.holds_slot
        lower_priority(self._executor.niceness)
        try:
            self._work()
        finally:
            if self.holds_slot:
                self._executor.leave_slot(self.owner)


class Executor:
    """Run callables on at most `limit` threads at a time, and compute runs; owners that wait take turns.

    Work of the owner with the fewest running jobs starts first; among equals, that of the owner whose last start was
    longest ago. The work of one owner starts in the order in which it came.

    `limit`: by default the number of cores, for kernels release the interpreter lock. On a machine with fewer than
    three, three: the methods of one comparison are watched side by side, and a third one would show nothing until
    another has ended.

    `niceness`: of the threads, from 0 to 19; on Linux, higher ones let the other threads of the process go first.
    """

    def __init__(self, limit: int | None = None, niceness: int = 0) -> None:
        self._limit = limit or max(SIDE_BY_SIDE, os.cpu_count() or 1)
        self.niceness = niceness
        self._lock = threading.Lock()
        self._waiting: list[QueuedTask] = []
        self._running = Counter[str]()  # by owner
        self._starts: dict[str, int] = {}  # number of the last start of each owner

    @property
    def limit(self) -> int:
        """The most callables that run at a time."""
        return self._limit

    def compute(
        self,
        state: RunState,
        poll: Poll = no_poll,
        compiling: Callable[[bool], object] = bool,
    ) -> Iterator[RunState]:
        """Yield the state after each sweep of a run, or of a race of restarts and its winner: here, on this thread.

        `state`: a run that has not begun, or one that goes on from its snapshot.
        `poll`: as for `run`.
        `compiling`: called with True where functions are compiled first, and with False once all are ready.
        Raises ParameterError: a new run needs more memory than is free where it computes.
        """
        if state.snapshot is None:
            state.prepared.refuse_too_large()  # before the compiler, which takes some seconds
        compile_for(state.prepared, partial(compiling, True))
        compiling(False)
        if state.snapshot is None:
            for update in race(state.prepared, poll=poll):
                state = replace(update, max_sweeps=state.max_sweeps)
                yield state
            if state.snapshot is not None and state.snapshot.verdict is not None:
                return
        for snapshot in run(state.prepared, resume=state.snapshot, max_sweeps=state.max_sweeps, poll=poll):
            state.history.append(snapshot)
            yield replace(state, snapshot=snapshot, last_sweep=(state.prepared, snapshot), is_due=False)

    def compute_all(
        self, calls: Iterable[Callable[[Poll], ResultT]], poll: Poll = no_poll
    ) -> Iterator[tuple[int, ResultT]]:
        """Yield the number, from 0, and the result of calls that compute a run each: here, one after another.

        Each is called with a poll, which raises StopRun where `poll` does. What a call raises is raised.
        """
        for number, call in enumerate(calls):
            yield number, call(poll)

    def find(self, owner: str) -> Executor:
        """Return the executor of an owner's work: this one. Several executors (`Places`) find one for each owner."""
        return self

    def submit(self, work: Callable[[], None], name: str, owner: str = "") -> QueuedTask:
        """Start `work` on a thread of its own as soon as it is its turn."""
        task = QueuedTask(self, work, name, owner)
        with self._lock:
            self._waiting.append(task)
        self._start_next()
        return task

    @contextmanager
    def release_slot(self) -> Iterator[None]:
        """Give the slot of this thread to a waiting task, while this thread has nothing to compute.

        The caller resumes at once afterwards, beside that task. A thread without a slot has none to give.
        """
        if not getattr(_thread, "holds_slot", False):
            yield
            return
        self.leave_slot(_thread.owner)
        try:
            yield
        finally:
            with self._lock:
                self._running[_thread.owner] += 1

    def find_position(self, task: QueuedTask) -> int | None:
        """Return the position of a task in the queue, from 1; None if it does not wait."""
        with self._lock:
            return self._queue().index(task) + 1 if task in self._waiting else None

    def take_from_queue(self, task: QueuedTask) -> None:
        """Start a task at once if it waits; it takes no slot."""
        with self._lock:
            if task not in self._waiting:
                return
            self._waiting.remove(task)
        task.start()

    def _queue(self) -> list[QueuedTask]:
        """Return what waits in the order in which it would start if no running task ended before.

        Each start adds a running task of its owner: a task is weighed with those that its owner has ahead of it. Among
        equals, an owner who has not started any meanwhile goes first.
        """
        ahead, keys = Counter[str](), dict[QueuedTask, tuple[int, int, int]]()
        for task in self._waiting:
            owner = task.owner
            keys[task] = (self._running[owner] + ahead[owner], ahead[owner], self._starts.get(owner, 0))
            ahead[owner] += 1
        return sorted(keys, key=keys.__getitem__)

    def _start_next(self) -> None:
        with self._lock:
            if not self._waiting or self._running.total() >= self.limit:
                return
            task = self._queue()[0]
            self._waiting.remove(task)
            self._running[task.owner] += 1
            self._starts[task.owner] = max(self._starts.values(), default=0) + 1
            task.holds_slot = True
        task.start()

    def leave_slot(self, owner: str) -> None:
        """Note that a task of an owner has ended, and start the next."""
        with self._lock:
            self._running[owner] -= 1
        self._start_next()


def current_owner() -> str:
    """Return the owner of the work that this thread does; "" for none."""
    return getattr(_thread, "owner", "")


def lower_priority(niceness: int) -> None:
    """Let threads of lower niceness go before this one; elsewhere than on Linux, priorities are those of processes."""
    if niceness and sys.platform == "linux":
        thread = threading.get_native_id()
        os.setpriority(os.PRIO_PROCESS, thread, os.getpriority(os.PRIO_PROCESS, thread) + niceness)
