"""Reading texts and word counts: where they are kept, and a tokeniser that shows at once what it does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, ClassVar

from acvb_core.core.errors import AcvbError, DataError
from acvb_core.data.corpora.build import Texts, corpus_of_texts
from acvb_core.data.corpora.disk_build import read_to_disk
from acvb_core.data.corpora.estimate import head_texts
from acvb_core.data.corpora.readers import inspect_corpus, load_corpus, read_texts
from acvb_core.data.corpora.tokenise import Tokeniser
from acvb_core.data.corpus import Corpus
from acvb_core.data.disk import DiskCorpus
from acvb_core.data.infer import DataKind
from acvb_core.data.report import LoadedData
from acvb_core.data.schema import Schema
from pages.ui.lda.storage_choice import Where, choose_storage
from pages.ui.lda.tokeniser import edit_tokeniser, explain_no_words
from pages.ui.shared import services
from pages.ui.upload.files import DataFile, rewind
from pages.ui.upload.reader import DRAFT, Draft, OpenFile, Reader, keep_last


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
        texts, tokeniser, refusal = None, None, ""
        if opened.schema.has_texts:
            key = opened.prefix, repr(opened.options), where
            texts = keep_last(DRAFT, key, partial(_read_texts, opened, where), "Reading")
            tokeniser = edit_tokeniser(opened.prefix, texts, first=where == "disk")
            if texts is not None and where == "memory":
                refusal = explain_no_words(texts.cut.select(tokeniser).preview)
        load = partial(_load, opened.options, where, texts, tokeniser)
        return Draft(load, f"{where} {tokeniser!r}", refusal, patient=where == "disk")


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
            return corpus_of_texts(texts, tokeniser, **more)
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
