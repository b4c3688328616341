"""Delimited text as lines of str: the first records, which tell the delimiter, and long texts in bounded memory."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from acvb_core.data.report import plural
from acvb_core.data.sources.byte_source import ByteSource, FileLike, Utf8Stream
from acvb_core.data.sources.recognisers import refuse_text_format
from acvb_core.data.sources.records import (
    ANY_NUMBER,
    FINE,
    TRIMMED,
    Workspace,
    delimiter_code,
    field_error,
    new_state,
    tokenise,
)
from acvb_core.data.sources.values import read_value
from acvb_core.errors import DataError

HEAD_BYTES = 1 << 17
MAX_HEAD_BYTES = 1 << 26
#: Records that guesses are made from.
GUESS_RECORDS = 50
# A comma also stands inside text and numbers, so the others are believed first.
_CANDIDATES = ("\t", ";", "|", ",")


class Head(NamedTuple):
    """The first records of a delimited text.

    Attributes
    ----------
    records : list of lists of str
    usual : int
        Fields that most records have.
    share : float
        Share of the records that have so many.
    delimiter : str
    trimmed : int
        Fields that lost blanks around them.
    encoding : str
    """

    records: list[list[str]]
    usual: int
    share: float
    delimiter: str
    trimmed: int = 0
    encoding: str = ""

    @property
    def even(self) -> list[list[str]]:
        """The records that have as many fields as most."""
        return [record for record in self.records if len(record) == self.usual]


def read_head(source: ByteSource, encoding: str | None, delimiter: str | None) -> Head:
    """Return the first records of a source that is a delimited text with several columns.

    Parameters
    ----------
    source : ByteSource
    encoding, delimiter : str or None
        None: recognised.

    Raises
    ------
    DataError
        The source is no plain text (JSON, HTML, …), or its head is no table, or one of one column.
    """
    refuse_text_format(source)
    stream = Utf8Stream(source, encoding)
    block, whole = _first_bytes(stream)
    head = best_head(lambda candidate: _cut(block, whole, candidate, source.name), delimiter)
    if head.usual < 2 and delimiter is None:
        head = _cut_at_blanks(block, whole, source.name) or head
    if head.usual < 2:
        raise DataError(
            "every line has one field only",
            source=source.name,
            line=1,
            value=head.records[0][0],
            remedy="Give several columns, or say which delimiter separates them.",
        )
    if len(head.records[0]) != head.usual:
        raise DataError(
            f"the first line has {plural(len(head.records[0]), 'field')}, most lines have {head.usual:,}",
            source=source.name,
            line=1,
            remedy="Remove title lines above the data, and give every line the same number of fields.",
        )
    return head._replace(encoding=stream.encoding)


def best_head(cut: Callable[[str], Head], delimiter: str | None) -> Head:
    """Return the head cut at the given delimiter, or at that which makes the best table.

    Raises
    ------
    DataError
        The fault of the last delimiter, where none can be cut at.
    """
    if delimiter is not None:
        return cut(delimiter)
    best: tuple[tuple[float, bool], Head] | None = None
    problem: DataError | None = None
    for candidate in _CANDIDATES:
        try:
            found = cut(candidate)
        except DataError as error:
            problem = error
            continue
        rank = (found.share if found.usual > 1 else 0.0, found.trimmed == 0)
        if best is None or rank > best[0]:
            best = rank, found
    if best is None:
        assert problem is not None
        raise problem
    return best[1]


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
    head = b""
    while len(head) < HEAD_BYTES or (head.count(b"\n") < 2 and len(head) < MAX_HEAD_BYTES):
        chunk = stream.read(HEAD_BYTES)
        if not chunk:
            return head, True
        head += chunk
    return head, False


def _cut_at_blanks(head: bytes, whole: bool, name: str) -> Head | None:
    """Return the head cut at spaces if it is columns of numbers; text with spaces is one field."""
    found = _cut(head, whole, " ", name)
    body = found.even[1:]
    numeric = all(not np.isnan(read_value(field).number) for record in body for field in record)
    return found if found.usual > 1 and found.share > 0.9 and body and numeric else None


def _cut(head: bytes, whole: bool, delimiter: str, name: str) -> Head:
    block = np.frombuffer(head, dtype=np.uint8)
    room = Workspace()
    room.fit(len(block))
    state = new_state(ANY_NUMBER)
    n_records, n_fields, _, outcome, line, field, position = tokenise(
        block,
        whole,
        delimiter_code(delimiter),
        state,
        room.text,
        room.starts,
        room.ends,
        room.first,
        room.lines,
    )
    if outcome != FINE and n_records < 2:
        raise field_error(outcome, line, field, int(block[min(position, len(block) - 1)]), name)
    if n_records == 0:
        if whole:
            raise DataError(
                "the file holds no data, only blank or comment lines",
                source=name,
                remedy="Load a file with data in it.",
            )
        raise DataError(
            f"the first line does not end within {len(head):,} bytes",
            source=name,
            line=1,
            remedy="Check that this is a table of text with line ends.",
        )
    bounds = [*room.first[:n_records].tolist(), n_fields]
    counts = np.diff(bounds)
    several = counts[counts > 1]
    usual = int(np.bincount(several).argmax()) if len(several) else 1
    records = [
        [room.text[room.starts[f] : room.ends[f]].tobytes().decode("utf-8") for f in range(a, b)]
        for a, b in zip(bounds[:GUESS_RECORDS], bounds[1 : GUESS_RECORDS + 1], strict=False)
    ]
    share = float((counts == usual).mean())
    return Head(records, usual, share, delimiter, int(state[TRIMMED]))


#: Text held in memory at most, unpacked: a few kilobytes of gzip or zip can claim more than any machine has.
MAX_TEXT_BYTES = 2 << 30
#: Characters of one text at most; a longer one is nearly always a quote that is never closed.
MAX_TEXT = 1 << 25
_BLOCK = 1 << 18


class _Bytes(io.RawIOBase):
    """A checked stream in the form that Python's own text layer reads."""

    def __init__(self, stream: Utf8Stream, source: ByteSource, *, whole: bool) -> None:
        self._stream = stream
        self._source = source
        self._whole = whole
        self._line = 1
        self._size = 0
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        if not self._rest:
            self._rest = memoryview(self._checked(self._stream.read(_BLOCK)))
        found = self._rest[: len(buffer)]
        buffer[: len(found)] = found
        self._rest = self._rest[len(found) :]
        return len(found)

    def _checked(self, chunk: bytes) -> bytes:
        nul = -1 if self._source.patient else chunk.find(b"\0")
        if nul >= 0:
            raise DataError(
                "there is a NUL byte",
                source=self._source.name,
                line=self._line + chunk[:nul].count(b"\n"),
                remedy="This is not plain text: save it as text, or choose utf-16 if it is that.",
            )
        self._line += chunk.count(b"\n")
        self._size += len(chunk)
        if self._whole:
            refuse_too_large(self._size, self._source.name)
        return chunk


def refuse_too_large(size: int, name: str) -> None:
    """Raise DataError for a source that unpacks to more bytes than are held in memory."""
    if size > MAX_TEXT_BYTES:
        raise DataError(
            f"there are more than {MAX_TEXT_BYTES / 2**30:.3g} GB of text in it, unpacked",
            source=name,
            remedy="Load a part of it, or count the words elsewhere and load the counts.",
        )


def open_lines(
    source: ByteSource, encoding: str | None = None, *, whole: bool = True
) -> tuple[io.TextIOWrapper, str]:
    """Return the lines with their ends (LF, CR LF or CR), and the name of the encoding.

    Parameters
    ----------
    source : ByteSource
    encoding : str, optional
    whole : bool
        The text is to be held in memory: refuse more than fits.

    Raises
    ------
    DataError
        While reading: bytes that the encoding does not allow, NUL bytes (both but for a patient source), too much
        text.
    """
    stream = Utf8Stream(source, encoding)
    raw = io.BufferedReader(_Bytes(stream, source, whole=whole), _BLOCK)
    return io.TextIOWrapper(raw, encoding="utf-8", newline=""), stream.encoding


def read_lines(source: ByteSource, encoding: str | None = None) -> tuple[list[str], str]:
    """Return every line without its end, and the name of the encoding."""
    lines, found = open_lines(source, encoding)
    return [line.rstrip("\r\n") for line in lines], found


class TextRecords:
    """Iterate over the records of a delimited text whose fields may be long: (line, fields).

    Parameters
    ----------
    lines : iterable of str
        With their ends.
    delimiter : str
    name : str
        What the user calls the file.

    Attributes
    ----------
    blank_lines : int
        Blank lines so far, which are passed over.
    lines_read : int
    """

    def __init__(self, lines: Iterable[str], delimiter: str, name: str) -> None:
        csv.field_size_limit(max(csv.field_size_limit(), MAX_TEXT))
        self._reader = csv.reader(lines, delimiter=delimiter, strict=True)
        self._name = name
        self.blank_lines = 0

    @property
    def lines_read(self) -> int:
        """Lines passed so far."""
        return self._reader.line_num

    def __iter__(self) -> Iterator[tuple[int, list[str]]]:
        while True:
            line = self._reader.line_num + 1
            try:
                fields = next(self._reader)
            except StopIteration:
                return
            except csv.Error as problem:
                raise self._fault(line, str(problem)) from None
            if fields:
                yield line, fields
            else:
                self.blank_lines += 1

    def _fault(self, line: int, problem: str) -> DataError:
        if "unexpected end" in problem:
            what = "a quote that opens in this record is never closed"
        elif "field limit" in problem:
            what = f"a quote that opens in this record is not closed within {MAX_TEXT:,} characters"
        elif "expected after" in problem:
            what = "there is text after the closing quote of a field"
        else:
            what = f"this record cannot be read ({problem})"
        return DataError(
            what,
            source=self._name,
            line=line,
            remedy="Close the quote, or double a literal one; choose another delimiter if this is none.",
        )


class Vocabulary(NamedTuple):
    """The words of a vocabulary file, and what the user calls it."""

    words: list[str]
    source: str


def read_vocabulary(source: FileLike) -> Vocabulary:
    """Return the words of a vocabulary file, one a line.

    Raises
    ------
    DataError
        A line is blank or a word stands twice, with its line.
    """
    with ByteSource(source, "the vocabulary" if isinstance(source, bytes) else None) as opened:
        refuse_text_format(opened)
        lines, _ = read_lines(opened)
        name = opened.name
    words = [word.strip() for word in lines]
    while words and not words[-1]:
        words.pop()
    seen: dict[str, int] = {}
    for line, word in enumerate(words, start=1):
        if not word:
            raise DataError(
                "a word is blank",
                source=name,
                line=line,
                remedy="Give one word on each line: its place is its number.",
            )
        if word in seen:
            raise DataError(
                f"this word already stands on line {seen[word]:,}",
                source=name,
                line=line,
                value=word,
                remedy="Give every word once.",
            )
        seen[word] = line
    if not words:
        raise DataError("the vocabulary is empty", source=name, remedy="Give one word on each line.")
    return Vocabulary(words, name)
