"""Reading texts and word counts: their formats and columns, and a tokeniser that shows at once what it does."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import streamlit as st

from acvb_core.core.errors import AcvbError, DataError
from acvb_core.data.corpora.build import Texts, corpus_of_texts
from acvb_core.data.corpora.disk_build import read_to_disk
from acvb_core.data.corpora.estimate import head_texts
from acvb_core.data.corpora.readers import inspect_corpus, load_corpus, read_texts
from acvb_core.data.corpora.tokenise import Tokeniser
from acvb_core.data.corpus import Corpus
from acvb_core.data.disk import DiskCorpus
from acvb_core.data.infer import DataKind
from acvb_core.data.report import ReadReport
from acvb_core.data.schema import ROLES, Schema
from pages.ui.lda.storage_choice import choose_storage
from pages.ui.lda.tokeniser import edit_tokeniser, explain_no_words
from pages.ui.shared import services
from pages.ui.upload.files import DataFile, rewind
from pages.ui.upload.kind import KindChoice
from pages.ui.upload.parts import part_of
from pages.ui.upload.reader import Reader, column_choice, column_places, guess_prefix

_READ = "texts_read"


@dataclass(frozen=True)
class TextDraft:
    """Texts that were read, and how they would be cut; of texts to be kept on disk only the first, if any."""

    texts: Texts | None
    tokeniser: Tokeniser
    first: bool = False

    def __repr__(self) -> str:
        """Say what decides the corpus beside the file."""
        return repr(self.tokeniser)


class TextReader(Reader):
    """Tables, lines and archives of texts; word counts in three forms; either in files of columns."""

    model = "lda"
    kinds: ClassVar[dict[DataKind, str]] = {"texts": "Texts", "counts": "Word counts"}
    kind = "corpus"
    delimiters: ClassVar[dict[str, str]] = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar |"}
    unit = "record"
    column_formats = tuple(ROLES)

    def resolve_format(self, file: DataFile, looking: dict[str, Any], kind: DataKind) -> dict[str, Any]:
        """Return the arguments with a format that holds texts, or word counts, as the user wants."""
        if looking["format"] != "auto":
            return looking
        schema = self.inspect(rewind(file), looking)
        if schema.has_texts == (kind == "texts"):
            return looking
        return looking | {"format": "table" if kind == "texts" else "counts"}

    def inspect(self, file: DataFile, looking: dict[str, Any]) -> Schema:
        """Propose how to read a file."""
        return inspect_corpus(file, file.name, **looking)

    def choose_options(self, schema: Schema, prefix: str) -> dict[str, Any]:
        """Return nothing: there is no more to choose."""
        return {}

    def choose_columns(self, schema: Schema, prefix: str, choice: KindChoice) -> dict[str, Any]:
        """Draw the meanings of the columns, and the list of words that counts may need."""
        column = partial(column_choice, schema, guess_prefix(prefix, schema))
        places = column_places(schema)
        if schema.format == "table":
            texts, names, labels = st.columns(3)
            about = "Known groups, to look at beside the topics. No run ever sees them."
            return {
                "text_column": column("Texts", places, schema.text_column, at=texts),
                "name_column": column(
                    "Names of the documents", places, schema.name_column, "none: numbered", at=names
                ),
                "label_column": column("Labels", places, schema.label_column, "none", about, at=labels),
            }
        if schema.has_texts:
            return {}
        loading: dict[str, Any] = {}
        if schema.format == "counts":
            documents, words_at, counts = st.columns(3)
            loading["document_column"] = column("Documents", places, schema.document_column, at=documents)
            loading["word_column"] = column("Words", places, schema.word_column, at=words_at)
            none = "none: each line is one token"
            loading["count_column"] = column("Counts", places, schema.count_column, none, at=counts)
        words = st.file_uploader(
            "List of words (optional)",
            key=f"{prefix}_vocabulary",
            help="One word a line: what the numbers in the file stand for.",
        )
        if words is not None:
            loading["vocabulary"] = words.getvalue()
        return loading

    def choose_place(
        self,
        file: DataFile,
        schema: Schema,
        looking: dict[str, Any],
        loading: dict[str, Any],
        prefix: str,
    ) -> dict[str, Any]:
        """Draw the choice between memory and disk."""
        return {"where": choose_storage(file, schema, looking, loading, prefix)}

    def can_skip_lines(self, loading: dict[str, Any]) -> bool:
        """Return whether broken lines can be left out: only if texts are read to disk."""
        return loading["where"] == "disk"

    def suggest_other_way(self, loading: dict[str, Any], error: AcvbError) -> str:
        """Return the advice to keep texts on disk, where broken lines can be left out."""
        if loading.get("where") == "memory" and isinstance(error, DataError) and error.line is not None:
            return "If you keep the texts on disk, you can skip such lines."
        return ""

    def tells_share(self, loading: dict[str, Any]) -> bool:
        """Return whether texts are read to disk."""
        return bool(loading["where"] == "disk")

    def make_draft(
        self,
        file: DataFile,
        schema: Schema,
        looking: dict[str, Any],
        loading: dict[str, Any],
        prefix: str,
    ) -> TextDraft | None:
        """Read the texts, once for each way to read them, and draw how they are cut into words."""
        if not schema.has_texts:
            return None
        key = repr((prefix, looking, loading))
        known = st.session_state.get(_READ)
        if known is None or known[0] != key:
            self.forget_draft()  # two large ones need not be held at once
            with st.spinner("Reading"):
                known = key, _read_texts(file, schema, looking, loading)
            st.session_state[_READ] = known
        texts = known[1]
        first = loading["where"] == "disk"
        tokeniser = edit_tokeniser(prefix, texts, first=first)
        return TextDraft(texts, tokeniser, first)

    def refuse_draft(self, draft: TextDraft | None) -> str:
        """Return why texts of which no word is left cannot be loaded."""
        if draft is None or draft.texts is None or draft.first:
            return ""
        return explain_no_words(draft.texts.cut.select(draft.tokeniser).preview)

    def forget_draft(self) -> None:
        """Release the texts."""
        st.session_state.pop(_READ, None)

    def load(
        self,
        file: DataFile,
        name: str | None,
        looking: dict[str, Any],
        loading: dict[str, Any],
        draft: TextDraft | None,
    ) -> tuple[Corpus | DiskCorpus, ReadReport]:
        """Cut the texts that were read, or read the counts, or read either to disk."""
        loading = dict(loading)
        if loading.pop("where") == "disk":
            tokeniser = None if draft is None else draft.tokeniser
            folder = services.store().new_stream_folder()
            written = read_to_disk(
                file, folder, filename=file.name, name=name, tokeniser=tokeniser, **looking, **loading
            )
            return written.data, written.report
        if draft is not None and draft.texts is not None:
            loaded = corpus_of_texts(draft.texts, draft.tokeniser, name=name)
        else:
            loaded = load_corpus(file, filename=file.name, name=name, **looking, **loading)
        return loaded.data, loaded.report


def _read_texts(
    file: DataFile, schema: Schema, looking: dict[str, Any], loading: dict[str, Any]
) -> Texts | None:
    """Return the texts of a file, or the first of those that stay on disk; None where these cannot be read."""
    columns = {name: value for name, value in loading.items() if name != "where"}
    if loading["where"] == "memory":
        return read_texts(rewind(file), filename=file.name, **looking, **columns)
    try:
        chosen = schema.with_columns(columns)
        encoding = looking.get("encoding")
        return head_texts(rewind(file), chosen, filename=file.name, encoding=encoding, **part_of(looking))
    except AcvbError:
        return None  # what is wrong is said when the file is read
