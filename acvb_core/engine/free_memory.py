"""Memory that new work can have, the refusal of work that needs more, and memory that threads share."""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress
from pathlib import Path

from acvb_core.core.errors import ParameterError
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
    """Return the bytes of memory that new work can have; None where the system does not tell.

    It is all that is free, or as many hundredths of it as ACVB_MEMORY_PERCENT says.

    Raises ParameterError: ACVB_MEMORY_PERCENT is not a whole number from 1 to 100.
    """
    known = [free for free in (_system_memory(), _container_memory()) if free is not None]
    percent = os.environ.get("ACVB_MEMORY_PERCENT") or "100"
    if not percent.isascii() or not percent.isdigit() or not 1 <= int(percent) <= 100:
        raise ParameterError(f"ACVB_MEMORY_PERCENT is {percent!r}; it must be a whole number from 1 to 100.")
    return min(known) * int(percent) // 100 if known else None


def refuse_too_large(needed: int, model: ModelSpec, method: MethodSpec) -> None:
    """Raise ParameterError where a run needs more bytes of memory than are free."""
    free = available_memory()
    if free is None or needed <= free:
        return
    fewer = " or ".join(dict.fromkeys(model.domains.values()))
    streams = (
        []
        if method.streams
        else [row.name for row in methods_of(model.name) if row.streams and not row.averaged]
    )
    least = f" ({', '.join(streams)} need least)" if streams else ""
    raise ParameterError(
        f"{method.label} needs about {needed / 2**30:,.3g} GB of memory, and {free / 2**30:,.3g} GB is free. "
        f"Choose fewer {fewer}, fewer restarts or another method{least}. To start it all the same, turn this check off "
        "(check_memory=False)."
    )


def _system_memory() -> int | None:
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass  # not Linux
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
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
            try:
                facts = dict(line.split() for line in (group / "memory.stat").read_text("ascii").splitlines())
                left.append(
                    int((group / limit).read_text("ascii"))  # "max" where there is no limit
                    - int((group / used).read_text("ascii"))
                    + int(facts[cached])
                )
            except (OSError, ValueError, KeyError):
                continue
    return min(left, default=None)
