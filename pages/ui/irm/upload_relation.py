"""Reading relations and networks: their formats, columns and objects."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

import streamlit as st

from acvb_core.data.infer import DataKind
from acvb_core.data.relation import Relation
from acvb_core.data.relation_readers import inspect_source, load_relation
from acvb_core.data.relation_schema import COLUMN_FORMATS, GRAPH_FORMATS
from acvb_core.data.report import ReadReport
from acvb_core.data.schema import Schema
from pages.ui.irm.known_labels import carry_attributes
from pages.ui.irm.sides import SIDES, choose_sides
from pages.ui.upload.files import DataFile
from pages.ui.upload.kind import KindChoice
from pages.ui.upload.reader import Reader, column_choice, column_places, guess_prefix


class RelationReader(Reader):
    """Edge lists, matrices, sparse files and graph files."""

    model = "irm"
    kinds: ClassVar[dict[DataKind, str]] = {"relation": "Relation", "network": "Network"}
    kind = "relation"
    delimiters: ClassVar[dict[str, str]] = {
        ",": "comma",
        ";": "semicolon",
        "\t": "tab",
        "|": "bar |",
        " ": "space",
    }
    unit = "line"
    read_at_once = SIDES
    column_formats = COLUMN_FORMATS

    def inspect(self, file: DataFile, looking: dict[str, Any]) -> Schema:
        """Propose how to read a file."""
        return inspect_source(file, file.name, **looking)

    def choose_columns(self, schema: Schema, prefix: str, choice: KindChoice) -> dict[str, Any]:
        """Draw the meanings of the columns, and the threshold."""
        column = partial(column_choice, schema, guess_prefix(prefix, schema))
        places = column_places(schema)
        loading: dict[str, Any] = {}
        if schema.text_column is not None:
            st.warning(
                "A column holds long texts. To find topics in them, choose Texts above. To read links, choose the "
                "columns of their two objects here.",
                icon=":material/help:",
            )
        if schema.format == "edges":
            rows, columns, values = st.columns(3)
            loading["row_column"] = column("Row objects", places, schema.row_column, at=rows)
            loading["column_column"] = column("Column objects", places, schema.column_column, at=columns)
            none = "none: every line is a link"
            loading["value_column"] = column("Values", places, schema.value_column, none, at=values)
        elif schema.format == "matrix":
            loading["row_column"] = column("Row labels", [0], schema.row_column, "none")
        if schema.format != "edges" or loading.get("value_column") is not False:
            threshold = st.number_input(
                "Threshold",
                0.0,
                value=None,
                format="%g",
                placeholder="0",
                key=f"{guess_prefix(prefix, schema)}_threshold",
                persist_state="session",
                help="A number above the threshold is a link. Yes, no and signs for missing values are understood.",
            )
            # The 0 that is shown counts: typed columns of other values than 0 and 1 are not read without it.
            loading["threshold"] = 0.0 if threshold is None and schema.container != "text" else threshold
        return loading | choose_sides(prefix, choice)

    def choose_options(self, schema: Schema, prefix: str) -> dict[str, Any]:
        """Draw what the file cannot show: objects without links, and the meaning of pairs that are not listed."""
        loading: dict[str, Any] = {}
        if schema.format == "edges":
            missing = st.toggle(
                "Pairs not listed are unknown",
                key=f"{prefix}_unlisted",
                persist_state="session",
                help="Off: pairs that the file does not list count as not linked.",
            )
            loading["unlisted"] = "missing" if missing else "zero"
            rows, columns = st.columns(2, vertical_alignment="bottom")
            n_rows = rows.number_input(
                "Rows", 1, value=None, placeholder="as found", key=f"{prefix}_n_rows", persist_state="session"
            )
            n_columns = columns.number_input(
                "Columns",
                1,
                value=None,
                placeholder="as found",
                key=f"{prefix}_n_columns",
                persist_state="session",
            )
            if n_rows and n_columns:
                loading["shape"] = (int(n_rows), int(n_columns))
            st.caption(
                "If you give the size, labels must be numbers from 0. Objects without links then count, too."
            )
        if schema.format in GRAPH_FORMATS:
            weight = st.text_input(
                "Value of the links",
                key=f"{prefix}_weight",
                placeholder="weight or value, where there is one",
                persist_state="session",
                help="The name of the links' attribute that is compared with the threshold.",
            )
            return loading | ({"value_column": weight.strip()} if weight.strip() else {})
        for side in ("row", "column"):
            nodes = st.file_uploader(
                f"List of all {side} objects",
                key=f"{prefix}_{side}_nodes",
                help="One label per line, so that objects without links are included.",
            )
            if nodes is not None:
                loading[f"{side}_nodes"] = nodes.getvalue()
        return loading

    def load(
        self, file: DataFile, name: str | None, looking: dict[str, Any], loading: dict[str, Any], draft: None
    ) -> tuple[Relation, ReadReport]:
        """Read a file."""
        loaded = load_relation(file, filename=file.name, name=name, **looking, **loading)
        return loaded.data, loaded.report

    def carry_over(self, before: Any, data: Relation) -> Relation:
        """Return a relation that was read again, with the labels that were uploaded for the one before."""
        return carry_attributes(before, data) if isinstance(before, Relation) else data
