"""Shards on workers: steps on all of them at once, their saved states, and what follows the loss of a worker."""

from __future__ import annotations

import shutil
import tempfile
import warnings
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from typing import Any, NamedTuple

from acvb_core.core.errors import AcvbError
from acvb_core.core.files import scratch_prefix
from acvb_core.core.protocols import Poll, no_poll
from acvb_core.shards.host import Factory, Worker, WorkerLostError, state_file
from acvb_core.shards.place import Place, current_place

#: Seconds between two looks at whether a run is to pause or to stop.
_LOOK_EVERY = 0.05
#: A worker that is lost so often in one step has no chance.
MOST_LOSSES = 5


class Step(NamedTuple):
    """A method of all shards, and what it is called with; "build" and "save" are methods of their hosts."""

    name: str
    arguments: tuple[Any, ...]


class ShardGroup:
    """P shards on some workers (shard i on worker i mod W).

    The answers depend on the shards alone, not on the workers. A step that changes the shards is remembered until their
    states are saved. If a worker is lost, another makes its shards again, reads their saved states and repeats the
    steps since then. This gives the same bits, for the shards have no randomness but what a step gives them.

    `place`: of the workers; by default that of the next run.
    """

    def __init__(self, factories: Sequence[Factory], place: Place | None = None) -> None:
        place = place or current_place()
        self.sweeps = 0  #: sweeps done by all shards
        self.losses = 0  #: workers lost
        self.unsaved = 0  #: savings of the states that failed
        self.seconds = 0.0  #: processor time of the workers
        self.n_shards, self._start_worker = len(factories), place.start_worker
        self._save_every, own = place.save_every, ""
        if self._save_every and not place.folder:
            own = tempfile.mkdtemp(prefix=scratch_prefix())
        self._folder = str(place.folder or own)
        self._saved, self._journal, self._changed = "", list[Step](), False
        self._under_way: tuple[Step, list[Future[Any]]] | None = None
        n_workers = max(1, min(place.count_workers(), self.n_shards))
        self._factories = [dict(list(enumerate(factories))[w::n_workers]) for w in range(n_workers)]
        self._threads = ThreadPoolExecutor(n_workers, "shards")  # each waits for a worker
        self.workers: list[Worker] = []  #: those that hold the shards now
        self.close: Callable[[], Any] = weakref.finalize(self, _close, self.workers, self._threads, own)
        self.workers += [self._start_worker(None) for _ in range(n_workers)]
        build = Step("build", ())
        for one in self._wait(build, self._request(build), no_poll):
            one.result()

    @property
    def is_busy(self) -> bool:
        """Return whether a step is under way that was not waited for."""
        return self._under_way is not None

    def tally(self) -> dict[str, Any]:
        """Return totals of the workers so far, named as the fields of a `SweepInfo`."""
        return {"remote_cpu_seconds": self.seconds, "losses": self.losses, "unsaved": self.unsaved}

    def since(self, before: dict[str, Any]) -> dict[str, Any]:
        """Return what was added to the totals since then."""
        return {name: now - before[name] for name, now in self.tally().items()}

    def change(self, name: str, *arguments: Any, poll: Poll = no_poll) -> list[Any]:
        """Call a method that changes the shards; return what they give, in their order.

        Where the poll raises, the shards continue; the next call, which must be for the same step, waits for them.
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
            self._under_way = step, self._request(step)
        elif self._under_way[0].name != step.name:
            raise ValueError(f"the shards are busy with {self._under_way[0].name!r}, not with {step.name!r}")
        step, requests = self._under_way
        self._wait(step, requests, poll)  # where the poll raises, the step stays under way
        self._under_way = None
        by_worker = [one.result() for one in requests]
        if changes and self._save_every:
            self._journal.append(step)
        results = dict[int, Any]()
        for answers, seconds in by_worker:
            self.seconds += seconds
            results |= answers
        return [results[number] for number in range(self.n_shards)]

    def _request(self, step: Step) -> list[Future[Any]]:
        """Ask all workers to do a step."""
        return [self._threads.submit(self._ask, w, step) for w in range(len(self.workers))]

    def _ask(self, w: int, step: Step) -> Any:
        """Have a worker do a step; return what it gives."""
        if step.name == "build":
            request = "build", (self._factories[w], *step.arguments)
        else:
            request = ("save", step.arguments) if step.name == "save" else ("call", step)
        fault, answer = self.workers[w].answer(*request)
        if fault is not None:
            raise fault
        return answer

    def _restore(self, w: int, step: Step) -> Any:
        """Put another worker in the place of a lost one, bring its shards up to date and have it do the step."""
        self.workers[w] = self._start_worker(self.workers[w])
        if step.name != "build":
            for earlier in (Step("build", (self._folder, self._saved)), *self._journal):
                self._ask(w, earlier)
        return self._ask(w, step)

    def _wait(self, step: Step, requests: list[Future[Any]], poll: Poll) -> list[Future[Any]]:
        """Wait for all workers, and replace those that are lost; return the requests, some of them new."""
        losses = 0
        while True:
            while wait(requests, timeout=_LOOK_EVERY).not_done:
                poll()
            lost = [w for w, one in enumerate(requests) if isinstance(one.exception(), WorkerLostError)]
            if not lost:
                return requests
            losses += 1
            self.losses += len(lost)
            if (self._changed and not self._save_every) or losses > MOST_LOSSES:
                self._under_way = None
                raise AcvbError(
                    f"A worker was lost while the shards were busy with {step.name!r}. It may have run out of memory. "
                    "Choose more shards on fewer workers at a time, or let their states be saved."
                ) from requests[lost[0]].exception()
            for w in lost:
                requests[w] = self._threads.submit(self._restore, w, step)

    def _save(self) -> None:
        step = Step("save", (self._folder, f"sweep-{self.sweeps}"))
        faults = [one.exception() for one in self._wait(step, self._request(step), no_poll)]
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
                f"The run continues, and this program remembers the steps since {self._saved or 'the start'}. Make "
                "room there, or choose a folder that all workers reach.",
                RuntimeWarning,
                stacklevel=2,
            )
        for number in range(self.n_shards) if useless else ():
            with suppress(OSError):
                state_file(self._folder, useless, number).unlink(missing_ok=True)


def _close(workers: list[Worker], threads: ThreadPoolExecutor, folder: str) -> None:
    """Let go of the workers, and remove the folder of the states."""
    threads.shutdown(wait=False)
    workers.clear()
    if folder:
        shutil.rmtree(folder, ignore_errors=True)


def tree_sum(parts: Sequence[Any]) -> Any:
    """Return the sum of parts, added in pairs of neighbours, then the pairs' sums in pairs, and so on.

    Parts are numbers, arrays, or tuples of these, which are added part by part; None is nothing. The order of the
    additions depends on the number of parts alone. Arrays of the parts may be written over.
    """
    level = list(parts)
    while len(level) > 1:
        pairs = [_add(*level[at : at + 2]) for at in range(0, len(level) - 1, 2)]
        level = pairs + level[len(level) - len(level) % 2 :]
    return level[0]


def _add(one: Any, other: Any) -> Any:
    if isinstance(one, tuple):
        sums = [_add(*pair) for pair in zip(one, other, strict=True)]
        return type(one)(*sums) if hasattr(one, "_fields") else tuple(sums)
    if one is None:
        return None
    if hasattr(one, "shape") and one.shape and one.flags.writeable:
        one += other
        return one
    return one + other
