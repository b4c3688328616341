"""The links that share a workspace, and what a page says to those who came by one."""

from __future__ import annotations

from urllib.parse import urlencode

import streamlit as st

from pages.ui.shared.workspace import Workspace
from pages.ui.workspace.entrance import ABSENT, FULL, LOST, VIEW
from pages.ui.workspace.tab import TAB
from pages.ui.workspace.viewing import view_id

_OWN = "[Open your own workspace](./)"


def show_share_links(workspace: Workspace, page: str) -> None:
    """Draw the popover with the links to a page of a workspace that has something to see; nothing for a viewer."""
    if not workspace.view_only:
        st.fragment(_show_links)(workspace, page)


def _show_links(workspace: Workspace, page: str) -> None:
    # They are drawn again when the popover is opened: by then the page knows the run that it shows.
    with st.popover("Share", icon=":material/share:", key="share", width="stretch", on_change="rerun"):
        if workspace.dataset is None and not workspace.jobs:
            st.caption("Nothing to share yet. Load data or start a run first.")
            return
        st.markdown("**View-only link**")
        st.caption(
            "Whoever has it sees this page, the data, the runs and the answers, and can change nothing."
        )
        st.code(_write_link(page, VIEW, view_id(workspace.key)), language=None, wrap_lines=True)
        st.markdown("**Full link**")
        st.caption("Whoever has it can do all that you can, deleting included. It works like a password.")
        st.code(_write_link(page, FULL, workspace.key), language=None, wrap_lines=True)


def _write_link(page: str, name: str, value: str) -> str:
    """Return the address of a page with a workspace, the data in use and the run shown, as this browser reaches it."""
    home = (st.context.url or "").removesuffix(page).rstrip("/")
    return f"{home}/{page}?{urlencode({name: value} | st.session_state[TAB].address)}"


def show_arrival(workspace: Workspace, page: str) -> None:
    """Say at the top of a page that it only shows a workspace, or that a link has led nowhere.

    Parameters
    ----------
    workspace : Workspace
    page : str
        Address of the page: on other pages nothing is said of the link.
    """
    state = st.session_state
    if state.get(ABSENT, (page,))[0] != page:
        del state[ABSENT]
    if workspace.view_only:
        st.info(
            f"You are viewing a shared workspace. Nothing can be changed here. {_OWN}",
            icon=":material/visibility:",
        )
    elif state.get(LOST) in (True, page):
        state[LOST] = page
        st.warning(
            "This view-only link leads to no workspace. It is incomplete, or what it showed was deleted. This is your "
            "own workspace.",
            icon=":material/link_off:",
        )
    else:
        state.pop(LOST, None)
    if workspace.has_lost_data:
        st.warning(
            "The data of this tab are no longer in this workspace. They were removed, perhaps in another tab. Choose "
            "data in the sidebar or on the Data page before you go on.",
            icon=":material/link_off:",
        )
