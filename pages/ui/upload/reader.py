"""The reader of one kind of data: what the upload form asks of each, and choices that they share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import streamlit as st

from acvb_core.core.errors import AcvbError
from acvb_core.data.infer import DataKind
from acvb_core.data.names import make_unique
from acvb_core.data.report import ReadReport
from acvb_core.data.schema import Kind
from pages.ui.upload.files import DataFile

if TYPE_CHECKING:
    from pages.ui.upload.kind import KindChoice

#: No column. False would equal the first column's position, and None a choice that was not made.
_NONE = -1


class Reader(ABC):
    """One kind of data; `upload_form` draws the form around it.

    Attributes
    ----------
    model : str
        The model for such data, or one of them.
    kinds : mapping of str to str
        The kinds of data that it reads, and their names for people.
    kind : "relation", "corpus" or "table"
        The kind of data in the table of formats.
    asks_format : bool
        `inspect` takes a format.
    delimiters : mapping of str to str
    unit : str
        Word for a line of the preview.
    read_at_once : tuple of str
        Arguments of `load` that can be changed after a file was read: a change reads it again at once.
    column_formats : tuple of str
        Formats that a file of columns, such as Parquet, can have.
    inspect_options : mapping
        Further arguments of `inspect` beside encoding, format, delimiter and header, and their defaults.
    """

    model: str
    kinds: ClassVar[Mapping[DataKind, str]]
    kind: Kind
    asks_format: bool = True
    delimiters: ClassVar[Mapping[str, str]]
    unit: str
    read_at_once: tuple[str, ...] = ()
    column_formats: tuple[str, ...] = ()
    inspect_options: ClassVar[Mapping[str, Any]] = {}

    def resolve_format(self, file: DataFile, looking: dict[str, Any], kind: DataKind) -> dict[str, Any]:
        """Return the arguments of `inspect` with the format in which a file holds such data; by default as they are."""
        return looking

    @abstractmethod
    def inspect(self, file: DataFile, looking: dict[str, Any]) -> Any:
        """Propose how to read a file; a schema."""

    def ask_how_to_inspect(self, prefix: str) -> None:
        """Draw the widgets of `inspect_options`, the key of each the prefix and its name; by default nothing."""
        return

    @abstractmethod
    def choose_options(self, schema: Any, prefix: str) -> dict[str, Any]:
        """Draw the choices that are seldom needed and return the arguments of `load` that they make."""

    @abstractmethod
    def choose_columns(self, schema: Any, prefix: str, choice: KindChoice) -> dict[str, Any]:
        """Draw the meanings of the columns and return the arguments of `load` that they make."""

    def choose_place(
        self, file: DataFile, schema: Any, looking: dict[str, Any], loading: dict[str, Any], prefix: str
    ) -> dict[str, Any]:
        """Draw the choice of a place for the data and return the arguments of `load` that it makes; by default none."""
        return {}

    def can_skip_lines(self, loading: dict[str, Any]) -> bool:
        """Return whether `load` takes broken="skip", which leaves out lines that cannot be read."""
        return False

    def suggest_other_way(self, loading: dict[str, Any], error: AcvbError) -> str:
        """Return another way to read a file that stops `load` with such an error; by default ""."""
        return ""

    def tells_share(self, loading: dict[str, Any]) -> bool:
        """Return whether `load` takes `progress`, which it calls with the share that is read; by default not."""
        return False

    def make_draft(
        self, file: DataFile, schema: Any, looking: dict[str, Any], loading: dict[str, Any], prefix: str
    ) -> Any:
        """Draw settings and their effect before the file is loaded, and return them; by default None."""
        return None

    def refuse_draft(self, draft: Any) -> str:
        """Return why a draft cannot be loaded, in a sentence without names from the file; by default ""."""
        return ""

    def forget_draft(self) -> None:
        """Release what is kept of a file between its drafts; by default nothing."""
        return

    @abstractmethod
    def load(
        self, file: DataFile, name: str | None, looking: dict[str, Any], loading: dict[str, Any], draft: Any
    ) -> tuple[Any, ReadReport]:
        """Return the data and the report of the reading."""

    def carry_over(self, before: Any, data: Any) -> Any:
        """Return data that were read again, with what the user added to the ones before; by default as they are."""
        return data


def guess_prefix(prefix: str, schema: Any) -> str:
    """Return a prefix of keys that changes with the delimiter or format, as the guesses are then others."""
    return f"{prefix}_{schema.format}_{schema.n_fields}_{schema.header}"


def column_places(schema: Any) -> list[int]:
    """Return the positions of the columns that can be chosen."""
    return list(range(min(schema.n_fields, len(schema.column_names))))


def name_columns(schema: Any, *taken: str) -> list[str]:
    """Return a name for each column that no other column has and that is not `taken`.

    Of two options with the same name, Streamlit returns the last one, whichever was chosen.
    """
    names = [name.strip() or f"column {at}" for at, name in enumerate(schema.column_names, start=1)]
    return make_unique([*taken, *names])[0][len(taken) :]


def column_choice(
    schema: Any,
    prefix: str,
    label: str,
    places: Sequence[int],
    default: int | None,
    none: str | None = None,
    help: str | None = None,
    at: Any = st,
) -> Any:
    """Draw the choice of one column and return its position, False for no column.

    Parameters
    ----------
    schema : Schema or Schema
    prefix, label : str
    places : sequence of int
        Columns to choose among.
    default : int or None
    none : str, optional
        Label of the choice of no column, if there need not be one.
    help : str, optional
    at : DeltaGenerator
        Where it is drawn.
    """
    options = list(places) if none is None else [_NONE, *places]
    names = name_columns(schema, *([] if none is None else [none]))
    chosen = at.selectbox(
        label,
        options,
        index=options.index(default) if default in options else 0,
        format_func=lambda place: none if place == _NONE else names[place],
        key=f"{prefix}_{label}",
        help=help,
        persist_state="session",
    )
    return False if chosen == _NONE else chosen
