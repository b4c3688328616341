"""What runs over shards come to, bit for bit, and the loss of a worker in their midst."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import acvb_core
from tests.engine.fakes import TIMES

#: The history but its times, and the arrays of the posterior.
Outcome = tuple[bytes, dict[str, bytes]]


def outcome(data: Any, method: str, **given: Any) -> Outcome:
    """Return the bits of a run."""
    result = acvb_core.fit(data, method, **given)
    assert result.snapshot.cpu_seconds > 0
    history = result.history.drop(columns=[*TIMES, "lost"], errors="ignore").to_numpy().tobytes()
    return history, {name: array.tobytes() for name, array in result.snapshot.posterior.arrays.items()}


def kill_worker(*sweeps: int) -> Callable[[Any, Any], None]:
    """Return a watcher of a run that kills the process of its second worker after some sweeps."""

    def watch(problem: Any, snapshot: Any) -> None:
        if snapshot.sweep in sweeps:
            inference = getattr(problem.inference, "inner", problem.inference)
            inference.group.workers[1].process.kill()

    return watch
