"""Delimited text as lines of str: the first records, which tell the delimiter, and long texts in bounded memory."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from acvb_core.core.errors import DataError
from acvb_core.data.names import HALF_LETTER, is_text
from acvb_core.data.report import plural
from acvb_core.data.sources.byte_source import ByteSource, FileLike, Utf8Stream
from acvb_core.data.sources.recognisers import refuse_text_format
from acvb_core.data.sources.records import TooManyFieldsError, cut_head
from acvb_core.data.sources.values import read_value

#: Records that guesses are made from.
GUESS_RECORDS = 50
#: Text held in memory at most, unpacked: a few kilobytes of gzip or zip can claim more than any machine has.
MAX_TEXT_BYTES = 2 << 30
#: Characters of one text at most; a longer one is nearly always a quote that is never closed.
MAX_TEXT = 1 << 25
# Of a text that is looked at line by line.
_HEAD_CHARACTERS, _HEAD_LINES = 1 << 22, 5_000
_HEAD_BYTES = 1 << 17
_MAX_HEAD_BYTES = 1 << 24
_BLOCK = 1 << 18
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


def long_line_fault(name: str, line: int) -> DataError:
    """Return the error for a line of text that is longer than any that is read."""
    return DataError(
        f"this line is longer than {MAX_TEXT:,} characters",
        source=name,
        line=line,
        remedy="Check the line ends; give one document on each line.",
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


class _CheckedBytes(io.RawIOBase):
    """A stream of checked UTF-8 in the form that Python's own text layer reads."""

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
            self._rest = memoryview(self._check(self._stream.read(_BLOCK)))
        piece = self._rest[: len(buffer)]
        buffer[: len(piece)] = piece
        self._rest = self._rest[len(piece) :]
        return len(piece)

    def _check(self, chunk: bytes) -> bytes:
        nul = -1 if self._source.patient else chunk.find(b"\0")
        if nul >= 0:
            remedy = "This is not plain text: save it as text, or choose utf-16 if it is that."
            line = self._line + chunk[:nul].count(b"\n")
            raise self._source.fault("there is a NUL byte", remedy, line)
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

    `whole`: the text is to be held in memory, so that more than fits is refused. While reading, DataError tells bytes
    that the encoding does not allow and NUL bytes (both but for a patient source).
    """
    stream = Utf8Stream(source, encoding)
    raw = io.BufferedReader(_CheckedBytes(stream, source, whole=whole), _BLOCK)
    return io.TextIOWrapper(raw, encoding="utf-8", newline=""), stream.encoding


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


def parse_json(text: str, source: ByteSource, remedy: str, line: int | None = None) -> Any:
    """Return what a JSON text holds, a file or one `line` of it; broken JSON and half a letter are a DataError."""
    what, shown = ("this file", None) if line is None else ("this line", text.rstrip("\r\n"))
    at = line
    try:
        value = json.loads(text)
    except json.JSONDecodeError as problem:
        why, at = f"{problem.msg} at character {problem.colno:,}", line or problem.lineno
    except RecursionError:
        why = "it is nested too deeply"
    except ValueError:  # of Python's, against numbers that take long to read
        why = "a number has too many digits"
    else:
        if "\\u" in text and not is_text(json.dumps(value, ensure_ascii=False)):
            remedy = "Write the letter whole, or leave it out."
            raise source.fault(f"{what} holds {HALF_LETTER}", remedy, line, shown)
        return value
    told = f"{what} is {'not well-formed' if line is None else 'no'} JSON ({why})"
    raise source.fault(told, remedy, at, shown)


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


class Vocabulary(NamedTuple):
    """The words of a vocabulary file, and what the user calls it."""

    words: list[str]
    source: str


def read_vocabulary(source: FileLike) -> Vocabulary:
    """Return the words of a vocabulary file, one a line; a blank line or a word that stands twice is a DataError."""
    with ByteSource(source, "the vocabulary" if isinstance(source, bytes) else None) as opened:
        refuse_text_format(opened)
        lines, _ = open_lines(opened)
        words = [line.strip() for line in lines]
    while words and not words[-1]:
        words.pop()
    lines_of: dict[str, int] = {}
    for line, word in enumerate(words, start=1):
        if not word:
            remedy = "Give one word on each line: its place is its number."
            raise opened.fault("a word is blank", remedy, line)
        if word in lines_of:
            what = f"this word already stands on line {lines_of[word]:,}"
            raise opened.fault(what, "Give every word once.", line, word)
        lines_of[word] = line
    if not words:
        raise opened.fault("the vocabulary is empty", "Give one word on each line.")
    return Vocabulary(words, opened.name)
