"""From columns as they were read to a table: names and groups, categories, constants, the picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from acvb_core.core.errors import DataError
from acvb_core.data.names import refuse_repeated
from acvb_core.data.report import LoadedData, ReadReport, plural
from acvb_core.data.sources.values import NO_WORDS, YES_WORDS
from acvb_core.data.table import Floats, Table, list_names, same_valued
from acvb_core.data.tables.columns import DRESSED, UNDRESSED, RawTable
from acvb_core.data.tables.image import Image
from acvb_core.data.tables.layout import TableLayout

#: A column of more different texts than this is not a set of categories.
MOST_CATEGORIES = 100


@dataclass(frozen=True, eq=False, repr=False)
class LoadedTable(LoadedData):
    """A table, what reading it found, and how the file was understood."""

    table: Table
    report: ReadReport  # its facts "rows", "columns" and "missing" are always there
    layout: TableLayout


class Columns(NamedTuple):
    """Columns of numbers, their names, and the position of the column that each was read or made from."""

    values: Floats
    names: list[str]
    origin: list[int]


def build_table(raw: RawTable) -> LoadedTable:
    """Return the table of the columns that were read, and the report of reading and building it."""
    options, name = raw.options, raw.layout.filename
    for column in raw.as_texts - raw.texts.keys():
        raw.take_as_text(column)
    rows, labels = _name_rows(raw), _find_labels(raw)
    columns = _code_texts(raw, _find_cells(raw))
    if not columns.names:
        remedy = f"Check {'the delimiter, the decimal sign and ' if raw.layout.delimiter else ''}which columns hold "
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
    )
    _note_size(raw, table)
    return LoadedTable(table, ReadReport(name, tuple(raw.facts)), raw.layout)


def _name_rows(raw: RawTable) -> list[str] | None:
    """Return the rows' names; a column that was guessed and cannot name them becomes one of cells."""
    at, guessed = raw.row_column, raw.options.row_labels is None
    if at is None:
        return raw.rows if guessed else None
    names = raw.texts[at].strings()
    heading = raw.layout.column_names[at].strip() if raw.layout.header else None
    if guessed and heading != "" and (len(set(names)) < len(names) or "" in names):
        raw.row_column = None
        return None
    where = f"the column {heading!r}" if heading else f"column {at + 1:,}"
    raw.note("row_names", len(names), f"Rows are named by {where}.", column=at, guessed=guessed)
    if raw.lines is not None:
        refuse_repeated(names, "row", lambda i: raw.place(i, at))
    return names


def _find_labels(raw: RawTable) -> list[str] | None:
    at = raw.label_column
    labels = raw.labels if at is None else raw.texts[at].strings()
    if labels is None:
        return None
    groups, unknown = len({*labels} - {""}), labels.count("")
    where = "" if at is None else f" in the column {raw.layout.column_names[at]!r}"
    without = f" ({plural(unknown, 'row')} without)" if unknown else ""
    raw.note("groups", groups, f"{plural(groups, 'known group')} of rows{where}{without}.", unknown=unknown)
    return labels


def _find_cells(raw: RawTable) -> list[int]:
    """Return the columns that hold cells, without those that a delimiter at the end of every line makes."""
    headings = raw.layout.column_names
    if raw.left_out:
        which = [headings[i] for i in sorted(raw.left_out)]
        told = f"{plural(len(which), 'column')} left out as asked: {list_names(which)}."
        raw.note("left_out", len(which), told)
    held = raw.left_out | {raw.row_column, raw.label_column}
    free = [i for i in range(raw.layout.n_fields) if i not in held]
    for i in free:
        if i in raw.texts and i not in raw.categories:
            raw.take_numbers(i)
    if raw.layout.header:
        nameless = [i for i in free if i not in raw.texts and not headings[i].strip()]
        empty = [i for i in nameless if np.isnan(raw.values[:, i]).all()]
        if empty:
            told = f"{plural(len(empty), 'column')} without a name and without a value: left out."
            raw.note("empty_columns", len(empty), told)
        free = [i for i in free if i not in empty]
    if raw.header_line is not None:
        refuse_repeated([headings[i] for i in free], "column", lambda k: raw.place(None, free[k]))
    return free


def _code_texts(raw: RawTable, free: list[int]) -> Columns:
    """Return the columns `free` as numbers.

    Texts that all say yes or no are 1 and 0. Other columns of text are refused, left out, or each of their
    categories becomes a column "name=category" of 1 (it is this one), 0 (another) and NaN (missing).
    """
    policy, headings = raw.options.categories, raw.layout.column_names
    categories: list[int] = []
    coded: dict[int, tuple[Floats, list[str]]] = {}
    for i in (i for i in free if i in raw.texts):
        texts, codes = raw.texts[i].texts, raw.texts[i].codes
        if i not in raw.categories and {text.lower() for text in texts} <= YES_WORDS | NO_WORDS:
            raw.values[:, i] = np.array([*(float(text.lower() in YES_WORDS) for text in texts), np.nan])[
                codes
            ]
            raw.note("yes_no", 1, f"The column {headings[i]!r} says yes (1) or no (0).")
            continue
        categories.append(i)
        if policy == "one-hot":
            coded[i] = _code_one_hot(raw, i)
    if categories and policy == "refuse":
        raise _category_fault(raw, categories)
    if categories and policy == "leave-out":
        which = [headings[i] for i in categories]
        told = f"{plural(len(which), 'column')} of text left out: {list_names(which)}."
        raw.note("categories_left_out", len(which), told, columns=which)
        free = [i for i in free if i not in categories]
    if not coded:
        values = raw.values if len(free) == raw.layout.n_fields else raw.values[:, free]
        return Columns(values, [headings[i] for i in free], free)
    pieces = [coded.get(i, (raw.values[:, [i]], [headings[i]])) for i in free]
    return Columns(
        np.concatenate([values for values, _ in pieces], axis=1),
        [name for _, names in pieces for name in names],
        [i for i, (_, names) in zip(free, pieces, strict=True) for _ in names],
    )


def _code_one_hot(raw: RawTable, at: int) -> tuple[Floats, list[str]]:
    column, name = raw.texts[at], raw.layout.column_names[at]
    if len(column.texts) > MOST_CATEGORIES:
        many = f"{len(column.texts):,} different texts, more than {MOST_CATEGORIES} categories"
        remedy = "Leave it out (leave_out), or take it as the rows' names (row_labels)."
        raise DataError(f"the column {name!r} has {many}", **raw.place(None, at), remedy=remedy)
    order = sorted(range(len(column.texts)), key=lambda code: column.texts[code])
    coded = (column.codes[:, None] == np.array(order)).astype(np.float64)
    coded[column.codes < 0] = np.nan
    names = [f"{name}={column.texts[code]}" for code in order]
    told = f"The column {name!r} was coded as {plural(len(names), 'column')} of 0 and 1: {list_names(names)}."
    raw.note("one_hot", len(names), told, column=name)
    return coded, names


def _category_fault(raw: RawTable, categories: list[int]) -> DataError:
    first = raw.texts[categories[0]]
    row = int((first.codes >= 0).argmax())
    dressed = bool(first.texts) and all(map(DRESSED.fullmatch, first.texts))
    which = list_names([raw.layout.column_names[i] for i in categories])
    what = f"{plural(len(categories), 'column')} of text among the columns of numbers: {which}"
    remedy = (
        f"{f'{UNDRESSED} Otherwise code' if dressed else 'Code'} them as 0 and 1 (categories='one-hot'), leave them "
        "out (categories='leave-out'), or take one as the rows' names (row_labels) or groups (label_column)."
    )
    value = first.texts[first.codes[row]] if first.texts else None
    return DataError(what, **raw.place(row, categories[0]), value=value, remedy=remedy)


def _leave_out_constants(raw: RawTable, columns: Columns, constant: NDArray[np.bool_]) -> Columns:
    which = [columns.names[i] for i in np.flatnonzero(constant)]
    number = plural(len(which), "column")
    if raw.options.constants == "refuse" or constant.all():
        raise DataError(
            f"{number} {'has' if len(which) == 1 else 'have'} no two different values: {list_names(which)}",
            **raw.place(None, columns.origin[int(constant.argmax())]),
            remedy="Give a table in which the rows differ."
            if constant.all()
            else "Leave constant columns out (constants='leave-out').",
        )
    told = f"{number} without two different values: left out ({list_names(which)})."
    raw.note("constants", len(which), told, columns=which)
    kept = np.flatnonzero(~constant)
    names, origin = [columns.names[i] for i in kept], [columns.origin[i] for i in kept]
    return Columns(columns.values[:, kept], names, origin)


def _note_size(raw: RawTable, table: Table) -> None:
    raw.note("rows", table.n_rows, f"{plural(table.n_rows, 'row')}.")
    raw.note("columns", table.n_columns, f"{plural(table.n_columns, 'column')} of numbers.")
    told = "No cell is missing."
    if table.n_missing:
        told = f"{plural(table.n_missing, 'cell')} missing ({100 * table.share_missing:.3g} %)."
    raw.note("missing", table.n_missing, told, share=table.share_missing)
    blank = ~table.observed.any(axis=1)
    if blank.any():
        told = f"{plural(int(blank.sum()), 'row')} without any known cell: kept ({list_names(table.rows[blank])})."
        raw.note("empty_rows", int(blank.sum()), told)
