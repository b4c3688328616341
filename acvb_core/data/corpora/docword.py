"""UCI docword: three lines with the sizes, then document id, word id and count, numbered from 1."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from acvb_core.data.corpora.counts import (
    COUNT_REMEDY,
    MAX_COUNT,
    GivenCounts,
    WholeNumbers,
    whole_number,
)
from acvb_core.data.report import Fact, plural
from acvb_core.data.sources.byte_source import ByteSource, Utf8Stream
from acvb_core.data.sources.matrix_checks import MAX_SIDE, check_size
from acvb_core.data.sources.records import RecordReader
from acvb_core.data.sources.text_lines import Vocabulary, open_lines
from acvb_core.errors import DataError

_UCI_SIZES = ("number of documents", "number of words", "number of lines that follow")


class BlankedHead(Utf8Stream):
    """A stream whose first lines are blank: records begin behind them, and line numbers stay right."""

    def __init__(self, source: ByteSource, encoding: str | None, lines: int) -> None:
        super().__init__(source, encoding)
        self._lines_left = lines

    def read(self, size: int) -> bytes:
        """Return the next bytes, at first blank lines in place of the head."""
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


def read_sizes(
    source: ByteSource, encoding: str | None, vocabulary: Vocabulary | None
) -> tuple[tuple[int, int, int], str]:
    """Return the numbers of documents, words and lines that stand in front, and the delimiter behind them.

    Raises
    ------
    DataError
        A size out of range, or a vocabulary of another length.
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
        for i, what in enumerate(_UCI_SIZES)
    ]
    n_documents, n_words, n_lines = sizes
    for line, number in enumerate((n_documents, n_words), start=1):
        what = "documents" if line == 1 else "words"
        check_size(number, what, n_lines, {"source": source.name, "line": line, "value": head[line - 1]})
    if vocabulary is not None and len(vocabulary.words) != n_words:
        raise DataError(
            f"the vocabulary has {plural(len(vocabulary.words), 'word')}, line 2 of {source.name} says {n_words:,}",
            source=vocabulary.source,
            remedy="Load the vocabulary that belongs to this file.",
        )
    fourth = head[3] if len(head) > 3 else ""
    delimiter = next((mark for mark in ("\t", ",") if mark in fourth), " ")
    return (n_documents, n_words, n_lines), delimiter


def read_docword(source: ByteSource, encoding: str | None, vocabulary: Vocabulary | None) -> GivenCounts:
    """Read a UCI docword file: documents and words are numbered from 1, their numbers stand in front.

    Raises
    ------
    DataError
        A size or a number out of range, a wrong number of lines, or a vocabulary of another length.
    """
    sizes, delimiter = read_sizes(source, encoding, vocabulary)
    n_documents, n_words, n_lines = sizes
    reader = RecordReader(BlankedHead(source, encoding, 3), source.name, delimiter)
    fields = (
        WholeNumbers(source.name, 0, "document id", 1, n_documents, "Correct the id, or line 1."),
        WholeNumbers(source.name, 1, "word id", 1, n_words, "Correct the id, or line 2."),
        WholeNumbers(source.name, 2, "count", 0, MAX_COUNT, COUNT_REMEDY),
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
            value=str(n_lines),
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
        [str(i + 1) for i in range(n_words)] if vocabulary is None else vocabulary.words,
        facts,
    )


def _wrong_total(name: str, promised: int, line: int) -> DataError:
    return DataError(
        f"line 3 says that {promised:,} lines follow, and here is one more",
        source=name,
        line=line,
        remedy="Correct line 3, or remove what does not belong here.",
    )
