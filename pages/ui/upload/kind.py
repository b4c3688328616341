"""The encoding of a file and its kind of data: guessed from its content, with the choice of others."""

from __future__ import annotations

from typing import Any, NamedTuple

import streamlit as st

from acvb_core.core.errors import AcvbError
from acvb_core.data.infer import (
    DataKind,
    EncodingGuess,
    KindGuess,
    guess_encodings,
    guess_kind,
    read_beginning,
)
from acvb_core.data.report import Fact
from pages.ui.shared.model_pages import all_model_pages
from pages.ui.upload.files import DataFile, rewind
from pages.ui.upload.reader import Reader

_ENCODINGS, _KIND = "upload_encodings", "upload_guess"


class KindChoice(NamedTuple):
    """The kind of data in a file, and its reader.

    Attributes
    ----------
    kind : DataKind
    reader : Reader
    recognised : bool
        It was guessed; otherwise the user has chosen it.
    facts : tuple of Fact
        What reading the file for the guess found.
    """

    kind: DataKind
    reader: Reader
    recognised: bool = True
    facts: tuple[Fact, ...] = ()


def all_readers() -> list[Reader]:
    """Return the reader of each kind of data."""
    return [pages.reader for pages in all_model_pages().values() if pages.reader is not None]


def choose_encoding(file: DataFile, prefix: str) -> str | None:
    """Draw the choice of an encoding, with words as they read in it; None for a text in UTF-8 and for other files."""
    guesses = _guess_encodings(file, prefix)
    if not guesses:
        return None
    with st.container(border=True, gap="small", key="encoding_question"):
        st.markdown("**Do these words look right?**")
        chosen = st.selectbox(
            "Encoding",
            [guess.encoding for guess in guesses],
            key=f"{prefix}_not_utf8",
            persist_state="session",
            help="How letters are stored. This file is not in UTF-8, so the usual encodings were tried: "
            "the most likely one comes first.",
        )
        words = next(guess.words for guess in guesses if guess.encoding == chosen)
        st.text(", ".join(words) or "No word with such letters is short enough to show.")
        st.caption("If they do not, choose another encoding.")
    return str(chosen)


def _guess_encodings(file: DataFile, prefix: str) -> list[EncodingGuess]:
    known = st.session_state.get(_ENCODINGS)
    if known is None or known[0] != prefix:
        content, _ = read_beginning(rewind(file), file.name)
        known = st.session_state[_ENCODINGS] = prefix, guess_encodings(content)
    guesses: list[EncodingGuess] = known[1]
    return guesses


def choose_kind(file: DataFile, prefix: str, looking: dict[str, Any]) -> KindChoice:
    """Draw the kinds of data as a switch, the guessed one chosen, and the reason for the guess."""
    guess = _guess_kind(file, prefix, looking)
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
        if guess.reason:
            st.text(
                f"Recognised: {names[guess.kind].lower()}. {guess.reason}"
            )  # it quotes names: no Markdown
    recognised = kind == guess.kind and bool(guess.reason)
    return KindChoice(kind, readers[kind], recognised, guess.facts if recognised else ())


def _guess_kind(file: DataFile, prefix: str, looking: dict[str, Any]) -> KindGuess:
    """Return the guess; the file is looked at once for each part and encoding."""
    key = repr((prefix, looking))
    known = st.session_state.get(_KIND)
    if known is None or known[0] != key:
        try:
            with st.spinner("Looking at the file"):
                guess = guess_kind(rewind(file), file.name, **looking)
        except AcvbError:
            guess = KindGuess(next(iter(all_readers()[0].kinds)), "")  # its reader says what is wrong
        known = st.session_state[_KIND] = key, guess
    result: KindGuess = known[1]
    return result
