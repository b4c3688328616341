"""A helper process of the app: it prints the address once the app answers, and ends when the app is gone.

It is started as a script of its own, with the address, the port and the process id of the app.
"""

from __future__ import annotations

import http.client
import os
import sys
import time
from contextlib import closing

PATIENCE = 120.0


def wait_for_app(host: str, port: int, app: int) -> bool:
    """Wait until the app answers; False when its process has ended or much time has passed."""
    end = time.monotonic() + PATIENCE
    while os.getppid() == app and time.monotonic() < end:
        try:
            with closing(http.client.HTTPConnection(host, port, timeout=5)) as connection:
                connection.request("GET", "/_stcore/health")
                if connection.getresponse().status == 200:
                    return True
        except OSError:
            pass
        time.sleep(0.05)
    return False


if __name__ == "__main__":
    address, number, process = sys.argv[1:]
    if wait_for_app(address, int(number), int(process)):
        sys.stdout.write(f"==> ready: http://{address}:{number} (Ctrl-C stops it)\n")
