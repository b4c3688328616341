"""One BLAS and OpenMP thread while a run computes.

Two reasons: results must have the same bits whatever else runs beside them (a product cut over another number of
threads is added in another order), and processor time is read for the run's own thread only.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import ThreadpoolController, threadpool_limits

_lock = threading.Lock()
_inside = 0
_limit: threadpool_limits | None = None


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit BLAS to one thread in the process, and OpenMP in this thread, while any caller is inside."""
    global _inside, _limit
    with _lock:
        if _inside == 0:
            _limit = ThreadpoolController().limit(limits=1, user_api="blas")
        _inside += 1
    try:
        with ThreadpoolController().limit(limits=1, user_api="openmp"):
            yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0 and _limit is not None:
                _limit.restore_original_limits()
                _limit = None
