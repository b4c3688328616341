"""Dense matrices as text: one row object a line, one column object a field, with or without labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from acvb_core.data.names import refuse_repeated
from acvb_core.data.relations.assemble import Assembled, Entries, assemble
from acvb_core.data.relations.layout import Layout
from acvb_core.data.relations.nodes import Side, side_as_found, side_by_position, side_from_list
from acvb_core.data.relations.options import ReadOptions
from acvb_core.data.relations.sparse_files import checked_shape
from acvb_core.data.sources.byte_source import ByteSource
from acvb_core.data.sources.frames import FrameSource, open_records, reading_facts
from acvb_core.data.sources.records import RecordBatch
from acvb_core.data.sources.values import ValueReader
from acvb_core.errors import DataError, shorten


def read_matrix(source: ByteSource | FrameSource, layout: Layout, options: ReadOptions) -> Assembled:
    """Read a dense matrix: every cell is a value, a blank or NA cell is missing.

    Raises
    ------
    DataError
        A cell holds no value, a label is blank or stands twice, or the shape is not the given one.
    """
    reader = open_records(
        source,
        layout.delimiter,
        encoding=options.encoding,
        header=layout.header,
        block_bytes=options.block_bytes,
    )
    labelled = layout.row_column is not None
    if labelled and layout.row_column != 0:
        raise DataError(
            "row labels are not in the first column",
            source=source.name,
            remedy="Put the row labels first, or say that rows have none.",
        )
    values = ValueReader(options.threshold, source.name)
    entries = Entries()
    row_labels: list[str] = []
    row_lines: list[int] = []
    n_rows = 0
    for batch in reader:
        _add_cells(entries, batch, values, n_rows, int(labelled))
        if labelled:
            row_labels += [batch.field(record, 0) for record in range(batch.n_records)]
            row_lines += batch.lines.tolist()
        n_rows += batch.n_records
    if n_rows == 0:
        raise DataError(
            "the file holds column names and no data",
            source=source.name,
            line=1,
            remedy="Load a file with data in it, or say that its first line is data.",
        )
    n_columns = layout.n_fields - int(labelled)
    checked_shape((n_rows, n_columns), options.shape, source.name)
    column_labels = None if reader.header is None else reader.header[int(labelled) :]
    row_places = [{"source": source.name, "line": line, "column": 1} for line in row_lines]
    column_places = [
        {"source": source.name, "line": 1 + reader.comment_lines, "column": i + 1 + int(labelled)}
        for i in range(n_columns)
    ]
    corner = reader.header[0] if reader.header is not None and labelled else ""
    found = assemble(
        entries,
        _side(row_labels if labelled else None, n_rows, row_places, options.row_nodes, "row", source.name),
        _side(column_labels, n_columns, column_places, options.column_nodes, "column", source.name),
        values.summary,
        name=options.name,
        row_kind=corner or "row",
        column_kind="column",
    )
    # Every cell was given: what is no link and not missing is known to be 0.
    return found._replace(facts=reading_facts(reader, layout, source) + found.facts, zeros=None)


def _add_cells(entries: Entries, batch: RecordBatch, values: ValueReader, first_row: int, skip: int) -> None:
    """Append a batch's cells, each handed on as a record of its own, so that one table serves all columns."""
    n_cells = batch.n_fields - skip
    cells = batch.interleaved(*range(skip, batch.n_fields))
    try:
        verdicts, numbers = values.read(cells, 0)
    except DataError as problem:
        raise _with_column(problem, batch, skip) from None
    rows = np.repeat(np.arange(first_row, first_row + batch.n_records, dtype=np.int32), n_cells)
    columns = np.tile(np.arange(n_cells, dtype=np.int32), batch.n_records)
    entries.add(rows, columns, verdicts, numbers, keep_zeros=False)


def _with_column(problem: DataError, batch: RecordBatch, skip: int) -> DataError:
    """Return the error with the field it stands in: the cell reader sees one field a record."""
    record = int(np.flatnonzero(batch.lines == problem.line)[0])
    found = batch.record(record)
    column = next(i for i in range(skip, batch.n_fields) if shorten(found[i]) == problem.value)
    return DataError(
        problem.what,
        source=problem.source,
        line=problem.line,
        column=column + 1,
        value=found[column],
        remedy=problem.remedy,
    )


def _side(
    labels: list[str] | None,
    n: int,
    places: list[dict[str, Any]],
    nodes: list[str] | None,
    side: str,
    source: str,
) -> Side:
    if labels is None:
        return side_by_position(n, nodes, side, source)
    refuse_repeated(labels, side, lambda i: places[i])
    if nodes is not None:
        return side_from_list(labels, nodes, lambda code: places[code])
    return side_as_found(labels)
