"""What stands in the columns of a table, before it is decided what each is for; arrays as such columns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from acvb_core.data.report import Fact, plural
from acvb_core.data.sources.byte_source import ByteSource
from acvb_core.data.sources.objects import is_sparse, load_npy, load_npz, load_sparse, to_array, to_dense
from acvb_core.data.table import LARGEST
from acvb_core.data.tables.image import pixel_names
from acvb_core.data.tables.layout import TableLayout
from acvb_core.errors import DataError

#: What is a number to people, but has separators of thousands, or a sign of per cent or of a currency.
_DRESSED = re.compile(r"[+-]?[$€£¥]?\s*[+-]?\d[\d.,'’\s]*[%$€£¥]?")
UNDRESSED = "Write numbers without thousands separators and units."
#: Arrays of an npz file that are no cells.
_BESIDE = {"rows", "columns", "labels"}


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

    @classmethod
    def build(cls, codes: NDArray[Any], texts: Sequence[str], signs: frozenset[str]) -> TextColumn:
        """Return a column of the different `texts`; those among `signs`, and codes of -1, are missing."""
        stripped = [text.strip() for text in texts]
        kept = list(dict.fromkeys(text for text in stripped if text.lower() not in signs))
        place = {text: i for i, text in enumerate(kept)}
        at = np.array([*(place.get(text, -1) for text in stripped), -1], dtype=np.int32)
        return cls(at[codes], kept)

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
        """Make a column of texts that all are numbers one of numbers.

        Raises
        ------
        DataError
            One of them is too large.
        """
        held = self.texts.pop(column)
        mark = self.layout.decimal or "."
        numbers = [float(text.replace(mark, ".")) for text in held.texts]
        self.values[:, column] = np.array([*numbers, np.nan])[held.codes]
        large = next((code for code, number in enumerate(numbers) if abs(number) > LARGEST), None)
        if large is not None:
            raise self._infinite(int((held.codes == large).argmax()), column, held.texts[large])

    def refuse_infinite(self) -> None:
        """Raise DataError where a number is too large."""
        lowest, highest = np.fmin.reduce(self.values, axis=0), np.fmax.reduce(self.values, axis=0)
        wrong = (highest > LARGEST) | (lowest < -LARGEST)
        if wrong.any():
            column = int(wrong.argmax())
            row = int((np.abs(self.values[:, column]) > LARGEST).argmax())
            raise self._infinite(row, column, str(self.values[row, column]))

    def _infinite(self, row: int, column: int, value: str) -> DataError:
        name = self.layout.column_names[column]
        return infinite_cell_error(
            name, self.place(row, column), value, row + 1 if self.lines is None else None
        )

    def place(self, row: int | None, column: int | None) -> dict[str, Any]:
        """Return where a cell stands (`row` None: the header), for an error."""
        line = self.header_line if row is None else None if self.lines is None else int(self.lines[row])
        return {"source": self.source, "line": line, "column": None if column is None else column + 1}


def is_dressed_number(text: str) -> bool:
    """Whether people read a number where a file says 1,250.00, 12 % or $5."""
    return _DRESSED.fullmatch(text.strip()) is not None


def text_cell_error(column: str, place: dict[str, Any], value: str, decimal: str = ".") -> DataError:
    """Return the error for a cell of text in a column of numbers."""
    correct = f"{UNDRESSED} Otherwise correct" if is_dressed_number(value) else "Correct"
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


def infinite_cell_error(column: str, place: dict[str, Any], value: str, row: int | None = None) -> DataError:
    """Return the error for a cell whose number is too large; without lines, in its row (from 1)."""
    where = "" if row is None else f" (row {row:,})"
    blank = "leave it blank: blank cells are" if row is None else "make it NaN, which is"
    return DataError(
        f"a number of the column {column!r}{where} is infinite or above 1e+100",
        **place,
        value=value,
        remedy=f"Correct the cell, or {blank} missing.",
    )


def read_numpy(source: ByteSource) -> RawTable:
    """Read an npy or npz file; nothing in it is ever run (no pickle).

    Of an npz file, one array holds the cells; names of `rows` and `columns` and the rows' `labels` may stand beside it.
    An array of three dimensions is pictures: one a row. Files of `scipy.sparse.save_npz` are understood too; what
    they do not store is 0.

    Raises
    ------
    DataError
        The file is damaged, holds no numbers in rows and columns, or several arrays or none.
    """
    if source.is_array:
        return read_array(load_npy(source), source.name, kind="npy", gzipped=source.gzipped)
    if is_sparse(source.zip_names()):
        return read_array(load_sparse(source), source.name, kind="sparse npz", gzipped=source.gzipped)
    arrays = load_npz(source)
    cells = sorted(arrays.keys() - _BESIDE)
    if len(cells) != 1:
        raise DataError(
            f"this .npz holds {', '.join(sorted(arrays)[:5])}: {len(cells):,} arrays that may be the cells",
            source=source.name,
            remedy="Save one array of cells, and beside it rows, columns and labels if you have them.",
        )
    beside = {name: arrays.get(name) for name in _BESIDE}
    return read_array(arrays[cells[0]], source.name, kind="npz", gzipped=source.gzipped, **beside)


def read_array(
    array: Any,
    name: str,
    *,
    kind: str = "array",
    gzipped: bool = False,
    rows: Any = None,
    columns: Any = None,
    labels: Any = None,
) -> RawTable:
    """Return an array of numbers, two-dimensional (perhaps sparse) or pictures (three-dimensional), as a table.

    Masked cells are missing; what a sparse matrix does not store is 0.

    Raises
    ------
    DataError
        Other dimensions, another type, an infinite number, names for more or fewer columns than there are, a broken
        or nearly empty sparse matrix.
    """
    given = to_dense(array, name) if sparse.issparse(array) else to_array(array, name)
    size = None
    if given.ndim == 3:
        size = int(given.shape[1]), int(given.shape[2])
        given = given.reshape(len(given), -1)
    if given.ndim != 2 or 0 in given.shape or given.dtype.kind not in "biuf":
        raise DataError(
            f"the array has the shape {np.shape(array)} and the type {given.dtype}",
            source=name,
            remedy="Give real numbers in two dimensions, or pictures in three (picture, row, column).",
        )
    n_rows, n_columns = given.shape
    names = _texts(columns)
    if names is None:
        names = [f"x{i + 1}" for i in range(n_columns)] if size is None else pixel_names(*size)
    row_names, groups = _texts(rows), _texts(labels)
    for what, texts, number, side in (
        ("names", names, n_columns, "column"),
        ("row names", row_names, n_rows, "row"),
        ("labels", groups, n_rows, "row"),
    ):
        if texts is not None and len(texts) != number:
            raise DataError(
                f"{len(texts):,} {what} were given for {number:,} {side}s",
                source=name,
                remedy=f"Give one for each {side}.",
            )
    layout = TableLayout(
        kind,
        name,
        gzipped,
        header=columns is not None,
        column_names=tuple(names),
        kinds=("numbers",) * n_columns,
        n_fields=n_columns,
    )
    what = plural(n_columns, "column") if size is None else f"pictures of {size[0]:,} x {size[1]:,} pixels"
    facts = [Fact("array", n_rows, f"Read an array of {plural(n_rows, 'row')}: {what}.")]
    cells = given.astype(np.float64, order="C")
    raw = RawTable(layout, cells, facts=facts, rows=row_names, labels=groups, size=size)
    raw.refuse_infinite()
    return raw


def _texts(names: Any) -> list[str] | None:
    return None if names is None else [str(name) for name in np.asarray(names).ravel()]
