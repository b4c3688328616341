"""The contents of a file: its sheets or tables, its encoding and its kind of data; guessed, with other choices."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import streamlit as st

from acvb_core.core.errors import AcvbError
from acvb_core.data.infer import DataKind, KindGuess, guess_encodings, guess_kind, read_beginning
from acvb_core.data.options import find_option
from acvb_core.data.report import Fact
from acvb_core.data.sources.containers import FileChoices
from pages.ui.shared.model_pages import all_model_pages
from pages.ui.upload.files import DataFile, rewind
from pages.ui.upload.reader import Reader, ask_value, keep_last


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
        kind = st.segmented_control(
            "What kind of data do you have?",
            list(names),
            format_func=names.__getitem__,
            default=guess.kind,
            required=True,
            key=f"{prefix}_kind",
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
