"""The page a session shows: the one that was asked for, with the navigation of app.py around it."""

from __future__ import annotations

import streamlit as st
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.scriptrunner import get_script_run_ctx


def guard() -> None:
    """Go back to app.py if it has not run in this session; call it at the top of every page.

    Beside a `pages/` folder, Streamlit answers the first request for `/run` with that file alone, without the
    navigation around it. The flag is private to Streamlit; the version is pinned, and a browser test opens such an
    address.
    """
    if not st.session_state.get("_nav"):
        PagesManager.uses_pages_directory = False
        st.rerun()


def keep_page() -> None:
    """Let this run of app.py show the page that it was started for; call it right before the navigation.

    Streamlit keeps the page that was asked for once a session. A press on a link stops the run under way and starts
    another. Where the first one has just asked to be drawn again, it ends later and sets its own page: the press would
    be lost.
    """
    run = get_script_run_ctx()
    assert run is not None
    # A new session names its page by its address, and has no hash yet.
    if run.page_script_hash != run.pages_manager.main_script_hash:
        run.pages_manager.set_script_intent(run.page_script_hash, "")
