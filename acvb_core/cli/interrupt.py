"""Ctrl-C: the first ends the run with what it has, the second ends the program."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from acvb_core.engine.run import StopRun
from acvb_core.protocols import Checkpoint


@contextmanager
def stoppable() -> Iterator[Checkpoint]:
    """Give a checkpoint that raises `StopRun` once Ctrl-C was pressed inside the block."""
    pressed = threading.Event()

    def press(number: int, frame: Any) -> None:
        if pressed.is_set():
            raise KeyboardInterrupt
        pressed.set()

    def checkpoint() -> None:
        if pressed.is_set():
            raise StopRun

    if threading.current_thread() is not threading.main_thread():
        yield checkpoint  # signals reach the main thread only
        return
    before = signal.signal(signal.SIGINT, press)
    try:
        yield checkpoint
    finally:
        signal.signal(signal.SIGINT, before)
