"""Processor time in units of a loop that is timed with it: slow or busy processors slow both. And all kernels."""

from __future__ import annotations

import math
import sys
import time
from typing import Any

import numba as nb
from numba.core.dispatcher import Dispatcher

from acvb_core import warmup


@nb.njit(nogil=True)
def _logarithms(n: int) -> float:
    total = 0.0
    for i in range(n):
        total += math.log(1.0 + i)
    return total


def reference_seconds() -> float:
    """Return the seconds of processor time of one unit of work, some 20 ms: the median of three."""
    _logarithms(1)  # compiles
    seconds = []
    for _ in range(3):
        before = time.thread_time()
        _logarithms(6_000_000)
        seconds.append(time.thread_time() - before)
    return sorted(seconds)[1]


class Gaps:
    """A poll that keeps the processor time of this thread since its last call."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.restart()

    def restart(self) -> None:
        """Start counting again: work since the last call does not matter."""
        self._last = time.thread_time()

    def __call__(self) -> None:
        now = time.thread_time()
        self.seconds.append(now - self._last)
        self._last = now

    @property
    def longest(self) -> float:
        """The longest gap, in units of work."""
        return max(self.seconds) / reference_seconds()


def find_kernels() -> dict[str, Any]:
    """Return all compiled functions of the package by module and name; each is compiled, or read from the cache."""
    warmup.warm_up()
    return {
        f"{module.__name__}.{name}": value
        for module in list(sys.modules.values())
        if getattr(module, "__name__", "").startswith("acvb_core.")
        for name, value in vars(module).items()
        if isinstance(value, Dispatcher) and value.py_func.__module__ == module.__name__
    }
