"""A browser without a window: cookies, redirects, and a session over the websocket."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from http.cookies import SimpleCookie
from socket import create_connection
from urllib.parse import urlsplit

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin, Subprotocol

SECONDS = 300.0


class Session:
    """What one session was sent: its texts, its buttons by label, and where it is to go."""

    def __init__(self) -> None:
        self.sent = ""
        self.buttons: dict[str, str] = {}
        self.leads_to = ""
        self.address = ""

    def take(self, message: ForwardMsg) -> bool:
        """Take a message in; return whether it is the last of a run that nothing cut short."""
        kind = message.WhichOneof("type")
        self.sent += str(message)
        if kind == "delta" and message.delta.new_element.WhichOneof("type") == "button":
            button = message.delta.new_element.button
            self.buttons[button.label] = button.id
        elif kind == "auth_redirect":
            self.leads_to = message.auth_redirect.url
        elif kind == "page_info_changed":
            self.address = message.page_info_changed.query_string
        return kind == "script_finished" and message.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY


def receive(socket: ClientConnection) -> ForwardMsg:
    """Return the next message that a session sends."""
    return ForwardMsg.FromString(bytes(socket.recv(SECONDS)))


def run_app(socket: ClientConnection, session: Session, press: str | None = None, query: str = "") -> None:
    """Run the app in a session, with a button pressed, and take in what it sends."""
    ask = BackMsg()
    ask.rerun_script.query_string = query
    if press:
        ask.rerun_script.widget_states.widgets.add(id=session.buttons[press]).trigger_value = True
    socket.send(ask.SerializeToString())
    while not session.take(receive(socket)):
        pass


class Browser:
    """A browser at `address`, whose requests all go to one port of this machine, as behind a proxy.

    `host`: the name that the proxy asks for.
    """

    def __init__(self, address: str, port: int, host: str) -> None:
        self.address, self.port, self.host = address, port, host
        self.cookies: dict[str, str] = {}

    def follow(self, path: str) -> list[str]:
        """Open a path and follow the redirects; return the addresses that answered, without what was asked."""
        url, seen = f"{self.address}{path}", list[str]()
        while url:
            parts = urlsplit(url)
            seen.append(f"{parts.scheme}://{parts.netloc}{parts.path}")
            own = url.startswith(self.address)
            port = self.port if own else int(parts.port or 80)
            headers = {"Host": self.host, "Cookie": self.cookie_line()} if own else {}
            with closing(HTTPConnection("127.0.0.1", port, timeout=SECONDS)) as connection:
                connection.request("GET", f"{parts.path}?{parts.query}", headers=headers)
                with connection.getresponse() as answer:
                    answer.read()
                    if own:
                        self._keep_cookies(answer.headers.get_all("Set-Cookie") or [])
                    url = answer.headers.get("Location") or ""
            if url.startswith("/"):
                url = f"{parts.scheme}://{parts.netloc}{url}"
        return seen

    def open_session(self, press: str | None = None) -> Session:
        """Run the app once in a session of its own, and once more with a button pressed."""
        session = Session()
        with self.connect() as socket:
            for button in (None, press) if press else (None,):
                run_app(socket, session, button)
        return session

    @contextmanager
    def connect(self) -> Iterator[ClientConnection]:
        """Open the websocket of a session."""
        self.follow("/_stcore/health")
        xsrf = self.cookies.get("_streamlit_xsrf", "")
        with connect(
            f"ws://{self.host}/_stcore/stream",
            sock=create_connection(("127.0.0.1", self.port)),
            origin=Origin(self.address),
            subprotocols=[Subprotocol("streamlit"), Subprotocol(xsrf)],
            additional_headers={"Cookie": self.cookie_line()},
            max_size=None,
            proxy=None,
        ) as socket:
            yield socket

    def cookie_line(self) -> str:
        """Return the header with its cookies."""
        return "; ".join(f"{name}={value}" for name, value in self.cookies.items())

    def _keep_cookies(self, lines: list[str]) -> None:
        for line in lines:
            for name, morsel in SimpleCookie(line).items():
                self.cookies[name] = morsel.coded_value
                if not morsel.value:
                    del self.cookies[name]
