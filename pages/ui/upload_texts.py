"""Reading texts and word counts: their formats and columns, and a tokeniser that shows at once what it does."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, BinaryIO, ClassVar

import streamlit as st

from acvb_core.data.corpus import Corpus
from acvb_core.data.corpus_layout import CORPUS_FORMATS, CorpusLayout
from acvb_core.data.corpus_readers import inspect_corpus, load_corpus, read_texts
from acvb_core.data.corpus_texts import Texts, corpus_of_texts
from acvb_core.data.report import ReadReport
from acvb_core.data.tokeniser import Tokeniser
from pages.ui.reading import Reader, column_choice, column_places, guess_prefix
from pages.ui.tokeniser import tokeniser_form, tokeniser_preview

_READ = "texts_read"


@dataclass(frozen=True)
class Draft:
    """Texts that were read, and how they would be cut."""

    texts: Texts
    tokeniser: Tokeniser

    def __repr__(self) -> str:
        """Say what decides the corpus beside the file."""
        return repr(self.tokeniser)


class TextReader(Reader):
    """Tables, lines and archives of texts; word counts in three forms."""

    model = "lda"
    brought = "Texts"
    formats: ClassVar[dict[Any, str]] = CORPUS_FORMATS
    badges: ClassVar[dict[str, str]] = {
        "counts": "word counts",
        "docword": "UCI docword",
        "ldac": "LDA-C",
        "table": "table with texts",
        "lines": "one document a line",
        "zip": "zip of .txt files",
    }
    delimiters: ClassVar[dict[str, str]] = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar |"}
    endings = (".csv", ".tsv", ".txt", ".zip", ".dat", ".ldac")
    files = (
        "A table with a column of texts, one document a line, a zip of .txt files, or word counts (document, word, "
        "count; UCI docword; LDA-C). Any of them gzipped."
    )
    unit = "record"

    def inspect(self, file: BinaryIO, looking: dict[str, Any]) -> CorpusLayout:
        """Propose how to read a file."""
        return inspect_corpus(file, file.name, **looking)

    def options(self, layout: CorpusLayout, prefix: str) -> dict[str, Any]:
        """Return nothing: there is no more to choose."""
        return {}

    def columns(self, layout: CorpusLayout, prefix: str) -> dict[str, Any]:
        """Draw which column means what, and the list of words that counts may need."""
        choice = partial(column_choice, layout, guess_prefix(prefix, layout))
        places = column_places(layout)
        if layout.format == "table":
            return {
                "text_column": choice("Texts", places, layout.text_column),
                "name_column": choice(
                    "Names of the documents", places, layout.name_column, "none: numbered"
                ),
                "label_column": choice(
                    "Labels", places, layout.label_column, "none",
                    "Known groups, to look at beside the topics. No run ever sees them.",
                ),
            }  # fmt: skip
        if layout.has_texts:
            return {}
        loading: dict[str, Any] = {}
        if layout.format == "counts":
            loading["document_column"] = choice("Documents", places, layout.document_column)
            loading["word_column"] = choice("Words", places, layout.word_column)
            none = "none: each line is one token"
            loading["count_column"] = choice("Counts", places, layout.count_column, none)
        words = st.file_uploader(
            "List of words (optional)",
            key=f"{prefix}_vocabulary",
            help="One word a line: what the numbers in the file stand for.",
        )
        if words is not None:
            loading["vocabulary"] = words.getvalue()
        return loading

    def draft(
        self,
        file: BinaryIO,
        layout: CorpusLayout,
        looking: dict[str, Any],
        loading: dict[str, Any],
        prefix: str,
    ) -> Draft | None:
        """Read the texts, once for each way to read them, and draw how they are cut."""
        if not layout.has_texts:
            return None
        key = repr((prefix, looking, loading))
        known = st.session_state.get(_READ)
        if known is None or known[0] != key:
            self.forget()  # two large ones need not be held at once
            file.seek(0)
            with st.spinner("Reading"):
                known = key, read_texts(file, filename=file.name, **looking, **loading)
            st.session_state[_READ] = known
        return Draft(known[1], tokeniser_form(prefix))

    def preview(self, draft: Draft | None) -> None:
        """Draw what the tokeniser keeps and drops."""
        if draft is not None:
            tokeniser_preview(draft.texts.preview(draft.tokeniser))

    def forget(self) -> None:
        """Let go of the texts."""
        st.session_state.pop(_READ, None)

    def load(
        self,
        file: BinaryIO,
        name: str | None,
        looking: dict[str, Any],
        loading: dict[str, Any],
        draft: Draft | None,
    ) -> tuple[Corpus, ReadReport]:
        """Cut the texts that were read, or read the counts."""
        if draft is not None:
            loaded = corpus_of_texts(draft.texts, draft.tokeniser, name=name)
        else:
            loaded = load_corpus(file, filename=file.name, name=name, **looking, **loading)
        return loaded.corpus, loaded.report
