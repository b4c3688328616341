"""Delimited text as batches of records: the compiled tokeniser, the first records, errors with line and field."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from acvb_core.core.errors import DataError, ParameterError, shorten
from acvb_core.data.report import plural
from acvb_core.data.sources.formats import refuse_text_format
from acvb_core.data.sources.source import ByteSource, Utf8Stream
from acvb_core.data.sources.values import ILLEGAL, RecordBatch, read_value

#: Fields of a line at most: each has a name, and a place in a preview.
MAX_FIELDS = 2_000_000
MAX_FIELD = 10_000  # bytes; a longer field is nearly always an unclosed quote or not a table at all
# Outcomes of `tokenise`.
FINE, RAGGED, CONTROL, LONG, LONG_QUOTED, UNCLOSED, AFTER_QUOTE, MANY = range(8)
# Slots of the running state: where the next record starts, what was skipped on the way to it, and what is allowed.
LINE, EXPECTED, BLANK_LINES, TRIMMED, COMMENT_LINES, COMMENTS_OPEN, TITLES, LONGEST, STATE_SLOTS = range(9)
ANY_NUMBER = -1  # of fields, in state[EXPECTED]
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


def new_state(expected: int, title_lines: int = 0, longest: int = MAX_FIELD) -> NDArray[np.int64]:
    """Return the running state of `tokenise` at the start of a file."""
    state = np.zeros(STATE_SLOTS, dtype=np.int64)
    state[LINE], state[EXPECTED], state[TITLES], state[LONGEST] = 1, expected, title_lines, longest
    state[COMMENTS_OPEN] = longest == MAX_FIELD and title_lines == 0  # titles are records to `cut_head`
    return state


@njit(nogil=True, cache=True)
def tokenise(block: Any, final: Any, delimiter: Any, state: Any, room: Any) -> Any:
    """Cut a block of UTF-8 bytes into the fields of whole records, in one pass.

    Blanks around an unquoted field are trimmed, "" inside quotes is one quote, a quote inside an unquoted field is an
    ordinary character. Blank lines and the lines up to state[TITLES] are skipped, and so are lines that start with
    # or % before the first record. A line ends at LF, CR LF or CR. With a space as delimiter, a run of spaces is one
    delimiter. Where fields may be longer than MAX_FIELD they are texts: these have no such comments above them, and may
    hold control characters.

    What is left over at the end of a block that is not `final` is not consumed: it is handed in again, in front of the
    next block, so that line numbers stay right across blocks and inside quoted fields that hold line breaks.

    Returns
    -------
    n_records, n_fields, consumed, outcome, line, field, position : int
        When `outcome` is not FINE the last three say where: line and field are 1-based (for RAGGED, `field` is the
        number of fields found), `position` is the offending byte (for RAGGED, the record's first byte).
    """
    text, starts, ends, first, lines = room
    longest = state[LONGEST]
    texts = longest > MAX_FIELD
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

        title = record_line <= state[TITLES]
        if title or (state[COMMENTS_OPEN] == 1 and (block[position] == _HASH or block[position] == _PERCENT)):
            while position < n and block[position] != _NEWLINE and block[position] != _RETURN:
                position += 1
            if position + 1 >= n and not final:
                return n_records, record_field, position if title else record_start, FINE, 0, 0, 0
            if position + 1 < n and block[position] == _RETURN and block[position + 1] == _NEWLINE:
                position += 1
            position += 1
            state[LINE] += 1
            state[COMMENT_LINES] += not title
            continue

        while True:
            field = n_fields - record_field + 1
            if field > MAX_FIELDS:
                return n_records, record_field, record_start, MANY, line, field, position
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
                    elif not texts and _is_control(c):
                        return n_records, record_field, record_start, CONTROL, line, field, position
                    text[written] = c
                    written += 1
                    position += 1
                    if written - field_start > longest:
                        return n_records, record_field, record_start, LONG_QUOTED, open_line, field, position
                if not closed:
                    if final:
                        return n_records, record_field, record_start, UNCLOSED, open_line, field, position
                    break
                while position < n and _is_blank(block[position], delimiter) and delimiter != _SPACE:
                    position += 1
                if position < n:
                    c = block[position]
                    if c != delimiter and c != _NEWLINE and c != _RETURN:
                        return n_records, record_field, record_start, AFTER_QUOTE, open_line, field, position
            else:
                while position < n:
                    c = block[position]
                    if c == delimiter or c == _NEWLINE or c == _RETURN:
                        break
                    if not texts and _is_control(c):
                        return n_records, record_field, record_start, CONTROL, line, field, position
                    text[written] = c
                    written += 1
                    position += 1
                    if written - field_start > longest:
                        return n_records, record_field, record_start, LONG, line, field, position
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
        if state[EXPECTED] != ANY_NUMBER and found != state[EXPECTED]:
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
#: Bytes of a record at most: as a whole it takes several times as many.
MAX_RECORD = 1 << 26
_CLOSE = "Close it. A quote that is part of the text is written twice."
_FAULTS = {
    LONG: ("a field is longer than {:,} bytes", "Check the delimiter and the line ends; shorten labels."),
    LONG_QUOTED: ("a quote that opens here is not closed within {:,} bytes", _CLOSE),
    UNCLOSED: ("a quote that opens here is never closed", _CLOSE),
    MANY: (f"a line has more than {MAX_FIELDS:,} fields", "Check the delimiter and the line ends."),
    AFTER_QUOTE: (
        "there is text after the closing quote of a field",
        "Put a delimiter after the quote. A quote that is part of the text is written twice.",
    ),
}


class CountedRecords:
    """Records on their way: how many there were, and the first one if it holds names, which is no data."""

    def __init__(self, header: bool) -> None:
        self._wants_header = header
        self.header: list[str] | None = None
        self.header_line: int | None = None
        self.records = self.lines_read = self.trimmed = 0

    def _take_header(self, batch: RecordBatch) -> Iterator[RecordBatch]:
        """Yield the batch if it holds data, without the line of names, which goes to `header`."""
        if self._wants_header and self.header is None and batch.n_records:
            self.header, self.header_line = batch.record(0), int(batch.lines[0])
            batch = batch.without_first()
        if batch.n_records:
            self.records += batch.n_records
            yield batch


class RecordReader(CountedRecords):
    """Iterate over a file's records; every record must have `n_fields` fields.

    With `header`, the first record below `title_lines` holds column names: it goes to the attribute `header`, not into
    a batch. The fault of a broken line is raised, or told to `on_fault`, and then the line is left out. `longest` is
    the length of a field at most; more than MAX_FIELD is for texts (`tokenise`).

    Attributes
    ----------
    header : list of str or None
    header_line : int or None
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
        n_fields: int = 1,
        on_fault: Callable[[DataError], None] | None = None,
        title_lines: int = 0,
        longest: int = MAX_FIELD,
    ) -> None:
        super().__init__(header)
        self._stream, self._name, self._delimiter = stream, name, delimiter
        self._code = delimiter_code(delimiter)
        self._n_fields = n_fields
        self._block_bytes = block_bytes
        self._state = new_state(n_fields, title_lines, longest)
        self._first = ""
        self._on_fault = on_fault
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
            done = 0
            while True:
                n_records, _, consumed, *fault = tokenise(block[done:], final, self._code, self._state, room)
                self._count()
                if n_records:
                    lines = room.lines[:n_records]
                    batch = RecordBatch(room.text, room.starts, room.ends, lines, self._n_fields)
                    self._first = self._first or self._delimiter.join(batch.record(0))
                    yield from self._take_header(batch)
                done += consumed
                if fault[0] == FINE:
                    break
                self._leave_out(self._error(block[done - consumed :], consumed, *fault))
            if len(block) - done > MAX_RECORD:
                what = f"the record that begins here is longer than {MAX_RECORD:,} bytes"
                remedy = "Check the delimiter, the quotes and the line ends."
                line = int(self._state[LINE])
                self._leave_out(DataError(what, source=self._name, line=line, remedy=remedy))
            rest = block[done:].tobytes()

    def _leave_out(self, error: DataError) -> None:
        """Have the line that the reader is at skipped, unless its error is raised."""
        if self._on_fault is None:
            raise error
        self._on_fault(error)
        self.broken_lines += 1
        self._state[TITLES] = self._state[LINE]

    def _count(self) -> None:
        self.lines_read = int(self._state[LINE]) - 1
        self.blank_lines = int(self._state[BLANK_LINES])
        self.comment_lines = int(self._state[COMMENT_LINES])
        self.trimmed = int(self._state[TRIMMED])

    def _error(
        self, block: NDArray[np.uint8], at: int, outcome: int, line: int, field: int, position: int
    ) -> DataError:
        """Return the error for the record that starts at `at`."""
        longest = int(self._state[LONGEST])
        if outcome != RAGGED:
            return _field_error(self._name, block, longest, outcome, line, field, position)
        raw = block[at : at + MAX_FIELD].tobytes().decode("utf-8", errors="replace").splitlines()[0]
        expected = self._n_fields
        fields = f"{expected:,} are expected"
        if self._first:
            fields = f"the first has {expected:,}, {shorten(self._first)!r}"
        what = f"this line has {plural(field, 'field')} where {fields}"
        place: dict[str, Any] = {"source": self._name, "line": line, "value": raw}
        own, marks = _name_delimiter(self._delimiter), _DECIMAL_COMMA.sub("", raw)
        for other, other_name in DELIMITER_NAMES.items():
            if other not in (self._delimiter, " ") and marks.count(other) == expected - 1 and expected > 1:
                what += f": it is separated by {other_name}s, the file by {own}"
                return DataError(what, **place, remedy="Use one delimiter in the whole file.")
        what += f", separated by {own}"
        remedy = "Give every line the same number of fields; quote a field that holds the delimiter."
        if longest > MAX_FIELD:
            remedy += " If each line is one document, choose the format lines."
        return DataError(what, **place, column=min(field, expected) + 1, remedy=remedy)


class TooManyFieldsError(DataError):
    """A line has more fields than are read."""


def delimiter_code(delimiter: str) -> int:
    """Return the byte that a text is cut at."""
    if delimiter == ONE_FIELD:
        return 255  # occurs in no UTF-8 text
    if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n\0':
        raise ParameterError(f"A delimiter is one ASCII character such as , ; | or a tab, not {delimiter!r}.")
    return ord(delimiter)


def _name_delimiter(delimiter: str) -> str:
    return f"{DELIMITER_NAMES[delimiter]}s" if delimiter in DELIMITER_NAMES else repr(delimiter)


def _field_error(
    name: str, block: NDArray[np.uint8], longest: int, outcome: int, line: int, field: int, position: int
) -> DataError:
    byte = int(block[min(position, len(block) - 1)])
    value = None
    if outcome == CONTROL:
        what = "there is a NUL byte" if byte == 0 else f"there is a control character (byte 0x{byte:02x})"
        remedy = "This is not plain text: save it as CSV, or choose utf-16 if it is that."
    else:
        what, remedy = _FAULTS[outcome]
        what = what.format(longest)
        if outcome == AFTER_QUOTE and byte < 128:
            value = chr(byte)
    return DataError(what, source=name, line=line, column=field, value=value, remedy=remedy)


#: Records that guesses are made from.
GUESS_RECORDS = 50
_HEAD_BYTES = 1 << 17
_MAX_HEAD_BYTES = 1 << 24
#: Lines above a table that may be titles.
_MAX_TITLES = 6
#: Share of records with the usual number of fields that makes a table.
_EVEN = 0.9
# A comma also occurs inside text and numbers, so the others are believed first.
_CANDIDATES = ("\t", ";", "|", ",")
_DECIMAL_COMMA = re.compile(r"\d,\d")


class Head(NamedTuple):
    """The first records of a table that have as many fields as most of them, without titles above the table."""

    records: list[list[str]]
    lines: tuple[int, ...]  # the 1-based line or row that each of them starts on
    usual: int  # fields that most records have
    share: float = 1.0  # of the records that have so many
    delimiter: str = ""
    trimmed: int = 0  # fields that lost blanks around them
    title_lines: int = 0
    first: tuple[int, int] = (0, 1)  # number of fields of the first record, and the line it starts on
    encoding: str = ""


def cut_head(block: bytes, whole: bool, delimiter: str, name: str, at_most: int, longest: int) -> Head:
    """Return the first records of a text; it is a DataError that there are none, or that the first has a fault."""
    room = make_room(len(block))
    state = new_state(ANY_NUMBER, longest=longest)
    given = np.frombuffer(block, dtype=np.uint8)
    n, n_fields, _, outcome, *where = tokenise(given, whole, delimiter_code(delimiter), state, room)
    if outcome != FINE and n < (2 if longest == MAX_FIELD else 1):
        if outcome == MANY:
            what = f"a line has {MAX_FIELDS + 1:,} fields; at most {MAX_FIELDS:,} are read"
            remedy = "Check the delimiter and the line ends. Give links between so many objects as a list, one a line."
            raise TooManyFieldsError(what, source=name, remedy=remedy)
        raise _field_error(name, given, longest, outcome, *where)
    if n == 0 and whole:
        what = "the file holds no data, only blank or comment lines"
        raise DataError(what, source=name, remedy="Load a file with data in it.")
    if n == 0:
        what = f"the first line does not end within {len(block):,} bytes"
        remedy = "Check that this is a table of text with line ends."
        raise DataError(what, source=name, line=1, remedy=remedy)
    counts = np.diff(room.first[:n], append=n_fields)
    lines = room.lines[:n].tolist()
    bounds = [0, *np.cumsum(counts[:at_most]).tolist()]
    text, n_shown = room.text.tobytes(), bounds[-1]
    places = zip(room.starts[:n_shown].tolist(), room.ends[:n_shown].tolist(), strict=True)
    fields = [text[start:end].decode("utf-8") for start, end in places]
    records = [fields[start:end] for start, end in itertools.pairwise(bounds)]
    several = counts[counts > 1]
    usual = int(np.bincount(several).argmax()) if len(several) else 1
    # A comma with a blank behind it is one of prose: the first line may be the name of a column of texts.
    prose = delimiter == "," and 2 * int(state[TRIMMED]) > n
    start = 0 if prose else count_titles(records, counts.tolist(), usual)
    if longest > MAX_FIELD:  # texts may hold the delimiter: the first record says how many fields there are
        usual = int(counts[start])
    kept = [at for at in range(start, len(records)) if len(records[at]) == usual]
    return Head(
        [records[at] for at in kept],
        tuple(lines[at] for at in kept),
        usual,
        float((counts[start:] == usual).mean()),
        delimiter,
        int(state[TRIMMED]),
        lines[start] - 1 if start else 0,
        (int(counts[start]), lines[start]),
    )


def read_head(source: ByteSource, encoding: str | None, delimiter: str | None) -> Head:
    """Return the first records of a delimited text with several columns; anything else is a DataError."""
    refuse_text_format(source)
    block, whole, encoding = first_bytes(source, encoding)
    head = best_head(block, whole, source.name, delimiter)
    if head.usual < 2 and delimiter is None:
        by_blanks = best_head(block, whole, source.name, " ")
        head = by_blanks if _is_numeric(by_blanks) else head  # text with spaces is one field
    if head.usual < 2:
        remedy = "Give several columns, or say which delimiter separates them."
        raise source.fault("every line has one field only", remedy, line=1, value=head.records[0][0])
    if head.first[0] != head.usual:
        raise _uneven_fault(source, block, head)
    return head._replace(encoding=encoding)


def first_bytes(source: ByteSource, encoding: str | None, size: int = _HEAD_BYTES) -> tuple[bytes, bool, str]:
    """Return the first bytes as UTF-8, with two line ends if there are so many; whether they are all; the encoding."""
    stream = Utf8Stream(source, encoding)
    head, lines = bytearray(), 0
    while len(head) < size or (lines < 2 and len(head) < _MAX_HEAD_BYTES):
        chunk = stream.read(_HEAD_BYTES)
        if not chunk:
            return bytes(head), True, stream.encoding
        head += chunk
        lines += chunk.count(b"\n")
    return bytes(head), False, stream.encoding


def best_head(
    block: bytes, whole: bool, name: str, delimiter: str | None, *,
    longest: int = MAX_FIELD, at_most: int = GUESS_RECORDS,
) -> Head:  # fmt: skip
    """Return the head cut at the given delimiter, or at that which makes the best table.

    Where none can be cut at, the fault of the last one is raised; also where the others give no columns, unless fields
    are long texts.
    """
    heads: list[Head] = []
    problem = None
    for candidate in _CANDIDATES if delimiter is None else (delimiter,):
        try:
            heads.append(cut_head(block, whole, candidate, name, at_most, longest))
        except TooManyFieldsError:
            raise
        except DataError as error:
            problem = error
    best = max(heads, key=_judge, default=None)
    if problem is not None and (best is None or (best.usual < 2 and longest == MAX_FIELD)):
        raise problem
    assert best is not None
    return best


def count_titles(records: Sequence[Sequence[str]], widths: Sequence[int], usual: int) -> int:
    """Return how many of the first records are titles: words above a table, nearly all of whose records are alike.

    A title has one field, or at least two fewer than the records (one fewer has a line of names in which that of the
    rows' names is left out). It may also be the first cell of a row alone, above a row of words.
    """
    start, wide = 0, False
    for fields in records[:_MAX_TITLES]:
        alone = not any(fields[1:])
        short = len(fields) == 1 or len(fields) < usual - 1
        blank = start > 0 and alone and not fields[0]
        # Of two columns, the first may hold a name whose value is missing. Excel writes "sep=;".
        marked = " " in fields[0] or fields[0] == "sep="
        if not blank and not ((short or (alone and (usual > 2 or marked))) and _is_word(fields[0])):
            break
        wide |= not short
        start += 1
    rest = np.asarray(widths[start:])
    if usual < 2 or len(rest) < 2 or rest[0] != usual or (rest == usual).mean() < _EVEN:
        return 0
    return 0 if wide and not all(map(_is_word, records[start])) else start


def _is_word(field: str) -> bool:
    return read_value(field).verdict == ILLEGAL


def _judge(head: Head) -> tuple[float, ...]:
    """Return how good a table is: nearly all records alike, no other delimiter in the fields, no blanks around them."""
    if head.usual < 2 or not head.records:
        return (0.0,)
    lines = [_DECIMAL_COMMA.sub("", "\n".join(record)) for record in head.records]
    other = [mark for mark in _CANDIDATES if mark != head.delimiter]
    clean = sum(not any(mark in line for mark in other) for line in lines) / len(lines)
    return min(head.share, _EVEN), round(clean, 1), float(head.trimmed == 0), head.share


def _uneven_fault(source: ByteSource, block: bytes, head: Head) -> DataError:
    """Return the error for a first line with another number of fields than most lines; it shows one of these too."""
    raw = re.split("\r\n|\r|\n", block.decode("utf-8", errors="replace"))
    (width, first), second = head.first, next(iter(head.lines), 0)
    own = _name_delimiter(head.delimiter)
    remedy = f"Give every line the same number of fields, separated by {own}, or say what separates them (delimiter)."
    if width == head.usual - 1:
        remedy = (
            "If the first line holds names, give one to each column; that of the rows' names may be blank."
        )
    elif width < head.usual:
        remedy = "Remove what is above the table, or give every line the same number of fields."
    what = f"the first line has {plural(width, 'field')}, most lines have {head.usual:,}, separated by {own}"
    what += f": line {second:,} is {shorten(raw[second - 1])!r}" if second else ""
    return source.fault(what, remedy, first, raw[first - 1])


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


def _is_numeric(head: Head) -> bool:
    """Return whether a head is columns of numbers below its first line."""
    body = head.records[1:]
    numeric = all(not np.isnan(read_value(field).number) for record in body for field in record)
    return head.usual > 1 and head.share > 0.9 and bool(body) and numeric
