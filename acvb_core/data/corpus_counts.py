"""Word counts as they are given: long lists, UCI docword and LDA-C."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acvb_core.data.byte_source import ByteSource, Utf8Stream
from acvb_core.data.corpus_layout import CorpusLayout
from acvb_core.data.label_table import LabelTable
from acvb_core.data.layout import Layout
from acvb_core.data.nodes import side_as_found, side_from_list
from acvb_core.data.options import MAX_SIDE
from acvb_core.data.records import RecordBatch, RecordReader
from acvb_core.data.report import Fact, plural
from acvb_core.data.text_facts import reading_facts
from acvb_core.data.text_lines import open_lines
from acvb_core.errors import DataError

MAX_COUNT = 2**31 - 1
_WHOLE = re.compile(r"\d{1,15}(\.0*)?", re.ASCII)
_LDAC_LINE = re.compile(r"\s*\d{1,15}(\s+\d{1,15}:\d{1,15})*\s*", re.ASCII)
_LDAC_PAIR = re.compile(r"\d{1,15}:\d{1,15}", re.ASCII)
_UCI_SIZES = ("the number of documents", "the number of words", "the number of lines that follow")


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


_COUNT_REMEDY = (
    "Give counts: 0, 1, 2, …; weights such as tf-idf are no counts. Or choose another count column."
)


def read_counts(
    source: ByteSource, layout: CorpusLayout, encoding: str | None, vocabulary: list[str] | None
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
        else WholeNumbers(source.name, count_column, "count", 0, MAX_COUNT, _COUNT_REMEDY)
    )
    used = layout.document_column, layout.word_column
    pieces: tuple[list[Any], list[Any], list[Any]] = ([], [], [])
    for batch in reader:
        _refuse_short(batch, max(*used, count_column or 0), source.name)
        for i, what in enumerate(("document", "word")):
            _refuse_blank(batch, used[i], what, source.name)
            pieces[i].append(tables[i].codes(batch, used[i]))
        pieces[2].append(np.ones(batch.n_records, dtype=np.int64) if numbers is None else numbers.read(batch))
    if not reader.records:
        raise DataError(
            "the file holds column names and no data",
            source=source.name,
            line=1,
            remedy="Load a file with data in it, or say that its first line is data.",
        )
    words = side_as_found(tables[1].labels())
    if vocabulary is not None:

        def place(code: int) -> dict[str, Any]:
            return {"source": source.name, "line": tables[1].first_line(code), "column": used[1] + 1}

        words = side_from_list(tables[1].labels(), vocabulary, place)
    rows, columns, counts = (np.concatenate(piece) for piece in pieces)
    facts = reading_facts(reader, _edge_layout(layout))
    if numbers is None:
        facts.append(Fact("lines_as_tokens", len(rows), "There is no count column: each line is one token."))
    return GivenCounts(rows, words.final[columns], counts, tables[0].labels(), words.labels.tolist(), facts)


def _edge_layout(layout: CorpusLayout) -> Layout:
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


def _refuse_short(batch: RecordBatch, last: int, name: str) -> None:
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


class _BlankedHead(Utf8Stream):
    """A stream whose first lines are blank: records begin behind them, and line numbers stay right."""

    def __init__(self, source: ByteSource, encoding: str | None, lines: int) -> None:
        super().__init__(source, encoding)
        self._lines_left = lines

    def read(self, size: int) -> bytes:
        if not self._lines_left:
            return super().read(size)
        head = b""
        while len(head.splitlines()) <= self._lines_left:
            chunk = super().read(size)
            if not chunk:
                break
            head += chunk
        rest = head.splitlines(keepends=True)[self._lines_left :]
        blank = b"\n" * self._lines_left
        self._lines_left = 0
        return blank + b"".join(rest)


def read_docword(source: ByteSource, encoding: str | None, vocabulary: list[str] | None) -> GivenCounts:
    """Read a UCI docword file: documents and words are numbered from 1, their numbers stand in front.

    Raises
    ------
    DataError
        A size or a number out of range, a wrong number of lines, or a vocabulary of another length.
    """
    lines, _ = open_lines(source, encoding)
    head = [line.strip() for _, line in zip(range(4), lines, strict=False)]
    sizes = [
        whole_number(
            head[i] if i < len(head) else "",
            what,
            0 if i == 2 else 1,
            10**12 if i == 2 else MAX_SIDE,
            "The first three lines must hold the numbers of documents, words and lines that follow.",
            {"source": source.name, "line": i + 1, "column": 1},
        )
        for i, what in enumerate(name.removeprefix("the ") for name in _UCI_SIZES)
    ]
    n_documents, n_words, n_lines = sizes
    _check_vocabulary(vocabulary, n_words, f"line 2 of {source.name} says")
    fourth = head[3] if len(head) > 3 else ""
    delimiter = next((mark for mark in ("\t", ",") if mark in fourth), " ")
    reader = RecordReader(_BlankedHead(source, encoding, 3), source.name, delimiter)
    fields = (
        WholeNumbers(source.name, 0, "document id", 1, n_documents, "Correct the id, or line 1."),
        WholeNumbers(source.name, 1, "word id", 1, n_words, "Correct the id, or line 2."),
        WholeNumbers(source.name, 2, "count", 0, MAX_COUNT, _COUNT_REMEDY),
    )
    pieces: list[list[NDArray[np.int64]]] = [[], [], []]
    total = 0
    for batch in reader:
        if batch.n_fields != 3:
            raise DataError(
                f"there are {plural(batch.n_fields, 'field')} where document id, word id and count are expected",
                source=source.name,
                line=int(batch.lines[0]),
                remedy="Give three whole numbers on every line after the first three.",
            )
        if total + batch.n_records > n_lines:
            raise _wrong_total(source.name, n_lines, int(batch.lines[n_lines - total]))
        total += batch.n_records
        for field, piece in zip(fields, pieces, strict=True):
            piece.append(field.read(batch))
    if total < n_lines:
        raise DataError(
            f"line 3 says that {n_lines:,} lines follow, there are {total:,}",
            source=source.name,
            line=3,
            value=head[2],
            remedy="The file may be truncated: copy it again, or correct line 3.",
        )
    rows, columns, counts = (
        np.concatenate(piece) if piece else np.empty(0, dtype=np.int64) for piece in pieces
    )
    facts = [
        Fact("lines", reader.lines_read, f"Read {plural(reader.lines_read, 'line')} of a UCI docword file.")
    ]
    return GivenCounts(
        rows - 1,
        columns - 1,
        counts,
        [str(i + 1) for i in range(n_documents)],
        vocabulary or [str(i + 1) for i in range(n_words)],
        facts,
    )


def _wrong_total(name: str, promised: int, line: int) -> DataError:
    return DataError(
        f"line 3 says that {promised:,} lines follow, and here is one more",
        source=name,
        line=line,
        remedy="Correct line 3, or remove what does not belong here.",
    )


def _check_vocabulary(vocabulary: list[str] | None, n_words: int, who: str) -> None:
    if vocabulary is not None and len(vocabulary) != n_words:
        raise DataError(
            f"the vocabulary has {plural(len(vocabulary), 'word')}, {who} {n_words:,}",
            source="vocabulary",
            remedy="Load the vocabulary that belongs to this file.",
        )


def read_ldac(source: ByteSource, encoding: str | None, vocabulary: list[str] | None) -> GivenCounts:
    """Read an LDA-C file: a line is a document, `M term:count …` with M pairs and terms numbered from 0.

    Raises
    ------
    DataError
        A line of another form, M wrong, or a term beyond the vocabulary.
    """
    lines, _ = open_lines(source, encoding)
    limit = MAX_SIDE if vocabulary is None else len(vocabulary)
    pairs: list[NDArray[np.int64]] = []
    blank = line_number = 0
    for line_number, line in enumerate(lines, start=1):
        if not line.strip():
            blank += 1
            continue
        place: dict[str, Any] = {"source": source.name, "line": line_number}
        if not _LDAC_LINE.fullmatch(line):
            raise _ldac_fault(line.split(), place)
        numbers = np.fromstring(line.replace(":", " "), dtype=np.int64, sep=" ")
        terms, counts = numbers[1::2], numbers[2::2]
        if numbers[0] != len(terms):
            raise DataError(
                f"this line promises {plural(int(numbers[0]), 'pair')} of term:count and has {len(terms):,}",
                **place,
                column=1,
                value=str(numbers[0]),
                remedy="Correct the first number; the line may be truncated.",
            )
        if len(terms) and (terms.max() >= limit or counts.max() > MAX_COUNT):
            at = int(((terms >= limit) | (counts > MAX_COUNT)).argmax())
            where = f"the vocabulary, whose last is {limit - 1:,}" if vocabulary else f"{limit - 1:,}"
            raise DataError(
                f"this term is beyond {where}"
                if terms[at] >= limit
                else f"this count is beyond {MAX_COUNT:,}",
                **place,
                column=at + 2,
                value=f"{terms[at]}:{counts[at]}",
                remedy="Terms are numbered from 0; load the vocabulary that belongs to this file.",
            )
        pairs.append(numbers[1:])
    lengths = np.array([len(pair) // 2 for pair in pairs], dtype=np.int64)
    flat = np.concatenate(pairs) if pairs else np.empty(0, dtype=np.int64)
    n_words = int(flat[0::2].max()) + 1 if len(flat) else 0
    facts = [Fact("lines", line_number, f"Read {plural(line_number, 'line')} of an LDA-C file.")]
    if blank:
        facts.append(Fact("blank_lines", blank, f"{plural(blank, 'blank line')}: passed over."))
    return GivenCounts(
        np.repeat(np.arange(len(pairs)), lengths),
        flat[0::2],
        flat[1::2],
        [str(i + 1) for i in range(len(pairs))],
        vocabulary or [str(i) for i in range(n_words)],
        facts,
    )


def _ldac_fault(fields: list[str], place: dict[str, Any]) -> DataError:
    """Return what is wrong with a line that is not of the form."""
    remedy = "A line is the number of different terms, then term:count for each, terms numbered from 0."
    for column, field in enumerate(fields, start=1):
        if column == 1:
            if not re.fullmatch(r"\d{1,15}", field, re.ASCII):
                return DataError(
                    "the line does not begin with a whole number",
                    **place,
                    column=1,
                    value=field,
                    remedy=remedy,
                )
        elif not _LDAC_PAIR.fullmatch(field):
            term, colon, count = field.partition(":")
            what = "this is not of the form term:count"
            if colon and re.fullmatch(r"-?\d+", term) and re.fullmatch(r"-?[\d.]+", count):
                what = "term and count must be whole numbers, none negative"
            return DataError(what, **place, column=column, value=field, remedy=remedy)
    return DataError("the line cannot be read", **place, remedy=remedy)
