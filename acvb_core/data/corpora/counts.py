"""Word counts as records: the long list of document, word and count, and columns of whole numbers."""

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
from acvb_core.data.sources.opening import open_records, reading_facts
from acvb_core.data.sources.records import RecordBatch
from acvb_core.data.sources.text_lines import Vocabulary
from acvb_core.data.sources.values import LabelTable

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
        self._count: NumberColumn | None = None
        if layout.count_column is not None:
            self.used.append(layout.count_column)
            self._count = NumberColumn(layout.count_column, "count", 0, MAX_COUNT, COUNT_REMEDY)
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

    def read(self, batch: RecordBatch, reading: Reading, good: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return each record's number; records whose number is broken are no longer `good`."""
        found = np.empty(batch.n_records, dtype=np.int64)
        _parse(batch.text, batch.starts, batch.ends, batch.n_fields, self.column, self.low, self.high, found)
        for at in np.flatnonzero((found < 0) & good).tolist():
            text = batch.field(at, self.column)
            what = number_fault(text, self.what, self.low, self.high)
            place = {"line": int(batch.lines[at]), "column": self.column + 1}
            reading.leave_out(reading.fault(what, self.remedy, **place, value=text or None))
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
