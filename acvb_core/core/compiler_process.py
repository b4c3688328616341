"""Processes that compile in parallel with this one: within a process, Numba compiles one function at a time.

What they compile comes to this process by Numba's cache on disk (`core/kernel_cache.py`).
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

#: First argument of such a process; then the id of the one that started it.
BESIDE = "--beside"
#: Compile all functions, but only where one is missing that the first method needs.
IF_NEW = "--if-new"
_started: list[subprocess.Popen[bytes]] = []


def start_compiler(*arguments: str) -> subprocess.Popen[bytes] | None:
    """Start `acvb_core.warmup` with some arguments; None if no process can be started."""
    command = [sys.executable, "-m", "acvb_core.warmup", BESIDE, str(os.getpid()), *arguments]
    with suppress(OSError):
        compiler = subprocess.Popen(
            command,
            cwd=Path(__file__).parents[2],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C does not interrupt it while it writes
        )
        _started.append(compiler)
        return compiler
    return None


@cache
def start_first_compiler() -> subprocess.Popen[bytes] | None:
    """Start the process that compiles what a first run needs, and then the rest, once in this process."""
    return start_compiler(IF_NEW)


@contextmanager
def share_compiling(*arguments: str) -> Iterator[None]:
    """Have another process compile meanwhile, on a second core; not where one does already, or no lock can be had."""
    can_share = (os.cpu_count() or 1) > 1 and importlib.util.find_spec("fcntl") is not None
    is_shared = any(compiler.poll() is None for compiler in _started)
    compiler = start_compiler(*arguments) if can_share and not is_shared else None
    try:
        yield
    finally:
        if compiler is not None:
            compiler.terminate()
            compiler.wait()
