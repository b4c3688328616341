"""The documents of a corpus cut into parts, each read where it is needed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from acvb_core.data.corpus import Corpus
from acvb_core.data.disk import DiskCorpus, Shard, load_array, shard_file
from acvb_core.models.lda.state import Tokens


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
