"""An executor of jobs: a bounded number of daemon threads in this process."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Executor:
    """Run callables on at most `limit` threads at a time, first come, first served.

    Kernels release the interpreter lock, so as many run at once as there are cores; a few more than that keep
    side-by-side comparisons live on small machines.
    """

    def __init__(self, limit: int | None = None) -> None:
        self.limit = limit or max(4, os.cpu_count() or 1)
        self._lock = threading.Lock()
        self._waiting: deque[tuple[Callable[[], None], str]] = deque()
        self._running = 0

    def submit(self, work: Callable[[], None], name: str) -> None:
        """Start `work` on a thread of its own as soon as there is room."""
        with self._lock:
            self._waiting.append((work, name))
        self._start_next()

    @contextmanager
    def yield_place(self) -> Iterator[None]:
        """Give the caller's place to a waiting job, while the caller has nothing to compute.

        The caller resumes at once afterwards, beside that job.
        """
        with self._lock:
            self._running -= 1
        self._start_next()
        try:
            yield
        finally:
            with self._lock:
                self._running += 1

    def _start_next(self) -> None:
        with self._lock:
            if self._running >= self.limit or not self._waiting:
                return
            work, name = self._waiting.popleft()
            self._running += 1
        threading.Thread(target=self._run, args=(work,), name=name, daemon=True).start()

    def _run(self, work: Callable[[], None]) -> None:
        try:
            work()
        finally:
            with self._lock:
                self._running -= 1
            self._start_next()
