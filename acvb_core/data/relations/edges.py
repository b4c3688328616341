"""Lists of links: two columns of labels and perhaps one of values, in a file, a frame or as pairs in memory."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acvb_core.core.errors import DataError
from acvb_core.data.names import text_of
from acvb_core.data.relations.assemble import AssembledRelation, ContradictionError, Entries, assemble
from acvb_core.data.relations.guess import inspect
from acvb_core.data.relations.layout import Layout, ReadOptions, no_data_fault
from acvb_core.data.relations.nodes import Side, make_side
from acvb_core.data.sources.byte_source import ByteSource
from acvb_core.data.sources.frames import (
    BATCH_ROWS,
    Frame,
    FrameRecords,
    FrameSource,
    open_records,
    reading_facts,
)
from acvb_core.data.sources.records import RecordBatch, RecordReader
from acvb_core.data.sources.values import LINK, ZERO, LabelTable, ValueReader


def read_edge_list(
    source: ByteSource | FrameSource, layout: Layout, options: ReadOptions
) -> AssembledRelation:
    """Return the relation of a list of links whose columns its layout chooses, what was found, and the zeros given."""
    assert layout.row_column is not None
    assert layout.column_column is not None
    at, value_at, alike = (layout.row_column, layout.column_column), layout.value_column, options.same_nodes
    table = LabelTable()
    tables = (table, table) if alike else (table, LabelTable())
    values = ValueReader(options.threshold, source.name, typed=isinstance(source, FrameSource))
    entries = Entries()

    def open_list() -> RecordReader | FrameRecords:
        return open_records(
            source,
            layout.delimiter,
            encoding=options.encoding,
            header=layout.header,
            block_bytes=options.block_bytes,
            used=[i for i in (*at, value_at) if i is not None],
        )

    def read_codes(batch: RecordBatch) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return the codes of the row labels and of the column labels; a blank label is a DataError."""
        for i in at:
            _refuse_blank(batch, i, source.name)
        if alike:
            both = table.codes(batch.interleave(*at), 0)
            return both[0::2], both[1::2]
        return tables[0].codes(batch, at[0]), tables[1].codes(batch, at[1])

    def build_side(axis: int, nodes: list[str] | None) -> Side:
        def place(code: int) -> dict[str, Any]:
            # A table that serves both sides met the label in either column.
            line, column = tables[axis].first_line(code), None if alike else at[axis] + 1
            return {"source": source.name, "line": line, "column": column}

        size = None if options.shape is None else options.shape[axis]
        return make_side(tables[axis].labels(), nodes, place, size)

    reader = open_list()
    for batch in reader:
        codes = read_codes(batch)
        if value_at is None:
            entries.links.add(*codes)
        else:
            entries.add(*codes, *values.read(batch, value_at))
    if reader.records == 0:
        raise no_data_fault(source.name)
    rows = build_side(0, options.row_nodes)
    columns = rows if alike else build_side(1, options.column_nodes)
    row_kind, column_kind = (reader.header[i] for i in at) if reader.header else ("", "")
    try:
        found = assemble(
            entries,
            rows,
            columns,
            None if value_at is None else values.summary,
            name=options.name,
            row_kind=row_kind or "row",
            column_kind="column" if column_kind in ("", "col") else column_kind,
            unlisted_missing=options.unlisted == "missing",
        )
    except ContradictionError as clash:
        # The file is read once more to name both lines: no line number is kept for 20 million pairs.
        lines: dict[int, int] = {}
        for batch in open_list():
            row_codes, column_codes = read_codes(batch)
            same = (rows.final[row_codes] == clash.row) & (columns.final[column_codes] == clash.column)
            verdicts, _ = values.read(batch, value_at or 0)
            for i in np.flatnonzero(same):
                lines.setdefault(int(verdicts[i]), int(batch.lines[i]))
        pair = f"{rows.labels[clash.row]}, {columns.labels[clash.column]}"
        raise _contradiction(source, lines, pair, value_at) from None
    return found._replace(facts=reading_facts(reader, layout) + found.facts)


def _refuse_blank(batch: RecordBatch, column: int, name: str) -> None:
    blank = batch.blank(column)
    if blank.any():
        line, remedy = int(batch.lines[blank.argmax()]), "Give every object a name, or remove the line."
        raise DataError("a label is blank", source=name, line=line, column=column + 1, remedy=remedy)


def _contradiction(
    source: ByteSource | FrameSource, lines: dict[int, int], pair: str, column: int | None
) -> DataError:
    """Return the error for a pair that is a link on one line and none on another; `lines` are by verdict."""
    unit = source.frame.unit if isinstance(source, FrameSource) else "line"
    return DataError(
        f"the pair is a link on {unit} {lines[LINK]:,} and no link on {unit} {lines[ZERO]:,}",
        source=source.name,
        line=max(lines[LINK], lines[ZERO]),
        column=None if column is None else column + 1,
        value=pair,
        remedy=f"Keep one of the two {unit}s.",
    )


def open_pairs(given: Iterable[Any], name: str) -> tuple[FrameSource, Layout]:
    """Return pairs, or triples with a value, as the columns of a list of links.

    A label is a text, a number or any object that `str` tells from others; None and NaN are missing values.
    """
    import pyarrow as pa

    batches: list[Any] = []
    items, width = iter(given), 0
    while rows := list(islice(items, BATCH_ROWS)):
        width = width or (len(rows[0]) if _is_pair(rows[0]) else 2)
        for at, row in enumerate(rows, start=len(batches) * BATCH_ROWS + 1):
            if not _is_pair(row) or len(row) != width:
                what = f"this is not a {'pair' if width == 2 else 'triple'}"
                remedy = "Give pairs (label, label), or triples (label, label, value), all of one length."
                if isinstance(row, str):
                    remedy = (
                        "Give pairs (label, label). A list of texts is a corpus: read it with load_corpus."
                    )
                raise DataError(what, source=name, line=at, unit="row", value=repr(row), remedy=remedy)
        columns = [[text_of(value) for value in column] for column in zip(*rows, strict=True)]
        if width == 3:
            columns[2] = [_value_text(row[2]) for row in rows]
        names = [f"column {i + 1}" for i in range(width)]
        batches.append(pa.record_batch([pa.array(column, pa.string()) for column in columns], names))
    if not batches:
        raise DataError("there are no pairs", source=name, remedy="Give at least one pair (label, label).")
    frame = Frame("pairs", "a list of pairs", tuple(names), False, lambda: iter(batches))
    source = FrameSource(frame, name)
    layout = inspect(source, ReadOptions(format="edges", header=False))
    return source, replace(layout, value_column=2 if width == 3 else None)


def _is_pair(row: Any) -> bool:
    return isinstance(row, tuple | list | np.ndarray) and len(row) in (2, 3)


def _value_text(value: Any) -> str:
    """Return the value of a link as its reader takes it, a number with all its digits."""
    number = isinstance(value, float | np.floating) and not np.isnan(value)
    return repr(float(value)) if number else text_of(value)
