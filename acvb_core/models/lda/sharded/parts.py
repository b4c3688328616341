"""The documents of a corpus cut into parts, each read where it is needed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from acvb_core.data.corpora.disk_files import load_array, shard_file
from acvb_core.data.corpus import Corpus
from acvb_core.data.disk_corpus import DiskCorpus, Shard
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
    starts = np.concatenate([[0], np.cumsum(corpus.shard_sizes)])
    pointers, words, counts = [np.zeros(1, np.int64)], [np.zeros(0, np.int32)], [np.zeros(0, np.float32)]
    pairs = 0
    for number in range(corpus.n_shards):
        low, high = max(begin, int(starts[number])), min(end, int(starts[number + 1]))
        if low >= high:
            continue
        shard = corpus.shard(number)
        own = shard.pointers[low - starts[number] : high - starts[number] + 1]
        pointers.append(own[1:] - own[0] + pairs)
        words.append(shard.words[own[0] : own[-1]])
        counts.append(shard.counts[own[0] : own[-1]])
        pairs += int(own[-1] - own[0])
    return Shard(np.concatenate(pointers), np.concatenate(words), np.concatenate(counts))
