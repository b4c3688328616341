"""A cluster of two worker processes, which the tests of a process share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from acvb_core.cluster.executor import DaskExecutor
from acvb_core.cluster.local import start_cluster
from tests.engine.conftest import jobs

__all__ = ["jobs"]


@pytest.fixture(scope="session")
def cluster() -> Iterator[Any]:
    started = start_cluster(2, 1)
    yield started
    started.close(timeout=30)


@pytest.fixture(scope="session")
def executor(cluster: Any) -> Iterator[DaskExecutor]:
    made = DaskExecutor.connect(cluster.scheduler_address)
    yield made
    made.client.close()
