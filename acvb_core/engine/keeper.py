"""When a run that goes on is kept: every few seconds of its work, at a small share of them."""

from __future__ import annotations

import time
from collections.abc import Callable

from acvb_core.engine.race import RaceUpdate

#: Processor seconds of a run between two times that it is kept …
KEEP_EVERY = 10.0
#: … or as many times what keeping it took, if that is longer: then it takes at most 2 % of the run.
KEEP_RATIO = 50.0


class Keeper:
    """Keeps a run, on the thread that computes it.

    `keep`: keeps the run as it is now. It raises nothing.
    """

    def __init__(self, keep: Callable[[], None]) -> None:
        self._keep = keep
        self._since = 0.0
        self._pause = KEEP_EVERY

    def begin(self) -> None:
        """Count the run's work from now on; called on its thread."""
        self._since = time.thread_time()

    def keep_update(self, update: RaceUpdate) -> None:
        """Keep a run if that is due; one that is computed elsewhere, whenever its state has come."""
        if update.is_due:
            self.keep()
        elif update.snapshot.state is not None:
            self.keep_if_due()

    def keep_if_due(self) -> None:
        """Keep the run if it worked long enough since it was last kept."""
        if time.thread_time() - self._since >= self._pause:
            self.keep()

    def keep(self) -> None:
        """Keep the run now."""
        began = time.monotonic()
        self._keep()
        self._pause = max(KEEP_EVERY, KEEP_RATIO * (time.monotonic() - began))
        self._since = time.thread_time()
