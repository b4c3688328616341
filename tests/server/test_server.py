"""The app as it is served: who gets a session, what the answers carry, and that nothing leaves this machine."""

from __future__ import annotations

import platform
import re
import resource
import signal
from pathlib import Path

import pytest
import streamlit as st
from streamlit.runtime import memory_media_file_storage
from streamlit.runtime.context import ContextProxy
from streamlit.runtime.media_file_storage import MediaFileKind
from streamlit.runtime.metrics_util import Installation
from streamlit.testing.v1 import AppTest
from streamlit.web.server import starlette

from pages.ui.access.serving import AccessGuard, hide_downloads, stop_on_hangup
from tests.loops import for_each
from tests.server.browser import Browser
from tests.server.running import PROXY, ROOT, SECONDS, WEBSOCKET, Server, start_server

OWN = ("127.0.0.1:{port}", "localhost:{port}", "[::1]:{port}", "127.0.0.1")
FOREIGN_ORIGINS = (
    "http://evil.example", "http://localhost:9999", "http://127.0.0.1:9999", "http://127.0.0.1",
    "https://127.0.0.1.evil.example:{port}", "http://[::1", "null", "file://", f"{PROXY}:9999",
)  # fmt: skip
FOREIGN_HOSTS = (
    "evil.example", "evil.example:{port}", "127.0.0.1.evil.example", "[::2]", "0.0.0.0", "127.0.0.1/static?",
    "127.0.0.1:{port}/static", "127.0.0.1#", "127.0.0.1:{port}?",
)  # fmt: skip
PATHS = (
    "/", "/run", "/_stcore/health", "/_stcore/host-config", "/_stcore/metrics", "/media/x.csv",
    "/_stcore/upload_file/a/b",
)  # fmt: skip


def test_own_pages_programs_and_the_allowed_proxy_get_a_session_and_foreign_pages_do_not(
    server: Server,
) -> None:
    """Only browsers send an origin. A proxy asks for the app by its address on this machine."""
    assert server.open_session() == 101
    assert server.open_session(origin=PROXY) == 101
    for host in OWN:
        assert server.open_session(host, f"http://{host}") == 101, host
    for origin in FOREIGN_ORIGINS:
        assert server.open_session(origin=origin) == 403, origin
    for host in FOREIGN_HOSTS:
        assert server.open_session(host, f"http://{host}") == server.open_session(host) == 403, host
    assert server.outside_calls.read_text() == ""


@for_each("path", PATHS)
def test_foreign_host_and_origin_get_nothing(server: Server, path: str) -> None:
    for method in ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"):
        assert server.ask(path, host="evil.example", method=method).status == 421, method
        assert server.ask(path, origin="http://evil.example", method=method).status == 403, method


def test_the_server_may_open_as_many_files_as_the_system_lets_it(server: Server) -> None:
    """Each session takes several; it was started with room for 256, as on a Mac."""
    soft, hard = resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE)
    assert soft == (65_536 if hard == resource.RLIM_INFINITY else min(hard, 65_536)) > 256


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

    def offer(file: bytes) -> str:
        return storage.load_and_get_id(file, "text/csv", MediaFileKind.DOWNLOADABLE, "runs.csv")

    large = bytearray(1 << 22)
    files = {bytes(large), b"one"}
    large[1 << 20] = 1  # outside of the parts that Streamlit looks at
    files.add(bytes(large))
    ids = set(map(offer, files))
    assert len(ids) == 3
    assert not {guessed(file, "text/csv", "runs.csv") for file in files} & ids
    assert offer(b"one") in ids, "a page that is drawn again offers the same file"
    hide_downloads()
    assert offer(b"one") not in ids, "another server has other addresses"


@for_each("path", ["/", "/_stcore/health", "/_stcore/host-config", "/media/none", "/favicon.png"])
def test_every_answer_carries_the_policy(server: Server, path: str) -> None:
    headers = server.ask(path).headers
    wanted = {
        "X-Frame-Options": "DENY",
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
    }
    wanted |= {f"Cross-Origin-{of}-Policy": "same-origin" for of in ("Opener", "Resource")}
    assert {name: headers[name] for name in wanted} == wanted
    policy = dict(part.split(" ", 1) for part in headers["Content-Security-Policy"].split("; "))
    assert policy["default-src"] == "'self'"
    assert policy["frame-ancestors"] == "'none'"
    assert "unsafe" not in policy["script-src"]
    assert not any("http" in sources or "*" in sources for sources in policy.values())


#: Streamlit's own addresses, after /_stcore/, that no page needs.
HIDDEN = (
    "metrics", "metrics?families=cache_memory_bytes", "metrics/", "%6detrics", "script-health-check", "agent/interact",
    "agent/openapi.json", "agent/mcp", "allowed-message-origins", "of-a-later-version", "", "upload_file/",
)  # fmt: skip


@for_each("path", HIDDEN)
def test_addresses_that_no_page_needs_are_not_served(server: Server, path: str) -> None:
    """They tell how much the server has in memory, or drive the app without a browser."""
    for method in ("GET", "POST", "OPTIONS"):
        answer = server.ask(f"/_stcore/{path}", method=method)
        assert (answer.status, answer.text) == (404, "This app has no such address.\n"), method


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
    told = (st.__version__, platform.python_version(), str(ROOT), "has_display", "server_os")
    told += (ids.installation_id_v3, ids.installation_id_v4)
    assert [secret for secret in told if secret in sent] == []


@for_each("name", ["SIGINT", "SIGTERM", "SIGQUIT", "SIGHUP"])
def test_signal_ends_the_server_normally(tmp_path: Path, name: str) -> None:
    """Python's exit handlers save what still runs; a second SIGTERM does not cut that short, but Ctrl-C does."""
    server = start_server(tmp_path)
    assert server.open_session() == 101
    assert server.stop(signal.Signals[name]) == 0
    assert server.log.read_text().endswith("Python exits normally\nand can be interrupted\n")


def test_a_hangup_that_is_ignored_stays_ignored() -> None:
    """As under nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        stop_on_hangup()
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_script_of_the_sessions_refuses_to_run_without_the_guard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(AccessGuard, "in_force", False)
    monkeypatch.setattr(ContextProxy, "headers", {"Host": "127.0.0.1:8501"})
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=SECONDS).run()
    assert [error.value for error in app.error] == [
        "The app was started without its access guard. Start it with script/server or streamlit run app.py."
    ]
    assert not app.button
