"""Workers of a Dask cluster, their versions, and actors on them that hold shards."""

from __future__ import annotations

import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock
from typing import Any

from distributed import CancelledError, Client
from distributed.utils import wait_for

from acvb_core.core.errors import AcvbError
from acvb_core.core.versions import describe_process, list_differences, refuse_versions
from acvb_core.shards.host import Host, WorkerLostError

#: Seconds between two looks at whether a worker is still there.
_LOOK_EVERY = 1.0
#: Seconds to wait for a scheduler that is gone, and for workers where none is left.
_PATIENCE = 120.0
#: Seconds until a scheduler or a worker that does not answer counts as not there.
SILENCE = 10.0


class BoundedClient(Client):
    """A client of a scheduler, with one limit for its whole handshake, at the start and when it connects again.

    Dask limits the connection and the answers, but not the first message: it would wait without end for a scheduler
    that accepts connections and says nothing. A client that cannot connect is closed at once. Otherwise the thread that
    collects garbage closes it; if that is the new thread of the next client, the two wait for each other.

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


@dataclass(frozen=True)
class DaskWorker:
    """A worker of a Dask cluster."""

    address: str
    cores: int  #: runs that it computes at once
    memory: int  #: bytes it may use; 0 where it has no limit
    refusal: str | None  #: why it computes no runs of this program, in sentences
    differences: tuple[str, ...]  #: versions that are others than here: the last bits of results may differ


class DaskWorkers:
    """The workers of a Dask cluster, as this program may use them."""

    def __init__(self, client: Client) -> None:
        self.client = client
        #: Of each worker that has said them; None if it has no such package.
        self.versions = dict[str, dict[str, str] | None]()

    def find(self) -> list[DaskWorker]:
        """Return the workers there are now, in order of their addresses; new ones are asked for their versions.

        Raises OSError: the scheduler does not answer.
        """
        known, answers = self.ask_scheduler(), dict[str, Any]()
        if new := [address for address in known if address not in self.versions]:
            with suppress(OSError):
                answers = self.client.run(
                    describe_process, workers=new, on_error="return", callback_timeout=SILENCE
                )
        self.versions = {address: there for address, there in self.versions.items() if address in known} | {
            address: there if isinstance(there, dict) else None
            for address, there in answers.items()
            if not isinstance(there, OSError)
        }
        missing = "It does not have acvb_core, or a version that cannot be asked. Install it there."
        found = []
        for address, about in sorted(known.items()):
            # Nothing is known of a silent one before it says that it has a run.
            versions = self.versions.get(address, describe_process())
            refusal = missing if versions is None else refuse_versions(versions)
            differences = () if versions is None else tuple(list_differences(versions))
            cores, memory = int(about["nthreads"]), int(about["memory_limit"] or 0)
            found.append(DaskWorker(address, cores, memory, refusal, differences))
        return found

    def ask_scheduler(self) -> dict[str, Any]:
        """Return what the scheduler knows of its workers, by address; nothing without a connection.

        Not by `Client.scheduler_info`: what it returns may be an answer to another thread, which asked for no workers.

        Raises OSError: the scheduler does not answer.
        """
        if self.client.status != "running":
            return {}
        answer = self.client.sync(self.client.scheduler.identity, n_workers=-1, callback_timeout=SILENCE)
        return dict(answer["workers"])


class ActorStarter:
    """Starts actors that hold shards (a `host.StartWorker`), on each worker of a cluster as few as can be."""

    def __init__(self, client: Client) -> None:
        self.workers = DaskWorkers(client)
        self._address, self._taken, self._lock = str(client.scheduler.address), Counter[str](), Lock()

    def __call__(self, lost: Any = None) -> Actor:
        """Return an actor; wait for a worker where none is left.

        `lost`: an actor to be replaced. The scheduler may still believe in its worker: another one is taken if there is
          one.

        Raises AcvbError: there is no worker, or none with the sources of this program.
        """
        end = time.monotonic() + _PATIENCE
        while True:
            found = list[DaskWorker]()
            with self._lock, suppress(OSError):
                client = self.workers.client
                if client.status in ("closing", "closed"):  # Dask has given it up
                    self.workers.client = BoundedClient(
                        self._address, security=client.security, timeout=_LOOK_EVERY
                    )
                found = self.workers.find()
                able = [one.address for one in found if one.refusal is None]
                if able:
                    gone = None if lost is None else lost.address
                    address = min(able, key=lambda one: (one == gone, self._taken[one]))
                    self._taken[address] += 1
                    return Actor(self.workers, address)
            if found:
                raise AcvbError(f"No worker can hold the shards. {found[0].address}: {found[0].refusal}")
            if time.monotonic() > end:
                raise AcvbError("The cluster has no workers left. Start some and run again.")
            time.sleep(_LOOK_EVERY)


class Actor:
    """An actor of Dask that holds shards (a `host.Worker`), on one worker of a cluster; its shards go with it."""

    def __init__(self, workers: DaskWorkers, address: str) -> None:
        self._workers, self._client, self.address = workers, workers.client, address
        self._actor: Any = None

    def answer(self, method: str, arguments: tuple[Any, ...]) -> tuple[Exception | None, Any]:
        """Call a method of the actor's host."""
        try:
            if self._actor is None:
                placed = self._client.submit(
                    Host, actor=True, workers=[self.address], allow_other_workers=False, pure=False
                )
                with self._client.as_current():  # which the actor is asked through
                    self._actor = self._wait(placed)
            fault, answer = self._wait(self._actor.answer(method, arguments))
        except (OSError, RuntimeError, CancelledError) as problem:  # Dask's: the host's own are its answer
            raise WorkerLostError(f"Worker {self.address} was lost.") from problem
        return fault, answer

    def _wait(self, future: Any) -> Any:
        """Return what a future gives; raise OSError once its worker is gone, which Dask does not always tell."""
        while True:
            with suppress(TimeoutError):
                return future.result(timeout=_LOOK_EVERY)
            is_there = self._client is self._workers.client
            with suppress(OSError):  # of a silent scheduler
                is_there = is_there and self.address in self._workers.ask_scheduler()
            if not is_there:
                raise OSError(f"worker {self.address} is gone")
