"""How a session finds its workspace, data and runs: by the address, by what they were, or by the browser's cookie."""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping
from contextlib import suppress
from typing import TypeGuard, TypeVar

import streamlit as st

from acvb_core.core.errors import AcvbError
from acvb_core.store.files import StoreError
from pages.ui.access.serving import REMEMBER
from pages.ui.access.sign_in import is_signed_in, name_own_workspace
from pages.ui.shared import services
from pages.ui.shared.model_pages import pages_of_run
from pages.ui.shared.workspace import (
    KEY,
    ONLY,
    VIEW_ONLY,
    Workspace,
    answer_id,
    current_workspace,
    view_id,
)
from pages.ui.workspace.dataset import DATA, RUN, TAB, Tab

COOKIE = "acvb_ws"
#: Of the address: the key of a workspace, or the id by which one, or one of its answers, is shown.
FULL, VIEW, ANSWER = "ws", "view", "answer"
#: Names in the address that are no choices on a page.
_FIXED = (FULL, VIEW, ANSWER, DATA, RUN)
#: Of the address: between the ids of runs.
_BETWEEN = "."
#: In the session: True after a view-only link that led nowhere; later the page that says so.
LOST = "lost_view"
#: In the session: the page that says that an address has asked for a run which it cannot show, and what it shows.
ABSENT = "absent_run"
Option = TypeVar("Option")


def enter_workspace() -> Workspace:
    """Find the session's workspace or make one; once in every run of the app. `name_address` puts it into the address.

    The address comes first, so that a link leads where it says; links between pages drop it, so the session
    remembers; a new tab without either finds the workspace of the person who has signed in, or the browser's last one
    by its cookie. The data of the tab are found in the same way: by the address, by what they were before, or as those
    that the workspace used last. So are the runs that a page shows.
    """
    state = st.session_state
    workspace = _find_workspace()
    if TAB not in state or (state.get(KEY), state.get(ONLY)) != (workspace.key, workspace.only):
        state[TAB] = Tab()
    state[KEY], state[VIEW_ONLY], state[ONLY] = workspace.key, workspace.view_only, workspace.only
    workspace = current_workspace()
    _follow_address(workspace, state[TAB])
    return workspace


def _follow_address(workspace: Workspace, tab: Tab) -> None:
    """Have the tab use the data that its address names, and note the runs and choices for the page.

    An address that says other than it did has been opened, or gone back to. Links between pages leave out data and
    runs: the tab keeps its data, and each page its run.
    """
    data, runs = (st.query_params.get(name, "") for name in (DATA, RUN))
    if data not in ("", tab.address.get(DATA)) and data != tab.mark:
        tab.choose(data)
    tab.asked = runs.split(_BETWEEN) if runs not in ("", tab.address.get(RUN)) else []
    if (
        tab.asked or RUN not in tab.address
    ):  # of the page that is shown already, the session knows the choices
        names = st.query_params.to_dict().items()
        tab.asked_choices = {name: value for name, value in names if name not in _FIXED}
        tab.missed.clear()
    if not runs:
        tab.address.pop(RUN, None)
    tab.is_named = False
    with suppress(AcvbError):  # the page says what is wrong with the store
        _ = workspace.dataset  # a new tab takes the data that were used last


def name_address(*runs: str) -> None:
    """Have the address name the workspace, the data of the tab, and the runs that the page shows, by their ids.

    Call it after the navigation, and once in a drawing: each change of the address is a step for Back.
    """
    workspace, tab, before = current_workspace(), st.session_state[TAB], st.query_params.to_dict()
    named = {DATA: tab.mark, RUN: _BETWEEN.join(runs)}
    chosen = tab.address if tab.address.get(RUN) == named[RUN] else {}
    tab.address = {name: value for name, value in (chosen | named).items() if value}
    tab.is_named = True
    others = {name: value for name, value in before.items() if name not in _FIXED}
    kind = ANSWER if workspace.only is not None else VIEW if workspace.view_only else FULL
    address = others | {kind: workspace.id} | tab.address
    if address != before:
        st.query_params.from_dict(address)


def take_choice(name: str, options: Mapping[str, Option]) -> Option | None:
    """Return what the address chooses among options, by their texts there, once; None if it chooses none of them.

    Call it before the widget is drawn, and `name_choice` afterwards.
    """
    tab: Tab = st.session_state[TAB]
    asked = tab.asked_choices.pop(name, None)
    if asked is not None and asked not in options:
        tab.missed[name] = ""
    return None if asked is None else options.get(asked)


def name_choice(name: str, text: str, usual: str) -> None:
    """Have the address name what is chosen on the page, unless that is the usual choice.

    If the address chose what the page does not have, say so as long as the page shows the same in its place. A choice
    is no step for Back.
    """
    tab: Tab = st.session_state[TAB]
    address, named = st.query_params, "" if text == usual else text
    if not named:
        tab.address.pop(name, None)
        if name in address:
            del address[name]
    else:
        tab.address[name] = named
        if address.get(name) != named:
            address[name] = named
    if name in tab.missed:
        tab.missed[name] = tab.missed[name] or text
        if tab.missed[name] == text:
            text = f"This page does not have the {name} that the address asks for."
            st.warning(text, icon=":material/link_off:")
        else:
            del tab.missed[name]


def list_shown_pages(workspace: Workspace) -> set[str] | None:
    """Return the paths of the pages that the navigation lists for a link to one answer; None for all pages."""
    if workspace.only is None:
        return None
    with suppress(AcvbError):  # the page says what is wrong with the store
        return {pages_of_run(job).answer.path for job in workspace.jobs}
    return set()


def _find_workspace() -> Workspace:
    address, state = st.query_params, st.session_state
    if ANSWER in address:
        key = find_viewed(address[ANSWER], address[ANSWER].partition("-")[0])
        if key is not None:
            return Workspace(key, view_only=True, only=address[ANSWER].partition("-")[0])
        state[LOST] = True
    elif VIEW in address:
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


def find_viewed(view: str, run: str | None = None) -> str | None:
    """Return the key of the workspace that a view-only link leads to; None where there is none.

    `run`: id of the run that the link is for; None if it is for all of the workspace.
    """
    known = services.views()
    if view not in known:
        with suppress(StoreError):  # the page says what is wrong with the store
            keys = {*services.store().workspaces(), *list(services.data_shelves())}
            made = {
                view_id(key) if run is None else answer_id(key, run): key for key in filter(_is_key, keys)
            }
            known.update(made if run is None else {name: key for name, key in made.items() if name == view})
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
