"""Delimited text as batches of records: the compiled tokeniser, the first records, errors with line and field."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from acvb_core.core.errors import DataError, ParameterError
from acvb_core.data.report import plural
from acvb_core.data.sources.formats import refuse_text_format
from acvb_core.data.sources.source import MAX_TEXT, ByteSource, Utf8Stream, long_line_fault, open_lines
from acvb_core.data.sources.values import RecordBatch, read_value

MAX_FIELD = 10_000  # bytes; a longer field is nearly always an unclosed quote or not a table at all
# Outcomes of `tokenise`.
FINE, RAGGED, CONTROL, LONG, LONG_QUOTED, UNCLOSED, AFTER_QUOTE = range(7)
# Slots of the running state: where the next record starts and what was passed over on the way to it.
LINE, EXPECTED, BLANK_LINES, TRIMMED, COMMENT_LINES, COMMENTS_OPEN, STATE_SLOTS = range(7)
# Special values of state[EXPECTED].
FROM_FIRST_RECORD, ANY_NUMBER = -1, -2
_TAB, _NEWLINE, _RETURN, _SPACE, _QUOTE, _HASH, _PERCENT = 9, 10, 13, 32, 34, 35, 37


class Room(NamedTuple):
    """The arrays that `tokenise` writes to, for a block of n bytes."""

    text: NDArray[np.uint8]  # the fields' bytes without quotes and blanks, shape (n,)
    starts: NDArray[np.int32]  # each field's place in it, shape (n + 1,), as `ends`
    ends: NDArray[np.int32]
    first: NDArray[np.int32]  # each record's first field, shape (n + 1,)
    lines: NDArray[np.int64]  # the 1-based line each record starts on, shape (n + 1,)


def make_room(n: int) -> Room:
    """Return arrays for a block of n bytes."""
    starts, ends, first = (np.empty(n + 1, dtype=np.int32) for _ in range(3))
    return Room(np.empty(n, dtype=np.uint8), starts, ends, first, np.empty(n + 1, dtype=np.int64))


def new_state(expected: int) -> NDArray[np.int64]:
    """Return the running state of `tokenise` at the start of a file."""
    state = np.zeros(STATE_SLOTS, dtype=np.int64)
    state[LINE] = state[COMMENTS_OPEN] = 1
    state[EXPECTED] = expected
    return state


@njit(nogil=True, cache=True)
def tokenise(block: Any, final: Any, delimiter: Any, state: Any, room: Any) -> Any:
    """Cut a block of UTF-8 bytes into the fields of whole records, in one pass.

    Blanks around an unquoted field are trimmed, "" inside quotes is one quote, a quote inside an unquoted field is an
    ordinary character. Blank lines are passed over, and so are lines that start with # or % before the first record. A
    line ends at LF, CR LF or CR. With a space as delimiter, a run of spaces is one delimiter.

    What is left over at the end of a block that is not `final` is not consumed: it is handed in again, in front of the
    next block, so that line numbers stay right across blocks and inside quoted fields that hold line breaks.

    Returns
    -------
    n_records, n_fields, consumed, outcome, line, field, position : int
        When `outcome` is not FINE the last three say where: line and field are 1-based (for RAGGED, `field` is the
        number of fields found), `position` is the offending byte (for RAGGED, the record's first byte).
    """
    text, starts, ends, first, lines = room
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
                    elif c == _NEWLINE or (
                        c == _RETURN and position + 1 < n and block[position + 1] != _NEWLINE
                    ):
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
_CLOSE = "Close it, or double a literal quote."
#: Fields of a line at most: each has a name, and a place in a preview.
MAX_FIELDS = 2_000_000
_FAULTS = {
    LONG: (
        f"a field is longer than {MAX_FIELD:,} bytes",
        "Check the delimiter and the line ends; shorten labels.",
    ),
    LONG_QUOTED: (f"a quote that opens here is not closed within {MAX_FIELD:,} bytes", _CLOSE),
    UNCLOSED: ("a quote that opens here is never closed", _CLOSE),
    AFTER_QUOTE: (
        "there is text after the closing quote of a field",
        "Put a delimiter after the quote, or double a literal quote.",
    ),
}


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
        self._state = new_state(FROM_FIRST_RECORD if n_fields is None else n_fields)
        self._given_width = n_fields is not None
        self._on_fault = on_fault
        self._in_broken = False
        self.blank_lines = self.comment_lines = self.broken_lines = 0

    def __iter__(self) -> Iterator[RecordBatch]:
        room = make_room(0)
        rest = b""
        final = False
        while not final:
            # A record longer than a block: read as much again each time, so that the work stays linear.
            chunk = self._stream.read(max(self._block_bytes, len(rest)))
            final = not chunk
            block = np.frombuffer(rest + chunk, dtype=np.uint8)
            if len(block) > len(room.text):
                room = make_room(len(block))
            done = self._behind_line(block, final) if self._in_broken else 0
            while not self._in_broken:
                n_records, _, consumed, *fault = tokenise(block[done:], final, self._code, self._state, room)
                self._count()
                if n_records:
                    lines, n_fields = room.lines[:n_records], int(self._state[EXPECTED])
                    yield from self._take_header(
                        RecordBatch(room.text, room.starts, room.ends, lines, n_fields)
                    )
                done += consumed
                if fault[0] == FINE:
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
        self.lines_read = int(self._state[LINE]) - 1
        self.blank_lines = int(self._state[BLANK_LINES])
        self.comment_lines = int(self._state[COMMENT_LINES])
        self.trimmed = int(self._state[TRIMMED])

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
        self._state[LINE] += 1
        return end + 1

    def _error(
        self, block: NDArray[np.uint8], at: int, outcome: int, line: int, field: int, position: int
    ) -> DataError:
        """Return the error for the record that starts at `at`."""
        if outcome != RAGGED:
            return _field_error(self._name, block, outcome, line, field, position)
        raw = block[at : at + MAX_FIELD].tobytes().decode("utf-8", errors="replace").splitlines()[0]
        expected = int(self._state[EXPECTED])
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
    room = make_room(len(block))
    state = new_state(ANY_NUMBER)
    code = delimiter_code(delimiter)
    n_records, n_fields, _, outcome, *where = tokenise(block, whole, code, state, room)
    if outcome != FINE and n_records < 2:
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
    return FirstRecords(records, counts, int(state[TRIMMED]))


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
    if outcome == CONTROL:
        what = "there is a NUL byte" if byte == 0 else f"there is a control character (byte 0x{byte:02x})"
        remedy = "This is not plain text: save it as CSV, or choose utf-16 if it is that."
    else:
        what, remedy = _FAULTS[outcome]
        if outcome == AFTER_QUOTE and byte < 128:
            value = chr(byte)
    return DataError(what, source=name, line=line, column=field, value=value, remedy=remedy)


#: Records that guesses are made from.
GUESS_RECORDS = 50
# Of a text that is looked at line by line.
_HEAD_CHARACTERS, _HEAD_LINES = 1 << 22, 5_000
_HEAD_BYTES = 1 << 17
_MAX_HEAD_BYTES = 1 << 24
# What the messages of csv mean.
_RECORD_FAULTS = {
    "unexpected end": "a quote that opens in this record is never closed",
    "field limit": f"a quote that opens in this record is not closed within {MAX_TEXT:,} characters",
    "expected after": "there is text after the closing quote of a field",
}
# A comma also stands inside text and numbers, so the others are believed first.
_CANDIDATES = ("\t", ";", "|", ",")


class Head(NamedTuple):
    """The first records of a delimited text."""

    records: list[list[str]]
    usual: int  # fields that most records have
    share: float  # of the records that have so many
    delimiter: str
    trimmed: int = 0  # fields that lost blanks around them
    encoding: str = ""

    @property
    def even(self) -> list[list[str]]:
        """The records that have as many fields as most."""
        return [record for record in self.records if len(record) == self.usual]


def read_head(source: ByteSource, encoding: str | None, delimiter: str | None) -> Head:
    """Return the first records of a delimited text with several columns; anything else is a DataError."""
    refuse_text_format(source)
    stream = Utf8Stream(source, encoding)
    block, whole = _first_bytes(stream)
    head = best_head(lambda candidate: _cut(block, whole, candidate, source.name), delimiter)
    if head.usual < 2 and delimiter is None:
        by_blanks = _cut(block, whole, " ", source.name)
        head = by_blanks if _is_numeric(by_blanks) else head  # text with spaces is one field
    first = head.records[0]
    if head.usual < 2:
        remedy = "Give several columns, or say which delimiter separates them."
        raise source.fault("every line has one field only", remedy, line=1, value=first[0])
    if len(first) != head.usual:
        raise source.fault(
            f"the first line has {plural(len(first), 'field')}, most lines have {head.usual:,}",
            "Remove title lines above the data, and give every line the same number of fields.",
            line=1,
        )
    return head._replace(encoding=stream.encoding)


def best_head(cut: Callable[[str], Head], delimiter: str | None) -> Head:
    """Return the head cut at the given delimiter, or at that which makes the best table.

    Where none can be cut at, the fault of the last one is raised.
    """
    if delimiter is not None:
        return cut(delimiter)
    heads: list[Head] = []
    for candidate in _CANDIDATES:
        try:
            heads.append(cut(candidate))
        except TooManyFieldsError:
            raise
        except DataError as error:
            problem = error
    if not heads:
        raise problem
    return max(heads, key=lambda head: (head.share if head.usual > 1 else 0.0, head.trimmed == 0))


def one_line_fault(
    fields: list[str], name: str, otherwise: str = "say that the first line is data"
) -> DataError:
    """Return the error for a file of one line that may hold names of columns or data."""
    return DataError(
        "the file has one line, and no rows below it; it may be a line of column names",
        source=name,
        line=1,
        value=", ".join(fields),
        remedy=f"Load a file with data below the names, or {otherwise}.",
    )


def _first_bytes(stream: Utf8Stream) -> tuple[bytes, bool]:
    """Return the first bytes, with two line ends if the file has so many, and whether they are all."""
    head, lines = bytearray(), 0
    while len(head) < _HEAD_BYTES or (lines < 2 and len(head) < _MAX_HEAD_BYTES):
        chunk = stream.read(_HEAD_BYTES)
        if not chunk:
            return bytes(head), True
        head += chunk
        lines += chunk.count(b"\n")
    return bytes(head), False


def _cut(head: bytes, whole: bool, delimiter: str, name: str) -> Head:
    records, counts, trimmed = cut_head(head, whole, delimiter, name, GUESS_RECORDS)
    several = counts[counts > 1]
    usual = int(np.bincount(several).argmax()) if len(several) else 1
    return Head(records, usual, float((counts == usual).mean()), delimiter, trimmed)


def _is_numeric(head: Head) -> bool:
    """Return whether a head is columns of numbers below its first line."""
    body = head.even[1:]
    numeric = all(not np.isnan(read_value(field).number) for record in body for field in record)
    return head.usual > 1 and head.share > 0.9 and bool(body) and numeric


def read_head_lines(source: ByteSource, encoding: str | None) -> tuple[list[str], str]:
    """Return the first lines, two at least if the file has so many, and the encoding."""
    lines, found = open_lines(source, encoding)
    head: list[str] = []
    size = 0
    while len(head) < _HEAD_LINES and (line := lines.readline(MAX_TEXT)):
        if len(line) == MAX_TEXT and not line.endswith(("\n", "\r")):
            if head:
                break  # whoever reads it all says so, or leaves the line out
            if not source.patient:
                raise long_line_fault(source.name, 1)
            while line and not line.endswith(("\n", "\r")):
                line = lines.readline(MAX_TEXT)
            continue
        head.append(line)
        size += len(line)
        if size > _HEAD_CHARACTERS and len(head) > 1:
            break
    if not any(line.strip() for line in head):
        raise source.fault("the file holds no data, only blank lines", "Load a file with data in it.")
    return head, found


def read_records(lines: Iterable[str], delimiter: str, name: str) -> Iterator[list[str]]:
    """Give the fields, which may be long, of each record of a delimited text whose lines come with their ends."""
    csv.field_size_limit(max(csv.field_size_limit(), MAX_TEXT))
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    line = 1
    try:
        for fields in reader:
            if fields:  # a blank line has none
                yield fields
            line = reader.line_num + 1
    except csv.Error as error:
        what = next((what for sign, what in _RECORD_FAULTS.items() if sign in str(error)), None)
        what = what or f"this record cannot be read ({error})"
        remedy = "Close the quote, or double it; if quotes have no meaning here, choose another delimiter."
        raise DataError(what, source=name, line=line, remedy=remedy) from None
