"""From columns as they were read to a table: names and groups, categories, constants, the picture."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from acvb_core.data.names import refuse_repeated
from acvb_core.data.report import Fact, plural
from acvb_core.data.sources.values import NO_WORDS, YES_WORDS
from acvb_core.data.table import Table, list_names, same_valued
from acvb_core.data.tables.image import Image
from acvb_core.data.tables.layout import CategoryPolicy, ConstantPolicy, Roles, TableOptions, is_number
from acvb_core.data.tables.raw import UNDRESSED, RawTable, TextColumn, is_dressed_number, text_cell_error
from acvb_core.errors import DataError

#: A column of more different texts than this is no set of categories.
MOST_CATEGORIES = 100


class Columns(NamedTuple):
    """Columns of numbers.

    Attributes
    ----------
    values : float64 array, shape (n_rows, n_columns)
    names : list of str
    origin : list of int
        Position of the column that each was read or made from.
    """

    values: NDArray[np.float64]
    names: list[str]
    origin: list[int]


def build_table(raw: RawTable, options: TableOptions) -> tuple[Table, list[Fact]]:
    """Return the table, and what reading and building found.

    Raises
    ------
    DataError
        A name stands twice, a column is of text or constant and that is refused, no column of numbers is left, or
        the columns do not make the picture.
    """
    roles = options.find_roles(raw.layout)
    for column in roles.texts - roles.left_out:
        raw.keep_as_text(column)
    facts = list(raw.facts)
    names, row_column = _find_row_names(raw, roles, facts)
    labels = _find_labels(raw, roles, facts)
    held = roles.left_out | {row_column, roles.label_column}
    if roles.left_out:
        which = [raw.layout.column_names[i] for i in sorted(roles.left_out)]
        told = f"{plural(len(which), 'column')} left out as asked: {list_names(which)}."
        facts.append(Fact("left_out", len(which), told))
    free = _leave_out_trailing(raw, [i for i in range(raw.layout.n_fields) if i not in held], facts)
    if raw.header_line is not None:
        headings = [raw.layout.column_names[i] for i in free]
        refuse_repeated(headings, "column", lambda k: raw.place(None, free[k]))
    columns = code_categories(raw, free, options.categories, roles.categories, facts)
    if not columns.names:
        raise DataError(
            "there is no column of numbers",
            source=raw.source,
            remedy=f"Check {'the delimiter, the decimal sign and ' if raw.layout.delimiter else ''}which columns hold "
            "names and groups.",
        )
    image = _build_image(len(columns.names), options.image or raw.size, raw.source)
    columns, image = _leave_out_constants(raw, columns, image, options.constants, facts)
    table = Table.build(
        columns.values,
        rows=names,
        columns=columns.names,
        name=options.name or raw.source,
        standardise=options.standardise,
        labels=labels,
        image=image,
    )
    return table, facts + _describe_size(table)


def _find_row_names(raw: RawTable, roles: Roles, facts: list[Fact]) -> tuple[list[str] | None, int | None]:
    """Return the rows' names and the column that they stand in."""
    column = roles.row_column
    if column is False:
        return None, None
    if column is None and raw.rows is not None:
        return raw.rows, None  # they are checked with the table
    at = raw.layout.row_column if column is None else column
    if at is None or at in roles.left_out | roles.categories or at == roles.label_column:
        return None, None
    names = raw.texts[at].strings()
    heading = raw.layout.column_names[at].strip() if raw.layout.header else None
    if column is None and heading != "" and (len(set(names)) < len(names) or "" in names):
        return None, None
    told = f"Rows are named by {f'the column {heading!r}' if heading else f'column {at + 1:,}'}."
    facts.append(Fact("row_names", len(names), told, {"column": at, "guessed": column is None}))
    if raw.lines is not None:
        refuse_repeated(names, "row", lambda i: raw.place(i, at))
    return names, at


def _find_labels(raw: RawTable, roles: Roles, facts: list[Fact]) -> list[str] | None:
    at = roles.label_column
    labels = raw.labels if at is None else raw.texts[at].strings()
    if labels is None:
        return None
    groups = len({label for label in labels if label})
    unknown = sum(not label for label in labels)
    told = f"{plural(groups, 'known group')} of rows"
    told += "" if at is None else f" in the column {raw.layout.column_names[at]!r}"
    told += f" ({plural(unknown, 'row')} without)." if unknown else "."
    facts.append(Fact("groups", groups, told, {"unknown": unknown}))
    return labels


def _leave_out_trailing(raw: RawTable, free: list[int], facts: list[Fact]) -> list[int]:
    """Leave out columns without a name or a value: what a delimiter at the end of every line makes."""
    names = raw.layout.column_names
    empty = [
        i
        for i in free
        if raw.layout.header
        and not names[i].strip()
        and i not in raw.texts
        and np.isnan(raw.values[:, i]).all()
    ]
    if empty:
        told = f"{plural(len(empty), 'column')} without a name and without a value: left out."
        facts.append(Fact("empty_columns", len(empty), told))
    return [i for i in free if i not in empty]


def code_categories(
    raw: RawTable, free: list[int], policy: CategoryPolicy, chosen: frozenset[int], facts: list[Fact]
) -> Columns:
    """Return the columns `free` as numbers.

    Texts that all say yes or no are 1 and 0. Other columns of text are refused, left out, or each of their
    categories becomes a column "name=category" of 1 (it is this one), 0 (another) and NaN (missing).

    Raises
    ------
    DataError
        A column of text that is refused, one of too many different texts, or one that holds mostly numbers.
    """
    for i in free:
        if i in raw.texts and i not in chosen:
            take_numbers(raw, i)
    texts = [i for i in free if i in raw.texts]
    answers = [i for i in texts if i not in chosen and _is_yes_no(raw.texts[i])]
    categories = [i for i in texts if i not in answers and (raw.texts[i].texts or i in chosen)]
    names = raw.layout.column_names
    if not texts and len(free) == raw.layout.n_fields:
        return Columns(raw.values, [names[i] for i in free], free)
    if categories and policy == "refuse":
        raise _category_error(raw, categories)
    if policy == "leave-out" and categories:
        which = [names[i] for i in categories]
        told = f"{plural(len(which), 'column')} of text left out: {list_names(which)}."
        facts.append(Fact("categories_left_out", len(which), told, {"columns": which}))
        free = [i for i in free if i not in categories]
    pieces: list[NDArray[np.float64]] = []
    found = Columns(np.empty((len(raw.values), 0)), [], [])
    for i in free:
        piece, made = raw.values[:, [i]], [names[i]]
        if i in categories:
            piece, made = _code_one_hot(raw, i)
            told = f"The column {names[i]!r} was coded as {plural(len(made), 'column')} of 0 and 1: "
            facts.append(Fact("one_hot", len(made), f"{told}{list_names(made)}.", {"column": names[i]}))
        elif i in answers:
            yes = [float(text.lower() in YES_WORDS) for text in raw.texts[i].texts]
            piece = np.array([*yes, np.nan])[raw.texts[i].codes][:, None]
            facts.append(Fact("yes_no", 1, f"The column {names[i]!r} says yes (1) or no (0)."))
        pieces.append(piece)
        found.names.extend(made)
        found.origin.extend([i] * len(made))
    return found._replace(values=np.concatenate([found.values, *pieces], axis=1))


def _is_yes_no(column: TextColumn) -> bool:
    words = {text.lower() for text in column.texts}
    return bool(words) and words <= YES_WORDS | NO_WORDS


def _code_one_hot(raw: RawTable, at: int) -> tuple[NDArray[np.float64], list[str]]:
    column, name = raw.texts[at], raw.layout.column_names[at]
    if len(column.texts) > MOST_CATEGORIES:
        raise DataError(
            f"the column {name!r} has {len(column.texts):,} different texts, more than {MOST_CATEGORIES} categories",
            **raw.place(None, at),
            remedy="Leave it out (leave_out), or take it as the rows' names (row_labels).",
        )
    order = sorted(range(len(column.texts)), key=lambda code: column.texts[code])
    coded = (column.codes[:, None] == np.array(order)).astype(np.float64)
    coded[column.codes < 0] = np.nan
    return coded, [f"{name}={column.texts[code]}" for code in order]


def _category_error(raw: RawTable, categories: list[int]) -> DataError:
    which = [raw.layout.column_names[i] for i in categories]
    first = raw.texts[categories[0]]
    row = int((first.codes >= 0).argmax())
    dressed = bool(first.texts) and all(is_dressed_number(text) for text in first.texts)
    return DataError(
        f"{plural(len(which), 'column')} of text among the columns of numbers: {list_names(which)}",
        **raw.place(row, categories[0]),
        value=first.texts[first.codes[row]] if first.texts else None,
        remedy=(f"{UNDRESSED} Otherwise code" if dressed else "Code")
        + " them as 0 and 1 (categories='one-hot'), leave them out (categories='leave-out'), or take one "
        "as the rows' names (row_labels) or groups (label_column).",
    )


def take_numbers(raw: RawTable, at: int) -> None:
    """Take a column of texts that all are numbers as one of numbers, and leave others.

    Raises
    ------
    DataError
        There are a few other texts among its numbers.
    """
    column = raw.texts[at]
    numbers = [is_number(text, raw.layout.decimal or ".") for text in column.texts]
    if numbers and all(numbers):
        raw.take_as_numbers(at)
    elif 2 * sum(numbers) > len(numbers):
        wrong = numbers.index(False)
        place = raw.place(int((column.codes == wrong).argmax()), at)
        raise text_cell_error(raw.layout.column_names[at], place, column.texts[wrong])


def _build_image(n_columns: int, size: tuple[int, int] | None, source: str) -> Image | None:
    if size is None:
        return None
    height, width = size
    if height * width != n_columns:
        raise DataError(
            f"a picture of {height:,} x {width:,} has {plural(height * width, 'pixel')}, but there are "
            f"{plural(n_columns, 'column')}",
            source=source,
            remedy="Correct its size, and leave out or name columns that are no pixels.",
        )
    return Image.whole(height, width)


def _leave_out_constants(
    raw: RawTable, columns: Columns, image: Image | None, policy: ConstantPolicy, facts: list[Fact]
) -> tuple[Columns, Image | None]:
    constant = same_valued(columns.values)
    if not constant.any():
        return columns, image
    which = [columns.names[i] for i in np.flatnonzero(constant)]
    number = len(which)
    if policy == "refuse" or number == len(columns.names):
        raise DataError(
            f"{plural(number, 'column')} {'has' if number == 1 else 'have'} no two different values: "
            f"{list_names(which)}",
            **raw.place(None, columns.origin[int(constant.argmax())]),
            remedy="Leave constant columns out (constants='leave-out')."
            if number < len(columns.names)
            else "Give a table in which the rows differ.",
        )
    told = f"{plural(number, 'column')} without two different values: left out ({list_names(which)})."
    facts.append(Fact("constants", number, told, {"columns": which}))
    if image is not None:
        image = image.without(constant, np.fmin.reduce(columns.values, axis=0))
    kept = np.flatnonzero(~constant)
    names, origin = [columns.names[i] for i in kept], [columns.origin[i] for i in kept]
    return Columns(np.ascontiguousarray(columns.values[:, kept]), names, origin), image


def _describe_size(table: Table) -> list[Fact]:
    facts = [
        Fact("rows", table.n_rows, f"{plural(table.n_rows, 'row')}."),
        Fact("columns", table.n_columns, f"{plural(table.n_columns, 'column')} of numbers."),
    ]
    told = "No cell is missing."
    if table.n_missing:
        told = f"{plural(table.n_missing, 'cell')} missing ({100 * table.share_missing:.3g} %)."
    facts.append(Fact("missing", table.n_missing, told, {"share": table.share_missing}))
    blank = np.asarray(np.isnan(table.values).all(axis=1))
    if blank.any():
        which = list_names(table.rows[blank])
        told = f"{plural(int(blank.sum()), 'row')} without any known cell: kept ({which})."
        facts.append(Fact("empty_rows", int(blank.sum()), told))
    return facts
