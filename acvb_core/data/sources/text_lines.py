"""Long texts as lines of str, in bounded memory: what the records of short fields are not made for."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from acvb_core.data.sources.byte_source import ByteSource, FileLike, Utf8Stream
from acvb_core.data.sources.refusals import refuse_text_format
from acvb_core.errors import DataError

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
