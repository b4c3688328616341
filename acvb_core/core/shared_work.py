"""Work that several threads want at the same time, done by one of them: runs of several methods begin with the same."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from acvb_core.core.parallel import add_helper_seconds, helper_seconds
from acvb_core.core.protocols import Poll

ResultT = TypeVar("ResultT")

#: Seconds between two looks at whether a thread that waits is itself to pause or to stop.
_LOOK_EVERY = 0.05
#: A worker that has not come by its poll for so many seconds may be paused: the others no longer wait for it.
_PATIENCE = 2.0


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
