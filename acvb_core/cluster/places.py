"""The places where the app can compute runs: threads of its own, or the cluster that it was told of."""

from __future__ import annotations

import time
from concurrent.futures import Future, wait
from threading import Lock, Thread, main_thread

from acvb_core.cluster.connection import PATIENCE
from acvb_core.cluster.executor import DaskExecutor, no_answer
from acvb_core.engine.executor import Executor

#: Seconds after which a scheduler that did not answer is looked for again.
_RETRY = 30.0
#: Seconds between two looks at whether the process ends.
_LOOK = 0.2


class Places:
    """Places of work, this machine and a cluster, and which of them each owner has chosen.

    `here`: the executor of this process.
    `scheduler`: address of the cluster's, "" for none. It is connected when it is first asked for. Owners who have
    chosen nothing compute there.
    """

    def __init__(self, here: Executor, scheduler: str = "") -> None:
        self.here, self.scheduler = here, scheduler
        self._attempt: Future[DaskExecutor] | None = None  # the latest to connect
        self._retry = 0.0
        self._chosen: dict[str, bool] = {}
        self._lock = Lock()

    def is_elsewhere(self, owner: str) -> bool:
        """Return whether the runs of an owner are computed on the cluster."""
        return bool(self.scheduler) and self._chosen.get(owner, True)

    def choose(self, owner: str, elsewhere: bool) -> None:
        """Compute the runs of an owner on the cluster from now on, or here; those under way stay where they are."""
        self._chosen[owner] = elsewhere

    def connect(self) -> DaskExecutor:
        """Return the executor of the cluster, connected anew where its scheduler was gone.

        All who ask while a connection is attempted wait for the same attempt, without a lock.

        Raises AcvbError: no scheduler answers, or did some seconds ago; or Dask is not installed.
        """
        with self._lock:
            if self._attempt is None or self._is_over(self._attempt):
                self._attempt = Future()
                # A daemon: the process may end while it waits.
                Thread(target=self._connect, args=(self._attempt,), name="acvb-connect", daemon=True).start()
            attempt = self._attempt
        end = time.monotonic() + PATIENCE
        # Python ends a thread of a page only by waiting for it, so this one gives up when the process ends.
        while not attempt.done() and time.monotonic() < end and main_thread().is_alive():
            wait([attempt], _LOOK)
        if not attempt.done():
            raise no_answer(self.scheduler)
        return attempt.result()

    def _connect(self, attempt: Future[DaskExecutor]) -> None:
        try:
            attempt.set_result(DaskExecutor.connect(self.scheduler))
        except BaseException as error:
            self._retry = time.monotonic() + _RETRY
            attempt.set_exception(error)

    def _is_over(self, attempt: Future[DaskExecutor]) -> bool:
        """Return whether another attempt is due: this one failed some time ago, or its connection is gone."""
        if not attempt.done():
            return False
        if attempt.exception() is not None:
            return time.monotonic() >= self._retry
        return attempt.result().client.status in ("closing", "closed")

    def try_again(self) -> None:
        """Look for the scheduler at once when it is asked for next."""
        self._retry = 0.0

    def find(self, owner: str) -> Executor:
        """Return the executor that an owner has chosen.

        Raises AcvbError: it is the cluster's, and no scheduler answers.
        """
        return self.connect() if self.is_elsewhere(owner) else self.here
