"""Load a table of numbers from files, arrays, frames and AnnData: names, groups, categories, constants."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from acvb_core.core.errors import DataError
from acvb_core.data.names import make_unique, plain_ids, refuse_repeated, text_of, typed_column, unique_names
from acvb_core.data.report import LoadedData, ReadReport, plural
from acvb_core.data.schema import Schema
from acvb_core.data.sources.arrays import is_sparse, load_npy, load_npz, load_sparse, refuse_graph
from acvb_core.data.sources.containers import open_source
from acvb_core.data.sources.frames import is_frame
from acvb_core.data.sources.source import ByteSource
from acvb_core.data.sources.values import NO_WORDS, PLAIN, YES_WORDS, Floats
from acvb_core.data.table import (
    Image,
    Table,
    copy_numbers,
    list_names,
    pixel_names,
    same_valued,
    split_index,
)
from acvb_core.data.table_columns import (
    MOST_METADATA,
    RawTable,
    TableOptions,
    advise_writing,
    inspect_columns,
    read_columns,
)

#: A column of more different texts than this is not a set of categories.
MOST_CATEGORIES = 100
_TRUTH = {"": np.nan} | dict.fromkeys(YES_WORDS, 1.0) | dict.fromkeys(NO_WORDS, 0.0)
#: Arrays of an npz file that are no cells.
_BESIDE = ("rows", "columns", "labels")
#: Names of the options of this reader.
OPTIONS = frozenset({field.name for field in fields(TableOptions)} | {"filename"})


class Columns(NamedTuple):
    """Columns of numbers, their names, and the position of the column that each was read or made from."""

    values: Floats
    names: NDArray[Any]
    origin: NDArray[np.int64]


def build_table(raw: RawTable) -> LoadedData[Table]:
    """Return the table of the columns that were read, and the report of reading and building it."""
    options, name = raw.options, raw.schema.filename
    for column in raw.as_texts - raw.texts.keys():
        numbers, codes = np.unique(raw.values[:, column], return_inverse=True)
        raw.take_texts(column, codes, [text_of(n) if n.is_integer() else str(n) for n in numbers.tolist()])
    rows, labels = _name_rows(raw), _find_labels(raw)
    columns = _code_texts(raw, _find_cells(raw))
    if not len(columns.names):
        remedy = f"Check {'the delimiter, the decimal sign and ' if raw.schema.delimiter else ''}which columns hold "
        raise DataError("there is no column of numbers", source=name, remedy=f"{remedy}names and groups.")
    constant = same_valued(columns.values)
    image, size = None, options.size or raw.size
    if size is not None:
        pixels, there = plural(size[0] * size[1], "pixel"), plural(len(columns.names), "column")
        if size[0] * size[1] != len(columns.names):
            what = f"a picture of {size[0]:,} x {size[1]:,} has {pixels}, but there are {there}"
            remedy = "Correct its size, and leave out or name columns that are no pixels."
            raise DataError(what, source=name, remedy=remedy)
        image = Image.whole(*size).without(constant, np.fmin.reduce(columns.values, axis=0))
    if constant.any():
        columns = _leave_out_constants(raw, columns, constant)
    table = Table.build(
        columns.values,
        rows=rows,
        columns=columns.names,
        name=options.name or name,
        standardise=options.standardise,
        labels=labels,
        image=image,
        metadata=_type_metadata(raw),
    )
    _note_size(raw, table)
    return LoadedData(table, ReadReport(name, tuple(raw.facts)), raw.schema)


def _name_rows(raw: RawTable) -> list[str] | None:
    """Return the rows' names; a column that was guessed and cannot name them becomes one of cells."""
    at, guessed = raw.row_column, raw.options.row_labels is None
    if at is None:
        return plain_ids(raw.rows, lambda i: raw.place(i, None)) if guessed and raw.rows else None
    names = plain_ids(raw.texts[at].tolist(), lambda i: raw.place(i, at))
    heading = raw.schema.column_names[at].strip() if raw.schema.header else None
    where = f"the column {heading!r}" if heading else f"column {at + 1:,}"
    if guessed and heading != "" and (len(set(names)) < len(names) or "" in names):
        raw.row_column = None
        why = "are blank" if "" in names else "repeat"
        raw.note("rows_numbered", len(names), f"Rows are numbered: some names in {where} {why}.", column=at)
        return None
    raw.note("row_names", len(names), f"Rows are named by {where}.", column=at, guessed=guessed)
    if raw.lines is not None:
        refuse_repeated(names, "row", lambda i: raw.place(i, at))
    return names


def _find_labels(raw: RawTable) -> list[str] | None:
    at = raw.label_column
    labels = raw.labels if at is None else raw.texts[at].tolist()
    if labels is None:
        return None
    labels = plain_ids(labels, lambda i: raw.place(i, at))
    groups, unknown = len({*labels} - {""}), labels.count("")
    where = "" if at is None else f" in the column {raw.schema.column_names[at]!r}"
    without = f" ({plural(unknown, 'row')} without)" if unknown else ""
    raw.note("groups", groups, f"{plural(groups, 'known group')} of rows{where}{without}.", unknown=unknown)
    return labels


def _find_cells(raw: RawTable) -> list[int]:
    """Return the columns that hold cells, without those that a delimiter at the end of every line makes."""
    headings = raw.schema.column_names
    if raw.left_out:
        which = [headings[i] for i in sorted(raw.left_out)]
        kept = _describe_kept(raw, raw.left_out)
        told = f"{plural(len(which), 'column')} left out as asked{kept}: {list_names(which)}."
        raw.note("left_out", len(which), told)
    held = raw.left_out | {raw.row_column, raw.label_column}
    free = [i for i in range(raw.schema.n_fields) if i not in held]
    for i in free:
        if i in raw.texts and i not in raw.categories:
            raw.take_numbers(i)
    if raw.schema.header:
        nameless = [i for i in free if i not in raw.texts and not headings[i].strip()]
        empty = [i for i in nameless if np.isnan(raw.values[:, i]).all()]
        if empty:
            told = f"{plural(len(empty), 'column')} without a name and without a value: left out."
            raw.note("empty_columns", len(empty), told)
        free = [i for i in free if i not in empty]
    if raw.header_line is not None:
        refuse_repeated([headings[i] for i in free], "column", lambda k: raw.place(None, free[k]))
    return free


def _describe_kept(raw: RawTable, columns: set[int]) -> str:
    kept = len(columns & raw.kept)
    if kept == len(columns):
        return " and kept as metadata"
    return f", {kept} of them kept as metadata" if kept else ""


def _type_metadata(raw: RawTable) -> dict[str, NDArray[Any]]:
    """Return the columns that are left out as they are: numbers, dates or texts."""
    style, found = raw.schema.style, {}
    names = make_unique([name or f"column {i}" for i, name in enumerate(raw.schema.column_names, start=1)])[0]
    for i in sorted(raw.kept & raw.texts.keys()):
        texts = raw.texts[i].tolist()
        numbers = {} if style == PLAIN else {text: style.number(text) for text in texts if text}
        other = any(PLAIN.number(text) != number for text, number in numbers.items())
        if other and np.isfinite([*numbers.values()]).all():
            texts = [text_of(numbers.get(text)) for text in texts]
        found[names[i]] = typed_column(texts)
    return found


def _code_texts(raw: RawTable, free: list[int]) -> Columns:
    """Return the columns `free` as numbers.

    Texts that all say yes or no are 1 and 0. Other columns of text are refused, left out, or each of their
    categories becomes a column "name=category" of 1 (it is this one), 0 (another) and NaN (missing).
    """
    policy, headings = raw.options.categories, np.array(raw.schema.column_names, dtype=object)
    categories: list[int] = []
    for i in (i for i in free if i in raw.texts):
        words = [text.lower() for text in raw.texts[i]]
        if i not in raw.categories and set(words) <= _TRUTH.keys():
            raw.values[:, i] = [_TRUTH[word] for word in words]
            raw.note("yes_no", 1, f"The column {headings[i]!r} says yes (1) or no (0).")
        else:
            categories.append(i)
    if categories and policy == "refuse":
        raise _category_fault(raw, categories)
    if categories and policy == "leave-out":
        which = [headings[i] for i in categories]
        raw.kept |= set(categories[: MOST_METADATA - len(raw.kept)])
        kept = _describe_kept(raw, set(categories))
        told = f"{plural(len(which), 'column')} of text left out{kept}: {list_names(which)}."
        raw.note("categories_left_out", len(which), told, columns=which)
        free = [i for i in free if i not in categories]
    coded = {i: _code_one_hot(raw, i) for i in categories if i in free}
    if not coded:
        values = raw.values if len(free) == raw.schema.n_fields else raw.values[:, free]
        at = np.array(free, dtype=np.int64)
        return Columns(values, headings[at], at)
    pieces = [coded.get(i) or Columns(raw.values[:, [i]], headings[[i]], np.array([i])) for i in free]
    return Columns._make(np.concatenate(parts, axis=-1) for parts in zip(*pieces, strict=True))


def _code_one_hot(raw: RawTable, at: int) -> Columns:
    column, name = raw.texts[at], raw.schema.column_names[at]
    texts = sorted(set(column) - {""})
    if len(texts) > MOST_CATEGORIES:
        many = f"{len(texts):,} different texts, more than {MOST_CATEGORIES} categories"
        remedy = "Leave it out (leave_out), or take it as the rows' names (row_labels)."
        raise DataError(f"the column {name!r} has {many}", **raw.place(None, at), remedy=remedy)
    coded = (column[:, None] == np.array(texts, dtype=object)).astype(np.float64)
    coded[column == ""] = np.nan
    names = [f"{name}={text}" for text in texts]
    told = f"The column {name!r} was coded as {plural(len(names), 'column')} of 0 and 1: {list_names(names)}."
    raw.note("one_hot", len(names), told, column=name)
    return Columns(coded, np.array(names, dtype=object), np.full(len(names), at))


def _category_fault(raw: RawTable, categories: list[int]) -> DataError:
    first = raw.texts[categories[0]]
    row = int((first != "").argmax())
    which = list_names([raw.schema.column_names[i] for i in categories])
    what = f"{plural(len(categories), 'column')} of text among the columns of numbers: {which}"
    remedy = advise_writing([*filter(None, first)], raw.schema.style, "Code") + (
        " them as 0 and 1 (categories='one-hot'), leave them out (categories='leave-out'), or take one as the rows' "
        "names (row_labels) or groups (label_column)."
    )
    return DataError(what, **raw.place(row, categories[0]), value=first[row] or None, remedy=remedy)


def _leave_out_constants(raw: RawTable, columns: Columns, constant: NDArray[np.bool_]) -> Columns:
    which = columns.names[constant].tolist()
    number = plural(len(which), "column")
    if raw.options.constants == "refuse" or constant.all():
        what = f"{number} {'has' if len(which) == 1 else 'have'} no two different values: {list_names(which)}"
        place = raw.place(None, int(columns.origin[constant.argmax()]))
        remedy = "Leave constant columns out (constants='leave-out')."
        remedy = "Give a table in which the rows differ." if constant.all() else remedy
        raise DataError(what, **place, remedy=remedy)
    told = f"{number} without two different values: left out ({list_names(which)})."
    raw.note("constants", len(which), told, columns=which)
    return Columns._make(part[..., ~constant] for part in columns)


def _note_size(raw: RawTable, table: Table) -> None:
    share, blank = table.share_missing, table.rows[~table.observed.any(axis=1)]
    raw.note("rows", table.n_rows, f"{plural(table.n_rows, 'row')}.")
    raw.note("columns", table.n_columns, f"{plural(table.n_columns, 'column')} of numbers.")
    told = f"{plural(table.n_missing, 'cell')} missing ({100 * share:.3g} %)."
    raw.note("missing", table.n_missing, told if share else "No cell is missing.", share=share)
    if len(blank):
        told = f"{plural(len(blank), 'row')} without any known cell: kept ({list_names(blank)})."
        raw.note("empty_rows", len(blank), told)


def inspect_table(source: Any, filename: str | None = None, **options: Any) -> Schema:
    """Look at the head of a file or a frame and propose how to read it; the options are those of `load_table`."""
    asked = TableOptions(**options)
    with open_source(source, filename, kind="table", choices=asked.part) as opened:
        if opened.is_array or opened.is_zip:
            return Schema("table", "npy" if opened.is_array else "npz", opened.name, opened.gzipped)
        return inspect_columns(opened, asked)


def load_table(source: Any, *, filename: str | None = None, **options: Any) -> LoadedData[Table]:
    r"""Read a table of numbers; gzip is recognised by itself.

    Read are delimited text, Parquet, Arrow, Feather, Excel, ODS, JSON Lines, SQLite, NumPy's .npy and .npz (one array
    of cells, two-dimensional or pictures, and with it `rows`, `columns`, `labels` if there are any) and SciPy's sparse
    .npz; in memory arrays, SciPy matrices, AnnData, and frames of pandas, polars, pyarrow, duckdb or another library
    with the Arrow or the dataframe protocol. Nothing is dropped unless it is asked for, and the report tells what was.

    Parameters
    ----------
    source : path, bytes, file object, array (masked or sparse too), frame or AnnData
        An index of pandas that is more than a numbering names the rows. Of an AnnData, `X` holds the cells.
    filename, name : str, optional
        Names that the user knows the source and the table by (default: the file's name).
    row_labels : str, int or False, optional
        The column of the rows' names, by header name or 0-based position. None: the first column if it is text or
        its heading is blank (or "id", "name", …), and no two are the same. False: rows have no names.
    label_column : str or int, optional
        The column of a known group of each row, which the inference never sees; of an AnnData, one of `obs`.
    missing : iterable of str
        Signs for a missing cell (such as "-999") besides blank, NA, N/A, NaN, null, none, ?, - and a point.
    categories : "refuse", "one-hot" or "leave-out"
        Treatment of columns of text. Coded, each category is a column "name=category" of 0 and 1, missing where
        the category is. Left out, they are kept in `Table.metadata`. (Columns of yes / no or true / false are numbers
        in any case.)
    category_columns : iterable of str or int
        Columns whose numbers are categories too.
    leave_out : iterable of str or int
        Columns that are no part of the table; at most 50 of them are kept in `Table.metadata`.
    constants : "refuse" or "leave-out"
        Treatment of columns without two different values.
    image : "8x8" or (8, 8), optional
        The columns are the pixels of pictures of this height and width, row by row. Constant pixels that are left
        out are their background.
    decimal : "." or ",", optional
        Guessed from the first lines, as is the sign between thousands (1.234,5; 1 234,5; 1'234.5). Alone, 1.234 is
        a number with a point, and 1,234 needs this option. With it, the other sign may be between thousands.
    standardise : bool
        Methods work on columns of mean 0 and standard deviation 1.
    encoding, delimiter, header, sheet, table, query : optional
        As in `load_relation`.

    Raises
    ------
    DataError
        The source cannot be read as asked; the message names file, line, column, value and a remedy.
    ParameterError
        An argument makes no sense for any source.

    Examples
    --------
    >>> loaded = load_table(b"city,rain,sun\nBergen,2495,1187\nBari,588,2459\n", name="weather")
    >>> loaded.data.size_text, loaded.data.rows.tolist()
    ('2 rows × 2 columns', ['Bergen', 'Bari'])
    """
    asked = TableOptions(**options)
    called = filename or asked.name or "table"
    refuse_graph(source, "table of numbers")
    if all(hasattr(source, part) for part in ("X", "obs", "obs_names", "var_names")):
        return build_table(_read_annotated(source, called, asked))
    if isinstance(source, np.ndarray) or sparse.issparse(source):
        return build_table(_read_array(source, called, asked, "array"))
    frame, rows = split_index(source)
    # Errors are raised while the source is open, which knows its rows and columns.
    filename = called if is_frame(source) else filename
    with open_source(frame, filename, kind="table", choices=asked.part) as opened:
        asked = replace(asked, name=asked.name or opened.stem)
        if isinstance(opened, ByteSource) and (opened.is_array or opened.is_zip):
            return build_table(_read_numpy(opened, asked))
        return build_table(read_columns(opened, asked, rows))


def _read_annotated(source: Any, name: str, options: TableOptions) -> RawTable:
    """Return the cells of an AnnData; a label column of its `obs` is read here."""
    cells = source.X.to_memory() if hasattr(source.X, "to_memory") else source.X
    if cells is None:
        raise DataError("this AnnData has no X", source=name, remedy="Give it a matrix X of numbers.")
    beside = {"rows": source.obs_names, "columns": source.var_names}
    if isinstance(options.label_column, str) and options.label_column in source.obs:
        beside["labels"] = source.obs[options.label_column]
        options = replace(options, label_column=None)
    return _read_array(cells, name, options, "AnnData", **beside)


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
            remedy = "Save one array of cells, and with it rows, columns and labels if you have them."
            raise DataError(what, source=source.name, remedy=remedy)
        cells, beside = arrays[names[0]], {name: arrays[name] for name in _BESIDE if name in arrays}
    return _read_array(cells, source.name, options, kind, gzipped=source.gzipped, **beside)


def _read_array(
    array: Any, name: str, options: TableOptions, kind: str, *, gzipped: bool = False, **beside: Any
) -> RawTable:
    """Return an array of numbers, two-dimensional (perhaps sparse) or pictures (three-dimensional).

    `rows`, `columns` and `labels` may be given with it.
    """
    size = None
    if not sparse.issparse(array) and np.ndim(array) == 3:
        size = int(array.shape[1]), int(array.shape[2])
        array = array.reshape(len(array), size[0] * size[1])
    cells = copy_numbers(array, name)
    n_rows, n_columns = cells.shape
    texts = {side: list(map(text_of, np.asarray(given).ravel())) for side, given in beside.items()}
    numbered = [f"x{i + 1}" for i in range(n_columns)] if size is None else pixel_names(*size)
    schema = Schema(
        "table",
        kind,
        name,
        gzipped,
        header="columns" in texts,
        column_names=tuple(unique_names(texts.get("columns", numbered), n_columns, "column", name)),
        kinds=("numbers",) * n_columns,
        n_fields=n_columns,
    )
    raw = RawTable(schema, options, texts.get("rows"), texts.get("labels"), size, cells)
    what = plural(n_columns, "column") if size is None else f"pictures of {size[0]:,} x {size[1]:,} pixels"
    raw.note("array", n_rows, f"Read an array of {plural(n_rows, 'row')}: {what}.")
    raw.drop_codes(raw.values)
    raw.refuse_infinite()
    return raw
