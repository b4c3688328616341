"""The reader of one kind of data, what a file contains, and the widgets of the options of reading."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, NamedTuple, TypeVar

import streamlit as st

from acvb_core.core.errors import AcvbError
from acvb_core.data.infer import DataKind, KindGuess, guess_encodings, guess_kind, read_beginning
from acvb_core.data.names import make_unique
from acvb_core.data.options import OPTIONS, Option, find_option, parse_shape, parse_threshold
from acvb_core.data.report import Fact, LoadedData
from acvb_core.data.schema import Kind, Schema
from acvb_core.data.sources.containers import FileChoices
from pages.ui.shared.model_pages import all_model_pages
from pages.ui.shared.picking import choose_way
from pages.ui.upload.files import DataFile, rewind

#: Choices that are no column, and no value. None could be cleared, and False would equal the first column's position.
_NONE, _AUTO = -1, "auto"
#: In the session: what a file was read to before it is loaded.
DRAFT = "upload_draft"
_T = TypeVar("_T")


@dataclass(frozen=True)
class OpenFile:
    """A file, and how it is read."""

    file: DataFile
    kind: KindChoice
    prefix: str  # of the keys of its widgets
    looking: dict[str, Any]  # options that say how it is inspected
    schema: Schema
    loading: dict[str, Any] = field(default_factory=dict)  # the others

    @property
    def options(self) -> dict[str, Any]:
        """The options of the function that loads it."""
        return {"filename": self.file.name} | self.looking | self.loading

    def key_of(self, option: Option) -> str:
        """Return the key of the widget of an option; that of columns changes with the columns."""
        schema = self.schema
        own = f"_{schema.format}_{schema.n_fields}_{schema.header}" if "column" in option.ask else ""
        return f"{self.prefix}{own}_{option.name}"


class Draft(NamedTuple):
    """How a file would be loaded."""

    load: Callable[..., LoadedData[Any]]  # of a file and its `name`
    identity: str = ""  # of what decides the data besides the options
    refusal: str = ""  # why it cannot be loaded, in a sentence without names from the file
    #: `load` takes `progress`, which it calls with the share that is read, and broken="skip", which leaves out lines
    #: that cannot be read.
    patient: bool = False


class Reader(ABC):
    """One kind of data; `upload_form` draws the form around it."""

    model: str  #: the model for such data, or one of them
    kinds: ClassVar[Mapping[DataKind, str]]  #: the kinds of data that it reads, and their names for people
    kind: Kind  #: the kind of data in the tables of formats and options
    #: Options that can be changed after a file was read: a change reads it again at once.
    read_at_once: Collection[str] = ()

    inspector: Callable[..., Schema]  #: proposes how to read a file: (file, name, options) -> schema

    def inspect(
        self, file: DataFile, looking: dict[str, Any], kind: DataKind
    ) -> tuple[dict[str, Any], Schema]:
        """Propose how to read a file; return the options, completed for this kind of data, and the schema."""
        return looking, self.inspector(rewind(file), file.name, **looking)

    def ask(self, opened: OpenFile) -> dict[str, Any]:
        """Draw the options that are not advanced and return those that were chosen."""
        return ask_options(opened)

    @abstractmethod
    def prepare(self, opened: OpenFile) -> Draft:
        """Draw further settings, and their effect, and return how the file would be loaded."""

    def carry_over(self, before: Any, data: Any) -> Any:
        """Return data that were read again, with what the user added to the ones before; by default as they are."""
        return data


def keep_last(slot: str, key: Any, make: Callable[[], _T], spinner: str = "") -> _T:
    """Return what `make` gives, which the session keeps in a slot until the key is another one."""
    known = st.session_state.get(slot)
    if known is None or known[0] != key:
        st.session_state.pop(slot, None)  # two large ones need not be held at once
        with st.spinner(spinner) if spinner else nullcontext():
            known = st.session_state[slot] = key, make()
    found: _T = known[1]
    return found


def ask_options(
    opened: OpenFile,
    *,
    advanced: bool = False,
    skip: Collection[str] = (),
    defaults: Mapping[str, Any] | None = None,
    notes: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Draw the options of loading that a file has and return those that were chosen."""
    rows = [
        row
        for row in OPTIONS
        if row.label and not row.inspects and row.advanced == advanced and row.name not in skip
        if row.applies(opened.schema)
    ]
    found: dict[str, Any] = {}
    across = 2 if len(rows) in (2, 4) else min(len(rows), 3)
    places: list[Any] = []
    for row in rows:
        if row.name == "threshold" and found.get("value_column") is False:
            continue
        places = places or st.columns(across, vertical_alignment="top" if notes else "bottom")
        with places.pop(0):
            words, default = _list_columns(row, opened.schema, defaults or {})
            chosen = ask_value(row, opened.key_of(row), words=words, default=default)
            if notes and row.name in notes:
                st.caption(notes[row.name])
        if chosen is not None:
            found[row.name] = chosen
    return found


def _list_columns(
    row: Option, schema: Schema, defaults: Mapping[str, Any]
) -> tuple[dict[Any, str] | None, Any]:
    """Return the columns that an option can name, with their names, and the one that is proposed; None for others."""
    if "column" not in row.ask:
        return None, None
    others: dict[Any, str] = {_NONE: row.none} if row.none else {}
    if row.auto:
        guess = "none" if schema.row_column is None else name_columns(schema)[schema.row_column]
        others = {_AUTO: f"{row.auto} ({guess})"} | others
    names = dict(enumerate(name_columns(schema, *others.values())))
    places = [0] if (row.name, schema.format) == ("row_column", "matrix") else column_places(schema)
    return others | {at: names[at] for at in places}, defaults.get(row.name, getattr(schema, row.name, None))


def ask_value(
    row: Option, key: str, *, words: Mapping[Any, str] | None = None, label: str = "", default: Any = None
) -> Any:
    """Draw the widget of an option and return its value; None: the reader decides.

    `words` are the values to choose among (default: the option's own), `label` another label.

    Raises ParameterError: what was typed is no value of it.
    """
    common: Any = {"key": key, "help": row.help, "persist_state": "session"}
    label, words = label or row.label, row.choices if words is None else words
    chosen: Any
    if words and row.ask in ("words", "columns"):
        chosen = st.multiselect(label, list(words), default, format_func=words.__getitem__, **common)
    elif words:
        words = ({_AUTO: row.auto} if row.auto else {}) | dict(words)
        index = list(words).index(default) if default in words else 0
        chosen = st.selectbox(label, list(words), index, words.__getitem__, **common)
    elif row.ask == "flag":
        chosen = st.toggle(label, True, **common)
    elif row.ask == "file":
        chosen = st.file_uploader(label, key=key, help=row.help)
    else:
        chosen = st.text_input(label, default or "", placeholder=row.hint, **common)
    return take_value(row, chosen)


def take_value(row: Option, chosen: Any) -> Any:
    """Return the value that a widget stands for; None: the reader decides."""
    if isinstance(chosen, str):
        chosen = chosen.strip()
    if chosen in (None, "", _AUTO):
        return None
    if row.ask in ("words", "columns"):
        parts = re.split(r"\s*[;,\n]\s*", chosen) if isinstance(chosen, str) else chosen
        return tuple(part for part in parts if part != "")
    if row.ask == "column":
        return False if chosen == _NONE else chosen
    if row.ask == "file":
        return chosen.getvalue()
    if row.ask == "number":
        return parse_threshold(chosen)
    return parse_shape(chosen) if row.name == "shape" else chosen


def column_places(schema: Schema) -> Sequence[int]:
    """Return the positions of the columns that can be chosen."""
    return range(min(schema.n_fields, len(schema.column_names)))


def name_columns(schema: Schema, *taken: str) -> list[str]:
    """Return a name for each column that no other column has and that is not `taken`.

    Of two options with the same name, Streamlit returns the last one, whichever was chosen.
    """
    names = [name.strip() or f"column {at}" for at, name in enumerate(schema.column_names, start=1)]
    return make_unique([*taken, *names])[0][len(taken) :]


class KindChoice(NamedTuple):
    """The kind of data in a file, and its reader."""

    kind: DataKind
    reader: Reader
    key: str  # of the widget
    recognised: bool = True  # it was guessed; otherwise the user has chosen it
    facts: tuple[Fact, ...] = ()  # what reading the whole file for the guess found

    def find_sentence(self, *names: str) -> str:
        """Return the sentence of the first fact with one of these names, "" if there is none."""
        return next((fact.sentence for fact in self.facts if fact.name in names), "")


def all_readers() -> list[Reader]:
    """Return the reader of each kind of data."""
    return [pages.reader for pages in all_model_pages().values() if pages.reader is not None]


def choose_part(choices: FileChoices, prefix: str) -> dict[str, Any]:
    """Draw the choice among several sheets or tables, and a query of a database; return it as options."""
    part: dict[str, Any] = {}
    rows = {name: row for name in choices.options if (row := find_option(name)) is not None}
    if len(choices.parts) > 1:
        name = choices.options[0]
        words = {part: part for part in choices.parts}
        part[name] = ask_value(rows[name], f"{prefix}_part", words=words, default=choices.default)
        if name == "sheet" and part[name] == choices.default:
            st.caption(
                "The sheet with most rows is open. Hidden sheets are left aside unless you choose one."
            )
    if "query" in rows:
        with st.expander("Write a query", icon=":material/database:", key=f"{prefix}_ask"):
            query = ask_value(rows["query"], f"{prefix}_query")
        if query:
            return {"query": query}
    return part


def choose_encoding(file: DataFile, prefix: str) -> dict[str, Any]:
    """Draw the choice of an encoding, with words as they read in it; none for a text in UTF-8 and for other files."""
    guesses = keep_last(
        "upload_encodings", prefix, lambda: guess_encodings(read_beginning(rewind(file), file.name)[0])
    )
    if not guesses:
        return {}
    words = {guess.encoding: ", ".join(guess.words) for guess in guesses}
    with st.container(border=True, gap="small", key="encoding_question"):
        st.markdown("**Do these words look right?**")
        chosen = st.selectbox(
            "Encoding",
            list(words),
            key=f"{prefix}_not_utf8",
            persist_state="session",
            help="How letters are stored. This file is not in UTF-8, so the usual encodings were tried: "
            "the most likely one comes first.",
        )
        st.text(words[chosen] or "No word with such letters is short enough to show.")
        st.caption("If they do not, choose another encoding.")
    return {"encoding": chosen}


def choose_kind(file: DataFile, prefix: str, looking: dict[str, Any]) -> KindChoice:
    """Draw the kinds of data as a switch, the guessed one chosen, and the reason for the guess."""
    guess = keep_last("upload_guess", prefix, partial(_guess_kind, file, looking), "Looking at the file")
    readers = {kind: reader for reader in all_readers() for kind in reader.kinds}
    names = {kind: reader.kinds[kind] for kind, reader in readers.items()}
    with st.container(key="upload_kind", gap="xsmall"):
        kind: DataKind = choose_way(
            "What kind of data do you have?",
            names,
            f"{prefix}_kind",
            default=guess.kind,
            persist_state="session",
            width="stretch",
            help="Are rows and columns the same objects? Then links are a network, otherwise a relation.",
        )
        if guess.reason:  # it quotes names: no Markdown
            st.text(f"Recognised: {names[guess.kind].lower()}. {guess.reason}")
    recognised = kind == guess.kind and bool(guess.reason)
    return KindChoice(kind, readers[kind], f"{prefix}_kind", recognised, guess.facts if recognised else ())


def _guess_kind(file: DataFile, looking: dict[str, Any]) -> KindGuess:
    try:
        return guess_kind(rewind(file), file.name, **looking)
    except AcvbError:
        return KindGuess(next(iter(all_readers()[0].kinds)), "")  # its reader says what is wrong
