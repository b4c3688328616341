"""Word counts as a file lists them; here the long list of document, word and count."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acvb_core.data.corpora.layout import CorpusLayout
from acvb_core.data.corpora.texts import only_names
from acvb_core.data.relations.layout import Layout
from acvb_core.data.relations.nodes import Side, side_as_found, side_from_list
from acvb_core.data.report import Fact, plural
from acvb_core.data.sources.byte_source import ByteSource, Utf8Stream
from acvb_core.data.sources.label_table import LabelTable
from acvb_core.data.sources.records import RecordBatch, RecordReader
from acvb_core.data.sources.text_facts import reading_facts
from acvb_core.data.sources.text_lines import Vocabulary
from acvb_core.errors import DataError

MAX_COUNT = 2**31 - 1
_WHOLE = re.compile(r"\d{1,15}(\.0*)?", re.ASCII)


@dataclass(frozen=True, eq=False)
class GivenCounts:
    """(document, word, count) entries as a file lists them, not added up yet.

    Attributes
    ----------
    rows, columns, counts : int arrays, shape (n_entries,)
    documents, words : sequence of str
    facts : list of Fact
    """

    rows: NDArray[Any]
    columns: NDArray[Any]
    counts: NDArray[np.int64]
    documents: Sequence[str]
    words: Sequence[str]
    facts: list[Fact]


class WholeNumbers:
    """Turn a column of whole numbers into an array, batch by batch: each distinct text is looked at once.

    Parameters
    ----------
    source : str
    column : int
        0-based.
    what : str
        What the number is, for messages ("count", "document id").
    low, high : int
        Inclusive range.
    remedy : str
        What to do about a number outside it.
    """

    def __init__(self, source: str, column: int, what: str, low: int, high: int, remedy: str) -> None:
        self._source, self._column, self._what, self._remedy = source, column, what, remedy
        self._low, self._high = low, high
        self._table = LabelTable()
        self._numbers = np.empty(0, dtype=np.int64)

    def read(self, batch: RecordBatch) -> NDArray[np.int64]:
        """Return each record's number.

        Raises
        ------
        DataError
            A field is no whole number, or out of range; names its line and field.
        """
        before = len(self._table)
        codes = self._table.codes(batch, self._column)
        new = self._table.labels(before)
        if new:
            parsed = [self._parsed(text, before + i) for i, text in enumerate(new)]
            self._numbers = np.concatenate([self._numbers, np.array(parsed, dtype=np.int64)])
        return self._numbers[codes]

    def _parsed(self, text: str, code: int) -> int:
        place: dict[str, Any] = {
            "source": self._source,
            "line": self._table.first_line(code),
            "column": self._column + 1,
        }
        return whole_number(text, self._what, self._low, self._high, self._remedy, place)


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


COUNT_REMEDY = (
    "Give counts: 0, 1, 2, …; weights such as tf-idf are no counts. Or choose another count column."
)


def read_counts(
    source: ByteSource, layout: CorpusLayout, encoding: str | None, vocabulary: Vocabulary | None
) -> GivenCounts:
    """Read a long list of document, word and perhaps count; documents and words in order of appearance.

    Raises
    ------
    DataError
        A blank name, a bad count, too few fields, or a word that the vocabulary does not hold.
    """
    assert layout.document_column is not None
    assert layout.word_column is not None
    assert layout.delimiter is not None
    reader = RecordReader(Utf8Stream(source, encoding), source.name, layout.delimiter, header=layout.header)
    tables = LabelTable(), LabelTable()
    count_column = layout.count_column
    numbers = (
        None
        if count_column is None
        else WholeNumbers(source.name, count_column, "count", 0, MAX_COUNT, COUNT_REMEDY)
    )
    used = layout.document_column, layout.word_column
    pieces: tuple[list[Any], list[Any], list[Any]] = ([], [], [])
    for batch in reader:
        refuse_short(batch, max(*used, count_column or 0), source.name)
        for i, what in enumerate(("document", "word")):
            _refuse_blank(batch, used[i], what, source.name)
            pieces[i].append(tables[i].codes(batch, used[i]))
        pieces[2].append(np.ones(batch.n_records, dtype=np.int64) if numbers is None else numbers.read(batch))
    if not reader.records:
        raise only_names(source.name)
    words = _words(tables[1], used[1], vocabulary, source.name)
    rows, columns, counts = (np.concatenate(piece) for piece in pieces)
    facts = reading_facts(reader, edge_layout(layout))
    if numbers is None:
        facts.append(Fact("lines_as_tokens", len(rows), "There is no count column: each line is one token."))
    return GivenCounts(rows, words.final[columns], counts, tables[0].labels(), words.labels.tolist(), facts)


def _words(table: LabelTable, column: int, vocabulary: Vocabulary | None, name: str) -> Side:
    """Return the words as the file shows them, or those of a vocabulary in its order."""
    if vocabulary is None:
        return side_as_found(table.labels())

    def place(code: int) -> dict[str, Any]:
        return {"source": name, "line": table.first_line(code), "column": column + 1}

    try:
        return side_from_list(table.labels(), vocabulary.words, place)
    except DataError as fault:
        raise DataError(
            "this word is not in the vocabulary",
            source=fault.source,
            line=fault.line,
            column=fault.column,
            value=fault.value,
            remedy=f"Add it to {vocabulary.source} ({plural(len(vocabulary.words), 'word')}), or leave that out.",
        ) from None


def edge_layout(layout: CorpusLayout) -> Layout:
    """Return the layout of the same file as a list of links, of which the facts about reading are told."""
    return Layout(
        "edges",
        layout.filename,
        layout.gzipped,
        layout.encoding,
        layout.delimiter,
        layout.header,
        layout.column_names,
        n_fields=layout.n_fields,
        row_column=layout.document_column,
        column_column=layout.word_column,
        value_column=layout.count_column,
    )


def refuse_short(batch: RecordBatch, last: int, name: str) -> None:
    """Raise DataError where records have no field at position `last`."""
    if batch.n_fields <= last:
        raise DataError(
            f"there are {batch.n_fields:,} fields, fewer than the chosen columns need",
            source=name,
            line=int(batch.lines[0]),
            remedy="Choose other columns or another delimiter.",
        )


def _refuse_blank(batch: RecordBatch, column: int, what: str, name: str) -> None:
    blank = batch.blank(column)
    if blank.any():
        raise DataError(
            f"the {what} is blank",
            source=name,
            line=int(batch.lines[int(blank.argmax())]),
            column=column + 1,
            remedy=f"Name the {what}, or remove the line.",
        )
