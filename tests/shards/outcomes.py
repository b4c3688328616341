"""What runs over shards come to, bit for bit, and the loss of a worker in their midst."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import acvb_core
from acvb_core.shards.host import Host, WorkerLostError
from acvb_core.shards.place import Place, use_place
from tests.engine.fakes import TIMES

#: The history but its times, and the arrays of the posterior.
Outcome = tuple[bytes, dict[str, bytes]]


def outcome(data: Any, method: str, **given: Any) -> Outcome:
    """Return the bits of a run."""
    result = acvb_core.fit(data, method, **given)
    assert result.snapshot.cpu_seconds > 0
    history = result.history.drop(columns=[*TIMES, "lost"], errors="ignore").to_numpy().tobytes()
    return history, {name: array.tobytes() for name, array in result.snapshot.posterior.arrays.items()}


class FrailWorker(Host):
    """A worker that is sent copies, as a process is. Once `losing` says so of a request, it is lost with its shards."""

    def __init__(self, losing: Callable[[str, tuple[Any, ...]], bool]) -> None:
        super().__init__()
        self._losing, self.is_lost = losing, False

    def answer(self, method: str, arguments: tuple[Any, ...]) -> tuple[Exception | None, Any]:
        self.is_lost = self.is_lost or self._losing(method, arguments)
        if self.is_lost:
            raise WorkerLostError("gone")
        method, arguments = pickle.loads(pickle.dumps((method, arguments)))
        answered: tuple[Exception | None, Any] = pickle.loads(pickle.dumps(super().answer(method, arguments)))
        return answered


@contextmanager
def frail_workers(step: str, times: int) -> Iterator[None]:
    """Have the shards of the runs inside held by two workers, one of which is lost before a step.

    `times`: how often the step is asked for until then.
    """
    started, lost, asked = count(), list[int](), count(1)

    def start(before: Any) -> FrailWorker:
        number = next(started)

        def is_losing(method: str, arguments: tuple[Any, ...]) -> bool:
            losing = number == 1 and method == "call" and arguments[0] == step and next(asked) == times
            lost.extend([number] * losing)
            return losing

        return FrailWorker(is_losing)

    with use_place(Place(2, start)):
        yield
    assert lost == [1]
