"""Runs on a worker of Dask: a task computes one, and answers what the app asks between two sweeps.

The task of a run says where it is (an event of `distributed`), waits for its order, and computes. The app takes what is
new from it, asks for its state, and pauses or stops it, by `ask_run`, which Dask runs on the worker (`Client.run`).
"""

from __future__ import annotations

import queue
import threading
import time
import uuid
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

from acvb_core.cluster.wire import SentData, pack_update, read_order
from acvb_core.core.errors import AcvbError, ParameterError
from acvb_core.core.parallel import use_threads
from acvb_core.core.protocols import can_keep
from acvb_core.core.versions import describe_process
from acvb_core.engine.executor import Control, Executor, InterruptedRun
from acvb_core.engine.run import RunState, StopRun

#: Seconds after which a run says again where it is, while it has no order.
_REPEAT = 5.0
#: Seconds without a word from the app after which a run is given up: the app is gone, or computes it elsewhere.
PATIENCE = 120.0


class Reply(NamedTuple):
    """A run on a worker, as the app asked for it."""

    is_compiling: bool
    is_held: bool
    #: None if the app has all there is. One that was asked for with the state may not be the newest.
    update: bytes | None


class HostedRun(Control):
    """A run that this process computes for an app; called as its poll."""

    def __init__(self) -> None:
        super().__init__()
        self.id = uuid.uuid4().hex
        self._orders: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self.heard = time.monotonic()  #: when the app last said that it wants the run
        self._known: tuple[int, int] | None = None
        self._is_compiling = self._is_waiting = self._has_seceded = self._is_state_wanted = False
        self._latest: RunState | None = None
        self._sent: RunState | None = None
        self._offer: tuple[RunState, bytes] | None = None

    def wait_for_order(self) -> bytes | None:
        """Return the order of the run; None if none has come for a while.

        Raises StopRun: the run was stopped, or forgotten.
        """
        order = None
        with suppress(queue.Empty):
            order = self._orders.get(timeout=_REPEAT)
        self()
        return order

    def compute(self, order: bytes, data: SentData) -> bytes | None:
        """Compute the run; return its last update, None if it was stopped before it did anything."""
        begun, compiling = read_order(order, data.read()), partial(setattr, self, "_is_compiling")
        for update in Executor().compute(begun, self, compiling):
            self._latest = update
            if self._is_state_wanted and update.last.verdict is None:
                self._offer_state()
        if self._latest is None:
            return None
        last = self._latest.last.release_state()
        can_go_on = last.state is not None and can_keep(self._latest.prepared.algorithm, last.state)
        return pack_update(self._latest, self._known, keep=can_go_on)

    def begin(self, order: bytes) -> bool:
        """Have the run begin."""
        self.heard = time.monotonic()
        self._orders.put(order)
        return True

    def answer(self, known: tuple[int, int], want_state: bool) -> Reply:
        """Return what is new: with what the run continues from, where that was asked for before and has come."""
        self.heard, self._known = time.monotonic(), known
        is_waiting, latest, update = self._is_waiting, self._latest, None
        if self._offer is not None:
            (self._sent, update), self._offer = self._offer, None
        else:
            self._is_state_wanted = self._is_state_wanted or want_state
            if latest is not None and latest is not self._sent:
                self._sent, update = latest, pack_update(latest, known)
        return Reply(self._is_compiling, is_waiting, update)

    def stop(self) -> None:
        """End the run at its next poll, or before it has begun."""
        super().stop()
        self._orders.put(b"")

    @property
    def is_forgotten(self) -> bool:
        """True when the app was silent for so long that it is gone, or computes the run elsewhere."""
        return time.monotonic() - self.heard > PATIENCE

    def __call__(self) -> None:
        """Pass as a poll; a run that nobody hears of any more is stopped."""
        super().__call__()
        if self.is_forgotten:
            raise StopRun

    def _wait_while_held(self, go: threading.Event) -> None:
        """Hold the run, with its state ready to be taken; its slot is another task's, also when it is resumed."""
        self._offer_state()
        if not self._has_seceded:
            from distributed import secede

            self._has_seceded = True
            secede()
        self._is_waiting = True
        while not go.wait(1.0) and not self.is_forgotten:
            pass
        self._is_waiting = False

    def _offer_state(self) -> None:
        """Have the state ready to be taken, where it can be kept now; called on the thread of the run."""
        update = self._latest
        if update is None or update.last.state is None or update.is_racing:
            return
        if can_keep(update.prepared.algorithm, update.last.state):
            # The next sweep may write over the arrays.
            self._offer = update, pack_update(update, self._known, keep=True)
            self._is_state_wanted = False


#: The runs of this process, by the name of their task.
_runs: dict[str, HostedRun] = {}


def serve_run(token: str, topic: str, data: SentData) -> bytes | None:
    """Compute a run for an app: the task that Dask schedules; return what `HostedRun.compute` gives.

    An event on `topic` says where the run is and with which versions; then it waits for its order.

    Raises AcvbError: the run has a fault that its user can mend.
    Raises InterruptedRun: the app gave no order, or was silent for long.
    """
    from distributed import get_worker

    worker, run = get_worker(), HostedRun()
    _runs[token] = run
    event = {"run": token, "host": run.id, "address": worker.address, "versions": describe_process()}
    order, ending = None, None
    try:
        while order is None:
            worker.log_event(topic, event)
            order = run.wait_for_order()
        with use_threads(worker.state.nthreads):
            ending = run.compute(order, data)
    except StopRun:  # before there was anything to keep
        pass
    except AcvbError as error:
        # Others have arguments of their own, with which they cannot be read on the way back.
        if type(error) in (AcvbError, ParameterError):
            raise
        raise AcvbError(str(error)) from None
    finally:
        if _runs.get(token) is run:
            del _runs[token]
    if run.is_forgotten:
        raise InterruptedRun("The app was silent for too long.")
    return ending


def ask_run(token: str, host: str, method: str, *arguments: Any) -> Any:
    """Return what a method of a run gives; None if the run is not here (any more)."""
    run = _runs.get(token)
    return getattr(run, method)(*arguments) if run is not None and run.id == host else None


def remember(tokens: Sequence[str]) -> None:
    """Take note that the app still wants some runs."""
    for token in tokens:
        with suppress(KeyError):
            _runs[token].heard = time.monotonic()
