"""Sign-in with OpenID Connect, where the server's secrets name a provider: others see a button, and nothing else."""

from __future__ import annotations

import hashlib
import hmac
import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import streamlit as st


def require_sign_in() -> None:
    """End a session that has not signed in with a page to do so; without `[auth]` in the secrets, do nothing."""
    unreadable = _find_unreadable_secrets()
    if unreadable:
        st.error("The server's secrets cannot be read, so nobody can sign in.", icon=":material/error:")
        st.text(f"Put {' or '.join(unreadable)} right, and start the app again.")
    elif not _asks_to_sign_in() or is_signed_in():
        return
    else:
        _show_sign_in()
    st.stop()


def is_signed_in() -> bool:
    """Return whether a provider has said who the visitor is."""
    return bool(st.user.get("is_logged_in"))


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
    issuer, subject, secret = st.user.get("iss"), st.user.get("sub"), _auth().get("cookie_secret")
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
    auth = _auth()
    named = [name for name, part in auth.items() if isinstance(part, Mapping) and "client_id" in part]
    if "client_id" in auth or not named:
        if st.button("Sign in to go on", type="primary", key="sign_in"):
            st.login()
        return
    for name in named:
        if st.button(f"Sign in with {name.capitalize()} to go on", key=f"sign_in_{name}"):
            st.login(name)


def _asks_to_sign_in() -> bool:
    """Return whether the secrets have a section `auth`, even an empty one, which is a mistake."""
    return "is_logged_in" in st.user or (st.secrets.load_if_toml_exists() and "auth" in st.secrets)


def _auth() -> Mapping[str, Any]:
    """Return the section `auth` of the secrets."""
    found = st.secrets.get("auth", {}) if st.secrets.load_if_toml_exists() else {}
    return found if isinstance(found, Mapping) else {}


def _find_unreadable_secrets() -> list[str]:
    """Return the files of secrets that are there and cannot be read: they may say that all have to sign in."""
    if st.secrets.load_if_toml_exists():
        return []
    return [path for path in st.get_option("secrets.files") if Path(path).exists()]
