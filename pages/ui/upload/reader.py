"""How files of one kind of data are read: what the upload form asks of each, and choices that they share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

import streamlit as st

from acvb_core.core.errors import AcvbError
from acvb_core.data.report import ReadReport
from acvb_core.data.sources.formats import Kind
from pages.ui.upload.files import DataFile

#: No column. False would equal the first column's position, and None a choice that was not made.
_NONE = -1


class Reader(ABC):
    """One kind of data; `upload_form` draws the form around it.

    Attributes
    ----------
    model : str
        The model that is for such data, or one of them.
    brought : str
        What a user brings.
    kind : "relation", "corpus" or "table"
        What the table of formats calls such data.
    asks_format : bool
        Whether `inspect` takes a format.
    delimiters : mapping of str to str
    unit : str
        What a line of the preview is.
    at_once : tuple of str
        Arguments of `load` that are asked for after a file was read, too: a change of them reads it again at once.
    column_formats : tuple of str
        Formats that a file of columns, such as Parquet, can have.
    looks_at : mapping
        What `inspect` is told beside encoding, format, delimiter and header, and what it is unless chosen otherwise.
    """

    model: str
    brought: str
    kind: Kind
    asks_format: bool = True
    delimiters: ClassVar[Mapping[str, str]]
    unit: str
    at_once: tuple[str, ...] = ()
    column_formats: tuple[str, ...] = ()
    looks_at: ClassVar[Mapping[str, Any]] = {}

    @abstractmethod
    def inspect(self, file: DataFile, looking: dict[str, Any]) -> Any:
        """Propose how to read a file; a layout."""

    def look(self, prefix: str) -> None:
        """Draw the widgets of `looks_at`, the key of each the prefix and its name; there are none as a rule."""
        return

    @abstractmethod
    def options(self, layout: Any, prefix: str) -> dict[str, Any]:
        """Draw what is seldom needed and return the arguments of `load` it makes."""

    @abstractmethod
    def columns(self, layout: Any, prefix: str) -> dict[str, Any]:
        """Draw which column means what and return the arguments of `load` it makes."""

    def place(
        self, file: DataFile, layout: Any, looking: dict[str, Any], loading: dict[str, Any], prefix: str
    ) -> dict[str, Any]:
        """Draw where the data are to be kept and return the arguments of `load` it makes; nothing as a rule."""
        return {}

    def can_skip(self, loading: dict[str, Any]) -> bool:
        """Whether `load` takes broken="skip", to go on without lines that cannot be read."""
        return False

    def way_round(self, loading: dict[str, Any], error: AcvbError) -> str:
        """Say how else a file can be read that stops `load` with such an error; "" as a rule."""
        return ""

    @contextmanager
    def reading(self, loading: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Draw that the file is being read, as long as it is; give further arguments of `load`."""
        with st.spinner("Reading"):
            yield {}

    def draft(
        self, file: DataFile, layout: Any, looking: dict[str, Any], loading: dict[str, Any], prefix: str
    ) -> Any:
        """Draw settings whose effect is shown before the file is loaded; None where there are none."""
        return None

    def preview(self, draft: Any) -> None:
        """Draw the effect of a draft's settings; there are none unless a reader says otherwise."""
        return

    def forget(self) -> None:
        """Let go of what is kept of a file between its drafts; nothing unless a reader says otherwise."""
        return

    @abstractmethod
    def load(
        self, file: DataFile, name: str | None, looking: dict[str, Any], loading: dict[str, Any], draft: Any
    ) -> tuple[Any, ReadReport]:
        """Return the data and what reading them found."""

    def after(self, data: Any, report: ReadReport, loading: dict[str, Any], prefix: str) -> None:
        """Note what a file was read as; nothing unless a reader says otherwise."""
        return


def guess_prefix(prefix: str, layout: Any) -> str:
    """Return a prefix of keys: a new guess, after another delimiter or format was chosen, is a new question."""
    return f"{prefix}_{layout.format}_{layout.n_fields}_{layout.header}"


def column_places(layout: Any) -> list[int]:
    """Return the positions of the columns that can be chosen."""
    return list(range(min(layout.n_fields, len(layout.column_names))))


def column_choice(
    layout: Any,
    prefix: str,
    label: str,
    places: Sequence[int],
    default: int | None,
    none: str | None = None,
    help: str | None = None,
) -> Any:
    """Draw the choice of one column and return its position, False for none.

    Parameters
    ----------
    layout : Layout or CorpusLayout
    prefix, label : str
    places : sequence of int
        Columns to choose among.
    default : int or None
    none : str, optional
        What no column at all is called, where there need not be one.
    help : str, optional
    """
    options = list(places) if none is None else [_NONE, *places]
    chosen = st.selectbox(
        label,
        options,
        index=options.index(default) if default in options else 0,
        format_func=lambda place: none if place == _NONE else layout.column_names[place],
        key=f"{prefix}_{label}",
        help=help,
        persist_state="session",
    )
    return False if chosen == _NONE else chosen
