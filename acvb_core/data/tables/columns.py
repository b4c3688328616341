"""Columns of numbers and of texts, read from a delimited text in blocks or from a frame in batches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from acvb_core.data.report import Fact
from acvb_core.data.sources.byte_source import ByteSource
from acvb_core.data.sources.frames import FrameSource, open_records, reading_facts
from acvb_core.data.sources.records import BLOCK_BYTES, RecordBatch
from acvb_core.data.sources.values import LabelTable
from acvb_core.data.table import LARGEST
from acvb_core.data.tables.layout import MISSING, NUMBER, TableLayout, column_types, is_number, is_text
from acvb_core.data.tables.raw import RawTable, TextColumn, infinite_cell_error, text_cell_error
from acvb_core.errors import DataError

_INFINITE = {f"{sign}{word}" for sign in ("", "+", "-") for word in ("inf", "infinity")}
#: Missing cells as they are mostly written: a batch in which there are no others is read in one go.
_BLANKS = pa.array([*MISSING, *map(str.upper, MISSING), *map(str.capitalize, MISSING), "NaN"])


def read_columns(
    source: ByteSource | FrameSource,
    layout: TableLayout,
    *,
    texts: frozenset[int] = frozenset(),
    left_out: frozenset[int] = frozenset(),
    missing: frozenset[str] = frozenset(),
    encoding: str | None = None,
    block_bytes: int = BLOCK_BYTES,
) -> RawTable:
    """Read every column as numbers or as texts.

    Parameters
    ----------
    source : ByteSource or FrameSource
    layout : TableLayout
    texts, left_out : frozenset of int
        Columns to be kept as texts whatever they hold, beside columns of text; columns not to be looked at.
    missing : frozenset of str
        Further signs for a missing cell, in lower case.
    encoding, block_bytes
        Of a text, as for `load_table`.

    Raises
    ------
    DataError
        Text in a column of numbers, an infinite number, a record with more or fewer fields than the first, a column
        of times or of values that are neither numbers nor texts, no data.
    """
    typed = _find_typed(source, layout, texts | left_out)
    # A column whose head is blank may hold anything further down.
    blank = {i for i, kind in enumerate(layout.kinds) if kind == "missing"} - texts - left_out - typed
    texts |= blank | {i for i, kind in enumerate(layout.kinds) if kind == "text"}
    used = [i for i in range(layout.n_fields) if i not in left_out | typed]
    numeric = np.array([i for i in used if i not in texts], dtype=np.int64)
    numbers = _Numbers(layout, numeric, missing)
    tables = {i: LabelTable() for i in used if i in texts}
    codes: dict[int, list[NDArray[np.int32]]] = {i: [] for i in tables}
    blocks: list[NDArray[np.float64]] = []
    lines: list[NDArray[np.int64]] = []
    records = open_records(
        source,
        layout.delimiter,
        encoding=encoding,
        header=layout.header,
        block_bytes=block_bytes,
        n_fields=layout.n_fields,
        used=used,
    )
    for batch in records:
        blocks.append(numbers.read(batch))
        lines.append(batch.lines.copy())
        for i, table in tables.items():
            codes[i].append(table.codes(batch, i))
    if not blocks:
        raise DataError(
            "the file holds column names and no data",
            source=layout.filename,
            line=1,
            remedy="Load a file with data in it, or say that its first line is data.",
        )
    facts = reading_facts(records, layout)
    if layout.decimal == ",":
        facts.append(Fact("decimal_comma", 0, "Numbers are read with a decimal comma."))
    values = np.full((sum(map(len, blocks)), layout.n_fields), np.nan)
    begin = 0
    for block in blocks:
        values[begin : begin + len(block), numeric] = block
        begin += len(block)
    signs = MISSING | missing
    found = {i: TextColumn.build(np.concatenate(codes[i]), tables[i].labels(), signs) for i in tables}
    head = 1 + records.comment_lines if layout.header and isinstance(source, ByteSource) else None
    raw = RawTable(layout, values, found, facts, np.concatenate(lines), head)
    for i in blank:
        if all(is_number(text, layout.decimal or ".") for text in found[i].texts):
            raw.take_as_numbers(i)
            values[np.isin(values[:, i], numbers.codes), i] = np.nan
    if isinstance(source, FrameSource) and typed:
        _fill_typed(raw, source, sorted(typed), numbers.codes)
    return raw


class _Numbers:
    """The columns of numbers of a text, and those that a frame holds as texts."""

    def __init__(self, layout: TableLayout, columns: NDArray[np.int64], missing: frozenset[str]) -> None:
        self._layout = layout
        self._columns = columns
        self._decimal = layout.decimal or "."
        self._signs = MISSING | missing
        numbers = [sign.replace(",", ".") for sign in missing if is_number(sign, self._decimal)]
        self.codes = np.array(numbers, dtype=np.float64)  # that stand for a missing cell

    def read(self, batch: RecordBatch) -> NDArray[np.float64]:
        """Return the batch's columns of numbers, shape (n_records, n_columns)."""
        values, other = parse_numbers(batch, self._columns, self._decimal)
        if other.any():
            self._refuse_texts(batch, other)
        if len(self.codes):
            values = np.where(np.isin(values, self.codes), np.nan, values)
        large = np.abs(values) > LARGEST
        if large.any():
            raise infinite_cell_error(*self._cell(batch, *(int(side[0]) for side in np.nonzero(large))))
        return values

    def _refuse_texts(self, batch: RecordBatch, other: NDArray[np.bool_]) -> None:
        """Look at the fields that are no numbers, each different text once."""
        records, columns = np.nonzero(other)
        at = records * batch.n_fields + self._columns[columns]
        table = LabelTable()
        fields = RecordBatch(batch.text, batch.starts[at], batch.ends[at], batch.lines[records], 1)
        codes = table.codes(fields, 0)
        wrong = np.array([text.lower() not in self._signs for text in table.labels()])[codes]
        if not wrong.any():
            return
        first = int(wrong.argmax())
        name, place, value = self._cell(batch, int(records[first]), int(columns[first]))
        if value.strip().lower() in _INFINITE:
            raise infinite_cell_error(name, place, value)
        raise text_cell_error(name, place, value, self._decimal)

    def _cell(self, batch: RecordBatch, record: int, column: int) -> tuple[str, dict[str, Any], str]:
        at = int(self._columns[column])
        place = {"source": self._layout.filename, "line": int(batch.lines[record]), "column": at + 1}
        return self._layout.column_names[at], place, batch.field(record, at)


def parse_numbers(
    batch: RecordBatch, columns: NDArray[np.int64], decimal: str
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the numbers in some columns of a batch.

    Returns
    -------
    values : float64 array, shape (n_records, n_columns)
        The double next to the decimal number, as float() gives it; nan where a field is no number.
    other : bool array of that shape
        Where it is neither a number nor a common sign for missing ("inf", text, "n.A.").
    """
    shape, used = (batch.n_records, len(columns)), batch.n_records * batch.n_fields
    starts, ends = batch.starts[:used], batch.ends[:used]
    if (starts[1:] == ends[:-1]).all():  # a text: field follows field
        fields = _strings(batch.text, starts, ends)
        if shape[1] < batch.n_fields:
            at = np.arange(shape[0])[:, None] * batch.n_fields + columns
            fields = fields.take(pa.array(at.ravel()))
        values, other = _parse(fields, decimal)
        return values.reshape(shape), other.reshape(shape)
    values, other = np.empty(shape), np.empty(shape, dtype=np.bool_)
    for i, column in enumerate(columns):  # a frame: row follows row in each of its columns
        fields = _strings(batch.text, starts[column :: batch.n_fields], ends[column :: batch.n_fields])
        values[:, i], other[:, i] = _parse(fields, decimal)
    return values, other


def _strings(text: NDArray[np.uint8], starts: NDArray[np.int32], ends: NDArray[np.int32]) -> pa.Array:
    """Return fields of which each begins where the last one ends, as Arrow strings."""
    offsets = np.append(starts, ends[-1:])
    return pa.StringArray.from_buffers(len(starts), pa.py_buffer(offsets), pa.py_buffer(text))


def _parse(fields: pa.Array, decimal: str) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    blank = pc.is_in(fields, _BLANKS)
    if decimal == ".":
        try:
            values = _floats(pc.if_else(blank, None, fields))
        except pa.ArrowInvalid:
            pass
        else:  # Arrow takes inf and -nan for numbers too
            if (np.isfinite(values) | blank.to_numpy(zero_copy_only=False)).all():
                return values, np.zeros(len(values), dtype=np.bool_)
    number = pc.match_substring_regex(fields, f"^{NUMBER[decimal]}$")
    other = pc.invert(pc.or_(number, blank))
    fields = pc.if_else(number, fields, None)
    values = _floats(fields if decimal == "." else pc.replace_substring(fields, decimal, "."))
    return values, other.to_numpy(zero_copy_only=False)


def _floats(column: pa.Array) -> NDArray[np.float64]:
    """Return numbers, whatever their type, as doubles; NaN where one is missing."""
    return pc.cast(column, pa.float64(), safe=False).to_numpy(zero_copy_only=False)


def _find_typed(
    source: ByteSource | FrameSource, layout: TableLayout, apart: frozenset[int]
) -> frozenset[int]:
    """Return which columns of a frame hold numbers or true and false, and need no way through text.

    Raises
    ------
    DataError
        A column that is not `apart` holds times, or neither numbers nor texts.
    """
    if not isinstance(source, FrameSource):
        return frozenset()
    typed = set()
    for i, kind in enumerate(column_types(source)):
        times = pa.types.is_temporal(kind)
        if i in apart or is_text(kind):
            continue
        if not times and (pa.types.is_primitive(kind) or pa.types.is_decimal(kind) or pa.types.is_null(kind)):
            typed.add(i)
            continue
        raise DataError(
            f"the column {layout.column_names[i]!r} holds "
            + ("times" if times else f"values of the type {kind}"),
            source=layout.filename,
            column=i + 1,
            remedy="Turn it into numbers, or leave it out (leave_out).",
        )
    return frozenset(typed)


def _fill_typed(raw: RawTable, source: FrameSource, columns: list[int], codes: NDArray[np.float64]) -> None:
    """Write the columns of a frame that hold numbers into `raw`; those among `codes` are missing."""
    begin = 0
    for batch in source.frame.batches():
        rows = slice(begin, begin + batch.num_rows)
        for i in columns:
            column = batch.column(i)
            if pa.types.is_dictionary(column.type):
                column = column.dictionary_decode()
            values = _floats(column)
            raw.values[rows, i] = np.where(np.isin(values, codes), np.nan, values) if len(codes) else values
        begin += batch.num_rows
    raw.refuse_infinite()
