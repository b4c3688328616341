"""Word counts whose words are numbers: UCI docword and LDA-C."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acvb_core.core.errors import DataError
from acvb_core.data.corpora.counts import (
    COUNT_REMEDY,
    MAX_COUNT,
    AddEntries,
    CountsFound,
    NumberColumn,
    number_fault,
)
from acvb_core.data.corpora.reading import Reading
from acvb_core.data.report import Fact, plural
from acvb_core.data.sources.byte_source import ByteSource, Utf8Stream
from acvb_core.data.sources.objects import MAX_SIDE, check_size
from acvb_core.data.sources.records import RecordReader
from acvb_core.data.sources.text_lines import Vocabulary, open_lines

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
