"""Explanations one click away."""

from __future__ import annotations

import streamlit as st

from pages.ui.shared.model_pages import pages_of_model


def explain_curves(model: str) -> None:
    """Draw the popover that says what the curves of a model's runs show."""
    curves = pages_of_model(model).words.curves
    with st.popover("What do the curves show?", icon=":material/help:", type="tertiary", key="explain"):
        for tab, curve in zip(st.tabs([curve.short for curve in curves]), curves, strict=True):
            with tab:
                st.markdown(f"**{curve.name}.** {curve.what}")
                st.markdown(f":green[**Read it so.**] {curve.read}")
                st.markdown(f":orange[**Beware.**] {curve.beware}")
        st.page_link("pages/guide.py", label="More in the Guide", icon=":material/menu_book:")
