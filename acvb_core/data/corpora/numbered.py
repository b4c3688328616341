"""Word counts whose words are numbers: UCI docword and LDA-C."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acvb_core.data.corpora.counts import (
    COUNT_REMEDY,
    MAX_COUNT,
    AddEntries,
    CountsFound,
    NumberColumn,
    whole_number,
)
from acvb_core.data.corpora.reading import Reading
from acvb_core.data.report import Fact, plural
from acvb_core.data.sources.byte_source import ByteSource, Utf8Stream
from acvb_core.data.sources.objects import MAX_SIDE, check_size
from acvb_core.data.sources.records import RecordReader
from acvb_core.data.sources.text_lines import Vocabulary, open_lines
from acvb_core.errors import DataError

_UCI_SIZES = ("number of documents", "number of words", "number of lines that follow")
_LDAC_LINE = re.compile(r"\s*\d{1,15}(\s+\d{1,15}:\d{1,15})*\s*", re.ASCII)
_LDAC_PAIR = re.compile(r"\d{1,15}:\d{1,15}", re.ASCII)
_LDAC_BATCH = 1 << 16


def read_docword(reading: Reading, vocabulary: Vocabulary | None, add: AddEntries) -> CountsFound:
    """Read a UCI docword file: three sizes, then document, word and count, numbered from 1, in any order.

    Raises
    ------
    DataError
        A size or a number out of range, a wrong number of lines, or a vocabulary of another length.
    """
    (n_documents, n_words, n_lines), delimiter = read_sizes(reading.file, reading.encoding, vocabulary)
    stream = _BlankedHead(reading.file, reading.encoding, 3)
    reader = RecordReader(stream, reading.name, delimiter, n_fields=3, on_fault=reading.faults)
    fields = (
        NumberColumn(0, "document id", 1, n_documents, "Correct the id, or line 1."),
        NumberColumn(1, "word id", 1, n_words, "Correct the id, or line 2."),
        NumberColumn(2, "count", 0, MAX_COUNT, COUNT_REMEDY),
    )
    total = 0
    with reading.faults.offering():
        for batch in reader:
            good = np.ones(batch.n_records, dtype=np.bool_)
            rows, columns, counts = (field.read(batch, reading, good) for field in fields)
            total += batch.n_records
            if total > n_lines and not reading.faults.skip:
                raise DataError(
                    f"line 3 says that {n_lines:,} lines follow, and here is one more",
                    source=reading.name,
                    line=int(batch.lines[n_lines - total]),
                    remedy="Correct line 3, or remove what does not belong here.",
                )
            if not good.all():
                rows, columns, counts = rows[good], columns[good], counts[good]
            add(rows - 1, columns - 1, counts)
            reading.progress.reading()
        total += reader.broken_lines
        told = f"Read {plural(reader.lines_read, 'line')} of a UCI docword file."
        facts = [Fact("lines", reader.lines_read, told)]
        if total != n_lines:
            facts.append(_wrong_total(reading, n_lines, total))
    words = _numbers(1, n_words) if vocabulary is None else vocabulary.words
    return CountsFound(n_documents, words, None, facts)


def _wrong_total(reading: Reading, promised: int, found: int) -> Fact:
    what = f"ine 3 says that {promised:,} lines follow, there are {found:,}"
    if not reading.faults.skip:
        raise DataError(
            f"l{what}",
            source=reading.name,
            line=3,
            value=str(promised),
            remedy="The file may be truncated: copy it again, or correct line 3.",
        )
    return Fact("wrong_total", found, f"L{what}.")


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
    for line, what in enumerate(("documents", "words"), start=1):
        place = {"source": source.name, "line": line, "value": head[line - 1]}
        check_size(sizes[line - 1], what, n_lines, place)
    if vocabulary is not None and len(vocabulary.words) != n_words:
        raise DataError(
            f"the vocabulary has {plural(len(vocabulary.words), 'word')}, line 2 of {source.name} says {n_words:,}",
            source=vocabulary.source,
            remedy="Load the vocabulary that belongs to this file.",
        )
    fourth = head[3] if len(head) > 3 else ""
    delimiter = next((mark for mark in ("\t", ",") if mark in fourth), " ")
    return (n_documents, n_words, n_lines), delimiter


class _BlankedHead(Utf8Stream):
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


def read_ldac(reading: Reading, vocabulary: Vocabulary | None, add: AddEntries) -> CountsFound:
    """Read an LDA-C file: a line is a document, `M term:count …` with M pairs and terms numbered from 0.

    Raises
    ------
    DataError
        A line of another form, M wrong, or a term beyond the vocabulary.
    """
    lines, _ = open_lines(reading.file, reading.encoding, whole=reading.whole)
    limit = MAX_SIDE if vocabulary is None else len(vocabulary.words)
    waiting: list[NDArray[np.int64]] = []  # documents, gathered until it pays to hand them on
    n_documents = n_words = n_pairs = size = blank = line_number = 0

    def hand_on() -> None:
        nonlocal n_documents, n_words, n_pairs, size
        if not waiting:
            return
        flat = np.concatenate(waiting)
        lengths = [len(pairs) // 2 for pairs in waiting]
        add(n_documents + np.repeat(np.arange(len(lengths)), lengths), flat[0::2], flat[1::2])
        n_documents += len(lengths)
        n_pairs += len(flat) // 2
        n_words = max(n_words, int(flat[0::2].max(initial=-1)) + 1)
        waiting.clear()
        size = 0

    with reading.faults.offering():
        for line_number, line in enumerate(lines, start=1):
            if not line.strip():
                blank += 1
                continue
            place = {"source": reading.name, "line": line_number}
            try:
                waiting.append(_parse_line(line, place, limit, vocabulary is not None))
            except DataError as fault:
                reading.faults(fault)
                continue
            size += len(waiting[-1]) + 1
            if size > _LDAC_BATCH:
                hand_on()
            if line_number % 1024 == 0:
                reading.progress.reading()
    hand_on()
    if vocabulary is None:
        check_size(n_words, "words", n_pairs, {"source": reading.name, "value": str(n_words - 1)})
    facts = [Fact("lines", line_number, f"Read {plural(line_number, 'line')} of an LDA-C file.")]
    if blank:
        facts.append(Fact("blank_lines", blank, f"{plural(blank, 'blank line')}: passed over."))
    words = _numbers(0, n_words) if vocabulary is None else vocabulary.words
    return CountsFound(n_documents, words, None, facts)


def _numbers(first: int, count: int) -> list[str]:
    return [str(first + i) for i in range(count)]


def _parse_line(line: str, place: dict[str, Any], limit: int, known: bool) -> NDArray[np.int64]:
    """Return term, count, term, count, … of one line.

    Parameters
    ----------
    line : str
    place : dict
        The `source` and `line` for an error.
    limit : int
        Terms must be below it.
    known : bool
        The limit is that of a vocabulary.

    Raises
    ------
    DataError
        A line of another form, the number in front wrong, or a term or count too large.
    """
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
        where = f"the vocabulary, whose last is {limit - 1:,}" if known else f"{limit - 1:,}"
        raise DataError(
            f"this term is beyond {where}" if terms[at] >= limit else f"this count is beyond {MAX_COUNT:,}",
            **place,
            column=at + 2,
            value=f"{terms[at]}:{counts[at]}",
            remedy="Terms are numbered from 0; load the vocabulary that belongs to this file.",
        )
    return numbers[1:]


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
