"""One server for all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.server.running import PROXY, Server, start_server


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    running = start_server(tmp_path_factory.mktemp("server"), "--server.corsAllowedOrigins", PROXY)
    yield running
    running.process.kill()
    running.process.wait()
