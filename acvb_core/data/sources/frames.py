"""Columns of any origin as batches of records: data frames, and what containers give."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from acvb_core.core.errors import DataError
from acvb_core.data.names import is_numbering
from acvb_core.data.report import Fact, plural, tell_count
from acvb_core.data.sources.parse import CountedRecords, Head
from acvb_core.data.sources.source import ByteSource
from acvb_core.data.sources.values import RecordBatch

if TYPE_CHECKING:
    import pyarrow as pa


#: Rows that are turned into Arrow at a time, if a library gives Python values.
_ROWS = 1 << 14
#: Cells of such rows at most, but for one row.
_CELLS = 1 << 22
#: Names of sheets or tables that a message lists.
_SHOWN = 8


@contextmanager
def report_damage(
    source: ByteSource,
    what: str,
    *errors: type[Exception],
    remedy: str = "It may be damaged or truncated: save, copy or download it again.",
) -> Iterator[None]:
    """Turn what a library raises while it reads a file into a DataError."""
    reported: tuple[type[Exception], ...] = (*errors, OSError, UnicodeDecodeError)
    try:
        yield
    except DataError:
        raise
    except reported as problem:
        told = (str(problem).splitlines() or [type(problem).__name__])[0]
        raise source.fault(f"this is {what} that cannot be read ({told})", remedy) from None


def batch_texts(rows: Iterable[tuple[int, Sequence[str | None]]], width: int) -> Iterator[Any]:
    """Give rows of texts, each with its number, as record batches with the numbers behind the columns."""
    import pyarrow as pa

    names = [f"column {i + 1}" for i in range(width)]
    left = iter(rows)
    while part := list(itertools.islice(left, max(1, min(_ROWS, _CELLS // max(width, 1))))):
        columns = [pa.array([row[i] for _, row in part], pa.large_string()) for i in range(width)]
        lines = pa.array([number for number, _ in part], pa.int64())
        yield pa.RecordBatch.from_arrays([*columns, lines], names=[*names, LINES])


def write_cell(value: Any) -> str:
    """Return a value as text; a whole number without its point."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))  # a workbook, and often JSON, keeps every number as a float
    return str(value)


def name_parts(names: Sequence[str]) -> str:
    """Return the first names of sheets or tables, for a message."""
    shown = ", ".join(repr(name) for name in names[:_SHOWN])
    return f"{shown}, …" if len(names) > _SHOWN else shown or "none"


#: Rows of a batch; a batch of long texts is cut further, as its bytes are counted by int32.
BATCH_ROWS = 1 << 16
_MOST_BYTES = 1 << 28
#: Name of a column behind the others that numbers the rows, if not every row or line of a file comes in a batch.
LINES = "\0lines"
#: The sentence about fields that had blanks around their text.
TRIMMED = "{field} lost blanks around the text."


class FrameChoices(NamedTuple):
    """Part of a file with several that is read."""

    sheet: str | int | None = None  # of a workbook: a name, or a 0-based position
    table: str | None = None  # of a database: the name of a table or view
    query: str | None = None  # of a database: an SQL query that only reads


@dataclass(frozen=True, eq=False)
class Frame:
    """Columns as Arrow record batches."""

    container: str  # what the columns come from ("parquet", "excel", "frame", …)
    what: str  # the same in words, with the part that is read ("the sheet 'links' of a workbook")
    names: tuple[str, ...]  # of the columns; "column 1", "column 2", … where the container has none
    named: bool  # the container names its columns; of a workbook, the first row may hold names
    batches: Callable[[], Iterator[pa.RecordBatch]]  # from the first one, as often as it is called
    unit: str = "row"  # or "line": what an error counts
    n_rows: int | None = None  # None if only reading them all would tell
    has_index: bool = False  # the first column is the index of a data frame
    facts: tuple[Fact, ...] = ()  # what opening it found


class FrameSource:
    """A frame in the place of a `ByteSource`: its records are read by `open_records`.

    Errors that are raised inside its `with` block count rows and name columns.
    """

    head = b""
    gzipped = is_array = is_zip = False

    def __init__(
        self, frame: Frame, name: str, *, patient: bool = False, below: ByteSource | None = None
    ) -> None:
        self.frame = frame
        #: Names of the columns, for errors; those of a workbook are known once its first row was read as such.
        self.headings = frame.names if frame.named else ()
        self.name = name
        self.patient = patient
        self.cut_short: DataError | None = None
        self._below = below
        self.stem = name if below is None else below.stem

    def size(self) -> int:
        """Return the bytes of the file, 0 if there is none."""
        return 0 if self._below is None else self._below.size()

    def position(self) -> int:
        """Return how many bytes of the file were read."""
        return 0 if self._below is None else self._below.position()

    def close(self) -> None:
        """Close the file."""
        if self._below is not None:
            self._below.close()

    def __enter__(self) -> FrameSource:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.close()
        if isinstance(error, DataError) and (error.line is not None or error.column is not None):
            at = error.column
            if isinstance(at, int) and 0 < at <= len(self.headings):
                at = self.headings[at - 1] or at
            raise error.change_parts(column=at, unit=self.frame.unit) from None

    def read_head(self, count: int) -> Head:
        """Return the first rows as text, below the names of the columns where the frame has such."""
        found = [(0, list(self.frame.names))] if self.frame.named else []
        found += itertools.islice(self._rows(), count - len(found))
        return Head([row for _, row in found], tuple(line for line, _ in found), len(self.frame.names))

    def _rows(self) -> Iterator[tuple[int, list[str]]]:
        for batch in FrameRecords(self, strict=False):
            yield from zip(batch.lines.tolist(), batch.records(), strict=True)


class FrameRecords(CountedRecords):
    """The records of a frame, as `RecordReader` gives those of a text.

    With `header`, the first row holds names, unless the frame names its columns. Columns that are not `used` (default:
    all are) come out blank. So do columns of values that are no text (lists, bytes), unless `strict` refuses them.
    Blanks around a text are left out if `trim`.
    """

    comment_lines = 0

    def __init__(
        self,
        source: FrameSource,
        *,
        header: bool = False,
        used: Sequence[int] | None = None,
        strict: bool = True,
        trim: bool = True,
    ) -> None:
        super().__init__(header)
        self._source, self._strict, self._trim = source, strict, trim
        self._used = range(len(source.frame.names)) if used is None else used
        self.header = list(source.frame.names) if source.frame.named else None

    def __iter__(self) -> Iterator[RecordBatch]:
        for whole in self._source.frame.batches():
            for part in _slices(whole):
                first = self.lines_read + 1
                self.lines_read += part.num_rows
                data = list(self._take_header(self._batch(part, first)))
                if self.header is not None:
                    self._source.headings = tuple(self.header)
                yield from data

    @property
    def has_unnamed_index(self) -> bool:
        """Return whether the first column is the index of a data frame, which has no name."""
        return self._source.frame.has_index and not self._source.frame.names[0]

    def facts(self) -> list[Fact]:
        """Return what reading found, once the records were read to their end."""
        frame = self._source.frame
        read = Fact("lines", self.records, f"Read {plural(self.records, 'row')} of {frame.what}.")
        return [read, *frame.facts, *tell_count("trimmed", self.trimmed, TRIMMED)]

    def _batch(self, batch: pa.RecordBatch, first: int) -> RecordBatch:
        n_rows, n_fields = batch.num_rows, len(self._source.frame.names)
        starts = np.zeros((n_rows, n_fields), dtype=np.int32)
        ends = np.zeros((n_rows, n_fields), dtype=np.int32)
        pieces: list[NDArray[np.uint8]] = []
        size = 0
        for column in self._used:
            text, offsets = self._column_bytes(batch.column(column), column)
            starts[:, column], ends[:, column] = offsets[:-1] + size, offsets[1:] + size
            pieces.append(text)
            size += len(text)
        text = np.concatenate(pieces) if pieces else np.empty(0, dtype=np.uint8)
        if batch.schema.names[-1] == LINES:
            lines = batch.column(batch.num_columns - 1).to_numpy()
        else:
            lines = np.arange(first, first + n_rows, dtype=np.int64)
        return RecordBatch(text, starts.ravel(), ends.ravel(), lines, n_fields)

    def _column_bytes(self, array: pa.Array, column: int) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """Return a column as UTF-8, and where each row's field begins in it."""
        import pyarrow as pa
        import pyarrow.compute as pc

        text = read_texts(array, self._source, column, strict=self._strict)
        if text is None:
            return np.empty(0, dtype=np.uint8), np.zeros(len(array) + 1, dtype=np.int64)
        if self._trim and not (pa.types.is_integer(array.type) or pa.types.is_floating(array.type)):
            whole = text
            text = pc.utf8_trim_whitespace(whole)
            lost = pc.not_equal(pc.binary_length(text), pc.binary_length(whole))
            self.trimmed += int(pc.sum(lost).as_py() or 0)
        _, bounds, content = text.buffers()
        offsets = np.frombuffer(bounds, dtype=np.int64)[text.offset : text.offset + len(text) + 1]
        held = np.empty(0, dtype=np.uint8) if content is None else np.frombuffer(content, dtype=np.uint8)
        return held[offsets[0] : offsets[-1]], offsets - offsets[0]


def column_types(source: FrameSource) -> list[Any]:
    """Return the Arrow types of a frame's columns, of a dictionary that of its values; [] if it has no rows."""
    from pyarrow.types import is_dictionary

    schema: Any = next((batch.schema for batch in source.frame.batches()), [])
    types = [column.type for column in schema][: len(source.frame.names)]
    return [kind.value_type if is_dictionary(kind) else kind for kind in types]


def is_text_type(kind: Any) -> bool:
    """Return whether an Arrow type is one of texts."""
    from pyarrow import types

    return types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)


def _slices(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    rows = min(BATCH_ROWS, max(1, _CELLS // batch.num_columns))
    if batch.num_rows:
        rows = min(rows, max(1, int(batch.num_rows * _MOST_BYTES / max(batch.nbytes, 1))))
    for at in range(0, batch.num_rows, rows):
        yield batch.slice(at, rows)


def read_texts(array: pa.Array, source: FrameSource, column: int, *, strict: bool = True) -> Any:
    """Return a column (0-based) as texts, a missing cell as a blank one.

    Values that are no text give None, or a DataError if `strict`. Texts that are not UTF-8 are a DataError.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    def fault(what: str, remedy: str, value: str | None = None) -> DataError:
        what = f"this column holds {what}"
        return DataError(what, source=source.name, column=column + 1, value=value, remedy=remedy)

    try:
        if pa.types.is_dictionary(array.type):
            # Arrow cannot decode a dictionary of string views, which polars gives.
            array = pc.take(pc.cast(array.dictionary, pa.large_string()), array.indices)
        texts = pc.fill_null(pc.cast(array, pa.large_string()), "")
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        if not strict:
            return None
        what = f"values of the type {array.type}, not numbers, texts, dates or true / false"
        raise fault(what, "Choose other columns, or turn its values into texts.") from None
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid:  # whoever wrote the file said UTF-8 of bytes that are not
        # The first of them, with a sign in place of what cannot be decoded.
        cells: Iterator[bytes] = (cell.as_py() for cell in texts.cast(pa.large_binary()))
        pairs = ((cell, cell.decode(errors="replace")) for cell in cells)
        value = next((text for cell, text in pairs if text.encode() != cell), None)
        raise fault("a text that is not UTF-8", "Write the texts again, in UTF-8.", value) from None
    return texts


#: Numbers of an index that rows can be added to without leaving int64.
_LARGEST_INDEX = 1 << 30
#: The name that pandas writes for an index without one.
_UNNAMED = re.compile(r"__index_level_\d+__")
_PROTOCOLS = ("__arrow_c_stream__", "__arrow_c_array__", "__dataframe__")


def is_frame(source: Any) -> bool:
    """Return whether an object holds named columns: a frame of pandas, polars, pyarrow, duckdb or another library."""
    if isinstance(source, type):
        return False
    if type(source).__module__.startswith("polars") and not hasattr(source, "columns"):
        return False  # a series
    named = hasattr(source, "columns") or hasattr(source, "schema")  # as a reader of record batches
    return named and any(hasattr(source, name) for name in _PROTOCOLS)


def open_object(source: Any) -> Frame:
    """Return the columns of a data frame; one without rows or columns is a DataError.

    A pandas index becomes the first column, unless it only numbers the rows from 0 (`is_numbering`) and is not the same
    as the names of the columns.
    """
    import pyarrow as pa

    has_index = False
    kind = type(source).__module__.split(".")[0]
    try:
        if kind == "pandas":
            table, has_index = _of_pandas(source)
        elif hasattr(source, "__arrow_c_stream__") or hasattr(source, "__arrow_c_array__"):
            table = pa.table(source)
        else:
            from pyarrow.interchange import from_dataframe

            table = from_dataframe(source)
    except (pa.ArrowException, NotImplementedError, TypeError, ValueError) as problem:
        raise DataError(
            f"the columns of this {kind} object cannot be read ({problem})",
            source="the data frame",
            remedy="Give columns of numbers, texts, dates or true / false.",
        ) from None
    if not table.num_rows or not table.num_columns:
        raise DataError(
            f"the data frame has {table.num_rows:,} rows and {table.num_columns:,} columns",
            source="the data frame",
            remedy="Give at least one row and one column.",
        )

    frame = Frame(
        "frame",
        f"a {kind} data frame",
        tuple(table.column_names),
        True,
        lambda: iter(table.to_batches()),
        n_rows=table.num_rows,
        has_index=has_index,
    )
    return place_index(frame, table.schema)


def place_index(frame: Frame, schema: pa.Schema) -> Frame:
    """Return a frame of Arrow data with the index first that pandas wrote into them, if there is one.

    An index without a name that only numbers the rows from 0 is left out.
    """
    import pyarrow as pa

    try:
        index = (schema.pandas_metadata or {})["index_columns"]
        at = [schema.names.index(name) for name in index if isinstance(name, str)]
        numbers = [
            (str(one["name"] or ""), int(one["start"]), int(one["step"]))
            for one in index
            if isinstance(one, dict)
        ]
    except (LookupError, TypeError, ValueError):  # it is not of pandas
        return frame
    if not at:  # a numbering is not stored as a column
        return _place_numbers(frame, *numbers[0]) if len(numbers) == 1 else frame
    names = ["" if i in at and _UNNAMED.fullmatch(name) else name for i, name in enumerate(schema.names)]
    order = [*at, *(i for i in range(len(names)) if i not in at)]
    numbered = len(at) == 1 and not names[at[0]] and pa.types.is_integer(schema.types[at[0]])
    if numbered and _is_counted(frame.batches(), at[0]):
        at, order = [], order[1:]
    return replace(
        frame,
        names=tuple(names[i] for i in order),
        batches=lambda: (batch.select(order) for batch in frame.batches()),
        has_index=len(at) == 1,
    )


def _place_numbers(frame: Frame, name: str, start: int, step: int) -> Frame:
    """Return a frame with an index of evenly spaced numbers first, unless it has no name and counts from 0."""
    import pyarrow as pa

    if (name, start, step) == ("", 0, 1) or step == 0 or max(abs(start), abs(step)) > _LARGEST_INDEX:
        return frame

    def batches() -> Iterator[pa.RecordBatch]:
        first = start
        for batch in frame.batches():
            last = first + step * batch.num_rows
            index = pa.array(np.arange(first, last, step, dtype=np.int64))
            yield pa.RecordBatch.from_arrays([index, *batch.columns], names=["", *batch.schema.names])
            first = last

    return replace(frame, names=(name, *frame.names), batches=batches, has_index=True)


def _is_counted(batches: Iterator[pa.RecordBatch], column: int) -> bool:
    """Return whether a column counts from 0."""
    start = 0
    for batch in batches:
        values = batch.column(column).to_numpy(zero_copy_only=False)
        if not np.array_equal(values, np.arange(start, start + len(values))):
            return False
        start += len(values)
    return True


def _of_pandas(frame: Any) -> tuple[Any, bool]:
    """Return an Arrow table of a pandas frame, and whether its first column is the index."""
    import pyarrow as pa

    index = frame.index
    kept = not is_numbering(index) or index.equals(frame.columns)
    names = [str(name) for name in frame.columns]
    columns = [frame.iloc[:, i] for i in range(frame.shape[1])]
    arrays = [_array_of(column) for column in columns]
    if kept:
        levels = [index.get_level_values(i) for i in range(index.nlevels)]
        arrays = [_array_of(level.to_series()) for level in levels] + arrays
        names = ["" if name is None else str(name) for name in index.names] + names
    return pa.Table.from_arrays(arrays, names=names), kept and index.nlevels == 1


def _array_of(column: Any) -> Any:
    """Return a pandas series as an Arrow array; one of mixed objects, of periods or of intervals as texts."""
    import pandas as pd
    import pyarrow as pa

    try:
        array = pa.Array.from_pandas(column)
        kind = array.type.value_type if pa.types.is_dictionary(array.type) else array.type
        if not (pa.types.is_struct(kind) or isinstance(kind, pa.BaseExtensionType)):
            return array
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        pass
    missing = pd.isna(column)
    return pa.array([None if blank else str(value) for value, blank in zip(column, missing, strict=True)])
