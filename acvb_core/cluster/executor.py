"""An executor whose runs are computed by the workers of a Dask cluster, and watched from here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from acvb_core.cluster.connection import PATIENCE, Cluster, Worker
from acvb_core.cluster.remote_run import RemoteRun
from acvb_core.core.errors import AcvbError
from acvb_core.core.protocols import Checkpoint, no_checkpoint
from acvb_core.engine.executor import Executor
from acvb_core.engine.problem import Problem
from acvb_core.engine.race import RaceUpdate

if TYPE_CHECKING:
    from distributed import Client


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
            from distributed import Client
        except ImportError:
            raise AcvbError(
                "Runs on a cluster need Dask, which this Python does not have. Install it with: pip install "
                "'acvb-core[cluster]'"
            ) from None
        try:
            return cls(Client(address, timeout=PATIENCE, set_as_default=False))
        except (OSError, ValueError, TimeoutError) as error:
            raise AcvbError(
                f"No Dask scheduler answers at {address} ({error}). Start one, with `acvb cluster` on this machine for "
                "instance, or correct the address."
            ) from None

    @property
    def limit(self) -> int:
        """The number of cores of the workers that compute this program's runs, at least 1."""
        return max(1, self._cluster.cores)

    def find_client(self) -> Client:
        """Return the client of the cluster, for other work on the same workers."""
        return self.client

    def compute(
        self,
        problem: Problem,
        *,
        resume: RaceUpdate | None = None,
        max_sweeps: int | None = None,
        checkpoint: Checkpoint = no_checkpoint,
        compiling: Callable[[bool], object] = bool,
    ) -> Iterator[RaceUpdate]:
        """Yield a run of the cluster about once a second, and at its end; parameters as for `Executor.compute`.

        The checkpoint is called here, every 50 ms or so. The worker of a run that is held computes another one.

        Raises AcvbError: the run has a fault, no worker may compute it, or several workers died of it.
        Raises InterruptedRun: the scheduler cannot be reached any more.
        """
        return RemoteRun(self._cluster, problem, resume, max_sweeps).updates(checkpoint, compiling)

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
