"""Sign-in with a provider, walked as a browser walks it behind a proxy with TLS."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import parse_qs

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.util import calc_hash

from tests.loops import for_each
from tests.server.browser import Browser, Session, receive, run_app
from tests.server.provider import CLIENT, SECRET, Provider, start_provider
from tests.server.running import ROOT, Server, start_server

NAME = "acvb.example"
ADDRESS = f"https://{NAME}"
BUTTON = "Sign in to continue"


@dataclass(frozen=True)
class Place:
    """A server that asks its visitors to sign in, and the provider that it asks."""

    server: Server
    provider: Provider

    def browser(self, host: str = NAME) -> Browser:
        return Browser(ADDRESS, self.server.port, host.replace("{port}", str(self.server.port)))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("sign_in")
    with start_provider() as provider:
        settings = {
            "redirect_uri": f"{ADDRESS}/oauth2callback",
            "cookie_secret": "a secret that nobody guesses",
            "client_id": CLIENT,
            "client_secret": SECRET,
            "server_metadata_url": f"{provider.issuer}/.well-known/openid-configuration",
        }
        secrets = folder / "secrets.toml"
        secrets.write_text("[auth]\n" + "".join(f"{key} = {json.dumps(settings[key])}\n" for key in settings))
        names = [f"--server.allowedHosts={name}" for name in ("127.0.0.1", "localhost", NAME)]
        origin = f"--server.corsAllowedOrigins={ADDRESS}"
        server = start_server(folder, f"--secrets.files={secrets}", origin, *names)
        yield Place(server, provider)
        server.process.kill()
        server.process.wait()


def workspace(address: str) -> str:
    return parse_qs(address)["ws"][0]


def test_a_person_signs_in_and_finds_one_workspace_from_any_browser(place: Place) -> None:
    """The proxy asks for its own name, or for the app's address on this machine."""
    found = set()
    for host in (NAME, "127.0.0.1:{port}"):
        browser = place.browser(host=host)
        session = browser.open_session(press=BUTTON)
        assert list(session.buttons) == [BUTTON]
        assert "ws=" not in session.address
        way = (
            f"{ADDRESS}/auth/login",
            f"{place.provider.issuer}/authorize",
            f"{ADDRESS}/oauth2callback",
            f"{ADDRESS}/",
        )
        assert browser.follow(session.leads_to) == [*way]
        assert "_streamlit_user" in browser.cookies
        session = browser.open_session()
        assert "Sign out" in session.buttons
        assert "ada@example.org" in session.sent
        found.add(workspace(session.address))
    assert len(found) == 1
    browser.follow("/auth/logout")
    assert list(browser.open_session().buttons) == [BUTTON]
    assert place.server.outside_calls.read_text() == ""
    assert "  Sign-in: on. " in place.server.log.read_text()


@for_each("signed_in", [False, True])
def test_strangers_cannot_fill_the_memory_with_uploads(place: Place, signed_in: bool) -> None:
    browser = place.browser()
    if signed_in:
        browser.follow(browser.open_session(press=BUTTON).leads_to)
    session = Session()
    with browser.connect() as socket:
        run_app(socket, session)
        name = re.findall('session_id: "(.*)"', session.sent)[0]
        token = browser.cookies["_streamlit_xsrf"]
        path, more = (
            f"/_stcore/upload_file/{name}/file",
            {"X-Xsrftoken": token, "Cookie": browser.cookie_line()},
        )
        answer = place.server.ask(path, NAME, ADDRESS, "PUT", **more)
    refused = (403, "Sign in before you upload a file.\n")
    assert (answer.status, answer.text) == ((400, "Expected 1 file, but got 0") if signed_in else refused)


def test_strangers_cannot_choose_another_script(place: Place) -> None:
    """Streamlit can run the scripts of a folder `pages` without the app around them."""
    browser, session = place.browser(), Session()
    ask = BackMsg()
    ask.rerun_script.page_script_hash = calc_hash(str(ROOT / "pages" / "runs.py"))
    ask.rerun_script.page_name = "runs"
    ask.rerun_script.is_auto_rerun = True
    ask.rerun_script.query_string = "ws=" + "0123456789abcdef" * 2
    with browser.connect() as socket:
        socket.send(ask.SerializeToString())
        while not session.take(receive(socket)):
            pass
    assert list(session.buttons) == [BUTTON]


def test_a_cookie_that_the_server_did_not_sign_is_no_sign_in(place: Place) -> None:
    browser = place.browser()
    browser.cookies["_streamlit_user"] = '{"is_logged_in": true, "sub": "ada"}'
    assert list(browser.open_session().buttons) == [BUTTON]


def test_an_answer_that_was_not_asked_for_is_no_sign_in(place: Place) -> None:
    """Such as a link that leads somebody into another person's workspace."""
    browser = place.browser()
    browser.follow("/oauth2callback?code=code-of-ada&state=guessed")
    assert "_streamlit_user" not in browser.cookies
    assert list(browser.open_session().buttons) == [BUTTON]
