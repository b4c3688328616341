"""A cheap look at the head of a file: recognise its format and propose how to read it."""

from __future__ import annotations

from dataclasses import replace

from acvb_core.data.relations import guess
from acvb_core.data.relations.layout import COLUMN_FORMATS, FileFormat, Layout
from acvb_core.data.sources.byte_source import ByteSource
from acvb_core.data.sources.formats import PREVIEW_FIELDS, PREVIEW_ROWS, recognised
from acvb_core.data.sources.frames import FrameSource
from acvb_core.data.sources.text_lines import GUESS_RECORDS, one_line_fault, read_head
from acvb_core.data.sources.values import value_kind
from acvb_core.errors import DataError


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
    head = read_head(source, encoding, delimiter)
    records = head.even
    found = Layout("edges", source.name, source.gzipped, head.encoding, head.delimiter, n_fields=head.usual)
    if format == "matrix" or (format is None and guess.is_matrix(records)):
        return _matrix_layout(found, records, header)
    if header is None and len(head.records) == 1 and guess.may_be_heading(records[0]):
        raise one_line_fault(records[0], source.name)
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
    records = source.first_rows(GUESS_RECORDS)
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
    # Columns of 0 and 1, perhaps behind an index, that are not called as those of links: a matrix, however few.
    cells = (cell for row in records[1:] for cell in row[frame.has_index :])
    called = guess.names_links(frame.names[frame.has_index :])
    bits = frame.named and not called and value_kind(cells) == "0/1"
    if format == "matrix" or (format is None and (bits or guess.is_matrix(records))):
        return _matrix_layout(found, records, named)
    return _edge_layout(found, records, named)


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
