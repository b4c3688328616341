"""Runs on a worker of Dask: a task computes one, and answers what the app asks between two sweeps.

The task of a run says where it is (an event of `distributed`), waits for its order, and computes. The app takes what is
new from it, asks for its state, and pauses or stops it, by functions that Dask runs on the worker (`Client.run`).
"""

from __future__ import annotations

import queue
import threading
import time
import uuid
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from acvb_core.cluster.messages import Message, Order, SentData, pack_update, unpack_order
from acvb_core.core.errors import AcvbError, ParameterError
from acvb_core.core.parallel import use_threads
from acvb_core.core.protocols import can_keep
from acvb_core.core.versions import describe_process
from acvb_core.engine.executor import Executor
from acvb_core.engine.run import StopRun
from acvb_core.engine.state import RunState

#: Seconds after which a run says again where it is, while it has no order.
_REPEAT = 5.0
#: Seconds without a word from the app after which a run is given up: the app is gone, or computes it elsewhere.
PATIENCE = 120.0


class Reply(NamedTuple):
    """A run on a worker, as the app asked for it."""

    is_compiling: bool
    is_held: bool
    update: Message | None  #: None where the app has all there is
    state: Message | None  #: with what the run goes on from, as it was after some sweep


class Ending(NamedTuple):
    """The end of a run: its last update, None where it was stopped before it did anything."""

    update: Message | None
    is_over: bool = (
        True  #: False where the app was not heard of: it did not give an order, or was silent for long
    )


class HostedRun:
    """A run that this process computes for an app."""

    def __init__(self) -> None:
        self.id = uuid.uuid4().hex
        self.orders: queue.Queue[Order | None] = queue.Queue()
        self._go, self._stop = threading.Event(), threading.Event()
        self._go.set()
        self._heard = time.monotonic()
        self._known: tuple[int, int] | None = None
        self._is_compiling = self._is_held = False
        self._latest: RunState | None = None
        self._sent: RunState | None = None
        self._is_state_wanted = False
        self._state: Message | None = None
        self._has_seceded = False

    def compute(self, data: SentData) -> Ending:
        """Compute the run once its order has come."""
        try:
            order = self.orders.get(timeout=_REPEAT)
        except queue.Empty:
            return Ending(None, is_over=False)
        if order is None:
            return Ending(None)
        begun = unpack_order(order, data.read())
        for update in Executor().compute(begun, self._poll, self._tell_compiling):
            self._latest = update
            if self._is_state_wanted and update.last.verdict is None:
                self._offer_state()
        if self._latest is None or self.is_forgotten:
            return Ending(None, is_over=not self.is_forgotten)
        state = self._latest.last.release_state().state
        can_go_on = state is not None and can_keep(self._latest.prepared.algorithm, state)
        return Ending(pack_update(self._latest, self._known, state=can_go_on))

    def answer(self, known: tuple[int, int], want_state: bool) -> Reply:
        """Return what is new, and the state where it was asked for before and has come."""
        self.hear()
        self._known = known
        latest, state = self._latest, self._state
        if want_state and state is None:
            self._is_state_wanted = True
        update = None
        if latest is not None and latest is not self._sent:
            update, self._sent = pack_update(latest, known), latest
        if state is not None:
            self._state = None
        return Reply(self._is_compiling, self._is_held, update, state)

    def hear(self) -> None:
        """Take note that the app still wants the run."""
        self._heard = time.monotonic()

    def pause(self) -> None:
        """Hold the run at its next poll, with its state ready to be taken."""
        self._go.clear()

    def resume(self) -> None:
        """Let a paused run go on."""
        self._go.set()

    def stop(self) -> None:
        """End the run at its next poll."""
        self._stop.set()
        self._go.set()
        self.orders.put(None)

    def _tell_compiling(self, is_compiling: bool) -> None:
        self._is_compiling = is_compiling

    def _offer_state(self) -> None:
        """Have the state ready to be taken, where it can be kept now; called on the thread of the run."""
        update = self._latest
        if update is None or update.last.state is None or update.is_racing:
            return
        if can_keep(update.prepared.algorithm, update.last.state):
            # The next sweep may write over the arrays, and the app has no row of what comes after.
            self._state, self._is_state_wanted = pack_update(update, state=True, copy=True), False

    def _poll(self) -> None:
        if not self._go.is_set():
            self._offer_state()
            self._secede()
            self._is_held = True
            while not self._go.wait(1.0) and not self.is_forgotten:
                pass
            self._is_held = False
        if self._stop.is_set() or self.is_forgotten:
            raise StopRun

    def _secede(self) -> None:
        """Leave the worker's slot to another task; the run goes on beside that one when it is resumed."""
        from distributed import secede

        if not self._has_seceded:
            self._has_seceded = True
            secede()

    @property
    def is_forgotten(self) -> bool:
        """True when the app was silent for so long that it is gone, or computes the run elsewhere."""
        return time.monotonic() - self._heard > PATIENCE


#: The runs of this process, by the name of their task.
_runs: dict[str, HostedRun] = {}


def serve_run(token: str, topic: str, data: SentData) -> Ending:
    """Compute a run for an app: the task that Dask schedules.

    It begins with an event on `topic`, which says where the run is and with which versions; `give_order` has it begin.

    Raises AcvbError: the run has a fault that its user can mend.
    """
    from distributed import get_worker

    worker = get_worker()
    run = _runs[token] = HostedRun()
    since = time.monotonic()
    event = {"run": token, "host": run.id, "address": worker.address, "versions": describe_process()}
    try:
        while True:
            worker.log_event(topic, event)
            with use_threads(worker.state.nthreads):
                ending = run.compute(data)
            if ending.is_over or time.monotonic() - since > PATIENCE:
                return ending
    except AcvbError as error:
        # Others have arguments of their own, with which they cannot be read on the way back.
        if type(error) in (AcvbError, ParameterError):
            raise
        raise AcvbError(str(error)) from None
    except StopRun:
        return Ending(None, is_over=not run.is_forgotten)
    finally:
        if _runs.get(token) is run:
            del _runs[token]


def _find_run(token: str, host: str) -> HostedRun | None:
    run = _runs.get(token)
    return run if run is not None and run.id == host else None


def give_order(token: str, host: str, order: Order) -> bool:
    """Have a run begin; return whether it is here."""
    run = _find_run(token, host)
    if run is not None:
        run.hear()
        run.orders.put(order)
    return run is not None


def take_news(token: str, host: str, known: tuple[int, int], want_state: bool) -> Reply | None:
    """Return what is new of a run (`HostedRun.answer`); None where it is not here any more."""
    run = _find_run(token, host)
    return None if run is None else run.answer(known, want_state)


def command(token: str, host: str, name: str) -> None:
    """Pause, resume or stop a run, where it is here."""
    run = _find_run(token, host)
    if run is not None:
        {"pause": run.pause, "resume": run.resume, "stop": run.stop}[name]()


def remember(tokens: Sequence[str]) -> None:
    """Take note that the app still wants some runs."""
    for token in tokens:
        with suppress(KeyError):
            _runs[token].hear()


def describe_worker() -> dict[str, Any]:
    """Return the versions of this worker."""
    return describe_process()
