"""What a file looks like: its format, delimiter, header and which column means what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

from acvb_core.data.relations.guess import holds_texts
from acvb_core.data.relations.sides import Sides
from acvb_core.data.sources.formats import FileLayout, column_list, column_position, formats_of
from acvb_core.data.sources.values import value_kind
from acvb_core.errors import DataError, ParameterError

ColumnChoice = str | int | Literal[False] | None
FileFormat = str
#: What columns of any origin hold; the others are formats of their own files.
COLUMN_FORMATS = tuple(row.name for row in formats_of("relation", "text"))
#: What these hold is a graph: nodes, and edges between them. A graph of networkx is taken for node-link data.
GRAPH_FORMATS = tuple(row.name for row in formats_of("relation", "graph"))


@dataclass(frozen=True)
class Layout(FileLayout):
    """How a relation is (or would be) read; `column_names` and the fields of `rows` are the first PREVIEW_FIELDS.

    Attributes
    ----------
    row_column : int or None
        Edge list: the column of the row labels. Matrix: the same, None when rows are not labelled.
    column_column, value_column : int or None
        Edge list only: the columns of the column labels and of the value (None: every line is a link).
    value_kind : str
        "0/1", "yes/no", "counts", "numbers", "missing", "text", or "none" without values.
    sides : Sides or None
        Whether both sides are the same objects, and why; known once the whole file was read.
    """

    row_column: int | None = None
    column_column: int | None = None
    value_column: int | None = None
    value_kind: str = "none"
    sides: Sides | None = None

    @property
    def used_columns(self) -> set[int | None] | None:
        """The columns of an edge list that are read."""
        used = {self.row_column, self.column_column, self.value_column}
        return used if self.format == "edges" else None

    @property
    def text_column(self) -> int | None:
        """The first column of an edge list that holds long texts rather than names; None where there is none."""
        columns = zip(*self.rows, strict=True) if self.format == "edges" else ()
        return next((at for at, values in enumerate(columns) if holds_texts(values)), None)


class Columns(NamedTuple):
    """Which columns of a list of links hold what; `value` is also the name of the edges' weight in a graph."""

    source: ColumnChoice
    target: ColumnChoice
    value: ColumnChoice

    @classmethod
    def named(cls, *given: Any) -> Columns:
        """Return what was chosen as source, target, value, or by the other three names.

        Raises
        ------
        ParameterError
            One was chosen by both of its names.
        """
        *short, usual = given
        names = ("row_column", "column_column", "value_column")
        for alias, name, one, other in zip(cls._fields, names, short, usual, strict=True):
            if one is not None and other is not None:
                raise ParameterError(f"{alias} and {name} are two names of one choice: give one of them.")
        return cls(*(other if one is None else one for one, other in zip(short, usual, strict=True)))

    @property
    def weight(self) -> str | Literal[False] | None:
        """The name of the edges' weight."""
        if isinstance(self.value, int) and self.value is not False:
            raise ParameterError("Values of edges have names and no positions: give value_column as a name.")
        return self.value


def refuse_texts(layout: Layout) -> None:
    """Raise DataError where a column holds long texts, which may as well be documents, and nobody chose the columns."""
    at = layout.text_column
    if at is None or layout.row_column is None or layout.column_column is None:
        return
    # Without a line of names, columns are chosen by position.
    names = dict(enumerate(layout.column_names)) if layout.header else {}
    row, column, text = (names.get(i, i) for i in (layout.row_column, layout.column_column, at))
    first = layout.rows[0][at]
    told = repr(text) if layout.header else f"at position {at} (counted from 0)"
    raise DataError(
        f"the column {told} holds long texts, so this may be documents or links",
        source=layout.filename,
        value=first,
        remedy=f"To read documents, use load_corpus (text_column={text!r}). To read links, choose their columns: "
        f"(row_column={row!r}) (column_column={column!r}).",
    )


def with_choices(layout: Layout, chosen: Columns, threshold: float | None) -> Layout:
    """Return the layout with the user's columns; guesses give way to them.

    Raises
    ------
    DataError
        There is no such column, or one is to hold two things.
    ParameterError
        There is a threshold, but no column of values.
    """
    row, column, value = chosen
    if layout.format == "matrix" and row is not None:
        return replace(layout, row_column=column_position(layout, row))
    if layout.format != "edges":
        return layout
    given = {
        column_position(layout, choice) for choice in (row, column, value) if choice not in (None, False)
    }
    free = [i for i in range(layout.n_fields) if i not in given]
    row_at = (
        column_position(layout, row) if row not in (None, False) else _kept(layout.row_column, given, free)
    )
    free = [i for i in free if i != row_at]
    if column in (None, False):
        column_at = _kept(layout.column_column, given | {row_at}, free)
    else:
        column_at = column_position(layout, column)
    if value is False:
        value_at = None
    elif value is not None:
        value_at = column_position(layout, value)
    else:
        value_at = None if layout.value_column in given | {row_at, column_at} else layout.value_column
    taken = [i for i in (row_at, column_at, value_at) if i is not None]
    if row_at is None or column_at is None or len(set(taken)) < len(taken):
        raise DataError(
            "row labels, column labels and values need a column each",
            source=layout.filename,
            remedy=f"Choose different columns among {column_list(layout)}.",
        )
    if threshold is not None and value_at is None:
        raise ParameterError("A threshold needs a column of values; choose one with value_column.")
    kind = layout.value_kind
    if value_at != layout.value_column:
        kind = "none"
        if value_at is not None and value_at < len(layout.column_names):
            kind = value_kind(row[value_at] for row in layout.rows)
    return replace(layout, row_column=row_at, column_column=column_at, value_column=value_at, value_kind=kind)


def _kept(guessed: int | None, taken: set[int | None], free: Sequence[int]) -> int | None:
    return guessed if guessed not in taken else (free[0] if free else None)
