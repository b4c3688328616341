"""The error of a file that cannot be read, its place, and what to do about it, as the page calls it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import streamlit as st

from acvb_core.core.errors import AcvbError, DataError
from acvb_core.data.options import find_option, rename_arguments

#: An argument of a library function that the page does not ask for: (broken="skip").
_ARGUMENT = r" \((?:\w+=[^()]*|\w+_\w+)\)"


def show_error(error: AcvbError, key: str = "problem", readers: Mapping[str, str] | None = None) -> None:
    """Draw an error, its place, the value found there and the remedy. Nothing of it is Markdown.

    Parameters
    ----------
    error : AcvbError
    key : str
        Of the box, if a page may have several.
    readers : mapping of str to str, optional
        Names of the kinds of data on the page, by the functions that load them.
    """
    with st.container(border=True, gap="xsmall", key=key):
        st.badge("We couldn't read this file with these settings", icon=":material/error:", color="red")
        if not isinstance(error, DataError):
            st.text(rename_arguments(str(error), _name_setting))
            return
        st.text(f"{error.what[:1].upper()}{error.what[1:]}.")
        unit = error.unit.capitalize()
        place = {"File": error.source, unit: error.line, "Column": error.column, "Found": error.value}
        with st.container(gap=None, key=f"{key}_place"):  # lines are broken where a window is narrow
            for name, at in place.items():
                if at is not None:
                    st.text(f"{name}: {at:,}" if isinstance(at, int) else f"{name}: {at}")
        st.text(name_settings(error.remedy, readers or {}))


def name_settings(remedy: str, readers: Mapping[str, str]) -> str:
    """Return a remedy that names the settings on the page in place of functions and arguments."""
    for function, kind in readers.items():
        remedy = re.sub(rf"\b{function}\b", f"“{kind}” above", remedy)
    return re.sub(_ARGUMENT, "", rename_arguments(remedy, _name_setting))


def _name_setting(name: str, value: Any) -> str | None:
    row = find_option(name)
    if row is None or not row.label:
        return None
    return f"“{row.label}”" if value in (None, ...) else f"“{row.label}: {row.words_of(value)}”"
