"""Free memory of the machine, and threads for the numerical libraries."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from threadpoolctl import ThreadpoolController

from acvb_core.core.errors import ParameterError
from acvb_core.core.parallel import computing, helper_seconds
from acvb_core.core.spec import MethodSpec, ModelSpec
from acvb_core.registry import methods_of

#: Number of glibc's option for the most heaps of a process (malloc.h).
_M_ARENA_MAX = -8


def share_heaps(most: int = 2) -> None:
    """Have all threads that begin from now on share this many heaps; does nothing where the C library is not glibc.

    glibc gives new threads a heap of their own, up to eight a core, and keeps what was freed there. A server whose
    pages are drawn by ever new threads grows by that for hours. MALLOC_ARENA_MAX in the environment is left as it is.
    """
    if "MALLOC_ARENA_MAX" not in os.environ:
        with suppress(AttributeError, OSError, TypeError):
            ctypes.CDLL(None).mallopt(_M_ARENA_MAX, most)


def available_memory() -> int | None:
    """Return the bytes of memory that new work can have; None if the system does not tell.

    It is all that is free, or as many hundredths of it as ACVB_MEMORY_PERCENT says.

    Raises ParameterError: ACVB_MEMORY_PERCENT is not a whole number from 1 to 100.
    """
    known = [free for free in (_system_memory(), _container_memory()) if free is not None]
    percent = os.environ.get("ACVB_MEMORY_PERCENT") or "100"
    if not percent.isascii() or not percent.isdigit() or not 1 <= int(percent) <= 100:
        raise ParameterError(f"ACVB_MEMORY_PERCENT is {percent!r}; it must be a whole number from 1 to 100.")
    return min(known) * int(percent) // 100 if known else None


def refuse_too_large(needed: int, model: ModelSpec, method: MethodSpec) -> None:
    """Raise ParameterError if a run needs more bytes of memory than are free."""
    free = available_memory()
    if free is None or needed <= free:
        return
    fewer = " or ".join(dict.fromkeys(model.domains.values()))
    streams = ", ".join(row.name for row in methods_of(model.name) if row.streams and not row.averaged)
    least = f" ({streams} need least)" if streams and not method.streams else ""
    raise ParameterError(
        f"{method.label} needs about {needed / 2**30:,.3g} GB of memory, and {free / 2**30:,.3g} GB is free. "
        f"Choose fewer {fewer}, fewer restarts or another method{least}. To start it all the same, turn this check off "
        "(check_memory=False)."
    )


def _system_memory() -> int | None:
    with suppress(OSError), open("/proc/meminfo", encoding="ascii") as lines:  # Linux
        for line in lines:
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    with suppress(AttributeError, OSError, ValueError):
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


def _container_memory(
    own: Path = Path("/proc/self/cgroup"), root: Path = Path("/sys/fs/cgroup")
) -> int | None:
    """Return what the limits of the container leave, of either version of control groups; None without a limit."""
    try:
        groups = [line.split(":", 2)[1:] for line in own.read_text(encoding="utf-8").splitlines()]
    except (OSError, UnicodeDecodeError):
        return None  # not Linux
    left = []
    for controllers, path in groups:
        if controllers == "":
            top, limit, used, cached = root, "memory.max", "memory.current", "inactive_file"
        elif "memory" in controllers.split(","):
            top, limit, used = root / "memory", "memory.limit_in_bytes", "memory.usage_in_bytes"
            cached = "total_inactive_file"
        else:
            continue
        folder = top / path.lstrip("/")
        # A group above may have the lower limit. Inside a container the group's own path may not be visible.
        for group in (folder, *folder.parents):
            if not group.is_relative_to(top):
                break
            with suppress(OSError, ValueError, KeyError):  # no limit is "max"
                facts = dict(line.split() for line in (group / "memory.stat").read_text("ascii").splitlines())
                most, now = (int((group / name).read_text("ascii")) for name in (limit, used))
                left.append(most - now + int(facts[cached]))
    return min(left, default=None)


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
