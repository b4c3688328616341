"""A worker process: answers the requests that come through a pipe until the pipe is closed."""

from __future__ import annotations

import sys
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler
from typing import Any

from acvb_core.shards.host import Host


def serve(pipe: Connection) -> None:
    """Do what is asked, one request after the other."""
    host = Host()
    while True:
        try:
            method, arguments = ForkingPickler.loads(pipe.recv_bytes())
        except EOFError:
            return
        reply = answer(host, method, arguments)
        del arguments
        try:
            pipe.send_bytes(ForkingPickler.dumps(reply, 5))
        except OSError:
            return  # nobody waits for it any more


def answer(host: Host, method: str, arguments: tuple[Any, ...]) -> tuple[Exception | None, Any]:
    """Return what a method of the host raises, or what it gives."""
    try:
        return None, getattr(host, method)(*arguments)
    except Exception as fault:
        return fault, None


if __name__ == "__main__":
    serve(Connection(int(sys.argv[1])))
