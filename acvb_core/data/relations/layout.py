"""How a relation is read: what the user asks for, what the source looks like, and which column means what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from acvb_core.core.errors import DataError, ParameterError
from acvb_core.data.sources.formats import FileLayout, column_list, column_position, formats_of
from acvb_core.data.sources.frames import FrameChoices
from acvb_core.data.sources.objects import MAX_SIDE
from acvb_core.data.sources.records import BLOCK_BYTES

ColumnChoice = str | int | Literal[False] | None
Domains = Literal["auto", "one", "two"]
DOMAINS: tuple[Domains, ...] = ("auto", "one", "two")
#: What columns of any origin hold; the others are formats of their own files.
COLUMN_FORMATS = tuple(row.name for row in formats_of("relation", "text"))
#: What these hold is a graph: nodes, and edges between them. A graph of networkx is taken for node-link data.
GRAPH_FORMATS = tuple(row.name for row in formats_of("relation", "graph"))
# Texts have so many words and letters on average, and are of so many kinds; titles of films are shorter.
_TEXT_WORDS, _TEXT_LETTERS, _TEXT_DIFFERENT = 6, 40, 0.8


@dataclass(frozen=True)
class ReadOptions:
    """Choices of the user: arguments of `load_relation`, checked; `row_nodes` and `column_nodes` as lists."""

    name: str = ""
    format: str = "auto"
    row_column: ColumnChoice = None
    column_column: ColumnChoice = None
    value_column: ColumnChoice = None
    source: ColumnChoice = None
    target: ColumnChoice = None
    value: ColumnChoice = None
    threshold: float | None = None
    shape: tuple[int, int] | None = None
    row_nodes: list[str] | None = None
    column_nodes: list[str] | None = None
    same_nodes: bool = False
    unlisted: Literal["zero", "missing"] = "zero"
    domains: Domains = "auto"
    directed: bool | None = None
    self_links: bool | None = None
    encoding: str | None = None
    delimiter: str | None = None
    header: Literal["auto"] | bool | None = None
    sheet: str | int | None = None
    table: str | None = None
    query: str | None = None
    block_bytes: int = BLOCK_BYTES

    def __post_init__(self) -> None:
        if self.unlisted not in ("zero", "missing"):
            raise ParameterError(f"unlisted is 'zero' or 'missing', not {self.unlisted!r}.")
        for name, other in (("source", "row_column"), ("target", "column_column"), ("value", "value_column")):
            if getattr(self, name) is not None and getattr(self, other) is not None:
                raise ParameterError(f"{name} and {other} are two names of one choice: give one of them.")
        if self.domains not in DOMAINS:
            raise ParameterError(f"domains is one of {', '.join(DOMAINS)}, not {self.domains!r}.")
        if self.domains == "two" and not (self.directed is None and self.self_links is None):
            what = "directed and self_links are for networks: leave them out, or give domains='one'."
            raise ParameterError(what)
        sizes = (1, 1) if self.shape is None else self.shape
        if len(sizes) != 2 or not all(isinstance(n, int) and 0 < n <= MAX_SIDE for n in sizes):
            what = f"The shape must be two whole numbers from 1 to {MAX_SIDE:,}, not {self.shape!r}."
            raise ParameterError(what)

    @property
    def columns(self) -> tuple[ColumnChoice, ColumnChoice, ColumnChoice]:
        """Columns chosen as source, target and value, by either name."""
        row = self.row_column if self.source is None else self.source
        column = self.column_column if self.target is None else self.target
        return row, column, self.value_column if self.value is None else self.value

    @property
    def weight(self) -> str | Literal[False] | None:
        """Value of a graph's edge that is its weight, False if none is (None: guessed)."""
        value = self.columns[2]
        if isinstance(value, int) and value is not False:
            raise ParameterError("Values of edges have names and no positions: give value_column as a name.")
        return value

    @property
    def part(self) -> FrameChoices:
        """Part of a file with several that is read."""
        return FrameChoices(self.sheet, self.table, self.query)

    @property
    def wants_network(self) -> bool:
        """Return whether both sides are to be the same objects, whatever the source looks like."""
        asked = self.same_nodes or self.directed is not None or self.self_links is not None
        return self.domains == "one" or (self.domains == "auto" and asked)


@dataclass(frozen=True)
class Sides:
    """Kinds of the two sides of a relation, and why they are taken so."""

    domains: Literal["one", "two"]  # the same objects on both sides, or two kinds of objects
    reason: str  # a sentence
    directed: bool | None = None  # of a network; None for two kinds of objects
    self_links: bool | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the sides as JSON-able values."""
        return dict(self.__dict__)


@dataclass(frozen=True)
class Layout(FileLayout):
    """How a relation is (or would be) read."""

    row_column: int | None = None  # of the row labels; None: the rows of a matrix have none
    column_column: int | None = None  # of an edge list, as is the next; None: every line is a link
    value_column: int | None = None
    direction_column: int | None = None  # of an edge list: says of each link whether it has a direction
    sides: Sides | None = None  # known once the whole file was read

    @property
    def used_columns(self) -> set[int | None] | None:
        """The columns of an edge list that are read."""
        used = {self.row_column, self.column_column, self.value_column, self.direction_column}
        return used if self.format == "edges" else None

    @property
    def text_column(self) -> int | None:
        """The first column of an edge list that holds long texts rather than names; None where there is none."""
        columns = zip(*self.rows, strict=True) if self.format == "edges" else ()
        return next((at for at, values in enumerate(columns) if holds_texts(values)), None)


def holds_texts(values: Sequence[str]) -> bool:
    """Return whether a column holds long texts: several words each, hardly one twice, unlike names of objects."""
    given = [value for value in values if value.strip()]
    if not given or 2 * len(given) < len(values):
        return False
    words = sum(len(value.split()) for value in given) / len(given)
    letters = sum(map(len, given)) / len(given)
    different = len(set(given)) / len(given)
    return words >= _TEXT_WORDS and letters >= _TEXT_LETTERS and different > _TEXT_DIFFERENT


def refuse_texts(layout: Layout) -> None:
    """Raise DataError where a column holds long texts, which may as well be documents, and nobody chose the columns."""
    at = layout.text_column
    if at is None or layout.row_column is None or layout.column_column is None:
        return
    # Without a line of names, columns are chosen by position.
    names = dict(enumerate(layout.column_names)) if layout.header else {}
    row, column, text = (names.get(i, i) for i in (layout.row_column, layout.column_column, at))
    called = repr(text) if layout.header else f"at position {at} (counted from 0)"
    what = f"the column {called} holds long texts, so this may be documents or links"
    remedy = (
        f"To read documents, use load_corpus (text_column={text!r}). To read links, choose their columns: "
    )
    remedy += f"(row_column={row!r}) (column_column={column!r})."
    raise DataError(what, source=layout.filename, value=layout.rows[0][at], remedy=remedy)


def with_choices(layout: Layout, options: ReadOptions) -> Layout:
    """Return the layout with the user's columns; guesses give way to them.

    DataError where there is no such column, or one is to hold two things; ParameterError where there is a threshold,
    but no column of values.
    """
    row, column, value = options.columns
    if layout.format == "matrix" and row is not None:
        return replace(layout, row_column=column_position(layout, row))
    if layout.format != "edges":
        return layout
    row_at, column_at, value_at = (column_position(layout, choice) for choice in (row, column, value))
    taken = {row_at, column_at, value_at}
    if row_at is None:
        row_at = _next_column(layout, layout.row_column, taken)
    if column_at is None:
        column_at = _next_column(layout, layout.column_column, taken | {row_at})
    if value is None and layout.value_column not in taken | {row_at, column_at}:
        value_at = layout.value_column
    chosen = [at for at in (row_at, column_at, value_at) if at is not None]
    if row_at is None or column_at is None or len(set(chosen)) < len(chosen):
        what = "row labels, column labels and values need a column each"
        remedy = f"Choose different columns among {column_list(layout)}."
        raise DataError(what, source=layout.filename, remedy=remedy)
    if options.threshold is not None and value_at is None:
        raise ParameterError("A threshold needs a column of values; choose one with value_column.")
    direction_at = None if layout.direction_column in chosen else layout.direction_column
    return replace(
        layout,
        row_column=row_at,
        column_column=column_at,
        value_column=value_at,
        direction_column=direction_at,
    )


def _next_column(layout: Layout, guessed: int | None, taken: set[int | None]) -> int | None:
    """Return the column that was guessed if nothing else is in it, else the first free one."""
    if guessed not in taken:
        return guessed
    return next((at for at in range(layout.n_fields) if at not in taken), None)


def no_data_fault(name: str) -> DataError:
    """Return the error for a file of which only the line of names was read."""
    what = "the file holds column names and no data"
    remedy = "Load a file with data in it, or say that its first line is data."
    return DataError(what, source=name, line=1, remedy=remedy)
