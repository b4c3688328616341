"""Several processes may use Numba's cache on disk at once: each folder of it has a lock, and so has each function.

Without the first, two processes that compile a function for different arguments at the same time may give both the same
file name, and a later process runs the code of the one with the arguments of the other. With the second, a function
that one process compiles is waited for by the others, which then read it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache, wraps
from pathlib import Path
from typing import IO, Any

from numba.core import event
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import Dispatcher

try:
    import fcntl
except ImportError:  # a system without such locks
    fcntl = None  # type: ignore[assignment]

#: Data of the event by which another process compiles what this one waits for.
ELSEWHERE = "elsewhere"
#: Functions that this process compiles: the compiler may come back to one while it compiles it.
_held: set[Path] = set()
#: Of each call of `Dispatcher.compile` that is under way, what it lets go of at its end.
_calls: list[ExitStack] = []


@cache
def lock_cache() -> None:
    """Have this process write compiled functions alone, and compile none that another process compiles."""
    IndexDataCacheFile._load_index = _empty_if_stale(IndexDataCacheFile._load_index)
    if fcntl is not None:
        IndexDataCacheFile.load = _with_lock(IndexDataCacheFile.load, fcntl.LOCK_SH)
        IndexDataCacheFile.save = _with_lock(IndexDataCacheFile.save, fcntl.LOCK_EX)
        FunctionCache.load_overload = _load_or_hold(FunctionCache.load_overload)
        Dispatcher.compile = _let_go_after(Dispatcher.compile)  # type: ignore[method-assign]


def _empty_if_stale(load: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method of an index that is empty if an earlier version wrote it, some of whose classes have moved."""

    @wraps(load)
    def load_index(index: Any) -> Any:
        try:
            return load(index)
        except (ImportError, AttributeError):
            return {}

    return load_index


def _with_lock(action: Callable[..., Any], kind: int) -> Callable[..., Any]:
    """Return a method of an index that holds a lock on the index's folder meanwhile."""

    @wraps(action)
    def hold_lock(index: Any, *arguments: Any) -> Any:
        with _open_lock(Path(index._cache_path, ".lock")) as file:
            if file is not None:
                fcntl.flock(file, kind)
            return action(index, *arguments)

    return hold_lock


def _let_go_after(compile_function: Callable[..., Any]) -> Callable[..., Any]:
    """Return `Dispatcher.compile`, after which others may have the function."""

    @wraps(compile_function)
    def let_go_after(dispatcher: Any, signature: Any) -> Any:
        # The compiler's own lock comes first: a thread that waits for it holds no function that another one wants.
        with ExitStack() as call:
            call.enter_context(global_compiler_lock)
            _calls.append(call)
            call.callback(_calls.pop)
            return compile_function(dispatcher, signature)

    return let_go_after


def _load_or_hold(load: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method of a cache that holds a function which it does not have, once no other process compiles it."""

    @wraps(load)
    def load_or_hold(index: Any, signature: Any, target: Any) -> Any:
        found = load(index, signature, target)
        path = Path(index.cache_path, f".{index._impl.filename_base}.lock")
        if found is not None or path in _held or not _calls:
            return found
        # Processes do not wait for each other in a circle: no function calls itself by way of others.
        _calls[-1].enter_context(_hold_function(path))
        return load(index, signature, target)

    return load_or_hold


@contextmanager
def _hold_function(path: Path) -> Iterator[None]:
    """Hold a function's lock; to wait for it counts as compiling, which a thread may refuse."""
    with _open_lock(path) as file:
        if file is not None:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                with event.trigger_event("numba:compile", data=ELSEWHERE):
                    fcntl.flock(file, fcntl.LOCK_EX)
        _held.add(path)
        try:
            yield
        finally:
            _held.discard(path)


@contextmanager
def _open_lock(path: Path) -> Iterator[IO[str] | None]:
    """Open a file to lock, which closing it undoes; None if no file can be made."""
    file = None
    with suppress(OSError):
        file = path.open("a")
    try:
        yield file
    finally:
        if file is not None:
            file.close()
