"""How a session finds its workspace and data: by the address, by what they were before, or by the browser's cookie."""

from __future__ import annotations

import re
import uuid
from contextlib import suppress
from typing import TypeGuard

import streamlit as st

from acvb_core.core.errors import AcvbError
from acvb_core.store.files import StoreError
from pages.ui.access.sign_in import is_signed_in, name_own_workspace
from pages.ui.shared import services
from pages.ui.shared.serving import REMEMBER
from pages.ui.shared.workspace import KEY, VIEW_ONLY, Workspace, current_workspace
from pages.ui.workspace.dataset import MARK_LENGTH
from pages.ui.workspace.tab import DATA, TAB, Tab
from pages.ui.workspace.viewing import view_id

COOKIE = "acvb_ws"
#: Of the address: the key of a workspace, or the id by which one is shown.
FULL, VIEW = "ws", "view"
#: In the session: True after a view-only link that led nowhere; later the page that says so.
LOST = "lost_view"


def enter_workspace() -> Workspace:
    """Find the session's workspace or make one, and put it into the address; once in every run of the app.

    The address comes first, so that a link leads where it says; links between pages drop it, so the session
    remembers; a new tab without either finds the workspace of the person who has signed in, or the browser's last one
    by its cookie. The data of the tab are found in the same way: by the address, by what they were before, or as those
    that the workspace used last.
    """
    state = st.session_state
    workspace = _find_workspace()
    if TAB not in state or state.get(KEY) != workspace.key:
        state[TAB] = Tab()
    state[KEY], state[VIEW_ONLY] = workspace.key, workspace.view_only
    workspace = current_workspace()
    others = {
        name: value for name, value in st.query_params.to_dict().items() if name not in (FULL, VIEW, DATA)
    }
    data = _follow_address(workspace, state[TAB])
    address = others | {VIEW if workspace.view_only else FULL: workspace.id} | ({DATA: data} if data else {})
    if address != st.query_params.to_dict():
        st.query_params.from_dict(address)  # at once, as each change of the address is a step for Back
    return workspace


def _follow_address(workspace: Workspace, tab: Tab) -> str:
    """Have the tab use the data that its address names; return what the address is to say of the data.

    An address that says other than it did has been opened, or gone back to. Links between pages leave out the data,
    and the tab keeps them.
    """
    named = st.query_params.get(DATA, "")
    if named not in ("", tab.address) and named != (tab.wanted or "")[:MARK_LENGTH]:
        tab.choose(named)
    with suppress(AcvbError):  # the page says what is wrong with the store
        _ = workspace.dataset  # a new tab takes the data that were used last
    tab.address = (tab.wanted or "")[:MARK_LENGTH]
    return tab.address


def _find_workspace() -> Workspace:
    address, state = st.query_params, st.session_state
    if VIEW in address:
        key = find_viewed(address[VIEW])
        if key is not None:
            return Workspace(key, view_only=True)
        state[LOST] = True
    if _is_key(key := address.get(FULL)):
        return Workspace(key)
    if KEY in state:
        return current_workspace()
    known = name_own_workspace() if is_signed_in() else st.context.cookies.get(COOKIE)
    # 122 bits of it are random: nobody finds a workspace by trying keys.
    return Workspace(known if _is_key(known) else uuid.uuid4().hex)


def _is_key(name: object) -> TypeGuard[str]:
    return isinstance(name, str) and re.fullmatch("[0-9a-f]{32}", name) is not None


def find_viewed(view: str) -> str | None:
    """Return the key of the workspace that a view-only link leads to; None where there is none."""
    known = services.views()
    if view not in known:
        with suppress(StoreError):  # the page says what is wrong with the store
            keys = {*services.store().workspaces(), *list(services.datasets())}
            known.update({view_id(key): key for key in keys if _is_key(key)})
    return known.get(view)


def remember_workspace(workspace: Workspace) -> None:
    """Have the browser keep the workspace's key in a cookie; draws nothing.

    A viewer keeps the key of its own. Who has signed in needs none.
    """
    if not workspace.view_only and not is_signed_in():
        st.html(
            f"<script data-cookie='{COOKIE}={workspace.key}'>{REMEMBER}</script>",
            unsafe_allow_javascript=True,
        )
