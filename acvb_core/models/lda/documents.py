"""Documents of a corpus, from memory or from disk: cut into parts, read as a stream, with stored responsibilities."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numba as nb
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from acvb_core.core.clusters import renormalise
from acvb_core.core.protocols import Array
from acvb_core.data.corpus import Corpus
from acvb_core.data.disk import DiskCorpus, Shard, load_array, shard_file
from acvb_core.models.lda.kernels import OPTIONS, Singles
from acvb_core.models.lda.state import Tokens, chunk_end, padded_copy, padded_zeros, take_documents


@dataclass(frozen=True, eq=False)
class Part:
    """Neighbouring documents of a corpus; a stream reads them shard by shard."""

    number: int
    n_words: int
    source: DiskCorpus | Shard  #: a corpus on disk, or the documents themselves
    begin: int = 0  #: first document; documents that were left out are not counted
    end: int = 0  #: index after the last document

    @property
    def n_documents(self) -> int:
        """Number of documents."""
        return len(self.source.pointers) - 1 if isinstance(self.source, Shard) else self.end - self.begin

    @cached_property
    def _ranges(self) -> list[tuple[int, int, int]]:
        """(shard on disk, first document, index after the last) for each shard that has some of the documents."""
        if isinstance(self.source, Shard):
            return [(0, 0, self.n_documents)]
        starts = np.concatenate([[0], np.cumsum(self.source.shard_sizes)]).tolist()
        bounds = [
            (number, max(self.begin - first, 0), min(self.end, last) - first)
            for number, (first, last) in enumerate(pairwise(starts))
        ]
        return [(number, low, high) for number, low, high in bounds if low < high]

    @property
    def shard_sizes(self) -> tuple[int, ...]:
        """Number of documents of each shard."""
        return tuple(high - low for _, low, high in self._ranges)

    def shard(self, number: int) -> Shard:
        """Return the documents of a shard."""
        stored, low, high = self._ranges[number]
        if isinstance(self.source, Shard):
            return self.source
        return take_documents(self.source.shard(stored), low, high)

    def read(self) -> Tokens:
        """Return all documents, in memory."""
        if isinstance(self.source, Shard):
            return Tokens(*self.source, self.n_words)
        shards = [self.shard(number) for number in range(len(self._ranges))]
        pointers, pairs = [np.zeros(1, np.int64)], 0
        for shard in shards:
            pointers.append(shard.pointers[1:] + pairs)
            pairs += int(shard.pointers[-1])
        words = np.concatenate([np.zeros(0, np.int32), *(shard.words for shard in shards)])
        counts = np.concatenate([np.zeros(0, np.float32), *(shard.counts for shard in shards)])
        return Tokens(np.concatenate(pointers), words, counts, self.n_words)


def cut(corpus: Corpus | DiskCorpus, n_parts: int) -> list[Part]:
    """Return parts with about equal numbers of (document, word) pairs; each document is in one part.

    A corpus on disk is cut at the same documents as the same corpus in memory.
    """
    if isinstance(corpus, DiskCorpus):
        bounds = _find_bounds_on_disk(corpus, n_parts)
        return [Part(i, corpus.n_words, corpus, *ends) for i, ends in enumerate(pairwise(bounds))]
    tokens = Tokens.of(corpus)
    bounds = [0, *_find_starts(tokens.pointers, corpus.n_pairs, n_parts), tokens.n_documents]
    return [Part(i, corpus.n_words, tokens.take(*ends)) for i, ends in enumerate(pairwise(bounds))]


def _find_starts(pointers: NDArray[np.int64], n_pairs: int, n_parts: int) -> list[int]:
    """Return the first document of each part except the first; beyond the pointers if it is not among them."""
    return np.searchsorted(pointers, np.arange(1, n_parts) * n_pairs / n_parts).tolist()


def _find_bounds_on_disk(corpus: DiskCorpus, n_parts: int) -> list[int]:
    """Return the first document of each part, then the number of documents; no pair is read."""
    starts = [0] * (n_parts - 1)
    documents = pairs = 0
    for number, (begin, end) in enumerate(pairwise(corpus.begins[: corpus.n_shards + 1])):
        sizes = np.diff(load_array(corpus.folder, shard_file(number, "pointers")).astype(np.int64))
        out = corpus.left_out[(begin <= corpus.left_out) & (corpus.left_out < end)] - begin
        pointers = pairs + np.concatenate([[0], np.cumsum(np.delete(sizes, out))])
        for part, at in enumerate(_find_starts(pointers, corpus.n_pairs, n_parts)):
            starts[part] += min(at, len(pointers) - 1)
        documents, pairs = documents + len(pointers) - 1, int(pointers[-1])
    return [0, *starts, documents]


class InMemorySource:
    """A corpus in memory as a `Source` of one shard."""

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        self.n_documents, self.n_words, self.n_tokens = corpus.n_documents, corpus.n_words, corpus.n_tokens
        self.vocabulary, self.frequencies = corpus.vocabulary, corpus.frequencies
        self.shard_sizes = (corpus.n_documents,)

    @property
    def fingerprint(self) -> str:
        """The corpus's fingerprint."""
        return self.corpus.fingerprint

    def shard(self, number: int) -> Shard:
        """Return all documents."""
        return Tokens.of(self.corpus).documents


class RenumberedSource:
    """A `Source` with its words renumbered onto another vocabulary.

    `columns`: shape (words of `source`,); the new number of each word; words with -1 are left out.
    `vocabulary`: shape (V,).
    `unknown`: number of tokens that are left out.
    """

    n_documents: int
    n_tokens: int
    shard_sizes: tuple[int, ...]
    #: A stream does not ask whether it has seen these documents before.
    fingerprint = ""

    def __init__(self, source: Source, columns: NDArray[np.int32], vocabulary: NDArray[Any]) -> None:
        self.source, self.columns, self.vocabulary = source, columns, vocabulary
        self.n_documents, self.shard_sizes = source.n_documents, source.shard_sizes
        self.n_words, known = len(vocabulary), columns >= 0
        self.frequencies = np.zeros(self.n_words, dtype=np.int64)
        self.frequencies[columns[known]] = source.frequencies[known]
        self.unknown = int(source.frequencies[~known].sum())
        self.n_tokens = source.n_tokens - self.unknown

    def shard(self, number: int) -> Shard:
        """Return the documents of a shard, with sorted words."""
        pointers, words, counts = self.source.shard(number)
        words, counts = self.columns[words], counts.copy()
        known = words >= 0
        if not known.all():
            words, counts = words[known], counts[known]
            pointers = np.concatenate([[0], np.cumsum(known)])[pointers]
        matrix = sparse.csr_array((counts, words, pointers), shape=(len(pointers) - 1, self.n_words))
        matrix.sort_indices()  # in place: the arrays are its own
        return Shard(
            pointers.astype(np.int64), matrix.indices.astype(np.int32), matrix.data.astype(np.float32)
        )


#: Documents that a stream reads shard by shard; `shard` is called from another thread.
Source: TypeAlias = DiskCorpus | InMemorySource | RenumberedSource


def as_source(data: Corpus | Source) -> Source:
    """Return the source for a stream of these data."""
    return InMemorySource(data) if isinstance(data, Corpus) else data


class DocumentFeed:
    """The documents of a source in the order of an epoch; a thread reads the next shard ahead.

    With `shuffle`, each epoch draws an order of the shards, and an order of the documents in each shard. Shards that
    are kept between two calls save time and never change the order.
    """

    def __init__(self, source: Source | Part, shuffle: bool) -> None:
        self.source, self.shuffle = source, shuffle
        self._held: tuple[int, Shard] | None = None
        self._coming: tuple[int, Future[Shard]] | None = None
        self._reader: ThreadPoolExecutor | None = None

    def iterate(self, seed: int, begin: int, end: int) -> Iterator[tuple[Shard, NDArray[np.int64]]]:
        """Yield documents `begin` to `end` of the epoch with this seed: a shard and the documents in their order."""
        sizes = np.array(self.source.shard_sizes, dtype=np.int64)
        shards = np.arange(len(sizes))
        if self.shuffle:
            shards = np.random.default_rng([seed]).permutation(shards)
        starts = np.concatenate([[0], np.cumsum(sizes[shards])])
        for at, number in enumerate(shards.tolist()):
            low, high = max(begin, int(starts[at])), min(end, int(starts[at + 1]))
            if low >= high:
                continue
            shard = self._read(number, int(shards[at + 1]) if at + 1 < len(shards) else None)
            order = np.arange(sizes[number])
            if self.shuffle:
                order = np.random.default_rng([seed, number]).permutation(order)
            yield shard, order[low - int(starts[at]) : high - int(starts[at])]

    def _read(self, number: int, following: int | None) -> Shard:
        """Return a shard, and read the following one in another thread."""
        if self._held is None or self._held[0] != number:
            # Forget the shard read ahead before its result is asked for: a failed read must not fail again.
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
    end: int  #: index after the last document
    documents: Shard
    q: Singles  #: shape (n_pairs, K)
    pairs: slice  #: their range among all pairs

    @property
    def n(self) -> int:
        """Number of documents."""
        return self.end - self.begin


class StoredRows:
    """Responsibilities of all pairs of a shard.

    `short`: store each number in 16 bits; kernels then work on a copy in single precision.
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
        """Yield neighbouring documents with their responsibilities; `put` stores the changes that a kernel made.

        The next piece of short rows overwrites the last one.
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
        """Store the changed responsibilities of a piece; only short rows are a copy."""
        if self.short:
            shorten(piece.q, self.rows[piece.pairs])

    def keep_topics(self, left: NDArray[np.int64]) -> None:
        """Keep these topics only, and normalise the rows."""
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
    """Write numbers of `shorten` in single precision."""
    bits = rows.view(np.int32)
    for e in range(bits.shape[0]):
        for k in range(bits.shape[1]):
            bits[e, k] = (np.int32(short[e, k]) << _SHIFT) + _LOWEST
