"""Which sheet of a workbook, or which table of a database, is read."""

from __future__ import annotations

import hashlib
from typing import Any

import streamlit as st

from acvb_core.data.sources.columnar import FileChoices, inspect_choices
from acvb_core.data.sources.frames import FrameChoices
from pages.ui.upload.files import DataFile, rewind

_KEPT = "upload_choices"


def inspect_file(file: DataFile, prefix: str) -> FileChoices:
    """Return what can be chosen of a file; it is looked at once."""
    known = st.session_state.get(_KEPT)
    if known is None or known[0] != prefix:
        known = st.session_state[_KEPT] = prefix, inspect_choices(rewind(file), file.name)
    found: FileChoices = known[1]
    return found


def choose_part(choices: FileChoices, prefix: str) -> dict[str, Any]:
    """Draw the choice among several sheets or tables, and a query where one can be asked.

    Parameters
    ----------
    choices : FileChoices
    prefix : str
        What the keys of the file's widgets begin with.

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
            index=choices.parts.index(choices.first or choices.parts[0]),
            key=f"{prefix}_part",
            persist_state="session",
        )
    if "query" in choices.options:
        with st.expander("Write a query", icon=":material/database:", key=f"{prefix}_ask"):
            query = st.text_area(
                "Query",
                key=f"{prefix}_query",
                placeholder="SELECT person, item, amount FROM orders JOIN people USING (id)",
                persist_state="session",
                help="One SELECT in the SQL of SQLite. It only reads, and takes the place of the table. "
                "Press Ctrl + Enter to run it.",
            ).strip()
        if query:
            return {"query": query}
    return part


def part_of(looking: dict[str, Any]) -> dict[str, Any]:
    """Return which sheet, table or query was chosen, among the arguments of a reader."""
    return {name: looking[name] for name in FrameChoices._fields if name in looking}


def part_prefix(prefix: str, part: dict[str, Any]) -> str:
    """Return a prefix of keys: another sheet or table is a new question, whatever was chosen for the one before."""
    return f"{prefix}_{hashlib.sha256(repr(part).encode()).hexdigest()[:12]}" if part else prefix
