"""Lists of links: two columns of labels and perhaps one of values, in a file, a frame or as pairs in memory."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acvb_core.core.errors import DataError, shorten
from acvb_core.data.names import text_of
from acvb_core.data.relation import Relation
from acvb_core.data.relations.assemble import AssembledRelation, ContradictionError, Entries, assemble
from acvb_core.data.relations.guess import inspect, read_direction
from acvb_core.data.relations.layout import Layout, ReadOptions, Sides, no_data_fault
from acvb_core.data.relations.nodes import Side, make_side
from acvb_core.data.report import Fact
from acvb_core.data.sources.byte_source import ByteSource
from acvb_core.data.sources.frames import BATCH_ROWS, Frame, FrameRecords, FrameSource
from acvb_core.data.sources.opening import open_records, reading_facts
from acvb_core.data.sources.records import RecordBatch, RecordReader
from acvb_core.data.sources.values import LINK, ZERO, LabelTable, ValueReader


def read_edge_list(
    source: ByteSource | FrameSource, layout: Layout, options: ReadOptions
) -> AssembledRelation:
    """Return the relation of a list of links whose columns its layout chooses, what was found, and the zeros given."""
    links = _LinkList(source, layout, options)
    entries = Entries()
    reader = links.open()
    for batch in reader:
        codes = links.read_codes(batch)
        links.read_directions(batch)
        if links.value_at is None:
            entries.links.add(*codes)
        else:
            entries.add(*codes, *links.values.read(batch, links.value_at))
    if reader.records == 0:
        raise no_data_fault(source.name)
    rows = links.build_side(0, options.row_nodes)
    columns = rows if options.same_nodes else links.build_side(1, options.column_nodes)
    row_kind, column_kind = (reader.header[i] for i in links.at) if reader.header else ("", "")
    try:
        found = assemble(
            entries,
            rows,
            columns,
            None if links.value_at is None else links.values.summary,
            name=options.name,
            row_kind=row_kind or "row",
            column_kind="column" if column_kind in ("", "col") else column_kind,
            unlisted_missing=options.unlisted == "missing",
        )
    except ContradictionError as clash:
        raise links.find_contradiction(clash, rows, columns) from None
    facts = reading_facts(reader, layout) + links.tell_unified()
    unnamed = isinstance(source, ByteSource) or not source.frame.named
    guessed = unnamed and not isinstance(options.header, bool)
    if guessed and not layout.header and links.value_at is None:
        facts += links.find_lone_first_line(found.relation, rows, columns)
    return found._replace(facts=facts + found.facts, declared=links.find_direction())


class _LinkList:
    """A list of links as it is read: the labels of each side become codes, values become verdicts."""

    def __init__(self, source: ByteSource | FrameSource, layout: Layout, options: ReadOptions) -> None:
        assert layout.row_column is not None
        assert layout.column_column is not None
        self.at, self.value_at = (layout.row_column, layout.column_column), layout.value_column
        self.values = ValueReader(options.threshold, source.name, typed=isinstance(source, FrameSource))
        self.direction_at, self._directions = layout.direction_column, LabelTable()
        self._source, self._layout, self._options = source, layout, options
        self._has_unified = False  # ids lost a .0
        table = LabelTable()
        self._tables = (table, table if options.same_nodes else LabelTable())

    def open(self) -> RecordReader | FrameRecords:
        """Return the records of the list, from the first one."""
        return open_records(
            self._source,
            self._layout.delimiter,
            encoding=self._options.encoding,
            header=self._layout.header,
            block_bytes=self._options.block_bytes,
            used=[i for i in (*self.at, self.value_at, self.direction_at) if i is not None],
        )

    def read_codes(self, batch: RecordBatch) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return the codes of the row labels and of the column labels; a blank label is a DataError."""
        for i in self.at:
            _refuse_blank(batch, i, self._source.name)
        if self._options.same_nodes:
            both = self._tables[0].codes(batch.interleave(*self.at), 0)
            return both[0::2], both[1::2]
        return self._tables[0].codes(batch, self.at[0]), self._tables[1].codes(batch, self.at[1])

    def read_directions(self, batch: RecordBatch) -> None:
        """Note what the column of directions says, if there is one."""
        if self.direction_at is not None:
            self._directions.codes(batch, self.direction_at)

    def find_direction(self) -> Sides | None:
        """Return what the column of directions says of all links; None where there is none, or not all say the same.

        Raises DataError: they do not, and nobody says how all of them are read.
        """
        if self.direction_at is None:
            return None
        heading, texts = self._layout.column_names[self.direction_at], self._directions.labels()
        said = {code: read_direction(heading, text) for code, text in enumerate(texts) if text.strip()}
        if len(set(said.values())) == 1 and None not in said.values():
            return Sides("one", f"the column {heading!r} says so", directed=next(iter(said.values())))
        if self._options.directed is not None or not said:
            return None
        first = next(iter(said))
        code = next(code for code in said if said[code] is None or said[code] is not said[first])
        what = f"some links have a direction and some have none, as on line {self._directions.first_line(first):,}"
        if said[code] is None:
            what = f"{texts[code]!r} says neither that a link has a direction nor that it has none"
        raise DataError(
            what,
            source=self._source.name,
            line=self._directions.first_line(code),
            column=self.direction_at + 1,
            value=texts[code],
            remedy="Say for all links whether they have a direction (directed=True) (directed=False).",
        )

    def build_side(self, axis: int, nodes: list[str] | None) -> Side:
        """Return the objects of a side, once all of them were read."""

        def place(code: int) -> dict[str, Any]:
            # A table that serves both sides met the label in either column.
            column = None if self._options.same_nodes else self.at[axis] + 1
            return {
                "source": self._source.name,
                "line": self._tables[axis].first_line(code),
                "column": column,
            }

        shape, labels = self._options.shape, self._tables[axis].labels()
        side = make_side(labels, nodes, place, None if shape is None else shape[axis])
        if nodes is None and shape is None and side.labels.tolist() != labels:
            self._has_unified = True
        return side

    def tell_unified(self) -> list[Fact]:
        """Return the fact that ids lost a .0, if they did."""
        told = "Ids are whole numbers: a .0 was left out, so that 1.0 and 1 are one object."
        return [Fact("whole_ids", 1, told)] if self._has_unified else []

    def find_lone_first_line(self, relation: Relation, rows: Side, columns: Side) -> list[Fact]:
        """Return a note where only the first line has two names that occur nowhere else, as names of columns do.

        Raises DataError: all other names occur again, so that the first line is a heading, most likely.
        """
        # Codes are given in the order of first occurrence.
        first = int(rows.final[0]), int(columns.final[:2][-1 if self._options.same_nodes else 0])
        names = [shorten(rows.labels[first[0]]), shorten(columns.labels[first[1]])]
        if np.diff(relation.ones.indptr)[first[0]] != 1 or any(name.isdecimal() for name in names):
            return []
        numbers: dict[str, int] = {}  # by name, whichever side it is on
        by_side = (
            np.array([numbers.setdefault(name, len(numbers)) for name in side.labels])
            for side in (rows, columns)
        )
        links = relation.ones.tocoo()
        ends = [number[at] for number, at in zip(by_side, links.coords, strict=True)]
        times = np.bincount(ends[0], minlength=len(numbers)) + np.bincount(ends[1], minlength=len(numbers))
        lone = np.flatnonzero((times[ends[0]] == 1) & (times[ends[1]] == 1))
        if len(lone) != 1 or (links.row[lone[0]], links.col[lone[0]]) != first:
            return []
        if len(times) > 4 and np.count_nonzero(times == 1) == 2:
            unit = self._source.frame.unit if isinstance(self._source, FrameSource) else "line"
            raise DataError(
                f"the first {unit} may hold the names of the columns: all names but these two occur again",
                source=self._source.name,
                line=1,
                value=", ".join(names),
                remedy="Say whether it holds names (header=True) or data (header=False).",
            )
        told = "on the first line, occur with each other only. They may be names of columns, and not data."
        return [Fact("lone_first_line", 1, f"{' and '.join(names)}, {told}")]

    def find_contradiction(self, clash: ContradictionError, rows: Side, columns: Side) -> DataError:
        """Return the error for a pair that is a link on one line and none on another.

        The file is read once more to name both lines: no line number is kept for 20 million pairs.
        """
        lines: dict[int, int] = {}  # by verdict
        for batch in self.open():
            row_codes, column_codes = self.read_codes(batch)
            same = (rows.final[row_codes] == clash.row) & (columns.final[column_codes] == clash.column)
            verdicts, _ = self.values.read(batch, self.value_at or 0)
            for i in np.flatnonzero(same):
                lines.setdefault(int(verdicts[i]), int(batch.lines[i]))
        unit = self._source.frame.unit if isinstance(self._source, FrameSource) else "line"
        return DataError(
            f"the pair is a link on {unit} {lines[LINK]:,} and no link on {unit} {lines[ZERO]:,}",
            source=self._source.name,
            line=max(lines[LINK], lines[ZERO]),
            column=None if self.value_at is None else self.value_at + 1,
            value=f"{rows.labels[clash.row]}, {columns.labels[clash.column]}",
            remedy=f"Keep one of the two {unit}s.",
        )


def _refuse_blank(batch: RecordBatch, column: int, name: str) -> None:
    blank = batch.blank(column)
    if blank.any():
        line, remedy = int(batch.lines[blank.argmax()]), "Give every object a name, or remove the line."
        raise DataError("a label is blank", source=name, line=line, column=column + 1, remedy=remedy)


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
