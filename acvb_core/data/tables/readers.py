"""Load a table of numbers from what people have: files, arrays, frames, AnnData."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
from scipy import sparse

from acvb_core.core.errors import DataError
from acvb_core.data.names import is_numbering
from acvb_core.data.report import plural
from acvb_core.data.sources.array_files import is_sparse, load_npy, load_npz, load_sparse
from acvb_core.data.sources.byte_source import ByteSource
from acvb_core.data.sources.objects import is_frame, refuse_graph
from acvb_core.data.sources.opening import open_source
from acvb_core.data.table import copy_numbers
from acvb_core.data.tables.build import LoadedTable, build_table
from acvb_core.data.tables.columns import RawTable, read_columns
from acvb_core.data.tables.image import pixel_names
from acvb_core.data.tables.layout import TableLayout, TableOptions, inspect_columns

#: Arrays of an npz file that are no cells.
_BESIDE = ("rows", "columns", "labels")

#: Names of the options of this reader.
OPTIONS = frozenset({field.name for field in fields(TableOptions)} | {"filename"})


def inspect_table(source: Any, filename: str | None = None, **options: Any) -> TableLayout:
    """Look at the head of a file or a frame and propose how to read it; the options are those of `load_table`."""
    asked = TableOptions(**options)
    with open_source(source, filename, kind="table", choices=asked.part) as opened:
        if opened.is_array or opened.is_zip:
            return TableLayout("npy" if opened.is_array else "npz", opened.name, opened.gzipped)
        return inspect_columns(opened, asked)


def load_table(source: Any, *, filename: str | None = None, **options: Any) -> LoadedTable:
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
        Of a workbook: the sheet, by name or by 0-based position (default: the visible one with most rows).
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
    asked = TableOptions(**options)
    called = filename or asked.name or "table"
    refuse_graph(source, "table of numbers")
    if all(hasattr(source, part) for part in ("X", "obs", "obs_names", "var_names")):
        return build_table(_read_annotated(source, called, asked))
    if isinstance(source, np.ndarray) or sparse.issparse(source):
        return build_table(_read_array(source, called, asked))
    frame, rows = _split_index(source)
    # What is wrong is told while the source is open, which knows its rows and columns.
    filename = called if is_frame(source) else filename
    with open_source(frame, filename, kind="table", choices=asked.part) as opened:
        asked = replace(asked, name=asked.name or opened.stem)
        if isinstance(opened, ByteSource) and (opened.is_array or opened.is_zip):
            return build_table(_read_numpy(opened, asked))
        return build_table(read_columns(opened, asked, rows))


def read_frame(frame: Any, name: str) -> RawTable:
    """Return the columns of a frame of numbers; an index that is more than a numbering names the rows."""
    frame, rows = _split_index(frame)
    with open_source(frame, name) as opened:
        raw = read_columns(opened, TableOptions(row_labels=False), rows)
        for column in sorted(raw.texts):
            raw.take_numbers(column)
        if raw.texts:
            place = raw.place(None, min(raw.texts))
            remedy = (
                "Leave the column out, or read the frame with load_table, which takes names and categories."
            )
            raise DataError("there is text in a table of numbers", **place, remedy=remedy)
    return raw


def _split_index(source: Any) -> tuple[Any, list[str] | None]:
    """Return a pandas frame without its index, and the index where it is more than a numbering."""
    if not (hasattr(source, "iloc") and hasattr(source, "reset_index")):
        return source, None
    # With names that are texts, no numbering of the rows can be taken for that of the columns.
    frame = source.reset_index(drop=True).set_axis([str(name) for name in source.columns], axis=1)
    return frame, None if is_numbering(source.index) else [str(row) for row in source.index]


def _read_annotated(source: Any, name: str, options: TableOptions) -> RawTable:
    """Return the cells of an AnnData; a label column of its `obs` is read here."""
    cells = source.X.to_memory() if hasattr(source.X, "to_memory") else source.X
    if cells is None:
        raise DataError("this AnnData has no X", source=name, remedy="Give it a matrix X of numbers.")
    labels = None
    if isinstance(options.label_column, str) and options.label_column in source.obs:
        column = source.obs[options.label_column]
        labels = ["" if missing else str(label) for label, missing in zip(column, column.isna(), strict=True)]
        options = replace(options, label_column=None)
    beside = {"rows": source.obs_names, "columns": source.var_names, "labels": labels}
    return _read_array(cells, name, options, kind="AnnData", **beside)


def _read_numpy(source: ByteSource, options: TableOptions) -> RawTable:
    """Read an npy or npz file; nothing in it is ever run (no pickle)."""
    kind, beside = "npy", {}
    if source.is_array:
        cells = load_npy(source)
    elif is_sparse(source.zip_names()):
        kind, cells = "sparse npz", load_sparse(source)
    else:
        kind, arrays = "npz", load_npz(source)
        names = sorted(arrays.keys() - _BESIDE)
        if len(names) != 1:
            listed = ", ".join(sorted(arrays)[:5])
            what = f"this .npz holds {listed}: {len(names):,} arrays that may be the cells"
            remedy = "Save one array of cells, and beside it rows, columns and labels if you have them."
            raise DataError(what, source=source.name, remedy=remedy)
        cells, beside = arrays[names[0]], {name: arrays.get(name) for name in _BESIDE}
    return _read_array(cells, source.name, options, kind=kind, gzipped=source.gzipped, **beside)


def _read_array(
    array: Any,
    name: str,
    options: TableOptions,
    *,
    kind: str = "array",
    gzipped: bool = False,
    **beside: Any,
) -> RawTable:
    """Return an array of numbers, two-dimensional (perhaps sparse) or pictures (three-dimensional).

    Beside it may stand `rows`, `columns` and `labels`: texts, or None.
    """
    size = None
    if not sparse.issparse(array) and np.ndim(array) == 3:
        size = int(array.shape[1]), int(array.shape[2])
        array = array.reshape(len(array), size[0] * size[1])
    cells = copy_numbers(array, name)
    n_rows, n_columns = cells.shape
    texts = {
        side: list(map(str, np.asarray(given).ravel())) for side, given in beside.items() if given is not None
    }
    for key, what in (("columns", "names"), ("rows", "row names"), ("labels", "labels")):
        side, number = ("column", n_columns) if key == "columns" else ("row", n_rows)
        if key in texts and len(texts[key]) != number:
            told = f"{len(texts[key]):,} {what} were given for {number:,} {side}s"
            raise DataError(told, source=name, remedy=f"Give one for each {side}.")
    numbered = [f"x{i + 1}" for i in range(n_columns)] if size is None else pixel_names(*size)
    layout = TableLayout(
        kind,
        name,
        gzipped,
        header="columns" in texts,
        column_names=tuple(texts.get("columns", numbered)),
        kinds=("numbers",) * n_columns,
        n_fields=n_columns,
    )
    raw = RawTable(layout, options, texts.get("rows"), texts.get("labels"), size, cells)
    what = plural(n_columns, "column") if size is None else f"pictures of {size[0]:,} x {size[1]:,} pixels"
    raw.note("array", n_rows, f"Read an array of {plural(n_rows, 'row')}: {what}.")
    raw.refuse_infinite()
    return raw
