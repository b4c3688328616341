"""Delimited text as columns of numbers and of texts, in blocks."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from acvb_core.data.relations.layout import Layout
from acvb_core.data.report import Fact
from acvb_core.data.sources.byte_source import ByteSource, Utf8Stream
from acvb_core.data.sources.label_table import LabelTable
from acvb_core.data.sources.records import BLOCK_BYTES, RecordBatch, RecordReader
from acvb_core.data.sources.text_facts import reading_facts
from acvb_core.data.table import LARGEST
from acvb_core.data.tables.layout import MISSING, TableLayout, is_infinite, is_number
from acvb_core.data.tables.numbers import parse_numbers
from acvb_core.data.tables.raw import RawTable, TextColumn, infinite, text_among_numbers
from acvb_core.errors import DataError


class Wanted(NamedTuple):
    """What a reader of text is to do with the columns, by position.

    Attributes
    ----------
    texts : frozenset of int
        Columns to be kept as texts, whatever they hold; columns of text are besides.
    left_out : frozenset of int
        Columns not to be looked at.
    missing : frozenset of str
        Further signs for a missing cell, in lower case.
    """

    texts: frozenset[int] = frozenset()
    left_out: frozenset[int] = frozenset()
    missing: frozenset[str] = frozenset()


class _TextFoundError(Exception):
    """Columns that seemed to hold numbers, all of them missing so far, hold texts."""

    def __init__(self, columns: set[int]) -> None:
        super().__init__()
        self.columns = columns


def read_text(
    source: ByteSource,
    layout: TableLayout,
    wanted: Wanted,
    *,
    encoding: str | None = None,
    block_bytes: int = BLOCK_BYTES,
) -> RawTable:
    """Read every column as numbers or as texts.

    Raises
    ------
    DataError
        Text in a column of numbers, an infinite number, a record with more or fewer fields than the first, no data.
    """
    texts = wanted.texts | {i for i, kind in enumerate(layout.kinds) if kind == "text"}
    while True:
        try:
            return _Reading(source, layout, wanted._replace(texts=texts - wanted.left_out)).read(
                encoding, block_bytes
            )
        except _TextFoundError as found:
            texts = texts | found.columns


class _Reading:
    """One pass over a text."""

    def __init__(self, source: ByteSource, layout: TableLayout, wanted: Wanted) -> None:
        self._source = source
        self._layout = layout
        self._wanted = wanted
        self._signs = MISSING | wanted.missing
        held = wanted.texts | wanted.left_out
        self._numeric = np.array([i for i in range(layout.n_fields) if i not in held], dtype=np.int64)
        self._codes = np.array(
            [
                float(sign.replace(",", "."))
                for sign in wanted.missing
                if is_number(sign, layout.decimal or ".")
            ]
        )
        self._seen = np.zeros(len(self._numeric), dtype=np.bool_)  # the column has had a number
        self._tables = {i: LabelTable() for i in wanted.texts}

    def read(self, encoding: str | None, block_bytes: int) -> RawTable:
        layout = self._layout
        assert layout.delimiter is not None
        reader = RecordReader(
            Utf8Stream(self._source, encoding),
            self._source.name,
            layout.delimiter,
            header=layout.header,
            block_bytes=block_bytes,
            n_fields=layout.n_fields,
        )
        blocks: list[NDArray[np.float64]] = []
        lines: list[NDArray[np.int64]] = []
        codes: dict[int, list[NDArray[np.int32]]] = {i: [] for i in self._tables}
        for batch in reader:
            blocks.append(self._numbers(batch))
            lines.append(batch.lines.copy())
            for i, table in self._tables.items():
                codes[i].append(table.codes(batch, i))
        if not blocks:
            raise DataError(
                "the file holds column names and no data",
                source=self._source.name,
                line=1,
                remedy="Load a file with data in it, or say that its first line is data.",
            )
        return RawTable(
            layout,
            self._joined(blocks),
            {
                i: _text_column(np.concatenate(codes[i]), table.labels(), self._signs)
                for i, table in self._tables.items()
            },
            self._facts(reader),
            np.concatenate(lines),
            1 + reader.comment_lines if layout.header else None,
        )

    def _facts(self, reader: RecordReader) -> list[Fact]:
        layout = self._layout
        as_matrix = Layout(
            "matrix",
            layout.filename,
            encoding=layout.encoding,
            delimiter=layout.delimiter,
            header=layout.header,
            n_fields=layout.n_fields,
        )
        facts = reading_facts(reader, as_matrix)
        if layout.decimal == ",":
            facts.append(Fact("decimal_comma", 0, "Numbers are read with a decimal comma."))
        return facts

    def _joined(self, blocks: list[NDArray[np.float64]]) -> NDArray[np.float64]:
        n_rows = sum(len(block) for block in blocks)
        values = np.full((n_rows, self._layout.n_fields), np.nan)
        begin = 0
        whole = len(self._numeric) == self._layout.n_fields
        for block in blocks:
            rows = values[begin : begin + len(block)]
            if whole:
                rows[:] = block
            else:
                rows[:, self._numeric] = block
            begin += len(block)
        return values

    def _numbers(self, batch: RecordBatch) -> NDArray[np.float64]:
        """Return the batch's columns of numbers, shape (n_records, n_numeric)."""
        values, other = parse_numbers(batch, self._numeric, self._layout.decimal or ".")
        has_numbers = np.asarray((~other).any(axis=0))
        if other.any():
            self._check_missing(batch, other, has_numbers)
        self._seen |= has_numbers
        if len(self._codes):
            values[np.isin(values, self._codes)] = np.nan
        with np.errstate(invalid="ignore"):
            large = np.abs(values) > LARGEST
        if large.any():
            record, column = (int(side[0]) for side in np.nonzero(large))
            raise infinite(*self._cell(batch, record, column))
        return values

    def _check_missing(
        self, batch: RecordBatch, other: NDArray[np.bool_], has_numbers: NDArray[np.bool_]
    ) -> None:
        """Look at the fields that are no numbers: each different text once."""
        records, columns = np.nonzero(other)
        at = records * batch.n_fields + self._numeric[columns]
        fields = RecordBatch(batch.text, batch.starts[at], batch.ends[at], batch.lines[records], 1)
        table = LabelTable()
        codes = table.codes(fields, 0)
        wrong = np.array([text.lower() not in self._signs for text in table.labels()])[codes]
        if not wrong.any():
            return
        never = {int(i) for i in np.unique(columns[wrong]) if not (self._seen[i] or has_numbers[i])}
        if never:
            raise _TextFoundError({int(self._numeric[i]) for i in never})
        first = int(wrong.argmax())
        name, place, value = self._cell(batch, int(records[first]), int(columns[first]))
        if is_infinite(value):
            raise infinite(name, place, value)
        raise text_among_numbers(name, place, value, decimal=self._layout.decimal or ".")

    def _cell(self, batch: RecordBatch, record: int, column: int) -> tuple[str, dict[str, object], str]:
        at = int(self._numeric[column])
        place = {"source": self._source.name, "line": int(batch.lines[record]), "column": at + 1}
        return self._layout.column_names[at], place, batch.field(record, at)


def _text_column(codes: NDArray[np.int32], labels: list[str], signs: frozenset[str]) -> TextColumn:
    known = np.array([label.lower() not in signs for label in labels], dtype=np.bool_)
    place = np.where(known, np.cumsum(known) - 1, -1).astype(np.int32)
    return TextColumn(place[codes], [label for label, keep in zip(labels, known, strict=True) if keep])
