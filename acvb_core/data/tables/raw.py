"""What stands in a file or array of numbers, before it is decided what each column is for."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acvb_core.data.report import Fact
from acvb_core.data.table import LARGEST
from acvb_core.data.tables.layout import TableLayout
from acvb_core.errors import DataError

#: What is a number to people, but has separators of thousands, or a sign of per cent or of a currency.
_DRESSED = re.compile(r"[+-]?[$€£¥]?\s*[+-]?\d[\d.,'’\s]*[%$€£¥]?")
UNDRESSED = "Write numbers without thousands separators and units."


@dataclass(frozen=True, eq=False)
class TextColumn:
    """A column whose fields are kept as texts.

    Attributes
    ----------
    codes : int32 array, shape (n_rows,)
        Position of each row's text in `texts`, -1 where it is missing.
    texts : list of str
        Different texts, in the order in which they first stand in the column.
    """

    codes: NDArray[np.int32]
    texts: list[str]

    def strings(self) -> list[str]:
        """Return each row's text, "" where it is missing."""
        return np.array([*self.texts, ""], dtype=object)[self.codes].tolist()


@dataclass(eq=False)
class RawTable:
    """Columns as they were read.

    Attributes
    ----------
    layout : TableLayout
        Its `column_names` name every column.
    values : float64 array, shape (n_rows, n_columns)
        NaN where a cell is missing, and in columns of text.
    texts : dict of int to TextColumn
        By position.
    facts : list of Fact
        What reading found.
    lines : int64 array, shape (n_rows,), or None
        The line each row starts on; None where it is no text.
    header_line : int or None
    rows, labels : list of str, or None
        Names and groups that stand beside the columns (an index, further arrays).
    size : (int, int) or None
        Height and width, where rows are pictures.
    """

    layout: TableLayout
    values: NDArray[np.float64]
    texts: dict[int, TextColumn] = field(default_factory=dict)
    facts: list[Fact] = field(default_factory=list)
    lines: NDArray[np.int64] | None = None
    header_line: int | None = None
    rows: list[str] | None = None
    labels: list[str] | None = None
    size: tuple[int, int] | None = None

    @property
    def source(self) -> str:
        """What the user calls the source."""
        return self.layout.filename

    def keep_as_text(self, column: int) -> None:
        """Make a column of numbers one of texts; whole numbers lose their point."""
        if column in self.texts:
            return
        numbers = self.values[:, column]
        different, codes = np.unique(numbers[~np.isnan(numbers)], return_inverse=True)
        found = np.full(len(numbers), -1, dtype=np.int32)
        found[~np.isnan(numbers)] = codes
        texts = [str(int(n)) if n == np.floor(n) and abs(n) < 2**53 else str(n) for n in different.tolist()]
        self.texts[column] = TextColumn(found, texts)

    def take_as_numbers(self, column: int) -> None:
        """Make a column of texts that all are numbers one of numbers."""
        held = self.texts.pop(column)
        mark = self.layout.decimal or "."
        numbers = [float(text.replace(mark, ".")) for text in held.texts]
        self.values[:, column] = np.array([*numbers, np.nan])[held.codes]
        large = np.abs(numbers) > LARGEST if numbers else np.zeros(0, dtype=np.bool_)
        if large.any():
            code = int(large.argmax())
            place = self.place(int((held.codes == code).argmax()), column)
            raise infinite(self.layout.column_names[column], place, held.texts[code])

    def place(self, row: int | None, column: int | None) -> dict[str, Any]:
        """Return where a cell stands (`row` None: the header), for an error."""
        line = self.header_line if row is None else None if self.lines is None else int(self.lines[row])
        return {"source": self.source, "line": line, "column": None if column is None else column + 1}


def dressed_number(text: str) -> bool:
    """Whether people read a number where a file says 1,250.00, 12 % or $5."""
    return _DRESSED.fullmatch(text.strip()) is not None


def text_among_numbers(column: str, place: dict[str, Any], value: str, *, decimal: str = ".") -> DataError:
    """Return the error for a cell of text in a column of numbers."""
    correct = f"{UNDRESSED} Otherwise correct" if dressed_number(value) else "Correct"
    comma = "," in value and decimal == "." and value.replace(",", "").strip("+-").isdigit()
    return DataError(
        f"there is text among the numbers of the column {column!r}",
        **place,
        value=value,
        remedy=(
            "Say that the file has a decimal comma (decimal=','), or write a decimal point."
            if comma
            else f"{correct} the cell, say that this stands for a missing one (missing), take the column as "
            "categories (category_columns), or leave it out (leave_out)."
        ),
    )


def infinite(column: str, place: dict[str, Any], value: str, row: int | None = None) -> DataError:
    """Return the error for a cell whose number is too large; of an array, in its row (from 0)."""
    where = "" if row is None else f" (row {row + 1:,})"
    blank = "leave it blank: blank cells are" if row is None else "make it NaN, which is"
    return DataError(
        f"a number of the column {column!r}{where} is infinite or above 1e+100",
        **place,
        value=value,
        remedy=f"Correct the cell, or {blank} missing.",
    )
