"""What runs over shards come to, bit for bit, and the loss of a worker in their midst."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from typing import Any

import acvb_core
from acvb_core.shards.place import Place, use_place
from acvb_core.shards.workers import ThreadWorker, WorkerLostError
from tests.engine.fakes import TIMES

#: The history but its times, and the arrays of the posterior.
Outcome = tuple[bytes, dict[str, bytes]]


def outcome(data: Any, method: str, **given: Any) -> Outcome:
    """Return the bits of a run."""
    result = acvb_core.fit(data, method, **given)
    assert result.snapshot.cpu_seconds > 0
    history = result.history.drop(columns=[*TIMES, "lost"], errors="ignore").to_numpy().tobytes()
    return history, {name: array.tobytes() for name, array in result.snapshot.posterior.arrays.items()}


class FrailWorker(ThreadWorker):
    """A thread that is sent copies, as a process is; the second one is lost before a step. The one in its place is not.

    `times`: how often the step is asked for until then. `lost`: gets the number of the worker.
    """

    def __init__(self, lost: list[int], step: str, times: int, number: int) -> None:
        super().__init__(number)
        self._lost, self._step, self._left = lost, step, times if number == 1 else 0

    def request(self, method: str, *arguments: Any) -> Future[Any]:
        if method == "call" and arguments[1] == self._step:
            self._left -= 1
            if self._left == 0:
                self._lost.append(self._number)
                lost = Future[Any]()
                lost.set_exception(WorkerLostError("gone"))
                return lost
        return self._thread.submit(self._answer, pickle.dumps((method, arguments)))

    def _answer(self, question: bytes) -> Any:
        method, arguments = pickle.loads(question)
        return pickle.loads(pickle.dumps(getattr(self._host, method)(*arguments)))


@contextmanager
def frail_workers(step: str, times: int) -> Iterator[None]:
    """Have the shards of the runs inside held by two workers, of which one is lost (`FrailWorker`)."""
    lost = list[int]()
    with use_place(Place(2, partial(FrailWorker, lost, step, times))):
        yield
    assert lost == [1]
