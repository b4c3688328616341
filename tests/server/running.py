"""A server of the app's own, asked over plain sockets as a foreign page or program would ask it."""

from __future__ import annotations

import os
import resource
import socket
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from http.client import HTTPConnection, HTTPMessage
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SECONDS = 300.0
#: A proxy that the server is told of.
PROXY = "https://proxy.example"

WEBSOCKET = {
    "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==", "Sec-WebSocket-Protocol": "streamlit",
}  # fmt: skip


@dataclass(frozen=True)
class Answer:
    """What the server answers to one request."""

    status: int
    headers: HTTPMessage
    text: str


@dataclass(frozen=True)
class Server:
    """A server that runs; `outside_calls` lists its calls to other machines, `log` is what it printed."""

    port: int
    process: subprocess.Popen[bytes]
    outside_calls: Path
    log: Path

    def ask(
        self, path: str, host: str | None = None, origin: str | None = None, method: str = "GET", **more: str
    ) -> Answer:
        """Send one request. `host` and `origin` are headers; {port} in them stands for the server's port."""
        headers = {"Host": host or "127.0.0.1:{port}"} | ({"Origin": origin} if origin else {}) | more
        headers = {name: text.replace("{port}", str(self.port)) for name, text in headers.items()}
        with closing(HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)) as connection:
            connection.request(method, path, headers=headers)
            with connection.getresponse() as answer:
                return Answer(answer.status, answer.headers, answer.read().decode(errors="replace"))

    def open_session(self, host: str | None = None, origin: str | None = None) -> int:
        """Ask for a session's websocket; return the status, 101 where a session begins."""
        return self.ask("/_stcore/stream", host, origin, **WEBSOCKET).status

    def stop(self, signal: int) -> int:
        """Send a signal; return the exit code."""
        self.process.send_signal(signal)
        return self.process.wait(SECONDS)


def start_server(folder: Path, *options: str, is_watched: bool = True, warms_up: bool = False) -> Server:
    """Start the app as the README says, with `folder` for its files, and wait until it answers.

    Unless it warms up, it reads a kernel only when a run needs it.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    outside_calls, log = folder / "outside", folder / "log"
    outside_calls.touch()
    environment = os.environ | {"ACVB_HOME": str(folder / "home")}
    if not warms_up:
        environment["PYTHONPATH"] = os.pathsep.join([os.environ.get("PYTHONPATH", ""), str(HERE)])
    if is_watched:
        environment["OUTSIDE_CALLS"] = str(outside_calls)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    with log.open("ab") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port), *options],
            cwd=ROOT,
            env=environment,
            preexec_fn=partial(resource.setrlimit, resource.RLIMIT_NOFILE, (256, hard)),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    server = Server(port, process, outside_calls, log)
    deadline = time.monotonic() + SECONDS
    while True:
        try:
            if server.ask("/_stcore/health").status == 200:
                return server
        except OSError:
            pass
        if process.poll() is not None or time.monotonic() > deadline:
            process.kill()
            pytest.fail(f"the app did not start:\n{log.read_text()}")
        time.sleep(0.05)
