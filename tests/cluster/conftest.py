"""A cluster of two worker processes, which the tests of a module share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from acvb_core.cluster.backend import DaskExecutor
from acvb_core.cluster.local import start_cluster
from tests.engine.conftest import jobs

__all__ = ["jobs"]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Start a cluster; it ends with the module, as one that does nothing takes a tenth of a processor all the while."""
    started = start_cluster(2, 1)
    yield started
    started.close(timeout=30)


@pytest.fixture(scope="module")
def executor(cluster: Any) -> Iterator[DaskExecutor]:
    made = DaskExecutor.connect(cluster.scheduler_address)
    yield made
    made.client.close()
