"""A Dask cluster as the runs of this process use it: its workers, the data that they have, questions to them."""

from __future__ import annotations

import threading
import time
import uuid
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from acvb_core.cluster import worker
from acvb_core.cluster.messages import SentData
from acvb_core.core.errors import AcvbError
from acvb_core.core.versions import describe_process, list_differences, refuse_versions
from acvb_core.store.datasets import dataset_key

if TYPE_CHECKING:
    from distributed import Client, Future

#: Seconds until a scheduler or a worker that does not answer counts as not there.
PATIENCE = 10.0
#: Seconds between two looks at a run; and at most so many looks a second at all of them together.
_PAUSE, _LOOKS_A_SECOND = 1.0, 50.0
#: Seconds between two looks at which workers there are.
_ROUND = 5.0
#: Bytes a second of the slowest connection over which data are sent; and the most seconds for the result of a run.
_SLOWEST, _LONGEST = 1e6, 600.0
#: Data sets that stay on the workers between one run and the next.
_KEPT_DATA = 2


@dataclass(frozen=True)
class Worker:
    """A worker of the cluster."""

    address: str
    cores: int  #: runs that it computes at once
    memory: int  #: bytes it may use; 0 where it has no limit
    refusal: str | None  #: why it computes no runs of this program, in sentences
    differences: tuple[str, ...]  #: versions that are others than here: the last bits of results may differ


class Cluster:
    """A Dask cluster; its methods can be called from any thread.

    `changed`: called when there are more cores than before, or fewer.
    """

    def __init__(self, client: Client, changed: Callable[[], None]) -> None:
        self._client, self._changed = client, changed
        self._topic = f"acvb-{uuid.uuid4().hex}"
        self._expected: dict[str, Callable[[dict[str, Any]], None]] = {}
        self._versions: dict[str, dict[str, str] | None] = {}
        self._workers: list[Worker] = []
        self._sent: WeakValueDictionary[str, Future] = WeakValueDictionary()
        self._recent: deque[Future] = deque(maxlen=_KEPT_DATA)
        self._lock = threading.Lock()
        client.subscribe_topic(self._topic, self._hear)
        self.list_workers()
        threading.Thread(target=self._look_after, name="acvb-cluster", daemon=True).start()

    @property
    def is_connected(self) -> bool:
        """True while the scheduler is there."""
        return self._client.status == "running"

    @property
    def address(self) -> str:
        """Address of the scheduler."""
        return str(getattr(self._client.scheduler, "address", ""))

    @property
    def dashboard(self) -> str | None:
        """Address of Dask's dashboard; None where the scheduler serves none."""
        link = self._client.dashboard_link
        return None if link is None else str(link)

    @property
    def cores(self) -> int:
        """The runs that the workers compute at once."""
        return sum(one.cores for one in self._workers if one.refusal is None)

    @property
    def pause_between_looks(self) -> float:
        """Seconds between two looks at a run: more where there are many."""
        return max(_PAUSE, len(self._expected) / _LOOKS_A_SECOND)

    def list_workers(self) -> list[Worker]:
        """Return the workers there are now; of new ones it is asked which versions they have."""
        from acvb_core.shards.dask import DaskWorkers

        try:
            known = DaskWorkers(self._client).ask_scheduler()
        except (OSError, TimeoutError):
            return self._workers
        new = [address for address in known if address not in self._versions]
        if new:
            self._versions |= self._ask_versions(new)
        for address in self._versions.keys() - known.keys():
            self._versions.pop(address, None)
        self._workers = [
            # Of one that is silent nothing is known before it says that it has a run.
            _describe(address, about, self._versions.get(address, describe_process()))
            for address, about in known.items()
        ]
        return self._workers

    def _ask_versions(self, addresses: list[str]) -> dict[str, dict[str, str] | None]:
        """Return the versions of workers; None of one that has none of them, and no entry of one that is silent."""
        try:
            answers = self._client.run(
                worker.describe_worker, workers=addresses, on_error="return", callback_timeout=PATIENCE
            )
        except (OSError, TimeoutError):
            return {}
        silent = (OSError, TimeoutError)
        return {
            address: answer if isinstance(answer, dict) else None
            for address, answer in answers.items()
            if not isinstance(answer, silent)
        }

    def expect(self, token: str, greet: Callable[[dict[str, Any]], None]) -> None:
        """Have `greet` called whenever a worker says that it has this run."""
        self._expected[token] = greet

    def forget(self, token: str) -> None:
        """Expect a run no more."""
        self._expected.pop(token, None)

    def refuse(self, address: str, versions: dict[str, str]) -> None:
        """Give no more runs to a worker with these versions."""
        self._versions[address] = versions
        self.list_workers()

    def _hear(self, event: tuple[float, dict[str, Any]]) -> None:
        greet = self._expected.get(event[1]["run"])
        if greet is not None:
            greet(event[1])

    def submit_task(self, function: Callable[..., Any], token: str, data: Any) -> Future:
        """Hand the task of a run to Dask, to a worker that may compute it.

        Raises AcvbError: there are workers, and none of them may.
        """
        workers = self._workers
        able = [one.address for one in workers if one.refusal is None]
        if not able:
            workers = self.list_workers()
            able = [one.address for one in workers if one.refusal is None]
        if workers and not able:
            raise AcvbError(f"No worker can compute this run. {workers[0].address}: {workers[0].refusal}")
        return self._client.submit(
            function,
            token,
            self._topic,
            self._send(data),
            key=f"acvb-run-{token}",
            workers=able if len(able) < len(workers) else None,
            pure=False,
        )

    def _send(self, data: Any) -> Future:
        """Return the data on the cluster; they are sent once, and from worker to worker where a run needs them.

        Raises OSError: the scheduler does not take them.
        """
        key = dataset_key(data)
        with self._lock:
            future = self._sent.get(key)
            if future is None or future.status != "finished":
                name, packed = f"acvb-data-{key[:16]}-{uuid.uuid4().hex[:8]}", SentData.pack(data)
                send = partial(self._client.scatter, {name: packed}, asynchronous=True)
                limit = PATIENCE + packed.nbytes / _SLOWEST
                future = self._client.sync(send, callback_timeout=limit)[name]
                self._sent[key] = future
            if future not in self._recent:
                self._recent.append(future)
            return future

    def ask(self, address: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function on a worker; None where it does not answer."""
        if not self.is_connected:
            return None
        try:
            answers = self._client.run(
                function, *arguments, workers=[address], on_error="return", callback_timeout=PATIENCE
            )
        except (OSError, TimeoutError):
            return None
        answer = answers.get(address)
        if isinstance(answer, Exception):
            if isinstance(answer, OSError | TimeoutError):
                return None
            raise answer
        return answer

    def fetch(self, future: Future) -> Any:
        """Return the result of a task; None where its worker is gone."""
        from distributed import CancelledError

        try:
            return future.result(_LONGEST)
        except (OSError, TimeoutError, CancelledError):
            return None

    def _look_after(self) -> None:
        """Tell workers that their runs are still wanted, and see which workers come and go."""
        while self._client.status != "closed":
            time.sleep(_ROUND)
            if not self.is_connected:
                continue
            before = self.cores
            self.list_workers()
            if self.cores != before:
                self._changed()
            tokens = list(self._expected)
            if tokens:
                try:
                    self._client.run(worker.remember, tokens, on_error="ignore", callback_timeout=PATIENCE)
                except (OSError, TimeoutError, ValueError):
                    continue


def _describe(address: str, about: dict[str, Any], versions: dict[str, str] | None) -> Worker:
    if versions is None:
        refusal: str | None = (
            "It does not have acvb_core, or a version that cannot be asked. Install it there."
        )
    else:
        refusal = refuse_versions(versions)
    return Worker(
        address=address,
        cores=int(about["nthreads"]),
        memory=int(about["memory_limit"] or 0),
        refusal=refusal,
        differences=() if versions is None else tuple(list_differences(versions)),
    )
