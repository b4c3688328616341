"""Word counts as records: the long list of document, word and count, and columns of whole numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from acvb_core.data.corpora.reading import Reading
from acvb_core.data.report import Fact, plural
from acvb_core.data.sources.frames import open_records, reading_facts
from acvb_core.data.sources.records import RecordBatch
from acvb_core.data.sources.text_lines import Vocabulary
from acvb_core.data.sources.values import LabelTable
from acvb_core.errors import DataError

MAX_COUNT = 2**31 - 1
COUNT_REMEDY = (
    "Give counts: 0, 1, 2, …; weights such as tf-idf are no counts. Or choose another count column."
)
_WHOLE = re.compile(r"\d{1,15}(\.0*)?", re.ASCII)

#: Takes the documents, words and counts of some entries: numbers from 0, counts below 2^31.
AddEntries = Callable[[NDArray[Any], NDArray[Any], NDArray[Any]], None]


@dataclass(frozen=True, eq=False)
class CountsFound:
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

    Raises
    ------
    DataError
        A blank name, a bad count, too few fields, or a word that the vocabulary does not hold.
    """
    layout = reading.layout
    columns = _CountColumns(reading, vocabulary)
    used = layout.document_column, layout.word_column, layout.count_column
    reader = open_records(
        reading.records,
        layout.delimiter or ",",
        encoding=reading.encoding,
        header=layout.header,
        n_fields=layout.n_fields if reading.faults.skip else None,
        used=[column for column in used if column is not None],
        on_fault=reading.faults,
    )
    n_entries = 0
    with reading.faults.offering():
        for batch in reader:
            entries = columns.entries(batch)
            n_entries += len(entries[0])
            add(*entries)
            reading.progress.reading()
    if not reader.records:
        raise only_names(reading.name)
    facts = reading_facts(reader, layout, reading.records)
    if layout.count_column is None:
        told = "There is no count column: each line is one token."
        facts.append(Fact("lines_as_tokens", n_entries, told))
    words = columns.words.labels() if vocabulary is None else vocabulary.words
    return CountsFound(len(columns.documents), words, columns.documents, facts)


def only_names(source: str) -> DataError:
    """Return the error for a table of a header and nothing else."""
    return DataError(
        "the file holds column names and no data",
        source=source,
        line=1,
        remedy="Load a file with data in it, or say that its first line is data.",
    )


class _CountColumns:
    """The columns of a list of counts, turned into numbers batch by batch."""

    def __init__(self, reading: Reading, vocabulary: Vocabulary | None) -> None:
        layout = reading.layout
        assert layout.document_column is not None
        assert layout.word_column is not None
        self._reading = reading
        self._vocabulary = vocabulary
        self._document, self._word = layout.document_column, layout.word_column
        column = layout.count_column
        self._count = None if column is None else NumberColumn(column, "count", 0, MAX_COUNT, COUNT_REMEDY)
        self._index = None if vocabulary is None else {word: i for i, word in enumerate(vocabulary.words)}
        self._final = np.empty(0, dtype=np.int64)
        self.documents, self.words = LabelTable(), LabelTable()

    def entries(self, batch: RecordBatch) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Return documents, words and counts of the records that can be read."""
        if batch.n_fields <= max(
            self._document, self._word, 0 if self._count is None else self._count.column
        ):
            raise DataError(
                f"there are {batch.n_fields:,} fields, fewer than the chosen columns need",
                source=self._reading.name,
                line=int(batch.lines[0]),
                remedy="Choose other columns or another delimiter.",
            )
        good = np.ones(batch.n_records, dtype=np.bool_)
        self._refuse_blank(batch, self._document, "document", good)
        self._refuse_blank(batch, self._word, "word", good)
        counts = np.ones(batch.n_records, dtype=np.int64)
        if self._count is not None:
            counts = self._count.read(batch, self._reading, good)
        # A broken line must not leave a document or a word behind, so the names come last.
        batch, counts = _chosen_records(batch, good), counts[good]
        words: NDArray[Any] = self.words.codes(batch, self._word)
        if self._vocabulary is not None:
            words = self._known_words(batch, words, self._vocabulary)
            known = words >= 0
            batch, words, counts = _chosen_records(batch, known), words[known], counts[known]
        return self.documents.codes(batch, self._document), words, counts

    def _refuse_blank(self, batch: RecordBatch, column: int, what: str, good: NDArray[np.bool_]) -> None:
        for at in np.flatnonzero(batch.blank(column) & good).tolist():
            self._reading.faults(
                DataError(
                    f"the {what} is blank",
                    source=self._reading.name,
                    line=int(batch.lines[at]),
                    column=column + 1,
                    remedy=f"Name the {what}, or remove the line.",
                )
            )
            good[at] = False

    def _known_words(
        self, batch: RecordBatch, codes: NDArray[np.int32], listed: Vocabulary
    ) -> NDArray[np.int64]:
        """Return the numbers within the vocabulary, -1 for a word that it does not hold."""
        assert self._index is not None
        new = [self._index.get(label, -1) for label in self.words.labels(len(self._final))]
        self._final = np.concatenate([self._final, np.array(new, dtype=np.int64)])
        words = self._final[codes]
        for at in np.flatnonzero(words < 0).tolist():
            self._reading.faults(
                DataError(
                    "this word is not in the vocabulary",
                    source=self._reading.name,
                    line=int(batch.lines[at]),
                    column=self._word + 1,
                    value=batch.field(at, self._word),
                    remedy=f"Add it to {listed.source} ({plural(len(listed.words), 'word')}), or leave that out.",
                )
            )
        return words


class NumberColumn(NamedTuple):
    """A column of whole numbers, parsed where they lie; nothing is remembered.

    Attributes
    ----------
    column : int
        0-based.
    what : str
        What the number is, for messages ("count", "document id").
    low, high : int
        Inclusive range.
    remedy : str
        What to do about a number outside it.
    """

    column: int
    what: str
    low: int
    high: int
    remedy: str

    def read(self, batch: RecordBatch, reading: Reading, good: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return each record's number; records whose number is broken are no longer `good`.

        Raises
        ------
        DataError
            A field of a good record is no whole number or out of range, and broken lines are refused.
        """
        found = np.zeros(batch.n_records, dtype=np.int64)
        fields = batch.text, batch.starts, batch.ends, batch.n_fields, self.column
        at = int(_parse(*fields, self.low, self.high, 0, found))
        while at < batch.n_records:
            if good[at]:
                place = {"source": reading.name, "line": int(batch.lines[at]), "column": self.column + 1}
                try:
                    found[at] = whole_number(batch.field(at, self.column), *self[1:], place)
                except DataError as fault:
                    reading.faults(fault)
                    good[at] = False
            at = int(_parse(*fields, self.low, self.high, at + 1, found))
        return found


def whole_number(text: str, what: str, low: int, high: int, remedy: str, place: dict[str, Any]) -> int:
    """Return the whole number that a field holds.

    Raises
    ------
    DataError
        It holds none, or one outside the range.
    """
    if _WHOLE.fullmatch(text):
        number = int(text.split(".")[0])
        if low <= number <= high:
            return number
        fault = f"this {what} is not from {low:,} to {high:,}"
    elif not text:
        fault = f"the {what} is blank"
    else:
        try:
            negative = float(text) < 0
            fault = f"the {what} is negative" if negative else f"the {what} is no whole number"
        except ValueError:
            fault = f"the {what} is no number"
    raise DataError(fault, **place, value=text or None, remedy=remedy)


def _chosen_records(batch: RecordBatch, chosen: NDArray[np.bool_]) -> RecordBatch:
    """Return some of a batch's records."""
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
