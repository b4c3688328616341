"""How the app is started: what is refused in one line, and what Streamlit is told."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest

from acvb_core.cli.app import ready, start
from tests.cli.support import ROOT, Run
from tests.loops import for_each

LOCAL = ["127.0.0.1", "localhost", "::1"]


@for_each(
    "arguments, words",
    [
        (["--port"], "expected one argument"),
        (["--port", "0"], "'0' is not a number from 1 to 65535"),
        (["--port", "65536"], "from 1 to 65535"),
        (["--port=eight"], "'eight' is not"),
        (["--host"], "expected one argument"),
        (["--host", "127.0.0.1:8502"], "--host is '127.0.0.1:8502'"),
        (["--host=0.0.0.0"], "also needs --allow"),
        (["--host", "192.0.2.1"], "cannot listen on 192.0.2.1, port 8501"),
        (["--allow"], "expected one argument"),
        (["--allow", "https://example.org"], "--allow is 'https://example.org'"),
        (["--allow", "example.org:"], "--allow is 'example.org:'"),
        (["--allow=*"], "--allow is '*'"),
        (["--colour"], "unrecognized arguments: --colour"),
    ],
)
def test_addresses_that_cannot_be_served_are_refused(run: Run, arguments: list[str], words: str) -> None:
    refusal = run("app", *arguments)
    assert refusal.code == 2
    assert words in refusal.err
    assert len(refusal.err.splitlines()) == 1


def options(command: Sequence[str], name: str) -> list[str]:
    return [option.partition("=")[2] for option in command if option.startswith(f"--{name}=")]


def test_other_names_and_their_origins_are_served_only_if_they_are_given() -> None:
    command = start.build_command("127.0.0.1", 8501, [])
    assert command[1:5] == ["-m", "streamlit", "run", "app.py"]
    assert options(command, "server.port") == ["8501"]
    assert options(command, "server.address") == options(command, "browser.serverAddress") == ["127.0.0.1"]
    assert options(command, "server.allowedHosts") == LOCAL
    assert options(command, "server.corsAllowedOrigins") == []
    command = start.build_command("box.local", 8501, ["example.org:8443", "example.net"])
    assert options(command, "server.address") == options(command, "browser.serverAddress") == ["box.local"]
    assert options(command, "server.allowedHosts") == [*LOCAL, "box.local", "example.org", "example.net"]
    assert options(command, "server.corsAllowedOrigins") == [
        "http://example.org:8443", "https://example.org:8443", "http://example.net", "https://example.net",
    ]  # fmt: skip
    command = start.build_command("0.0.0.0", 8501, ["box.local"])
    assert options(command, "browser.serverAddress") == ["127.0.0.1"], "all addresses are no name"


def test_the_app_takes_the_process_over_in_its_own_folder(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[object] = []

    def take_over(program: str, command: list[str]) -> None:
        steps.append(command)
        raise SystemExit

    monkeypatch.setattr(os, "chdir", steps.append)
    monkeypatch.setattr(os, "execv", take_over)
    monkeypatch.setattr(subprocess, "Popen", lambda command: steps.append(command[2:]))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with pytest.raises(SystemExit):
        run("app", "--port", port)
    assert steps == [
        ROOT,
        ["127.0.0.1", str(port), str(os.getpid())],
        start.build_command("127.0.0.1", port, []),
    ]


class Answers(BaseHTTPRequestHandler):
    """An app that is healthy."""

    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/_stcore/health" else 404)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


def test_the_address_is_printed_once_the_app_answers() -> None:
    with HTTPServer(("127.0.0.1", 0), Answers) as server:
        Thread(target=server.handle_request, daemon=True).start()
        assert ready.wait_for_app("127.0.0.1", server.server_port, os.getppid())
