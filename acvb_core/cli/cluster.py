"""`acvb cluster`, and the executor that `--scheduler` asks for."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from acvb_core.core.errors import ParameterError
from acvb_core.core.parallel import use_threads
from acvb_core.engine.executor import Executor

#: The environment variable that names the scheduler where no flag does.
VARIABLE = "ACVB_SCHEDULER"


def cluster(arguments: argparse.Namespace) -> int:
    """Serve a cluster on this machine until it is stopped; return the exit code."""
    from acvb_core.cluster.local import LOOPBACK, start_cluster

    if arguments.host != LOOPBACK and not arguments.trust_network:
        raise ParameterError(
            f"--host {arguments.host} lets whoever reaches that address run any program here. Give --trust-network as "
            "well if nobody else reaches it, or start Dask's own scheduler and workers with certificates: see "
            "docs/cluster.md."
        )
    end = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: end.set())
    started = start_cluster(
        arguments.workers,
        arguments.threads,
        host=arguments.host,
        port=arguments.port,
        dashboard_port=arguments.dashboard_port,
    )
    address = started.scheduler_address
    sys.stdout.write(
        f"==> ready: {address} (Ctrl-C stops it)\n"
        f"    dashboard: {started.dashboard_link}\n"
        f"    the app:   {VARIABLE}={address} script/server\n"
        f"    a run:     acvb fit DATA --scheduler {address}\n"
    )
    sys.stdout.flush()
    end.wait()
    started.close(timeout=30)
    return 0


@contextmanager
def open_executor(arguments: argparse.Namespace) -> Iterator[Executor | None]:
    """Give the executor of the scheduler that was named; None where runs are computed here, on the threads asked for.

    Raises AcvbError: no scheduler answers there, or Dask is not installed.
    """
    with use_threads(arguments.threads or 0), _connect(arguments) as executor:
        yield executor


@contextmanager
def _connect(arguments: argparse.Namespace) -> Iterator[Executor | None]:
    address = arguments.scheduler or os.environ.get(VARIABLE, "").strip()
    if not address:
        yield None
        return
    from acvb_core.cluster.backend import DaskExecutor

    executor = DaskExecutor.connect(address)
    try:
        yield executor
    finally:
        executor.client.close()
