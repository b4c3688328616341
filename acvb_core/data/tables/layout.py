"""How a table is read: what the user says of it, and what its first rows show."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from acvb_core.core.errors import ParameterError
from acvb_core.data.relations.guess import CORNER_NAMES
from acvb_core.data.sources.byte_source import ByteSource
from acvb_core.data.sources.formats import PREVIEW_ROWS, FileLayout
from acvb_core.data.sources.frames import FrameChoices, FrameSource
from acvb_core.data.sources.records import BLOCK_BYTES
from acvb_core.data.sources.text_lines import read_head
from acvb_core.data.sources.values import MISSING_WORDS
from acvb_core.data.tables.image import ImageSize, parse_image_size

#: What stands for a missing cell, in lower case: the other readers' signs and some that only tables of numbers have.
MISSING = MISSING_WORDS | {"-", "--", ".", "n.a.", "#n/a", "none", "<na>"}
#: What a number looks like, by its decimal sign (in the syntax of Python and of RE2).
NUMBER = {
    decimal: rf"[+-]?([0-9]+({mark}[0-9]*)?|{mark}[0-9]+)([eE][+-]?[0-9]+)?"
    for decimal, mark in ((".", r"\."), (",", ","))
}
Header = Literal["auto"] | bool | None
ColumnChoice = str | int
CategoryPolicy = Literal["refuse", "one-hot", "leave-out"]
ConstantPolicy = Literal["refuse", "leave-out"]
#: What a column holds, by whether its known fields are numbers.
_KINDS: dict[frozenset[bool | None], str] = {
    frozenset(): "missing",
    frozenset({True}): "numbers",
    frozenset({False}): "text",
    frozenset({True, False}): "mixed",
}
#: So many whole numbers in a row, each one more than the last, are taken for names of columns.
_COUNTED = 4
_COUNT = re.compile(r"\s*[0-9]{1,18}\s*")
#: Ends the name of a column of ids: id, customer_id, userId; not paid.
_ID_NAME = re.compile(r"(^|[\W_])(id|ID|Id)$|[a-z](Id|ID)$")
#: Rows of a frame that are looked at.
_LOOKED_AT = 50


@dataclass(frozen=True)
class TableLayout(FileLayout):
    """How a table is (or would be) read.

    `format` is also "sparse npz", "array" or "frame". Columns without a name are "x1", "x2", …. A record of `rows` has
    as many fields as the table has columns, blank where the line has fewer.
    """

    decimal: str = "."
    kinds: tuple[str, ...] = ()  # what the head of each column holds: "numbers", "text", "mixed" or "missing"
    row_column: int | None = None  # may hold the rows' names; it does if no two are the same


@dataclass
class TableOptions:
    """The arguments of `load_table`, checked; what there may be several of is a tuple."""

    name: str | None = None
    header: Header = None
    row_labels: ColumnChoice | Literal[False] | None = None
    label_column: ColumnChoice | None = None
    missing: Iterable[str] = ()
    categories: CategoryPolicy = "refuse"
    category_columns: Iterable[ColumnChoice] = ()
    leave_out: Iterable[ColumnChoice] = ()
    constants: ConstantPolicy = "refuse"
    standardise: bool = True
    image: ImageSize = None
    encoding: str | None = None
    delimiter: str | None = None
    decimal: str | None = None
    sheet: str | int | None = None
    table: str | None = None
    query: str | None = None
    block_bytes: int = BLOCK_BYTES

    def __post_init__(self) -> None:
        if self.header not in (None, "auto", True, False):
            raise ParameterError(f"header is True, False or 'auto', not {self.header!r}.")
        if self.decimal not in (None, ".", ","):
            raise ParameterError(f"The decimal sign is '.' or ',', not {self.decimal!r}.")
        for name, policies in (("categories", CategoryPolicy), ("constants", ConstantPolicy)):
            if getattr(self, name) not in get_args(policies):
                known = ", ".join(map(repr, get_args(policies)))
                raise ParameterError(f"{name} is one of {known}, not {getattr(self, name)!r}.")
        for name in ("missing", "category_columns", "leave_out"):
            given = getattr(self, name)
            setattr(self, name, (given,) if isinstance(given, str | int) else tuple(given))
        self.size = parse_image_size(self.image)
        self.part = FrameChoices(self.sheet, self.table, self.query)
        #: Every sign for a missing cell, in lower case.
        self.signs = MISSING | {str(sign).strip().lower() for sign in self.missing}


def is_number(text: str, decimal: str = ".") -> bool:
    """Return whether a field is a finite number (as it is written: 1e999 is one)."""
    return re.fullmatch(NUMBER[decimal], text.strip()) is not None


def inspect_columns(source: ByteSource | FrameSource, options: TableOptions) -> TableLayout:
    """Guess from the first rows of a text or a frame how it is read; what the options say is taken as given."""
    encoding, delimiter, header = options.encoding, options.delimiter, options.header
    if isinstance(source, FrameSource):
        container, n_fields = source.frame.container, len(source.frame.names)
        head = source.first_rows(_LOOKED_AT)
        header = True if source.frame.named else header
    else:
        found = read_head(source, encoding, delimiter)
        container, n_fields, head = "text", found.usual, found.records
        encoding, delimiter = found.encoding, found.delimiter
        if options.decimal == delimiter:
            raise ParameterError(f"{delimiter!r} cannot be the delimiter and the decimal sign.")
    records = [record for record in head if len(record) == n_fields]
    decimal = options.decimal or _guess_decimal(records, delimiter)
    # Whether each field is a number; None where it is missing.
    marks = [
        [None if field.strip().lower() in options.signs else is_number(field, decimal) for field in record]
        for record in records
    ]
    named = header if isinstance(header, bool) else _has_header(records, marks)
    kinds = tuple(_KINDS[frozenset(mark[i] for mark in marks[named:]) - {None}] for i in range(n_fields))
    indexed = isinstance(source, FrameSource) and source.frame.has_index
    may_name = kinds[0] == "text" or indexed or (named and _heads_ids(records))
    if isinstance(source, FrameSource):
        from pyarrow import types

        first = next(iter(column_types(source)), None)
        may_name &= first is not None and (is_text(first) or types.is_integer(first))
    names = tuple(head[0]) if named else tuple(f"x{i + 1}" for i in range(n_fields))
    shown = tuple((*record, *[""] * n_fields)[:n_fields] for record in head[named : named + PREVIEW_ROWS])
    about = source.name, source.gzipped, encoding, delimiter, named, names, shown, n_fields, container
    return TableLayout(container, *about, decimal, kinds, 0 if may_name else None)


def _heads_ids(records: Sequence[Sequence[str]]) -> bool:
    """Return whether the first column is headed as names of rows are, or as ids are and holds ids: customer_id."""
    name, values = records[0][0].strip(), [record[0].strip() for record in records[1:]]
    if name.lower() in CORNER_NAMES:
        return True
    numbers = all(map(_COUNT.fullmatch, values)) and len(set(values)) == len(values) > 2
    return numbers and _ID_NAME.search(name) is not None


def column_types(source: FrameSource) -> list[Any]:
    """Return the Arrow types of a frame's columns, of a dictionary that of its values; [] where it has no rows."""
    from pyarrow.types import is_dictionary

    schema: Any = next((batch.schema for batch in source.frame.batches()), [])
    types = [column.type for column in schema][: len(source.frame.names)]
    return [kind.value_type if is_dictionary(kind) else kind for kind in types]


def is_text(kind: Any) -> bool:
    """Return whether an Arrow type is one of texts."""
    # Here: it takes a tenth of a second, which files without types need not wait for.
    from pyarrow import types

    return types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)


def _has_header(records: Sequence[Sequence[str]], marks: Sequence[Sequence[bool | None]]) -> bool:
    """Return whether the first record names the columns.

    It does where it is the only one and of text, where text stands above numbers (or more of them than of texts), where
    only the corner above the rows' names is blank, and where the names are whole numbers in a row (1960, 1961, …) and
    the next record is not.
    """
    if len(records) == 1:  # nothing but names is no row of numbers
        return all(mark is False for mark in marks[0])
    first, second = records[:2]
    if not first[0].strip() and all(field.strip() for field in first[1:]):
        return True
    for top, *below in zip(*marks, strict=True):
        known = [mark for mark in below if mark is not None]
        if top is False and 2 * sum(known) > len(known):
            return True
    return _counts_up(first) and not _counts_up(second)


def _counts_up(fields: Sequence[str]) -> bool:
    numbers = fields[0 if fields[0].strip().isdecimal() else 1 :]
    if len(numbers) < _COUNTED or not all(map(_COUNT.fullmatch, numbers)):
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
