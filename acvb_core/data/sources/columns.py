"""How the columns of a source are (or would be) read, and how people name them: by heading or by position."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from acvb_core.errors import DataError

#: Records and fields of each that a layout shows.
PREVIEW_ROWS = 20
PREVIEW_FIELDS = 30


@dataclass(frozen=True)
class FileLayout:
    """What is known of any source; columns are 0-based positions.

    Attributes
    ----------
    format : str
        Name of a row of the table of formats.
    filename : str
        Name the user knows the source by.
    gzipped : bool
    encoding, delimiter : str or None
        None where the format has none.
    header : bool
        The first line holds names.
    column_names : tuple of str
        The header's fields, or names such as "column 1", "column 2", …
    rows : tuple of tuples of str
        The first records of data, at most PREVIEW_ROWS.
    n_fields : int
        Fields in each record (0 where a record has no columns).
    container : str
        What holds the columns: "text", or that of a `Frame` ("parquet", "excel", …).
    """

    format: str
    filename: str
    gzipped: bool = False
    encoding: str | None = None
    delimiter: str | None = None
    header: bool = False
    column_names: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    n_fields: int = 0
    container: str = "text"

    @property
    def used_columns(self) -> set[int | None] | None:
        """The columns that are read; None: all, or whatever else the format has."""
        return None

    def to_dict(self) -> dict[str, Any]:
        """Return the layout as JSON-able values."""
        return {name: _plain(value) for name, value in self.__dict__.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value.to_dict() if hasattr(value, "to_dict") else value


def column_position(layout: FileLayout, choice: str | int | bool | None) -> int | None:
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
        return layout.column_names.index(choice)
    if not 0 <= choice < layout.n_fields:
        raise DataError(
            f"there is no column at position {choice} (counted from 0)",
            source=layout.filename,
            remedy=f"Choose among {column_list(layout)}.",
        )
    return int(choice)


def column_list(layout: FileLayout) -> str:
    """Return the names of the first columns, for a remedy."""
    return ", ".join(repr(name) for name in layout.column_names[:10]) or "the columns of another format"
