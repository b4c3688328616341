"""Shards on workers: steps on all of them at once, their saved states, and what follows the loss of a worker."""

from __future__ import annotations

import shutil
import tempfile
import warnings
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from acvb_core.core.errors import AcvbError
from acvb_core.core.protocols import Poll, no_poll
from acvb_core.core.scratch import scratch_prefix
from acvb_core.shards.host import Factory, state_file
from acvb_core.shards.workers import StartWorker, Worker, WorkerLostError

#: Seconds between two looks at whether a run is to pause or to stop.
_LOOK_EVERY = 0.05
#: A worker that is lost so often in one step has no chance.
MOST_LOSSES = 5


class Step(NamedTuple):
    """A method of all shards, and what it is called with."""

    name: str
    arguments: tuple[Any, ...]


class Tally(NamedTuple):
    """Totals of the workers of a group so far."""

    seconds: float  #: processor time of the workers
    losses: int  #: workers lost
    unsaved: int  #: savings of the states that failed


class ShardGroup:
    """P shards on some workers (shard i on worker i mod W).

    The answers depend on the shards alone, not on how many workers there are or which is faster. A step that changes
    the shards is remembered until their states are saved. Where a worker is lost, another takes its place, makes its
    shards anew, reads their saved states and repeats the steps since then: the same bits, for the shards have no
    randomness but what a step gives them.

    `save_every`: sweeps between two savings; 0 never saves: once a step has changed the shards, the loss of a worker is
      the end of the run.
    `folder`: where the states are saved; other machines must see it too. By default a temporary one. Where it is full
      or cannot be reached, a warning says so, and the steps are remembered from the last saving on.
    """

    def __init__(
        self,
        factories: Sequence[Factory],
        start_worker: StartWorker,
        n_workers: int,
        save_every: int = 0,
        folder: str | Path | None = None,
    ) -> None:
        self.sweeps = 0  #: sweeps done by all shards
        self.losses = 0  #: workers lost
        self.unsaved = 0  #: savings of the states that failed
        self.seconds = 0.0  #: processor time of the workers
        self._factories = list(factories)
        self._save_every = save_every
        self._own = folder is None
        self._folder = str(folder or (tempfile.mkdtemp(prefix=scratch_prefix()) if save_every else ""))
        self._saved, self._journal, self._changed = "", list[Step](), False
        self._under_way: tuple[Step, bool, list[Future[Any]]] | None = None
        n_workers = max(1, min(n_workers, len(self._factories)))
        self._numbers = [tuple(range(w, len(self._factories), n_workers)) for w in range(n_workers)]
        self.workers: list[Worker] = []  #: those that hold the shards now
        own = self._folder if self._own else ""
        self.close: Callable[[], Any] = weakref.finalize(self, _close, self.workers, own)
        for w in range(n_workers):
            self.workers.append(start_worker(w))
        built = [self._request(w, "build", self._factories_of(w)) for w in range(n_workers)]
        self._wait_for_all(Step("build", ()), built)

    @property
    def n_shards(self) -> int:
        """Number of shards."""
        return len(self._factories)

    @property
    def is_busy(self) -> bool:
        """Return whether a step is under way that was not waited for."""
        return self._under_way is not None

    @property
    def traffic(self) -> tuple[int, int]:
        """Bytes that went to the workers, and that came from them."""
        return sum(w.sent for w in self.workers), sum(w.received for w in self.workers)

    def tally(self) -> Tally:
        """Return what the workers have come to so far."""
        return Tally(self.seconds, self.losses, self.unsaved)

    def since(self, before: Tally) -> dict[str, Any]:
        """Return what has come since then, as fields of a `SweepInfo`."""
        seconds, losses, unsaved = (now - then for now, then in zip(self.tally(), before, strict=True))
        return {"remote_cpu_seconds": seconds, "losses": losses, "unsaved": unsaved}

    def change(self, name: str, *arguments: Any, poll: Poll = no_poll) -> list[Any]:
        """Call a method that changes the shards; return what they give, in their order.

        Where the poll raises, the shards go on; the next call, which must be for the same step, waits for them.
        """
        self._changed = True
        return self._call(Step(name, arguments), True, poll)

    def end_sweep(self) -> None:
        """Count a sweep; save the states where it is time to."""
        self.sweeps += 1
        if self._save_every and self.sweeps % self._save_every == 0:
            self._save()

    def ask(self, name: str, *arguments: Any) -> list[Any]:
        """Call a method that leaves the shards as they are; return what they give, in their order."""
        return self._call(Step(name, arguments), False, no_poll)

    def _call(self, step: Step, changes: bool, poll: Poll) -> list[Any]:
        if self._under_way is None:
            requests = [self._request_step(w, step) for w in range(len(self.workers))]
            self._under_way = step, changes, requests
        elif self._under_way[0].name != step.name:
            raise ValueError(f"the shards are busy with {self._under_way[0].name!r}, not with {step.name!r}")
        step, changes, requests = self._under_way
        self._wait(step, requests, poll)  # where the poll raises, the step stays under way
        self._under_way = None
        by_worker = [one.result() for one in requests]
        if changes and self._save_every:
            self._journal.append(step)
        results: list[Any] = [None] * self.n_shards
        for numbers, (answers, seconds) in zip(self._numbers, by_worker, strict=True):
            self.seconds += seconds
            for number, one in zip(numbers, answers, strict=True):
                results[number] = one
        return results

    def _wait(self, step: Step, requests: list[Future[Any]], poll: Poll) -> None:
        """Wait for all workers, and replace those that are lost: their requests then are those to the new ones."""
        losses = 0
        while True:
            while wait(requests, timeout=_LOOK_EVERY).not_done:
                poll()
            lost = [w for w, one in enumerate(requests) if isinstance(one.exception(), WorkerLostError)]
            if not lost:
                return
            losses += 1
            self.losses += len(lost)
            if (self._changed and not self._save_every) or losses > MOST_LOSSES:
                self._under_way = None
                raise AcvbError(
                    f"A worker was lost while the shards were busy with {step.name!r}. It may have run out of memory. "
                    "Choose more shards on fewer workers at a time, or let their states be saved."
                ) from requests[lost[0]].exception()
            for w in lost:
                requests[w] = self._restore(w, step)

    def _wait_for_all(self, step: Step, requests: list[Future[Any]]) -> None:
        self._wait(step, requests, no_poll)
        for one in requests:
            one.result()

    def _restore(self, w: int, step: Step) -> Future[Any]:
        """Put another worker in the place of a lost one, bring its shards up to date and ask it again."""
        self.workers[w] = self.workers[w].replace()
        earlier = [self._request(w, "restore", self._factories_of(w), self._folder, self._saved)]
        if step.name == "build":
            return earlier[0]
        earlier += [self._request_step(w, one) for one in self._journal]
        if step.name == "save":
            last = self._request(w, "save", self._numbers[w], *step.arguments)
        else:
            last = self._request_step(w, step)
        return _first_to_fail([*earlier, last])

    def _save(self) -> None:
        step = Step("save", (self._folder, f"sweep-{self.sweeps}"))
        requests = [
            self._request(w, "save", numbers, *step.arguments) for w, numbers in enumerate(self._numbers)
        ]
        self._wait(step, requests, no_poll)
        faults = [one.exception() for one in requests]
        fault = next((one for one in faults if one is not None), None)
        if fault is not None and not isinstance(fault, OSError):
            raise fault
        if fault is None:
            useless, self._saved = self._saved, step.arguments[1]
            self._journal.clear()
        else:  # what was saved before, and the steps since then, are as good
            useless = step.arguments[1]
            self.unsaved += 1
            warnings.warn(
                f"The states of the shards after sweep {self.sweeps} could not be saved in {self._folder} ({fault}). "
                f"The run goes on, and this program remembers the steps since {self._saved or 'the start'}. Make room "
                "there, or choose a folder that all workers reach.",
                RuntimeWarning,
                stacklevel=2,
            )
        for number in range(self.n_shards) if useless else ():
            with suppress(OSError):
                state_file(self._folder, useless, number).unlink(missing_ok=True)

    def _request(self, w: int, method: str, *arguments: Any) -> Future[Any]:
        return self.workers[w].request(method, *arguments)

    def _request_step(self, w: int, step: Step) -> Future[Any]:
        return self._request(w, "call", self._numbers[w], step.name, step.arguments)

    def _factories_of(self, w: int) -> dict[int, Factory]:
        return {number: self._factories[number] for number in self._numbers[w]}


def _first_to_fail(requests: list[Future[Any]]) -> Future[Any]:
    """Return a future of what the last request gives, or of the fault of the first that has one."""
    common = Future[Any]()

    def end(last: Future[Any]) -> None:
        faults = (one.exception() for one in requests)  # all are over: a worker answers one after another
        fault = next((one for one in faults if one is not None), None)
        if fault is not None:
            common.set_exception(fault)
        else:
            common.set_result(last.result())

    requests[-1].add_done_callback(end)
    return common


def _close(workers: list[Worker], folder: str) -> None:
    """End the workers and remove the folder of the states."""
    for worker in workers:
        worker.close()
    workers.clear()
    if folder:
        shutil.rmtree(folder, ignore_errors=True)
