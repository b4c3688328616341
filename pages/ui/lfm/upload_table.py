"""The reader of tables of numbers: known groups that are guessed, and a report at once."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import streamlit as st

from acvb_core.core.errors import AcvbError
from acvb_core.data.infer import DataKind
from acvb_core.data.report import LoadedData
from acvb_core.data.schema import Schema
from acvb_core.data.sources.values import value_kind
from acvb_core.data.table import Table
from acvb_core.data.table_build import inspect_table, load_table
from pages.ui.lfm.overview_table import show_first_rows
from pages.ui.upload.files import DataFile, rewind
from pages.ui.upload.reader import DRAFT, Draft, OpenFile, Reader, ask_options, column_places, keep_last

#: Columns that are named in a sentence.
_NAMED = 5


class TableReader(Reader):
    """Delimited text, files of columns, and those of NumPy and SciPy."""

    model = "lfm"
    kinds: ClassVar[dict[DataKind, str]] = {"table": "Table of numbers"}
    kind = "table"
    inspector = staticmethod(inspect_table)

    def ask(self, opened: OpenFile) -> dict[str, Any]:
        """Draw the names and groups of the rows, and the treatment of the columns."""
        schema = opened.schema
        groups = _guess_groups(schema)
        loading = ask_options(opened, defaults={"label_column": groups})
        others = [loading.get("row_labels", schema.row_column), loading.get("label_column")]
        others = [at for at in others if at is not False]  # which equals the first column
        text = [schema.column_names[place] for place in _list_text_columns(schema) if place not in others]
        if text:
            more = f" and {len(text) - _NAMED:,} more" if len(text) > _NAMED else ""
            st.text(f"Columns that hold text: {', '.join(text[:_NAMED])}{more}.")
        return loading

    def prepare(self, opened: OpenFile) -> Draft:
        """Read the table, once for each way to read it, and draw it."""
        key = opened.prefix, repr(opened.options)
        found = keep_last(DRAFT, key, partial(_read, opened), "Reading")
        if isinstance(found, AcvbError):
            raise found
        st.markdown(f"**With these settings, it is a table of {found.data.size_text}**")
        with st.container(gap="xsmall", key="table_report"):
            for line in found.report.lines():
                st.text(f"• {line}")
        show_first_rows(found.data)
        return Draft(partial(_rename, found))


def _rename(found: LoadedData[Table], file: DataFile, name: str | None) -> LoadedData[Table]:
    return replace(found, data=replace(found.data, name=name or found.data.name))


def _read(opened: OpenFile) -> LoadedData[Table] | AcvbError:
    """Return the table, or the error of the reading, so that it happens only once."""
    try:
        return load_table(rewind(opened.file), **opened.options)
    except AcvbError as error:
        return error


def _guess_groups(schema: Schema) -> int | None:
    """Return the first column of text whose values come again, at least twice each on average."""
    for place in _list_text_columns(schema):
        values = [row[place] for row in schema.rows]
        if 1 < len(set(values)) <= len(values) / 2:
            return place
    return None


def _list_text_columns(schema: Schema) -> list[int]:
    """Return the columns that hold text; those of yes and no are numbers."""
    return [
        place
        for place in column_places(schema)
        if schema.kinds[place] == "text" and value_kind(row[place] for row in schema.rows) == "text"
    ]
