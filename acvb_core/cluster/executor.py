"""An executor whose runs are computed by the workers of a Dask cluster, and watched from here."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

from acvb_core.cluster.connection import PATIENCE, Cluster, Worker
from acvb_core.cluster.local import missing_dask
from acvb_core.cluster.remote_run import RemoteRun, is_held
from acvb_core.core.errors import AcvbError
from acvb_core.core.protocols import Poll, no_poll
from acvb_core.engine.executor import Executor, ResultT, current_owner
from acvb_core.engine.run import StopRun
from acvb_core.engine.state import RunState
from acvb_core.shards.place import count_shards, shard_workers

if TYPE_CHECKING:
    from distributed import Client

#: The environment variable that names where the states of shards are saved; all workers must see it.
SHARED_FOLDER = "ACVB_SHARED_FOLDER"
#: Number, result and fault of a call.
_End = tuple[int, Any, BaseException | None]


class DaskExecutor(Executor):
    """Computes runs on a Dask cluster.

    A thread of this process watches each run, so that owners take turns as they do on threads; as many runs go on at a
    time as the workers have cores. A run ends with the same bits wherever it was computed, given the same versions and
    the same kind of processor (`Worker.differences`).

    Parameters
    ----------
    client : distributed.Client
        Connected to the scheduler, with whatever security it asks for.

    Examples
    --------
    >>> import acvb_core
    >>> from distributed import Client  # doctest: +SKIP
    >>> executor = acvb_core.DaskExecutor(Client("tcp://10.0.0.1:8786"))  # doctest: +SKIP
    >>> acvb_core.fit(relation, "acvb0", executor=executor)  # doctest: +SKIP
    """

    def __init__(self, client: Client) -> None:
        super().__init__(1)
        self.client = client
        self._cluster = Cluster(client, self._start_waiting)

    @classmethod
    def connect(cls, address: str) -> DaskExecutor:
        """Return the executor of the scheduler at an address such as tcp://10.0.0.1:8786, or tls://…

        Dask's own settings say with which certificates: `distributed.comm.tls`.

        Raises AcvbError: Dask is not installed, or no scheduler answers there.
        """
        try:
            from distributed import Security

            from acvb_core.shards.dask import BoundedClient
        except ImportError:
            raise missing_dask() from None
        if address.startswith("tls:") and Security().get_connection_args("client").get("ssl_context") is None:
            raise AcvbError(
                f"{address} needs certificates. Name them in Dask's settings, such as "
                "DASK_DISTRIBUTED__COMM__TLS__CA_FILE: see docs/cluster.md."
            )
        try:
            return cls(BoundedClient(address, timeout=PATIENCE))
        except (OSError, ValueError, TimeoutError) as error:
            raise no_answer(address, str(error)) from None

    @property
    def limit(self) -> int:
        """The number of cores of the workers that compute this program's runs, at least 1."""
        return max(1, self._cluster.cores)

    def find_client(self) -> Client:
        """Return the client of the cluster, for other work on the same workers."""
        return self.client

    def compute(
        self,
        state: RunState,
        poll: Poll = no_poll,
        compiling: Callable[[bool], object] = bool,
    ) -> Iterator[RunState]:
        """Yield a run of the cluster about once a second, and at its end; parameters as for `Executor.compute`.

        The poll is called here, every 50 ms or so. The worker of a run that is held computes another one. Of a
        run over shards, the workers hold these, and all else is here: it is yielded after each sweep.

        Raises AcvbError: the run has a fault, no worker may compute it, or several workers died of it.
        Raises InterruptedRun: the scheduler cannot be reached any more.
        """
        if count_shards(state.prepared.algorithm) > 1:
            with shard_workers(client=self.client, folder=os.environ.get(SHARED_FOLDER) or None):
                yield from super().compute(state, poll, compiling)
        else:
            yield from RemoteRun(self._cluster, state).updates(poll, compiling)

    def compute_all(
        self, calls: Iterable[Callable[[Poll], ResultT]], poll: Poll = no_poll
    ) -> Iterator[tuple[int, ResultT]]:
        """Yield the results of calls as they end; as many calls as the workers have cores go on side by side.

        Once one has raised, the others are stopped; what they come to is still yielded, before it is raised again.
        """
        common, ended = _CommonPoll(poll), queue.SimpleQueue[_End]()
        under_way, fault, numbered = 0, None, enumerate(calls)
        with self.release_slot():
            try:
                while True:
                    for number, call in islice(numbered, 0 if fault else max(0, self.limit - under_way)):
                        work = partial(_make_call, number, call, common, ended)
                        self.submit(work, f"acvb-call-{number}", current_owner())
                        under_way += 1
                    if not under_way:
                        break
                    number, result, error = ended.get()
                    under_way -= 1
                    if error is None:
                        yield number, cast(ResultT, result)
                    elif fault is None:
                        fault = error
                        common.stop()
            finally:
                common.stop()
        if fault is not None:
            raise fault

    def list_workers(self) -> list[Worker]:
        """Return the workers there are now."""
        return self._cluster.list_workers()

    @property
    def is_connected(self) -> bool:
        """True while the scheduler is there."""
        return self._cluster.is_connected

    @property
    def address(self) -> str:
        """Address of the scheduler."""
        return self._cluster.address

    @property
    def dashboard(self) -> str | None:
        """Address of Dask's dashboard; None where the scheduler serves none."""
        return self._cluster.dashboard

    def _start_waiting(self) -> None:
        """Start work that waits, where workers have come."""
        for _ in range(self.limit):
            self._start_next()


def no_answer(address: str, why: str = "") -> AcvbError:
    """Return the error that says that no scheduler answers at an address; by default, it was silent."""
    return AcvbError(
        f"No Dask scheduler answers at {address} ({why or f'nothing within {PATIENCE:g} seconds'}). Start one, with "
        "`acvb cluster` on this machine for instance, or correct the address."
    )


class _CommonPoll:
    """The poll of calls that go on side by side: it stops all of them once one has failed."""

    def __init__(self, poll: Poll) -> None:
        self._poll, self._stop = poll, threading.Event()

    def __call__(self) -> None:
        if self._stop.is_set():
            raise StopRun
        self._poll()

    @property
    def is_held(self) -> bool:
        """True when the next call will block."""
        return is_held(self._poll)

    def stop(self) -> None:
        """End the calls at their next polls."""
        self._stop.set()


def _make_call(number: int, call: Callable[[Poll], Any], poll: Poll, ended: queue.SimpleQueue[_End]) -> None:
    try:
        ended.put((number, call(poll), None))
    except BaseException as error:  # raised again by who waits
        ended.put((number, None, error))
