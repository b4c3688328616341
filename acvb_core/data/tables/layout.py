"""How a file of numbers is (or would be) read: delimiter, decimal sign, header, what each column holds."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from acvb_core.data.relations.guess import CORNER_NAMES
from acvb_core.data.relations.layout import PREVIEW_FIELDS, PREVIEW_ROWS
from acvb_core.data.relations.sniff import best_delimiter, read_head
from acvb_core.data.sources.byte_source import ByteSource, Utf8Stream
from acvb_core.data.sources.text_formats import refuse_text_format
from acvb_core.data.sources.values import MISSING_WORDS
from acvb_core.errors import DataError, ParameterError

#: What stands for a missing cell, in lower case: the other readers' signs and some that only tables of numbers have.
MISSING = MISSING_WORDS | {"-", "--", ".", "n.a.", "#n/a", "none", "<na>"}
_NUMBER = {
    decimal: re.compile(rf"[+-]?(\d+({mark}\d*)?|{mark}\d+)([eE][+-]?\d+)?", re.ASCII)
    for decimal, mark in ((".", r"\."), (",", ","))
}
_INFINITE = {f"{sign}{word}" for sign in ("", "+", "-") for word in ("inf", "infinity")}
#: So many whole numbers in a row, each one more than the last, are taken for names of columns.
_COUNTED = 4


@dataclass(frozen=True)
class TableLayout:
    """How a table is (or would be) read; columns are 0-based positions.

    Attributes
    ----------
    format : "text", "npy", "npz", "sparse npz", "array" or "frame"
    filename : str
    gzipped : bool
    encoding, delimiter, decimal : str or None
        None where it is no text.
    header : bool
        The first line holds names.
    column_names : tuple of str
        Of every column; "x1", "x2", … where the file has none.
    kinds : tuple of str
        What the head of each column holds: "numbers", "text", "mixed" or "missing".
    rows : tuple of tuples of str
        The first lines of data, at most PREVIEW_ROWS, each with as many fields as the table has columns (blank where
        the line has fewer), at most PREVIEW_FIELDS.
    n_fields : int
    row_column : int or None
        The column that may hold the rows' names; it does if no two are the same.
    """

    format: str
    filename: str
    gzipped: bool = False
    encoding: str | None = None
    delimiter: str | None = None
    decimal: str | None = None
    header: bool = False
    column_names: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    n_fields: int = 0
    row_column: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the layout as JSON-able values."""
        found = dict(self.__dict__)
        found |= {"column_names": list(self.column_names), "kinds": list(self.kinds)}
        return found | {"rows": [list(row) for row in self.rows]}


def inspect_text(
    source: ByteSource,
    *,
    encoding: str | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    header: bool | None = None,
    missing: frozenset[str] = frozenset(),
) -> TableLayout:
    """Look at the head of a delimited text; arguments that are not None are taken as given.

    Raises
    ------
    DataError
        The head is no table, or a table of one column.
    """
    if decimal not in (None, ".", ","):
        raise ParameterError(f"The decimal sign is '.' or ',', not {decimal!r}.")
    refuse_text_format(source)
    stream = Utf8Stream(source, encoding)
    delimiter, head = best_delimiter(*read_head(stream), delimiter, source.name)
    first = head.records[0]
    if head.usual < 2 or len(first) != head.usual:
        raise _no_columns(first, head.usual, source.name)
    if decimal == delimiter:
        raise ParameterError(f"{delimiter!r} cannot be the delimiter and the decimal sign.")
    records = [record for record in head.records if len(record) == head.usual]
    decimal = decimal or _guess_decimal(records, delimiter)
    signs = MISSING | missing
    named = guess_header(records, decimal, signs) if header is None else header
    body = records[named:]
    names = tuple(first) if named else tuple(f"x{i + 1}" for i in range(head.usual))
    kinds = tuple(kind_of([record[i] for record in body], decimal, signs) for i in range(head.usual))
    found = TableLayout(
        "text", source.name, source.gzipped, stream.encoding, delimiter, decimal, named, names, kinds
    )
    may_name = kinds[0] == "text" or (named and first[0].strip().lower() in CORNER_NAMES)
    return replace(
        found,
        rows=tuple(_shown(record, head.usual) for record in head.records[named:][:PREVIEW_ROWS]),
        n_fields=head.usual,
        row_column=0 if may_name else None,
    )


def _shown(record: Sequence[str], n_fields: int) -> tuple[str, ...]:
    fields = [*record, *("" for _ in range(n_fields - len(record)))]
    return tuple(fields[: min(n_fields, PREVIEW_FIELDS)])


def is_number(text: str, decimal: str = ".") -> bool:
    """Whether a field is a number, infinite ones included."""
    word = text.strip()
    return _NUMBER[decimal].fullmatch(word) is not None or word.lower() in _INFINITE


def is_infinite(text: str) -> bool:
    """Whether a field says that a number is infinite."""
    return text.strip().lower() in _INFINITE


def kind_of(fields: Sequence[str], decimal: str, missing: frozenset[str] = MISSING) -> str:
    """Return what fields of a column hold: "numbers", "text", "mixed" or "missing"."""
    known = [is_number(field, decimal) for field in fields if field.strip().lower() not in missing]
    if not known:
        return "missing"
    return "numbers" if all(known) else "mixed" if any(known) else "text"


def guess_header(records: Sequence[Sequence[str]], decimal: str, missing: frozenset[str] = MISSING) -> bool:
    """Whether the first record names the columns.

    It does where it is the only one and of text, where text stands above numbers (or more of them than of texts), where
    only the corner above the rows' names is blank, and where the names are whole numbers in a row (1960, 1961, …) and
    the next record is not.
    """
    first, body = records[0], records[1:]
    if not body:  # nothing but names is no row of numbers
        return not any(field.strip().lower() in missing or is_number(field, decimal) for field in first)
    if not first[0].strip() and all(field.strip() for field in first[1:]):
        return True
    for column, field in enumerate(first):
        text = field.strip().lower() not in missing and not is_number(field, decimal)
        if text and _mostly_numbers([record[column] for record in body], decimal, missing):
            return True
    return _counts_up(first) and not _counts_up(body[0])


def _mostly_numbers(fields: Sequence[str], decimal: str, missing: frozenset[str]) -> bool:
    known = [is_number(field, decimal) for field in fields if field.strip().lower() not in missing]
    return 2 * sum(known) > len(known)


def _counts_up(fields: Sequence[str]) -> bool:
    numbers = [field.strip() for field in fields[0 if fields[0].strip().isdecimal() else 1 :]]
    if len(numbers) < _COUNTED or not all(text.isascii() and text.isdecimal() for text in numbers):
        return False
    return all(int(b) == int(a) + 1 for a, b in zip(numbers, numbers[1:], strict=False))


def _guess_decimal(records: Sequence[Sequence[str]], delimiter: str) -> str:
    """Return "," where numbers have a comma and none has a point."""
    if delimiter == ",":
        return "."
    fields = [field.strip() for record in records for field in record]
    comma = any("," in field and _NUMBER[","].fullmatch(field) for field in fields)
    point = any("." in field and _NUMBER["."].fullmatch(field) for field in fields)
    return "," if comma and not point else "."


def _no_columns(first: Sequence[str], usual: int, name: str) -> DataError:
    if usual < 2:
        return DataError(
            "every line has one field only",
            source=name,
            line=1,
            value=first[0],
            remedy="Give a table with several columns, or say which delimiter separates them.",
        )
    return DataError(
        f"the first line has {len(first):,} field{'' if len(first) == 1 else 's'}, most lines have {usual:,}",
        source=name,
        line=1,
        remedy="Remove title lines above the data, and give every line the same number of fields.",
    )
