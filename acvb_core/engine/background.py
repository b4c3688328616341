"""Work in the background, as a handle: inspect, pause, resume, stop, wait. Subclasses add the work and its state."""

from __future__ import annotations

import threading
import time
import traceback
import uuid
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from typing import Any, Generic, Protocol, Self, TypeVar

from acvb_core.core.errors import AcvbError
from acvb_core.engine.executor import Executor, InterruptedRun, QueuedTask
from acvb_core.engine.observer import Observer
from acvb_core.engine.run import StopRun


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
        """Let paused work go on."""
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

    `state`: to begin with; None where a subclass has it only when it is asked for.
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
