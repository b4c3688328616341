"""Compiled tokeniser for delimited text."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

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
