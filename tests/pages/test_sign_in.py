"""Sign-in, where the server's secrets ask for it: what others see, and whose workspace it is."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from streamlit.runtime.secrets import Secrets
from streamlit.testing.v1 import AppTest

from pages.ui.access.sign_in import announce_sign_in
from tests.loops import for_each
from tests.pages.session import OTHER, SECONDS, texts

ROOT = Path(__file__).resolve().parents[2]
PROVIDER = {"client_id": "acvb", "client_secret": "s", "server_metadata_url": "http://127.0.0.1:1/none"}
AUTH = {"redirect_uri": "http://127.0.0.1:8501/oauth2callback", "cookie_secret": "x" * 32, **PROVIDER}
NOBODY = {"is_logged_in": False}


def person(subject: str, issuer: str = "https://id.example") -> dict[str, Any]:
    return {"is_logged_in": True, "iss": issuer, "sub": subject, "email": f"{subject}@example.org"}


def visit(user: dict[str, Any], page: str = "", auth: Any = AUTH, **address: str) -> AppTest:
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=SECONDS)
    app.user, app.secrets = user, {"auth": auth}
    for name, value in address.items():
        app.query_params[name] = value
    if page:
        app.switch_page(f"pages/{page}.py")
    app.run()
    assert not app.exception
    return app


def labels(app: AppTest) -> list[str]:
    return [str(button.label) for button in app.button]


@for_each("page", ["", "run", "runs", "data"])
def test_who_has_not_signed_in_sees_a_button_and_nothing_else(page: str) -> None:
    app = visit(NOBODY, page, ws=OTHER)
    assert labels(app) == ["Sign in to continue"]
    assert [title.value for title in app.title] == ["ACVB"]
    assert not app.sidebar.children
    assert "ws" not in app.session_state


def test_an_empty_section_does_not_let_everybody_in() -> None:
    assert labels(visit({}, auth={})) == ["Sign in to continue"]


def test_named_providers_have_a_button_each() -> None:
    both = {"redirect_uri": AUTH["redirect_uri"], "cookie_secret": "x", "google": PROVIDER, "okta": PROVIDER}
    assert labels(visit(NOBODY, auth=both)) == [
        "Sign in with Google to continue",
        "Sign in with Okta to continue",
    ]


def test_a_server_without_authlib_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "authlib", None)
    app = visit(NOBODY)
    assert not labels(app)
    assert "the server lacks Authlib" in app.error[0].value


def use_secrets(monkeypatch: pytest.MonkeyPatch, folder: Path, text: str) -> Path:
    """Have the app read these secrets."""
    file = folder / "secrets.toml"
    file.write_text(text)
    get_option = st.get_option
    monkeypatch.setattr(
        st, "get_option", lambda name: [str(file)] if name == "secrets.files" else get_option(name)
    )
    monkeypatch.setattr("streamlit.config.get_option", st.get_option)
    monkeypatch.setattr(st, "secrets", Secrets())
    return file


@for_each(
    "text",
    [
        "[auth\n", "auth = 'x'\n", "auth = []\n", "[[auth]]\nclient_id = 'x'\n", "[AUTH]\n", '["auth "]\n', "[auht]\n",
        "[oauth]\n", "[sign_in]\ncookie_secret = 'x'\n", "[Authentication.google]\nserver_metadata_url = 'x'\n",
        "redirect_uri = 'x'\n",
    ],
)  # fmt: skip
def test_secrets_that_seem_to_ask_for_a_sign_in_let_nobody_in(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str
) -> None:
    """Streamlit takes those that it cannot read for secrets that are not there. Visitors read no path."""
    file = use_secrets(monkeypatch, tmp_path, text)
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=SECONDS).run()
    assert [error.value for error in app.error] == [
        "The server's secrets do not say how to sign in, so nobody is let in. The terminal of the server says why."
    ]
    assert str(file) not in texts(app)
    assert not app.button
    with pytest.raises(SystemExit, match="secrets") as end:
        announce_sign_in()
    assert ("secrets.toml cannot be read" in str(end.value)) == (text == "[auth\n")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "Sign-in: off"),
        ("author = 'x'\n[path]\nclient_id = 'x'\n[database.main]\npassword = 'x'\n", "Sign-in: off"),
        ("[auth]\n", "Sign-in: on"),
    ],
)
def test_the_terminal_says_whether_visitors_have_to_sign_in(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, said: str
) -> None:
    use_secrets(monkeypatch, tmp_path, text)
    announce_sign_in()
    assert said in capsys.readouterr().out


def test_a_person_finds_the_same_workspace_from_any_browser() -> None:
    first, again = visit(person("ada")), visit(person("ada"), "run")
    assert first.session_state["ws"] == again.session_state["ws"]
    assert re.fullmatch("[0-9a-f]{32}", first.session_state["ws"])
    others = [
        visit(person("bob")),
        visit(person("ada", "https://other.example")),
        visit(person("ada"), auth={**AUTH, "cookie_secret": "y" * 32}),
    ]
    workspaces = {app.session_state["ws"] for app in (first, *others)}
    assert len(workspaces) == 4


def test_a_link_leads_where_it_says_for_who_has_signed_in() -> None:
    assert visit(person("ada"), ws=OTHER).session_state["ws"] == OTHER


def test_the_sidebar_names_who_has_signed_in_and_the_way_out() -> None:
    app = visit(person("ada"))
    assert "ada@example.org" in [text.value for text in app.sidebar.text]
    app.button(key="sign_out").click().run()
    assert labels(visit(app.user)) == ["Sign in to continue"]


def test_nobody_is_asked_without_a_provider() -> None:
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=SECONDS).run()
    assert not app.exception
    assert "ws" in app.session_state
    assert "Sign out" not in labels(app)
