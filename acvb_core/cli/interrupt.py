"""What ends a run from outside: Ctrl-C, a request to end, a terminal that is closed. What there is is kept."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from acvb_core.core.protocols import Checkpoint
from acvb_core.engine.run import StopRun

#: Windows has no SIGHUP.
_ENDING = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


@contextmanager
def stoppable() -> Iterator[Checkpoint]:
    """Give a checkpoint that raises `StopRun` once the program was asked to end inside the block.

    It is asked by Ctrl-C, SIGTERM, or SIGHUP, when the terminal is closed; being asked twice ends it at once. What the
    program was started to ignore it goes on to ignore (nohup).
    """
    asked = threading.Event()
    silence = lost_terminals()

    def ask(number: int, frame: Any) -> None:
        silence()
        if asked.is_set():
            raise KeyboardInterrupt
        asked.set()

    def checkpoint() -> None:
        if asked.is_set():
            raise StopRun

    if threading.current_thread() is not threading.main_thread():
        yield checkpoint  # signals reach the main thread only
        return
    before = {number: signal.getsignal(number) for number in _ENDING}
    taken = {number: handler for number, handler in before.items() if handler not in (signal.SIG_IGN, None)}
    for number in taken:
        signal.signal(number, ask)
    try:
        yield checkpoint
    finally:
        for number, handler in taken.items():
            signal.signal(number, handler)


def lost_terminals() -> Callable[[], None]:
    """Return what keeps writing to a terminal from failing once the terminal is gone: it is written to nowhere."""
    terminals = [number for number in (1, 2) if os.isatty(number)]

    def silence() -> None:
        for number in terminals:
            if not os.isatty(number):
                with suppress(OSError):
                    nowhere = os.open(os.devnull, os.O_WRONLY)
                    os.dup2(nowhere, number)
                    os.close(nowhere)

    return silence
