"""Word counts: the long list of document, word and count, UCI docword and LDA-C."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from acvb_core.data.corpora.reading import Reading
from acvb_core.data.corpora.text_files import TextFolder
from acvb_core.data.report import Fact, plural
from acvb_core.data.sources.byte_source import ByteSource, Utf8Stream
from acvb_core.data.sources.frames import open_records, reading_facts
from acvb_core.data.sources.objects import MAX_SIDE, check_size
from acvb_core.data.sources.records import RecordBatch, RecordReader
from acvb_core.data.sources.text_lines import Vocabulary, open_lines
from acvb_core.data.sources.values import LabelTable
from acvb_core.errors import DataError

_MAX_COUNT = 2**31 - 1
_COUNT_REMEDY = (
    "Give counts: 0, 1, 2, …; weights such as tf-idf are no counts. Or choose another count column."
)
_WHOLE = re.compile(r"\d{1,15}(\.0*)?", re.ASCII)
_UCI_SIZES = ("number of documents", "number of words", "number of lines that follow")
_UCI_REMEDY = "The first three lines must hold the numbers of documents, words and lines that follow."
_LDAC_LINE = re.compile(r"\s*\d{1,15}(\s+\d{1,15}:\d{1,15})*\s*", re.ASCII)
_LDAC_PAIR = re.compile(r"\d{1,15}:\d{1,15}", re.ASCII)
_LDAC_REMEDY = "A line is the number of different terms, then term:count for each, terms numbered from 0."
_LDAC_BATCH = 1 << 16

#: Takes the documents, words and counts of some entries: numbers from 0, counts below 2^31.
AddEntries = Callable[[NDArray[Any], NDArray[Any], NDArray[Any]], None]


class CountsFound(NamedTuple):
    """What reading word counts found, beside the entries.

    Attributes
    ----------
    n_documents : int
    words : sequence of str
        The vocabulary.
    names : LabelTable or None
        The names of the documents; None: they are numbered from 1.
    facts : list of Fact
    """

    n_documents: int
    words: Sequence[str]
    names: LabelTable | None
    facts: list[Fact]


def read_counts(reading: Reading, vocabulary: Vocabulary | None, add: AddEntries) -> CountsFound:
    """Read a long list of document, word and perhaps count; a document's lines need not stand together.

    The names of documents and words are held in memory: their bytes and 28 bytes each.
    """
    layout, source = reading.layout, reading.source
    assert not isinstance(source, TextFolder)
    columns = _CountColumns(reading, vocabulary)
    reader = open_records(
        source,
        layout.delimiter or ",",
        encoding=reading.encoding,
        header=layout.header,
        n_fields=layout.n_fields if reading.skip else None,
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
    facts = reading_facts(reader, layout)
    if layout.count_column is None:
        facts.append(Fact("lines_as_tokens", n_entries, "There is no count column: each line is one token."))
    words = columns.words.labels() if vocabulary is None else vocabulary.words
    return CountsFound(len(columns.documents), words, columns.documents, facts)


class _CountColumns:
    """The columns of a list of counts, turned into numbers batch by batch."""

    def __init__(self, reading: Reading, vocabulary: Vocabulary | None) -> None:
        layout = reading.layout
        assert layout.document_column is not None
        assert layout.word_column is not None
        self._reading, self._vocabulary = reading, vocabulary
        self._document, self._word = layout.document_column, layout.word_column
        self.used = [self._document, self._word]
        self._count: _NumberColumn | None = None
        if layout.count_column is not None:
            self.used.append(layout.count_column)
            self._count = _NumberColumn(layout.count_column, "count", 0, _MAX_COUNT, _COUNT_REMEDY)
        self._places = {} if vocabulary is None else {word: at for at, word in enumerate(vocabulary.words)}
        self._place_of = np.empty(0, dtype=np.int64)  # of each word met so far
        self.documents, self.words = LabelTable(), LabelTable()

    def read_entries(self, batch: RecordBatch) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Return documents, words and counts of the records that can be read."""
        if batch.n_fields <= max(self.used):
            what = f"there are {batch.n_fields:,} fields, fewer than the chosen columns need"
            raise self._reading.fault(
                what, "Choose other columns or another delimiter.", line=int(batch.lines[0])
            )
        good = np.ones(batch.n_records, dtype=np.bool_)
        for column, what in ((self._document, "document"), (self._word, "word")):
            for at in np.flatnonzero(batch.blank(column) & good).tolist():
                remedy = f"Name the {what}, or remove the line."
                self._leave_out(batch, at, column, f"the {what} is blank", remedy, None)
                good[at] = False
        counts = np.ones(batch.n_records, dtype=np.int64)
        if self._count is not None:
            counts = self._count.read(batch, self._reading, good)
        # A broken line must not leave a document or a word behind, so the names come last.
        batch, counts = _choose_records(batch, good), counts[good]
        words: NDArray[Any] = self.words.codes(batch, self._word)
        if self._vocabulary is not None:
            words = self._places_of(batch, words, self._vocabulary)
            known = words >= 0
            batch, words, counts = _choose_records(batch, known), words[known], counts[known]
        return self.documents.codes(batch, self._document), words, counts

    def _places_of(
        self, batch: RecordBatch, codes: NDArray[np.int32], listed: Vocabulary
    ) -> NDArray[np.int64]:
        """Return the numbers within the vocabulary, -1 for a word that it does not hold."""
        new = [self._places.get(label, -1) for label in self.words.labels(len(self._place_of))]
        self._place_of = np.concatenate([self._place_of, np.array(new, dtype=np.int64)])
        words = self._place_of[codes]
        remedy = f"Add it to {listed.source} ({plural(len(listed.words), 'word')}), or leave that out."
        for at in np.flatnonzero(words < 0).tolist():
            word = batch.field(at, self._word)
            self._leave_out(batch, at, self._word, "this word is not in the vocabulary", remedy, word)
        return words

    def _leave_out(
        self, batch: RecordBatch, at: int, column: int, what: str, remedy: str, value: str | None
    ) -> None:
        line = int(batch.lines[at])
        self._reading.leave_out(self._reading.fault(what, remedy, line=line, column=column + 1, value=value))


class _NumberColumn(NamedTuple):
    """A column (0-based) of whole numbers from `low` to `high`, parsed where they lie."""

    column: int
    what: str
    low: int
    high: int
    remedy: str

    def read(self, batch: RecordBatch, reading: Reading, good: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return each record's number; records whose number is broken are no longer `good`."""
        found = np.zeros(batch.n_records, dtype=np.int64)
        fields = batch.text, batch.starts, batch.ends, batch.n_fields, self.column
        at = int(_parse(*fields, self.low, self.high, 0, found))
        while at < batch.n_records:
            if good[at]:
                text = batch.field(at, self.column)
                try:
                    found[at] = _whole_number(text, self.what, self.low, self.high)
                except ValueError as problem:
                    place = {"line": int(batch.lines[at]), "column": self.column + 1}
                    reading.leave_out(reading.fault(str(problem), self.remedy, **place, value=text or None))
                    good[at] = False
            at = int(_parse(*fields, self.low, self.high, at + 1, found))
        return found


def _whole_number(text: str, what: str, low: int, high: int) -> int:
    """Return the whole number that a field holds; ValueError says what is wrong with it."""
    if _WHOLE.fullmatch(text):
        number = int(text.split(".")[0])
        if low <= number <= high:
            return number
        raise ValueError(f"this {what} is not from {low:,} to {high:,}")
    if not text:
        raise ValueError(f"the {what} is blank")
    try:
        negative = float(text) < 0
    except ValueError:
        raise ValueError(f"the {what} is no number") from None
    raise ValueError(f"the {what} is negative" if negative else f"the {what} is no whole number")


def _choose_records(batch: RecordBatch, chosen: NDArray[np.bool_]) -> RecordBatch:
    if chosen.all():
        return batch
    used = batch.n_records * batch.n_fields
    starts, ends = (
        np.ascontiguousarray(side[:used].reshape(-1, batch.n_fields)[chosen]).ravel()
        for side in (batch.starts, batch.ends)
    )
    return RecordBatch(batch.text, starts, ends, batch.lines[chosen], batch.n_fields)


@njit(nogil=True, cache=True)
def _parse(
    text: Any, starts: Any, ends: Any, n_fields: Any, column: Any, low: Any, high: Any, begin: Any, found: Any
) -> Any:
    """Parse the plain numbers of a column from record `begin` on; return the first record that is none, or n."""
    for record in range(begin, found.shape[0]):
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
        if digits == 0 or digits > 15 or place < end or number < low or number > high:
            return record
        found[record] = number
    return found.shape[0]


def read_docword(reading: Reading, vocabulary: Vocabulary | None, add: AddEntries) -> CountsFound:
    """Read a UCI docword file: three sizes, then document, word and count, numbered from 1, in any order."""
    (n_documents, n_words, n_lines), delimiter = read_sizes(reading.file, reading.encoding, vocabulary)

    def leave_out(fault: DataError) -> None:
        # The sizes are lines of one field; they were read.
        if fault.line is None or fault.line > len(_UCI_SIZES):
            reading.leave_out(fault)

    stream = Utf8Stream(reading.file, reading.encoding)
    reader = RecordReader(stream, reading.name, delimiter, n_fields=3, on_fault=leave_out)
    columns = (
        _NumberColumn(0, "document id", 1, n_documents, "Correct the id, or line 1."),
        _NumberColumn(1, "word id", 1, n_words, "Correct the id, or line 2."),
        _NumberColumn(2, "count", 0, _MAX_COUNT, _COUNT_REMEDY),
    )
    with reading.offering():
        for batch in reader:
            good = batch.lines > len(_UCI_SIZES)
            numbers = [column.read(batch, reading, good) for column in columns]
            extra = reader.records + reader.broken_lines - len(_UCI_SIZES) - n_lines
            if extra > 0 and not reading.skip:
                raise reading.fault(
                    f"line 3 says that {n_lines:,} lines follow, and here is one more",
                    "Correct line 3, or remove what does not belong here.",
                    line=int(batch.lines[-extra]),
                )
            add(numbers[0][good] - 1, numbers[1][good] - 1, numbers[2][good])
            reading.report_read()
        facts = [
            Fact(
                "lines", reader.lines_read, f"Read {plural(reader.lines_read, 'line')} of a UCI docword file."
            )
        ]
        total = reader.records + reader.broken_lines - len(_UCI_SIZES)
        if total != n_lines:
            what = f"ine 3 says that {n_lines:,} lines follow, there are {total:,}"
            if not reading.skip:
                remedy = "The file may be truncated: copy it again, or correct line 3."
                raise reading.fault(f"l{what}", remedy, line=3, value=str(n_lines))
            facts.append(Fact("wrong_total", total, f"L{what}."))
    words_listed = _numbers(1, n_words) if vocabulary is None else vocabulary.words
    return CountsFound(n_documents, words_listed, None, facts)


def read_sizes(
    source: ByteSource, encoding: str | None, vocabulary: Vocabulary | None
) -> tuple[list[int], str]:
    """Return the numbers of documents, words and lines that stand in front, and the delimiter behind them."""
    lines, _ = open_lines(source, encoding)
    head = [line.strip() for _, line in zip(range(4), lines, strict=False)]
    head += [""] * (4 - len(head))
    sizes = []
    for line, (what, text) in enumerate(zip(_UCI_SIZES, head, strict=False), start=1):
        try:
            sizes.append(_whole_number(text, what, line < 3, MAX_SIDE if line < 3 else 10**12))
        except ValueError as problem:
            raise DataError(
                str(problem), source=source.name, line=line, column=1, value=text or None, remedy=_UCI_REMEDY
            ) from None
    for line, what in enumerate(("documents", "words"), start=1):
        check_size(
            sizes[line - 1], what, sizes[2], {"source": source.name, "line": line, "value": head[line - 1]}
        )
    if vocabulary is not None and len(vocabulary.words) != sizes[1]:
        raise DataError(
            f"the vocabulary has {plural(len(vocabulary.words), 'word')}, line 2 of {source.name} says {sizes[1]:,}",
            source=vocabulary.source,
            remedy="Load the vocabulary that belongs to this file.",
        )
    return sizes, next((mark for mark in ("\t", ",") if mark in head[3]), " ")


def read_ldac(reading: Reading, vocabulary: Vocabulary | None, add: AddEntries) -> CountsFound:
    """Read an LDA-C file: a line is a document, `M term:count …` with M pairs and terms numbered from 0."""
    lines, _ = open_lines(reading.file, reading.encoding, whole=reading.whole)
    waiting: list[NDArray[np.int64]] = []  # documents, gathered until it pays to hand them on
    n_documents = n_words = n_pairs = size = blank = number = 0

    def hand_on() -> None:
        nonlocal n_documents, n_words, n_pairs, size
        flat = np.concatenate(waiting)
        lengths = [len(pairs) // 2 for pairs in waiting]
        add(n_documents + np.repeat(np.arange(len(lengths)), lengths), flat[0::2], flat[1::2])
        n_documents += len(lengths)
        n_pairs += len(flat) // 2
        n_words = max(n_words, int(flat[0::2].max(initial=-1)) + 1)
        waiting.clear()
        size = 0

    with reading.offering():
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                blank += 1
                continue
            try:
                waiting.append(_parse_ldac(reading, line, number, vocabulary))
            except DataError as fault:
                reading.leave_out(fault)
                continue
            size += len(waiting[-1]) + 1
            if size > _LDAC_BATCH:
                hand_on()
            if number % 1024 == 0:
                reading.report_read()
    if waiting:
        hand_on()
    if vocabulary is None:
        check_size(n_words, "words", n_pairs, {"source": reading.name, "value": str(n_words - 1)})
    facts = [Fact("lines", number, f"Read {plural(number, 'line')} of an LDA-C file.")]
    if blank:
        facts.append(Fact("blank_lines", blank, f"{plural(blank, 'blank line')}: passed over."))
    return CountsFound(
        n_documents, _numbers(0, n_words) if vocabulary is None else vocabulary.words, None, facts
    )


def _numbers(first: int, count: int) -> list[str]:
    return [str(first + i) for i in range(count)]


def _parse_ldac(reading: Reading, line: str, number: int, vocabulary: Vocabulary | None) -> NDArray[np.int64]:
    """Return term, count, term, count, … of one line."""
    if not _LDAC_LINE.fullmatch(line):
        raise _ldac_fault(reading, line.split(), number)
    numbers = np.fromstring(line.replace(":", " "), dtype=np.int64, sep=" ")
    terms, counts = numbers[1::2], numbers[2::2]
    if numbers[0] != len(terms):
        pairs = plural(int(numbers[0]), "pair")
        raise reading.fault(
            f"this line promises {pairs} of term:count and has {len(terms):,}",
            "Correct the first number; the line may be truncated.",
            line=number,
            column=1,
            value=str(numbers[0]),
        )
    limit = MAX_SIDE if vocabulary is None else len(vocabulary.words)
    if len(terms) and (terms.max() >= limit or counts.max() > _MAX_COUNT):
        at = int(((terms >= limit) | (counts > _MAX_COUNT)).argmax())
        what = f"this count is beyond {_MAX_COUNT:,}"
        if terms[at] >= limit:
            of = "" if vocabulary is None else "the vocabulary, whose last is "
            what = f"this term is beyond {of}{limit - 1:,}"
        raise reading.fault(
            what,
            "Terms are numbered from 0; load the vocabulary that belongs to this file.",
            line=number,
            column=at + 2,
            value=f"{terms[at]}:{counts[at]}",
        )
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
