"""Edge lists: two columns of labels and perhaps one of values, one pair a line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acvb_core.data.relations.assemble import Assembled, ContradictionError, Entries, assemble
from acvb_core.data.relations.layout import Layout
from acvb_core.data.relations.nodes import Side, side_as_found, side_from_list, side_from_size
from acvb_core.data.relations.options import ReadOptions
from acvb_core.data.sources.byte_source import ByteSource
from acvb_core.data.sources.frames import FrameRecords, FrameSource, open_records, reading_facts
from acvb_core.data.sources.records import RecordBatch, RecordReader
from acvb_core.data.sources.values import LINK, ZERO, LabelTable, ValueReader
from acvb_core.errors import DataError


class EdgeListReader:
    """Read one edge list; use once.

    Parameters
    ----------
    source : ByteSource or FrameSource
    layout : Layout
        With `row_column`, `column_column` and `value_column` settled.
    options : ReadOptions
    """

    def __init__(self, source: ByteSource | FrameSource, layout: Layout, options: ReadOptions) -> None:
        assert layout.row_column is not None
        assert layout.column_column is not None
        self._source = source
        self._layout = layout
        self._options = options
        self._row_column = layout.row_column
        self._column_column = layout.column_column
        self._row_table = LabelTable()
        self._column_table = self._row_table if options.same_nodes else LabelTable()
        self._values = None if layout.value_column is None else ValueReader(options.threshold, source.name)

    def read(self) -> Assembled:
        """Return the relation, the facts about reading it and the zeros that were given.

        Raises
        ------
        DataError
            A fault of the file, with its line and field.
        """
        reader = self._records()
        entries = Entries()
        for rows, columns, verdicts, numbers, _ in self._coded(reader):
            if verdicts is None:
                entries.links.add(rows, columns)
            else:
                entries.add(rows, columns, verdicts, numbers)
        if reader.records == 0:
            raise DataError(
                "the file holds column names and no data",
                source=self._source.name,
                line=1,
                remedy="Load a file with data in it, or say that its first line is data.",
            )
        rows_side, columns_side = self._sides()
        row_kind, column_kind = self._kinds(reader.header)
        try:
            found = assemble(
                entries,
                rows_side,
                columns_side,
                None if self._values is None else self._values.summary,
                name=self._options.name,
                row_kind=row_kind,
                column_kind=column_kind,
                unlisted_missing=self._options.unlisted_missing,
            )
        except ContradictionError as clash:
            raise self._contradiction(clash, rows_side, columns_side) from None
        return found._replace(facts=reading_facts(reader, self._layout, self._source) + found.facts)

    def _records(self) -> RecordReader | FrameRecords:
        layout = self._layout
        used = (self._row_column, self._column_column, layout.value_column)
        return open_records(
            self._source,
            layout.delimiter,
            encoding=self._options.encoding,
            header=layout.header,
            block_bytes=self._options.block_bytes,
            used=[column for column in used if column is not None],
        )

    def _coded(
        self, reader: RecordReader | FrameRecords
    ) -> Iterator[tuple[Any, Any, Any, Any, NDArray[np.int64]]]:
        """Yield row codes, column codes, verdicts and numbers (None without values), and lines, by batch."""
        for batch in reader:
            if batch.n_fields <= max(self._row_column, self._column_column, self._layout.value_column or 0):
                raise DataError(
                    f"there are {batch.n_fields:,} fields, fewer than the chosen columns need",
                    source=self._source.name,
                    line=int(batch.lines[0]),
                    remedy="Choose other columns or another delimiter.",
                )
            self._refuse_blank_labels(batch)
            if self._options.same_nodes:
                both = self._row_table.codes(batch.interleaved(self._row_column, self._column_column), 0)
                rows, columns = both[0::2], both[1::2]
            else:
                rows = self._row_table.codes(batch, self._row_column)
                columns = self._column_table.codes(batch, self._column_column)
            verdicts = numbers = None
            if self._values is not None:
                assert self._layout.value_column is not None
                verdicts, numbers = self._values.read(batch, self._layout.value_column)
            yield rows, columns, verdicts, numbers, batch.lines

    def _refuse_blank_labels(self, batch: RecordBatch) -> None:
        for column in (self._row_column, self._column_column):
            blank = batch.blank(column)
            if blank.any():
                raise DataError(
                    "a label is blank",
                    source=self._source.name,
                    line=int(batch.lines[int(blank.argmax())]),
                    column=column + 1,
                    remedy="Give every object a name, or remove the line.",
                )

    def _sides(self) -> tuple[Side, Side]:
        options = self._options
        rows = self._side(self._row_table, self._row_column, options.row_nodes, 0)
        if options.same_nodes:
            return rows, rows
        return rows, self._side(self._column_table, self._column_column, options.column_nodes, 1)

    def _side(self, table: LabelTable, column: int, nodes: list[str] | None, axis: int) -> Side:
        def place(code: int) -> dict[str, Any]:
            # A table that serves both sides met the label in either column.
            where = None if self._options.same_nodes else column + 1
            return {"source": self._source.name, "line": table.first_line(code), "column": where}

        labels = table.labels()
        if nodes is not None:
            return side_from_list(labels, nodes, place)
        if self._options.shape is not None:
            return side_from_size(labels, self._options.shape[axis], place)
        return side_as_found(labels)

    def _kinds(self, header: list[str] | None) -> tuple[str, str]:
        if header is None:
            return "row", "column"
        row, column = header[self._row_column], header[self._column_column]
        return row or "row", "column" if column in ("", "col") else column

    def _contradiction(self, clash: ContradictionError, rows: Side, columns: Side) -> DataError:
        """Read the file once more to name both lines: no line number is kept for 20 million pairs."""
        lines: dict[int, int] = {}
        for row_codes, column_codes, verdicts, _, numbers_of_lines in self._coded(self._records()):
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
