"""The app as it is served: who gets a session, what the answers carry, and that nothing leaves this machine."""

from __future__ import annotations

import asyncio
import atexit
import platform
import re
import resource
import signal
import time
from pathlib import Path
from urllib.parse import parse_qs

import pytest
import streamlit as st
from starlette.datastructures import Headers
from streamlit.runtime import memory_media_file_storage
from streamlit.runtime.context import ContextProxy
from streamlit.runtime.media_file_storage import MediaFileKind
from streamlit.runtime.metrics_util import Installation
from streamlit.testing.v1 import AppTest
from streamlit.web.server import starlette

from pages.ui.shared.serving import AccessGuard, exit_normally, hide_downloads, refuse
from pages.ui.shared.workspace import view_id
from tests.server.browser import NEEDED_ANSWERS, Browser
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
    "host",
    [
        "evil.example",
        "evil.example:{port}",
        "127.0.0.1.evil.example",
        "[::2]",
        "0.0.0.0",
        "127.0.0.1/static?",
        "127.0.0.1:{port}/static",
        "127.0.0.1#",
        "127.0.0.1:{port}?",
    ],
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


def test_the_server_may_open_as_many_files_as_the_system_lets_it(server: Server) -> None:
    """Each session takes several; it was started with room for 256, as on a Mac."""
    soft, hard = resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE)
    assert soft == (65_536 if hard == resource.RLIM_INFINITY else min(hard, 65_536)) > 256


def test_the_log_says_that_nobody_has_to_sign_in(server: Server) -> None:
    assert server.log.read_text().count("  Sign-in: off. Whoever reaches the address can use the app.\n") == 1


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


def test_sessions_take_the_messages_that_they_need_and_no_others(server: Server) -> None:
    """Those of an owner as those of a viewer: clearing the caches, for one, would clear those of all sessions."""
    host = f"127.0.0.1:{server.port}"
    browser = Browser(f"http://{host}", server.port, host)
    address = browser.open_session(press="Find the clusters of a network").address
    key = parse_qs(address)["ws"][0]
    answers, session = browser.send_all_kinds(f"ws={key}")
    assert answers == NEEDED_ANSWERS
    assert "You are viewing a shared workspace" not in session.sent
    answers, session = browser.send_all_kinds(f"view={view_id(key)}")
    assert answers == NEEDED_ANSWERS
    assert "You are viewing a shared workspace" in session.sent
    log = server.log.read_text()
    assert log.count("does not take: clear_cache.") == log.count("does not take: load_git_info.") == 1


#: Streamlit's own addresses, after /_stcore/, that no page needs.
HIDDEN = (
    "metrics", "metrics?families=cache_memory_bytes", "metrics/", "%6detrics", "script-health-check", "agent/interact",
    "agent/openapi.json", "agent/mcp", "allowed-message-origins", "of-a-later-version", "", "upload_file/",
)  # fmt: skip


@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS"])
@pytest.mark.parametrize("path", HIDDEN)
def test_addresses_that_no_page_needs_are_not_served(server: Server, path: str, method: str) -> None:
    """They tell how much the server has in memory, or drive the app without a browser."""
    answer = server.ask(f"/_stcore/{path}", method=method)
    assert (answer.status, answer.text) == (404, "This app has no such address.\n")


def test_the_addresses_of_this_version_are_known() -> None:
    """A new version of Streamlit may have more: look at what they do, and whether pages need them."""
    source = "".join(path.read_text() for path in Path(starlette.__file__).parent.glob("*.py"))
    names = set(re.findall(r'"_stcore/([a-z_./-]+)|BASE_ROUTE_CORE}/([a-z_-]+)', source))
    needed = {"health", "host-config", "stream", "upload_file", "bidi-components"}
    known = {name.partition("?")[0].rstrip("/") for name in HIDDEN}
    assert {one or other for one, other in names} <= needed | known


def test_a_session_is_not_told_where_and_on_what_the_app_runs(server: Server) -> None:
    host = f"127.0.0.1:{server.port}"
    sent = Browser(f"http://{host}", server.port, host).open_session().sent
    assert "main_script_hash" in sent
    assert "environment_info" in sent  # pages read it, empty as it is
    ids = Installation.instance()
    told = (
        st.__version__,
        platform.python_version(),
        str(ROOT),
        ids.installation_id_v3,
        ids.installation_id_v4,
    )
    assert [secret for secret in (*told, "has_display", "server_os") if secret in sent] == []


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
