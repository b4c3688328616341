"""Arrays as tables: NumPy's files, sparse matrices, arrays in memory and pandas' frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from acvb_core.data.report import Fact, plural
from acvb_core.data.sources.array_files import is_sparse, load_npy, load_npz, load_sparse
from acvb_core.data.sources.byte_source import ByteSource
from acvb_core.data.sources.matrix_checks import to_array, to_dense
from acvb_core.data.table import LARGEST
from acvb_core.data.tables.layout import MISSING, TableLayout, is_number
from acvb_core.data.tables.raw import RawTable, TextColumn, infinite, text_among_numbers
from acvb_core.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

#: Arrays of an npz file that are no cells.
_BESIDE = ("rows", "columns", "labels")


def read_npy(source: ByteSource) -> RawTable:
    """Read a NumPy array; nothing in it is ever run (no pickle).

    Raises
    ------
    DataError
        It is damaged, or holds no numbers in rows and columns.
    """
    return of_array(load_npy(source), source.name, kind="npy", gzipped=source.gzipped)


def read_npz(source: ByteSource) -> RawTable:
    """Read an npz file: one array of cells and, if there are, names of `rows` and `columns` and the rows' `labels`.

    An array of three dimensions is pictures: one a row. Files of `scipy.sparse.save_npz` are understood too; what
    they do not store is 0.

    Raises
    ------
    DataError
        It is damaged, or holds several arrays or none.
    """
    if is_sparse(source.zip_names()):
        return of_array(load_sparse(source), source.name, kind="sparse npz", gzipped=source.gzipped)
    arrays = load_npz(source)
    names = sorted(arrays)
    cells = [name for name in names if name not in _BESIDE]
    if len(cells) != 1:
        raise DataError(
            f"this .npz holds {', '.join(names[:5])}: {len(cells):,} arrays that may be the cells",
            source=source.name,
            remedy="Save one array of cells, and beside it rows, columns and labels if you have them.",
        )
    beside = {name: arrays.get(name) for name in _BESIDE}
    return of_array(arrays[cells[0]], source.name, kind="npz", gzipped=source.gzipped, **beside)


def of_array(
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
    values = given.astype(np.float64, order="C")
    names = _names(columns, values.shape[1], size)
    if len(names) != values.shape[1]:
        raise DataError(
            f"{len(names):,} names were given for {values.shape[1]:,} columns",
            source=name,
            remedy="Give one name for each column.",
        )
    layout = TableLayout(
        kind,
        name,
        gzipped,
        header=columns is not None,
        column_names=tuple(names),
        kinds=("numbers",) * len(names),
        n_fields=len(names),
    )
    what = plural(len(names), "column") if size is None else f"pictures of {size[0]:,} x {size[1]:,} pixels"
    told = f"Read an array of {plural(len(values), 'row')}: {what}."
    raw = RawTable(layout, values, facts=[Fact("array", len(values), told)], size=size)
    raw.rows = None if rows is None else [str(row) for row in np.asarray(rows).ravel()]
    raw.labels = None if labels is None else [str(label) for label in np.asarray(labels).ravel()]
    for what, beside in (("row names", raw.rows), ("labels", raw.labels)):
        if beside is not None and len(beside) != len(values):
            raise DataError(
                f"{len(beside):,} {what} were given for {len(values):,} rows",
                source=name,
                remedy="Give one for each row.",
            )
    _refuse_infinite(raw)
    return raw


def of_frame(frame: pd.DataFrame, name: str, missing: frozenset[str] = frozenset()) -> RawTable:
    """Return a pandas frame as a table; an index that is more than a numbering names the rows.

    Raises
    ------
    DataError
        A column of times, text in a column of numbers, an infinite number, no rows or columns.
    """
    import pandas as pd

    if not frame.size:
        raise DataError(
            f"the frame has {len(frame):,} rows and {frame.shape[1]:,} columns",
            source=name,
            remedy="Give at least one row and one column.",
        )
    names = tuple(str(column) for column in frame.columns)
    values = np.full(frame.shape, np.nan)
    texts: dict[int, TextColumn] = {}
    for i in range(frame.shape[1]):
        column = frame.iloc[:, i]
        if pd.api.types.is_datetime64_any_dtype(column) or pd.api.types.is_timedelta64_dtype(column):
            raise DataError(
                f"the column {names[i]!r} holds times",
                source=name,
                column=i + 1,
                remedy="Turn it into numbers, or leave it out (leave_out).",
            )
        if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_complex_dtype(column):
            values[:, i] = column.to_numpy(dtype=np.float64, na_value=np.nan)
        else:
            found = _column_of_objects(column, names[i], {"source": name, "column": i + 1}, MISSING | missing)
            if isinstance(found, TextColumn):
                texts[i] = found
            else:
                values[:, i] = found
    kinds = tuple("text" if i in texts else "numbers" for i in range(len(names)))
    layout = TableLayout(
        "frame",
        name,
        header=True,
        column_names=names,
        kinds=kinds,
        n_fields=len(names),
        row_column=0 if 0 in texts else None,
    )
    told = f"Read a frame of {plural(len(frame), 'row')}: {plural(len(names), 'column')}."
    raw = RawTable(layout, values, texts, [Fact("array", len(frame), told)])
    if not isinstance(frame.index, pd.RangeIndex):
        raw.rows = [str(row) for row in frame.index]
    _refuse_infinite(raw)
    return raw


def _column_of_objects(
    column: pd.Series[Any], name: str, place: dict[str, Any], signs: frozenset[str]
) -> TextColumn | NDArray[np.float64]:
    """Return a column of texts, or the numbers of one that holds nothing else."""
    import pandas as pd

    entries = ["" if blank else value for value, blank in zip(column, pd.isna(column), strict=True)]
    fields = ["" if str(entry).strip().lower() in signs else str(entry).strip() for entry in entries]
    numbers = [isinstance(e, int | float) or is_number(f) for e, f in zip(entries, fields, strict=True) if f]
    if numbers and all(numbers):
        return np.array([float(field) if field else np.nan for field in fields])
    if any(numbers) and sum(numbers) * 2 > len(numbers):
        wrong = next(field for field in fields if field and not is_number(field))
        raise text_among_numbers(name, place, wrong)
    texts = list(dict.fromkeys(field for field in fields if field))
    at = {text: i for i, text in enumerate(texts)} | {"": -1}
    return TextColumn(np.array([at[field] for field in fields], dtype=np.int32), texts)


def _names(columns: Any, n_columns: int, size: tuple[int, int] | None) -> list[str]:
    if columns is not None:
        return [str(column) for column in np.asarray(columns).ravel()]
    if size is not None:
        return pixel_names(*size)
    return [f"x{i + 1}" for i in range(n_columns)]


def pixel_names(height: int, width: int) -> list[str]:
    """Return names of a picture's pixels, row by row: "r1c1", "r1c2", …"""
    return [f"r{row + 1}c{column + 1}" for row in range(height) for column in range(width)]


def _refuse_infinite(raw: RawTable) -> None:
    lowest, highest = np.fmin.reduce(raw.values, axis=0), np.fmax.reduce(raw.values, axis=0)
    wrong = (highest > LARGEST) | (lowest < -LARGEST)
    if wrong.any():
        column = int(wrong.argmax())
        row = int(np.nanargmax(np.abs(raw.values[:, column])))
        where = {"source": raw.source, "line": None, "column": column + 1}
        raise infinite(raw.layout.column_names[column], where, str(raw.values[row, column]), row)
