"""Write a corpus to disk: pieces of a stream of documents, or what the reader of a file gives."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from acvb_core.data.corpora.counts import CountsFound
from acvb_core.data.corpora.disk_shards import SHARD_PAIRS, ShardWriter
from acvb_core.data.corpora.disk_spool import Entries, EntrySpool
from acvb_core.data.corpora.documents import DocumentBatch
from acvb_core.data.corpora.reading import Reading
from acvb_core.data.corpora.text_cut import WordList, apply_limits
from acvb_core.data.corpora.tokeniser import Tokeniser
from acvb_core.data.corpus import Corpus
from acvb_core.data.disk_corpus import DiskCorpus
from acvb_core.data.metadata import typed_values
from acvb_core.data.report import Fact
from acvb_core.data.sources.records import RecordBatch
from acvb_core.data.sources.values import LabelTable
from acvb_core.errors import DataError, ParameterError

#: Documents one after another: where each begins, their words and counts.
Piece = tuple[ArrayLike, ArrayLike, ArrayLike]


def write_disk_corpus(
    documents: Iterable[Corpus | Piece],
    folder: str | Path,
    *,
    vocabulary: Sequence[str] | NDArray[Any] | None = None,
    name: str | None = None,
    tokeniser: Tokeniser | None = None,
    shard_pairs: int = SHARD_PAIRS,
) -> DiskCorpus:
    """Write pieces of a stream of documents to disk; one piece at a time is in memory.

    Parameters
    ----------
    documents : iterable of Corpus, or of (pointers, words, counts)
        Words of corpora are matched by name, those of arrays are numbers within the vocabulary. Names, texts,
        labels and metadata are kept where the pieces are corpora (all of them, or none, have each); documents of the
        same name get a number appended.
    folder : path
        Must not exist, or be empty.
    vocabulary : sequence of str, optional
        Needed for arrays. Corpora: default, the words in order of appearance.
    name : str, optional
        Default: that of the first corpus.
    tokeniser : Tokeniser, optional
        Default: that of the first corpus.
    shard_pairs : int

    Raises
    ------
    DataError
        A piece is no valid counts, holds a word that the vocabulary does not, or there is no token.
    ParameterError
        There is something at `folder`, arrays come without a vocabulary, or corpora and arrays are mixed.
    """
    index = None if vocabulary is None else {str(word): i for i, word in enumerate(vocabulary)}
    found: dict[str, int] = {} if index is None else index
    corpora: bool | None = None
    with ShardWriter(folder, name=name or "corpus", shard_pairs=shard_pairs) as writer:
        for piece in documents:
            if corpora not in (None, isinstance(piece, Corpus)):
                raise ParameterError(
                    "Give corpora or arrays (pointers, words, counts), not both in one stream."
                )
            if isinstance(piece, Corpus):
                if corpora is None:
                    writer.name = name or piece.name
                    tokeniser = tokeniser or piece.tokeniser
                _add_corpus(writer, piece, found, index is None)
            else:
                if index is None:
                    raise ParameterError("Arrays of word numbers need a vocabulary; give vocabulary=[…].")
                writer.add(*piece)
            corpora = isinstance(piece, Corpus)
        if corpora:
            writer.names.make_unique()
        return writer.finish(list(found), tokeniser=tokeniser)


def _add_corpus(writer: ShardWriter, piece: Corpus, index: dict[str, int], grows: bool) -> None:
    known = piece.texts is not None, piece.labels is not None, list(piece.metadata)
    if writer.n_documents and known != writer.given:
        pairs = zip(("texts", "labels", "columns"), known, writer.given, strict=True)
        what = next(what for what, here, before in pairs if here != before)
        raise ParameterError(
            f"Some of the corpora have {what} and some have none, or others; leave the {what} out, or give all."
        )
    if grows:
        for word in piece.vocabulary:
            index.setdefault(word, len(index))
    place = np.array([index.get(word, -1) for word in piece.vocabulary], dtype=np.int64)
    words = place[piece.counts.indices]
    if (words < 0).any():
        unknown = str(piece.vocabulary[piece.counts.indices[int(np.argmax(words < 0))]])
        raise DataError(
            "this word is not in the vocabulary",
            source=piece.name,
            value=unknown,
            remedy="Add it, or leave that out.",
        )
    writer.add(piece.counts.indptr, words, piece.counts.data)
    writer.names.extend(piece.documents)
    if piece.texts is not None:
        writer.texts.extend(piece.texts)
    if piece.labels is not None:
        writer.labels.extend(piece.labels)
    for column, values in piece.metadata.items():
        writer.column(column).extend(values)


class DiskSink:
    """Spool what a reader gives, then sort it into the shards of a corpus on disk.

    Parameters
    ----------
    writer : ShardWriter
    spool : EntrySpool
    tokeniser : Tokeniser, optional
        Cuts texts into words; needed for texts.
    keep_texts : bool
        Keep texts beside their counts.
    """

    def __init__(
        self, writer: ShardWriter, spool: EntrySpool, tokeniser: Tokeniser | None, keep_texts: bool
    ) -> None:
        self._writer, self._spool, self._keep_texts = writer, spool, keep_texts
        self._counter = None if tokeniser is None else WordCounter(tokeniser, spool)

    def add_entries(self, documents: NDArray[Any], words: NDArray[Any], counts: NDArray[Any]) -> None:
        """Append entries; documents and words are numbers from 0, counts below 2^31."""
        self._spool.add(documents, words, counts)

    def add_documents(self, batch: DocumentBatch) -> None:
        """Append texts."""
        assert self._counter is not None
        self._writer.names.extend(batch.names)
        if self._keep_texts:
            self._writer.texts.extend(batch.texts)
        if batch.labels:
            self._writer.labels.extend(batch.labels)
        for column, values in batch.columns.items():
            self._writer.column(column).extend(values)
        self._counter.add(batch.texts)

    def number_names(self) -> tuple[int, list[str]]:
        """Append a number to names that stood before; return how many there were, and the first of them."""
        return self._writer.names.make_unique()

    def write_texts(self, reading: Reading) -> tuple[NDArray[Any], list[Fact]]:
        """Sort the words of texts into shards; return the vocabulary, and the facts about words that are dropped.

        Raises
        ------
        DataError
            No word is left.
        """
        assert self._counter is not None
        words, final, facts = self._counter.choose_words(reading.name)
        self._write(reading, self._counter.n_documents, final)
        return words, facts

    def write_counts(self, reading: Reading, found: CountsFound) -> None:
        """Sort entries into shards."""
        if found.names is not None:
            self._writer.names.extend_packed(*found.names.packed())
        self._write(reading, found.n_documents, None)

    def _write(self, reading: Reading, n_documents: int, final: NDArray[np.int64] | None) -> None:
        done = 0
        for entries in self._spool.documents(n_documents):
            self._writer.add(*(entries if final is None else _renumbered(entries, final)))
            done += len(entries.words)
            reading.report_written(0.99 * done / max(self._spool.n_entries, 1))


def _renumbered(entries: Entries, final: NDArray[np.int64]) -> Entries:
    """Return entries with the final numbers of the words, those of dropped words taken out."""
    words = final[entries.words]
    kept = words >= 0
    before = np.concatenate([[0], np.cumsum(kept)])
    return Entries(before[entries.pointers], words[kept].astype(np.int32), entries.counts[kept])


class WordCounter:
    """Cut texts into words batch by batch, their counts going to a spool.

    Every different word that is no stop word or number is remembered until the end, about 50 bytes each: which of
    them stand in enough documents is known only then.

    Parameters
    ----------
    tokeniser : Tokeniser
    spool : EntrySpool

    Attributes
    ----------
    n_documents : int
        Texts so far.
    """

    def __init__(self, tokeniser: Tokeniser, spool: EntrySpool) -> None:
        self._tokeniser = tokeniser
        self._unlimited = tokeniser.without_limits()
        self._spool = spool
        self._kept = _Tally()
        self._dropped = {"stop_word": _Tally(), "number": _Tally()}
        self.n_documents = 0

    def add(self, texts: Sequence[str]) -> None:
        """Count the words of some texts."""
        selection = self._unlimited.select(texts, first=self.n_documents + 1)
        counts = selection.counts
        documents = np.bincount(counts.indices, minlength=counts.shape[1])
        totals = np.asarray(counts.sum(axis=0, dtype=np.int64)).ravel()
        codes = self._kept.add(selection.vocabulary.tolist(), totals, documents)
        rows = np.repeat(np.arange(len(texts)), np.diff(counts.indptr))
        self._spool.add(self.n_documents + rows, codes[counts.indices], counts.data)
        self.n_documents += len(texts)
        for reason, tally in self._dropped.items():
            words = selection.preview.dropped[reason]
            tally.add(words.words.tolist(), words.counts, words.documents)

    def choose_words(self, source: str) -> tuple[NDArray[Any], NDArray[np.int64], list[Fact]]:
        """Apply the tokeniser's limits to all words seen.

        Returns
        -------
        words : ndarray of str (object)
            Those that are kept, in alphabetical order.
        final : int64 array
            The number among these of each word of the spool, -1 for one that is dropped.
        facts : list of Fact

        Raises
        ------
        DataError
            None is kept.
        """
        lists = [self._kept.listed(), *(tally.listed() for tally in self._dropped.values())]
        parts = zip(*((words.words, words.counts, words.documents) for words in lists), strict=True)
        found = WordList(*map(np.concatenate, parts))
        names = ["", *self._dropped]
        reasons = np.repeat(np.array(names, dtype=object), [listed.n_words for listed in lists])
        kept, preview = apply_limits(found, reasons, self.n_documents, self._tokeniser)
        if not len(kept):
            raise preview.explain_nothing_left(self._tokeniser, source)
        final = np.full(lists[0].n_words, -1, dtype=np.int64)
        final[kept] = np.arange(len(kept))
        return found.words[kept], final, preview.facts()


class _Tally:
    """How often words stand in the texts so far, and in how many."""

    def __init__(self) -> None:
        self._table = LabelTable()
        self._totals = np.zeros(1024, dtype=np.int64)
        self._documents = np.zeros(1024, dtype=np.int64)

    def add(
        self, words: list[str], totals: NDArray[np.int64], documents: NDArray[np.int64]
    ) -> NDArray[np.int32]:
        """Add counts of some words, none twice, and return their codes."""
        codes = self._table.codes(_as_batch(words), 0)
        if len(self._table) > len(self._totals):
            more = max(len(self._table), 2 * len(self._totals)) - len(self._totals)
            self._totals, self._documents = (
                np.pad(self._totals, (0, more)),
                np.pad(self._documents, (0, more)),
            )
        self._totals[codes] += totals
        self._documents[codes] += documents
        return codes

    def listed(self) -> WordList:
        """Return the words in the order of their codes."""
        n = len(self._table)
        return WordList(typed_values(self._table.labels(), "string"), self._totals[:n], self._documents[:n])


def _as_batch(words: list[str]) -> RecordBatch:
    """Return words as records of one field."""
    encoded = [word.encode("utf-8") for word in words]
    ends = np.cumsum([len(word) for word in encoded], dtype=np.int64).astype(np.int32)
    starts = np.concatenate([np.zeros(1, dtype=np.int32), ends])[: len(words)].astype(np.int32)
    # Of a bytearray: an array that may not be written to would be another type to the compiled table.
    text = np.frombuffer(bytearray(b"".join(encoded)), dtype=np.uint8)
    return RecordBatch(text, starts, ends, np.zeros(len(words), dtype=np.int64), 1)
