"""Load a table of numbers from what people have: delimited text, NumPy's files, arrays and frames."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
from scipy import sparse

from acvb_core.data.report import ReadReport
from acvb_core.data.sources.byte_source import ByteSource, FileLike
from acvb_core.data.sources.columns import column_position
from acvb_core.data.sources.records import BLOCK_BYTES
from acvb_core.data.table import Table
from acvb_core.data.tables.arrays import of_array, of_frame, read_npy, read_npz
from acvb_core.data.tables.categories import CategoryPolicy
from acvb_core.data.tables.layout import TableLayout, inspect_text
from acvb_core.data.tables.raw import RawTable
from acvb_core.data.tables.settle import (
    ConstantPolicy,
    ImageSize,
    TableOptions,
    checked_policy,
    image_size,
    settled,
)
from acvb_core.data.tables.text import Wanted, read_text
from acvb_core.errors import ParameterError

if TYPE_CHECKING:
    import pandas as pd

ColumnChoice = str | int
Header = Literal["auto"] | bool | None


@dataclass(frozen=True, eq=False)
class LoadedTable:
    """A table, what reading it found, and how the file was understood.

    Attributes
    ----------
    table : Table
    report : ReadReport
        Its facts "rows", "columns" and "missing" are always there.
    layout : TableLayout
    """

    table: Table
    report: ReadReport
    layout: TableLayout


@dataclass(frozen=True)
class _Choices:
    """The columns that the user named."""

    row_labels: ColumnChoice | Literal[False] | None
    label_column: ColumnChoice | None
    category_columns: tuple[ColumnChoice, ...]
    leave_out: tuple[ColumnChoice, ...]

    def positions(self, layout: TableLayout) -> dict[str, Any]:
        """Return them by position; DataError names one that is not there."""
        row = self.row_labels if self.row_labels is False else column_position(layout, self.row_labels)
        return {
            "row_column": row,
            "label_column": column_position(layout, self.label_column),
            "category_columns": _several(layout, self.category_columns),
            "left_out": _several(layout, self.leave_out),
        }


def inspect_table(
    source: FileLike,
    filename: str | None = None,
    *,
    header: Header = None,
    missing: Iterable[str] = (),
    encoding: str | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
) -> TableLayout:
    """Look at the head of a file and propose how to read it.

    The arguments are those of `load_table`.

    Raises
    ------
    DataError
        Nothing that is read: empty, binary, a foreign format, one column only.
    """
    with ByteSource(source, filename, accepts=("npy", "npz")) as opened:
        if opened.is_array or opened.is_zip:
            return TableLayout("npy" if opened.is_array else "npz", opened.name, opened.gzipped)
        signs = _signs(missing)
        return inspect_text(
            opened,
            encoding=encoding,
            delimiter=delimiter,
            decimal=decimal,
            header=_given(header),
            missing=signs,
        )


def load_table(
    source: FileLike | np.ndarray[Any, Any] | sparse.sparray | sparse.spmatrix | pd.DataFrame,
    *,
    filename: str | None = None,
    name: str | None = None,
    header: Header = None,
    row_labels: ColumnChoice | Literal[False] | None = None,
    label_column: ColumnChoice | None = None,
    missing: Iterable[str] = (),
    categories: CategoryPolicy = "refuse",
    category_columns: Iterable[ColumnChoice] = (),
    leave_out: Iterable[ColumnChoice] = (),
    constants: ConstantPolicy = "refuse",
    standardise: bool = True,
    image: ImageSize = None,
    encoding: str | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    block_bytes: int = BLOCK_BYTES,
) -> LoadedTable:
    r"""Read a table of numbers; gzip is recognised by itself.

    Read are delimited text, NumPy's .npy and .npz (one array of cells, two-dimensional or pictures, and beside it
    `rows`, `columns`, `labels` if there are), SciPy's sparse .npz, arrays, SciPy matrices and pandas frames. Nothing
    is dropped unless it is asked for, and the report tells what was.

    Parameters
    ----------
    source : path, bytes, binary file object, array (masked or sparse too) or DataFrame
    filename : str, optional
        The name the user knows the source by.
    name : str, optional
        Name of the table (default: the file's name without extensions).
    header : bool or "auto", optional
        Whether the first line holds names. None or "auto": guessed.
    row_labels : str, int or False, optional
        The column of the rows' names, by header name or 0-based position. None: the first column if it is text or
        its heading is blank (or "id", "name", …), and no two are the same. False: rows have no names.
    label_column : str or int, optional
        The column of a known group of each row, which the inference never sees.
    missing : iterable of str
        Signs for a missing cell (such as "-999") besides blank, NA, N/A, NaN, null, none, ?, - and a point.
    categories : "refuse", "one-hot" or "leave-out"
        What becomes of columns of text. Coded, each category is a column "name=category" of 0 and 1, missing where
        the category is. (Columns of yes / no or true / false are numbers in any case.)
    category_columns : iterable of str or int
        Columns whose numbers are categories too.
    leave_out : iterable of str or int
        Columns not to read.
    constants : "refuse" or "leave-out"
        What becomes of columns without two different values.
    standardise : bool
        Methods work on columns of mean 0 and standard deviation 1.
    image : "8x8" or (8, 8), optional
        The columns are the pixels of pictures of this height and width, row by row. Constant pixels that are left
        out are their background.
    encoding : str, optional
        Default: UTF-8, or UTF-16 / UTF-32 when a byte order mark says so.
    delimiter : str, optional
        One character; guessed among tab ; | , and, for columns of numbers, space.
    decimal : "." or ",", optional
        Guessed: a comma where it is not the delimiter, and stands in numbers none of which has a point.
    block_bytes : int
        Bytes read at a time.

    Raises
    ------
    DataError
        The source cannot be read as asked; the message names file, line, column, value and a remedy.
    ParameterError
        An argument makes no sense for any source.

    Examples
    --------
    >>> loaded = load_table(b"city,rain,sun\nBergen,2495,1187\nBari,588,2459\n", name="weather")
    >>> loaded.table.size_text, loaded.table.rows.tolist()
    ('2 rows × 2 columns', ['Bergen', 'Bari'])
    """
    checked_policy("categories", categories, CategoryPolicy)
    checked_policy("constants", constants, ConstantPolicy)
    size = image_size(image)
    signs = _signs(missing)
    choices = _Choices(row_labels, label_column, _listed(category_columns), _listed(leave_out))
    if isinstance(source, np.ndarray) or sparse.issparse(source) or hasattr(source, "iloc"):
        raw = _in_memory(source, filename or name or "table", signs)
        stem = raw.source
    else:
        with ByteSource(cast(FileLike, source), filename, accepts=("npy", "npz")) as opened:
            stem = opened.stem
            if opened.is_array or opened.is_zip:
                raw = read_npy(opened) if opened.is_array else read_npz(opened)
            else:
                layout = inspect_text(
                    opened,
                    encoding=encoding,
                    delimiter=delimiter,
                    decimal=decimal,
                    header=_given(header),
                    missing=signs,
                )
                wanted = _wanted(layout, choices, signs)
                raw = read_text(opened, layout, wanted, encoding=encoding, block_bytes=block_bytes)
    columns = choices.positions(raw.layout)
    for column in {columns["row_column"], columns["label_column"], *columns["category_columns"]}:
        if column is not None and column is not False:
            raw.keep_as_text(column)
    options = TableOptions(
        name=name or stem,
        categories=categories,
        constants=constants,
        standardise=standardise,
        image=size,
        **columns,
    )
    table, facts = settled(raw, options)
    return LoadedTable(table, ReadReport(raw.source, tuple(facts)), raw.layout)


def _in_memory(source: Any, name: str, signs: frozenset[str]) -> RawTable:
    return of_frame(source, name, signs) if hasattr(source, "iloc") else of_array(source, name)


def _wanted(layout: TableLayout, choices: _Choices, signs: frozenset[str]) -> Wanted:
    at = choices.positions(layout)
    row = layout.row_column if at["row_column"] is None else at["row_column"]
    texts = {column for column in (row, at["label_column"]) if column is not None and column is not False}
    return Wanted(frozenset(texts | at["category_columns"]), at["left_out"], signs)


def _several(layout: TableLayout, choices: tuple[ColumnChoice, ...]) -> frozenset[int]:
    found = [column_position(layout, choice) for choice in choices]
    return frozenset(column for column in found if column is not None)


def _listed(choices: Iterable[ColumnChoice]) -> tuple[ColumnChoice, ...]:
    return (choices,) if isinstance(choices, str | int) else tuple(choices)


def _given(header: Header) -> bool | None:
    if header not in (None, "auto", True, False):
        raise ParameterError(f"header is True, False or 'auto', not {header!r}.")
    return None if header in (None, "auto") else bool(header)


def _signs(missing: Iterable[str]) -> frozenset[str]:
    given = (missing,) if isinstance(missing, str) else missing
    return frozenset(str(sign).strip().lower() for sign in given)
