"""The reader of tables of numbers: the meanings of columns, categories and constants, and a report at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import streamlit as st

from acvb_core.core.errors import AcvbError
from acvb_core.data.infer import DataKind
from acvb_core.data.report import ReadReport
from acvb_core.data.schema import Schema
from acvb_core.data.sources.values import value_kind
from acvb_core.data.table import Table
from acvb_core.data.table_build import inspect_table, load_table
from pages.ui.lfm.overview_table import show_first_rows
from pages.ui.upload.files import DataFile, rewind
from pages.ui.upload.kind import KindChoice
from pages.ui.upload.reader import Reader, column_choice, column_places, guess_prefix, name_columns

_READ = "table_read"
#: Places in the list of columns that stand for no column: the readers know better than a default.
_AUTO, _NONE = -2, -1
_CATEGORIES = {
    "leave-out": "leave them out",
    "one-hot": "code each category as 0 and 1",
    "refuse": "refuse the file",
}
_CONSTANTS = {"leave-out": "leave them out", "refuse": "refuse the file"}
#: Columns that are named in a sentence.
_NAMED = 5


@dataclass(frozen=True, eq=False)
class TableDraft:
    """A table as it would be loaded, and the report of the reading."""

    table: Table
    report: ReadReport

    def __repr__(self) -> str:
        """Return a constant: the choices decide the table."""
        return "table"


class TableReader(Reader):
    """Delimited text, files of columns, and those of NumPy and SciPy."""

    model = "lfm"
    kinds: ClassVar[dict[DataKind, str]] = {"table": "Table of numbers"}
    kind = "table"
    asks_format = False
    delimiters: ClassVar[dict[str, str]] = {
        ",": "comma",
        ";": "semicolon",
        "\t": "tab",
        "|": "bar |",
        " ": "space",
    }
    unit = "line"
    inspect_options: ClassVar[dict[str, Any]] = {"decimal": None, "missing": ""}

    def inspect(self, file: DataFile, looking: dict[str, Any]) -> Schema:
        """Propose how to read a file."""
        return inspect_table(file, file.name, **_reader_arguments(looking))

    def ask_how_to_inspect(self, prefix: str) -> None:
        """Draw the decimal sign and the signs for missing cells."""
        st.selectbox(
            "Decimal sign",
            [None, ".", ","],
            format_func=lambda sign: {None: "recognise it", ".": "point", ",": "comma"}[sign],
            key=f"{prefix}_decimal",
            persist_state="session",
        )
        st.text_input(
            "More signs for a missing cell",
            key=f"{prefix}_missing",
            placeholder="-999; unknown",
            persist_state="session",
            help="Blank, NA, N/A, NaN, null, none, ?, - and a single dot are known. Separate several with semicolons.",
        )

    def choose_options(self, schema: Schema, prefix: str) -> dict[str, Any]:
        """Draw the choice of columns that are left out, and of numbers that are categories."""
        if not schema.column_names:
            return {}
        columns = column_places(schema)
        own = guess_prefix(prefix, schema)
        return {
            "leave_out": _choose_several(schema, columns, "Columns to leave out", f"{own}_leave_out"),
            "category_columns": _choose_several(
                schema, columns, "Columns whose numbers are categories", f"{own}_category_columns"
            ),
        }

    def choose_columns(self, schema: Schema, prefix: str, choice: KindChoice) -> dict[str, Any]:
        """Draw the names and groups of the rows, and the treatment of the columns."""
        own = guess_prefix(prefix, schema)
        loading: dict[str, Any] = {}
        left, right = st.columns(2)
        if schema.column_names:
            with left:
                loading["row_labels"] = _choose_row_names(schema, own)
                loading["categories"] = _choose_policy(
                    "Columns of text", _CATEGORIES, f"{own}_categories", _CATEGORIES_HELP
                )
            with right:
                loading["label_column"] = _choose_groups(schema, own)
        with right:
            loading["constants"] = _choose_policy(
                "Constant columns", _CONSTANTS, f"{own}_constants", _CONSTANTS_HELP
            )
        if schema.column_names:
            _name_text_columns(schema, loading)
        image = st.text_input(
            "Pictures, height x width",
            key=f"{own}_image",
            placeholder="no pictures" if schema.column_names else "as the array has them",
            persist_state="session",
            help="Such as 8x8: the columns are the pixels of a picture, row by row. Features are then shown as "
            "pictures.",
        )
        loading["image"] = image.strip() or None
        loading["standardise"] = st.toggle(
            "Standardise the columns",
            True,
            key=f"{own}_standardise",
            persist_state="session",
            help="Runs work on columns of mean 0 and standard deviation 1, so that units do not matter. What they "
            "find is shown in the columns' own units. Turn it off if all columns have one unit.",
        )
        return loading

    def make_draft(
        self,
        file: DataFile,
        schema: Schema,
        looking: dict[str, Any],
        loading: dict[str, Any],
        prefix: str,
    ) -> TableDraft:
        """Read the table, once for each way to read it, and draw it."""
        key = repr((prefix, looking, loading))
        known = st.session_state.get(_READ)
        if known is None or known[0] != key:
            self.forget_draft()  # two large ones need not be held at once
            with st.spinner("Reading"):
                known = key, _read(file, looking, loading)
            st.session_state[_READ] = known
        draft: TableDraft | AcvbError = known[1]
        if isinstance(draft, AcvbError):
            raise draft
        _show_draft(draft)
        return draft

    def forget_draft(self) -> None:
        """Release the table."""
        st.session_state.pop(_READ, None)

    def load(
        self,
        file: DataFile,
        name: str | None,
        looking: dict[str, Any],
        loading: dict[str, Any],
        draft: TableDraft,
    ) -> tuple[Table, ReadReport]:
        """Return the table that was read, under its name."""
        return replace(draft.table, name=name or draft.table.name), draft.report


_CATEGORIES_HELP = (
    "Such as names or colours. Coded, each category becomes a column “name=category” of 1 and 0. Columns of yes "
    "and no, or true and false, are numbers in any case."
)
_CONSTANTS_HELP = (
    "A column with one value only says nothing. Constant pixels of pictures become their background."
)


def _reader_arguments(looking: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of the readers: the format is always recognised, signs stand in one line."""
    rest = {name: value for name, value in looking.items() if name not in ("format", "missing")}
    return rest | {"missing": [sign for part in looking["missing"].split(";") if (sign := part.strip())]}


def _read(file: DataFile, looking: dict[str, Any], loading: dict[str, Any]) -> TableDraft | AcvbError:
    """Return the table, or the error of the reading, so that it happens only once."""
    try:
        loaded = load_table(rewind(file), filename=file.name, **_reader_arguments(looking), **loading)
    except AcvbError as error:
        return error
    return TableDraft(loaded.data, loaded.report)


def _show_draft(draft: TableDraft) -> None:
    """Draw the report and the first rows of the table as it would be loaded."""
    st.markdown(f"**With these settings, it is a table of {draft.table.size_text}**")
    with st.container(gap="xsmall", key="table_report"):
        for line in draft.report.lines():
            st.text(f"• {line}")
    show_first_rows(draft.table)


def _choose_row_names(schema: Schema, own: str) -> Any:
    """Draw the choice of the column with the names of the rows; None: recognised, False: none."""
    places = column_places(schema)
    guess = (
        "none found" if schema.row_column is None else schema.column_names[schema.row_column] or "the first"
    )
    others = {_AUTO: f"recognise them ({guess})", _NONE: "none: numbered"}
    names = dict(enumerate(name_columns(schema, *others.values()))) | others
    chosen = st.selectbox(
        "Names of the rows",
        [_AUTO, _NONE, *places],
        format_func=names.__getitem__,
        key=f"{own}_row_labels",
        persist_state="session",
    )
    return {_AUTO: None, _NONE: False}.get(chosen, chosen)


def _choose_groups(schema: Schema, own: str) -> int | None:
    """Draw the choice of the column with the known groups of the rows."""
    groups = column_choice(
        schema, own, "Known groups", column_places(schema), _guess_groups(schema), "none",
        "A class or kind of each row, to look at beside the features. No run ever sees it.",
    )  # fmt: skip
    return None if groups is False else int(groups)


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


def _choose_policy(label: str, names: dict[str, str], key: str, help: str) -> str:
    chosen = st.selectbox(
        label, list(names), format_func=names.__getitem__, key=key, persist_state="session", help=help
    )
    return str(chosen)


def _choose_several(schema: Schema, places: Sequence[int], label: str, key: str) -> tuple[int, ...]:
    chosen = st.multiselect(
        label, places, format_func=name_columns(schema).__getitem__, key=key, persist_state="session"
    )
    return tuple(chosen)


def _name_text_columns(schema: Schema, loading: dict[str, Any]) -> None:
    """Name the columns that look like text."""
    row = schema.row_column if loading["row_labels"] is None else loading["row_labels"]
    others = {at for at in (row, loading["label_column"]) if at is not None and at is not False}
    text = [schema.column_names[place] for place in _list_text_columns(schema) if place not in others]
    if text:
        more = f" and {len(text) - _NAMED:,} more" if len(text) > _NAMED else ""
        st.text(f"Columns that hold text: {', '.join(text[:_NAMED])}{more}.")
