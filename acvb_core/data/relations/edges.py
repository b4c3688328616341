"""Lists of links: two columns of labels and perhaps one of values, in a file, a frame or as pairs in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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

_Records = RecordReader | FrameRecords


class EdgeListReader:
    """Read one edge list, whose columns are chosen in its layout; use once."""

    def __init__(self, source: ByteSource | FrameSource, layout: Layout, options: ReadOptions) -> None:
        assert layout.row_column is not None
        assert layout.column_column is not None
        self._source = source
        self._layout = layout
        self._options = options
        self._columns = layout.row_column, layout.column_column
        rows = LabelTable()
        self._tables = rows, rows if options.same_nodes else LabelTable()
        values = ValueReader(options.threshold, source.name, typed=isinstance(source, FrameSource))
        self._values = None if layout.value_column is None else values

    def read(self) -> AssembledRelation:
        """Return the relation, the facts about reading it and the zeros that were given."""
        reader = self._records()
        entries = Entries()
        for rows, columns, verdicts, numbers, _ in self._read_codes(reader):
            if verdicts is None:
                entries.links.add(rows, columns)
            else:
                entries.add(rows, columns, verdicts, numbers)
        if reader.records == 0:
            raise no_data_fault(self._source.name)
        rows_side = self._make_side(0)
        columns_side = rows_side if self._options.same_nodes else self._make_side(1)
        row_kind, column_kind = (reader.header[at] for at in self._columns) if reader.header else ("", "")
        try:
            found = assemble(
                entries,
                rows_side,
                columns_side,
                None if self._values is None else self._values.summary,
                name=self._options.name,
                row_kind=row_kind or "row",
                column_kind="column" if column_kind in ("", "col") else column_kind,
                unlisted_missing=self._options.unlisted == "missing",
            )
        except ContradictionError as clash:
            raise self._find_contradiction(clash, rows_side, columns_side) from None
        return found._replace(facts=reading_facts(reader, self._layout) + found.facts)

    def _records(self) -> _Records:
        layout = self._layout
        return open_records(
            self._source,
            layout.delimiter,
            encoding=self._options.encoding,
            header=layout.header,
            block_bytes=self._options.block_bytes,
            used=[at for at in (*self._columns, layout.value_column) if at is not None],
        )

    def _read_codes(self, reader: _Records) -> Iterator[tuple[Any, Any, Any, Any, NDArray[np.int64]]]:
        """Yield row codes, column codes, verdicts and numbers (None without values), and lines, by batch."""
        at, value_at = self._columns, self._layout.value_column
        for batch in reader:
            self._check_labels(batch)
            if self._options.same_nodes:
                both = self._tables[0].codes(batch.interleave(*at), 0)
                rows, columns = both[0::2], both[1::2]
            else:
                rows, columns = (
                    table.codes(batch, column) for table, column in zip(self._tables, at, strict=True)
                )
            verdicts = numbers = None
            if self._values is not None and value_at is not None:
                verdicts, numbers = self._values.read(batch, value_at)
            yield rows, columns, verdicts, numbers, batch.lines

    def _check_labels(self, batch: RecordBatch) -> None:
        """Refuse blank labels."""
        for at in self._columns:
            blank = batch.blank(at)
            if blank.any():
                line, remedy = (
                    int(batch.lines[blank.argmax()]),
                    "Give every object a name, or remove the line.",
                )
                name = self._source.name
                raise DataError("a label is blank", source=name, line=line, column=at + 1, remedy=remedy)

    def _make_side(self, axis: int) -> Side:
        options, table = self._options, self._tables[axis]
        nodes = options.column_nodes if axis else options.row_nodes

        def place(code: int) -> dict[str, Any]:
            # A table that serves both sides met the label in either column.
            column = None if options.same_nodes else self._columns[axis] + 1
            return {"source": self._source.name, "line": table.first_line(code), "column": column}

        size = None if options.shape is None else options.shape[axis]
        return make_side(table.labels(), nodes, place, size)

    def _find_contradiction(self, clash: ContradictionError, rows: Side, columns: Side) -> DataError:
        """Read the file once more to name both lines: no line number is kept for 20 million pairs."""
        lines: dict[int, int] = {}
        for row_codes, column_codes, verdicts, _, numbers_of_lines in self._read_codes(self._records()):
            same = (rows.final[row_codes] == clash.row) & (columns.final[column_codes] == clash.column)
            for record in np.flatnonzero(same):
                lines.setdefault(int(verdicts[record]), int(numbers_of_lines[record]))
        assert self._layout.value_column is not None
        unit = self._source.frame.unit if isinstance(self._source, FrameSource) else "line"
        return DataError(
            f"the pair is a link on {unit} {lines[LINK]:,} and no link on {unit} {lines[ZERO]:,}",
            source=self._source.name,
            line=max(lines[LINK], lines[ZERO]),
            column=self._layout.value_column + 1,
            value=f"{rows.labels[clash.row]}, {columns.labels[clash.column]}",
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
