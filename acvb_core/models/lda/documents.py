"""The documents of a corpus in parts and in random order, from memory or from disk."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numba as nb
import numpy as np
from numpy.typing import NDArray

from acvb_core.core.clusters import renormalise
from acvb_core.core.protocols import Array
from acvb_core.data.corpus import Corpus
from acvb_core.data.disk import DiskCorpus, Shard, load_array, shard_file
from acvb_core.models.lda.kernels import OPTIONS, Singles
from acvb_core.models.lda.state import Tokens, chunk_end, padded_copy, padded_zeros


@dataclass(frozen=True, eq=False)
class Part:
    """Neighbouring documents of a corpus."""

    number: int
    n_words: int
    #: The corpus on disk that the documents are read from, or the documents themselves.
    source: DiskCorpus | Shard
    begin: int = 0  #: first document, counted among those that are in
    end: int = 0  #: the one behind the last

    @property
    def n_documents(self) -> int:
        """Number of documents."""
        return len(self.source.pointers) - 1 if isinstance(self.source, Shard) else self.end - self.begin

    def read(self) -> Tokens:
        """Return the documents."""
        shard = self.source if isinstance(self.source, Shard) else _read(self.source, self.begin, self.end)
        return Tokens(*shard, self.n_words)


def cut(corpus: Corpus | DiskCorpus, n_parts: int) -> list[Part]:
    """Return a corpus in parts of about as many pairs of document and word; no document is in two.

    A corpus on disk is cut where the same corpus in memory is.
    """
    if isinstance(corpus, DiskCorpus):
        bounds = _find_bounds_on_disk(corpus, n_parts)
        return [Part(i, corpus.n_words, corpus, bounds[i], bounds[i + 1]) for i in range(n_parts)]
    tokens = Tokens.of(corpus)
    bounds = [0, *_find_starts(tokens.pointers, corpus.n_pairs, n_parts), tokens.n_documents]
    return [Part(i, corpus.n_words, tokens.take(bounds[i], bounds[i + 1])) for i in range(n_parts)]


def _find_starts(pointers: NDArray[np.int64], n_pairs: int, n_parts: int) -> list[int]:
    """Return the first document of each part but the first; beyond the pointers where it is not among them."""
    return np.searchsorted(pointers, np.arange(1, n_parts) * n_pairs / n_parts).tolist()


def _find_bounds_on_disk(corpus: DiskCorpus, n_parts: int) -> list[int]:
    """Return how many documents stand in front of each part, and at last of all; no pair is read."""
    starts = [0] * (n_parts - 1)
    documents = pairs = 0
    for number in range(corpus.n_shards):
        begin, end = corpus.begins[number : number + 2]
        sizes = np.diff(load_array(corpus.folder, shard_file(number, "pointers")).astype(np.int64))
        out = corpus.left_out[(begin <= corpus.left_out) & (corpus.left_out < end)] - begin
        pointers = pairs + np.concatenate([[0], np.cumsum(np.delete(sizes, out))])
        for part, at in enumerate(_find_starts(pointers, corpus.n_pairs, n_parts)):
            starts[part] += min(at, len(pointers) - 1)
        documents, pairs = documents + len(pointers) - 1, int(pointers[-1])
    return [0, *starts, documents]


def _read(corpus: DiskCorpus, begin: int, end: int) -> Shard:
    """Return neighbouring documents of a corpus on disk, those left out not counted."""
    shards = [_take(corpus.shard(number), low, high) for number, low, high in _pieces(corpus, begin, end)]
    pointers, pairs = [np.zeros(1, np.int64)], 0
    for shard in shards:
        pointers.append(shard.pointers[1:] + pairs)
        pairs += int(shard.pointers[-1])
    words = np.concatenate([np.zeros(0, np.int32), *(shard.words for shard in shards)])
    counts = np.concatenate([np.zeros(0, np.float32), *(shard.counts for shard in shards)])
    return Shard(np.concatenate(pointers), words, counts)


def _pieces(corpus: DiskCorpus, begin: int, end: int) -> list[tuple[int, int, int]]:
    """Return which shards on disk have some of the documents, with the first one there and the one behind the last."""
    starts = np.concatenate([[0], np.cumsum(corpus.shard_sizes)]).tolist()
    bounds = [
        (number, max(begin - starts[number], 0), min(end, starts[number + 1]) - starts[number])
        for number in range(corpus.n_shards)
    ]
    return [(number, low, high) for number, low, high in bounds if low < high]


def _take(shard: Shard, low: int, high: int) -> Shard:
    """Return neighbouring documents, their pointers from 0."""
    pointers = shard.pointers[low : high + 1]
    pairs = slice(int(pointers[0]), int(pointers[-1]))
    return Shard(pointers - pointers[0], shard.words[pairs], shard.counts[pairs])


class PartSource:
    """The documents of a part as a stream reads them (a `streams.source.Source`): from disk, only when they come."""

    def __init__(self, part: Part) -> None:
        self._source, self.n_words = part.source, part.n_words
        self._pieces = (
            [(0, 0, part.n_documents)]
            if isinstance(part.source, Shard)
            else _pieces(part.source, part.begin, part.end)
        )
        self.shard_sizes = tuple(high - low for _, low, high in self._pieces)
        self.n_documents = sum(self.shard_sizes)

    def shard(self, number: int) -> Shard:
        """Return the documents of a piece."""
        stored, low, high = self._pieces[number]
        return (
            self._source if isinstance(self._source, Shard) else _take(self._source.shard(stored), low, high)
        )


class Source(Protocol):
    """Documents that a stream is read from: a `DiskCorpus`, or a corpus in memory as one shard."""

    @property
    def n_documents(self) -> int:
        """Number of documents."""
        ...

    @property
    def n_words(self) -> int:
        """Number of words in the vocabulary."""
        ...

    @property
    def n_tokens(self) -> int:
        """Number of tokens."""
        ...

    @property
    def frequencies(self) -> NDArray[np.int64]:
        """How often each word stands in all documents, shape (V,)."""
        ...

    @property
    def vocabulary(self) -> NDArray[np.object_]:
        """The words, shape (V,)."""
        ...

    @property
    def fingerprint(self) -> str:
        """Equal data, equal fingerprint."""
        ...

    @property
    def shard_sizes(self) -> tuple[int, ...]:
        """Number of documents of each shard."""
        ...

    def shard(self, number: int) -> Shard:
        """Return the documents of a shard; called from another thread."""
        ...


class InMemorySource:
    """A corpus in memory as a `Source` of one shard."""

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        self.n_documents, self.n_words, self.n_tokens = corpus.n_documents, corpus.n_words, corpus.n_tokens
        self.vocabulary, self.frequencies = corpus.vocabulary, corpus.frequencies
        self.shard_sizes = (corpus.n_documents,)

    @property
    def fingerprint(self) -> str:
        """Equal data, equal fingerprint."""
        return self.corpus.fingerprint

    def shard(self, number: int) -> Shard:
        """Return all documents."""
        return Tokens.of(self.corpus).documents


def as_source(data: Corpus | Source) -> Source:
    """Return the source that a stream of these data is read from."""
    return InMemorySource(data) if isinstance(data, Corpus) else data


class Piece(NamedTuple):
    """Some documents of one shard."""

    shard: Shard
    order: NDArray[np.int64]  #: numbers of the documents within the shard, in the order they come


class DocumentFeed:
    """The documents of a source in the order of a pass; the next shard is read ahead.

    With `shuffle` a pass takes the shards in an order drawn at random, and the documents of each shard too. The shards
    held between two calls save reading; they never change the order.
    """

    def __init__(self, source: Source, shuffle: bool) -> None:
        self.source, self.shuffle = source, shuffle
        self._held: tuple[int, Shard] | None = None
        self._coming: tuple[int, Future[Shard]] | None = None
        self._reader: ThreadPoolExecutor | None = None

    def iterate(self, seed: int, begin: int, end: int) -> Iterator[Piece]:
        """Yield the documents `begin` to `end` of the pass that a seed stands for."""
        sizes = np.array(self.source.shard_sizes, dtype=np.int64)
        shards = np.arange(len(sizes))
        if self.shuffle:
            shards = np.random.default_rng([seed]).permutation(shards)
        starts = np.concatenate([[0], np.cumsum(sizes[shards])])
        for at, number in enumerate(shards.tolist()):
            low, high = max(begin, int(starts[at])), min(end, int(starts[at + 1]))
            if low >= high:
                continue
            following = int(shards[at + 1]) if at + 1 < len(shards) else None
            shard = self._read(number, following)
            order = np.arange(sizes[number])
            if self.shuffle:
                order = np.random.default_rng([seed, number]).permutation(order)
            yield Piece(shard, order[low - int(starts[at]) : high - int(starts[at])])

    def _read(self, number: int, following: int | None) -> Shard:
        """Return a shard, and have the one that follows read meanwhile."""
        if self._held is None or self._held[0] != number:
            # A failed reading must not fail for ever: forget what was read ahead before asking for it.
            coming, self._coming = self._coming, None
            ahead = coming is not None and coming[0] == number
            shard = coming[1].result() if coming is not None and ahead else self.source.shard(number)
            self._held = number, shard
        if following is not None and (self._coming is None or self._coming[0] != following):
            if self._reader is None:
                self._reader = ThreadPoolExecutor(1, "acvb-read-ahead")
            self._coming = following, self._reader.submit(self.source.shard, following)
        return self._held[1]


#: Pairs of a piece of short rows: with some hundred topics they fit into a processor's own cache.
_PAIRS = 1 << 11
#: A short number has the last 5 bits of the exponent and the first 11 of the fraction: 2^-31 to 1, to 1 part in 4,096.
_SHIFT, _LOWEST, _HALF = np.int32(12), np.int32((127 - 31) << 23), np.int32(1 << 11)


class StoredPiece(NamedTuple):
    """Neighbouring documents, and the responsibilities of their pairs."""

    begin: int  #: first document
    end: int  #: the one behind the last
    documents: Shard
    q: Singles  #: shape (n_pairs, K)
    pairs: slice  #: their places among all pairs

    @property
    def n(self) -> int:
        """Number of documents."""
        return self.end - self.begin


class StoredRows:
    """Responsibilities of all pairs of a shard.

    `short`: keep each number in 16 bits; a kernel then works on a copy in single precision.
    """

    def __init__(self, tokens: Tokens, n_topics: int, short: bool = False) -> None:
        self.tokens, self.short = tokens, short
        shape = (len(tokens.words), n_topics)
        self.rows: Array = np.zeros(shape, np.uint16) if short else padded_zeros(shape, np.float32)

    @property
    def n_topics(self) -> int:
        """Number of topics."""
        return int(self.rows.shape[1])

    def pieces(self, begin: int = 0, end: int | None = None) -> Iterator[StoredPiece]:
        """Yield documents with what is kept of them; what a kernel writes to a piece is kept by `put`.

        A piece of short rows is written over by the next one.
        """
        tokens = self.tokens
        end = tokens.n_documents if end is None else end
        room = padded_zeros((0, self.n_topics), np.float32)
        while begin < end:
            until = min(self._piece_end(begin), end)
            pairs = slice(int(tokens.pointers[begin]), int(tokens.pointers[until]))
            q = self.rows[pairs]
            if self.short:
                if len(q) > len(room):
                    room = padded_zeros((max(len(q), _PAIRS), self.n_topics), np.float32)
                q = room[: len(q)]
                lengthen(self.rows[pairs], q)
            yield StoredPiece(begin, until, tokens.take(begin, until), q, pairs)
            begin = until

    def put(self, piece: StoredPiece) -> None:
        """Keep what was written to a piece; without short numbers it is there already."""
        if self.short:
            shorten(piece.q, self.rows[piece.pairs])

    def keep_topics(self, left: NDArray[np.int64]) -> None:
        """Leave the other topics out; rows sum to one again."""
        if not self.short:
            self.rows = padded_copy(renormalise(self.rows[:, left]))
            return
        rows = np.zeros((len(self.rows), len(left)), np.uint16)
        for piece in self.pieces():
            shorten(np.ascontiguousarray(renormalise(piece.q[:, left])), rows[piece.pairs])
        self.rows = rows

    def _piece_end(self, begin: int) -> int:
        if not self.short:
            return chunk_end(self.tokens.pointers, begin, self.tokens.n_documents, self.n_topics)
        pair = self.tokens.pointers[begin] + _PAIRS
        return max(int(np.searchsorted(self.tokens.pointers, pair, side="right")) - 1, begin + 1)


@nb.njit(**OPTIONS)
def shorten(rows: Singles, short: Any) -> None:
    """Write numbers from 0 to 1 in 16 bits each, rounded; those below 2^-31 become 2^-31."""
    bits = rows.view(np.int32)
    for e in range(bits.shape[0]):
        for k in range(bits.shape[1]):
            x = (bits[e, k] + (_HALF - _LOWEST)) >> _SHIFT
            short[e, k] = np.uint16(x if x > np.int32(0) else np.int32(0))


@nb.njit(**OPTIONS)
def lengthen(short: Any, rows: Singles) -> None:
    """Write what `shorten` gave in single precision."""
    bits = rows.view(np.int32)
    for e in range(bits.shape[0]):
        for k in range(bits.shape[1]):
            bits[e, k] = (np.int32(short[e, k]) << _SHIFT) + _LOWEST
