"""The access guard: it refuses requests from elsewhere, and limits what browsers may do with the answers."""

from __future__ import annotations

import atexit
import base64
import hashlib
import re
import secrets
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

import streamlit as st
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocketClose
from streamlit.cli_util import print_to_cli
from streamlit.file_util import get_static_dir
from streamlit.logger import get_logger
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.NewSession_pb2 import EnvironmentInfo, UserInfo
from streamlit.runtime import memory_media_file_storage
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.runtime_util import get_max_widget_state_size_bytes
from streamlit.web.server.starlette.starlette_websocket import is_host_allowed

from acvb_core.cli.progress import terminal_silencer
from pages.ui.access.sign_in import is_stranger

_LOGGER = get_logger(__name__)

#: The only script that our pages bring themselves; the policy allows it by its hash.
REMEMBER = "document.cookie=document.currentScript.dataset.cookie+';path=/;max-age=31536000;SameSite=Strict'"

#: The messages that pages need from browsers. Streamlit takes more, from anybody: some clear the caches of all
#: sessions, write to this machine, or tell about it.
_MESSAGES = {
    "rerun_script", "stop_script", "file_urls_request", "app_heartbeat", "backend_operation_request.deferred_file",
}  # fmt: skip
_MOST_FILES = 65_536
_HOST = re.compile(r"[\w.:\[\]-]+", re.ASCII)
#: What pages need of Streamlit's own addresses, after /_stcore/.
_ADDRESSES = re.compile("health|host-config|stream|upload_file/.+|bidi-components/.+")


def _script_hash(script: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def content_policy() -> str:
    """Return the Content-Security-Policy: everything comes from this server, and no page may frame the app.

    Streamlit loads the scripts of components from blob: addresses. Its styles and Plotly's stand in the page.
    """
    index = Path(get_static_dir(), "index.html").read_text(encoding="utf-8")
    inline = map(_script_hash, (REMEMBER, *re.findall("<script>(.*?)</script>", index, re.DOTALL)))
    sources = {
        "default-src": "'self'",
        "script-src": f"'self' blob: {' '.join(inline)}",
        "style-src": "'self' 'unsafe-inline'",
        "img-src": "'self' data: blob:",
        "font-src": "'self' data:",
        "worker-src": "'self' blob:",
    }
    nothing = dict.fromkeys(
        ("object-src", "base-uri", "form-action", "frame-src", "frame-ancestors"), "'none'"
    )
    return "; ".join(f"{name} {value}" for name, value in (sources | nothing).items())


class AccessGuard:
    """ASGI middleware: serve only the names in `server.allowedHosts`, and only what the app's own pages ask for.

    A page of another site that points its name at this machine sends its own name as the host. A page of another
    site or port sends its address as the origin. Both are refused before Streamlit sees them: Streamlit checks the
    host of websockets alone, takes any port of this machine for its own, and asks an outside service for the
    machine's address when it meets a foreign origin. Addresses and messages that no page needs are refused to all.
    """

    in_force = False

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.headers = {
            "Content-Security-Policy": content_policy(),
            "X-Frame-Options": "DENY",
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            "Cross-Origin-Opener-Policy": "same-origin",
            "Cross-Origin-Resource-Policy": "same-origin",
        }
        self.refused: set[str] = set()
        hide_downloads()
        hide_installation()
        AccessGuard.in_force = True

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse the request, or pass it on and add the headers to its answer."""
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(self.headers)
            await send(message)

        headers = MutableHeaders(scope=dict(scope, headers=list(scope["headers"])))
        refusal = refuse(headers) or refuse_address(scope["path"], headers)
        if refusal is not None:
            # Uvicorn answers 403 to a websocket that is closed before it is accepted.
            answer = WebSocketClose() if scope["type"] == "websocket" else refusal
            await answer(scope, receive, send_with_headers)
            return
        if "origin" in headers:
            # A proxy may have another name than the host it asks for. Both are this app, which is all that
            # Streamlit is to know: it would look up the machine's outside address otherwise. It takes a sign-in only
            # from the origin to which the provider led back, so a name that is served stays.
            name = headers["origin"].partition("://")[2]
            if is_host_allowed(name):
                headers["host"] = name
            else:
                headers["origin"] = f"http://{headers['host']}"
        scope = dict(scope, headers=headers.raw)
        if scope["type"] == "websocket":
            await self.app(scope, *self._limit_messages(receive, send_with_headers))
        else:
            await self.app(scope, receive, send_with_headers)

    def _limit_messages(self, receive: Receive, send: Send) -> tuple[Receive, Send]:
        """Return how the app receives and sends in a session whose browser may send `_MESSAGES` only.

        Other messages are dropped. A frame that is none, as no browser sends it, ends the session.
        """
        is_open = True

        async def receive_needed() -> Message:
            nonlocal is_open
            while True:
                event = await receive()
                if event["type"] != "websocket.receive":
                    return event
                kind, code = _name_message(event.get("bytes"))
                if kind in _MESSAGES:
                    return event
                if kind not in self.refused:  # once: a stranger could fill the log
                    self.refused.add(kind)
                    done = "Its session was ended" if code else "It was dropped"
                    _LOGGER.warning(
                        "A browser sent a message that the app does not take: %s. %s.", kind, done
                    )
                if code:
                    is_open = False
                    await send({"type": "websocket.close", "code": code})
                    return {"type": "websocket.disconnect", "code": code}

        async def send_while_open(event: Message) -> None:
            if is_open:
                await send(event)

        return receive_needed, send_while_open


def _name_message(frame: bytes | None) -> tuple[str, int]:
    """Return the kind of a message, and the code to end a session with, 0 to continue.

    The kind of an operation has what it asks for after a point.
    """
    if frame is None:
        return "text", 1002
    if len(frame) > get_max_widget_state_size_bytes():
        return "too long", 1009
    try:
        message = BackMsg.FromString(frame)
    except Exception:  # whatever it is, this is no message
        return "unreadable", 1002
    kind = message.WhichOneof("type") or "unknown"
    asked = message.backend_operation_request.WhichOneof("payload")
    return f"{kind}.{asked}" if asked else kind, 0


def hide_downloads() -> None:
    """Give every file that is offered for download an address that nobody can guess from what it holds.

    By itself Streamlit names a file by a hash of its contents, of a large one by a hash of parts: who can guess the
    contents could ask whether somebody has such a file, and two large files could share an address. The function is
    private to Streamlit; the version is pinned, and a test compares the names.
    """
    secret = secrets.token_bytes(32)

    def name_file(data: bytes, mimetype: str, filename: str | None = None) -> str:
        digest = hashlib.blake2b(f"{mimetype}\n{filename}\n".encode(), key=secret, digest_size=32)
        digest.update(data)
        return digest.hexdigest()

    memory_media_file_storage._calculate_file_id = name_file


def hide_installation() -> None:
    """Leave out of what a session is sent first where and on what the app runs; no page needs that.

    Without the version, a tab that is open while Streamlit is updated is not loaded again by itself. The function is
    private to Streamlit; the version is pinned, and a test reads what sessions are sent.
    """
    create = AppSession._create_new_session_message

    def create_bare(*arguments: Any, **named: Any) -> ForwardMsg:
        message = create(*arguments, **named)
        message.new_session.main_script_path = ""
        message.new_session.initialize.user_info.CopyFrom(UserInfo())
        message.new_session.initialize.environment_info.CopyFrom(EnvironmentInfo())
        return message

    AppSession._create_new_session_message = create_bare  # type: ignore[method-assign]


def refuse_address(path: str, headers: Headers) -> PlainTextResponse | None:
    """Return the answer to a request for an address of Streamlit's that it may not use, None for others."""
    _, own, rest = path.partition("/_stcore/")
    if own and not _ADDRESSES.fullmatch(rest):
        return PlainTextResponse("This app has no such address.\n", status_code=404)
    if rest.startswith("upload_file/") and is_stranger(headers):  # the server's memory would hold it
        return PlainTextResponse("Sign in before you upload a file.\n", status_code=403)
    return None


def refuse(headers: Headers) -> PlainTextResponse | None:
    """Return the answer to a request that may not use the app, None for one that may."""
    host = headers.get("host")
    # Streamlit also takes a name with an empty query or fragment, which other code reads as a part of the address.
    is_name = host is not None and _HOST.fullmatch(host)
    if not (is_name and st.get_option("server.allowedHosts") and is_host_allowed(host)):
        here = f"http://{st.get_option('browser.serverAddress')}:{st.get_option('server.port')}"
        return PlainTextResponse(
            f"This app does not serve the name {host!r}. Open it as {here}. "
            "If the name is yours, allow it when you start the app: see script/server --help.\n",
            status_code=421,
        )
    for origin in headers.getlist("origin"):
        same = origin.partition("://")[2].lower() == str(host).lower()
        if not same and origin not in st.get_option("server.corsAllowedOrigins"):
            return PlainTextResponse(
                f"This app does not answer pages of {origin!r}. "
                "If that is your proxy, allow its name when you start the app: see script/server --help.\n",
                status_code=403,
            )
    return None


def raise_file_limit() -> None:
    """Let this process open more files than shells grant: 1,024 are used up by 157 sessions, and macOS grants 256."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, _MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):  # macOS may allow fewer than it says
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def require_guard() -> None:
    """End a session that began without the guard: Streamlit then ran app.py as a plain script."""
    if st.context.headers and not AccessGuard.in_force:
        st.error(
            "The app was started without its access guard. Start it with script/server or streamlit run app.py."
        )
        st.stop()


@asynccontextmanager
async def exit_normally(app: st.App) -> AsyncIterator[None]:
    """Let a signal stop the server and then let Python exit normally, so that running jobs are saved.

    Uvicorn stops at SIGTERM, then sends itself the signal again, which would end the process at once. A second
    Ctrl-C would make it leave before the app has ended.
    """
    signals = {getattr(signal, name, signal.SIGTERM) for name in ("SIGINT", "SIGTERM", "SIGQUIT")}
    stop = signal.getsignal(signal.SIGTERM)

    def stop_once(number: int, frame: FrameType | None) -> None:
        for each in signals:
            signal.signal(each, signal.SIG_IGN)
        if callable(stop):
            stop(signal.SIGTERM, frame)

    for number in signals:
        signal.signal(number, stop_once)
    stop_on_hangup()
    yield
    print_to_cli("  Stopping...")
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_BLOCK, signals)
        atexit.register(_drop_signals, signals)


def stop_on_hangup() -> None:
    """Take SIGHUP, which comes when the terminal is closed, for SIGTERM; leave it where it is ignored (nohup)."""
    if not hasattr(signal, "SIGHUP") or signal.getsignal(signal.SIGHUP) is not signal.SIG_DFL:
        return
    silence = terminal_silencer()

    def hang_up(*_: object) -> None:
        silence()
        signal.raise_signal(signal.SIGTERM)

    signal.signal(signal.SIGHUP, hang_up)


def _drop_signals(signals: set[signal.Signals]) -> None:
    """Drop the signals that wait, and later ones; a second Ctrl-C interrupts what Python does when it exits."""
    for number in signals:
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, signals)
