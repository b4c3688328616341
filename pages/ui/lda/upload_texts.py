"""Reading texts and word counts: where they are kept, and a tokeniser that shows at once what it does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import islice
from types import SimpleNamespace
from typing import Any, ClassVar, Literal

import streamlit as st

from acvb_core.core.errors import AcvbError, DataError, shorten
from acvb_core.data.corpora.build import Texts, corpus_of_texts
from acvb_core.data.corpora.disk_build import read_to_disk
from acvb_core.data.corpora.estimate import Estimate, estimate, head_texts
from acvb_core.data.corpora.metadata import ColumnKind, kind_of_column, type_columns
from acvb_core.data.corpora.readers import inspect_corpus, load_corpus, read_texts
from acvb_core.data.corpora.tokenise import Tokeniser
from acvb_core.data.corpus import Corpus
from acvb_core.data.disk import DiskCorpus
from acvb_core.data.infer import DataKind
from acvb_core.data.report import LoadedData
from acvb_core.data.schema import Schema
from acvb_core.data.sources.source import MAX_TEXT_BYTES
from acvb_core.engine.machine import available_memory
from acvb_core.registry import method_row, model_row
from pages.ui.lda.tokeniser import edit_tokeniser, explain_no_words
from pages.ui.shared import format as say
from pages.ui.shared import services
from pages.ui.shared.picking import choose_way
from pages.ui.upload.files import DataFile, rewind
from pages.ui.upload.reader import DRAFT, Draft, OpenFile, Reader, keep_last

Where = Literal["memory", "disk"]
#: Method and number of topics whose memory is shown.
METHOD, TOPICS = "cvb0", 100
_NAMES: dict[Where, str] = {"memory": "In memory", "disk": "On disk"}
_HELP = """
**In memory**: you can use every method. **On disk**: the documents stay in a folder of the app and are read piece by
piece. The streaming methods (SDM, SCVB0, SVB) need memory for the topics alone, however many documents there are.
CVB0, ACVB0 and VB can be used as well: each of their shards holds a part of the documents in memory. Whole documents
are held out.
"""


def batch_memory(documents: int, words: int, pairs: int, tokens: int) -> int:
    """Return the memory that a batch method with many topics needs on a corpus of such a size, in bytes."""
    sizes: Any = SimpleNamespace(n_documents=documents, n_words=words, n_pairs=pairs, n_tokens=tokens)
    values = method_row("lda", METHOD).values({"k": TOPICS})
    return model_row("lda").memory(sizes, METHOD, values)


def describe_need(needed: int, free: int) -> str:
    """Return the memory that a batch method needs and the free memory, in words."""
    label = method_row("lda", METHOD).label
    return f"{label} with {TOPICS} topics would need about {say.size(needed)} of memory; {say.size(free)} is free."


def choose_storage(opened: OpenFile) -> Where:
    """Draw the choice between memory and disk, with the better place as default, and the reason."""
    key = opened.prefix, repr(opened.options)
    found = keep_last("texts_estimate", key, partial(_estimate_size, opened), "Estimating the size")
    best: Where = "memory"
    places, why = list(_NAMES), "" if found is None else found.sentence
    free = available_memory()
    if found is not None and found.text_bytes > MAX_TEXT_BYTES:
        best, places = "disk", ["disk"]
        why += f" At {say.size(found.text_bytes)} unpacked, they are too large to be read into memory."
    elif found is not None and free is not None:
        needed = batch_memory(found.documents, found.words, found.pairs, found.tokens)
        best = "memory" if needed <= free else "disk"
        why += f" {describe_need(needed, free)}"
    names, more = {place: _NAMES[place] for place in places}, {"persist_state": "session", "help": _HELP}
    where: Where = choose_way(
        "Where to keep the texts", names, f"{opened.prefix}_where", default=best, **more
    )
    if why:
        st.caption(why)
    return where


def _estimate_size(opened: OpenFile) -> Estimate | None:
    """Return the size of the corpus; None if the file cannot be read, which the reading will report."""
    options = {name: value for name, value in opened.options.items() if name != "vocabulary"}
    try:
        return estimate(rewind(opened.file), **options)
    except AcvbError:
        return None


class TextReader(Reader):
    """Tables, lines and archives of texts; word counts in several forms; either in files of columns."""

    model = "lda"
    kinds: ClassVar[dict[DataKind, str]] = {"texts": "Texts", "counts": "Word counts"}
    kind = "corpus"
    inspector = staticmethod(inspect_corpus)

    def inspect(
        self, file: DataFile, looking: dict[str, Any], kind: DataKind
    ) -> tuple[dict[str, Any], Schema]:
        """Propose how to read a file, in a format that holds texts, or word counts, as the user wants."""
        looking, schema = super().inspect(file, looking, kind)
        if "format" not in looking and schema.has_texts != (kind == "texts"):
            return super().inspect(file, looking | {"format": "table" if kind == "texts" else "counts"}, kind)
        return looking, schema

    def prepare(self, opened: OpenFile) -> Draft:
        """Draw the choice between memory and disk, read texts, and draw how they are cut into words."""
        where = choose_storage(opened)
        texts, tokeniser, refusal, kinds = None, None, "", dict[str, ColumnKind]()
        if opened.schema.has_texts:
            key = opened.prefix, repr(opened.options), where
            texts = keep_last(DRAFT, key, partial(_read_texts, opened, where), "Reading")
            kinds = {} if texts is None else edit_columns(opened, texts)
            tokeniser = edit_tokeniser(opened.prefix, texts, first=where == "disk")
            if texts is not None and where == "memory":
                refusal = explain_no_words(texts.cut.select(tokeniser).preview)
        options = opened.options | ({"column_kinds": kinds} if kinds else {})
        load = partial(_load, options, where, texts, tokeniser)
        return Draft(load, f"{where} {tokeniser!r} {kinds}", refusal, patient=where == "disk")


#: What a further column can be kept as, and what that is for.
_KINDS: dict[ColumnKind, str] = {
    "date": "date",
    "group": "group",
    "number": "number",
    "text": "text",
    "none": "not kept",
}
#: Columns whose kind can be changed here; values of each that are shown, and characters of them.
_MOST_COLUMNS, _FIRST_VALUES, _VALUE_CHARACTERS = 30, 3, 24


def edit_columns(opened: OpenFile, texts: Texts) -> dict[str, ColumnKind]:
    """Draw what the further columns are kept as, and return the kinds that the user changed.

    Raises DataError: a column has no value of the kind that was chosen.
    """
    if not texts.columns:
        return {}
    recognised = {name: kind_of_column(column) for name, column in texts.metadata.items()}
    chosen: dict[str, ColumnKind] = {}
    with st.expander("Other columns of the documents", expanded=True, icon=":material/view_column:"):
        st.caption(
            "Kept to compare topics by time, group or number. No run learns from them. A group has at most 50 "
            "different values."
        )
        for at, name in enumerate(list(texts.columns)[:_MOST_COLUMNS]):
            with st.container(horizontal=True, vertical_alignment="center", gap="small"):
                kind = st.selectbox(
                    "Kept as",
                    list(_KINDS),
                    list(_KINDS).index(recognised[name]),
                    _KINDS.__getitem__,
                    key=f"{opened.prefix}_column_{at}_{len(texts.columns)}_{name}",
                    label_visibility="collapsed",
                    persist_state="session",
                    width=120,
                )
                st.text(_describe_column(name, texts.columns[name]))
            if kind != recognised[name]:
                chosen[name] = kind
        if len(texts.columns) > _MOST_COLUMNS:
            st.caption(
                f"The first {_MOST_COLUMNS} of {len(texts.columns):,} columns. The others are recognised."
            )
        key = opened.prefix, repr(opened.options), repr(chosen)
        facts = keep_last(
            "upload_columns", key, lambda: type_columns(texts.columns, chosen, opened.file.name)[1]
        )
        for fact in facts:
            if fact.name != "kept_columns":
                st.text(f"• {fact.sentence}")
    return chosen


def _describe_column(name: str, values: Sequence[str]) -> str:
    """Return the name of a column and its first values."""
    known = (" ".join(value.split()) for value in values if value.strip())
    first = islice(dict.fromkeys(islice(known, 100)), _FIRST_VALUES)
    return f"{name}: {', '.join(shorten(value, _VALUE_CHARACTERS) for value in first) or 'no values'}, …"


def _load(
    options: dict[str, Any],
    where: Where,
    texts: Texts | None,
    tokeniser: Tokeniser | None,
    file: DataFile,
    **more: Any,
) -> LoadedData[Corpus] | LoadedData[DiskCorpus]:
    """Cut the texts that were read, or read the counts, or read either to disk."""
    if where == "disk":
        folder = services.store().new_stream_folder()
        return read_to_disk(file, folder, tokeniser=tokeniser, **options, **more)
    with _advising_disk():
        if texts is not None and tokeniser is not None:
            return corpus_of_texts(texts, tokeniser, kinds=options.get("column_kinds"), **more)
        return load_corpus(file, **options, **more)


def _read_texts(opened: OpenFile, where: Where) -> Texts | None:
    """Return the texts of a file, or the first of those that stay on disk; None where these cannot be read."""
    if where == "memory":
        with _advising_disk():
            return read_texts(rewind(opened.file), **opened.options)
    try:
        return head_texts(rewind(opened.file), **opened.options)
    except AcvbError:
        return None  # what is wrong is said when the file is read


@contextmanager
def _advising_disk() -> Iterator[None]:
    """Say in an error about a line that broken lines can be left out of texts on disk."""
    try:
        yield
    except DataError as error:
        if error.line is None:
            raise
        advice = f"{error.remedy} If you keep the texts on disk, you can skip such lines."
        raise error.change_parts(remedy=advice) from None
