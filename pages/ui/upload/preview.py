"""The format that is recognised of a file, and its first lines."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from acvb_core.data.sources import formats
from pages.ui.upload.reader import Reader, name_columns

#: Pixels of a row of a table, and of a whole one at most.
_ROW_HEIGHT, _MOST_HEIGHT = 35, 245
#: Columns that are shown.
_MOST_COLUMNS = 100


def show_layout(reader: Reader, schema: Any) -> None:
    """Draw the recognised format, and the first lines of the file."""
    container = _container(schema)
    facts = [row.title for row in formats.formats_of(reader.kind) if row.name == schema.format]
    if container is not None:
        facts += [container.title] if container.name != schema.format else []
        if "header" in container.options:
            facts.append("first row holds names" if schema.header else "no row of names")
    if schema.delimiter:
        facts += [
            f"{reader.delimiters.get(schema.delimiter, 'other')}-separated",
            str(schema.encoding).removesuffix("-sig"),
        ]
        facts.append("first line holds names" if schema.header else "no line of names")
    if schema.gzipped:
        facts.append("gzipped")
    with st.container(horizontal=True, gap="xsmall"):
        st.badge("recognised", icon=":material/check:", color="green")
        for fact in facts:
            st.badge(fact, color="gray")
    if schema.rows:
        height = min(_MOST_HEIGHT, _ROW_HEIGHT * (len(schema.rows) + 1) + 2)
        st.dataframe(_preview_rows(reader, schema), key="first_rows", height=height)
        if len(schema.rows[0]) > _MOST_COLUMNS:
            st.caption(f"The first {_MOST_COLUMNS} of {len(schema.rows[0]):,} columns.")


def _container(schema: Any) -> formats.Format | None:
    """Return the format of a file of columns, None for text."""
    name = schema.container
    return next((row for row in formats.FORMATS if row.family == "columns" and row.name == name), None)


def _preview_rows(reader: Reader, schema: Any) -> pd.DataFrame:
    """Return the first lines of a file as a table."""
    container = _container(schema)
    # The names of a file of columns stand in no row of it.
    first = 2 if schema.header and (container is None or "header" in container.options) else 1
    return pd.DataFrame(
        [row[:_MOST_COLUMNS] for row in schema.rows],
        columns=name_columns(schema)[:_MOST_COLUMNS],
        index=pd.RangeIndex(
            first, first + len(schema.rows), name=reader.unit if container is None else "row"
        ),
        dtype=str,
    )
