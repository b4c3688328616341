"""The app: its pages, and the sidebar they share. Start it with script/server."""

from __future__ import annotations

import streamlit as st

st.set_page_config(page_title="ACVB", page_icon="🧩", layout="wide", initial_sidebar_state=250)

from pages.ui.services import kernels  # noqa: E402
from pages.ui.sidebar import sidebar  # noqa: E402
from pages.ui.style import style  # noqa: E402
from pages.ui.workspace import enter  # noqa: E402

kernels()
workspace = enter()
st.session_state["_nav"] = True
page = st.navigation(
    [
        st.Page("pages/home.py", title="Home", icon=":material/home:", default=True),
        st.Page("pages/data.py", title="Data", icon=":material/dataset:"),
        st.Page("pages/run.py", title="Run", icon=":material/show_chart:"),
        st.Page("pages/blocks.py", title="Blocks", icon=":material/grid_view:"),
        st.Page("pages/topics.py", title="Topics", icon=":material/topic:"),
        st.Page("pages/features.py", title="Features", icon=":material/layers:"),
        st.Page("pages/compare.py", title="Compare", icon=":material/compare_arrows:"),
        st.Page("pages/how_many.py", title="How many topics?", icon=":material/stacked_line_chart:"),
        st.Page("pages/guide.py", title="Guide", icon=":material/menu_book:"),
    ]
)
style()
sidebar(workspace)
page.run()
