"""Delimited text as batches of records, in bounded memory, with errors that name line and field."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acvb_core.data.sources import csv_kernel as kernel
from acvb_core.data.sources.byte_source import Utf8Stream
from acvb_core.errors import DataError, ParameterError

BLOCK_BYTES = 1 << 19
ONE_FIELD = ""  # the delimiter of a file in which every line is one field
DELIMITER_NAMES = {",": "comma", "\t": "tab", ";": "semicolon", "|": "vertical bar", " ": "space"}


@dataclass(frozen=True, eq=False)
class RecordBatch:
    """Some consecutive records, all with the same number of fields; void once the next batch is asked for.

    Attributes
    ----------
    text : uint8 array
        The fields' bytes (UTF-8, without quotes).
    starts, ends : int32 arrays, shape (n_records * n_fields,)
        Field f of record r is text[starts[r * n_fields + f] : ends[r * n_fields + f]].
    lines : int64 array, shape (n_records,)
        The 1-based line each record starts on.
    n_fields : int
    """

    text: NDArray[np.uint8]
    starts: NDArray[np.int32]
    ends: NDArray[np.int32]
    lines: NDArray[np.int64]
    n_fields: int

    @property
    def n_records(self) -> int:
        """Number of records."""
        return len(self.lines)

    @property
    def n_bytes(self) -> int:
        """An upper bound on the bytes of all fields together."""
        return len(self.text)

    def field(self, record: int, column: int) -> str:
        """Return one field (record and column are 0-based)."""
        at = record * self.n_fields + column
        return self.text[self.starts[at] : self.ends[at]].tobytes().decode("utf-8")

    def blank(self, column: int) -> NDArray[np.bool_]:
        """Return whether field `column` is empty, shape (n_records,)."""
        at = slice(column, self.n_records * self.n_fields, self.n_fields)
        return self.starts[at] == self.ends[at]

    def interleaved(self, *columns: int) -> RecordBatch:
        """Return the fields of some columns, record by record, as a batch of one field a record."""
        used = self.n_records * self.n_fields
        starts, ends = (
            side[:used].reshape(-1, self.n_fields)[:, columns].ravel() for side in (self.starts, self.ends)
        )
        return RecordBatch(self.text, starts, ends, np.repeat(self.lines, len(columns)), 1)

    def record(self, record: int) -> list[str]:
        """Return one record's fields."""
        return [self.field(record, column) for column in range(self.n_fields)]


class RecordReader:
    """Iterate over a file's records; every record must have as many fields as the first.

    Parameters
    ----------
    stream : Utf8Stream
    name : str
        What the user calls the file.
    delimiter : str
        One ASCII character, or ONE_FIELD.
    header : bool
        The first record holds column names: it goes to the attribute `header`, not into a batch.
    block_bytes : int
        Bytes read at a time.
    n_fields : int, optional
        Fields of a record (default: as many as the first has).
    on_fault : callable, optional
        Is told the fault of a broken line, which is then left out (default: the fault is raised).

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
        self._stream = stream
        self._name = name
        self._delimiter = delimiter
        self._code = delimiter_code(delimiter)
        self._wants_header = header
        self._block_bytes = block_bytes
        self._state = new_state(kernel.FROM_FIRST_RECORD if n_fields is None else n_fields)
        self._given_width = n_fields is not None
        self._on_fault = on_fault
        self._in_broken = False
        self.broken_lines = 0
        self.header: list[str] | None = None
        self.records = 0

    @property
    def lines_read(self) -> int:
        """Lines passed so far."""
        return int(self._state[kernel.LINE]) - 1

    @property
    def blank_lines(self) -> int:
        """Blank lines so far."""
        return int(self._state[kernel.BLANK_LINES])

    @property
    def comment_lines(self) -> int:
        """Comment lines above the data."""
        return int(self._state[kernel.COMMENT_LINES])

    @property
    def trimmed(self) -> int:
        """Fields so far that lost blanks around them."""
        return int(self._state[kernel.TRIMMED])

    def __iter__(self) -> Iterator[RecordBatch]:
        room = Workspace()
        rest = b""
        final = False
        while not final:
            # A record longer than a block: read as much again each time, so that the work stays linear.
            chunk = self._stream.read(max(self._block_bytes, len(rest)))
            final = not chunk
            block = np.frombuffer(rest + chunk, dtype=np.uint8)
            room.fit(len(block))
            done = self._behind_line(block, final) if self._in_broken else 0
            while not self._in_broken:
                left = block[done:]
                n_records, _, consumed, outcome, line, field, position = kernel.tokenise(
                    left,
                    final,
                    self._code,
                    self._state,
                    room.text,
                    room.starts,
                    room.ends,
                    room.first,
                    room.lines,
                )
                if n_records:
                    yield from self._batches(room, n_records)
                done += consumed
                if outcome == kernel.FINE:
                    break
                fault = self._error(outcome, line, field, position, left, consumed)
                if self._on_fault is None:
                    raise fault
                self._on_fault(fault)
                self.broken_lines += 1
                done += self._behind_line(block[done:], final)
            rest = block[done:].tobytes()

    def _behind_line(self, block: NDArray[np.uint8], final: bool) -> int:
        """Return where the line behind a broken one begins; all of the block where that is not in it."""
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

    def _batches(self, room: Workspace, n_records: int) -> Iterator[RecordBatch]:
        n_fields = int(self._state[kernel.EXPECTED])
        skip = 0
        whole = RecordBatch(room.text, room.starts, room.ends, room.lines[:n_records], n_fields)
        if self._wants_header and self.header is None:
            self.header = whole.record(0)
            skip = 1
        if n_records > skip:
            self.records += n_records - skip
            at = skip * n_fields
            yield RecordBatch(
                room.text, room.starts[at:], room.ends[at:], room.lines[skip:n_records], n_fields
            )

    def _error(
        self, outcome: int, line: int, field: int, position: int, block: NDArray[np.uint8], record_start: int
    ) -> DataError:
        if outcome == kernel.RAGGED:
            raw = (
                block[record_start : record_start + kernel.MAX_FIELD]
                .tobytes()
                .decode("utf-8", errors="replace")
            )
            return self._ragged(line, field, raw.splitlines()[0])
        return field_error(outcome, line, field, int(block[min(position, len(block) - 1)]), self._name)

    def _ragged(self, line: int, found: int, raw: str) -> DataError:
        expected = int(self._state[kernel.EXPECTED])
        fields = f"{expected:,} are expected" if self._given_width else f"the first has {expected:,}"
        what = f"this line has {found:,} field{'' if found == 1 else 's'} where {fields}"
        for other, other_name in DELIMITER_NAMES.items():
            if other not in (self._delimiter, " ") and raw.count(other) == expected - 1 and expected > 1:
                return DataError(
                    f"{what}: it is separated by {other_name}s, the file by "
                    f"{DELIMITER_NAMES.get(self._delimiter, repr(self._delimiter))}s",
                    source=self._name,
                    line=line,
                    value=raw,
                    remedy="Use one delimiter in the whole file.",
                )
        return DataError(
            what,
            source=self._name,
            line=line,
            column=min(found, expected) + 1,
            value=raw,
            remedy="Give every line the same number of fields; quote a field that holds the delimiter.",
        )


class Workspace:
    """The arrays that `tokenise` writes to, kept from block to block."""

    def __init__(self) -> None:
        self._allocate(0)

    def fit(self, n_bytes: int) -> None:
        """Make room for a block of `n_bytes`."""
        if n_bytes > len(self.text):
            self._allocate(n_bytes)

    def _allocate(self, n_bytes: int) -> None:
        self.text = np.empty(n_bytes, dtype=np.uint8)
        self.starts = np.empty(n_bytes + 1, dtype=np.int32)
        self.ends = np.empty(n_bytes + 1, dtype=np.int32)
        self.first = np.empty(n_bytes + 1, dtype=np.int32)
        self.lines = np.empty(n_bytes + 1, dtype=np.int64)


def new_state(expected: int) -> NDArray[np.int64]:
    """Return the running state of `tokenise` at the start of a file."""
    state = np.zeros(kernel.STATE_SLOTS, dtype=np.int64)
    state[kernel.LINE] = 1
    state[kernel.EXPECTED] = expected
    state[kernel.COMMENTS_OPEN] = 1
    return state


def delimiter_code(delimiter: str) -> int:
    """Return the byte `tokenise` looks for."""
    if delimiter == ONE_FIELD:
        return 255  # stands in no UTF-8 text
    if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n\0':
        raise ParameterError(f"A delimiter is one ASCII character such as , ; | or a tab, not {delimiter!r}.")
    return ord(delimiter)


def field_error(outcome: int, line: int, field: int, byte: int, name: str) -> DataError:
    """Return the error for a field that cannot be read."""
    place: dict[str, Any] = {"source": name, "line": line, "column": field}
    if outcome == kernel.CONTROL:
        what = "there is a NUL byte" if byte == 0 else f"there is a control character (byte 0x{byte:02x})"
        return DataError(
            what, **place, remedy="This is not plain text: save it as CSV, or choose utf-16 if it is that."
        )
    limit = f"{kernel.MAX_FIELD:,} bytes"
    if outcome == kernel.LONG:
        return DataError(
            f"a field is longer than {limit}",
            **place,
            remedy="Check the delimiter and the line ends; shorten labels.",
        )
    if outcome == kernel.LONG_QUOTED:
        what = f"a quote that opens here is not closed within {limit}"
        return DataError(what, **place, remedy="Close it, or double a literal quote.")
    if outcome == kernel.UNCLOSED:
        what = "a quote that opens here is never closed"
        return DataError(what, **place, remedy="Close it, or double a literal quote.")
    return DataError(
        "there is text after the closing quote of a field",
        **place,
        value=chr(byte) if byte < 128 else None,
        remedy="Put a delimiter after the quote, or double a literal quote.",
    )
