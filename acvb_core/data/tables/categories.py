"""Columns of text in a table of numbers: refused, coded as 0 / 1, or left out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from acvb_core.data.report import Fact, plural
from acvb_core.data.sources.values import NO_WORDS, YES_WORDS
from acvb_core.data.table import named
from acvb_core.data.tables.layout import is_number
from acvb_core.data.tables.raw import UNDRESSED, RawTable, TextColumn, dressed_number, text_among_numbers
from acvb_core.errors import DataError

CategoryPolicy = Literal["refuse", "one-hot", "leave-out"]
#: A column of more different texts than this is no set of categories.
MOST_CATEGORIES = 100


@dataclass(frozen=True, eq=False)
class Columns:
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

    def kept(self, keep: NDArray[np.bool_]) -> Columns:
        """Return some of the columns."""
        at = np.flatnonzero(keep)
        return Columns(
            np.ascontiguousarray(self.values[:, at]),
            [self.names[i] for i in at],
            [self.origin[i] for i in at],
        )


def coded(
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
            _look_for_numbers(raw, i)
    texts = [i for i in free if i in raw.texts]
    answers = [i for i in texts if i not in chosen and _is_yes_no(raw.texts[i])]
    categories = [i for i in texts if i not in answers and (raw.texts[i].texts or i in chosen)]
    if not texts and len(free) == raw.layout.n_fields:
        return Columns(raw.values, [raw.layout.column_names[i] for i in free], free)
    if categories and policy == "refuse":
        raise _refused(raw, categories)
    pieces: list[NDArray[np.float64]] = []
    names: list[str] = []
    origin: list[int] = []
    for i in free:
        name = raw.layout.column_names[i]
        if i in categories and policy == "leave-out":
            continue
        if i in categories:
            piece, found = _one_hot(raw, i)
            told = (
                f"The column {name!r} was coded as {plural(len(found), 'column')} of 0 and 1: {named(found)}."
            )
            facts.append(Fact("one_hot", len(found), told, {"column": name}))
        else:
            piece, found = raw.values[:, [i]], [name]
            if i in answers:
                piece = _as_numbers(raw.texts[i])
                facts.append(Fact("yes_no", 1, f"The column {name!r} says yes (1) or no (0)."))
        pieces.append(piece)
        names += found
        origin += [i] * len(found)
    if policy == "leave-out" and categories:
        which = [raw.layout.column_names[i] for i in categories]
        told = f"{plural(len(which), 'column')} of text left out: {named(which)}."
        facts.append(Fact("categories_left_out", len(which), told, {"columns": which}))
    values = np.concatenate(pieces, axis=1) if pieces else np.empty((len(raw.values), 0))
    return Columns(values, names, origin)


def _is_yes_no(column: TextColumn) -> bool:
    words = {text.lower() for text in column.texts}
    return bool(words) and words <= YES_WORDS | NO_WORDS


def _as_numbers(column: TextColumn) -> NDArray[np.float64]:
    numbers = [1.0 if text.lower() in YES_WORDS else 0.0 for text in column.texts]
    return np.array([*numbers, np.nan])[column.codes][:, None]


def _one_hot(raw: RawTable, at: int) -> tuple[NDArray[np.float64], list[str]]:
    column, name = raw.texts[at], raw.layout.column_names[at]
    if len(column.texts) > MOST_CATEGORIES:
        raise DataError(
            f"the column {name!r} has {len(column.texts):,} different texts, more than {MOST_CATEGORIES} categories",
            **raw.place(None, at),
            remedy="Leave it out (leave_out), or take it as the rows' names (row_labels).",
        )
    order = sorted(range(len(column.texts)), key=lambda code: column.texts[code])
    found = np.where(
        column.codes[:, None] < 0, np.nan, (column.codes[:, None] == np.array(order)).astype(np.float64)
    )
    return found, [f"{name}={column.texts[code]}" for code in order]


def _refused(raw: RawTable, categories: list[int]) -> DataError:
    which = [raw.layout.column_names[i] for i in categories]
    first = raw.texts[categories[0]]
    row = int((first.codes >= 0).argmax())
    dressed = bool(first.texts) and all(dressed_number(text) for text in first.texts)
    return DataError(
        f"{plural(len(which), 'column')} of text among the columns of numbers: {named(which)}",
        **raw.place(row, categories[0]),
        value=first.texts[first.codes[row]] if first.texts else None,
        remedy=(f"{UNDRESSED} Otherwise code" if dressed else "Code")
        + " them as 0 and 1 (categories='one-hot'), leave them out (categories='leave-out'), or take one "
        "as the rows' names (row_labels) or groups (label_column).",
    )


def _look_for_numbers(raw: RawTable, at: int) -> None:
    """Take a column of texts that all are numbers as one; refuse one with a few other texts among its numbers."""
    column = raw.texts[at]
    numbers = [is_number(text, raw.layout.decimal or ".") for text in column.texts]
    if numbers and all(numbers):
        raw.take_as_numbers(at)
    elif 2 * sum(numbers) > len(numbers):
        wrong = numbers.index(False)
        row = int((column.codes == wrong).argmax())
        name = raw.layout.column_names[at]
        raise text_among_numbers(name, raw.place(row, at), column.texts[wrong])
