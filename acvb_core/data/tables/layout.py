"""How a table is read: the names and kinds of its columns, and what a text's delimiter and decimal sign are."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import pyarrow as pa

from acvb_core.data.relations.guess import CORNER_NAMES
from acvb_core.data.sources.byte_source import ByteSource
from acvb_core.data.sources.formats import PREVIEW_FIELDS, PREVIEW_ROWS, FileLayout, column_position
from acvb_core.data.sources.frames import FrameChoices, FrameSource
from acvb_core.data.sources.text_lines import read_head
from acvb_core.data.sources.values import MISSING_WORDS
from acvb_core.errors import ParameterError

#: What stands for a missing cell, in lower case: the other readers' signs and some that only tables of numbers have.
MISSING = MISSING_WORDS | {"-", "--", ".", "n.a.", "#n/a", "none", "<na>"}
#: What a number looks like, by its decimal sign (in the syntax of Python and of RE2).
NUMBER = {
    decimal: rf"[+-]?([0-9]+({mark}[0-9]*)?|{mark}[0-9]+)([eE][+-]?[0-9]+)?"
    for decimal, mark in ((".", r"\."), (",", ","))
}
ColumnChoice = str | int
CategoryPolicy = Literal["refuse", "one-hot", "leave-out"]
ConstantPolicy = Literal["refuse", "leave-out"]
#: So many whole numbers in a row, each one more than the last, are taken for names of columns.
_COUNTED = 4
#: Rows of a frame that are looked at.
_LOOKED_AT = 50


class Roles(NamedTuple):
    """What the user said of the columns, by position.

    Attributes
    ----------
    row_column : int, False or None
        Column of the rows' names; None: guessed.
    label_column : int or None
    categories, left_out : frozenset of int
    """

    row_column: int | Literal[False] | None
    label_column: int | None
    categories: frozenset[int]
    left_out: frozenset[int]

    @property
    def texts(self) -> frozenset[int]:
        """The columns that are read as texts whatever they hold."""
        named = {at for at in (self.row_column, self.label_column) if at is not None and at is not False}
        return self.categories | named


class TableOptions(NamedTuple):
    """What the user said of a source, before it is known which columns it has: the arguments of `load_table`.

    Attributes
    ----------
    name : str
        Empty: that of the source.
    image : (int, int) or None
    looking : mapping
        What is given and so not guessed: the arguments of `inspect_columns`.
    """

    name: str
    row_labels: ColumnChoice | Literal[False] | None
    label_column: ColumnChoice | None
    category_columns: tuple[ColumnChoice, ...]
    leave_out: tuple[ColumnChoice, ...]
    categories: CategoryPolicy
    constants: ConstantPolicy
    standardise: bool
    image: tuple[int, int] | None
    looking: Mapping[str, Any]
    parts: FrameChoices
    block_bytes: int

    def find_roles(self, layout: FileLayout) -> Roles:
        """Return the columns that were named, by position; DataError names one that is not there."""
        row = self.row_labels if self.row_labels is False else column_position(layout, self.row_labels)
        several = (
            frozenset(at for at in (column_position(layout, choice) for choice in chosen) if at is not None)
            for chosen in (self.category_columns, self.leave_out)
        )
        return Roles(row, column_position(layout, self.label_column), *several)


@dataclass(frozen=True)
class TableLayout(FileLayout):
    """How a table is (or would be) read.

    `format` is also "sparse npz", "array" or "frame". Columns without a name are "x1", "x2", …. A record of `rows` has
    as many fields as the table has columns, at most PREVIEW_FIELDS, blank where the line has fewer.

    Attributes
    ----------
    decimal : str or None
        The decimal sign of a text.
    kinds : tuple of str
        What the head of each column holds: "numbers", "text", "mixed", "missing", or another type, in words.
    row_column : int or None
        The column that may hold the rows' names; it does if no two are the same.
    """

    decimal: str | None = None
    kinds: tuple[str, ...] = ()
    row_column: int | None = None


def is_number(text: str, decimal: str = ".") -> bool:
    """Whether a field is a finite number (as it is written: 1e999 is one)."""
    return re.fullmatch(NUMBER[decimal], text.strip()) is not None


def kind_of(fields: Sequence[str], decimal: str = ".", missing: frozenset[str] = MISSING) -> str:
    """Return what fields of a column hold: "numbers", "text", "mixed" or "missing"."""
    known = [is_number(field, decimal) for field in fields if field.strip().lower() not in missing]
    if not known:
        return "missing"
    return "numbers" if all(known) else "mixed" if any(known) else "text"


def inspect_columns(
    source: ByteSource | FrameSource,
    *,
    encoding: str | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    header: bool | None = None,
    missing: frozenset[str] = frozenset(),
) -> TableLayout:
    """Look at the head of a delimited text or a frame; arguments that are not None are taken as given.

    Raises
    ------
    DataError
        The head of a text is no table, or a table of one column.
    """
    if decimal not in (None, ".", ","):
        raise ParameterError(f"The decimal sign is '.' or ',', not {decimal!r}.")
    if isinstance(source, FrameSource):
        format = container = source.frame.container
        n_fields = len(source.frame.names)
        head = source.first_rows(_LOOKED_AT)
        header = True if source.frame.named else header
    else:
        found = read_head(source, encoding, delimiter)
        format, container, n_fields, head = "text", "text", found.usual, found.records
        delimiter, encoding = found.delimiter, found.encoding
        if decimal == delimiter:
            raise ParameterError(f"{delimiter!r} cannot be the delimiter and the decimal sign.")
    records = [record for record in head if len(record) == n_fields]
    decimal = decimal or _guess_decimal(records, delimiter)
    signs = MISSING | missing
    named = _has_header(records, decimal, signs) if header is None else header
    kinds = tuple(kind_of([record[i] for record in records[named:]], decimal, signs) for i in range(n_fields))
    may_name = kinds[0] == "text" or (named and head[0][0].strip().lower() in CORNER_NAMES)
    if isinstance(source, FrameSource):
        first = column_types(source)[0]
        may_name &= pa.types.is_integer(first) or is_text(first)
    shown = [[*record, *[""] * n_fields][: min(n_fields, PREVIEW_FIELDS)] for record in head[named:]]
    return TableLayout(
        format,
        source.name,
        source.gzipped,
        encoding,
        delimiter,
        named,
        tuple(head[0]) if named else tuple(f"x{i + 1}" for i in range(n_fields)),
        tuple(map(tuple, shown[:PREVIEW_ROWS])),
        n_fields,
        container,
        decimal,
        kinds,
        0 if may_name else None,
    )


def column_types(source: FrameSource) -> list[Any]:
    """Return the Arrow types of a frame's columns, of a dictionary that of its values; [] where it has no rows."""
    schema: Any = next((batch.schema for batch in source.frame.batches()), [])
    types = [column.type for column in schema][: len(source.frame.names)]
    return [kind.value_type if pa.types.is_dictionary(kind) else kind for kind in types]


def is_text(kind: Any) -> bool:
    """Whether an Arrow type is that of texts."""
    return any(test(kind) for test in (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view))


def _has_header(records: Sequence[Sequence[str]], decimal: str, missing: frozenset[str]) -> bool:
    """Whether the first record names the columns.

    It does where it is the only one and of text, where text stands above numbers (or more of them than of texts), where
    only the corner above the rows' names is blank, and where the names are whole numbers in a row (1960, 1961, …) and
    the next record is not.
    """
    first, body = records[0], records[1:]
    texts = [field.strip().lower() not in missing and not is_number(field, decimal) for field in first]
    if not body:  # nothing but names is no row of numbers
        return all(texts)
    if not first[0].strip() and all(field.strip() for field in first[1:]):
        return True
    for column in (i for i, text in enumerate(texts) if text):
        below = [record[column] for record in body if record[column].strip().lower() not in missing]
        if 2 * sum(is_number(field, decimal) for field in below) > len(below):
            return True
    return _counts_up(first) and not _counts_up(body[0])


def _counts_up(fields: Sequence[str]) -> bool:
    numbers = [field.strip() for field in fields[0 if fields[0].strip().isdecimal() else 1 :]]
    if len(numbers) < _COUNTED or not all(text.isascii() and text.isdecimal() for text in numbers):
        return False
    return all(int(b) == int(a) + 1 for a, b in zip(numbers, numbers[1:], strict=False))


def _guess_decimal(records: Sequence[Sequence[str]], delimiter: str | None) -> str:
    """Return "," where numbers have a comma and none has a point."""
    if delimiter == ",":
        return "."
    fields = [field for record in records for field in record]
    comma = any("," in field and is_number(field, ",") for field in fields)
    point = any("." in field and is_number(field, ".") for field in fields)
    return "," if comma and not point else "."
