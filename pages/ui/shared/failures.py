"""A part of a page that cannot be drawn leaves the rest of the page as it is."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from acvb_core.core.errors import AcvbError

_LOG = logging.getLogger(__name__)


@contextmanager
def contain_failure(what: str = "figure") -> Iterator[None]:
    """Show one plain error in place of a part of a page that fails, and log the traceback to the terminal.

    Also a decorator, for functions that draw and return nothing. What Streamlit raises to stop or rerun a script
    passes: it is no `Exception`.

    Parameters
    ----------
    what : str
        What is drawn, as it fits after "This".
    """
    try:
        yield
    except Exception as error:
        _LOG.exception("This %s could not be drawn.", what)
        known = isinstance(error, AcvbError)
        why = str(error) if known else f"{type(error).__name__} (the terminal says more)"
        with st.container(border=True, gap="xsmall"):
            st.badge(f"This {what} could not be drawn", icon=":material/error:", color="red")
            st.text(f"{why.rstrip('.')}. The rest of the page is complete.")  # it may quote the user's data
