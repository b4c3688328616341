"""How large a corpus a file holds, estimated from its first megabytes: enough to decide whether it fits into memory."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from acvb_core.data.corpora.build import (
    DocumentBatch,
    Texts,
    corpus_of_counts,
    corpus_of_texts,
    join_texts,
    read_documents,
)
from acvb_core.data.corpora.readers import read_entries, require_texts
from acvb_core.data.corpora.reading import Reading
from acvb_core.data.corpora.schema import (
    CorpusOptions,
    CorpusSource,
    choose_files,
    inspect_source,
    open_corpus_source,
)
from acvb_core.data.corpora.tokenise import Tokeniser
from acvb_core.data.report import plural
from acvb_core.data.schema import Schema
from acvb_core.data.sources.frames import FrameSource
from acvb_core.data.sources.source import ByteSource, FileLike

#: The head ends after so many characters of texts, or so many word counts.
_HEAD_CHARACTERS, _HEAD_ENTRIES = 2 << 20, 1 << 18
#: Approximate size of a line of a list of counts.
_ENTRY_BYTES = 12


@dataclass(frozen=True)
class Estimate:
    """The size that a corpus on file is expected to have; no promise unless the whole file was read (`exact`).

    `text_bytes` is the size of the file unpacked, `head_bytes` how much of that was read.
    """

    documents: int
    words: int
    pairs: int
    tokens: int
    exact: bool
    text_bytes: int
    head_bytes: int

    @property
    def sentence(self) -> str:
        """The estimate in words, with what it rests on."""
        sizes = (
            f"{plural(self.documents, 'document')}, {plural(self.words, 'word')} in the vocabulary, "
            f"{plural(self.tokens, 'token')}"
        )
        if self.exact:
            return f"{sizes[0].upper()}{sizes[1:]}."
        return f"About {sizes}: an estimate from the first {self.head_bytes / 1e6:.1f} MB of the file."


class _EnoughError(Exception):
    """The head was read."""


class _Head:
    """The first texts or word counts of a source, without broken lines; `whole` says whether they are all."""

    def __init__(self, source: CorpusSource, schema: Schema, options: CorpusOptions) -> None:
        self.schema, self.whole = schema, True
        self.rows = self.characters = self.n_documents = 0
        self.entries: list[NDArray[np.int32]] = []
        self.batches: list[DocumentBatch] = []
        reading = Reading(source, schema, options.get("encoding"), skip=True)
        try:
            if not schema.has_texts:
                self.found = read_entries(reading, None, self._add_entries)
            for batch in read_documents(reading, []) if schema.has_texts else ():
                self._add_texts(batch)
        except _EnoughError:
            self.whole = False

    def _add_texts(self, batch: DocumentBatch) -> None:
        self.batches.append(batch)
        self.rows += len(batch.texts)
        self.characters += sum(map(len, batch.texts))
        if self.characters >= _HEAD_CHARACTERS:
            raise _EnoughError

    def _add_entries(self, *parts: NDArray[Any]) -> None:
        self.entries.append(np.array(parts, np.int32))
        self.rows += len(parts[0])
        self.n_documents = max(self.n_documents, int(parts[0].max(initial=-1)) + 1)
        if self.rows >= _HEAD_ENTRIES:
            raise _EnoughError


def estimate(
    source: FileLike,
    schema: Schema | None = None,
    *,
    filename: str | None = None,
    tokeniser: Tokeniser | None = None,
    **options: Unpack[CorpusOptions],
) -> Estimate:
    """Return the size to expect of a corpus, reading a few megabytes of it.

    Documents, pairs and tokens are proportional to the text; the vocabulary grows by a power of it (Heaps' law). In a
    list of counts in which documents come again, each line is taken to be of any document. A file whose end is unlike
    its head is misjudged.

    The schema is by default what `inspect_corpus` proposes; the options are those of `load_corpus`. A head that
    cannot be read, or that has no word in it, is a DataError.
    """
    with open_corpus_source(source, filename, options, patient=True) as opened:
        schema = schema or inspect_source(opened, options)
        head = _Head(opened, schema, options)
        share, text_bytes = _measure_source(opened, head)
    n_documents: float
    n_words: float
    if schema.has_texts or head.whole:
        if schema.has_texts:
            corpus = corpus_of_texts(join_texts(head.batches, "head", schema, []), tokeniser).data
        else:
            corpus = corpus_of_counts(head.entries, head.found, schema, "head").data
        n_documents, n_words, n_tokens = corpus.n_documents / share, corpus.n_words, corpus.n_tokens
        words, n_pairs = corpus.counts.indices, corpus.n_pairs
    else:
        documents, words, counts = np.concatenate(head.entries, axis=1)
        n_documents, n_tokens = _count_documents(documents, 1.0 / share), int(counts.sum(dtype=np.int64))
        n_pairs = len(np.unique((documents.astype(np.int64) << 32 | words)[counts > 0]))
    if not head.whole:
        limits = (tokeniser or Tokeniser()) if schema.has_texts else None
        n_words = _count_words(words, limits.min_documents if limits else 1, 1.0 / share)
        n_words = min(n_words, (limits.max_words if limits else None) or math.inf)
    return Estimate(
        round(n_documents),
        round(n_words),
        round(n_pairs / share),
        round(n_tokens / share),
        head.whole,
        text_bytes,
        round(text_bytes * share),
    )


def head_texts(
    source: FileLike,
    schema: Schema | None = None,
    *,
    filename: str | None = None,
    **options: Unpack[CorpusOptions],
) -> Texts:
    """Return the texts that a file begins with, some megabytes of them, to try how they are cut (as `estimate`)."""
    with open_corpus_source(source, filename, options, patient=True) as opened:
        schema = schema or inspect_source(opened, options)
        require_texts(schema)
        return join_texts(_Head(opened, schema, options).batches, opened.stem, schema, [])


def _measure_source(source: CorpusSource, head: _Head) -> tuple[float, int]:
    """Return the share of a source that the head is, and the bytes of all its text, unpacked."""
    size, whole = max(source.size(), 1), head.whole
    share = 1.0 if whole else source.position() / size
    if isinstance(source, FrameSource):
        read, n_rows = head.characters or _ENTRY_BYTES * head.rows, source.frame.n_rows
        if not whole:
            rows = head.n_documents if head.schema.format == "matrix" else head.rows
            seen = rows / n_rows if n_rows else read / size
            # Only JSON Lines are read from the file one after another, and some ahead.
            share = min(seen, share if source.frame.container == "json-lines" else 1.0)
        return share, round(read / share)
    if not isinstance(source, ByteSource) or source.is_zip:
        chosen, _ = choose_files(source)
        return 1.0 if whole else head.rows / len(chosen), sum(file.size for file in chosen)
    unpacked = len(source.open().read(_HEAD_CHARACTERS)) if source.gzipped else 0
    return share, round(unpacked / source.position() * size) if source.gzipped else size


def _count_documents(documents: NDArray[Any], scale: float) -> float:
    """Return how many documents a list of `scale` times these entries has, as two samples of them show."""
    half = len(documents) // 2
    first, second = (len(np.unique(part)) for part in (documents[:half], documents[half:]))
    again = first + second - len(np.unique(documents))
    if again <= 1:  # each document's entries are neighbours
        return scale * (first + second - again)
    # Half of the head misses a document with the chance 1 - again / second.
    return first * second / again * (1.0 - (1.0 - again / second) ** (2.0 * scale))


def _count_words(words: NDArray[Any], least: int, scale: float) -> float:
    """Return how many words occur in `least` documents of `scale` times the text, by Heaps' law."""
    parts = words[: len(words) // 2], words
    half, whole = (int((np.unique(part, return_counts=True)[1] >= least).sum()) for part in parts)
    return float(whole * scale ** min(math.log2(whole / max(half, 1)), 1.0))
