"""A cheap look at the head of a file: recognise its format and propose how to read it."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from acvb_core.data.relations import guess
from acvb_core.data.relations.layout import (
    COLUMN_FORMATS,
    PREVIEW_FIELDS,
    PREVIEW_ROWS,
    FileFormat,
    Layout,
)
from acvb_core.data.report import plural
from acvb_core.data.sources import csv_kernel as kernel
from acvb_core.data.sources.byte_source import ByteSource, Utf8Stream
from acvb_core.data.sources.formats import recognised
from acvb_core.data.sources.frames import FrameSource
from acvb_core.data.sources.records import Workspace, delimiter_code, field_error, new_state
from acvb_core.data.sources.refusals import refuse_text_format
from acvb_core.data.sources.values import read_value, value_kind
from acvb_core.errors import DataError

HEAD_BYTES = 1 << 17
MAX_HEAD_BYTES = 1 << 26
_GUESS_RECORDS = 50
# A comma also stands inside text and numbers, so the others are believed first.
_CANDIDATES = ("\t", ";", "|", ",")


class Head(NamedTuple):
    """The first records of a delimited text."""

    records: list[list[str]]
    usual: int  # fields in most records
    share: float  # share of the records that have that many
    trimmed: int


def inspect(
    source: ByteSource | FrameSource,
    *,
    format: FileFormat | None = None,
    encoding: str | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
) -> Layout:
    """Look at the head of `source`; arguments that are not None are taken as given.

    Raises
    ------
    DataError
        The head is no table, or a table of one column, or the file is of a format for texts (JSON, HTML, …).
    """
    if isinstance(source, FrameSource):
        return _frame_layout(source, format, header)
    known = recognised(source, "relation", format)
    if known is not None:
        return Layout(known.name, source.name, source.gzipped)
    refuse_text_format(source)
    stream = Utf8Stream(source, encoding)
    delimiter, head = best_delimiter(*read_head(stream), delimiter, source.name)
    if head.usual < 2:
        raise DataError(
            "every line has one field only",
            source=source.name,
            line=1,
            value=head.records[0][0],
            remedy="Give two columns of labels, or say which delimiter separates them.",
        )
    if len(head.records[0]) != head.usual:
        raise DataError(
            f"the first line has {plural(len(head.records[0]), 'field')}, most lines have {head.usual:,}",
            source=source.name,
            line=1,
            remedy="Remove title lines above the data, and give every line the same number of fields.",
        )
    records = [record for record in head.records if len(record) == head.usual]
    found = Layout("edges", source.name, source.gzipped, stream.encoding, delimiter, n_fields=head.usual)
    if format == "matrix" or (format is None and guess.is_matrix(records)):
        return _matrix_layout(found, records, header)
    if header is None and len(head.records) == 1 and guess.may_be_heading(records[0]):
        raise one_line_only(records[0], source.name)
    return _edge_layout(found, records, header)


def _frame_layout(source: FrameSource, format: FileFormat | None, header: bool | None) -> Layout:
    """Propose how to read columns that are no text."""
    frame = source.frame
    if format not in (None, *COLUMN_FORMATS):
        raise DataError(
            f"this is {frame.what}, but it was to be read as {format}",
            source=source.name,
            remedy="Let the format be recognised, or choose edges or matrix.",
        )
    records = source.first_rows(_GUESS_RECORDS)
    if len(frame.names) < 2:
        remedy = "To read links, give two columns of labels."
        if guess.holds_texts([row[0] for row in records[frame.named :] if row]):
            remedy += (
                f" To read documents, use load_corpus (text_column={frame.names[0] if frame.named else 0!r})."
            )
        raise DataError(
            f"{frame.what} has one column only",
            source=source.name,
            value=frame.names[0] if frame.names else None,
            remedy=remedy,
        )
    named = True if frame.named else header
    found = Layout("edges", source.name, container=frame.container, n_fields=len(frame.names))
    # An index before columns of 0 and 1: a frame as crosstab or pivot gives it, however few its columns.
    crossed = frame.has_index and value_kind(cell for row in records[1:] for cell in row[1:]) == "0/1"
    if format == "matrix" or (format is None and (crossed or guess.is_matrix(records))):
        return _matrix_layout(found, records, named)
    return _edge_layout(found, records, named)


def one_line_only(
    fields: list[str], name: str, otherwise: str = "say that the first line is data"
) -> DataError:
    """Return the error for a file of one line that may hold names of columns or data."""
    return DataError(
        "the file has one line, and no rows below it; it may be a line of column names",
        source=name,
        line=1,
        value=", ".join(fields),
        remedy=f"Load a file with data below the names, or {otherwise}.",
    )


def _edge_layout(found: Layout, records: list[list[str]], header: bool | None) -> Layout:
    has_header = guess.edge_header(records) if header is None else header
    body = records[has_header:]
    names = records[0] if has_header else [""] * found.n_fields
    row, column, value = guess.edge_columns(names, body)
    found = _with_preview(found, records, has_header)
    kind = "none" if value is None else value_kind(record[value] for record in body)
    return replace(found, row_column=row, column_column=column, value_column=value, value_kind=kind)


def _matrix_layout(found: Layout, records: list[list[str]], header: bool | None) -> Layout:
    named_columns, named_rows = guess.matrix_labels(records)
    if header is not None:
        named_columns = header
    found = _with_preview(found, records, named_columns)
    cells = [field for record in records[named_columns:] for field in record[named_rows:]]
    return replace(found, format="matrix", row_column=0 if named_rows else None, value_kind=value_kind(cells))


def _with_preview(found: Layout, records: list[list[str]], has_header: bool) -> Layout:
    width = min(found.n_fields, PREVIEW_FIELDS)
    names = records[0][:width] if has_header else [f"column {i + 1}" for i in range(width)]
    body = records[has_header:][:PREVIEW_ROWS]
    return replace(
        found,
        header=has_header,
        column_names=tuple(names),
        rows=tuple(tuple(record[:width]) for record in body),
    )


def read_head(stream: Utf8Stream) -> tuple[bytes, bool]:
    """Return the first bytes, with two line ends if the file has so many, and whether they are all."""
    head = b""
    while len(head) < HEAD_BYTES or (head.count(b"\n") < 2 and len(head) < MAX_HEAD_BYTES):
        chunk = stream.read(HEAD_BYTES)
        if not chunk:
            return head, True
        head += chunk
    return head, False


def best_delimiter(head: bytes, whole: bool, delimiter: str | None, name: str) -> tuple[str, Head]:
    """Return the delimiter (the given one, or that which makes the best table) and the head cut at it."""
    if delimiter is not None:
        found = _tokenised(head, whole, delimiter, name)
        return delimiter, found
    best: tuple[tuple[float, bool], str, Head] | None = None
    problem: DataError | None = None
    for candidate in _CANDIDATES:
        try:
            found = _tokenised(head, whole, candidate, name)
        except DataError as error:
            problem = error
            continue
        rank = (found.share if found.usual > 1 else 0.0, found.trimmed == 0)
        if best is None or rank > best[0]:
            best = rank, candidate, found
    if best is None:
        assert problem is not None
        raise problem
    if best[2].usual < 2:
        spaced = _spaced(head, whole, name)
        if spaced is not None:
            return " ", spaced
    return best[1], best[2]


def _spaced(head: bytes, whole: bool, name: str) -> Head | None:
    """Return the head cut at spaces if it is columns of numbers; text with spaces is one field."""
    found = _tokenised(head, whole, " ", name)
    body = [record for record in found.records if len(record) == found.usual][1:]
    numeric = all(not np.isnan(read_value(field).number) for record in body for field in record)
    return found if found.usual > 1 and found.share > 0.9 and body and numeric else None


def _tokenised(head: bytes, whole: bool, delimiter: str, name: str) -> Head:
    block = np.frombuffer(head, dtype=np.uint8)
    room = Workspace()
    room.fit(len(block))
    state = new_state(kernel.ANY_NUMBER)
    n_records, n_fields, _, outcome, line, field, position = kernel.tokenise(
        block,
        whole,
        delimiter_code(delimiter),
        state,
        room.text,
        room.starts,
        room.ends,
        room.first,
        room.lines,
    )
    if outcome != kernel.FINE and n_records < 2:
        raise field_error(outcome, line, field, int(block[min(position, len(block) - 1)]), name)
    if n_records == 0:
        if whole:
            raise DataError(
                "the file holds no data, only blank or comment lines",
                source=name,
                remedy="Load a file with data in it.",
            )
        raise DataError(
            f"the first line does not end within {len(head):,} bytes",
            source=name,
            line=1,
            remedy="Check that this is a table of text with line ends.",
        )
    bounds = [*room.first[:n_records].tolist(), n_fields]
    counts = np.diff(bounds)
    several = counts[counts > 1]
    usual = int(np.bincount(several).argmax()) if len(several) else 1
    records = [
        [room.text[room.starts[f] : room.ends[f]].tobytes().decode("utf-8") for f in range(a, b)]
        for a, b in zip(bounds[:_GUESS_RECORDS], bounds[1 : _GUESS_RECORDS + 1], strict=False)
    ]
    share = float((counts == usual).mean())
    return Head(records, usual, share, int(state[kernel.TRIMMED]))
