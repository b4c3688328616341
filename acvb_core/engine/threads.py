"""One BLAS and OpenMP thread while a run computes.

Two reasons: results must have the same bits whatever else runs beside them (a product cut over another number of
threads is added in another order), and processor time is read for the run's own thread only.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import ThreadpoolController, threadpool_limits

_lock = threading.Lock()
_inside = 0
_limit: threadpool_limits | None = None
_known: tuple[int, ThreadpoolController] | None = None


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit BLAS to one thread in the process, and OpenMP in this thread, while any caller is inside."""
    global _inside, _limit
    with _lock:
        if _inside == 0:
            _limit = _libraries().limit(limits=1, user_api="blas")
        _inside += 1
    try:
        with _libraries().limit(limits=1, user_api="openmp"):
            yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0 and _limit is not None:
                _limit.restore_original_limits()
                _limit = None


def _libraries() -> ThreadpoolController:
    """Return the thread pools of this process; they are looked for again (some 10 ms) when modules were loaded."""
    global _known
    loaded, known = len(sys.modules), _known
    if known is None or known[0] != loaded:
        known = _known = (loaded, ThreadpoolController())
    return known[1]
