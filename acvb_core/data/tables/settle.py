"""From columns as they were read to a table: names and groups, categories, constants, the picture."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from acvb_core.data.names import refuse_repeated
from acvb_core.data.report import Fact, plural
from acvb_core.data.table import Table, named, same_valued
from acvb_core.data.tables.categories import CategoryPolicy, Columns, coded
from acvb_core.data.tables.image import Image
from acvb_core.data.tables.raw import RawTable
from acvb_core.errors import DataError, ParameterError

ConstantPolicy = Literal["refuse", "leave-out"]
ImageSize = str | tuple[int, int] | None


@dataclass(frozen=True)
class TableOptions:
    """What the user asked for, with columns by position.

    Attributes
    ----------
    name : str
    row_column : int, False or None
        Column of the rows' names; None: guessed.
    label_column : int or None
    category_columns, left_out : frozenset of int
    categories : "refuse", "one-hot" or "leave-out"
    constants : "refuse" or "leave-out"
    standardise : bool
    image : (int, int) or None
    """

    name: str
    row_column: int | Literal[False] | None
    label_column: int | None
    category_columns: frozenset[int]
    left_out: frozenset[int]
    categories: CategoryPolicy
    constants: ConstantPolicy
    standardise: bool
    image: tuple[int, int] | None


def settled(raw: RawTable, options: TableOptions) -> tuple[Table, list[Fact]]:
    """Return the table, and what reading and settling found.

    Raises
    ------
    DataError
        A name stands twice, a column is of text or constant and that is refused, no column of numbers is left, or
        the columns do not make the picture.
    """
    facts = list(raw.facts)
    names, used = _row_names(raw, options, facts)
    labels = _labels(raw, options, facts)
    held = used | options.left_out | ({options.label_column} - {None})
    if options.left_out:
        which = [raw.layout.column_names[i] for i in sorted(options.left_out)]
        told = f"{plural(len(which), 'column')} left out as asked: {named(which)}."
        facts.append(Fact("left_out", len(which), told))
    free = [i for i in range(raw.layout.n_fields) if i not in held]
    free = _without_trailing(raw, free, facts)
    if raw.header_line is not None:
        refuse_repeated(
            [raw.layout.column_names[i] for i in free], "column", lambda k: raw.place(None, free[k])
        )
    columns = coded(raw, free, options.categories, options.category_columns, facts)
    if not columns.names:
        raise DataError(
            "there is no column of numbers",
            source=raw.source,
            remedy="Check the delimiter, the decimal sign and which columns hold names and groups.",
        )
    image = _image(columns, options.image or raw.size, raw.source)
    columns, image = _without_constants(raw, columns, image, options.constants, facts)
    table = Table.build(
        columns.values,
        rows=names,
        columns=columns.names,
        name=options.name,
        standardise=options.standardise,
        labels=labels,
        image=image,
    )
    return table, facts + _size_facts(table)


def image_size(given: ImageSize) -> tuple[int, int] | None:
    """Return height and width of "8x8", (8, 8) or None.

    Raises
    ------
    ParameterError
        It is none of these.
    """
    if given is None:
        return None
    found: tuple[int, ...] = ()
    if isinstance(given, str):
        match = re.fullmatch(r"\s*(\d{1,6})\s*[x×, ]\s*(\d{1,6})\s*", given)
        found = (int(match[1]), int(match[2])) if match else ()
    elif len(given) == 2 and all(isinstance(side, int | np.integer) for side in given):
        found = int(given[0]), int(given[1])
    if len(found) != 2 or min(found) < 1:
        raise ParameterError(f"A picture's size is its height and width such as '8x8', not {given!r}.")
    return found[0], found[1]


def checked_policy(name: str, given: str, allowed: object) -> None:
    """Raise ParameterError where a policy is none of those allowed (a Literal type)."""
    if given not in get_args(allowed):
        choices = ", ".join(map(repr, get_args(allowed)))
        raise ParameterError(f"{name} is one of {choices}, not {given!r}.")


def _row_names(
    raw: RawTable, options: TableOptions, facts: list[Fact]
) -> tuple[list[str] | None, frozenset[int]]:
    """Return the rows' names and the column that they stand in."""
    column = options.row_column
    if column is False:
        return None, frozenset()
    if column is None and raw.rows is not None:
        return _checked_rows(raw, raw.rows, None), frozenset()
    at = raw.layout.row_column if column is None else column
    if at is None or at in options.left_out or at == options.label_column or at in options.category_columns:
        return None, frozenset()
    names = raw.texts[at].strings()
    blank_corner = raw.layout.header and not raw.layout.column_names[at].strip()
    if column is None and not blank_corner and (len(set(names)) < len(names) or "" in names):
        return None, frozenset()
    heading = raw.layout.column_names[at].strip()
    which = f"the column {heading!r}" if raw.layout.header and heading else f"column {at + 1:,}"
    told = f"Rows are named by {which}."
    facts.append(Fact("row_names", len(names), told, {"column": at, "guessed": column is None}))
    return _checked_rows(raw, names, at), frozenset({at})


def _checked_rows(raw: RawTable, names: list[str], column: int | None) -> list[str]:
    if raw.lines is not None:
        refuse_repeated(names, "row", lambda i: raw.place(i, column))
    return names  # those of arrays are checked with the table


def _labels(raw: RawTable, options: TableOptions, facts: list[Fact]) -> list[str] | None:
    at = options.label_column
    labels = raw.labels if at is None else raw.texts[at].strings()
    if labels is None:
        return None
    groups = len({label for label in labels if label})
    unknown = sum(not label for label in labels)
    told = f"{plural(groups, 'known group')} of rows" + (
        "" if at is None else f" in the column {raw.layout.column_names[at]!r}"
    )
    told += f" ({plural(unknown, 'row')} without)." if unknown else "."
    facts.append(Fact("groups", groups, told, {"unknown": unknown}))
    return labels


def _without_trailing(raw: RawTable, free: list[int], facts: list[Fact]) -> list[int]:
    """Leave out columns without a name or a value: what a delimiter at the end of every line makes."""
    if not raw.layout.header:
        return free
    empty = [
        i
        for i in free
        if not raw.layout.column_names[i].strip() and i not in raw.texts and np.isnan(raw.values[:, i]).all()
    ]
    if empty:
        told = f"{plural(len(empty), 'column')} without a name and without a value: left out."
        facts.append(Fact("empty_columns", len(empty), told))
    return [i for i in free if i not in empty]


def _image(columns: Columns, size: tuple[int, int] | None, source: str) -> Image | None:
    if size is None:
        return None
    height, width = size
    if height * width != len(columns.names):
        raise DataError(
            f"a picture of {height:,} x {width:,} has {plural(height * width, 'pixel')}, but there are "
            f"{plural(len(columns.names), 'column')}",
            source=source,
            remedy="Correct its size, and leave out or name columns that are no pixels.",
        )
    return Image.whole(height, width)


def _without_constants(
    raw: RawTable, columns: Columns, image: Image | None, policy: ConstantPolicy, facts: list[Fact]
) -> tuple[Columns, Image | None]:
    constant = same_valued(columns.values)
    if not constant.any():
        return columns, image
    which = [name for name, same in zip(columns.names, constant, strict=True) if same]
    number = len(which)
    if policy == "refuse" or number == len(columns.names):
        first = columns.origin[int(constant.argmax())]
        raise DataError(
            f"{plural(number, 'column')} {'has' if number == 1 else 'have'} no two different values: {named(which)}",
            **raw.place(None, first),
            remedy="Leave constant columns out (constants='leave-out')."
            if number < len(columns.names)
            else "Give a table in which the rows differ.",
        )
    told = f"{plural(number, 'column')} without two different values: left out ({named(which)})."
    facts.append(Fact("constants", number, told, {"columns": which}))
    if image is not None:
        image = image.without(constant, np.fmin.reduce(columns.values, axis=0))
    return columns.kept(~constant), image


def _size_facts(table: Table) -> list[Fact]:
    facts = [
        Fact("rows", table.n_rows, f"{plural(table.n_rows, 'row')}."),
        Fact("columns", table.n_columns, f"{plural(table.n_columns, 'column')} of numbers."),
    ]
    share = f" ({100 * table.share_missing:.3g} %)" if table.n_missing else ""
    missing = (
        f"{plural(table.n_missing, 'cell')} missing{share}." if table.n_missing else "No cell is missing."
    )
    facts.append(Fact("missing", table.n_missing, missing, {"share": table.share_missing}))
    blank = np.asarray(np.isnan(table.values).all(axis=1))
    if blank.any():
        which = named(table.rows[blank])
        told = f"{plural(int(blank.sum()), 'row')} without any known cell: kept ({which})."
        facts.append(Fact("empty_rows", int(blank.sum()), told))
    return facts
