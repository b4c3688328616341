"""The error of a file that cannot be read, and its place."""

from __future__ import annotations

import re

import streamlit as st

from acvb_core.core.errors import AcvbError, DataError

#: An argument of a library function in brackets: (broken="skip"), (row_labels).
_ARGUMENT = r" \((?:\w+=[^()]*|\w+_\w+|missing)\)"


def show_error(error: AcvbError, key: str = "problem") -> None:
    """Draw an error, its place, the value found there and the remedy. Nothing of it is Markdown.

    Parameters
    ----------
    error : AcvbError
    key : str
        Of the box, if a page may have several.
    """
    with st.container(border=True, gap="xsmall", key=key):
        st.badge("We couldn't read this file with these settings", icon=":material/error:", color="red")
        if not isinstance(error, DataError):
            st.text(str(error))
            return
        st.text(f"{error.what[:1].upper()}{error.what[1:]}.")
        unit = error.unit.capitalize()
        place = {"File": error.source, unit: error.line, "Column": error.column, "Found": error.value}
        with st.container(gap=None, key=f"{key}_place"):  # lines are broken where a window is narrow
            for name, at in place.items():
                if at is not None:
                    st.text(f"{name}: {at:,}" if isinstance(at, int) else f"{name}: {at}")
        # The names of the library's arguments say nothing here, where there are widgets.
        st.text(re.sub(_ARGUMENT, "", error.remedy))
        if "encoding" in error.remedy:
            st.caption("The encoding is among the reading options.")
