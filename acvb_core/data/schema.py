"""The schema of a source: its format, its columns, and which column means what; readers propose, users correct."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, cast

from acvb_core.core.errors import DataError, ParameterError
from acvb_core.data.sources.values import NumberStyle

Kind = Literal["relation", "corpus", "table"]
#: A column by its header name or its 0-based position; False: there is none; None: it is guessed.
ColumnChoice = str | int | Literal[False] | None
#: Records that a schema shows.
PREVIEW_ROWS = 20
#: The roles of columns by format, or kind and format: those that a source cannot do without, and the others.
ROLES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "edges": (("row_column", "column_column"), ("value_column", "direction_column")),
    "matrix": ((), ("row_column",)),
    "counts": (("document_column", "word_column"), ("count_column",)),
    "corpus matrix": ((), ("document_column", "label_column")),
    "table": (("text_column",), ("name_column", "label_column")),
}


def lower_names(names: Iterable[str]) -> list[str]:
    """Return the names of columns as they are compared with the usual ones."""
    return [name.strip().lower() for name in names]


@dataclass(frozen=True)
class Sides:
    """Kinds of the two sides of a relation, and why they are taken so."""

    domains: Literal["one", "two"]  # the same objects on both sides, or two kinds of objects
    reason: str  # a sentence
    directed: bool | None = None  # of a network; None for two kinds of objects
    self_links: bool | None = None


@dataclass(frozen=True)
class Schema:
    """How a source is (or would be) read; columns are 0-based positions.

    Counts without a count column have one token in each line. Fields of `rows` may be cut; of a zip archive they are
    the names and sizes of its files. In a table of numbers, columns without a name are "x1", "x2", ….
    """

    kind: Kind
    format: str  # a row of the table of formats; of a table also "sparse npz", "array" or "frame"
    filename: str  # name the user knows the source by
    gzipped: bool = False
    #: None if the format has none, as `delimiter`; of a zip archive, unless it was given.
    encoding: str | None = None
    delimiter: str | None = None
    header: bool = False  # the first line holds names
    column_names: tuple[str, ...] = ()  # the header's fields, or names such as "column 1", "column 2", …
    #: The first records of data, at most PREVIEW_ROWS, each with all fields.
    rows: tuple[tuple[str, ...], ...] = ()
    n_fields: int = 0  # in each record; 0 if a record has no columns
    container: str = "text"  # what holds the columns: "text", or that of a `Frame` ("parquet", "excel", …)
    #: The roles: of links or of a matrix (the names of its rows, as of a table of numbers if no two are the same), …
    row_column: int | None = None
    column_column: int | None = None
    value_column: int | None = None
    direction_column: int | None = None  # says of each link whether it has a direction
    #: … of word counts, …
    document_column: int | None = None
    word_column: int | None = None
    count_column: int | None = None
    #: … of texts.
    text_column: int | None = None
    name_column: int | None = None
    label_column: int | None = None
    sides: Sides | None = None  # of a relation; known once the whole source was read
    decimal: str = "."  # how numbers are written (`NumberStyle`)
    thousands: str = ""
    kinds: tuple[str, ...] = ()  # of a table: what each column holds: "numbers", "text", "mixed" or "missing"
    lines: tuple[int, ...] = ()  # the 1-based line of the file, or row, that each of `rows` starts on
    title_lines: int = 0  # lines above the table that are skipped

    @property
    def style(self) -> NumberStyle:
        """How numbers are written."""
        return NumberStyle(self.decimal, self.thousands)

    @property
    def roles(self) -> dict[str, int | None]:
        """The column of each role that the format has."""
        return {role: getattr(self, role) for role in itertools.chain(*self._roles)}

    @property
    def _roles(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        return ROLES.get(f"{self.kind} {self.format}", ROLES.get(self.format, ((), ())))

    @property
    def used_columns(self) -> set[int | None] | None:
        """The columns that are read; None: all, or whatever else the format has."""
        return set(self.roles.values()) if self.format == "edges" else None

    @property
    def first_line(self) -> int:
        """Line of the names of the columns; of the first record if there are none."""
        return self.lines[0] - self.header if self.lines else self.title_lines + 1

    @property
    def label_name(self) -> str:
        """The name of the column of the known groups; "" if it has none."""
        named = self.header and self.label_column is not None and self.kind == "corpus"
        return self.column_names[self.label_column or 0].strip() if named else ""

    @property
    def has_texts(self) -> bool:
        """Return whether documents are texts, which a tokeniser cuts, and no counts."""
        return self.format in ("table", "lines", "zip")

    def to_dict(self) -> dict[str, Any]:
        """Return the schema as JSON-able values."""
        return cast(dict[str, Any], json.loads(json.dumps(asdict(self))))

    def position(self, choice: ColumnChoice) -> int | None:
        """Return the 0-based position of a column given by name or position, None for False and None.

        A column that the source does not have is a DataError.
        """
        if choice is False or choice is None:
            return None
        remedy = f"Choose among {self.list_columns()}."
        if isinstance(choice, str):
            if self.header and choice in self.column_names:
                return self.column_names.index(choice)
            what = "there is no column of this name"
            raise DataError(what, source=self.filename, line=self.first_line, value=choice, remedy=remedy)
        if 0 <= choice < self.n_fields:
            return int(choice)
        what = f"there is no column at position {choice} (counted from 0)"
        raise DataError(what, source=self.filename, remedy=remedy)

    def list_columns(self) -> str:
        """Return the names of the first columns, for a remedy."""
        return ", ".join(map(repr, self.column_names[:10])) or "the columns of another format"

    def with_records(
        self,
        records: Sequence[Sequence[str]],
        lines: tuple[int, ...],
        *,
        header: bool,
        unnamed: str = "column {}",
    ) -> Schema:
        """Return the schema with the names of the columns, numbers if they are `unnamed`, and the first records."""
        shown = slice(header, header + PREVIEW_ROWS)
        numbered = map(unnamed.format, range(1, len(records[0]) + 1))
        return replace(
            self,
            header=header,
            column_names=tuple(records[0] if header else numbered),
            rows=tuple(map(tuple, records[shown])),
            lines=lines[shown],
            n_fields=len(records[0]),
        )

    def with_columns(self, choices: Mapping[str, ColumnChoice]) -> Schema:
        """Return the schema with the user's columns, to which guesses give way.

        The choices are by role. A column with two roles is a DataError, a role that the format does not have a
        ParameterError.
        """
        needed, _ = self._roles
        given = {role: choice for role, choice in choices.items() if choice is not None}
        for role in given:
            if role not in self.roles:
                raise ParameterError(f"{role} does not apply: {self.filename} is read as {self.format}.")
        if not given:
            return self
        found = {role: self.position(choice) for role, choice in given.items()}
        for role, guess in self.roles.items():
            found.setdefault(role, None if guess in found.values() else guess)
        for role in needed:
            if found[role] is None:
                free = (at for at in range(self.n_fields) if at not in found.values())
                found[role] = next(free, None)
        used = [position for position in found.values() if position is not None]
        if len(set(used)) < len(used) or any(found[role] is None for role in needed):
            *first, last = (role.removesuffix("_column") for role in self.roles)
            what = f"{', '.join(first)} and {last} need a column each"
            remedy = f"Choose different columns among {self.list_columns()}."
            raise DataError(what, source=self.filename, remedy=remedy)
        return replace(self, **found)  # type: ignore[arg-type]
