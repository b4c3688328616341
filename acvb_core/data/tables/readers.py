"""Load a table of numbers from what people have: files, arrays, frames, AnnData."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from scipy import sparse

from acvb_core.data.report import ReadReport
from acvb_core.data.sources.byte_source import ByteSource
from acvb_core.data.sources.frames import FrameChoices, open_source
from acvb_core.data.sources.objects import is_frame
from acvb_core.data.sources.records import BLOCK_BYTES
from acvb_core.data.table import Table
from acvb_core.data.tables.build import build_table, take_numbers
from acvb_core.data.tables.columns import read_columns
from acvb_core.data.tables.image import ImageSize, parse_image_size
from acvb_core.data.tables.layout import (
    CategoryPolicy,
    ColumnChoice,
    ConstantPolicy,
    TableLayout,
    TableOptions,
    inspect_columns,
)
from acvb_core.data.tables.raw import RawTable, read_array, read_numpy
from acvb_core.errors import DataError, ParameterError

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


def inspect_table(
    source: Any,
    filename: str | None = None,
    *,
    header: Header = None,
    missing: Iterable[str] = (),
    encoding: str | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    sheet: str | int | None = None,
    table: str | None = None,
    query: str | None = None,
) -> TableLayout:
    """Look at the head of a file or a frame and propose how to read it.

    The arguments are those of `load_table`.

    Raises
    ------
    DataError
        Nothing that is read: empty, binary, a foreign format, one column only.
    """
    looking = _looking(encoding, delimiter, decimal, header, missing)
    choices = FrameChoices(sheet, table, query)
    with open_source(source, filename, kind="table", choices=choices) as opened:
        if opened.is_array or opened.is_zip:
            return TableLayout("npy" if opened.is_array else "npz", opened.name, opened.gzipped)
        return inspect_columns(opened, **looking)


def load_table(
    source: Any,
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
    sheet: str | int | None = None,
    table: str | None = None,
    query: str | None = None,
    block_bytes: int = BLOCK_BYTES,
) -> LoadedTable:
    r"""Read a table of numbers; gzip is recognised by itself.

    Read are delimited text, Parquet, Arrow, Feather, Excel, ODS, JSON Lines, SQLite, NumPy's .npy and .npz (one array
    of cells, two-dimensional or pictures, and beside it `rows`, `columns`, `labels` if there are) and SciPy's sparse
    .npz; in memory arrays, SciPy matrices, AnnData, and frames of pandas, polars, pyarrow, duckdb or another library
    with the Arrow or the dataframe protocol. Nothing is dropped unless it is asked for, and the report tells what was.

    Parameters
    ----------
    source : path, bytes, file object, array (masked or sparse too), frame or AnnData
        An index of pandas that is more than a numbering names the rows. Of an AnnData, `X` holds the cells.
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
        The column of a known group of each row, which the inference never sees; of an AnnData, one of `obs`.
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
    sheet : str or int, optional
        Of a workbook: the sheet, by name or by 0-based position (default: the first with data).
    table, query : str, optional
        Of a database: the name of the table, or a SELECT that only reads (default: its only table).
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
    for policy, given, allowed in (
        ("categories", categories, CategoryPolicy),
        ("constants", constants, ConstantPolicy),
    ):
        if given not in get_args(allowed):
            known = ", ".join(map(repr, get_args(allowed)))
            raise ParameterError(f"{policy} is one of {known}, not {given!r}.")
    options = TableOptions(
        name or "", row_labels, label_column, _listed(category_columns), _listed(leave_out), categories, constants,
        standardise, parse_image_size(image), _looking(encoding, delimiter, decimal, header, missing),
        FrameChoices(sheet, table, query), block_bytes,
    )  # fmt: skip
    called = filename or name or "table"
    if is_annotated(source):
        raw, options = read_annotated(source, called, options)
    elif isinstance(source, np.ndarray) or sparse.issparse(source):
        raw = read_array(source, called)
    else:
        return _load(source, called if is_frame(source) else filename, options)
    return _finish(raw, options)


def _load(source: Any, filename: str | None, options: TableOptions) -> LoadedTable:
    """Load a file or a frame; what is wrong with it is told while it is open, which knows its rows and columns."""
    source, rows = _split_index(source)
    with open_source(source, filename, kind="table", choices=options.parts) as opened:
        options = options._replace(name=options.name or opened.stem)
        if isinstance(opened, ByteSource) and (opened.is_array or opened.is_zip):
            return _finish(read_numpy(opened), options)
        layout = inspect_columns(opened, **options.looking)
        roles = options.find_roles(layout)
        guessed = layout.row_column if roles.row_column is None and rows is None else None
        raw = read_columns(
            opened,
            layout,
            texts=roles.texts if guessed is None else roles.texts | {guessed},
            left_out=roles.left_out,
            missing=options.looking["missing"],
            encoding=options.looking["encoding"],
            block_bytes=options.block_bytes,
        )
        raw.rows = rows
        return _finish(raw, options)


def _finish(raw: RawTable, options: TableOptions) -> LoadedTable:
    table, facts = build_table(raw, options)
    return LoadedTable(table, ReadReport(raw.source, tuple(facts)), raw.layout)


def _split_index(source: Any) -> tuple[Any, list[str] | None]:
    """Return a pandas frame without its index, and the index where it is more than a numbering."""
    if not (hasattr(source, "iloc") and hasattr(source, "reset_index")):
        return source, None
    named = type(source.index).__name__ != "RangeIndex"
    # With names that are texts, no numbering of the rows can be taken for that of the columns.
    frame = source.reset_index(drop=True).set_axis([str(name) for name in source.columns], axis=1)
    return frame, [str(row) for row in source.index] if named else None


def read_frame(frame: Any, name: str) -> RawTable:
    """Return the columns of a frame of numbers; an index that is more than a numbering names the rows.

    Raises
    ------
    DataError
        A column holds texts, times or other values that are no numbers.
    """
    frame, rows = _split_index(frame)
    with open_source(frame, name) as opened:
        layout = inspect_columns(opened)
        raw = read_columns(opened, layout)
        raw.rows = rows
        for column in sorted(raw.texts):
            take_numbers(raw, column)
        if raw.texts:
            raise DataError(
                "there is text in a table of numbers",
                **raw.place(None, min(raw.texts)),
                remedy="Leave the column out, or read the frame with load_table, which takes names and categories.",
            )
    return raw


def is_annotated(source: Any) -> bool:
    """Whether an object is an AnnData, or has what one has."""
    return all(hasattr(source, name) for name in ("X", "obs", "obs_names", "var_names"))


def read_annotated(source: Any, name: str, options: TableOptions) -> tuple[RawTable, TableOptions]:
    """Return the cells of an AnnData, and the options that are left: a label column of `obs` is read here.

    Raises
    ------
    DataError
        As `read_array`; or it has no `X`.
    """
    cells = source.X.to_memory() if hasattr(source.X, "to_memory") else source.X
    if cells is None:
        raise DataError("this AnnData has no X", source=name, remedy="Give it a matrix X of numbers.")
    labels = None
    if isinstance(options.label_column, str) and options.label_column in source.obs:
        column = source.obs[options.label_column]
        labels = ["" if missing else str(label) for label, missing in zip(column, column.isna(), strict=True)]
        options = options._replace(label_column=None)
    raw = read_array(
        cells, name, kind="AnnData", rows=source.obs_names, columns=source.var_names, labels=labels
    )
    return raw, options


def _listed(choices: Iterable[ColumnChoice]) -> tuple[ColumnChoice, ...]:
    return (choices,) if isinstance(choices, str | int) else tuple(choices)


def _looking(
    encoding: str | None, delimiter: str | None, decimal: str | None, header: Header, missing: Iterable[str]
) -> dict[str, Any]:
    """Return the arguments of `inspect_columns`."""
    if header not in (None, "auto", True, False):
        raise ParameterError(f"header is True, False or 'auto', not {header!r}.")
    signs = (missing,) if isinstance(missing, str) else missing
    return {
        "encoding": encoding,
        "delimiter": delimiter,
        "decimal": decimal,
        "header": None if header in (None, "auto") else bool(header),
        "missing": frozenset(str(sign).strip().lower() for sign in signs),
    }
