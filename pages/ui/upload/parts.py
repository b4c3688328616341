"""The choice of a sheet of a workbook, or of a table of a database."""

from __future__ import annotations

import hashlib
from typing import Any

import streamlit as st

from acvb_core.data.sources.containers import FileChoices, inspect_choices
from acvb_core.data.sources.frames import FrameChoices
from pages.ui.upload.files import DataFile, rewind

_KEPT = "upload_choices"


def inspect_file(file: DataFile, prefix: str) -> FileChoices:
    """Return the parts of a file that can be chosen; the file is inspected once."""
    known = st.session_state.get(_KEPT)
    if known is None or known[0] != prefix:
        known = st.session_state[_KEPT] = prefix, inspect_choices(rewind(file), file.name)
    found: FileChoices = known[1]
    return found


def choose_part(choices: FileChoices, prefix: str) -> dict[str, Any]:
    """Draw the choice among several sheets or tables, and a query of a database.

    Parameters
    ----------
    choices : FileChoices
    prefix : str
        Beginning of the keys of the file's widgets.

    Returns
    -------
    dict
        Arguments of the reader.
    """
    part: dict[str, Any] = {}
    if len(choices.parts) > 1:
        option = choices.options[0]
        part[option] = st.selectbox(
            option.capitalize(),
            choices.parts,
            index=choices.parts.index(choices.default or choices.parts[0]),
            key=f"{prefix}_part",
            persist_state="session",
        )
        if option == "sheet" and part[option] == choices.default:
            st.caption(
                "The sheet with most rows is open. Hidden sheets are left aside unless you choose one."
            )
    if "query" in choices.options:
        with st.expander("Write a query", icon=":material/database:", key=f"{prefix}_ask"):
            query = st.text_area(
                "Query",
                key=f"{prefix}_query",
                placeholder="SELECT person, item, amount FROM orders JOIN people USING (id)",
                persist_state="session",
                help="One SELECT in the SQL of SQLite. Its result is read instead of the table. "
                "Press Ctrl + Enter to run it.",
            ).strip()
        if query:
            return {"query": query}
    return part


def part_of(looking: dict[str, Any]) -> dict[str, Any]:
    """Return the sheet, table or query that was chosen, among the arguments of a reader."""
    return {name: looking[name] for name in FrameChoices._fields if name in looking}


def part_prefix(prefix: str, part: dict[str, Any]) -> str:
    """Return a prefix of keys that differs for each sheet or table, as each has choices of its own."""
    return f"{prefix}_{hashlib.sha256(repr(part).encode()).hexdigest()[:12]}" if part else prefix
