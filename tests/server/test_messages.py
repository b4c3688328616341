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

from pages.ui.access.serving import AccessGuard
from tests.loops import for_each

NEEDED = {
    "rerun_script", "stop_script", "file_urls_request", "app_heartbeat", "backend_operation_request.deferred_file",
}  # fmt: skip
REFUSED = {
    "clear_cache", "set_run_on_save", "load_git_info", "debug_disconnect_websocket", "debug_shutdown_runtime",
    "backend_operation_request", "backend_operation_request.install_skills",
    "backend_operation_request.dismiss_skills_nudge", "backend_operation_request.dataframe_chunk",
}  # fmt: skip


def name_message(message: BackMsg) -> str:
    """Return the kind of a message, with what a request of an operation asks for."""
    asked = message.backend_operation_request.WhichOneof("payload")
    return ".".join(part for part in (message.WhichOneof("type"), asked) if part)


def write_messages() -> dict[str, bytes]:
    """Return a message of every kind that Streamlit knows, by its name."""
    messages = []
    operations = BackMsg().backend_operation_request.DESCRIPTOR.oneofs_by_name["payload"].fields
    for kind in (*BackMsg.DESCRIPTOR.fields, *operations):
        messages.append(BackMsg())
        whole = messages[-1].backend_operation_request if kind in operations else messages[-1]
        if kind.message_type is None:
            setattr(whole, kind.name, True)
        else:
            getattr(whole, kind.name).SetInParent()
    return {name_message(message): message.SerializeToString() for message in messages}


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
    assert set(MESSAGES) == NEEDED | REFUSED


@for_each("kind", list(MESSAGES))
def test_only_messages_that_the_app_needs_reach_it(kind: str) -> None:
    """The session continues after a refused one."""
    reached, _ = exchange(MESSAGES[kind], MESSAGES["app_heartbeat"])
    assert reached == [*([kind] if kind in NEEDED else []), "app_heartbeat"]


def test_frames_that_are_not_one_known_message_do_not_reach_the_app() -> None:
    """Some end the session. If a frame has two messages, the last counts, as it does for Streamlit."""
    for unknown in (b"", b"\xc2\x3e\x01x"):
        assert exchange(unknown, MESSAGES["app_heartbeat"])[0] == ["app_heartbeat"], unknown
    assert exchange(MESSAGES["app_heartbeat"] + MESSAGES["clear_cache"])[0] == []
    for frame, code in ((b"\xff\xff", 1002), ("clear_cache", 1002), (bytes(26 << 20), 1009)):
        closed = [{"type": "websocket.close", "code": code}]
        assert exchange(frame, MESSAGES["app_heartbeat"]) == ([], closed), frame[:20]


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
