"""One BLAS and OpenMP thread while a run computes; further threads are those of `core/parallel.py`.

Two reasons: results must have the same bits whatever else runs beside them (a product cut over another number of
threads is added in another order), and processor time is read for the run's own thread, and those that help it, only.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from threadpoolctl import ThreadpoolController

from acvb_core.core.parallel import computing, helper_seconds

_lock = threading.Lock()
_inside = 0
_before: list[tuple[Any, int]] = []
_known: tuple[int, list[Any]] | None = None


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit BLAS to one thread in the process, and OpenMP in this thread, while any caller is inside."""
    global _inside, _before
    with _lock:
        if _inside == 0:
            _before = _limit("blas")
        _inside += 1
    own = _limit("openmp")
    try:
        with computing():
            yield
    finally:
        _restore(own)
        with _lock:
            _inside -= 1
            if _inside == 0:
                _restore(_before)


class Clock:
    """Processor time of this thread and of those that help it, and clock time, since it was made."""

    def __init__(self) -> None:
        self._cpu, self._helped, self._wall = time.thread_time(), helper_seconds(), time.monotonic()

    def read(self) -> tuple[float, float]:
        """Return both, in seconds."""
        helped = helper_seconds() - self._helped
        return time.thread_time() - self._cpu + helped, time.monotonic() - self._wall


def _limit(api: str) -> list[tuple[Any, int]]:
    """Set the libraries of an interface to one thread; return each with the number it had."""
    before = [(library, library.num_threads) for library in _libraries() if library.user_api == api]
    _restore([(library, 1) for library, _ in before])
    return before


def _restore(numbers: list[tuple[Any, int]]) -> None:
    for library, number in numbers:
        # OpenBLAS has one number for the whole process, which threadpoolctl (3.8) leaves to the thread that set it
        # first and ignores others; here it is counted who is inside, and the last one out may be another thread.
        getattr(library, "_real_set_num_threads", library.set_num_threads)(number)


def _libraries() -> list[Any]:
    """Return the thread pools of this process; they are looked for again (some 10 ms) when modules were loaded."""
    global _known
    loaded, known = len(sys.modules), _known
    if known is None or known[0] != loaded:
        known = _known = (loaded, list(ThreadpoolController().lib_controllers))
    return known[1]
