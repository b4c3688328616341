"""The format that is recognised of a file, and its first lines."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from acvb_core.data.options import find_option
from acvb_core.data.schema import Schema
from acvb_core.data.sources import formats
from pages.ui.upload.reader import name_columns

#: Pixels of a row of a table, and of a whole one at most.
_ROW_HEIGHT, _MOST_HEIGHT = 35, 245
#: Columns that are shown.
_MOST_COLUMNS = 100


def show_schema(schema: Schema) -> None:
    """Draw the recognised format, and the first lines of the file."""
    facts = [row.title for row in formats.formats_of(schema.kind) if row.name == schema.format]
    container = next(
        (row for row in formats.FORMATS if row.family == "columns" and row.name == schema.container), None
    )
    unit = "line" if container is None else "row"
    if container is not None and container.name != schema.format:
        facts.append(container.title)
    if schema.delimiter:
        delimiter = find_option("delimiter")
        words = delimiter.choices.get(schema.delimiter, "other") if delimiter is not None else ""
        facts += [f"{words}-separated", str(schema.encoding).removesuffix("-sig")]
    if schema.delimiter or (container is not None and "header" in container.options):
        facts.append(f"first {unit} holds names" if schema.header else f"no {unit} of names")
    if schema.gzipped:
        facts.append("gzipped")
    with st.container(horizontal=True, gap="xsmall"):
        st.badge("recognised", icon=":material/check:", color="green")
        for fact in facts:
            st.badge(fact, color="gray")
    if not schema.rows:
        return
    lines = schema.lines or range(1, len(schema.rows) + 1)
    rows = pd.DataFrame(
        [row[:_MOST_COLUMNS] for row in schema.rows],
        columns=name_columns(schema)[:_MOST_COLUMNS],
        index=pd.Index(lines, name=unit),
        dtype=str,
    )
    st.dataframe(rows, key="first_rows", height=min(_MOST_HEIGHT, _ROW_HEIGHT * (len(rows) + 1) + 2))
    if len(schema.rows[0]) > _MOST_COLUMNS:
        st.caption(f"The first {_MOST_COLUMNS} of {len(schema.rows[0]):,} columns.")
