"""Streams whose words are not known beforehand: a growing vocabulary, and states that grow with it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from acvb_core.data.disk import Shard
from acvb_core.models.lda.kernels import Singles
from acvb_core.models.lda.state import padded_copy
from acvb_core.models.lda.streams.source import Source
from acvb_core.models.lda.streams.state import Renewal, StreamState


class GrowingVocabulary:
    """A vocabulary that grows by the words it meets, unless it is fixed.

    `words`: to begin with, none twice.
    """

    def __init__(self, words: Iterable[str] = (), fixed: bool = False) -> None:
        self._places = {word: place for place, word in enumerate(words)}
        self.fixed = fixed

    def __len__(self) -> int:
        return len(self._places)

    def first(self, n: int) -> NDArray[Any]:
        """Return the first `n` words, shape (n,)."""
        words = np.empty(n, dtype=object)
        words[:] = list(self._places)[:n]
        return words

    def columns(self, vocabulary: NDArray[Any]) -> NDArray[np.int32]:
        """Return the place of each word of a vocabulary; new ones get the next, or -1 where the words are fixed."""
        places = self._places
        if not self.fixed:
            for word in vocabulary:
                places.setdefault(word, len(places))
        return np.array([places.get(word, -1) for word in vocabulary], dtype=np.int32)


class RenumberedSource:
    """Documents with their words renumbered onto another vocabulary (a `Source`).

    `columns`: shape (words of `source`,); the place of each of its words; words at -1 are left out.
    `vocabulary`: shape (V,).
    `unknown`: number of tokens that are left out.
    """

    #: Nobody asks whether these documents were met before.
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
        """Return the documents of a shard, the words of each in the order of the vocabulary."""
        pointers, words, counts = self.source.shard(number)
        words, counts = self.columns[words], counts.copy()
        known = words >= 0
        if not known.all():
            words, counts = words[known], counts[known]
            pointers = np.concatenate([[0], np.cumsum(known)])[pointers]
        shape = (len(pointers) - 1, self.n_words)
        matrix = sparse.csr_array((counts, words, pointers), shape=shape)
        matrix.sort_indices()  # in place: the arrays are its own
        return Shard(
            pointers.astype(np.int64), matrix.indices.astype(np.int32), matrix.data.astype(np.float32)
        )


def add_words(state: StreamState, rows: Singles) -> StreamState:
    """Return a state with further words.

    `rows`: shape (number of new words, K); the counts that they begin with.
    """
    new = len(rows)
    renewal = state.renewal
    if renewal is not None:
        renewal = Renewal(
            _append_rows(renewal.by_word, np.zeros_like(rows)), np.append(renewal.tokens, np.zeros(new))
        )
    return replace(
        state,
        renewal=renewal,
        by_word=_append_rows(state.by_word, rows),
        totals=state.totals + rows.sum(axis=0, dtype=np.float64),
        steps=np.append(state.steps, np.zeros(new, dtype=np.int64)),
        sizes=np.append(state.sizes, np.zeros(new)),
    )


def _append_rows(counts: Singles, rows: Singles) -> Singles:
    """Return counts with further rows."""
    return padded_copy(np.concatenate([counts, rows]))
