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
from acvb_core.data.relation_schema import CORNER_NAMES
from acvb_core.data.report import Fact
from acvb_core.data.schema import PREVIEW_ROWS, ColumnChoice, Schema
from acvb_core.data.sources.containers import open_records, reading_facts
from acvb_core.data.sources.frames import FrameChoices, FrameSource
from acvb_core.data.sources.parse import BLOCK_BYTES, read_head
from acvb_core.data.sources.source import ByteSource
from acvb_core.data.sources.values import MISSING_WORDS, LabelTable, RecordBatch
from acvb_core.data.table import LARGEST, Floats, ImageSize, find_infinite, parse_image_size

#: What stands for a missing cell, in lower case: the other readers' signs and some that only tables of numbers have.
MISSING = MISSING_WORDS | {"-", "--", ".", "n.a.", "#n/a", "none", "<na>"}
#: What a number looks like, by its decimal sign (in the syntax of Python and of RE2).
NUMBER = {
    decimal: rf"[+-]?([0-9]+({mark}[0-9]*)?|{mark}[0-9]+)([eE][+-]?[0-9]+)?"
    for decimal, mark in ((".", r"\."), (",", ","))
}
Header = Literal["auto"] | bool | None
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


def inspect_columns(source: ByteSource | FrameSource, options: TableOptions) -> Schema:
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
    return Schema(
        "table", container, *about, row_column=0 if may_name else None, decimal=decimal, kinds=kinds
    )


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


#: What is a number to people, but has separators of thousands, or a sign of per cent or of a currency.
DRESSED = re.compile(r"[+-]?[$€£¥]?\s*[+-]?\d[\d.,'’\s]*[%$€£¥]?")
UNDRESSED = "Write numbers without thousands separators and units."
#: Missing cells as they are mostly written: a batch in which there are no others is read in one go.
_BLANKS = pa.array([*MISSING, *map(str.upper, MISSING), *map(str.capitalize, MISSING), "NaN"])


@dataclass(frozen=True, eq=False)
class TextColumn:
    """A column of texts: the different ones, and each row's position among them, -1 where it is missing (int32)."""

    codes: NDArray[np.int32]
    texts: list[str]

    @classmethod
    def build(cls, codes: NDArray[Any], texts: Sequence[str], signs: frozenset[str]) -> TextColumn:
        """Return a column of the different `texts`; those among `signs`, and codes of -1, are missing."""
        stripped = [text.strip() for text in texts]
        kept = list(dict.fromkeys(text for text in stripped if text.lower() not in signs))
        place = {text: i for i, text in enumerate(kept)}
        at = np.array([*(place.get(text, -1) for text in stripped), -1], dtype=np.int32)
        return cls(at[codes], kept)

    def strings(self) -> list[str]:
        """Return each row's text, "" where it is missing."""
        return np.array([*self.texts, ""], dtype=object)[self.codes].tolist()


@dataclass(eq=False)
class RawTable:
    """Columns as they were read, and what each is for."""

    schema: Schema
    options: TableOptions
    #: Names and groups of the rows that stand beside the columns (an index, further arrays).
    rows: list[str] | None = None
    labels: list[str] | None = None
    #: Height and width, where rows are pictures.
    size: tuple[int, int] | None = None
    #: Shape (n_rows, n_columns); NaN where a cell is missing, and in columns of text.
    values: Floats = field(default_factory=lambda: np.empty((0, 0)))
    #: The columns of text by position.
    texts: dict[int, TextColumn] = field(default_factory=dict)
    facts: list[Fact] = field(default_factory=list)
    #: The line each row starts on (of the batch, as long as batches are read); None in an array.
    lines: NDArray[np.int64] | None = None
    header_line: int | None = None

    def __post_init__(self) -> None:
        schema, options = self.schema, self.options
        self.row_column = schema.position(options.row_labels)
        self.label_column = schema.position(options.label_column)
        self.categories, self.left_out = (
            {at for choice in choices if (at := schema.position(choice)) is not None}
            for choices in (options.category_columns, options.leave_out)
        )
        self.left_out -= {self.label_column}
        if options.row_labels is None and self.rows is None:
            self.row_column = schema.row_column
        if self.row_column in self.left_out | self.categories | {self.label_column}:
            self.row_column = None
        named = {at for at in (self.row_column, self.label_column) if at is not None}
        #: Columns that are texts whatever they hold.
        self.as_texts = named | self.categories - self.left_out
        codes = [sign.replace(",", ".") for sign in options.signs if is_number(sign, schema.decimal)]
        self._codes = np.array(codes, dtype=np.float64)

    def note(self, name: str, count: int, sentence: str, **details: Any) -> None:
        """Add a fact to the report."""
        self.facts.append(Fact(name, count, sentence, details))

    def place(self, row: int | None, column: int) -> dict[str, Any]:
        """Return where a cell stands (`row` None: in the header), for an error."""
        line = self.header_line if row is None else None if self.lines is None else int(self.lines[row])
        return {"source": self.schema.filename, "line": line, "column": column + 1}

    def drop_codes(self, values: Floats) -> Floats:
        """Return values in which the numbers that stand for a missing cell became NaN (in place)."""
        if len(self._codes):
            values[np.isin(values, self._codes)] = np.nan
        return values

    def take_as_text(self, column: int) -> None:
        """Make a column of numbers one of texts; whole numbers lose their point."""
        different, codes = np.unique(self.values[:, column], return_inverse=True)
        texts = [str(int(n)) if n == np.floor(n) and abs(n) < 2**53 else str(n) for n in different.tolist()]
        self.texts[column] = TextColumn.build(codes, texts, MISSING)

    def take_numbers(self, column: int) -> None:
        """Make a column of texts one of numbers if all of them are; DataError where only a few are not."""
        held, mark = self.texts[column], self.schema.decimal
        wrong = [code for code, text in enumerate(held.texts) if not is_number(text, mark)]
        if wrong and 2 * len(wrong) >= len(held.texts):
            return
        numbers = [] if wrong else [float(text.replace(mark, ".")) for text in held.texts]
        wrong += [code for code, number in enumerate(numbers) if abs(number) > LARGEST]
        if wrong:
            raise self.cell_fault(int((held.codes == wrong[0]).argmax()), column, held.texts[wrong[0]])
        self.values[:, column] = self.drop_codes(np.array([*numbers, np.nan])[held.codes])
        del self.texts[column]

    def refuse_infinite(self) -> None:
        """Raise DataError where a number is too large."""
        cell = find_infinite(self.values)
        if cell is not None:
            raise self.cell_fault(*cell, str(self.values[cell]).replace(".", self.schema.decimal))

    def cell_fault(self, row: int, column: int, value: str) -> DataError:
        """Return the error for a cell that is not a number, or one too large."""
        place, mark = self.place(row, column), self.schema.decimal
        what = f"there is text among the numbers of the column {self.schema.column_names[column]!r}"
        if is_number(value, mark) or value.lower().strip("+-") in ("inf", "infinity"):
            where = "" if self.lines is not None else f" (row {row + 1:,})"
            blank = "make it NaN, which is" if where else "leave it blank: blank cells are"
            what = f"a number of the column {self.schema.column_names[column]!r}{where} is infinite or above 1e+100"
            remedy = f"Correct the cell, or {blank} missing."
        elif "," in value and mark == "." and value.replace(",", "").strip("+-").isdigit():
            remedy = "Say that the file has a decimal comma (decimal=','), or write a decimal point."
        else:
            remedy = f"{UNDRESSED} Otherwise correct" if DRESSED.fullmatch(value.strip()) else "Correct"
            remedy += (
                " the cell, say that this stands for a missing one (missing), take the column as categories "
                "(category_columns), or leave it out (leave_out)."
            )
        return DataError(what, **place, value=value, remedy=remedy)


def read_columns(
    source: ByteSource | FrameSource, options: TableOptions, rows: list[str] | None = None
) -> RawTable:
    """Read every column as numbers or as texts; `rows` are names of the rows that stand beside the columns."""
    schema = inspect_columns(source, options)
    raw = RawTable(schema, options, rows)
    typed = []
    if isinstance(source, FrameSource):
        kinds = enumerate(column_types(source))
        typed = [i for i, kind in kinds if not is_text(kind) and i not in raw.as_texts | raw.left_out]
    used = [i for i in range(schema.n_fields) if i not in raw.left_out.union(typed)]
    # A column whose head is blank may hold anything further down.
    tables = {i: LabelTable() for i in used if i in raw.as_texts or schema.kinds[i] in ("text", "missing")}
    codes: dict[int, list[NDArray[np.int32]]] = {i: [] for i in tables}
    numeric = np.array([i for i in used if i not in tables], dtype=np.int64)
    blocks: list[Floats] = []
    lines: list[NDArray[np.int64]] = []
    records = open_records(
        source,
        schema.delimiter,
        encoding=options.encoding,
        header=schema.header,
        block_bytes=options.block_bytes,
        n_fields=schema.n_fields,
        used=used,
    )
    for batch in records:
        lines.append(batch.lines.copy())
        raw.lines = lines[-1]
        blocks.append(_read_numbers(batch, numeric, raw))
        for i, table in tables.items():
            codes[i].append(table.codes(batch, i))
    if not blocks:
        remedy = "Load a file with data in it, or say that its first line is data."
        raise DataError("the file holds column names and no data", source=source.name, line=1, remedy=remedy)
    raw.facts += reading_facts(records, schema)
    if schema.decimal == ",":
        raw.note("decimal_comma", 0, "Numbers are read with a decimal comma.")
    raw.values, raw.lines = np.concatenate(blocks), np.concatenate(lines)
    for i, table in tables.items():
        raw.texts[i] = TextColumn.build(np.concatenate(codes[i]), table.labels(), options.signs)
    if isinstance(source, FrameSource):
        _fill_typed(raw, source, typed)
    elif schema.header:
        raw.header_line = 1 + records.comment_lines
    return raw


def _read_numbers(batch: RecordBatch, columns: NDArray[np.int64], raw: RawTable) -> Floats:
    """Return a batch's cells, shape (n_records, n_fields), NaN in all but some columns; refuse what is not a number."""
    values = np.full((batch.n_records, batch.n_fields), np.nan)
    starts, ends = batch.starts[: values.size], batch.ends[: values.size]
    if (starts[1:] == ends[:-1]).all():  # a text: field follows field
        fields = _slice_text(batch.text, starts, ends)
        if len(columns) < batch.n_fields:
            at = np.arange(values.size).reshape(values.shape)[:, columns]
            fields = fields.take(pa.array(at.ravel()))
        values[:, columns] = _parse(fields, raw).reshape(batch.n_records, len(columns))
    else:  # a frame: row follows row in each of its columns
        for i in columns:
            fields = _slice_text(batch.text, starts[i :: batch.n_fields], ends[i :: batch.n_fields])
            values[:, i] = _parse(fields, raw)
    wrong = np.abs(raw.drop_codes(values)) > LARGEST
    if wrong.any():
        row, column = np.argwhere(wrong)[0].tolist()
        raise raw.cell_fault(row, column, batch.field(row, column))
    return values


def _slice_text(text: NDArray[np.uint8], starts: NDArray[np.int32], ends: NDArray[np.int32]) -> pa.Array:
    """Return fields of which each begins where the last one ends, as Arrow strings."""
    offsets = np.append(starts, ends[-1:])
    return pa.StringArray.from_buffers(len(starts), pa.py_buffer(offsets), pa.py_buffer(text))


def _parse(fields: pa.Array, raw: RawTable) -> Floats:
    """Return fields as the doubles that float() gives: NaN where one is missing, infinite where it is not a number."""
    decimal = raw.schema.decimal
    blank = pc.is_in(fields, _BLANKS)
    if decimal == ".":
        try:
            values = _floats(pc.if_else(blank, None, fields))
        except pa.ArrowInvalid:
            pass
        else:  # Arrow takes inf and -nan for numbers too
            if (np.isfinite(values) | blank.to_numpy(zero_copy_only=False)).all():
                return values
    number = pc.match_substring_regex(fields, f"^{NUMBER[decimal]}$")
    values = _floats(pc.replace_substring(pc.if_else(number, fields, None), decimal, ".")).copy()
    other = pc.invert(pc.or_(number, blank)).to_numpy(zero_copy_only=False)
    words = pc.utf8_lower(fields.filter(pa.array(other)))
    values[other] = np.where(pc.is_in(words, pa.array(raw.options.signs)), np.nan, np.inf)
    return values


def _floats(column: pa.Array) -> Floats:
    """Return numbers, whatever their type, as doubles; NaN where one is missing."""
    return pc.cast(column, pa.float64(), safe=False).to_numpy(zero_copy_only=False)


def _fill_typed(raw: RawTable, source: FrameSource, columns: list[int]) -> None:
    """Fill the columns of a frame that hold numbers, or true and false."""
    begin = 0
    for batch in source.frame.batches():
        for i in columns:
            kind = batch.column(i).type
            kind = kind.value_type if pa.types.is_dictionary(kind) else kind
            times = pa.types.is_temporal(kind)
            if times or not (
                pa.types.is_primitive(kind) or pa.types.is_decimal(kind) or pa.types.is_null(kind)
            ):
                held = "times" if times else f"values of the type {kind}"
                what = f"the column {raw.schema.column_names[i]!r} holds {held}"
                remedy = "Turn it into numbers, or leave it out (leave_out)."
                raise DataError(what, **raw.place(None, i), remedy=remedy)
            raw.values[begin : begin + batch.num_rows, i] = _floats(batch.column(i))
        begin += batch.num_rows
    raw.drop_codes(raw.values)
    raw.refuse_infinite()
