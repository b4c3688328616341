"""A Dask cluster on this machine: a scheduler in this process, and worker processes."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from acvb_core.core.errors import AcvbError

if TYPE_CHECKING:
    from distributed import LocalCluster

#: The address of this machine that no other machine reaches.
LOOPBACK = "127.0.0.1"


def start_cluster(
    workers: int = 2,
    threads: int | None = None,
    *,
    host: str = LOOPBACK,
    port: int = 0,
    dashboard_port: int = 0,
) -> LocalCluster:
    """Start a cluster; `close` of what is returned ends it.

    `threads`: runs that each worker computes at once; by default the cores are shared between the workers.
    `host`: whoever reaches this address can run any program here, as there are no certificates.
    `port`, `dashboard_port`: of the scheduler, and of Dask's dashboard; 0 for any that is free.
    Raises AcvbError: Dask is not installed, or a port is in use.
    """
    try:
        from distributed import LocalCluster
    except ImportError:
        raise missing_dask() from None
    try:
        return LocalCluster(
            n_workers=workers,
            threads_per_worker=threads or max(1, (os.cpu_count() or 1) // workers),
            processes=True,
            host=host,
            scheduler_port=port,
            dashboard_address=f"{host}:{dashboard_port}",
        )
    except (OSError, RuntimeError) as error:
        raise AcvbError(
            f"The scheduler cannot listen on {host}, port {port} ({error}). Choose another --port or --host."
        ) from None


def missing_dask() -> AcvbError:
    """Return the error for a Python without Dask."""
    return AcvbError(
        "Runs on a cluster need Dask, which this Python does not have. Install it with: pip install "
        "'acvb-core[cluster]'"
    )
