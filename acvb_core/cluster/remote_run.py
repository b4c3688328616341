"""A run that a worker computes, watched from the app: live, paused and stopped, begun again where the worker died."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from acvb_core.cluster import worker
from acvb_core.cluster.messages import Message, Order, Reader, pack_order, pack_update
from acvb_core.core.errors import AcvbError
from acvb_core.core.protocols import Poll
from acvb_core.core.versions import refuse_versions
from acvb_core.engine.executor import InterruptedRun
from acvb_core.engine.observer import WRITE_EVERY, WRITE_RATIO
from acvb_core.engine.prepared import PreparedRun
from acvb_core.engine.run import StopRun, finish_stopped_run
from acvb_core.engine.state import RunState

if TYPE_CHECKING:
    from acvb_core.cluster.connection import Cluster

#: Deaths of workers after which a run has failed.
MOST_DEATHS = 3
#: Seconds between two looks at whether the run is to be paused or stopped, or is over.
_LOOK = 0.05
#: Seconds from the start to the first look at the run.
_FIRST_LOOK = 0.2
#: At least so many times what a look took pass before the next one.
_LOOK_RATIO = 10.0


class _WorkerDeath(Exception):  # noqa: N818 - the run goes on elsewhere
    """Raised where the worker of a run is gone."""


class RemoteRun:
    """A run, or a race and its winner, computed by one worker after another until it is over.

    `state`: as for `Executor.compute`.
    """

    def __init__(self, cluster: Cluster, state: RunState) -> None:
        self._cluster, self._begun = cluster, state
        #: The run as it goes on, should its worker die.
        self._kept: Message | None = None if state.snapshot is None else pack_update(state, state=True)
        self._deaths: list[str] = []
        self._is_stopping = False

    def updates(self, poll: Poll, compiling: Callable[[bool], object]) -> Iterator[RunState]:
        """Yield the run about once a second, whenever its state has come, and at its end.

        Raises InterruptedRun: the cluster cannot be reached any more. What was yielded last has its state, if any.
        Raises AcvbError: the run has a fault, or several workers died of it.
        Raises StopRun: it was stopped before it did anything.
        """
        while self._cluster.is_connected and not self._is_stopping:
            attempt = None
            try:
                attempt = _Attempt(self._cluster, self._begun.prepared)
                yield from self._watch(attempt, poll, compiling)
                return
            except _WorkerDeath as death:
                self._bury(str(death))
                if attempt is None:  # the scheduler did not take it; the run can still be stopped
                    self._pass(None, poll)
            finally:
                if attempt is not None:
                    attempt.end()
        yield from self._end_without_worker()

    def _watch(
        self, attempt: _Attempt, poll: Poll, compiling: Callable[[bool], object]
    ) -> Iterator[RunState]:
        """Yield the updates of one attempt."""
        reader = Reader(self._begun)
        prepared = self._begun.prepared if self._kept is None else reader.read(self._kept).prepared
        order = pack_order(prepared, self._kept, self._begun.max_sweeps)
        began = time.monotonic()
        latest: RunState | None = None
        looks, states, is_compiling = _Pace(began + _FIRST_LOOK), _Pace(began + WRITE_EVERY), False
        while not attempt.is_over(_LOOK):
            if attempt.greet(order):
                compiling(False)
            if is_held(poll) and not self._is_stopping and attempt.host is not None:
                yield from self._hold(attempt, reader)
            self._pass(attempt, poll)
            now = time.monotonic()
            if attempt.host is None or now < looks.next:
                continue
            reply = attempt.ask(worker.take_news, reader.known, now >= states.next)
            if reply is None:  # it is silent, or gone: the scheduler will say so
                looks.rest(now, self._cluster.pause_between_looks, _LOOK_RATIO)
                continue
            if reply.is_compiling is not is_compiling:
                is_compiling = reply.is_compiling
                compiling(is_compiling)
            if reply.state is not None:
                yield self._keep(reply.state, is_due=True)
                states.rest(now, WRITE_EVERY, WRITE_RATIO)
            if reply.update is not None:
                latest = reader.read(reply.update)
                yield latest
            elif reply.state is not None and latest is not None:  # which is newer than the state
                yield replace(latest, last_sweep=None)
            looks.rest(now, self._cluster.pause_between_looks, _LOOK_RATIO)
        ending = attempt.result()
        if ending.update is not None:
            yield reader.read(ending.update)
        elif self._is_stopping:
            yield from self._end_without_worker()

    def _keep(self, message: Message, *, is_due: bool) -> RunState:
        """Take the run with its state, from which it goes on should the worker die."""
        self._kept = message
        # It may be of an earlier sweep than the last one that was yielded.
        return replace(Reader(self._begun).read(message, is_due=is_due), last_sweep=None)

    def _hold(self, attempt: _Attempt, reader: Reader) -> Iterator[RunState]:
        """Hold the run on its worker and yield it as it is there; the next poll blocks."""
        attempt.ask(worker.command, "pause")
        while not attempt.is_over(_LOOK):
            reply = attempt.ask(worker.take_news, reader.known, False)
            if reply is None:
                return
            if reply.update is not None:
                yield reader.read(reply.update)
            if reply.state is not None:
                yield self._keep(reply.state, is_due=False)  # who holds it keeps it
            if reply.is_held:
                return

    def _pass(self, attempt: _Attempt | None, poll: Poll) -> None:
        """Pass the poll of the app, which may block; tell the worker, if any, what came of it."""
        if self._is_stopping:
            return
        was_held = is_held(poll)
        try:
            poll()
        except StopRun:
            self._is_stopping = True
            if attempt is None:
                return
            if attempt.host is None:
                raise _WorkerDeath from None
            attempt.ask(worker.command, "stop")
        else:
            if was_held and attempt is not None:
                attempt.ask(worker.command, "resume")

    def _end_without_worker(self) -> Iterator[RunState]:
        """Yield the run as it was last kept: stopped, or to go on when there is a cluster again."""
        kept = None if self._kept is None else Reader(self._begun).read(self._kept)
        if not self._is_stopping:
            if kept is not None:
                yield kept
            raise InterruptedRun(
                f"The connection to the scheduler {self._cluster.address} was lost. Continue the run when it is back."
            )
        if kept is None:
            raise StopRun
        snapshot = finish_stopped_run(kept.prepared, kept.last)
        kept.history.append(snapshot)
        yield replace(kept, snapshot=snapshot, last_sweep=(kept.prepared, snapshot))

    def _bury(self, address: str) -> None:
        """Count the death of a worker; "" stands for none.

        Raises AcvbError: it is one too many.
        """
        if address:
            self._deaths.append(address)
        if len(self._deaths) >= MOST_DEATHS:
            raise AcvbError(
                f"{MOST_DEATHS} workers died while they computed this run: {', '.join(self._deaths)}. Most often a "
                "worker has too little memory for the run. Use workers with more memory or fewer threads, or settings "
                "that need less. The log of the workers says more."
            )


def is_held(poll: Poll) -> bool:
    """Return whether a poll says that its next call will block."""
    return bool(getattr(poll, "is_held", False))


class _Pace:
    """The time of the next look at a run; looks that take long are rarer."""

    def __init__(self, first: float) -> None:
        self.next = first

    def rest(self, began: float, pause: float, ratio: float) -> None:
        """Set the time: after a pause, or so many times what the look took that began then."""
        now = time.monotonic()
        self.next = now + max(pause, ratio * (now - began))


class _Attempt:
    """One task of a run: handed to Dask, found on a worker, asked, and given up."""

    def __init__(self, cluster: Cluster, prepared: PreparedRun) -> None:
        self._cluster = cluster
        self._token = uuid.uuid4().hex
        self._over, self._greeted = threading.Event(), threading.Event()
        self._greeting: dict[str, Any] = {"host": None, "address": ""}
        self.host: str | None = None  #: the run on its worker, once it has its order
        self._address = ""
        cluster.expect(self._token, self._take_greeting)
        try:
            self._future = cluster.submit_task(worker.serve_run, self._token, prepared.data)
        except (OSError, TimeoutError):
            cluster.forget(self._token)
            raise _WorkerDeath from None
        self._future.add_done_callback(lambda _: self._over.set())

    def _take_greeting(self, event: dict[str, Any]) -> None:
        self._greeting = event
        self._greeted.set()

    def is_over(self, seconds: float) -> bool:
        """Wait so long for the end of the task; return whether it has come."""
        return self._over.wait(seconds)

    def greet(self, order: Order) -> bool:
        """Give its order to a run that said where it is; return whether one did.

        Raises _WorkerDeath: it had its order, and now it is elsewhere; or the worker is refused.
        """
        if not self._greeted.is_set():
            return False
        self._greeted.clear()
        event = self._greeting
        if event["host"] == self.host:
            return False
        if self.host is not None:
            raise _WorkerDeath(self._address)
        if refuse_versions(event["versions"]) is not None:
            self._cluster.refuse(event["address"], event["versions"])
            raise _WorkerDeath
        self._address = event["address"]
        if self._ask(worker.give_order, order):
            self.host = event["host"]
        return self.host is not None

    def ask(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function of the worker about this run; None where the worker does not answer."""
        return None if self.host is None else self._ask(function, *arguments)

    def _ask(self, function: Callable[..., Any], *arguments: Any) -> Any:
        where = self._greeting
        return self._cluster.ask(where["address"], function, self._token, where["host"], *arguments)

    def result(self) -> worker.Ending:
        """Return the end of the run.

        Raises _WorkerDeath: there is none, and the run is to be computed again.
        Raises Exception: the fault of the run.
        """
        from distributed import KilledWorker

        status = self._future.status
        if status == "finished":
            ending = self._cluster.fetch(self._future)
            if ending is not None and ending.is_over:
                return ending
            raise _WorkerDeath
        fault = self._future.exception() if status == "error" else None
        if fault is None or isinstance(fault, KilledWorker):  # its data, its worker or the scheduler are gone
            raise _WorkerDeath(self._address)
        raise fault

    def end(self) -> None:
        """Give the task up, where it is not over."""
        if not self._over.is_set() and self._greeting["host"] is not None:
            self._ask(worker.command, "stop")
        self._cluster.forget(self._token)
        self._future.release()
