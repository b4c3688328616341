"""What a browser may ask of a session: the guard passes the messages that the app needs, and no others."""

from __future__ import annotations

import asyncio
import logging

import pytest
from starlette.types import Message as Event
from starlette.types import Receive, Scope, Send
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.runtime import memory_media_file_storage
from streamlit.runtime.app_session import AppSession

from pages.ui.shared.serving import AccessGuard
from tests.server.browser import name_message, write_messages

NEEDED = {
    "rerun_script",
    "stop_script",
    "file_urls_request",
    "app_heartbeat",
    "backend_operation_request.deferred_file",
}
MESSAGES = write_messages()


@pytest.fixture(autouse=True)
def _undo_guard(monkeypatch: pytest.MonkeyPatch) -> None:
    """A guard changes functions of Streamlit's."""
    monkeypatch.setattr(AccessGuard, "in_force", False)
    hidden = ((memory_media_file_storage, "_calculate_file_id"), (AppSession, "_create_new_session_message"))
    for place, name in hidden:
        monkeypatch.setattr(place, name, getattr(place, name))


def exchange(*frames: bytes | str) -> tuple[list[str], list[Event]]:
    """Send frames through a guard, then leave; return the kinds that reached the app, and what the browser got."""
    reached: list[str] = []
    sent: list[Event] = []
    waiting: list[Event] = [
        {"type": "websocket.receive", "bytes" if isinstance(frame, bytes) else "text": frame}
        for frame in frames
    ]

    async def run_session(scope: Scope, receive: Receive, send: Send) -> None:
        while (event := await receive())["type"] != "websocket.disconnect":
            reached.append(name_message(BackMsg.FromString(event["bytes"])) if "bytes" in event else "text")
        await send({"type": "websocket.send", "bytes": b"late"})

    async def receive() -> Event:
        return waiting.pop(0) if waiting else {"type": "websocket.disconnect", "code": 1000}

    async def send(event: Event) -> None:
        sent.append(event)

    scope = {"type": "websocket", "path": "/_stcore/stream", "headers": [(b"host", b"127.0.0.1:8501")]}
    asyncio.run(AccessGuard(run_session)(scope, receive, send))
    return reached, sent


def test_the_messages_of_this_version_are_known() -> None:
    """A new version of Streamlit may have more: look at what they do, and whether the app needs them."""
    assert set(MESSAGES) - NEEDED == {
        "clear_cache",
        "set_run_on_save",
        "load_git_info",
        "debug_disconnect_websocket",
        "debug_shutdown_runtime",
        "backend_operation_request",
        "backend_operation_request.install_skills",
        "backend_operation_request.dismiss_skills_nudge",
        "backend_operation_request.dataframe_chunk",
    }
    assert set(MESSAGES) >= NEEDED


@pytest.mark.parametrize("kind", MESSAGES)
def test_only_messages_that_the_app_needs_reach_it(kind: str) -> None:
    """The session continues after a refused one."""
    reached, _ = exchange(MESSAGES[kind], MESSAGES["app_heartbeat"])
    assert reached == [*([kind] if kind in NEEDED else []), "app_heartbeat"]


@pytest.mark.parametrize("frame", [b"", b"\xc2\x3e\x01x"], ids=["of no kind", "of a later version"])
def test_messages_of_unknown_kinds_do_not_reach_the_app(frame: bytes) -> None:
    assert exchange(frame, MESSAGES["app_heartbeat"])[0] == ["app_heartbeat"]


def test_of_two_messages_in_one_frame_the_last_counts() -> None:
    """Streamlit reads it in the same way."""
    assert exchange(MESSAGES["app_heartbeat"] + MESSAGES["clear_cache"])[0] == []


@pytest.mark.parametrize(
    ("frame", "code"),
    [(b"\xff\xff", 1002), ("clear_cache", 1002), (bytes(26 << 20), 1009)],
    ids=["bytes", "text", "too long"],
)
def test_frames_that_are_no_messages_end_the_session(frame: bytes | str, code: int) -> None:
    reached, sent = exchange(frame, MESSAGES["app_heartbeat"])
    assert reached == []
    assert sent == [{"type": "websocket.close", "code": code}]


def test_a_refused_kind_is_logged_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Strangers cannot fill the log."""
    monkeypatch.setattr(logging.getLogger("streamlit"), "propagate", True)
    exchange(*[MESSAGES["clear_cache"]] * 3, MESSAGES["load_git_info"])
    assert [record.getMessage() for record in caplog.records] == [
        f"A browser sent a message that the app does not take: {kind}. It was dropped."
        for kind in ("clear_cache", "load_git_info")
    ]
