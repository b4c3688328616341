"""Requests that end a run from outside: Ctrl-C, a signal, a terminal that is closed. Results so far are kept."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from acvb_core.core.protocols import Poll
from acvb_core.engine.run import StopRun

#: Windows has no SIGHUP.
_ENDING = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


@contextmanager
def stop_on_signal() -> Iterator[Poll]:
    """Give a poll that raises `StopRun` once the program was asked to end inside the block.

    Ctrl-C, SIGTERM and SIGHUP (a closed terminal) ask for the end; asking twice ends it at once. Signals that the
    program was started to ignore stay ignored (nohup).
    """
    end = threading.Event()
    silence = terminal_silencer()

    def ask(number: int, frame: Any) -> None:
        silence()
        if end.is_set():
            raise KeyboardInterrupt
        end.set()

    def poll() -> None:
        if end.is_set():
            raise StopRun

    if threading.current_thread() is not threading.main_thread():
        yield poll  # signals reach the main thread only
        return
    before = {number: signal.getsignal(number) for number in _ENDING}
    replaced = {
        number: handler for number, handler in before.items() if handler not in (signal.SIG_IGN, None)
    }
    for number in replaced:
        signal.signal(number, ask)
    try:
        yield poll
    finally:
        for number, handler in replaced.items():
            signal.signal(number, handler)


def terminal_silencer() -> Callable[[], None]:
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
