"""The corpus as the kernels of LDA read it, the counts they keep, the posterior, and the base of the methods."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from acvb_core.core.parallel import cut_rows, map_together
from acvb_core.core.protocols import Array, Posterior, UnaveragedMethod
from acvb_core.data.corpus import Corpus
from acvb_core.data.disk import Shard
from acvb_core.models.lda.hyper import Concentrations
from acvb_core.models.lda.kernels import GAP, Counts, Singles, chunk_pairs

TOPICS = "topics"
#: A run is not judged before this sweep …
BEGINNING = 20
#: … nor, up to this one, in a sweep that moves more than the one before.
RISING_UNTIL = 100
#: Numbers of a copy that a thread takes at a time: a tenth of a millisecond.
_COPIED = 1 << 18


@dataclass(frozen=True, eq=False)
class Tokens:
    """A corpus as the kernels read it."""

    pointers: NDArray[np.int64]  #: shape (D + 1,); pairs of document d are pointers[d] … pointers[d + 1] - 1
    words: NDArray[np.int32]  #: shape (n_pairs,)
    counts: Singles  #: shape (n_pairs,)
    n_words: int

    @classmethod
    def of(cls, corpus: Corpus) -> Tokens:
        """Return a corpus's pairs; runs on the same corpus share them."""
        if corpus not in _TOKENS:
            matrix = corpus.counts
            _TOKENS[corpus] = cls(
                matrix.indptr.astype(np.int64),
                matrix.indices.astype(np.int32, copy=False),
                matrix.data.astype(np.float32),
                corpus.n_words,
            )
        return _TOKENS[corpus]

    @cached_property
    def documents(self) -> Shard:
        """The pairs as the kernels take them."""
        return Shard(self.pointers, self.words, self.counts)

    def take(self, begin: int, end: int) -> Shard:
        """Return the pairs of documents `begin` to `end`, pointers from 0."""
        pointers = self.pointers[begin : end + 1]
        pairs = slice(int(pointers[0]), int(pointers[-1]))
        return Shard(pointers - pointers[0], self.words[pairs], self.counts[pairs])

    @property
    def n_documents(self) -> int:
        """Number of documents."""
        return len(self.pointers) - 1

    @cached_property
    def n_tokens(self) -> float:
        """Number of tokens."""
        return float(self.counts.sum(dtype=np.float64))

    def chunks(self, n_topics: int, ns_each: float = 1.0) -> list[tuple[int, int]]:
        """Return all documents in pieces of some 50 ms."""
        begin, chunks = 0, []
        while begin < self.n_documents:
            chunks.append((begin, chunk_end(self.pointers, begin, self.n_documents, n_topics, ns_each)))
            begin = chunks[-1][1]
        return chunks


def chunk_end(pointers: NDArray[np.int64], begin: int, end: int, n_topics: int, ns_each: float = 1.0) -> int:
    """Return where a kernel call should end that begins with this document: some 50 ms later, at most at `end`."""
    pair = pointers[begin] + chunk_pairs(n_topics, ns_each)
    at = begin + int(np.searchsorted(pointers[begin : end + 1], pair, side="right")) - 1
    return min(max(at, begin + 1), end)


_TOKENS: WeakKeyDictionary[Corpus, Tokens] = WeakKeyDictionary()


def zero_counts(tokens: Tokens, n_topics: int) -> Counts:
    """Return counts of zero in single precision."""
    by_document = padded_zeros((tokens.n_documents, n_topics), np.float32)
    return Counts(by_document, padded_zeros((tokens.n_words, n_topics), np.float32), np.zeros(n_topics))


def copy_counts(counts: Counts) -> Counts:
    """Return a copy to be written to."""
    return Counts(padded_copy(counts.by_document), padded_copy(counts.by_word), counts.totals.copy())


def padded_zeros(shape: tuple[int, ...], dtype: Any = np.float64) -> Array:
    """Return zeros with unused room on both sides, so that no other array lies close (see `kernels.py`)."""
    return _pad(np.zeros(math.prod(shape) + 2 * GAP, dtype), shape)


def padded_room(shape: tuple[int, ...], dtype: Any = np.float64) -> Array:
    """Return what `padded_zeros` does, of any numbers: zeros in large arrays are written by one thread alone."""
    return _pad(np.empty(math.prod(shape) + 2 * GAP, dtype), shape)


def _pad(numbers: Array, shape: tuple[int, ...]) -> Array:
    """Return numbers as an array of a shape with unused room on both sides."""
    return numbers[GAP:-GAP].reshape(shape)


def padded_copy(array: Array) -> Array:
    """Return a copy with room on both sides, made on the run's threads."""
    copy = padded_room(array.shape, array.dtype)

    def copy_some(rows: slice) -> None:
        copy[rows] = array[rows]

    map_together(copy_some, cut_rows(array, _COPIED))
    return copy


def build_posterior(counts: Counts, hyper: Concentrations, entropy: Array | None = None) -> Posterior:
    """Return counts as a posterior.

    `entropy`: shape (D,); entropy of the responsibilities of each document's tokens (nats), where it is known at no
      cost.
    """
    arrays = {"documents": counts.by_document, "words": counts.by_word, "alpha": hyper.alpha}
    axes: dict[str, tuple[str | None, ...]] = dict.fromkeys(("documents", "words"), (None, TOPICS))
    axes["alpha"] = (TOPICS,)
    if entropy is not None:
        arrays["entropy"], axes["entropy"] = entropy, (None,)
    return Posterior(
        arrays,
        axes,
        averaged=("documents", "words"),
        derived=("entropy",) if entropy is not None else (),
        hyper={"alpha_total": float(hyper.alpha.sum()), "beta": hyper.beta},
        normalised=False,
    )


def is_beginning(age: int, change: float, before: float) -> bool:
    """Return whether a run may still be leaving the even start, where nothing seems to move.

    The topics begin all but alike, and with many of them what is watched stands still for some sweeps (to a few
    millionths with 320 topics) while their differences grow, until they part.

    `age`: sweeps done.
    `change`, `before`: L1 change of the responsibilities in the last sweep and in the one before.
    """
    return age < BEGINNING or (age < RISING_UNTIL and change > before)


@dataclass(frozen=True, eq=False)
class LdaMethod(UnaveragedMethod):
    """A method bound to a corpus."""

    tokens: Tokens
    n_topics: int
    start: Concentrations  #: hyper-parameters to start from


@dataclass(frozen=True, eq=False)
class VariationalMethod(LdaMethod):
    """A variational method."""

    learn: bool = True  #: learn the hyper-parameters
    shrink: float = 1e-5  #: a topic with less than this share of the tokens is dropped
