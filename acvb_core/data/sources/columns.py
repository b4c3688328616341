"""Columns of a file as people name them: by what the first line calls them, or by position."""

from __future__ import annotations

from typing import Any, Protocol

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
