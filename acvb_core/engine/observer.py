"""Observers of jobs; one of them writes a run down while it goes on."""

from __future__ import annotations

import time
from collections.abc import Callable

from acvb_core.engine.state import RunState

#: Processor seconds of a run between two times that it is written …
WRITE_EVERY = 10.0
#: … or as many times what writing it took, if that is longer: then it takes at most 2 % of the run.
WRITE_RATIO = 50.0


class Observer:
    """Observer of a job, which is called when something happens to it; this one does nothing."""

    def on_start(self) -> None:
        """The job was handed to an executor; called by who started it."""

    def on_begin(self) -> None:
        """The work begins; called on its thread, as are all that follow."""

    def on_state(self, state: RunState) -> None:
        """A sweep was done, and the run goes on."""

    def on_hold(self) -> None:
        """It may be long until the run goes on, or it has just changed without a sweep."""

    def on_end(self) -> None:
        """The job is over, and `wait` has returned."""


class CheckpointWriter(Observer):
    """Writes a run down every few seconds of its work, at a small share of them.

    `write`: writes the run as it is now. It raises nothing.
    """

    def __init__(self, write: Callable[[], None]) -> None:
        self._write = write
        self._since = 0.0
        self._pause = WRITE_EVERY

    def on_begin(self) -> None:
        """Count the run's work from now on."""
        self._since = time.thread_time()

    def on_state(self, state: RunState) -> None:
        """Write a run if that is due; one that is computed elsewhere, whenever its state has come."""
        is_due = time.thread_time() - self._since >= self._pause and state.last.state is not None
        if state.is_due or is_due:
            self.on_hold()

    def on_hold(self) -> None:
        """Write the run now."""
        began = time.monotonic()
        self._write()
        self._pause = max(WRITE_EVERY, WRITE_RATIO * (time.monotonic() - began))
        self._since = time.thread_time()
