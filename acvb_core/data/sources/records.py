"""Delimited text as batches of records, in bounded memory, with errors that name line and field."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from acvb_core.core.errors import DataError, ParameterError
from acvb_core.data.report import plural
from acvb_core.data.sources import csv_kernel as kernel
from acvb_core.data.sources.byte_source import Utf8Stream

BLOCK_BYTES = 1 << 19
ONE_FIELD = ""  # the delimiter of a file in which every line is one field
DELIMITER_NAMES = {",": "comma", "\t": "tab", ";": "semicolon", "|": "vertical bar", " ": "space"}

_CLOSE = "Close it, or double a literal quote."
#: Fields of a line at most: each has a name, and a place in a preview.
MAX_FIELDS = 2_000_000
_FAULTS = {
    kernel.LONG: (
        f"a field is longer than {kernel.MAX_FIELD:,} bytes",
        "Check the delimiter and the line ends; shorten labels.",
    ),
    kernel.LONG_QUOTED: (f"a quote that opens here is not closed within {kernel.MAX_FIELD:,} bytes", _CLOSE),
    kernel.UNCLOSED: ("a quote that opens here is never closed", _CLOSE),
    kernel.AFTER_QUOTE: (
        "there is text after the closing quote of a field",
        "Put a delimiter after the quote, or double a literal quote.",
    ),
}


@dataclass(frozen=True, eq=False)
class RecordBatch:
    """Some consecutive records, all with the same number of fields; void once the next batch is asked for.

    Field f of record r is text[starts[r * n_fields + f] : ends[r * n_fields + f]].
    """

    text: NDArray[np.uint8]  # the fields' bytes (UTF-8, without quotes)
    starts: NDArray[np.int32]  # shape (>= n_records * n_fields,), as `ends`
    ends: NDArray[np.int32]
    lines: NDArray[np.int64]  # the 1-based line each record starts on, shape (n_records,)
    n_fields: int

    @property
    def n_records(self) -> int:
        """Number of records."""
        return len(self.lines)

    def field(self, record: int, column: int) -> str:
        """Return one field (record and column are 0-based)."""
        at = record * self.n_fields + column
        return self.text[self.starts[at] : self.ends[at]].tobytes().decode("utf-8")

    def record(self, record: int) -> list[str]:
        """Return one record's fields."""
        return [self.field(record, column) for column in range(self.n_fields)]

    def blank(self, column: int) -> NDArray[np.bool_]:
        """Return whether field `column` is empty, shape (n_records,)."""
        at = slice(column, self.n_records * self.n_fields, self.n_fields)
        return self.starts[at] == self.ends[at]

    def interleave(self, *columns: int) -> RecordBatch:
        """Return the fields of some columns, record by record, as a batch of one field a record."""
        used = self.n_records * self.n_fields
        starts, ends = (
            side[:used].reshape(-1, self.n_fields)[:, columns].ravel() for side in (self.starts, self.ends)
        )
        return RecordBatch(self.text, starts, ends, np.repeat(self.lines, len(columns)), 1)

    def without_first(self) -> RecordBatch:
        """Return the records below the first one."""
        n = self.n_fields
        return RecordBatch(self.text, self.starts[n:], self.ends[n:], self.lines[1:], n)


class CountedRecords:
    """Records on their way: how many there were, and the first one where it holds names, which is no data."""

    def __init__(self, header: bool) -> None:
        self._wants_header = header
        self.header: list[str] | None = None
        self.records = self.lines_read = self.trimmed = 0

    def _take_header(self, batch: RecordBatch) -> Iterator[RecordBatch]:
        """Yield the batch if it holds data, without the line of names, which goes to `header`."""
        if self._wants_header and self.header is None and batch.n_records:
            self.header = batch.record(0)
            batch = batch.without_first()
        if batch.n_records:
            self.records += batch.n_records
            yield batch


class RecordReader(CountedRecords):
    """Iterate over a file's records; every record must have `n_fields` fields, or as many as the first.

    With `header`, the first record holds column names: it goes to the attribute `header`, not into a batch. The fault
    of a broken line is raised, or told to `on_fault`, and then the line is left out.

    Attributes
    ----------
    header : list of str or None
    lines_read, records, blank_lines, comment_lines, trimmed, broken_lines : int
        Counts so far; `trimmed` counts fields that lost blanks around them, `broken_lines` those left out.
    """

    def __init__(
        self,
        stream: Utf8Stream,
        name: str,
        delimiter: str,
        *,
        header: bool = False,
        block_bytes: int = BLOCK_BYTES,
        n_fields: int | None = None,
        on_fault: Callable[[DataError], None] | None = None,
    ) -> None:
        super().__init__(header)
        self._stream = stream
        self._name = name
        self._delimiter = delimiter
        self._code = delimiter_code(delimiter)
        self._block_bytes = block_bytes
        self._state = kernel.new_state(kernel.FROM_FIRST_RECORD if n_fields is None else n_fields)
        self._given_width = n_fields is not None
        self._on_fault = on_fault
        self._in_broken = False
        self.blank_lines = self.comment_lines = self.broken_lines = 0

    def __iter__(self) -> Iterator[RecordBatch]:
        room = kernel.make_room(0)
        rest = b""
        final = False
        while not final:
            # A record longer than a block: read as much again each time, so that the work stays linear.
            chunk = self._stream.read(max(self._block_bytes, len(rest)))
            final = not chunk
            block = np.frombuffer(rest + chunk, dtype=np.uint8)
            if len(block) > len(room.text):
                room = kernel.make_room(len(block))
            done = self._behind_line(block, final) if self._in_broken else 0
            while not self._in_broken:
                n_records, _, consumed, *fault = kernel.tokenise(
                    block[done:], final, self._code, self._state, room
                )
                self._count()
                if n_records:
                    lines, n_fields = room.lines[:n_records], int(self._state[kernel.EXPECTED])
                    yield from self._take_header(
                        RecordBatch(room.text, room.starts, room.ends, lines, n_fields)
                    )
                done += consumed
                if fault[0] == kernel.FINE:
                    break
                error = self._error(block[done - consumed :], consumed, *fault)
                if self._on_fault is None:
                    raise error
                self._on_fault(error)
                self.broken_lines += 1
                done += self._behind_line(block[done:], final)
            rest = block[done:].tobytes()
        self._count()

    def _count(self) -> None:
        self.lines_read = int(self._state[kernel.LINE]) - 1
        self.blank_lines = int(self._state[kernel.BLANK_LINES])
        self.comment_lines = int(self._state[kernel.COMMENT_LINES])
        self.trimmed = int(self._state[kernel.TRIMMED])

    def _behind_line(self, block: NDArray[np.uint8], final: bool) -> int:
        """Return where the line behind a broken one begins; all of the block if it has none."""
        ends = np.flatnonzero((block == 10) | (block == 13))
        self._in_broken = not len(ends) and not final
        if not len(ends):
            return len(block)
        end = int(ends[0])
        if block[end] == 13:
            if end + 1 == len(block) and not final:  # the next block says whether a line feed belongs to it
                self._in_broken = True
                return end
            if end + 1 < len(block) and block[end + 1] == 10:
                end += 1
        self._state[kernel.LINE] += 1
        return end + 1

    def _error(
        self, block: NDArray[np.uint8], at: int, outcome: int, line: int, field: int, position: int
    ) -> DataError:
        """Return the error for the record that starts at `at`."""
        if outcome != kernel.RAGGED:
            return _field_error(self._name, block, outcome, line, field, position)
        raw = block[at : at + kernel.MAX_FIELD].tobytes().decode("utf-8", errors="replace").splitlines()[0]
        expected = int(self._state[kernel.EXPECTED])
        fields = f"{expected:,} are expected" if self._given_width else f"the first has {expected:,}"
        what = f"this line has {plural(field, 'field')} where {fields}"
        for other, other_name in DELIMITER_NAMES.items():
            if other not in (self._delimiter, " ") and raw.count(other) == expected - 1 and expected > 1:
                own = DELIMITER_NAMES.get(self._delimiter, repr(self._delimiter))
                what += f": it is separated by {other_name}s, the file by {own}s"
                remedy = "Use one delimiter in the whole file."
                return DataError(what, source=self._name, line=line, value=raw, remedy=remedy)
        remedy = "Give every line the same number of fields; quote a field that holds the delimiter."
        column = min(field, expected) + 1
        return DataError(what, source=self._name, line=line, column=column, value=raw, remedy=remedy)


class FirstRecords(NamedTuple):
    """The first records of a text, the number of fields of all that its head holds, and fields that lost blanks."""

    records: list[list[str]]
    counts: NDArray[np.int64]
    trimmed: int


def cut_head(head: bytes, whole: bool, delimiter: str, name: str, at_most: int) -> FirstRecords:
    """Return the first records of a text; it is a DataError that there are none, or that the first has a fault."""
    block = np.frombuffer(head, dtype=np.uint8)
    room = kernel.make_room(len(block))
    state = kernel.new_state(kernel.ANY_NUMBER)
    code = delimiter_code(delimiter)
    n_records, n_fields, _, outcome, *where = kernel.tokenise(block, whole, code, state, room)
    if outcome != kernel.FINE and n_records < 2:
        raise _field_error(name, block, outcome, *where)
    if n_records == 0 and whole:
        what = "the file holds no data, only blank or comment lines"
        raise DataError(what, source=name, remedy="Load a file with data in it.")
    if n_records == 0:
        what = f"the first line does not end within {len(head):,} bytes"
        remedy = "Check that this is a table of text with line ends."
        raise DataError(what, source=name, line=1, remedy=remedy)
    counts = np.diff(room.first[:n_records], append=n_fields)
    if counts.max() > MAX_FIELDS:
        raise TooManyFieldsError(int(counts.max()), name)
    shown = counts[:at_most]
    n_shown = int(shown.sum())
    fields = [
        room.text[start:end].tobytes().decode("utf-8")
        for start, end in zip(room.starts[:n_shown], room.ends[:n_shown], strict=True)
    ]
    bounds = [0, *np.cumsum(shown).tolist()]
    records = [fields[a:b] for a, b in zip(bounds, bounds[1:], strict=False)]
    return FirstRecords(records, counts, int(state[kernel.TRIMMED]))


class TooManyFieldsError(DataError):
    """A line has more fields than are read."""

    def __init__(self, n_fields: int, name: str) -> None:
        super().__init__(
            f"a line has {n_fields:,} fields; at most {MAX_FIELDS:,} are read",
            source=name,
            remedy="Check the delimiter and the line ends. Give links between so many objects as a list, one a line.",
        )


def delimiter_code(delimiter: str) -> int:
    """Return the byte that a text is cut at."""
    if delimiter == ONE_FIELD:
        return 255  # stands in no UTF-8 text
    if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n\0':
        raise ParameterError(f"A delimiter is one ASCII character such as , ; | or a tab, not {delimiter!r}.")
    return ord(delimiter)


def _field_error(
    name: str, block: NDArray[np.uint8], outcome: int, line: int, field: int, position: int
) -> DataError:
    byte = int(block[min(position, len(block) - 1)])
    value = None
    if outcome == kernel.CONTROL:
        what = "there is a NUL byte" if byte == 0 else f"there is a control character (byte 0x{byte:02x})"
        remedy = "This is not plain text: save it as CSV, or choose utf-16 if it is that."
    else:
        what, remedy = _FAULTS[outcome]
        if outcome == kernel.AFTER_QUOTE and byte < 128:
            value = chr(byte)
    return DataError(what, source=name, line=line, column=field, value=value, remedy=remedy)
