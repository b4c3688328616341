"""Word counts read into a spool: UCI docword, the long list of document, word and count, and LDA-C."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acvb_core.data.corpora.counts import COUNT_REMEDY, MAX_COUNT, edge_layout, refuse_short
from acvb_core.data.corpora.disk_ldac import spool_ldac
from acvb_core.data.corpora.disk_numbers import NumberColumn, chosen_records, refuse_blank
from acvb_core.data.corpora.disk_reading import Reading, Spooled
from acvb_core.data.corpora.docword import BlankedHead, read_sizes
from acvb_core.data.corpora.texts import only_names
from acvb_core.data.report import Fact, plural
from acvb_core.data.sources.byte_source import Utf8Stream
from acvb_core.data.sources.label_table import LabelTable
from acvb_core.data.sources.records import RecordBatch, RecordReader
from acvb_core.data.sources.text_facts import reading_facts
from acvb_core.data.sources.text_lines import Vocabulary
from acvb_core.errors import DataError


def spool_docword(reading: Reading, vocabulary: Vocabulary | None) -> Spooled:
    """Read a UCI docword file; its documents need not be in order.

    Raises
    ------
    DataError
        As `read_docword`.
    """
    source, broken, name = reading.source, reading.broken, reading.source.name
    (n_documents, n_words, n_lines), delimiter = read_sizes(source, reading.encoding, vocabulary)
    reader = RecordReader(
        BlankedHead(source, reading.encoding, 3), name, delimiter, n_fields=3, on_fault=broken
    )
    fields = (
        NumberColumn(0, "document id", 1, n_documents, "Correct the id, or line 1."),
        NumberColumn(1, "word id", 1, n_words, "Correct the id, or line 2."),
        NumberColumn(2, "count", 0, MAX_COUNT, COUNT_REMEDY),
    )
    total = 0
    with broken.offering():
        for batch in reader:
            good = np.ones(batch.n_records, dtype=np.bool_)
            rows, columns, counts = (field.read(batch, name, broken, good) for field in fields)
            total += batch.n_records
            if total > n_lines and not broken.skip:
                raise _too_many(name, n_lines, int(batch.lines[n_lines - total]))
            if not good.all():
                rows, columns, counts = rows[good], columns[good], counts[good]
            reading.spool.add(rows - 1, columns - 1, counts)
            reading.progress.reading()
        total += reader.broken_lines
        facts = [
            Fact(
                "lines", reader.lines_read, f"Read {plural(reader.lines_read, 'line')} of a UCI docword file."
            )
        ]
        if total != n_lines:
            facts += _wrong_total(reading, n_lines, total)
    words = [str(i + 1) for i in range(n_words)] if vocabulary is None else vocabulary.words
    return Spooled(n_documents, words, facts)


def spool_counts(reading: Reading, vocabulary: Vocabulary | None) -> Spooled:
    """Read a long list of document, word and perhaps count; a document's lines need not stand together.

    The names of documents and words are held in memory while the file is read: their bytes and 28 bytes each.

    Raises
    ------
    DataError
        As `read_counts`.
    """
    layout, broken, name = reading.layout, reading.broken, reading.source.name
    columns = _CountColumns(reading, vocabulary)
    reader = RecordReader(
        Utf8Stream(reading.source, reading.encoding),
        name,
        layout.delimiter or ",",
        header=layout.header,
        n_fields=layout.n_fields if broken.skip else None,
        on_fault=broken,
    )
    with broken.offering():
        for batch in reader:
            columns.add(batch)
            reading.progress.reading()
    if not reader.records:
        raise only_names(name)
    facts = reading_facts(reader, edge_layout(layout))
    if layout.count_column is None:
        n = reading.spool.n_entries
        facts.append(Fact("lines_as_tokens", n, "There is no count column: each line is one token."))
    reading.writer.names.extend_packed(*columns.documents.packed())
    words = columns.words.labels() if vocabulary is None else vocabulary.words
    return Spooled(len(columns.documents), words, facts)


class _CountColumns:
    """The columns of a list of counts, batch by batch into the spool."""

    def __init__(self, reading: Reading, vocabulary: Vocabulary | None) -> None:
        layout = reading.layout
        assert layout.document_column is not None
        assert layout.word_column is not None
        self._reading = reading
        self._vocabulary = vocabulary
        self._document, self._word = layout.document_column, layout.word_column
        self._count = (
            None
            if layout.count_column is None
            else NumberColumn(layout.count_column, "count", 0, MAX_COUNT, COUNT_REMEDY)
        )
        self._index = None if vocabulary is None else {word: i for i, word in enumerate(vocabulary.words)}
        self._final = np.empty(0, dtype=np.int64)
        self.documents, self.words = LabelTable(), LabelTable()

    def add(self, batch: RecordBatch) -> None:
        name, broken = self._reading.source.name, self._reading.broken
        used = self._document, self._word, 0 if self._count is None else self._count.column
        refuse_short(batch, max(used), name)
        good = np.ones(batch.n_records, dtype=np.bool_)
        refuse_blank(batch, self._document, "document", name, broken, good)
        refuse_blank(batch, self._word, "word", name, broken, good)
        counts = np.ones(batch.n_records, dtype=np.int64)
        if self._count is not None:
            counts = self._count.read(batch, name, broken, good)
        # A broken line must not leave a document or a word behind, so the names come last.
        batch, counts = chosen_records(batch, good), counts[good]
        words: NDArray[Any] = self.words.codes(batch, self._word)
        if self._index is not None:
            words = self._known(batch, words)
            known = words >= 0
            batch, words, counts = chosen_records(batch, known), words[known], counts[known]
        self._reading.spool.add(self.documents.codes(batch, self._document), words, counts)

    def _known(self, batch: RecordBatch, codes: NDArray[np.int32]) -> NDArray[np.int64]:
        """Return the numbers within the vocabulary, -1 for a word that it does not hold."""
        assert self._index is not None
        assert self._vocabulary is not None
        new = [self._index.get(label, -1) for label in self.words.labels(len(self._final))]
        self._final = np.concatenate([self._final, np.array(new, dtype=np.int64)])
        words = self._final[codes]
        listed = self._vocabulary
        for at in np.flatnonzero(words < 0).tolist():
            self._reading.broken(
                DataError(
                    "this word is not in the vocabulary",
                    source=self._reading.source.name,
                    line=int(batch.lines[at]),
                    column=self._word + 1,
                    value=batch.field(at, self._word),
                    remedy=f"Add it to {listed.source} ({plural(len(listed.words), 'word')}), or leave that out.",
                )
            )
        return words


SPOOL_COUNTS: dict[str, Callable[[Reading, Vocabulary | None], Spooled]] = {
    "docword": spool_docword,
    "counts": spool_counts,
    "ldac": spool_ldac,
}


def _too_many(name: str, promised: int, line: int) -> DataError:
    return DataError(
        f"line 3 says that {promised:,} lines follow, and here is one more",
        source=name,
        line=line,
        remedy="Correct line 3, or remove what does not belong here.",
    )


def _wrong_total(reading: Reading, promised: int, found: int) -> list[Fact]:
    fault = DataError(
        f"line 3 says that {promised:,} lines follow, there are {found:,}",
        source=reading.source.name,
        line=3,
        value=str(promised),
        remedy="The file may be truncated: copy it again, or correct line 3.",
    )
    if not reading.broken.skip:
        raise fault
    return [Fact("wrong_total", found, f"Line 3 says that {promised:,} lines follow, there are {found:,}.")]
