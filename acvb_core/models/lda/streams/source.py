"""Documents one after the other, from memory or from disk, in a new random order for each pass."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from acvb_core.data.corpus import Corpus
from acvb_core.data.disk import Shard
from acvb_core.models.lda.state import Tokens


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
