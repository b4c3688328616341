"""Columns of any origin as batches of records: data frames, Parquet, Arrow, workbooks, JSON Lines, databases."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from acvb_core.data.report import Fact, plural
from acvb_core.data.sources.byte_source import ByteSource, FileLike, Utf8Stream
from acvb_core.data.sources.formats import FileLayout, Kind
from acvb_core.data.sources.records import BLOCK_BYTES, RecordBatch, RecordReader
from acvb_core.errors import DataError, ParameterError

if TYPE_CHECKING:
    import pyarrow as pa

#: Rows of a batch; a batch of long texts is cut further, as its bytes are counted by int32.
BATCH_ROWS = 1 << 16
_MOST_BYTES = 1 << 28
#: Name of a column behind the others that numbers the rows, where not every row or line of a file comes in a batch.
LINES = "\0lines"


class FrameChoices(NamedTuple):
    """Which part of a file with several is read.

    Attributes
    ----------
    sheet : str or int, optional
        Of a workbook: a name, or a 0-based position.
    table, query : str, optional
        Of a database: the name of a table or view, or an SQL query that only reads.
    """

    sheet: str | int | None = None
    table: str | None = None
    query: str | None = None


@dataclass(frozen=True, eq=False)
class Frame:
    """Columns as Arrow record batches.

    Attributes
    ----------
    container : str
        What the columns come from ("parquet", "excel", "frame", …).
    what : str
        The same in words, with the part that is read ("the sheet 'links' of a workbook").
    names : tuple of str
        Of the columns; "column 1", "column 2", … where the container has none.
    named : bool
        The container names its columns. A workbook does not: its first row may hold names.
    batches : callable
        Gives the record batches from the first one, as often as it is called.
    unit : "row" or "line"
        What an error counts.
    n_rows : int or None
        None where only reading them all would tell.
    has_index : bool
        The first column is the index of a data frame.
    parts : tuple of str
        Names of the sheets or tables that could be read.
    facts : tuple of Fact
        What opening it found.
    """

    container: str
    what: str
    names: tuple[str, ...]
    named: bool
    batches: Callable[[], Iterator[pa.RecordBatch]]
    unit: str = "row"
    n_rows: int | None = None
    has_index: bool = False
    parts: tuple[str, ...] = ()
    facts: tuple[Fact, ...] = ()


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
        #: Of the columns, for errors; those of a workbook are known once its first row was read as such.
        self.headings = frame.names if frame.named else ()
        self.name = name
        self.patient = patient
        self.cut_short: DataError | None = None
        self._below = below

    @property
    def stem(self) -> str:
        """The name without its last extensions."""
        return self.name if self._below is None else self._below.stem

    def size(self) -> int:
        """Return the bytes of the file, 0 where there is none."""
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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
        if isinstance(error, DataError) and (error.line is not None or error.column is not None):
            raise self._located(error) from None

    def first_rows(self, count: int) -> list[list[str]]:
        """Return the first rows as text, below the names of the columns where the frame has such."""
        found = [list(self.frame.names)] if self.frame.named else []
        for batch in FrameRecords(self, strict=False):
            found += [batch.record(i) for i in range(min(batch.n_records, count - len(found)))]
            if len(found) >= count:
                break
        return found

    def head_as_csv(self, limit: int) -> tuple[bytes, float]:
        """Return the first rows as comma-separated text of about `limit` bytes, and their share of all."""
        out = io.StringIO()
        writer = csv.writer(out)
        if self.frame.named:
            writer.writerow(self.frame.names)
        rows = 0
        for batch in FrameRecords(self, header=False, strict=False):
            for record in range(batch.n_records):
                writer.writerow(batch.record(record))
                rows += 1
                if out.tell() > limit:
                    total = self.frame.n_rows
                    share = self.position() / max(self.size(), 1) if total is None else rows / max(total, 1)
                    return out.getvalue().encode(), min(share, 1.0)
        return out.getvalue().encode(), 1.0

    def _located(self, error: DataError) -> DataError:
        at, names = error.column, self.headings
        in_names = isinstance(at, int) and 0 < at <= len(names) and names[at - 1]
        return DataError(
            error.what,
            source=error.source,
            line=error.line,
            column=names[at - 1] if in_names else at,  # type: ignore[operator]
            value=error.value,
            remedy=error.remedy,
            unit=self.frame.unit,
        )


class FrameRecords:
    """The records of a frame, as `RecordReader` gives those of a text.

    Parameters
    ----------
    source : FrameSource
    header : bool
        The first row holds names; of a frame that names its columns, these do, and no row is taken.
    used : collection of int, optional
        Columns that are looked at (default: all); the others come out blank.
    strict : bool
        A column of values that are no text (lists, bytes) is refused; otherwise it comes out blank.
    """

    comment_lines = blank_lines = broken_lines = 0

    def __init__(
        self,
        source: FrameSource,
        *,
        header: bool = False,
        used: Sequence[int] | None = None,
        strict: bool = True,
    ) -> None:
        self._source = source
        frame = source.frame
        self._strict = strict
        self._skip = header and not frame.named
        self._used = range(len(frame.names)) if used is None else used
        self.header: list[str] | None = list(frame.names) if frame.named else None
        self.records = self.lines_read = self.trimmed = 0

    def __iter__(self) -> Iterator[RecordBatch]:
        frame = self._source.frame
        for whole in frame.batches():
            for batch in _slices(whole):
                first = self.lines_read + 1
                self.lines_read += batch.num_rows
                found = self._batch(batch, first)
                if self._skip and found.n_records:
                    self._skip = False
                    self.header = found.record(0)
                    self._source.headings = tuple(self.header)
                    n = found.n_fields
                    found = RecordBatch(found.text, found.starts[n:], found.ends[n:], found.lines[1:], n)
                if found.n_records:
                    self.records += found.n_records
                    yield found

    def _batch(self, batch: pa.RecordBatch, first: int) -> RecordBatch:
        n_rows, n_fields = batch.num_rows, len(self._source.frame.names)
        starts = np.zeros((n_rows, n_fields), dtype=np.int32)
        ends = np.zeros((n_rows, n_fields), dtype=np.int32)
        pieces: list[NDArray[np.uint8]] = []
        size = 0
        for column in self._used:
            text, offsets, trimmed = _column_bytes(batch, column, self._source, self._strict)
            starts[:, column], ends[:, column] = offsets[:-1] + size, offsets[1:] + size
            pieces.append(text)
            size += len(text)
            self.trimmed += trimmed
        text = np.concatenate(pieces) if pieces else np.empty(0, dtype=np.uint8)
        if batch.schema.names[-1] == LINES:
            lines = batch.column(batch.num_columns - 1).to_numpy()
        else:
            lines = np.arange(first, first + n_rows, dtype=np.int64)
        return RecordBatch(text, starts.ravel(), ends.ravel(), lines, n_fields)


def _slices(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    rows = BATCH_ROWS
    if batch.num_rows:
        rows = min(rows, max(1, int(batch.num_rows * _MOST_BYTES / max(batch.nbytes, 1))))
    for at in range(0, batch.num_rows, rows):
        yield batch.slice(at, rows)


def read_texts(array: pa.Array, source: FrameSource, column: int, *, strict: bool = True) -> Any:
    """Return a column (0-based) as texts, a missing cell as a blank one; None for values that are no text.

    Raises
    ------
    DataError
        They are no text, and `strict`.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        if pa.types.is_dictionary(array.type):
            # Arrow cannot decode a dictionary of string views, which polars gives.
            array = pc.take(pc.cast(array.dictionary, pa.large_string()), array.indices)
        return pc.fill_null(pc.cast(array, pa.large_string()), "")
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        if not strict:
            return None
        raise DataError(
            f"this column holds values of the type {array.type}, not numbers, texts, dates or true / false",
            source=source.name,
            column=column + 1,
            remedy="Choose other columns, or turn its values into texts.",
        ) from None


def _column_bytes(
    batch: pa.RecordBatch, column: int, source: FrameSource, strict: bool
) -> tuple[NDArray[np.uint8], NDArray[np.int64], int]:
    """Return a column as UTF-8, where each row's field begins in it, and how many fields lost blanks around them.

    A missing cell is blank.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = batch.column(column).type
    text, trimmed = read_texts(batch.column(column), source, column, strict=strict), 0
    if text is None:
        return np.empty(0, dtype=np.uint8), np.zeros(batch.num_rows + 1, dtype=np.int64), 0
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        whole = text
        text = pc.utf8_trim_whitespace(whole)
        trimmed = int(pc.sum(pc.not_equal(pc.binary_length(text), pc.binary_length(whole))).as_py() or 0)
    _, bounds, content = text.buffers()
    offsets = np.frombuffer(bounds, dtype=np.int64)[text.offset : text.offset + len(text) + 1]
    held = np.empty(0, dtype=np.uint8) if content is None else np.frombuffer(content, dtype=np.uint8)
    return held[offsets[0] : offsets[-1]], offsets - offsets[0], trimmed


def open_source(
    source: FileLike | Any,
    filename: str | None = None,
    *,
    kind: Kind | None = None,
    patient: bool = False,
    choices: FrameChoices | None = None,
) -> ByteSource | FrameSource:
    """Open a file, bytes, or anything in memory that holds columns.

    Parameters
    ----------
    source : path, bytes, binary file object, or data frame
        A data frame is whatever has the Arrow stream or the dataframe protocol (pandas, polars, pyarrow, duckdb, …).
    filename : str, optional
        The name the user knows it by.
    kind, patient
        As for `ByteSource`.
    choices : FrameChoices, optional

    Raises
    ------
    DataError
        The file cannot be opened or is of a foreign format, or its sheet or table has to be chosen.
    ParameterError
        The source is nothing that is read, or has no sheets or tables to choose among.
    """
    from acvb_core.data.sources import columnar, objects

    choices = choices or FrameChoices()
    if objects.is_frame(source):
        _refuse_choices(choices, filename or "a data frame")
        return FrameSource(objects.open_object(source), filename or "the data frame", patient=patient)
    opened = ByteSource(source, filename, kind=kind, columns=True, patient=patient)
    try:
        frame = columnar.open_file(opened, choices)
        if frame is None:
            _refuse_choices(choices, opened.name)
            return opened
        return FrameSource(frame, opened.name, patient=patient, below=opened)
    except BaseException:
        opened.close()
        raise


def open_records(
    source: ByteSource | FrameSource,
    delimiter: str | None,
    *,
    encoding: str | None = None,
    header: bool = False,
    block_bytes: int = BLOCK_BYTES,
    n_fields: int | None = None,
    used: Sequence[int] | None = None,
    on_fault: Callable[[DataError], None] | None = None,
) -> RecordReader | FrameRecords:
    """Return the records of a delimited text or a frame.

    Parameters
    ----------
    source : ByteSource or FrameSource
    delimiter, encoding, block_bytes, n_fields, on_fault
        Of a text, as for `RecordReader`.
    header : bool
    used : sequence of int, optional
        Of a frame: the columns that are looked at.
    """
    if isinstance(source, FrameSource):
        return FrameRecords(source, header=header, used=used)
    assert delimiter is not None
    return RecordReader(
        Utf8Stream(source, encoding),
        source.name,
        delimiter,
        header=header,
        block_bytes=block_bytes,
        n_fields=n_fields,
        on_fault=on_fault,
    )


def frame_facts(source: FrameSource, records: FrameRecords) -> list[Fact]:
    """Return the facts about reading a frame, once its records were read to their end."""
    frame = source.frame
    facts = [
        Fact("lines", records.records, f"Read {plural(records.records, 'row')} of {frame.what}."),
        *frame.facts,
    ]
    if records.trimmed:
        told = f"{plural(records.trimmed, 'field')} lost blanks around the text."
        facts.append(Fact("trimmed", records.trimmed, told))
    return facts


def _refuse_choices(choices: FrameChoices, name: str) -> None:
    for option, value in choices._asdict().items():
        if value is not None:
            has = "sheets" if option == "sheet" else "tables"
            raise ParameterError(f"{name} has no {has}: leave out {option}={value!r}.")


def reading_facts(
    reader: RecordReader | FrameRecords, layout: FileLayout, source: ByteSource | FrameSource | None = None
) -> list[Fact]:
    """Return the facts about reading the columns, once they have been read to their end."""
    if isinstance(source, FrameSource) and isinstance(reader, FrameRecords):
        return [*frame_facts(source, reader), *_unused_columns(layout)]
    first = "names" if layout.header else "data"
    facts = [
        Fact(
            "lines",
            reader.lines_read,
            f"Read {plural(reader.lines_read, 'line')}; the first holds {first}.",
            {"header": layout.header, "delimiter": layout.delimiter, "encoding": layout.encoding},
        )
    ]
    if layout.encoding not in ("utf-8-sig", "utf-8"):
        facts.append(Fact("encoding", 0, f"The text was decoded as {layout.encoding}."))
    if reader.comment_lines:
        who = plural(reader.comment_lines, "line that starts", "lines that start")
        told = f"{who} with # or % above the data: passed over."
        facts.append(Fact("comment_lines", reader.comment_lines, told))
    if reader.blank_lines:
        blank = f"{plural(reader.blank_lines, 'blank line')}: passed over."
        facts.append(Fact("blank_lines", reader.blank_lines, blank))
    if reader.trimmed:
        facts.append(
            Fact("trimmed", reader.trimmed, f"{plural(reader.trimmed, 'field')} lost blanks around the text.")
        )
    return [*facts, *_unused_columns(layout)]


def _unused_columns(layout: FileLayout) -> list[Fact]:
    used = layout.used_columns
    unused = [] if used is None else [i for i in range(layout.n_fields) if i not in used]
    if not unused:
        return []
    names = ", ".join(
        layout.column_names[i] if i < len(layout.column_names) else f"column {i + 1}" for i in unused[:5]
    )
    more = ", …" if len(unused) > 5 else ""
    told = f"{plural(len(unused), 'column')} not used: {names}{more}."
    return [Fact("unused_columns", len(unused), told)]
