"""Columns of a file as people name them: by what the first line calls them, or by position."""

from __future__ import annotations

from typing import Any, Protocol

from acvb_core.data.relations.layout import Layout
from acvb_core.errors import DataError


class NamedColumns(Protocol):
    """What is known of a file's columns."""

    @property
    def filename(self) -> str:
        """Name the user knows the file by."""
        ...

    @property
    def header(self) -> bool:
        """Whether the first line holds names."""
        ...

    @property
    def column_names(self) -> Any:
        """Name of each column."""
        ...

    @property
    def n_fields(self) -> int:
        """Number of columns."""
        ...


def column_position(layout: NamedColumns, choice: str | int | bool | None) -> int | None:
    """Return the 0-based position of a column given by name or position, None for False and None.

    Raises
    ------
    DataError
        There is no such column.
    """
    if choice is False or choice is None:
        return None
    if isinstance(choice, str):
        if not layout.header or choice not in layout.column_names:
            raise DataError(
                "there is no column of this name",
                source=layout.filename,
                line=1,
                value=choice,
                remedy=f"Choose among {column_list(layout)}.",
            )
        return int(layout.column_names.index(choice))
    if not 0 <= choice < layout.n_fields:
        raise DataError(
            f"there is no column at position {choice} (counted from 0)",
            source=layout.filename,
            remedy=f"Choose among {column_list(layout)}.",
        )
    return int(choice)


def column_list(layout: NamedColumns) -> str:
    """Return the names of the first columns, for a remedy."""
    return ", ".join(repr(name) for name in layout.column_names[:10]) or "the columns of another format"


def refuse_texts(layout: Layout) -> None:
    """Raise DataError where a column holds long texts, which may as well be documents, and nobody chose the columns."""
    at = layout.text_column
    if at is None or layout.row_column is None or layout.column_column is None:
        return
    # Without a line of names, columns are chosen by position.
    names = dict(enumerate(layout.column_names)) if layout.header else {}
    row, column, text = (names.get(i, i) for i in (layout.row_column, layout.column_column, at))
    first = layout.rows[0][at]
    told = repr(text) if layout.header else f"at position {at} (counted from 0)"
    raise DataError(
        f"the column {told} holds long texts, so this may be documents or links",
        source=layout.filename,
        value=first,
        remedy=f"To read documents, use load_corpus (text_column={text!r}). To read links, choose their columns: "
        f"(row_column={row!r}) (column_column={column!r}).",
    )
