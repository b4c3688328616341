"""LDA-C: one document a line, `M term:count …` with M pairs and terms numbered from 0."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acvb_core.data.corpora.counts import MAX_COUNT, GivenCounts
from acvb_core.data.report import Fact, plural
from acvb_core.data.sources.byte_source import ByteSource
from acvb_core.data.sources.matrix_checks import MAX_SIDE, check_size
from acvb_core.data.sources.text_lines import Vocabulary, open_lines
from acvb_core.errors import DataError

_LDAC_LINE = re.compile(r"\s*\d{1,15}(\s+\d{1,15}:\d{1,15})*\s*", re.ASCII)
_LDAC_PAIR = re.compile(r"\d{1,15}:\d{1,15}", re.ASCII)


def read_ldac(source: ByteSource, encoding: str | None, vocabulary: Vocabulary | None) -> GivenCounts:
    """Read an LDA-C file: a line is a document, `M term:count …` with M pairs and terms numbered from 0.

    Raises
    ------
    DataError
        A line of another form, M wrong, or a term beyond the vocabulary.
    """
    lines, _ = open_lines(source, encoding)
    limit = MAX_SIDE if vocabulary is None else len(vocabulary.words)
    pairs: list[NDArray[np.int64]] = []
    blank = line_number = 0
    for line_number, line in enumerate(lines, start=1):
        if not line.strip():
            blank += 1
            continue
        pairs.append(
            parse_line(line, {"source": source.name, "line": line_number}, limit, vocabulary is not None)
        )
    lengths = np.array([len(pair) // 2 for pair in pairs], dtype=np.int64)
    flat = np.concatenate(pairs) if pairs else np.empty(0, dtype=np.int64)
    n_words = int(flat[0::2].max()) + 1 if len(flat) else 0
    if vocabulary is None:
        check_size(n_words, "words", len(flat) // 2, {"source": source.name, "value": str(n_words - 1)})
    facts = [Fact("lines", line_number, f"Read {plural(line_number, 'line')} of an LDA-C file.")]
    if blank:
        facts.append(Fact("blank_lines", blank, f"{plural(blank, 'blank line')}: passed over."))
    return GivenCounts(
        np.repeat(np.arange(len(pairs)), lengths),
        flat[0::2],
        flat[1::2],
        [str(i + 1) for i in range(len(pairs))],
        [str(i) for i in range(n_words)] if vocabulary is None else vocabulary.words,
        facts,
    )


def parse_line(line: str, place: dict[str, Any], limit: int, known: bool) -> NDArray[np.int64]:
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
