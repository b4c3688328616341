"""Workers of a Dask cluster that hold shards: one actor each."""

from __future__ import annotations

import time
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from threading import Lock
from typing import Any

from distributed import CancelledError, Client
from distributed.utils import wait_for

from acvb_core.core.errors import AcvbError
from acvb_core.core.versions import describe_process, refuse_versions
from acvb_core.shards.host import Host
from acvb_core.shards.workers import WorkerLostError

#: Seconds between two looks at whether a worker is still there.
_LOOK_EVERY = 1.0
#: Seconds to wait for a scheduler that is gone, and for workers where none is left.
_PATIENCE = 120.0
#: Seconds to wait for what the scheduler says of the workers, and a worker of itself.
_SILENCE = 10.0


class BoundedClient(Client):
    """A client of a scheduler, with one limit for its whole handshake, at the start and when it connects again.

    Dask limits the connection and the answers, but not the first message: it would wait without end for a scheduler
    that accepts connections and says nothing.

    A client that cannot connect is closed at once. Otherwise Python closes it with other garbage, in whichever thread
    finds it. If that is the new thread of the next client, the two wait for each other until the next one fails.

    `options`: of `distributed.Client`.

    Raises OSError, ValueError: no scheduler answers, or this is no address.
    """

    def __init__(self, address: str, **options: Any) -> None:
        try:
            super().__init__(address, set_as_default=False, **options)
        except BaseException:
            self.status = "connecting"  # Dask may call it closed already, and leave its thread
            self.close()
            raise

    async def _ensure_connected(self, timeout: float | None = None) -> None:
        await wait_for(super()._ensure_connected(timeout), timeout or self._timeout)


def ask_for_workers(client: Client) -> dict[str, Any]:
    """Return what the scheduler knows of its workers, by address; nothing without a connection.

    Not by `Client.scheduler_info`: what it returns may be an answer to another thread, which asked for no workers.

    Raises OSError: the scheduler does not answer.
    """
    if client.status != "running":
        return {}
    answer = client.sync(client.scheduler.identity, n_workers=-1, callback_timeout=_SILENCE)
    return dict(answer["workers"])


class DaskWorkers:
    """The workers of a cluster, each taken for as few actors as can be."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self._address, self._taken = str(client.scheduler.address), dict[str, int]()
        self._refusals = dict[str, str | None]()  # why a worker holds no shards
        self._lock = Lock()

    @property
    def n_workers(self) -> int:
        """Number of workers that the cluster has now."""
        return len(self.find_addresses())

    def find_addresses(self) -> list[str]:
        """Return the addresses of the workers that are there, in order; none where the scheduler is gone.

        Raises OSError: the scheduler does not answer.
        """
        return sorted(ask_for_workers(self.client))

    def take(self, lost: str = "") -> str:
        """Return the address of a worker with as few actors as any; wait for one where none is left.

        `lost`: of a worker to be replaced, which the scheduler may still believe in; taken where there is no other.

        Raises AcvbError: there is none, or none with the sources of this program.
        """
        end = time.monotonic() + _PATIENCE
        while True:
            found = list[str]()
            with self._lock, suppress(OSError):
                self._connect()
                there = self.find_addresses()
                able = [one for one in there if self._refuse(one) is None]
                found = there
                if able:
                    address = min(able, key=lambda one: (one == lost, self._taken.get(one, 0)))
                    self._taken[address] = self._taken.get(address, 0) + 1
                    return address
            if found:
                raise AcvbError(f"No worker can hold the shards. {found[0]}: {self._refusals[found[0]]}")
            if time.monotonic() > end:
                raise AcvbError("The cluster has no workers left. Start some and run again.")
            time.sleep(_LOOK_EVERY)

    def _connect(self) -> None:
        """Connect to the scheduler again where Dask has given it up.

        Raises OSError: it does not answer.
        """
        if self.client.status in ("closing", "closed"):
            self.client = BoundedClient(self._address, security=self.client.security, timeout=_LOOK_EVERY)

    def _refuse(self, address: str) -> str | None:
        """Return why a worker cannot hold shards of this program; None where it can, or is silent."""
        if address not in self._refusals:
            answer = self.client.run(
                describe_process, workers=[address], on_error="return", callback_timeout=_SILENCE
            )[address]
            if isinstance(answer, OSError):
                return None
            self._refusals[address] = (
                refuse_versions(answer) if isinstance(answer, dict) else "It does not have this acvb_core."
            )
        return self._refusals[address]

    def start(self, number: int) -> DaskWorker:
        """Start an actor on a worker of the cluster."""
        return DaskWorker(self, number)


class DaskWorker:
    """An actor that holds shards (a `shards.workers.Worker`); Dask moves the bytes, and they are not counted."""

    def __init__(self, cluster: DaskWorkers, number: int, lost: str = "") -> None:
        self.sent = self.received = 0
        self._cluster, self._number, self.address = cluster, number, cluster.take(lost)
        self._client = cluster.client
        self._actor: Any = None
        self._thread = ThreadPoolExecutor(1, f"shards-{number}")

    def request(self, method: str, *arguments: Any) -> Future[Any]:
        """Call a method of the actor."""
        return self._thread.submit(self._ask, method, arguments)

    def _ask(self, method: str, arguments: tuple[Any, ...]) -> Any:
        try:
            if self._actor is None:
                placed = self._client.submit(
                    Host, actor=True, workers=[self.address], allow_other_workers=False, pure=False
                )
                with self._client.as_current():  # which the actor is asked through
                    self._actor = self._wait(placed)
            fault, answer = self._wait(self._actor.answer(method, arguments))
        except (
            OSError,
            RuntimeError,
            CancelledError,
        ) as problem:  # of Dask; what the host raises is its answer
            raise WorkerLostError(f"Worker {self.address} was lost.") from problem
        if fault is not None:
            raise fault
        return answer

    def _wait(self, future: Any) -> Any:
        """Return what a future gives; raise OSError once its worker is gone, which Dask does not always tell."""
        while True:
            try:
                return future.result(timeout=_LOOK_EVERY)
            except TimeoutError:
                if not self._is_there():
                    raise OSError(f"worker {self.address} is gone") from None

    def _is_there(self) -> bool:
        """Return whether the worker is there, as far as the scheduler says."""
        if self._client is not self._cluster.client:
            return False
        try:
            return self.address in self._cluster.find_addresses()
        except OSError:
            return True

    def replace(self) -> DaskWorker:
        """Return an actor without shards, on a worker that is there."""
        self.close()
        return DaskWorker(self._cluster, self._number, self.address)

    def close(self) -> None:
        """Let go of the actor; its shards go with it."""
        self._thread.shutdown(wait=False)
        self._actor = None
