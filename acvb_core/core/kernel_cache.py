"""Several processes may write Numba's cache on disk at once: each folder of it has a lock.

Without one, two processes that compile a function for different arguments at the same time may give both the same file
name, and a later process runs the code of the one with the arguments of the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, wraps
from pathlib import Path
from typing import Any

from numba.core.caching import IndexDataCacheFile

try:
    import fcntl
except ImportError:  # a system without such locks
    fcntl = None  # type: ignore[assignment]


@cache
def lock_cache() -> None:
    """Have this process write compiled functions alone, and read them only while none is written."""
    if fcntl is not None:
        IndexDataCacheFile.load = _with_lock(IndexDataCacheFile.load, fcntl.LOCK_SH)
        IndexDataCacheFile.save = _with_lock(IndexDataCacheFile.save, fcntl.LOCK_EX)


def _with_lock(action: Callable[..., Any], kind: int) -> Callable[..., Any]:
    """Return a method of an index that holds a lock on the index's folder meanwhile."""

    @wraps(action)
    def hold_lock(index: Any, *arguments: Any) -> Any:
        with _lock_folder(Path(index._cache_path), kind):
            return action(index, *arguments)

    return hold_lock


@contextmanager
def _lock_folder(folder: Path, kind: int) -> Iterator[None]:
    """Hold a folder's lock; none where no file can be made there."""
    file = None
    with suppress(OSError):
        file = (folder / ".lock").open("a")
        fcntl.flock(file, kind)
    try:
        yield
    finally:
        if file is not None:
            file.close()
