"""An executor that does something more on the thread of each piece of work when that is over."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from acvb_core.engine.executor import Executor, Ticket
from acvb_core.engine.problem import Problem
from acvb_core.engine.race import RaceUpdate


class SavingExecutor(Executor):
    """The shared executor, with something to do on the same thread when the work is over.

    A job hands its work to whichever executor it was made with, each time it is started or extended; so this is
    where its end is noticed without anyone waiting for it.
    """

    def __init__(self, inner: Executor, submitted: Callable[[], None], ended: Callable[[], None]) -> None:
        self._inner, self._submitted, self._ended = inner, submitted, ended

    @property
    def limit(self) -> int:
        """The limit of the shared executor."""
        return self._inner.limit

    def compute(self, problem: Problem, **options: Any) -> Iterator[RaceUpdate]:
        """Compute where the shared executor does."""
        return self._inner.compute(problem, **options)

    def compute_all(self, *arguments: Any) -> Iterator[Any]:
        """Make the calls where the shared executor does."""
        return self._inner.compute_all(*arguments)

    def submit(self, work: Callable[[], None], name: str) -> Ticket:
        """Start `work` as soon as it is its turn."""

        def both() -> None:
            try:
                work()
            finally:
                self._ended()

        self._submitted()
        return self._inner.submit(both, name)

    @contextmanager
    def yield_place(self) -> Iterator[None]:
        """Leave the place in the shared executor to whoever waits."""
        with self._inner.yield_place():
            yield
