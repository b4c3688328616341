"""Executors: compute a run in this thread, or in the background with a limit on how many run at once."""

from __future__ import annotations

import os
import sys
import threading
import time
import traceback
import uuid
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from typing import Any, Generic, Protocol, Self, TypeVar

from acvb_core.core.errors import AcvbError
from acvb_core.core.protocols import Poll, no_poll
from acvb_core.engine.compilation import compile_for
from acvb_core.engine.race import race
from acvb_core.engine.run import Observer, RunState, StopRun, run

ResultT = TypeVar("ResultT")
#: Of a thread that does queued work: `owner`, and whether it `holds_slot` of its executor.
_thread = threading.local()
#: As many methods as the Run page starts together and promises to show side by side.
SIDE_BY_SIDE = 3


class InterruptedRun(AcvbError):  # noqa: N818 - the run has no fault
    """Raised when the worker that computed a run is lost; the run can continue elsewhere."""


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
        with self._executor.lock:
            queue = self._executor.list_waiting()
        return queue.index(self) + 1 if self in queue else None

    def leave_queue(self) -> None:
        """Start work that waits at once, without a slot: it was told to stop, so it takes no time."""
        with self._executor.lock:
            if self not in self._executor.waiting:
                return
            self._executor.waiting.remove(self)
        self.start()

    def run(self) -> None:
        """Do the work on this thread, and give its slot to the next."""
        _thread.owner, _thread.holds_slot = self.owner, self.holds_slot
        niceness, thread = self._executor.niceness, threading.get_native_id()
        if niceness and sys.platform == "linux":  # elsewhere priorities are those of processes
            os.setpriority(os.PRIO_PROCESS, thread, os.getpriority(os.PRIO_PROCESS, thread) + niceness)
        try:
            self._work()
        finally:
            if self.holds_slot:
                self._executor.leave_slot(self.owner)


class Executor:
    """Run callables on at most `limit` threads at a time, and compute runs; owners that wait take turns.

    Work of the owner with the fewest running jobs starts first; among equals, that of the owner whose last start was
    longest ago. The work of one owner starts in the order in which it came.

    `limit`: by default the number of cores, but at least three: the methods of one comparison are watched side by side.
    `niceness`: of the threads, from 0 to 19; on Linux, higher ones let the other threads of the process go first.
    """

    def __init__(self, limit: int | None = None, niceness: int = 0) -> None:
        self._limit = limit or max(SIDE_BY_SIDE, os.cpu_count() or 1)
        self.niceness = niceness
        self.lock = threading.Lock()  #: of what follows
        self.waiting: list[QueuedTask] = []  #: in the order in which they came
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

        `state`: a run that has not begun, or one that continues from its snapshot.
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
        with self.lock:
            self.waiting.append(task)
        self._start_next()
        return task

    @contextmanager
    def release_slot(self) -> Iterator[None]:
        """Give the slot of this thread to a waiting task, while this thread has nothing to compute.

        The caller resumes at once afterwards, in parallel with that task. A thread without a slot has none to give.
        """
        if not getattr(_thread, "holds_slot", False):
            yield
            return
        self.leave_slot(_thread.owner)
        try:
            yield
        finally:
            with self.lock:
                self._running[_thread.owner] += 1

    def list_waiting(self) -> list[QueuedTask]:
        """Return what waits in the order in which it would start if no running task ended before.

        Each start adds a running task of its owner: a task is weighed with those that its owner has ahead of it. Among
        equals, an owner who has not started any meanwhile goes first.
        """
        ahead, keys = Counter[str](), dict[QueuedTask, tuple[int, int, int]]()
        for task in self.waiting:
            owner = task.owner
            keys[task] = (self._running[owner] + ahead[owner], ahead[owner], self._starts.get(owner, 0))
            ahead[owner] += 1
        return sorted(keys, key=keys.__getitem__)

    def _start_next(self) -> None:
        with self.lock:
            if not self.waiting or self._running.total() >= self.limit:
                return
            task = self.list_waiting()[0]
            self.waiting.remove(task)
            self._running[task.owner] += 1
            self._starts[task.owner] = max(self._starts.values(), default=0) + 1
            task.holds_slot = True
        task.start()

    def leave_slot(self, owner: str) -> None:
        """Note that a task of an owner has ended, and start the next."""
        with self.lock:
            self._running[owner] -= 1
        self._start_next()


def current_owner() -> str:
    """Return the owner of the work that this thread does; "" for none."""
    return getattr(_thread, "owner", "")


class Status(StrEnum):
    """Stages of a job."""

    QUEUED = "queued"
    COMPILING = "compiling"
    STARTING = "starting"
    RUNNING = "running"
    PAUSED = "paused"
    FINISHED = "finished"
    FAILED = "failed"
    INTERRUPTED = "interrupted"  #: the process, or the cluster, ended before the job did

    @property
    def active(self) -> bool:
        """True while the job is not over."""
        return self not in (Status.FINISHED, Status.FAILED, Status.INTERRUPTED)


@dataclass(frozen=True, kw_only=True, eq=False)
class JobState:
    """A job at one moment. A job publishes it as one reference, so that all of it belongs together."""

    status: Status = Status.QUEUED
    error: str | None = None  #: why the job failed or was interrupted, in one line


StateT = TypeVar("StateT", bound=JobState)


class ExecutorChoice(Protocol):
    """Choice of the executor that does the work of an owner: one for all (`Executor`), or several (`Places`)."""

    def find(self, owner: str) -> Executor:
        """Return the executor of an owner.

        Raises AcvbError: it cannot be reached.
        """


class Control(ABC):
    """Pause, resume and stop of work, which is given this as its poll."""

    def __init__(self) -> None:
        self._go, self._stop = threading.Event(), threading.Event()
        self._go.set()

    @property
    def is_held(self) -> bool:
        """True when the next call will block: work that is done elsewhere is to be held there before."""
        return not self._go.is_set()

    def pause(self) -> None:
        """Hold the work at its next poll (some 100 ms away)."""
        self._go.clear()

    def resume(self) -> None:
        """Let paused work continue."""
        self._go.set()

    def stop(self) -> None:
        """End the work at its next poll."""
        self._stop.set()
        self._go.set()

    def __call__(self) -> None:
        """Block while the work is held; raise StopRun once it is stopped."""
        if self.is_held:
            self._wait_while_held(self._go)
        if self._stop.is_set():
            raise StopRun

    @abstractmethod
    def _wait_while_held(self, go: threading.Event) -> None:
        """Return once `go` is set."""


class BackgroundTask(Control, Generic[StateT]):
    """Work on a thread of an executor, which continues when the page that began it is closed.

    The thread publishes by assigning one reference, so that readers take no lock.

    `state`: to begin with; None if a subclass has it only when it is asked for.
    `executor`: found for `owner` each time the work is started.
    `created`: seconds since the epoch.
    """

    def __init__(
        self, state: StateT | None, executor: ExecutorChoice, *, job_id: str | None = None, owner: str = ""
    ) -> None:
        super().__init__()
        self.id = job_id or uuid.uuid4().hex[:12]
        self.created = time.time()
        self.observer = Observer()
        self._choice, self._owner = executor, owner
        self._executor: Executor
        self._task: QueuedTask | None = None
        self._ended = threading.Event()
        if state is not None:
            self._state = state

    def start(self) -> Self:
        """Hand the job to the executor."""
        # An event for each start: a job seen finished may be extended before its old thread has set the last one.
        self._ended = ended = threading.Event()
        self._publish(Status.QUEUED)
        self.observer.on_start()
        try:
            self._executor = self._choice.find(self._owner)
        except AcvbError as error:
            self._publish(Status.INTERRUPTED, error=str(error))
            ended.set()
            self.observer.on_end()
        else:
            self._task = self._executor.submit(partial(self._work, ended), f"acvb-{self.id}", self._owner)
        return self

    @property
    def position(self) -> int | None:
        """Position among all that wait for a slot, from 1; None for a job that does not wait."""
        return None if self._task is None else self._task.position

    def stop(self) -> None:
        """End the job at its next poll and keep what it has; one that waits in the queue leaves it."""
        super().stop()
        if self._task is not None:
            self._task.leave_queue()

    def wait(self, timeout: float | None = None) -> bool:
        """Block until the job has ended; False when `timeout` seconds passed first."""
        return self._ended.wait(timeout)

    def inspect(self) -> StateT:
        """Return where the job is now."""
        now = self._state
        is_held = now.status is Status.RUNNING and self.is_held
        return replace(now, status=Status.PAUSED) if is_held else now

    @abstractmethod
    def _do(self) -> None:
        """Do the work from where it was left, and publish its results."""

    def _hold(self) -> None:
        """Do what is to be done when a pause begins."""

    def _go_on(self) -> None:
        """Start again after a stop or an end."""
        self._stop.clear()
        self._go.set()
        self.start()

    def _wait_while_held(self, go: threading.Event) -> None:
        self._hold()
        with self._executor.release_slot():
            go.wait()

    def _publish(self, status: Status, **changed: Any) -> None:
        self._state = replace(self._state, status=status, **{"error": None, **changed})

    def _work(self, ended: threading.Event) -> None:
        self.observer.on_begin()
        try:
            self._do()
            self._publish(Status.FINISHED)
        except StopRun:  # before there was anything to keep
            self._publish(Status.FINISHED)
        except InterruptedRun as error:
            self._publish(Status.INTERRUPTED, error=str(error))
        except AcvbError as error:  # what it says is for the user
            self._publish(Status.FAILED, error=str(error))
        except Exception as error:
            traceback.print_exc()
            self._publish(Status.FAILED, error=f"{type(error).__name__}: {error}")
        finally:
            ended.set()
            self.observer.on_end()
