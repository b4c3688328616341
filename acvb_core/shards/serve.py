"""A worker process: answers the requests that come through a pipe until the pipe is closed."""

from __future__ import annotations

import sys
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler

from acvb_core.shards.host import Host


def serve(pipe: Connection) -> None:
    """Do what is asked, one request after the other."""
    host = Host()
    while True:
        try:
            method, arguments = ForkingPickler.loads(pipe.recv_bytes())
        except EOFError:
            return
        reply = host.answer(method, arguments)
        del arguments
        try:
            pipe.send_bytes(ForkingPickler.dumps(reply, 5))
        except OSError:
            return  # nobody waits for it any more


if __name__ == "__main__":
    serve(Connection(int(sys.argv[1])))
