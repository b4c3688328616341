"""Sign-in with OpenID Connect, where the server's secrets name a provider: others see a button, and nothing else."""

from __future__ import annotations

import hashlib
import hmac
import importlib.util
import json
import re
import sys
from collections.abc import Mapping
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import streamlit as st
from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from streamlit.cli_util import print_to_cli
from streamlit.web.server.starlette import starlette_websocket
from streamlit.web.server.starlette.starlette_server_config import USER_COOKIE_NAME

#: Settings of a sign-in that other secrets do not have.
_SETTINGS = {"redirect_uri", "cookie_secret", "server_metadata_url"}


def require_sign_in() -> None:
    """End a session that has not signed in with a page to do so; without `[auth]` in the secrets, do nothing."""
    if _find_fault():
        st.error(
            "The server's secrets do not say how to sign in, so nobody is let in. The terminal of the server says why.",
            icon=":material/error:",
        )
    elif not _asks_to_sign_in() or is_signed_in():
        return
    else:
        _show_sign_in()
    st.stop()


def is_signed_in() -> bool:
    """Return whether a provider has said who the visitor is."""
    return bool(st.user.get("is_logged_in"))


def is_stranger(headers: Headers) -> bool:
    """Return whether a request does not come from somebody who has signed in, though everybody has to."""
    if _auth() is None:
        return False
    cookies = cookie_parser(headers.get("cookie", ""))
    stored = starlette_websocket._get_signed_cookie_with_chunks(cookies, USER_COOKIE_NAME)
    return stored is None or not json.loads(stored).get("is_logged_in")


def show_sign_out() -> None:
    """Draw who has signed in, and a way out; nothing where nobody has to sign in."""
    if not is_signed_in():
        return
    with st.sidebar, st.container(gap="xsmall", key="signed_in"):
        st.caption("Signed in as")
        st.text(str(st.user.get("email") or st.user.get("name") or st.user.get("sub")))
        st.button("Sign out", icon=":material/logout:", key="sign_out", type="tertiary", on_click=st.logout)


def name_own_workspace() -> str | None:
    """Return the workspace of the person who has signed in, the same from any browser; None for anybody else.

    Nobody can work it out without the server's secret, so that it stays as hard to guess as any other.
    """
    issuer, subject, secret = st.user.get("iss"), st.user.get("sub"), (_auth() or {}).get("cookie_secret")
    if not (is_signed_in() and issuer and subject and secret):
        return None
    person = "\0".join(("workspace", str(issuer), str(subject)))
    return hmac.new(str(secret).encode(), person.encode(), hashlib.sha256).hexdigest()[:32]


def _show_sign_in() -> None:
    st.title("ACVB")
    st.write("Clusters of relations and networks, topics of texts, features of tables.")
    if importlib.util.find_spec("authlib") is None:
        st.error(
            "Nobody can sign in: the server lacks Authlib. Install it with pip install 'streamlit[auth]'."
        )
        return
    auth = _auth() or {}
    named = [name for name, part in auth.items() if isinstance(part, Mapping) and "client_id" in part]
    if "client_id" in auth or not named:
        if st.button("Sign in to continue", type="primary", key="sign_in"):
            st.login()
        return
    for name in named:
        if st.button(f"Sign in with {name.capitalize()} to continue", key=f"sign_in_{name}"):
            st.login(name)


def _asks_to_sign_in() -> bool:
    """Return whether the secrets have a section `auth`, even an empty one, which is a mistake."""
    return "is_logged_in" in st.user or _auth() is not None


def _auth() -> Mapping[str, Any] | None:
    """Return the section `auth` of the secrets, None without one."""
    return st.secrets.get("auth") if st.secrets.load_if_toml_exists() else None


def announce_sign_in() -> None:
    """Print whether visitors have to sign in; SystemExit if the secrets ask for it in a way that fails."""
    if fault := _find_fault():
        sys.exit(f"{fault} Then start the app again.")
    print_to_cli(
        "  Sign-in: on. Visitors see a button until they have signed in."
        if _auth() is not None
        else "  Sign-in: off. Whoever reaches the address can use the app."
    )


def _find_fault() -> str | None:
    """Return what is wrong with the secrets where they seem to ask for a sign-in, and what to do."""
    if not st.secrets.load_if_toml_exists():
        unreadable = [path for path in st.get_option("secrets.files") if Path(path).exists()]
        fault = f"The secrets in {' or '.join(unreadable)} cannot be read. Put them right."
        return fault if unreadable else None
    if "auth" in st.secrets:
        fault = (
            "`auth` in the secrets must be a section. Write [auth], and its settings in the lines below it."
        )
        return None if isinstance(st.secrets["auth"], Mapping) else fault
    for name, value in st.secrets.items():
        if _resembles_auth(name, value):
            return (
                f"The secrets have {name!r}, but no section [auth]. If it is for signing in, write its settings below "
                "[auth]. If not, give it another name."
            )
    return None


def _resembles_auth(name: str, value: object) -> bool:
    """Return whether a name in the secrets seems to be a misspelt `auth`, or to hold settings of it."""
    if not isinstance(value, Mapping):
        return name in _SETTINGS
    letters = re.sub("[^a-z]", "", name.lower())
    if sorted(letters) == sorted("auth") or SequenceMatcher(None, letters, "auth").ratio() > 0.8:
        return True
    return any(_resembles_auth(inner, part) for inner, part in value.items())
