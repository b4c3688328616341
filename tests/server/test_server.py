"""The app as it is served: who gets a session, what the answers carry, and that nothing leaves this machine."""

from __future__ import annotations

import asyncio
import atexit
import signal
import time
from pathlib import Path

import pytest
import streamlit as st
from starlette.datastructures import Headers
from streamlit.runtime import memory_media_file_storage
from streamlit.runtime.context import ContextProxy
from streamlit.runtime.media_file_storage import MediaFileKind
from streamlit.testing.v1 import AppTest

from pages.ui.shared.serving import AccessGuard, exit_normally, hide_downloads, refuse
from tests.server.running import PROXY, ROOT, SECONDS, WEBSOCKET, Server, start_server


@pytest.mark.parametrize("host", ["127.0.0.1:{port}", "localhost:{port}", "[::1]:{port}", "127.0.0.1"])
def test_own_pages_get_a_session(server: Server, host: str) -> None:
    assert server.open_session(host, f"http://{host}") == 101


def test_programs_get_a_session(server: Server) -> None:
    """Only browsers send an origin."""
    assert server.open_session() == 101


def test_pages_of_an_allowed_proxy_get_a_session(server: Server) -> None:
    """It asks for the app by its address on this machine."""
    assert server.open_session(origin=PROXY) == 101
    assert server.open_session(origin=f"{PROXY}:9999") == 403
    assert server.outside_calls.read_text() == ""


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "http://localhost:9999",
        "http://127.0.0.1:9999",
        "http://127.0.0.1",
        "https://127.0.0.1.evil.example:{port}",
        "http://[::1",
        "null",
        "file://",
    ],
)
def test_foreign_origin_gets_no_session(server: Server, origin: str) -> None:
    assert server.open_session(origin=origin) == 403


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1.evil.example", "[::2]", "0.0.0.0"]
)
def test_foreign_host_gets_no_session(server: Server, host: str) -> None:
    assert server.open_session(host, f"http://{host}") == 403
    assert server.open_session(host) == 403


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"])
@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/run",
        "/_stcore/health",
        "/_stcore/host-config",
        "/_stcore/metrics",
        "/media/x.csv",
        "/_stcore/upload_file/a/b",
    ],
)
def test_foreign_host_and_origin_get_nothing(server: Server, method: str, path: str) -> None:
    assert server.ask(path, host="evil.example", method=method).status == 421
    assert server.ask(path, origin="http://evil.example", method=method).status == 403


def test_the_log_has_no_address_of_a_workspace(server: Server) -> None:
    """Whoever reads the log must not get into a workspace."""
    key = "0123456789abcdef" * 2
    for path in ("/", "/run", "/media/x.csv", "/_stcore/stream", "/nowhere"):
        for name in ("ws", "view"):
            server.ask(f"{path}?{name}={key}")
            server.ask(f"{path}?{name}={key}", host="evil.example")
            server.ask(f"{path}?{name}={key}", **WEBSOCKET)
    assert key not in server.log.read_text()


def test_downloads_have_addresses_that_their_contents_do_not_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    guessed = memory_media_file_storage._calculate_file_id
    monkeypatch.setattr(memory_media_file_storage, "_calculate_file_id", guessed)  # put back at the end
    hide_downloads()
    storage = memory_media_file_storage.MemoryMediaFileStorage("/media")
    large = bytearray(1 << 22)
    files = {bytes(large)}
    large[1 << 20] = 1  # outside of the parts that Streamlit looks at
    files |= {bytes(large), b"one"}
    ids = [
        storage.load_and_get_id(file, "text/csv", MediaFileKind.DOWNLOADABLE, "runs.csv") for file in files
    ]
    assert len(set(ids)) == 3
    assert not {guessed(file, "text/csv", "runs.csv") for file in files} & set(ids)
    again = storage.load_and_get_id(b"one", "text/csv", MediaFileKind.DOWNLOADABLE, "runs.csv")
    assert again in ids, "a page that is drawn again offers the same file"
    hide_downloads()
    other = storage.load_and_get_id(b"one", "text/csv", MediaFileKind.DOWNLOADABLE, "runs.csv")
    assert other not in ids, "another server has other addresses"


def test_no_name_is_served_where_none_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Streamlit takes an empty list for all names."""
    monkeypatch.setattr(st, "get_option", lambda name: [])
    refusal = refuse(Headers({"host": "127.0.0.1:8501"}))
    assert refusal is not None
    assert refusal.status_code == 421


def test_refusal_says_what_to_do(server: Server) -> None:
    assert server.ask("/", host="evil.example").text == (
        f"This app does not serve the name 'evil.example'. Open it as http://127.0.0.1:{server.port}. "
        "If the name is yours, allow it when you start the app: see script/server --help.\n"
    )
    assert server.ask("/", origin="http://evil.example").text == (
        "This app does not answer pages of 'http://evil.example'. "
        "If that is your proxy, allow its name when you start the app: see script/server --help.\n"
    )


def test_upload_needs_the_token_of_the_page(server: Server) -> None:
    assert server.ask("/_stcore/upload_file/a/b", method="PUT").status == 403
    assert server.ask("/_stcore/upload_file/a/b", method="DELETE").status == 403


@pytest.mark.parametrize(
    "path", ["/", "/_stcore/health", "/_stcore/host-config", "/media/none", "/favicon.png"]
)
def test_every_answer_carries_the_policy(server: Server, path: str) -> None:
    headers = server.ask(path).headers
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["Cross-Origin-Opener-Policy"] == "same-origin"
    assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
    policy = dict(part.split(" ", 1) for part in headers["Content-Security-Policy"].split("; "))
    assert policy["default-src"] == "'self'"
    assert policy["frame-ancestors"] == "'none'"
    assert "unsafe" not in policy["script-src"]
    assert not any("http" in sources or "*" in sources for sources in policy.values())


def test_nothing_is_asked_of_other_machines(server: Server) -> None:
    """Streamlit asks an outside address for the machine's own when a foreign page knocks, a second each."""
    for number in range(10):
        server.open_session(origin=f"http://page{number}.example")
        server.open_session("evil.example", "http://evil.example")
    assert server.ask("/_stcore/health").text == "ok"
    assert server.outside_calls.read_text() == ""


def test_the_pages_are_imported_before_a_browser_asks(server: Server) -> None:
    files, deadline = set(map(str, ROOT.glob("pages/ui/**/*.py"))), time.monotonic() + SECONDS
    assert len(files) > 50
    while left := files - set(server.imports.read_text().splitlines()):
        assert time.monotonic() < deadline, left
        time.sleep(0.1)


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGQUIT"])
def test_signal_ends_the_server_normally(tmp_path: Path, name: str) -> None:
    """Python's exit handlers save what still runs; a second SIGTERM does not cut that short, but Ctrl-C does."""
    server = start_server(tmp_path)
    assert server.open_session() == 101
    assert server.stop(signal.Signals[name]) == 0
    assert server.log.read_text().endswith("Python exits normally\nand can be interrupted\n")


def test_second_signal_while_the_server_stops_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    """Uvicorn takes a second Ctrl-C for leave to end at once, without ending the app."""
    monkeypatch.setattr(signal, "pthread_sigmask", lambda *_: None)
    monkeypatch.setattr(atexit, "register", lambda *_: None)
    heard: list[int] = []
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGQUIT)
    before = {number: signal.signal(number, lambda given, _: heard.append(given)) for number in numbers}

    async def interrupt_twice() -> None:
        async with exit_normally(None):
            for number in (*numbers, *numbers):
                signal.raise_signal(number)

    try:
        asyncio.run(interrupt_twice())
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    assert heard == [signal.SIGTERM]


def test_script_of_the_sessions_refuses_to_run_without_the_guard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(AccessGuard, "in_force", False)
    monkeypatch.setattr(ContextProxy, "headers", {"Host": "127.0.0.1:8501"})
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=SECONDS).run()
    assert [error.value for error in app.error] == [
        "The app was started without its access guard. Start it with script/server or streamlit run app.py."
    ]
    assert not app.button
