"""Parts of a page that are drawn again at intervals while something moves."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st


def refresh(draw: Callable[[], None], seconds: float | None) -> None:
    """Draw a part of a page, and draw it again at intervals.

    Parameters
    ----------
    draw : callable
        Draws the part; `st.rerun` in it draws the whole page again.
    seconds : float or None
        The interval; None: it is drawn again with the page, or when something in it is used.
    """
    # The part is alone in a container. Streamlit may drop the part of a whole run that it has not sent yet when the
    # interval is over; the browser then closes the gap, and the part takes the place of what comes after it.
    with st.container():
        st.fragment(draw, run_every=seconds)()
