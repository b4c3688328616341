"""A corpus in memory: made of the entries of a file, or of texts, which are cut as often as the tokeniser changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from acvb_core.core.errors import DataError
from acvb_core.data.corpora.counts import CountsFound
from acvb_core.data.corpora.cutting import NO_PATTERN
from acvb_core.data.corpora.documents import DocumentBatch
from acvb_core.data.corpora.reading import CorpusLayout
from acvb_core.data.corpora.text_cut import CutTexts
from acvb_core.data.corpora.tokeniser import Tokeniser
from acvb_core.data.corpus import Corpus
from acvb_core.data.metadata import typed_column, typed_values
from acvb_core.data.names import make_unique
from acvb_core.data.report import Fact, LoadedData, ReadReport, plural

if TYPE_CHECKING:
    from acvb_core.data.disk_corpus import DiskCorpus

_SHOWN = 5


@dataclass(frozen=True, eq=False, repr=False)
class LoadedCorpus(LoadedData):
    """A corpus, what reading it found, and how the file was understood.

    Attributes
    ----------
    corpus : Corpus
    report : ReadReport
        Its facts "documents", "words" and "tokens" are always there.
    layout : CorpusLayout
    """

    corpus: Corpus
    report: ReadReport
    layout: CorpusLayout


@dataclass(frozen=True, eq=False)
class Texts:
    """The texts of a file with the unique names of their documents, and what else the file says of these.

    The texts are read once and cut as often as the tokeniser changes; `name` is what the user calls the corpus,
    `facts` is what reading found.
    """

    texts: tuple[str, ...]
    documents: NDArray[Any]
    labels: NDArray[Any] | None
    name: str
    layout: CorpusLayout
    facts: tuple[Fact, ...]
    metadata: Mapping[str, NDArray[Any]]

    @cached_property
    def cut(self) -> CutTexts:
        """The texts, cut into words by the last tokeniser."""
        return CutTexts(self.texts)


class MemorySink:
    """Hold what a reader gives in memory: the entries of documents, or their texts."""

    def __init__(self) -> None:
        self._entries: list[tuple[NDArray[Any], NDArray[Any], NDArray[Any]]] = []
        self._texts: list[str] = []
        self._names: list[str] = []
        self._labels: list[str] = []
        self._columns: dict[str, list[str]] = {}

    def add_entries(self, documents: NDArray[Any], words: NDArray[Any], counts: NDArray[Any]) -> None:
        """Append entries; documents and words are numbers from 0, counts below 2^31."""
        self._entries.append((documents.astype(np.int32), words.astype(np.int32), counts.astype(np.int32)))

    def add_documents(self, batch: DocumentBatch) -> None:
        """Append texts."""
        self._texts += batch.texts
        self._names += batch.names
        self._labels += batch.labels
        for column, values in batch.columns.items():
            self._columns.setdefault(column, []).extend(values)

    def number_names(self) -> tuple[int, list[str]]:
        """Append a number to names that stood before; return how many there were, and the first of them."""
        self._names, changed = make_unique(self._names)
        return len(changed), changed[:_SHOWN]

    def read_texts(self, name: str, layout: CorpusLayout, facts: Sequence[Fact]) -> Texts:
        """Return the texts that were added."""
        documents = typed_values(self._names, "string")
        labels = typed_values(self._labels, "string") if self._labels else None
        metadata = {column: typed_column(values) for column, values in self._columns.items()}
        return Texts(tuple(self._texts), documents, labels, name, layout, tuple(facts), metadata)

    def build_corpus(self, found: CountsFound, layout: CorpusLayout, name: str) -> LoadedCorpus:
        """Return the corpus of the entries that were added; DataError where there is no token."""
        none = np.empty(0, dtype=np.int32)
        parts = zip(*(self._entries or [(none, none, none)]), strict=True)
        rows, columns, counts = map(np.concatenate, parts)
        self._entries.clear()
        if not counts.any():
            remedy = "Give at least one document with a word."
            raise DataError("the corpus has no words", source=layout.filename, remedy=remedy)
        shape = found.n_documents, len(found.words)
        matrix = sparse.csr_array((counts.astype(np.int64), (rows, columns)), shape=shape)
        documents = range(1, shape[0] + 1) if found.names is None else found.names.labels()
        corpus = Corpus.build(matrix, vocabulary=found.words, documents=documents, name=name)
        repeated = entry_facts(len(counts) - matrix.nnz, int(np.count_nonzero(counts == 0)))
        facts = (*found.facts, *repeated, *corpus_facts(corpus))
        return LoadedCorpus(corpus, ReadReport(layout.filename, facts), layout)


def corpus_of_texts(
    texts: Texts, tokeniser: Tokeniser | None = None, *, name: str | None = None
) -> LoadedCorpus:
    """Return the corpus that a tokeniser (default: `Tokeniser()`) makes of texts, called as they are by default.

    DataError where no word is left: it says which setting dropped most.
    """
    tokeniser = tokeniser or Tokeniser()
    counts, vocabulary, preview = texts.cut.select(tokeniser)
    source = texts.layout.filename
    if not len(vocabulary):
        raise preview.explain_nothing_left(tokeniser, source)
    corpus = Corpus.build(
        counts,
        vocabulary=vocabulary,
        documents=texts.documents,
        name=name or texts.name,
        texts=None if tokeniser.token_pattern == NO_PATTERN else texts.texts,
        labels=texts.labels,
        tokeniser=tokeniser,
        metadata=texts.metadata,
    )
    report = ReadReport(source, (*texts.facts, *preview.facts(), *corpus_facts(corpus)))
    return LoadedCorpus(corpus, report, texts.layout)


def entry_facts(repeated: int, zeros: int) -> list[Fact]:
    """Return the facts about entries that were added up, and about counts of 0."""
    facts = []
    if repeated:
        entries = plural(repeated, "entry", "entries")
        told = f"{entries} for a document and word given before: added up."
        facts.append(Fact("repeated_pairs", repeated, told))
    if zeros:
        facts.append(Fact("zero_counts", zeros, f"{plural(zeros, 'count')} of 0: not stored."))
    return facts


def corpus_facts(corpus: Corpus) -> list[Fact]:
    """Return the facts about the corpus as a whole."""
    empty = np.flatnonzero(corpus.lengths == 0)
    return size_facts(corpus, len(empty), corpus.documents[empty[:_SHOWN]].tolist())


def size_facts(corpus: Corpus | DiskCorpus, n_empty: int, first_empty: list[str]) -> list[Fact]:
    """Return the facts about a corpus of which `n_empty` documents have no word."""
    facts = [
        Fact("documents", corpus.n_documents, f"{plural(corpus.n_documents, 'document')}."),
        Fact("words", corpus.n_words, f"{plural(corpus.n_words, 'word')} in the vocabulary."),
        Fact("tokens", corpus.n_tokens, f"{plural(corpus.n_tokens, 'token')} in all documents."),
    ]
    if n_empty:
        told = f"{plural(n_empty, 'document')} without any word: kept as an empty row."
        facts.append(Fact("empty_documents", n_empty, told, {"first": first_empty}))
    unused = np.flatnonzero(corpus.frequencies == 0)
    if len(unused):
        told = f"{plural(len(unused), 'word')} of the vocabulary in no document: kept."
        first = corpus.vocabulary[unused[:_SHOWN]].tolist()
        facts.append(Fact("unused_words", len(unused), told, {"first": first}))
    return facts
