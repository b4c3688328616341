"""The reading of one file of documents: its faults and progress, .txt files, and word counts in three forms."""

from __future__ import annotations

import itertools
import operator
import os
import re
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from acvb_core.core.errors import DataError
from acvb_core.data.corpora.schema import CorpusSource, TextFolder
from acvb_core.data.corpus import MAX_COUNT
from acvb_core.data.names import make_unique, refuse_repeated
from acvb_core.data.relation_schema import no_data_fault
from acvb_core.data.report import Fact, list_first, plural, tell_count
from acvb_core.data.schema import Schema
from acvb_core.data.sources.arrays import MAX_SIDE, check_size
from acvb_core.data.sources.containers import open_records, reading_facts
from acvb_core.data.sources.formats import refuse_text_format
from acvb_core.data.sources.frames import FrameRecords, FrameSource, is_frame, read_texts
from acvb_core.data.sources.parse import RecordReader
from acvb_core.data.sources.source import (
    MAX_TEXT,
    ByteSource,
    FileLike,
    Utf8Stream,
    open_lines,
)
from acvb_core.data.sources.values import PLAIN, LabelTable, NumberStyle, RecordBatch, ask_style

#: Lines, words and documents that a fact names; the others it counts.
SHOWN = 5
#: Share of the work that is reading; the rest is sorting and writing.
_READING = 0.9
_SECONDS = 0.25
_TOO_LONG = "\0 too long\n"


class Reading:
    """One file that is being read.

    With `skip`, lines that cannot be read are left out and counted; otherwise the first of them is an error. `progress`
    takes the share that is done, from 0 to 1, a few times a second at most; what it raises ends the reading. What is
    read `whole` goes into memory: more than fits is refused, and errors do not offer to continue without such lines.
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

    def open_records(self, **options: Any) -> RecordReader | FrameRecords:
        """Return the records of a table; broken ones are left out, or raised."""
        assert not isinstance(self.source, TextFolder)
        options |= {"encoding": self.encoding, "on_fault": self.leave_out}
        return open_records(self.source, self.schema, **options)

    def lines(self) -> Iterator[str]:
        """Give the lines of a text; for one that would fill the memory comes one with a NUL (`unfit_line`)."""
        lines, _ = open_lines(self.file, self.encoding, whole=self.whole)
        while line := lines.readline(MAX_TEXT):
            end = line
            while len(end) == MAX_TEXT and not end.endswith(("\n", "\r")):
                end = lines.readline(MAX_TEXT)
            yield line if end is line else _TOO_LONG

    def unfit_line(self, number: int, line: str) -> DataError:
        """Return the error for a line with a NUL, as for all that no text contains."""
        if line == _TOO_LONG:
            what = f"this line is longer than {MAX_TEXT:,} characters"
            return self.fault(what, "Check the line ends; give one document on each line.", line=number)
        what = "there is a NUL byte, or one that the encoding does not allow"
        remedy = "This is not plain text: save it as text, or choose another encoding."
        return self.fault(what, remedy, line=number)

    def leave_out(self, fault: DataError) -> None:
        """Count a line that cannot be read, or raise its fault (within `offering`)."""
        if not self.skip:
            raise fault
        self._left_out += 1
        if len(self._first) < SHOWN:
            self._first.append(fault)

    @contextmanager
    def offering(self) -> Iterator[None]:
        """Let faults through, with the offer to continue without such lines if that is possible."""
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
        if self._progress is not None and (time.monotonic() >= self._next or share >= 1.0):
            self._next = time.monotonic() + _SECONDS
            self._progress(share)


def offer_skipping(fault: DataError) -> DataError:
    """Return the fault with the offer to continue without such lines as a further remedy."""
    rest = "with what came before" if fault.line is None else "without such lines"
    return fault.change_parts(remedy=f'{fault.remedy.rstrip(".")}, or continue {rest} (broken="skip").')


class Vocabulary(NamedTuple):
    """The words of a vocabulary, and what the user calls it."""

    words: list[str]
    source: str


def read_vocabulary(given: FileLike | Any) -> Vocabulary:
    """Return the words of a file (one a line), list, vectoriser or dictionary (of words or of numbers), by number.

    A blank word, one that occurs twice or a number without a word is a DataError.
    """
    name = "the vocabulary"
    if is_object(given):
        words = _list_words(given)
    else:
        with ByteSource(given, name if isinstance(given, bytes) else None) as opened:
            refuse_text_format(opened)
            lines, _ = open_lines(opened)
            words = [line.strip() for line in lines]
        name = opened.name
        while words and not words[-1]:
            words.pop()
    refuse_repeated(words, "word", lambda at: {"source": name, "line": at + 1})
    if not words:
        raise DataError("the vocabulary is empty", source=name, remedy="Give one word on each line.")
    return Vocabulary(words, name)


def is_object(source: Any) -> bool:
    """Return whether a source is a Python object, and neither a file nor a data frame."""
    file = isinstance(source, str | os.PathLike | bytes | bytearray | memoryview) or hasattr(source, "read")
    return not (file or is_frame(source))


def list_values(column: Any) -> Any:
    """Return a column as a list; anything else as it is."""
    for method in ("to_list", "to_pylist", "tolist"):
        if hasattr(column, method):
            return getattr(column, method)()
    return column


def _list_words(vocabulary: Any) -> list[str]:
    """Return the words of a list, vectoriser or dictionary (of words or of numbers), by their numbers."""
    if hasattr(vocabulary, "get_feature_names_out"):
        vocabulary = vocabulary.get_feature_names_out()
    vocabulary = getattr(vocabulary, "token2id", vocabulary)
    if not isinstance(vocabulary, Mapping):
        return [str(word) for word in list_values(vocabulary)]
    pairs = [(at, word) if isinstance(word, str) else (word, at) for at, word in vocabulary.items()]
    found = {operator.index(number): word for number, word in pairs}
    gap = next((n for n in range(len(pairs)) if n not in found), None)
    if gap is not None:
        what = f"the vocabulary has {len(pairs):,} words, and none of number {gap:,}"
        raise DataError(what, remedy="Number the words from 0 without gaps (compactify() of gensim does).")
    return [found[number] for number in range(len(pairs))]


COUNT_REMEDY = (
    "Give counts: 0, 1, 2, …; weights such as tf-idf are not counts. Or choose another count column."
)
_CELL_REMEDY = "Give counts, 0 for a word that is not in the document; or leave the column out."
#: Takes the documents, words and counts of some entries: numbers from 0, counts below 2^31.
AddEntries = Callable[[NDArray[Any], NDArray[Any], NDArray[Any]], None]


class CountsFound(NamedTuple):
    """Results of reading word counts, besides the entries; without `names` documents are numbered from 1."""

    n_documents: int
    words: Sequence[str]
    names: LabelTable | None
    facts: list[Fact]
    labels: Sequence[str] = ()
    columns: Mapping[str, Sequence[str]] = {}


class WholeColumn(NamedTuple):
    """A column (0-based) of whole numbers from `low` to `high`."""

    column: int
    what: str
    low: int
    high: int
    remedy: str


def _read_whole(
    reading: Reading, batch: RecordBatch, columns: Sequence[WholeColumn], good: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Return the numbers of each record, shape (n_records, n_columns); broken records are no longer `good`."""
    style = reading.schema.style
    numbers = batch.numbers([one.column for one in columns], style)
    low, high = np.array([(one.low, one.high) for one in columns]).T
    fits = (numbers >= low) & (numbers <= high) & (numbers == np.floor(numbers))
    for at in np.flatnonzero(good & ~fits.all(axis=1)).tolist():
        one = columns[int(fits[at].argmin())]
        text = batch.field(at, one.column)
        what, remedy = number_fault(text, one, style), ask_style(text, style) or one.remedy
        place = {"line": int(batch.lines[at]), "column": one.column + 1, "value": text or None}
        reading.leave_out(reading.fault(what, remedy, **place))
    good &= fits.all(axis=1)
    return np.where(fits, numbers, 0).astype(np.int64)


def number_fault(text: str, wanted: WholeColumn, style: NumberStyle = PLAIN) -> str:
    """Return what is wrong with a field that is to hold a whole number; "" if nothing is."""
    what, number = wanted.what, style.number(text)
    if not text:
        return f"the {what} is blank"
    if not np.isfinite(number):
        return f"the {what} is not a number"
    if number < 0:
        return f"the {what} is negative"
    if number != np.floor(number):
        return f"the {what} is not a whole number"
    fits = wanted.low <= number <= wanted.high
    return "" if fits else f"this {what} is not from {wanted.low:,} to {wanted.high:,}"


def read_counts(reading: Reading, vocabulary: Vocabulary | None, add: AddEntries) -> CountsFound:
    """Read a long list of document, word and perhaps count; a document's lines need not be neighbours.

    The names of documents and words are held in memory: their bytes and 28 bytes each. Further columns are kept if
    they have one value for each document.
    """
    schema = reading.schema
    roles = [schema.document_column, schema.word_column, schema.count_column]
    kept, unused = further_columns(reading, roles)
    used = [at for at in roles if at is not None]
    documents, words = LabelTable(), LabelTable()
    if vocabulary is not None:
        words.codes(batch_words(vocabulary.words), 0)  # so that their codes are their numbers
    beside = {at: _Constant() for at in kept}
    reader = reading.open_records(used=[*used, *kept])
    n_entries = 0
    with reading.offering():
        for batch in reader:
            batch, counts = _check_counts(reading, batch)
            codes = words.codes(batch, used[1])
            if vocabulary is not None:
                known = codes < len(vocabulary.words)
                _leave_out(reading, batch, ~known, used[1], *_unknown_word(vocabulary))
                batch, codes, counts = _choose_records(batch, known), codes[known], counts[known]
            rows = documents.codes(batch, used[0])
            for at, column in list(beside.items()):
                if not column.add(batch, at, rows, len(documents)):
                    unused.append(kept[at])
                    del beside[at]
            n_entries += len(counts)
            add(rows, codes, counts)
            reading.report_read()
    if not reader.records:
        raise no_data_fault(reading.name)
    facts = reading_facts(reader, schema)
    if schema.count_column is None:
        facts.append(Fact("lines_as_tokens", n_entries, "There is no count column: each line is one token."))
    columns = {kept[at]: column.values() for at, column in beside.items()}
    facts += unused_facts(unused, "several values in one document, or no texts or numbers")
    listed = words.labels() if vocabulary is None else vocabulary.words
    return CountsFound(len(documents), listed, documents, facts, columns=columns)


def _check_counts(reading: Reading, batch: RecordBatch) -> tuple[RecordBatch, NDArray[np.int64]]:
    """Return the records of a list of counts that can be read, and their counts.

    A broken line must not leave a document or a word behind, so their names are read after this.
    """
    schema = reading.schema
    good = np.ones(batch.n_records, dtype=np.bool_)
    for column, what in ((schema.document_column, "document"), (schema.word_column, "word")):
        assert column is not None
        blank = good & batch.blank(column)
        _leave_out(
            reading, batch, blank, column, f"the {what} is blank", f"Name the {what}, or remove the line."
        )
        good &= ~blank
    counts = np.ones(batch.n_records, dtype=np.int64)
    if schema.count_column is not None:
        wanted = WholeColumn(schema.count_column, "count", 0, MAX_COUNT, COUNT_REMEDY)
        counts = _read_whole(reading, batch, [wanted], good)[:, 0]
    return _choose_records(batch, good), counts[good]


def batch_words(words: Sequence[str]) -> RecordBatch:
    """Return words as records of one field."""
    encoded = [word.encode("utf-8") for word in words]
    ends = np.cumsum([len(word) for word in encoded], dtype=np.int32)
    starts = np.concatenate([[0], ends[:-1]]).astype(np.int32)
    # From a bytearray: an array that may not be written to would be another type to the compiled table.
    text = np.frombuffer(bytearray(b"".join(encoded)), dtype=np.uint8)
    return RecordBatch(text, starts, ends, np.zeros(len(words), dtype=np.int64), 1)


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
        side[:used].reshape(-1, batch.n_fields)[chosen].ravel() for side in (batch.starts, batch.ends)
    )
    return RecordBatch(batch.text, starts, ends, batch.lines[chosen], batch.n_fields)


class _Constant:
    """A column of a list of counts, as long as it has one value for each document."""

    def __init__(self) -> None:
        self._table, self._codes = LabelTable(), np.empty(0, dtype=np.int32)

    def add(self, batch: RecordBatch, column: int, documents: NDArray[Any], n_documents: int) -> bool:
        """Take the values of some records; return whether each document still has one value."""
        found = self._table.codes(batch, column)
        self._codes = np.pad(self._codes, (0, n_documents - len(self._codes)), constant_values=-1)
        new = self._codes[documents] < 0
        self._codes[documents[new]] = found[new]
        return bool((self._codes[documents] == found).all())

    def values(self) -> list[str]:
        """Return the value of each document."""
        labels = self._table.labels()
        return [labels[code] for code in self._codes.tolist()]


def read_matrix(reading: Reading, vocabulary: Vocabulary | None, add: AddEntries) -> CountsFound:
    """Read a table of counts: a document in each record, a word in each column but those of names and labels."""
    schema = reading.schema
    named, labelled = schema.document_column, schema.label_column
    places = [at for at in range(schema.n_fields) if at not in (named, labelled)]
    if not places:
        remedy = "Give a column of counts for each word, or choose another format."
        raise reading.fault("there is no column of counts", remedy, value=", ".join(schema.column_names))
    words, numbers = _match_words(reading, places, vocabulary)
    wanted = [WholeColumn(at, "count", 0, MAX_COUNT, _CELL_REMEDY) for at in places]
    reader = reading.open_records()
    names: list[str] = []
    labels: list[str] = []
    n_documents = 0
    with reading.offering():
        for batch in reader:
            good = np.ones(batch.n_records, dtype=np.bool_)
            counts = _read_whole(reading, batch, wanted, good)[good]
            batch = _choose_records(batch, good)
            rows, columns = np.nonzero(counts)
            add(n_documents + rows, numbers[columns], counts[rows, columns])
            for column, values in ((named, names), (labelled, labels)):
                if column is not None:
                    values += [batch.field(at, column) for at in range(batch.n_records)]
            n_documents += batch.n_records
            reading.report_read()
    if not reader.records:
        raise no_data_fault(reading.name)
    unnamed = names.count("")
    names, renamed = make_unique([name or str(at) for at, name in enumerate(names, start=1)])
    table = LabelTable()
    table.codes(batch_words(names), 0)
    facts = [*reading_facts(reader, schema), *name_facts(unnamed, len(renamed), renamed)]
    return CountsFound(n_documents, words, None if named is None else table, facts, labels)


def _match_words(
    reading: Reading, places: Sequence[int], vocabulary: Vocabulary | None
) -> tuple[Sequence[str], NDArray[np.int64]]:
    """Return the words of a table of counts, and the number of each column's word."""
    schema, numbers = reading.schema, np.arange(len(places))
    if not schema.header:
        words = _words_of(vocabulary, 0, len(places))
        if len(words) != len(places):
            known, there = plural(len(words), "word"), plural(len(places), "column")
            what = f"the vocabulary has {known}, the table {there} of counts"
            raise reading.fault(what, "Load the vocabulary that belongs to this file.")
        return words, numbers
    titles = [schema.column_names[at] for at in places]
    line = schema.title_lines + 1
    place = {"source": reading.name, "line": line}
    refuse_repeated(titles, "word", lambda at: {**place, "column": places[at] + 1})
    if vocabulary is None:
        return titles, numbers
    index = {word: number for number, word in enumerate(vocabulary.words)}
    for at, title in zip(places, titles, strict=True):
        if title not in index:
            raise reading.fault(*_unknown_word(vocabulary), line=line, column=at + 1, value=title)
    return vocabulary.words, np.array([index[title] for title in titles])


def _unknown_word(vocabulary: Vocabulary) -> tuple[str, str]:
    """Return the fault of a word that is not in the vocabulary, and its remedy."""
    remedy = f"Add it to {vocabulary.source} ({plural(len(vocabulary.words), 'word')}), or leave that out."
    return "this word is not in the vocabulary", remedy


def further_columns(reading: Reading, taken: Sequence[int | None]) -> tuple[dict[int, str], list[str]]:
    """Return the names of the columns without a role by position, and those whose values are no texts or numbers."""
    source = reading.source
    titles = [title or f"column {i}" for i, title in enumerate(reading.schema.column_names, start=1)]
    kept = {at: title for at, title in enumerate(make_unique(titles)[0]) if at not in taken}
    unread = []
    if isinstance(source, FrameSource):
        if source.frame.has_index and not source.frame.names[0]:
            kept.pop(0, None)  # nobody put it there
        for batch in itertools.islice(source.frame.batches(), 1):
            unread = [at for at in kept if read_texts(batch.column(at), source, at, strict=False) is None]
    return {at: kept[at] for at in kept if at not in unread}, [kept[at] for at in unread]


def unused_facts(unused: Collection[str], why: str) -> list[Fact]:
    """Return the fact about columns that are not used, if there are any."""
    told = f"{plural(len(unused), 'column')} not used ({why}): {list_first(unused)}."
    return [Fact("unused_columns", len(unused), told)] if unused else []


def name_facts(unnamed: int, renamed: int = 0, first: Sequence[str] = ()) -> list[Fact]:
    """Return the facts about documents without a name, and about those whose name another one has."""
    called = "{document} without a name: called by the position in the file."
    numbered = "{document} with a name that stood before: a number was appended."
    return [
        *tell_count("unnamed_documents", unnamed, called),
        *tell_count("renamed_documents", renamed, numbered, first=list(first[:SHOWN])),
    ]


_UCI_SIZES = ("number of documents", "number of words", "number of lines that follow")
_UCI_REMEDY = "The first three lines must hold the numbers of documents, words and lines that follow."
_LDAC_LINE = re.compile(r"\s*\d{1,15}(\s+\d{1,15}:\d{1,15})*\s*", re.ASCII)
_LDAC_PAIR = re.compile(r"\d{1,15}:\d{1,15}", re.ASCII)
_LDAC_REMEDY = "A line is the number of different terms, then term:count for each, terms numbered from 0."
_LDAC_BATCH = 256  # documents that are handed on at once


def read_docword(reading: Reading, vocabulary: Vocabulary | None, add: AddEntries) -> CountsFound:
    """Read a UCI docword file: three sizes, then document, word and count, numbered from 1, in any order."""
    (n_documents, n_words, n_lines), delimiter = _read_sizes(reading, vocabulary)

    def leave_out(fault: DataError) -> None:
        if fault.line is None or fault.line > 3:  # the sizes are lines of one field, and read already
            reading.leave_out(fault)

    stream = Utf8Stream(reading.file, reading.encoding)
    reader = RecordReader(stream, reading.name, delimiter, n_fields=3, on_fault=leave_out)
    columns = (
        WholeColumn(0, "document id", 1, n_documents, "Correct the id, or line 1."),
        WholeColumn(1, "word id", 1, n_words, "Correct the id, or line 2."),
        WholeColumn(2, "count", 0, MAX_COUNT, COUNT_REMEDY),
    )
    with reading.offering():
        for batch in reader:
            good = batch.lines > 3
            rows, words, counts = _read_whole(reading, batch, columns, good)[good].T
            extra = reader.records + reader.broken_lines - 3 - n_lines
            if extra > 0 and not reading.skip:
                what = f"line 3 says that {n_lines:,} lines follow, and here is one more"
                remedy = "Correct line 3, or remove what does not belong here."
                raise reading.fault(what, remedy, line=int(batch.lines[-extra]))
            add(rows - 1, words - 1, counts)
            reading.report_read()
        total = reader.records + reader.broken_lines - 3
        what = f"line 3 says that {n_lines:,} lines follow, there are {total:,}"
        if total != n_lines and not reading.skip:
            remedy = "The file may be truncated: copy it again, or correct line 3."
            raise reading.fault(what, remedy, line=3, value=str(n_lines))
    for line, (size, kind) in enumerate(((n_documents, "documents"), (n_words, "words")), start=1):
        check_size(size, kind, total, {"source": reading.name, "line": line, "value": str(size)})
    told = f"Read {plural(reader.lines_read, 'line')} of a UCI docword file."
    facts = [Fact("lines", reader.lines_read, told)]
    if total != n_lines:
        facts.append(Fact("wrong_total", total, f"L{what[1:]}."))
    return CountsFound(n_documents, _words_of(vocabulary, 1, n_words), None, facts)


def _read_sizes(reading: Reading, vocabulary: Vocabulary | None) -> tuple[list[int], str]:
    """Return the numbers of documents, words and lines at the beginning, and the delimiter after them."""
    lines, _ = open_lines(reading.file, reading.encoding)
    head = [*(line.strip() for line in itertools.islice(lines, 4)), "", "", "", ""]
    for line, (text, what) in enumerate(zip(head, _UCI_SIZES, strict=False), start=1):
        low, high = (1, MAX_SIDE) if line < 3 else (0, 10**12)
        if fault := number_fault(text, WholeColumn(0, what, low, high, _UCI_REMEDY)):
            raise reading.fault(fault, _UCI_REMEDY, line=line, column=1, value=text or None)
    sizes = [int(float(text)) for text in head[:3]]
    for line, what in enumerate(("documents", "words"), start=1):
        place = {"source": reading.name, "line": line, "value": head[line - 1]}
        check_size(sizes[line - 1], what, sizes[2], place)
    if vocabulary is not None and len(vocabulary.words) != sizes[1]:
        known = plural(len(vocabulary.words), "word")
        raise DataError(
            f"the vocabulary has {known}, line 2 of {reading.name} says {sizes[1]:,}",
            source=vocabulary.source,
            remedy="Load the vocabulary that belongs to this file.",
        )
    return sizes, next((mark for mark in ("\t", ",") if mark in head[3]), " ")


def _words_of(vocabulary: Vocabulary | None, first: int, count: int) -> list[str]:
    return [str(first + i) for i in range(count)] if vocabulary is None else vocabulary.words


def read_ldac(reading: Reading, vocabulary: Vocabulary | None, add: AddEntries) -> CountsFound:
    """Read an LDA-C file: a line is a document, `M term:count …` with M pairs and terms numbered from 0."""
    lines, _ = open_lines(reading.file, reading.encoding, whole=reading.whole)
    numbered = enumerate(lines, start=1)
    number = blank = n_documents = n_words = n_pairs = 0
    with reading.offering():
        while batch := list(itertools.islice(numbered, _LDAC_BATCH)):
            documents = []
            for number, line in batch:
                if not line.strip():
                    blank += 1
                    continue
                try:
                    documents.append(_parse_ldac(reading, line, number, vocabulary))
                except DataError as fault:
                    reading.leave_out(fault)
            if documents:
                pairs = np.concatenate(documents)
                rows = np.repeat(np.arange(len(documents)), [len(document) // 2 for document in documents])
                add(n_documents + rows, pairs[0::2], pairs[1::2])
                n_documents += len(documents)
                n_pairs += len(rows)
                n_words = max(n_words, int(pairs[0::2].max(initial=-1)) + 1)
            reading.report_read()
    if vocabulary is None:
        check_size(n_words, "words", n_pairs, {"source": reading.name, "value": str(n_words - 1)})
    facts = [Fact("lines", number, f"Read {plural(number, 'line')} of an LDA-C file.")]
    facts += tell_count("blank_lines", blank, "{blank line}: skipped.")
    return CountsFound(n_documents, _words_of(vocabulary, 0, n_words), None, facts)


def _parse_ldac(reading: Reading, line: str, number: int, vocabulary: Vocabulary | None) -> NDArray[np.int64]:
    """Return term, count, term, count, … of one line."""
    fields = line.split()
    column, remedy = 1, _LDAC_REMEDY
    if _LDAC_LINE.fullmatch(line):
        numbers = np.fromstring(line.replace(":", " "), dtype=np.int64, sep=" ")
        terms, counts = numbers[1::2], numbers[2::2]
        limit = MAX_SIDE if vocabulary is None else len(vocabulary.words)
        beyond = (terms >= limit) | (counts > MAX_COUNT)
        if numbers[0] != len(terms):
            promised = plural(int(numbers[0]), "pair")
            what = f"this line promises {promised} of term:count and has {len(terms):,}"
            remedy = "Correct the first number; the line may be truncated."
        elif not beyond.any():
            return numbers[1:]
        else:
            at = int(beyond.argmax())
            column, what = at + 2, f"this count is beyond {MAX_COUNT:,}"
            if terms[at] >= limit:
                of = "" if vocabulary is None else "the vocabulary, whose last is "
                what = f"this term is beyond {of}{limit - 1:,}"
            remedy = "Terms are numbered from 0; load the vocabulary that belongs to this file."
    elif not re.fullmatch(r"\d{1,15}", fields[0], re.ASCII):
        what = "the line does not begin with a whole number"
    else:
        wrong = (at for at, field in enumerate(fields[1:], 2) if not _LDAC_PAIR.fullmatch(field))
        column = next(wrong, 1)
        what = "this is not of the form term:count"
        if re.fullmatch(r"-?\d+:-?[\d.]+", fields[column - 1]):
            what = "term and count must be whole numbers, none negative"
    raise reading.fault(what, remedy, line=number, column=column, value=fields[column - 1])
