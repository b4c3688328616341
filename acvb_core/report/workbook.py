"""A run as one Excel workbook: a sheet for each of its tables, with what each contains on the first one."""

from __future__ import annotations

import io
import re
from typing import Any

import numpy as np
import pandas as pd

from acvb_core.core.errors import ParameterError
from acvb_core.engine.result import Result
from acvb_core.report.contents import Sheet, describe_convergence, describe_method, list_sheets, list_versions
from acvb_core.store.export import is_formula, round_digits
from acvb_core.views.conclusion import describe_run

#: Excel's own limits: columns of a sheet, and characters of a cell.
_MOST_COLUMNS, _MOST_CHARACTERS = 16_384, 32_767
#: Cells of a sheet: more take minutes to write and to open.
MOST_CELLS = 1_000_000
#: Characters that no cell can have.
_NOT_TEXT = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
#: Narrowest and widest column, in characters, and lines that decide on the width.
_NARROW, _WIDE, _LOOKED_AT = 8, 60, 100


def workbook_bytes(result: Result) -> bytes:
    """Return a run as an Excel workbook (xlsx).

    Its sheets are those of `list_sheets`, after one that says what the run found and what each sheet has. The heading
    of each sheet stays in sight. Text is text: no cell is a formula or a link. A long table is cut, and the first sheet
    says so.

    Raises ParameterError: XlsxWriter is not installed.
    """
    try:
        import xlsxwriter
    except ImportError:
        raise ParameterError(
            'XlsxWriter is not installed, which writes workbooks. Install it: pip install "acvb-core[excel]".'
        ) from None
    out = io.BytesIO()
    with xlsxwriter.Workbook(out, {"constant_memory": True}) as book:
        sheets = list_sheets(result)
        _write_first(book, result, sheets)
        writer = _Writer(book)
        for sheet in sheets:
            writer.write_sheet(sheet)
    return out.getvalue()


def _write_first(book: Any, result: Result, sheets: list[Sheet]) -> None:
    """Write the first sheet: what the run found, how, and what the other sheets have."""
    data = result.prepared.data
    facts = [
        ("Data", f"{data.name}: {data.size_text}"),
        ("Run", result.label),
        ("Result", describe_run(result)),
        ("Convergence", " ".join(describe_convergence(result))),
        ("Method", " ".join(describe_method(result))),
        ("Versions", list_versions()),
        ("Fingerprint of the data", result.prepared.fingerprint),
    ]
    page, bold = book.add_worksheet("About"), book.add_format({"bold": True, "valign": "top"})
    wrapped = book.add_format({"text_wrap": True, "valign": "top"})
    page.set_column(0, 0, 26)
    page.set_column(1, 1, 100)
    lines = [*facts, ("", ""), ("Sheet", "Contents")]
    lines += [(sheet.title, f"{sheet.about} {_describe_size(sheet.table)}") for sheet in sheets]
    for at, (name, text) in enumerate(lines):
        page.write_string(at, 0, name, bold)
        page.write_string(at, 1, _cut(text), wrapped)


def _describe_size(table: pd.DataFrame) -> str:
    rows, columns = _count_shown(table)
    text = f"{len(table):,} rows."
    if rows < len(table):
        text += f" The first {rows:,} are here; the CSV file has all."
    if columns < table.shape[1]:
        text += f" The first {columns:,} of {table.shape[1]:,} columns are here; the CSV file has all."
    return text


def _count_shown(table: pd.DataFrame) -> tuple[int, int]:
    """Return how many rows and columns of a table are written."""
    columns = min(table.shape[1], _MOST_COLUMNS)
    return min(len(table), MOST_CELLS // max(columns, 1)), columns


class _Writer:
    """The formats of a workbook, and the writing of tables in them."""

    def __init__(self, book: Any) -> None:
        self.book = book
        self.head = book.add_format({"bold": True, "bottom": 1})
        self.time = book.add_format({"num_format": "yyyy-mm-dd hh:mm:ss"})
        self.date = book.add_format({"num_format": "yyyy-mm-dd"})
        # As an apostrophe in front does in Excel: the text stays text when the cell is edited.
        self.text = book.add_format({"quote_prefix": True})

    def write_sheet(self, sheet: Sheet) -> None:
        """Write a table to a sheet of its own."""
        rows, columns = _count_shown(sheet.table)
        table, page = sheet.table.iloc[:rows, :columns], self.book.add_worksheet(sheet.title)
        exact = table.columns if sheet.exact is True else sheet.exact or ()
        cells = [_list_cells(table.iloc[:, at], name in exact) for at, name in enumerate(table.columns)]
        for at, (name, values) in enumerate(zip(table.columns, cells, strict=True)):
            page.set_column(at, at, _find_width(str(name), values))
        page.freeze_panes(1, 0)
        if rows and columns:
            page.autofilter(0, 0, rows, columns - 1)
        for at, name in enumerate(table.columns):
            page.write_string(0, at, _cut(name), self.head)
        for row, line in enumerate(zip(*cells, strict=True), start=1):
            for at, value in enumerate(line):
                self._write_cell(page, row, at, value)

    def _write_cell(self, page: Any, row: int, column: int, value: Any) -> None:
        if value is None:
            return
        if isinstance(value, bool):
            page.write_boolean(row, column, value)
        elif isinstance(value, int | float):
            page.write_number(row, column, value)
        elif isinstance(value, pd.Timestamp):
            page.write_datetime(row, column, value, self.date if value == value.normalize() else self.time)
        else:
            text = _cut(value)
            page.write_string(row, column, text, *((self.text,) if is_formula(text) else ()))


#: The first and the last moment that Excel can write.
_FIRST, _LAST = pd.Timestamp("1900-01-01"), pd.Timestamp("9999-12-31")
#: Whole numbers beyond are not exact in Excel, which has floating-point numbers alone.
_LARGEST = 10**15


def _list_cells(column: pd.Series, exact: bool) -> list[Any]:
    """Return the cells of a column as numbers, times and texts; None for a missing one."""
    if pd.api.types.is_float_dtype(column) and not exact:
        column = pd.Series(round_digits(column.to_numpy(dtype=np.float64, na_value=np.nan)))
    if pd.api.types.is_datetime64_any_dtype(column):
        return [_write_moment(value) for value in column]
    return [_plain_cell(value) for value in column.tolist()]


def _write_moment(value: Any) -> Any:
    if value is pd.NaT:
        return None
    return value if value.tzinfo is None and _FIRST <= value <= _LAST else str(value)


def _plain_cell(value: Any) -> Any:
    if value is None or value is pd.NA or value is pd.NaT or (isinstance(value, float) and np.isnan(value)):
        return None
    if isinstance(value, float):
        return value if np.isfinite(value) else str(value)
    if isinstance(value, bool) or (isinstance(value, int) and abs(value) < _LARGEST):
        return value
    return str(value)


def _find_width(name: str, values: list[Any]) -> float:
    """Return the width of a column in characters, by its name and its first cells."""
    shown = (
        f"{value:.6g}" if isinstance(value, float) else str(value) for value in values[:_LOOKED_AT] if value
    )
    return min(max(_NARROW, len(name) + 3, *(len(text) + 1 for text in shown)), _WIDE)


def _cut(text: object) -> str:
    """Return a text that a cell can have: without control characters and halves of characters, and not too long."""
    plain = _NOT_TEXT.sub("\ufffd", str(text))
    return plain if len(plain) <= _MOST_CHARACTERS else plain[: _MOST_CHARACTERS - 1] + "…"
