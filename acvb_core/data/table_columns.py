"""How a table is read: its schema, and its columns of numbers and of texts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from acvb_core.core.errors import DataError, ParameterError
from acvb_core.data.relation_schema import CORNER_NAMES, Records, no_data_fault
from acvb_core.data.report import Fact
from acvb_core.data.schema import ColumnChoice, Schema
from acvb_core.data.sources.containers import open_records, reading_facts
from acvb_core.data.sources.frames import FrameChoices, FrameSource, column_types, is_text_type
from acvb_core.data.sources.parse import BLOCK_BYTES, GUESS_RECORDS, read_head
from acvb_core.data.sources.source import ByteSource
from acvb_core.data.sources.values import (
    MISSING_WORDS,
    PLAIN,
    Floats,
    LabelTable,
    NumberStyle,
    ask_style,
    check_decimal,
    find_style,
    is_number,
)
from acvb_core.data.table import LARGEST, ImageSize, find_infinite, parse_image_size

#: Signs for a missing cell, in lower case: the other readers' signs and some that only tables of numbers have.
MISSING = MISSING_WORDS | {"-", "--", ".", "n.a.", "#n/a", "none", "<na>"}
CategoryPolicy = Literal["refuse", "one-hot", "leave-out"]
ConstantPolicy = Literal["refuse", "leave-out"]
#: For each field of the first records, whether it is a number; None if it is missing.
Marks = Sequence[Sequence[bool | None]]
#: So many whole numbers in a row, each one more than the last, are taken for names of columns.
_COUNTED = 4
_COUNT = re.compile(r"\s*[0-9]{1,18}\s*")
#: Ends the name of a column of ids: id, customer_id, userId; not paid.
_ID_NAME = re.compile(r"(^|[\W_])(id|ID|Id)$|[a-z](Id|ID)$")
#: Columns that are left out and kept as metadata, and different values in all of them, at most: about 300 MB.
MOST_METADATA, _MOST_DIFFERENT = 50, 2_000_000


@dataclass
class TableOptions:
    """The arguments of `load_table`, checked; what there may be several of is a tuple."""

    name: str | None = None
    header: Literal["auto"] | bool | None = None
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
        check_decimal(self.decimal)
        for name, known in (
            ("header", (None, "auto", True, False)),
            ("categories", get_args(CategoryPolicy)),
            ("constants", get_args(ConstantPolicy)),
        ):
            if getattr(self, name) not in known:
                listed = ", ".join(map(repr, known))
                raise ParameterError(f"{name} is one of {listed}, not {getattr(self, name)!r}.")
        for name in ("missing", "category_columns", "leave_out"):
            given = getattr(self, name)
            setattr(self, name, (given,) if isinstance(given, str | int) else tuple(given))
        self.size = parse_image_size(self.image)
        self.part = FrameChoices(self.sheet, self.table, self.query)
        #: Every sign for a missing cell, in lower case.
        self.signs = MISSING | {str(sign).strip().lower() for sign in self.missing}


def inspect_columns(source: ByteSource | FrameSource, options: TableOptions) -> Schema:
    """Guess from the first rows of a text or a frame how it is read; what the options say is taken as given."""
    header, typed = options.header, set[int]()
    if isinstance(source, FrameSource):
        container, head = source.frame.container, source.read_head(GUESS_RECORDS)
        typed = {i for i, kind in enumerate(column_types(source)) if not is_text_type(kind)}
        header = True if source.frame.named else header
    else:
        container, head = "text", read_head(source, options.encoding, options.delimiter)
    width = range(head.usual)

    def look(named: bool) -> tuple[NumberStyle, Marks]:
        columns = ([record[i] for record in head.records[named:]] for i in width if i not in typed)
        style = find_style(columns, options.decimal)
        styles = [PLAIN if i in typed else style for i in width]
        return style, [
            [
                None if field.strip().lower() in options.signs else is_number(field, one)
                for field, one in zip(record, styles, strict=True)
            ]
            for record in head.records
        ]

    named = header if isinstance(header, bool) else len(head.records) > 1
    style, marks = look(named)
    if not isinstance(header, bool) and _has_header(head.records, marks) != named:
        named = not named
        style, marks = look(named)
    kinds = (_judge_kind([mark[i] for mark in marks[named:] if mark[i] is not None]) for i in width)
    schema = Schema(
        "table",
        container,
        source.name,
        source.gzipped,
        head.encoding or None,
        head.delimiter or None,
        container=container,
        row_column=0 if _may_name_rows(source, head.records, marks, named) else None,
        decimal=style.decimal,
        thousands=style.thousands,
        kinds=tuple(kinds),
        title_lines=head.title_lines,
    )
    return schema.with_records(head.records, head.lines, header=named, unnamed="x{}")


def _judge_kind(marks: Sequence[bool | None]) -> str:
    """Return what a column holds, by whether its known fields are numbers."""
    if not marks:
        return "missing"
    return "numbers" if all(marks) else "mixed" if any(marks) else "text"


def _may_name_rows(source: ByteSource | FrameSource, records: Records, marks: Marks, named: bool) -> bool:
    """Return whether the first column may name the rows: texts, an index, or headed as names or as ids are."""
    name, *ids = (record[0].strip() for record in records)
    numbers = all(map(_COUNT.fullmatch, ids)) and len(set(ids)) == len(ids) > 2
    headed = name.lower() in CORNER_NAMES or (numbers and _ID_NAME.search(name) is not None)
    if isinstance(source, FrameSource):
        first = next(iter(column_types(source)), None)
        if first is None or not (is_text_type(first) or pa.types.is_integer(first)):
            return False
        headed |= source.frame.has_index
    return {mark[0] for mark in marks[named:]} - {None} == {False} or (named and headed)


def _has_header(records: Records, marks: Marks) -> bool:
    """Return whether the first record names the columns.

    It does if it is the only record and of text, if text is above a column that is mostly numbers, if only the corner
    above the rows' names is blank, or if it counts up (1960, 1961, …) and the next record does not.
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


#: Numbers with a sign of per cent or of a currency.
_WITH_UNIT = re.compile(r"[+-]?[$€£¥]?\s*[+-]?\d[\d.,'’\s]*[%$€£¥]?")


def advise_writing(texts: Sequence[str], style: NumberStyle, remedy: str) -> str:
    """Return the beginning of a remedy, after advice how to write numbers if these texts are numbers to people."""
    if not texts or not all(map(_WITH_UNIT.fullmatch, texts)):
        return remedy
    return f"{ask_style(texts[0], style) or 'Write numbers without units.'} Otherwise {remedy.lower()}"


@dataclass(eq=False)
class RawTable:
    """Columns as they were read, and what each is for."""

    schema: Schema
    options: TableOptions
    #: Names and groups of the rows, given apart from the columns (an index, further arrays).
    rows: list[str] | None = None
    labels: list[str] | None = None
    #: Height and width, if rows are pictures.
    size: tuple[int, int] | None = None
    #: Shape (n_rows, n_columns); NaN if a cell is missing, and in columns of text.
    values: Floats = field(default_factory=lambda: np.empty((0, 0)))
    #: The columns of text by position: str, "" if a cell is missing.
    texts: dict[int, NDArray[Any]] = field(default_factory=dict)
    facts: list[Fact] = field(default_factory=list)
    #: The line each row starts on (of the batch, as long as batches are read); None in an array.
    lines: NDArray[np.int64] | None = None
    header_line: int | None = None

    def __post_init__(self) -> None:
        position, options = self.schema.position, self.options
        self.label_column = position(options.label_column)
        self.categories, self.left_out = (
            {at for choice in choices if (at := position(choice)) is not None}
            for choices in (options.category_columns, options.leave_out)
        )
        self.left_out -= {self.label_column}
        guessed = options.row_labels is None and self.rows is None
        self.row_column = self.schema.row_column if guessed else position(options.row_labels)
        if self.row_column in self.left_out | self.categories | {self.label_column}:
            self.row_column = None
        #: Columns that are left out and kept as metadata.
        self.kept = set(sorted(self.left_out)[:MOST_METADATA])
        named = {at for at in (self.row_column, self.label_column) if at is not None}
        #: Columns that are texts whatever they hold.
        self.as_texts = named | self.categories | self.kept
        codes = (self.schema.style.number(sign) for sign in options.signs)
        self._codes = np.array([code for code in codes if np.isfinite(code)])

    def note(self, name: str, count: int, sentence: str, **details: Any) -> None:
        """Add a fact to the report."""
        self.facts.append(Fact(name, count, sentence, details))

    def place(self, row: int | None, column: int | None) -> dict[str, Any]:
        """Return the place of a cell (`row` None: in the header; `column` None: outside the columns), for an error."""
        line = self.header_line if row is None else None if self.lines is None else int(self.lines[row])
        place = {"source": self.schema.filename, "line": line}
        return place if column is None else {**place, "column": column + 1}

    def drop_codes(self, values: Floats) -> Floats:
        """Return values in which the numbers that mean a missing cell became NaN (in place)."""
        if len(self._codes):
            values[np.isin(values, self._codes)] = np.nan
        return values

    def take_texts(self, column: int, codes: NDArray[Any], texts: Sequence[str]) -> None:
        """Make a column one of texts: row i holds number codes[i] of the different ones; signs for missing are ""."""
        stripped = map(str.strip, texts)
        known = ["" if text.lower() in self.options.signs else text for text in stripped]
        self.texts[column] = np.array([*known, ""], dtype=object)[codes]

    def take_numbers(self, column: int) -> None:
        """Make a column of texts one of numbers if all of them are; DataError if only a few are not."""
        held = self.texts[column].tolist()
        numbers = {text: self.schema.style.number(text) for text in held if text}
        wrong = [text for text, number in numbers.items() if np.isnan(number)]
        if wrong and 2 * len(wrong) >= len(numbers):
            return
        wrong = wrong or [text for text, number in numbers.items() if abs(number) > LARGEST]
        if wrong:
            raise self.cell_fault(held.index(wrong[0]), column, wrong[0])
        self.values[:, column] = self.drop_codes(np.array([numbers.get(text, np.nan) for text in held]))
        del self.texts[column]

    def refuse_infinite(self) -> None:
        """Raise DataError if a number is too large."""
        cell = find_infinite(self.values)
        if cell is not None:
            raise self.cell_fault(*cell, str(self.values[cell]).replace(".", self.schema.decimal))

    def cell_fault(self, row: int, column: int, value: str) -> DataError:
        """Return the error for a cell that is not a number, or one too large."""
        name, style = self.schema.column_names[column], self.schema.style
        what = f"there is text among the numbers of the column {name!r}"
        remedy = ask_style(value, style)
        if not np.isnan(style.number(value)):
            where = "" if self.lines is not None else f" (row {row + 1:,})"
            blank = "make it NaN, which is" if where else "leave it blank: blank cells are"
            what = f"a number of the column {name!r}{where} is infinite or above 1e+100"
            remedy = f"Correct the cell, or {blank} missing."
        elif remedy:
            what = f"a number of the column {name!r} has an unexpected decimal or thousands sign"
        else:
            remedy = advise_writing([value.strip()], style, "Correct") + (
                " the cell, say that this means a missing one (missing), take the column as categories "
                "(category_columns), or leave it out (leave_out)."
            )
        return DataError(what, **self.place(row, column), value=value, remedy=remedy)


def read_columns(
    source: ByteSource | FrameSource, options: TableOptions, rows: list[str] | None = None
) -> RawTable:
    """Read every column as numbers or as texts; `rows` are names of the rows, given apart from the columns."""
    schema = inspect_columns(source, options)
    raw = RawTable(schema, options, rows)
    typed: dict[int, Any] = {}
    if isinstance(source, FrameSource):
        kinds = enumerate(column_types(source))
        typed = {i: kind for i, kind in kinds if not (is_text_type(kind) or pa.types.is_temporal(kind))}
        odd = {i for i in raw.kept & typed.keys() if not _is_numeric(typed[i])}
        raw.kept -= odd
        raw.as_texts -= odd
        typed = {i: kind for i, kind in typed.items() if i not in raw.as_texts | raw.left_out}
    used = sorted(set(range(schema.n_fields)) - (raw.left_out - raw.as_texts) - set(typed))
    # A column whose head is blank may hold anything further down.
    tables = {i: LabelTable() for i in used if i in raw.as_texts or schema.kinds[i] in ("text", "missing")}
    codes: dict[int, list[NDArray[np.int32]]] = {i: [] for i in tables}
    numeric = [i for i in used if i not in tables]
    blocks: list[Floats] = []
    lines: list[NDArray[np.int64]] = []
    records = open_records(
        source, schema, encoding=options.encoding, block_bytes=options.block_bytes, used=used
    )
    for batch in records:
        raw.lines = batch.lines.copy()
        values = np.full((batch.n_records, schema.n_fields), np.nan)
        if numeric:
            values[:, numeric] = raw.drop_codes(batch.numbers(numeric, schema.style, options.signs))
        if (wrong := np.abs(values) > LARGEST).any():
            row, column = np.argwhere(wrong)[0].tolist()
            raise raw.cell_fault(row, column, batch.field(row, column))
        for i, table in tables.items():
            codes[i].append(table.codes(batch, i))
        if sum(len(tables[i]) for i in raw.kept) > _MOST_DIFFERENT:
            raw.as_texts -= raw.kept
            tables = {i: table for i, table in tables.items() if i not in raw.kept}
            raw.kept = set()
        blocks.append(values)
        lines.append(raw.lines)
    if not blocks:
        raise no_data_fault(source.name)
    raw.facts += reading_facts(records, schema)
    raw.values, raw.lines = np.concatenate(blocks), np.concatenate(lines)
    for i, table in tables.items():
        raw.take_texts(i, np.concatenate(codes[i]), table.labels())
    if isinstance(source, FrameSource):
        _fill_typed(raw, source, typed)
    elif schema.header:
        raw.header_line = records.header_line
    return raw


def _is_numeric(kind: Any) -> bool:
    return pa.types.is_primitive(kind) or pa.types.is_decimal(kind) or pa.types.is_null(kind)


def _fill_typed(raw: RawTable, source: FrameSource, types: dict[int, Any]) -> None:
    """Fill the columns of a frame that hold numbers, or true and false."""
    for i, kind in types.items():
        if not _is_numeric(kind):
            what = f"the column {raw.schema.column_names[i]!r} holds values of the type {kind}"
            remedy = "Turn it into numbers, or leave it out (leave_out)."
            raise DataError(what, **raw.place(None, i), remedy=remedy)
    begin = 0
    for batch in source.frame.batches():
        for i in types:
            cells = pc.cast(batch.column(i), pa.float64(), safe=False).to_numpy(zero_copy_only=False)
            raw.values[begin : begin + batch.num_rows, i] = cells
        begin += batch.num_rows
    raw.drop_codes(raw.values)
    raw.refuse_infinite()
