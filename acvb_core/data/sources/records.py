"""Delimited text as batches of records, in bounded memory, with errors that name line and field."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from acvb_core.data.sources.byte_source import Utf8Stream
from acvb_core.errors import DataError, ParameterError

MAX_FIELD = 10_000  # bytes; a longer field is nearly always an unclosed quote or not a table at all

# Outcomes of `tokenise`.
FINE, RAGGED, CONTROL, LONG, LONG_QUOTED, UNCLOSED, AFTER_QUOTE = range(7)

# Slots of the running state: where the next record starts and what was passed over on the way to it.
LINE, EXPECTED, BLANK_LINES, TRIMMED, COMMENT_LINES, COMMENTS_OPEN, STATE_SLOTS = range(7)

# Special values of state[EXPECTED].
FROM_FIRST_RECORD, ANY_NUMBER = -1, -2

_TAB, _NEWLINE, _RETURN, _SPACE, _QUOTE, _HASH, _PERCENT = 9, 10, 13, 32, 34, 35, 37


@njit(nogil=True, cache=True)
def tokenise(
    block: Any,
    final: Any,
    delimiter: Any,
    state: Any,
    text: Any,
    starts: Any,
    ends: Any,
    first: Any,
    lines: Any,
) -> Any:
    """Cut a block of UTF-8 bytes into fields.

    Blanks around an unquoted field are trimmed, "" inside quotes is one quote, a quote inside an unquoted field
    is an ordinary character. Blank lines are passed over, and so are lines that start with # or % before the
    first record. A line ends at LF, CR LF or CR. With a space as delimiter, a run of spaces is one delimiter.

    Parameters
    ----------
    block : uint8 array, shape (n,)
    final : bool
        Nothing follows this block.
    delimiter : int
        One ASCII code, or 255 (which no UTF-8 text holds) for "one field a line".
    state : int64 array, shape (STATE_SLOTS,)
        Updated in place.
    text : uint8 array, shape (>= n,)
        Receives the fields' bytes without quotes and blanks.
    starts, ends : int32 arrays, shape (>= n + 1,)
        Receive each field's place in `text`.
    first, lines : int32 / int64 arrays, shape (>= n + 1,)
        Receive each record's first field and the 1-based line it starts on.

    Returns
    -------
    n_records, n_fields, consumed, outcome, line, field, position : int
        When `outcome` is not FINE the last three say where: line and field are 1-based (for RAGGED, `field` is
        the number of fields found), `position` is the offending byte (for RAGGED, the record's first byte).
    """
    n = block.shape[0]
    position = 0
    n_fields = 0
    n_records = 0
    written = 0
    while position < n:
        record_start = position
        record_line = state[LINE]
        line = record_line
        record_field = n_fields
        record_written = written
        trimmed = 0
        quoted = False
        complete = False

        if state[COMMENTS_OPEN] == 1 and (block[position] == _HASH or block[position] == _PERCENT):
            while position < n and block[position] != _NEWLINE and block[position] != _RETURN:
                position += 1
            if position >= n and not final:
                return n_records, n_fields, record_start, FINE, 0, 0, 0
            if position + 1 >= n and not final:
                return n_records, n_fields, record_start, FINE, 0, 0, 0
            if position + 1 < n and block[position] == _RETURN and block[position + 1] == _NEWLINE:
                position += 1
            position += 1
            state[LINE] += 1
            state[COMMENT_LINES] += 1
            continue

        while True:
            field = n_fields - record_field + 1
            blank_from = position
            while position < n and _is_blank(block[position], delimiter):
                position += 1
            skipped = position > blank_from and delimiter != _SPACE
            field_start = written
            if position < n and block[position] == _QUOTE:
                quoted = True
                open_line = line
                position += 1
                closed = False
                while position < n:
                    c = block[position]
                    if c == _QUOTE:
                        if position + 1 < n and block[position + 1] == _QUOTE:
                            position += 1
                        elif position + 1 >= n and not final:
                            break  # the next block decides whether this quote is doubled
                        else:
                            closed = True
                            position += 1
                            break
                    elif c == _NEWLINE:
                        line += 1
                    elif c == _RETURN:
                        if position + 1 < n and block[position + 1] != _NEWLINE:
                            line += 1
                    elif _is_control(c):
                        return n_records, n_fields, record_start, CONTROL, line, field, position
                    text[written] = c
                    written += 1
                    position += 1
                    if written - field_start > MAX_FIELD:
                        return n_records, n_fields, record_start, LONG_QUOTED, open_line, field, position
                if not closed:
                    if final:
                        return n_records, n_fields, record_start, UNCLOSED, open_line, field, position
                    break
                while position < n and _is_blank(block[position], delimiter) and delimiter != _SPACE:
                    position += 1
                if position < n:
                    c = block[position]
                    if c != delimiter and c != _NEWLINE and c != _RETURN:
                        return n_records, n_fields, record_start, AFTER_QUOTE, line, field, position
            else:
                while position < n:
                    c = block[position]
                    if c == delimiter or c == _NEWLINE or c == _RETURN:
                        break
                    if _is_control(c):
                        return n_records, n_fields, record_start, CONTROL, line, field, position
                    text[written] = c
                    written += 1
                    position += 1
                    if written - field_start > MAX_FIELD:
                        return n_records, n_fields, record_start, LONG, line, field, position
                before_trim = written
                while written > field_start and _is_blank(text[written - 1], delimiter):
                    written -= 1
                if (skipped or written < before_trim) and written > field_start:
                    trimmed += 1
            starts[n_fields] = field_start
            ends[n_fields] = written
            n_fields += 1

            if position >= n:
                complete = final
                break
            if block[position] == delimiter:
                position += 1
                if delimiter != _SPACE:
                    continue
                while position < n and block[position] == _SPACE:
                    position += 1
                if position >= n:
                    complete = final
                    break
                if block[position] != _NEWLINE and block[position] != _RETURN:
                    continue
            if block[position] == _RETURN:
                if position + 1 >= n and not final:
                    break
                if position + 1 < n and block[position + 1] == _NEWLINE:
                    position += 1
            position += 1
            line += 1
            complete = True
            break

        if not complete:
            return n_records, record_field, record_start, FINE, 0, 0, 0
        found = n_fields - record_field
        if found == 1 and not quoted and written == record_written:
            n_fields = record_field
            state[BLANK_LINES] += 1
            state[LINE] = line
            continue
        if state[EXPECTED] == FROM_FIRST_RECORD:
            state[EXPECTED] = found
        elif state[EXPECTED] != ANY_NUMBER and found != state[EXPECTED]:
            return n_records, record_field, record_start, RAGGED, record_line, found, record_start
        first[n_records] = record_field
        lines[n_records] = record_line
        n_records += 1
        state[LINE] = line
        state[TRIMMED] += trimmed
        state[COMMENTS_OPEN] = 0
    return n_records, n_fields, n, FINE, 0, 0, 0


@njit(nogil=True, cache=True, inline="always")
def _is_blank(c: Any, delimiter: Any) -> Any:
    """Space or tab, unless a tab is the delimiter (a space stays a blank even as the delimiter)."""
    return c == _SPACE or (c == _TAB and delimiter != _TAB)


@njit(nogil=True, cache=True, inline="always")
def _is_control(c: Any) -> Any:
    """NUL and the other control characters that no table of text holds."""
    return c < _SPACE and c != _TAB and c != _NEWLINE and c != _RETURN


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
        self._state = new_state(FROM_FIRST_RECORD if n_fields is None else n_fields)
        self._given_width = n_fields is not None
        self._on_fault = on_fault
        self._in_broken = False
        self.broken_lines = 0
        self.header: list[str] | None = None
        self.records = 0

    @property
    def lines_read(self) -> int:
        """Lines passed so far."""
        return int(self._state[LINE]) - 1

    @property
    def blank_lines(self) -> int:
        """Blank lines so far."""
        return int(self._state[BLANK_LINES])

    @property
    def comment_lines(self) -> int:
        """Comment lines above the data."""
        return int(self._state[COMMENT_LINES])

    @property
    def trimmed(self) -> int:
        """Fields so far that lost blanks around them."""
        return int(self._state[TRIMMED])

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
                n_records, _, consumed, outcome, line, field, position = tokenise(
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
                if outcome == FINE:
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
        self._state[LINE] += 1
        return end + 1

    def _batches(self, room: Workspace, n_records: int) -> Iterator[RecordBatch]:
        n_fields = int(self._state[EXPECTED])
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
        if outcome == RAGGED:
            raw = block[record_start : record_start + MAX_FIELD].tobytes().decode("utf-8", errors="replace")
            return self._ragged(line, field, raw.splitlines()[0])
        return field_error(outcome, line, field, int(block[min(position, len(block) - 1)]), self._name)

    def _ragged(self, line: int, found: int, raw: str) -> DataError:
        expected = int(self._state[EXPECTED])
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
    state = np.zeros(STATE_SLOTS, dtype=np.int64)
    state[LINE] = 1
    state[EXPECTED] = expected
    state[COMMENTS_OPEN] = 1
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
    if outcome == CONTROL:
        what = "there is a NUL byte" if byte == 0 else f"there is a control character (byte 0x{byte:02x})"
        return DataError(
            what, **place, remedy="This is not plain text: save it as CSV, or choose utf-16 if it is that."
        )
    limit = f"{MAX_FIELD:,} bytes"
    if outcome == LONG:
        return DataError(
            f"a field is longer than {limit}",
            **place,
            remedy="Check the delimiter and the line ends; shorten labels.",
        )
    if outcome == LONG_QUOTED:
        what = f"a quote that opens here is not closed within {limit}"
        return DataError(what, **place, remedy="Close it, or double a literal quote.")
    if outcome == UNCLOSED:
        what = "a quote that opens here is never closed"
        return DataError(what, **place, remedy="Close it, or double a literal quote.")
    return DataError(
        "there is text after the closing quote of a field",
        **place,
        value=chr(byte) if byte < 128 else None,
        remedy="Put a delimiter after the quote, or double a literal quote.",
    )
