"""Send an address that names a page directly through app.py first."""

from __future__ import annotations

import streamlit as st
from streamlit.runtime.pages_manager import PagesManager


def guard() -> None:
    """Go back to app.py if it has not run in this session; call it at the top of every page.

    Beside a `pages/` folder, Streamlit answers the first request for `/run` with that file alone, without the
    navigation around it. The flag is private to Streamlit; the version is pinned, and a browser test opens such an
    address.
    """
    if not st.session_state.get("_nav"):
        PagesManager.uses_pages_directory = False
        st.rerun()
