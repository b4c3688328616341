"""Python imports this file by its name when it starts: an app is told to make no kernel ready before a run needs it.

If it is told of a file, calls to other machines are listed there.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
from typing import Any


def note_outside_call(event: str, arguments: tuple[Any, ...]) -> None:
    if event in ("socket.connect", "socket.sendto"):
        address = arguments[1]
        host = address[0] if isinstance(address, tuple) else None  # a path is a socket of this machine
    elif event in ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyname_ex"):
        host = arguments[0]
    else:
        return
    if host not in (None, "127.0.0.1", "localhost", "::1"):
        with open(os.environ["OUTSIDE_CALLS"], "a") as log:
            log.write(f"{event} {host}\n")


def note_exit() -> None:
    """Say that Python exits, and what a second SIGTERM and a second Ctrl-C do meanwhile."""
    try:
        os.kill(os.getpid(), signal.SIGTERM)
        os.write(1, b"Python exits normally\n")
        os.kill(os.getpid(), signal.SIGINT)
    except KeyboardInterrupt:
        os.write(1, b"and can be interrupted\n")


def run_unless_it_warms_up(thread: threading.Thread, run: Any = threading.Thread.run) -> None:
    """Run a thread; but reading all kernels takes a core for ten seconds, and a run reads those that it needs."""
    if thread.name != "acvb-warmup":
        run(thread)


threading.Thread.run = run_unless_it_warms_up  # type: ignore[method-assign]
if "OUTSIDE_CALLS" in os.environ:
    sys.addaudithook(note_outside_call)
    atexit.register(note_exit)
