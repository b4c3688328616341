"""A cheap look at the head of a file of documents: recognise its format and propose how to read it."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

from acvb_core.data.corpora.layout import (
    PREVIEW_CHARACTERS,
    CorpusFormat,
    CorpusLayout,
    guess_label_column,
    guess_name_column,
    guess_text_column,
    has_text_header,
    is_counts,
    is_docword,
    is_ldac,
    is_table,
    may_be_heading,
)
from acvb_core.data.corpora.text_files import (
    CorpusSource,
    TextFolder,
    open_files,
)
from acvb_core.data.relations.guess import inspect
from acvb_core.data.sources.byte_source import ByteSource
from acvb_core.data.sources.formats import PREVIEW_ROWS, recognised
from acvb_core.data.sources.frames import FrameSource
from acvb_core.data.sources.recognisers import refuse_text_format
from acvb_core.data.sources.records import delimiter_code
from acvb_core.data.sources.text_lines import Head, TextRecords, best_head, one_line_fault, open_lines
from acvb_core.errors import DataError

_HEAD_CHARACTERS = 1 << 22
_HEAD_LINES = 5_000
_GUESS_RECORDS = 200


def inspect_documents(
    source: CorpusSource,
    *,
    format: CorpusFormat | None = None,
    encoding: str | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
) -> CorpusLayout:
    """Look at the head of `source`; arguments that are not None are taken as given.

    Raises
    ------
    DataError
        The head is no plain text (JSON, HTML, … is none), or not of the format asked for.
    """
    if isinstance(source, FrameSource):
        return _frame_layout(source, format, header)
    if isinstance(source, TextFolder):
        if format not in (None, "zip"):
            raise DataError(
                f"this is a folder, but it was to be read as {format}",
                source=source.name,
                remedy="Give one file, or let the format be recognised.",
            )
        return _files_layout(source, encoding)
    if recognised(source, "corpus", format) is not None:
        return _files_layout(source, encoding)
    refuse_text_format(source)
    if delimiter is not None:
        delimiter_code(delimiter)
    lines, found_encoding = _head(source, encoding)
    blank = CorpusLayout("lines", source.name, source.gzipped, found_encoding)
    if format == "docword" or (format is None and is_docword(lines)):
        return _plain(blank, "docword", lines)
    if format == "ldac" or (format is None and is_ldac(lines)):
        return _plain(blank, "ldac", lines)
    if format == "lines":
        return _plain(blank, "lines", lines)
    if format == "counts":
        return _counts_layout(source, blank, encoding, delimiter, header)
    given = format is not None or delimiter is not None
    try:
        table = best_head(lambda candidate: _cut(lines, candidate, source.name), delimiter)
    except DataError:
        if given:
            raise
        return _plain(blank, "lines", lines)
    if not given and not is_table(table.records, table.delimiter, table.share, source.name):
        if len(lines) == 1 and may_be_heading(table.records[0]):
            raise one_line_fault(table.records[0], source.name, "choose the format lines")
        return _plain(blank, "lines", lines)
    if format is None and is_counts(table.records):
        return _counts_layout(source, blank, encoding, table.delimiter, header)
    return _table_layout(blank, table, header)


def _frame_layout(source: FrameSource, format: CorpusFormat | None, header: bool | None) -> CorpusLayout:
    """Propose how to read columns that are no text."""
    frame = source.frame
    if format not in (None, "table", "counts"):
        raise DataError(
            f"this is {frame.what}, but it was to be read as {format}",
            source=source.name,
            remedy="Let the format be recognised, or choose table or counts.",
        )
    named = True if frame.named else header
    blank = CorpusLayout("table", source.name, container=frame.container)
    records = source.first_rows(_GUESS_RECORDS)
    if format == "counts" or (format is None and len(frame.names) > 1 and is_counts(records)):
        return _counts_layout(source, blank, None, None, named)
    return _table_layout(blank, Head(records, len(frame.names), 1.0, ""), named)


def _files_layout(source: ByteSource | TextFolder, encoding: str | None) -> CorpusLayout:
    with open_files(source) as files:
        rows = tuple((file.path, f"{file.size:,}") for file in files[:PREVIEW_ROWS])
    return CorpusLayout(
        "zip", source.name, source.gzipped, encoding, column_names=("file", "bytes"), rows=rows, n_fields=2
    )


def _plain(blank: CorpusLayout, format: CorpusFormat, lines: Sequence[str]) -> CorpusLayout:
    rows = tuple((line.rstrip("\r\n")[:PREVIEW_CHARACTERS],) for line in lines[:PREVIEW_ROWS])
    return replace(blank, format=format, column_names=("line",), rows=rows, n_fields=1)


def _counts_layout(
    source: ByteSource | FrameSource,
    blank: CorpusLayout,
    encoding: str | None,
    delimiter: str | None,
    header: bool | None,
) -> CorpusLayout:
    # A list of (document, word, count) is a list of links with values: the same look, the same reader.
    found = inspect(source, format="edges", encoding=encoding, delimiter=delimiter, header=header)
    return replace(
        blank,
        format="counts",
        encoding=found.encoding,
        delimiter=found.delimiter,
        header=found.header,
        column_names=found.column_names,
        rows=found.rows,
        n_fields=len(found.column_names),
        document_column=found.row_column,
        word_column=found.column_column,
        count_column=found.value_column,
    )


def _table_layout(blank: CorpusLayout, table: Head, header: bool | None) -> CorpusLayout:
    records = table.records
    width = len(records[0])
    has_header = has_text_header(records) if header is None else header
    body = records[has_header:]
    given = [name.strip() for name in records[0]] if has_header else [""] * width
    names = given if has_header else [f"column {i + 1}" for i in range(width)]
    text = guess_text_column(given, body)
    label = guess_label_column(given, body, {text})
    name = guess_name_column(given, body, {text, label})
    cut = tuple(tuple(field[:PREVIEW_CHARACTERS] for field in record) for record in body[:PREVIEW_ROWS])
    return replace(
        blank,
        format="table",
        delimiter=table.delimiter or None,
        header=has_header,
        column_names=tuple(names),
        rows=cut,
        n_fields=width,
        text_column=text,
        name_column=name,
        label_column=label,
    )


def _head(source: ByteSource, encoding: str | None) -> tuple[list[str], str]:
    """Return the first lines, two at least if the file has so many."""
    lines, found = open_lines(source, encoding)
    head: list[str] = []
    size = 0
    for line in itertools.islice(lines, _HEAD_LINES):
        head.append(line)
        size += len(line)
        if size > _HEAD_CHARACTERS and len(head) > 1:
            break
    if not any(line.strip() for line in head):
        raise DataError(
            "the file holds no data, only blank lines",
            source=source.name,
            remedy="Load a file with data in it.",
        )
    return head, found


def _cut(lines: Sequence[str], delimiter: str, name: str) -> Head:
    """Return the first records that have as many fields as the first one.

    A fault ends them (the reader names it, should this be the delimiter); that of the first record is raised.
    """
    found: list[list[str]] = []
    try:
        for _, fields in itertools.islice(TextRecords(lines, delimiter, name), _GUESS_RECORDS):
            found.append(fields)
    except DataError:
        if not found:
            raise
    alike = [record for record in found if len(record) == len(found[0])]
    return Head(alike, len(found[0]), len(alike) / len(found), delimiter)
