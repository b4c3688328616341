"""Explanations one click away."""

from __future__ import annotations

import streamlit as st

from pages.ui.words import CURVES


def explain_curves() -> None:
    """Draw the popover that says what the curves show."""
    with st.popover("What do the curves show?", icon=":material/help:", type="tertiary", key="explain"):
        for curve in CURVES:
            st.markdown(f"{curve.icon} **{curve.name}** – {curve.what}")
            st.caption(f"{curve.read} {curve.beware}")
        st.page_link("pages/guide.py", label="More in the Guide", icon=":material/menu_book:")
