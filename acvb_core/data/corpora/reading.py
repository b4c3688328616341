"""The reading of one file of documents: its faults and progress, .txt files, and word counts in three forms."""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from acvb_core.core.errors import DataError
from acvb_core.data.corpora.schema import CorpusSource, TextFolder
from acvb_core.data.report import Fact, plural
from acvb_core.data.schema import Schema
from acvb_core.data.sources.arrays import MAX_SIDE, check_size
from acvb_core.data.sources.containers import open_records, reading_facts
from acvb_core.data.sources.formats import refuse_text_format
from acvb_core.data.sources.parse import RecordReader
from acvb_core.data.sources.source import (
    MAX_TEXT,
    ByteSource,
    FileLike,
    Utf8Stream,
    long_line_fault,
    open_lines,
)
from acvb_core.data.sources.values import PLAIN, LabelTable, NumberStyle, RecordBatch, ask_style

if TYPE_CHECKING:
    pass


_SHOWN = 5
#: Share of the work that is reading; the rest is sorting and writing.
_READING = 0.9
_SECONDS = 0.25
_TOO_LONG = "\0 too long\n"


class Reading:
    """One file that is being read.

    With `skip`, lines that cannot be read are left out and counted; otherwise the first of them is an error. `progress`
    takes the share that is done, from 0 to 1, a few times a second at most; what it raises ends the reading. What is
    read `whole` goes into memory: more than fits is refused, and errors do not offer to go on without such lines.
    """

    def __init__(
        self,
        source: CorpusSource,
        schema: Schema,
        encoding: str | None,
        *,
        skip: bool = False,
        progress: Callable[[float], None] | None = None,
        whole: bool = False,
    ) -> None:
        source.cut_short = None  # the look at the head may have met the end already
        self.source, self.schema, self.encoding = source, schema, encoding
        self.name = source.name
        self.skip, self.whole = skip, whole
        self._progress = progress
        self._size = max(source.size(), 1)
        self._next = 0.0
        self._left_out = 0
        self._first: list[DataError] = []

    @property
    def file(self) -> ByteSource:
        """The source of a format that is no columns."""
        assert isinstance(self.source, ByteSource)
        return self.source

    def fault(self, what: str, remedy: str, **place: Any) -> DataError:
        """Return the error for a fault of this file; `place` is its line, column and value."""
        return DataError(what, source=self.name, remedy=remedy, **place)

    def lines(self) -> Iterator[str]:
        """Give the lines of a text; for one that would fill the memory comes one with a NUL (`unfit_line`)."""
        lines, _ = open_lines(self.file, self.encoding, whole=self.whole)
        while line := lines.readline(MAX_TEXT):
            if len(line) < MAX_TEXT or line.endswith(("\n", "\r")):
                yield line
                continue
            while line and not line.endswith(("\n", "\r")):
                line = lines.readline(MAX_TEXT)
            yield _TOO_LONG

    def unfit_line(self, number: int, line: str) -> DataError:
        """Return the error for a line with a NUL, which stands for all that no text holds."""
        if line == _TOO_LONG:
            return long_line_fault(self.name, number)
        what = "there is a NUL byte, or one that the encoding does not allow"
        remedy = "This is not plain text: save it as text, or choose another encoding."
        return self.fault(what, remedy, line=number)

    def no_rows(self) -> DataError:
        """Return the error for a table of a header and nothing else."""
        remedy = "Load a file with data in it, or say that its first line is data."
        return self.fault("the file holds column names and no data", remedy, line=1)

    def leave_out(self, fault: DataError) -> None:
        """Count a line that cannot be read, or raise its fault."""
        if not self.skip:
            raise fault if self.whole else offer_skipping(fault)
        self._left_out += 1
        if len(self._first) < _SHOWN:
            self._first.append(fault)

    @contextmanager
    def offering(self) -> Iterator[None]:
        """Let faults through, with the offer to go on without such lines if that is possible."""
        try:
            yield
        except DataError as fault:
            raise fault if self.whole or self.skip else offer_skipping(fault) from None

    def left_out_facts(self) -> list[Fact]:
        """Return the facts about what was left out."""
        facts = []
        if self.source.cut_short is not None:
            told = f"The file ends too early ({self.source.cut_short.what}): what came before was read."
            facts.append(Fact("cut_short", 1, told))
        if self._left_out:
            what = "broken file" if self.schema.format == "zip" else "broken line"
            lines = [fault.line for fault in self._first if fault.line is not None]
            more = ", …" if self._left_out > len(lines) else ""
            where = f" ({', '.join(f'line {line:,}' for line in lines)}{more})" if lines else ""
            first = self._first[0]
            found = f", found {first.value!r}" if first.value is not None else ""
            told = f"{plural(self._left_out, what)} left out{where}; the first: {first.what}{found}."
            facts.append(Fact("broken_lines", self._left_out, told, {"lines": lines}))
        return facts

    def report_read(self) -> None:
        """Report the share of the bytes that is read, the writing still to come."""
        self._report(_READING * min(self.source.position() / self._size, 1.0))

    def report_written(self, share: float) -> None:
        """Report the share of the entries that is written."""
        self._report(_READING + (1.0 - _READING) * share)

    def _report(self, share: float) -> None:
        if self._progress is None or (time.monotonic() < self._next and share < 1.0):
            return
        self._next = time.monotonic() + _SECONDS
        self._progress(share)


def offer_skipping(fault: DataError) -> DataError:
    """Return the fault with the offer to go on without such lines as a further remedy."""
    if "broken=" in fault.remedy:
        return fault
    rest = "with what came before" if fault.line is None else "without such lines"
    return change_fault(fault, remedy=f'{fault.remedy.rstrip(".")}, or go on {rest} (broken="skip").')


def change_fault(fault: DataError, **changes: Any) -> DataError:
    """Return a fault with another remedy, line, …"""
    known = {name: getattr(fault, name) for name in ("remedy", "source", "line", "column", "value")}
    return DataError(fault.what, **(known | changes))


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


MAX_COUNT = 2**31 - 1
COUNT_REMEDY = (
    "Give counts: 0, 1, 2, …; weights such as tf-idf are not counts. Or choose another count column."
)
_WHOLE = re.compile(r"\d{1,15}(\.0*)?", re.ASCII)
#: Takes the documents, words and counts of some entries: numbers from 0, counts below 2^31.
AddEntries = Callable[[NDArray[Any], NDArray[Any], NDArray[Any]], None]


class CountsFound(NamedTuple):
    """Results of reading word counts, beside the entries; without `names` documents are numbered from 1."""

    n_documents: int
    words: Sequence[str]
    names: LabelTable | None
    facts: list[Fact]


def read_counts(reading: Reading, vocabulary: Vocabulary | None, add: AddEntries) -> CountsFound:
    """Read a long list of document, word and perhaps count; a document's lines need not stand together.

    The names of documents and words are held in memory: their bytes and 28 bytes each.
    """
    schema, source = reading.schema, reading.source
    assert not isinstance(source, TextFolder)
    columns = _CountColumns(reading, vocabulary)
    reader = open_records(
        source,
        schema,
        encoding=reading.encoding,
        n_fields=schema.n_fields if reading.skip else None,
        used=columns.used,
        on_fault=reading.leave_out,
    )
    n_entries = 0
    with reading.offering():
        for batch in reader:
            entries = columns.read_entries(batch)
            n_entries += len(entries[0])
            add(*entries)
            reading.report_read()
    if not reader.records:
        raise reading.no_rows()
    facts = reading_facts(reader, schema)
    if schema.count_column is None:
        facts.append(Fact("lines_as_tokens", n_entries, "There is no count column: each line is one token."))
    words = columns.words.labels() if vocabulary is None else vocabulary.words
    return CountsFound(len(columns.documents), words, columns.documents, facts)


class _CountColumns:
    """The columns of a list of counts, turned into numbers batch by batch."""

    def __init__(self, reading: Reading, vocabulary: Vocabulary | None) -> None:
        schema = reading.schema
        assert schema.document_column is not None
        assert schema.word_column is not None
        self._reading, self._vocabulary = reading, vocabulary
        self._document, self._word = schema.document_column, schema.word_column
        self.used = [self._document, self._word]
        self._count: NumberColumn | None = None
        if schema.count_column is not None:
            self.used.append(schema.count_column)
            self._count = NumberColumn(schema.count_column, "count", 0, MAX_COUNT, COUNT_REMEDY, schema.style)
        self.documents, self.words = LabelTable(), LabelTable()
        if vocabulary is not None:
            self.words.codes(batch_words(vocabulary.words), 0)  # so that their codes are their numbers

    def read_entries(self, batch: RecordBatch) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Return documents, words and counts of the records that can be read."""
        if batch.n_fields <= max(self.used):
            what = f"there are {batch.n_fields:,} fields, fewer than the chosen columns need"
            remedy = "Choose other columns or another delimiter."
            raise self._reading.fault(what, remedy, line=int(batch.lines[0]))
        good = np.ones(batch.n_records, dtype=np.bool_)
        for column, what in ((self._document, "document"), (self._word, "word")):
            blank = good & batch.blank(column)
            remedy = f"Name the {what}, or remove the line."
            _leave_out(self._reading, batch, blank, column, f"the {what} is blank", remedy)
            good &= ~blank
        counts = np.ones(batch.n_records, dtype=np.int64)
        if self._count is not None:
            counts = self._count.read(batch, self._reading, good)
        # A broken line must not leave a document or a word behind, so the names come last.
        batch, counts = _choose_records(batch, good), counts[good]
        words = self.words.codes(batch, self._word)
        if self._vocabulary is not None:
            size = len(self._vocabulary.words)
            known = words < size
            remedy = f"Add it to {self._vocabulary.source} ({plural(size, 'word')}), or leave that out."
            what = "this word is not in the vocabulary"
            _leave_out(self._reading, batch, ~known, self._word, what, remedy)
            batch, words, counts = _choose_records(batch, known), words[known], counts[known]
        return self.documents.codes(batch, self._document), words, counts


def batch_words(words: Sequence[str]) -> RecordBatch:
    """Return words as records of one field."""
    encoded = [word.encode("utf-8") for word in words]
    sizes = np.array([len(word) for word in encoded], dtype=np.int32)
    ends = np.cumsum(sizes, dtype=np.int32)
    # Of a bytearray: an array that may not be written to would be another type to the compiled table.
    text = np.frombuffer(bytearray(b"".join(encoded)), dtype=np.uint8)
    return RecordBatch(text, ends - sizes, ends, np.zeros(len(words), dtype=np.int64), 1)


def _leave_out(
    reading: Reading, batch: RecordBatch, broken: NDArray[np.bool_], column: int, what: str, remedy: str
) -> None:
    for at in np.flatnonzero(broken).tolist():
        line, value = int(batch.lines[at]), batch.field(at, column) or None
        reading.leave_out(reading.fault(what, remedy, line=line, column=column + 1, value=value))


def _choose_records(batch: RecordBatch, chosen: NDArray[np.bool_]) -> RecordBatch:
    if chosen.all():
        return batch
    used = batch.n_records * batch.n_fields
    starts, ends = (
        np.ascontiguousarray(side[:used].reshape(-1, batch.n_fields)[chosen]).ravel()
        for side in (batch.starts, batch.ends)
    )
    return RecordBatch(batch.text, starts, ends, batch.lines[chosen], batch.n_fields)


class NumberColumn(NamedTuple):
    """A column (0-based) of whole numbers from `low`, at least 0, to `high`, parsed where they lie."""

    column: int
    what: str
    low: int
    high: int
    remedy: str
    style: NumberStyle = PLAIN

    def read(self, batch: RecordBatch, reading: Reading, good: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return each record's number; records whose number is broken are no longer `good`."""
        found = np.empty(batch.n_records, dtype=np.int64)
        if self.style != PLAIN:
            numbers = batch.numbers([self.column], self.style)[:, 0]
            whole = (numbers >= self.low) & (numbers <= self.high) & (numbers == np.floor(numbers))
            found[:] = np.where(whole, numbers, -1)
        else:
            _parse(
                batch.text, batch.starts, batch.ends, batch.n_fields, self.column, self.low, self.high, found
            )
        for at in np.flatnonzero((found < 0) & good).tolist():
            text = batch.field(at, self.column)
            what = number_fault(text, self.what, self.low, self.high)
            place = {"line": int(batch.lines[at]), "column": self.column + 1}
            remedy = ask_style(text, self.style) or self.remedy
            reading.leave_out(reading.fault(what, remedy, **place, value=text or None))
        good &= found >= 0
        return found


def number_fault(text: str, what: str, low: int, high: int) -> str:
    """Return what is wrong with a field that is to hold a whole number; "" where nothing is."""
    if _WHOLE.fullmatch(text):
        fits = low <= int(text.split(".")[0]) <= high
        return "" if fits else f"this {what} is not from {low:,} to {high:,}"
    if not text:
        return f"the {what} is blank"
    try:
        return f"the {what} is negative" if float(text) < 0 else f"the {what} is not a whole number"
    except ValueError:
        return f"the {what} is not a number"


@njit(nogil=True, cache=True)
def _parse(
    text: Any, starts: Any, ends: Any, n_fields: Any, column: Any, low: Any, high: Any, found: Any
) -> None:
    """Parse the plain numbers of a column, -1 for what is none."""
    for record in range(found.shape[0]):
        at = record * n_fields + column
        place = starts[at]
        end = ends[at]
        number = 0
        digits = 0
        while place < end and digits < 16 and 48 <= text[place] <= 57:
            number = number * 10 + (text[place] - 48)
            digits += 1
            place += 1
        if digits > 0 and place < end and text[place] == 46:  # 3.0 is 3
            place += 1
            while place < end and text[place] == 48:
                place += 1
        plain = 0 < digits < 16 and place == end and low <= number <= high
        found[record] = number if plain else -1


_UCI_SIZES = ("number of documents", "number of words", "number of lines that follow")
_UCI_REMEDY = "The first three lines must hold the numbers of documents, words and lines that follow."
_LDAC_LINE = re.compile(r"\s*\d{1,15}(\s+\d{1,15}:\d{1,15})*\s*", re.ASCII)
_LDAC_PAIR = re.compile(r"\d{1,15}:\d{1,15}", re.ASCII)
_LDAC_REMEDY = "A line is the number of different terms, then term:count for each, terms numbered from 0."
_LDAC_BATCH = 256  # documents that are handed on at once


def read_docword(reading: Reading, vocabulary: Vocabulary | None, add: AddEntries) -> CountsFound:
    """Read a UCI docword file: three sizes, then document, word and count, numbered from 1, in any order."""
    (n_documents, n_words, n_lines), delimiter = read_sizes(reading.file, reading.encoding, vocabulary)

    def leave_out(fault: DataError) -> None:
        if fault.line is None or fault.line > 3:  # the sizes are lines of one field, and read already
            reading.leave_out(fault)

    stream = Utf8Stream(reading.file, reading.encoding)
    reader = RecordReader(stream, reading.name, delimiter, n_fields=3, on_fault=leave_out)
    columns = (
        NumberColumn(0, "document id", 1, n_documents, "Correct the id, or line 1."),
        NumberColumn(1, "word id", 1, n_words, "Correct the id, or line 2."),
        NumberColumn(2, "count", 0, MAX_COUNT, COUNT_REMEDY),
    )
    with reading.offering():
        for batch in reader:
            good = batch.lines > 3
            numbers = [column.read(batch, reading, good) for column in columns]
            extra = reader.records + reader.broken_lines - 3 - n_lines
            if extra > 0 and not reading.skip:
                what = f"line 3 says that {n_lines:,} lines follow, and here is one more"
                remedy = "Correct line 3, or remove what does not belong here."
                raise reading.fault(what, remedy, line=int(batch.lines[-extra]))
            add(numbers[0][good] - 1, numbers[1][good] - 1, numbers[2][good])
            reading.report_read()
        told = f"Read {plural(reader.lines_read, 'line')} of a UCI docword file."
        facts = [Fact("lines", reader.lines_read, told)]
        total = reader.records + reader.broken_lines - 3
        if total != n_lines:
            what = f"ine 3 says that {n_lines:,} lines follow, there are {total:,}"
            if not reading.skip:
                remedy = "The file may be truncated: copy it again, or correct line 3."
                raise reading.fault(f"l{what}", remedy, line=3, value=str(n_lines))
            facts.append(Fact("wrong_total", total, f"L{what}."))
    return CountsFound(n_documents, _words_of(vocabulary, 1, n_words), None, facts)


def read_sizes(
    source: ByteSource, encoding: str | None, vocabulary: Vocabulary | None
) -> tuple[list[int], str]:
    """Return the numbers of documents, words and lines that stand in front, and the delimiter behind them."""
    lines, _ = open_lines(source, encoding)
    head = [line.strip() for _, line in zip(range(4), lines, strict=False)]
    head += [""] * (4 - len(head))
    place: dict[str, Any] = {"source": source.name}
    for line, what in enumerate(_UCI_SIZES, start=1):
        low, high = (1, MAX_SIDE) if line < 3 else (0, 10**12)
        fault = number_fault(head[line - 1], what, low, high)
        if fault:
            value = head[line - 1] or None
            raise DataError(fault, **place, line=line, column=1, value=value, remedy=_UCI_REMEDY)
    sizes = [int(text.split(".")[0]) for text in head[:3]]
    for line, what in enumerate(("documents", "words"), start=1):
        check_size(sizes[line - 1], what, sizes[2], place | {"line": line, "value": head[line - 1]})
    if vocabulary is not None and len(vocabulary.words) != sizes[1]:
        known = plural(len(vocabulary.words), "word")
        raise DataError(
            f"the vocabulary has {known}, line 2 of {source.name} says {sizes[1]:,}",
            source=vocabulary.source,
            remedy="Load the vocabulary that belongs to this file.",
        )
    return sizes, next((mark for mark in ("\t", ",") if mark in head[3]), " ")


def _words_of(vocabulary: Vocabulary | None, first: int, count: int) -> list[str]:
    return [str(first + i) for i in range(count)] if vocabulary is None else vocabulary.words


def read_ldac(reading: Reading, vocabulary: Vocabulary | None, add: AddEntries) -> CountsFound:
    """Read an LDA-C file: a line is a document, `M term:count …` with M pairs and terms numbered from 0."""
    facts: list[Fact] = []
    documents = _ldac_documents(reading, vocabulary, facts)
    n_documents = n_words = n_pairs = 0
    with reading.offering():
        while batch := list(itertools.islice(documents, _LDAC_BATCH)):
            pairs = np.concatenate(batch)
            rows = np.repeat(np.arange(len(batch)), [len(document) // 2 for document in batch])
            add(n_documents + rows, pairs[0::2], pairs[1::2])
            n_documents += len(batch)
            n_pairs += len(rows)
            n_words = max(n_words, int(pairs[0::2].max(initial=-1)) + 1)
            reading.report_read()
    if vocabulary is None:
        check_size(n_words, "words", n_pairs, {"source": reading.name, "value": str(n_words - 1)})
    return CountsFound(n_documents, _words_of(vocabulary, 0, n_words), None, facts)


def _ldac_documents(
    reading: Reading, vocabulary: Vocabulary | None, facts: list[Fact]
) -> Iterator[NDArray[np.int64]]:
    """Give term, count, term, count, … of each line, and the facts about the lines in the end."""
    lines, _ = open_lines(reading.file, reading.encoding, whole=reading.whole)
    number = blank = 0
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            blank += 1
            continue
        try:
            document = _parse_ldac(reading, line, number, vocabulary)
        except DataError as fault:
            reading.leave_out(fault)
        else:
            yield document
    facts.append(Fact("lines", number, f"Read {plural(number, 'line')} of an LDA-C file."))
    if blank:
        facts.append(Fact("blank_lines", blank, f"{plural(blank, 'blank line')}: passed over."))


def _parse_ldac(reading: Reading, line: str, number: int, vocabulary: Vocabulary | None) -> NDArray[np.int64]:
    """Return term, count, term, count, … of one line."""
    if not _LDAC_LINE.fullmatch(line):
        raise _ldac_fault(reading, line.split(), number)
    numbers = np.fromstring(line.replace(":", " "), dtype=np.int64, sep=" ")
    terms, counts = numbers[1::2], numbers[2::2]
    if numbers[0] != len(terms):
        what = f"this line promises {plural(int(numbers[0]), 'pair')} of term:count and has {len(terms):,}"
        remedy = "Correct the first number; the line may be truncated."
        raise reading.fault(what, remedy, line=number, column=1, value=str(numbers[0]))
    limit = MAX_SIDE if vocabulary is None else len(vocabulary.words)
    if len(terms) and (terms.max() >= limit or counts.max() > MAX_COUNT):
        at = int(((terms >= limit) | (counts > MAX_COUNT)).argmax())
        what = f"this count is beyond {MAX_COUNT:,}"
        if terms[at] >= limit:
            of = "" if vocabulary is None else "the vocabulary, whose last is "
            what = f"this term is beyond {of}{limit - 1:,}"
        remedy = "Terms are numbered from 0; load the vocabulary that belongs to this file."
        raise reading.fault(what, remedy, line=number, column=at + 2, value=f"{terms[at]}:{counts[at]}")
    return numbers[1:]


def _ldac_fault(reading: Reading, fields: list[str], line: int) -> DataError:
    """Return what is wrong with a line that is not of the form."""
    if not re.fullmatch(r"\d{1,15}", fields[0], re.ASCII):
        what = "the line does not begin with a whole number"
        return reading.fault(what, _LDAC_REMEDY, line=line, column=1, value=fields[0])
    for column, field in enumerate(fields[1:], start=2):
        if not _LDAC_PAIR.fullmatch(field):
            what = "this is not of the form term:count"
            if re.fullmatch(r"-?\d+:-?[\d.]+", field):
                what = "term and count must be whole numbers, none negative"
            return reading.fault(what, _LDAC_REMEDY, line=line, column=column, value=field)
    return reading.fault("the line cannot be read", _LDAC_REMEDY, line=line)
