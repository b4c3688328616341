"""Jobs that do not outlive their test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from acvb_core.engine.job import Job
from tests.engine.jobs import PATIENCE


@pytest.fixture
def jobs() -> Iterator[list[Job]]:
    """Jobs to be stopped when the test is over."""
    made: list[Job] = []
    yield made
    for job in made:
        if job.inspect().status.active:
            job.stop()
            assert job.wait(PATIENCE)
