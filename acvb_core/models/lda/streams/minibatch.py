"""Methods that change the topics by one mini-batch of documents at a time, weighted as if it were the whole corpus."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray

from acvb_core.data.disk import Shard
from acvb_core.models.lda.kernels import OPTIONS, Floats, Integers
from acvb_core.models.lda.state import padded_zeros
from acvb_core.models.lda.streams.state import StreamBuffers, StreamState
from acvb_core.models.lda.streams.stream import StreamMethod

#: The counts are multiplied out when what they are to be multiplied by is below this.
_SMALL = 1e-6


class BatchSums(NamedTuple):
    """The arrays of a `Batch` as the kernels take them."""

    slots: Integers
    sums: Any
    cache: Any
    totals: Floats


class Batch:
    """Sums of the mini-batch under way, in rows for the words in it alone.

    `slots`: shape (V,); row of each word, -1 for those not in it.
    `touched`: word of each row.
    `sums`: shape (rows, K); expected counts.
    `cache`: shape (rows, K); what a method works out once for each word.
    `totals`: shape (K,); column sums of `sums`.
    `n`, `documents`: rows in use, documents done.
    """

    def __init__(self, n_words: int, n_topics: int, dtype: Any = np.float32) -> None:
        self.slots = np.full(n_words, -1, dtype=np.int32)
        self.touched = np.empty(0, dtype=np.int32)
        self.sums = self.cache = padded_zeros((0, n_topics), dtype)
        self.totals = np.zeros(n_topics)
        self.n = self.documents = 0
        self.tokens = 0.0

    def admit(self, shard: Shard, order: NDArray[np.int64], sizes: Floats, counting: bool) -> None:
        """Give every word of some documents a row; add its tokens to its size where they are counted."""
        pairs = int((shard.pointers[order + 1] - shard.pointers[order]).sum())
        room = min(self.n + pairs, len(self.slots))
        if room > len(self.touched):
            room = min(max(room, 2 * len(self.touched)), len(self.slots))
            for name in ("touched", "sums", "cache"):
                old = getattr(self, name)
                new = padded_zeros((room, *old.shape[1:]), old.dtype)
                new[: self.n] = old[: self.n]
                setattr(self, name, new)
        self.n = _admit(order, shard, self.slots, self.touched, self.sums, self.n, sizes, counting)

    @property
    def arrays(self) -> BatchSums:
        """The arrays that a kernel adds to."""
        return BatchSums(self.slots, self.sums, self.cache, self.totals)

    def clear(self) -> None:
        """Begin the next mini-batch."""
        self.slots[self.touched[: self.n]] = -1
        self.totals[:] = 0.0
        self.n = self.documents = 0
        self.tokens = 0.0


@dataclass(frozen=True, eq=False)
class MinibatchMethod(StreamMethod):
    """A stochastic variational method."""

    documents: int = 100  #: documents of a mini-batch
    #: `scale`, `offset`, `power`: the step of the t-th mini-batch, from 1, is scale / (offset + t)^power, 1 at most.
    scale: float = 1.0
    offset: float = 1.0
    power: float = 0.7

    @property
    def batch(self) -> int:
        """Documents that the topics are changed by at a time."""
        return self.documents

    @abstractmethod
    def infer(
        self, buffers: StreamBuffers, shard: Shard, order: NDArray[np.int64]
    ) -> tuple[float, float, float]:
        """Infer the topics of some documents of a mini-batch, those of the corpus as they are.

        Returns `loo, predicted, tokens`: as `scvb0.infer_documents` gives them.
        """

    @abstractmethod
    def weight(self, buffers: StreamBuffers, batch: Batch) -> float:
        """Return how many times a mini-batch the corpus is."""

    def learn(self, buffers: StreamBuffers, shard: Shard, order: NDArray[np.int64]) -> None:
        """Go through some documents of a shard; the topics change whenever a mini-batch is full."""
        done = 0
        while done < len(order):
            batch = self._batch_of(buffers)
            part = order[done : done + self.documents - batch.documents]
            batch.admit(shard, part, buffers.sizes, buffers.counting)
            loo, predicted, tokens = self.infer(buffers, shard, part)
            buffers.loo += loo
            buffers.seen += predicted
            batch.tokens += tokens
            batch.documents += len(part)
            done += len(part)
            if batch.documents == self.documents:
                self._update(buffers, batch)

    def flush(self, buffers: StreamBuffers) -> None:
        """Add the last mini-batch, and multiply the counts by their scale."""
        batch = self._batch_of(buffers)
        if batch.documents:
            self._update(buffers, batch)
        _multiply(buffers)

    def _batch_of(self, buffers: StreamBuffers) -> Batch:
        if buffers.batch is None:
            n_words, n_topics = buffers.by_word.shape
            buffers.batch = Batch(n_words, n_topics, buffers.by_word.dtype)
        batch: Batch = buffers.batch
        return batch

    def count_steps(self, state: StreamState) -> NDArray[np.int64]:
        """Return the number of mini-batches."""
        return np.array([state.batches])

    def step_sizes(self, n: int) -> Floats:
        """Return the steps of the first mini-batches."""
        return np.array([self.step(t) for t in range(1, n + 1)])

    def step(self, batches: int) -> float:
        """Return the step of a mini-batch, the first of them 1."""
        return float(min(self.scale / (self.offset + batches) ** self.power, 1.0))

    def _update(self, buffers: StreamBuffers, batch: Batch) -> None:
        """Move the counts towards those of the mini-batch; one of empty documents changes nothing."""
        if buffers.counting:
            buffers.documents += batch.documents
            buffers.tokens += batch.tokens
        if not batch.tokens:
            batch.clear()
            return
        buffers.batches += 1
        rho = self.step(buffers.batches)
        worth = rho * self.weight(buffers, batch)
        keep = 1.0 - rho
        buffers.totals *= keep
        buffers.totals += worth * batch.totals
        if keep < _SMALL:
            buffers.by_word *= buffers.by_word.dtype.type(keep * buffers.scale)
            buffers.scale = 1.0
        else:
            buffers.scale *= keep
        single = buffers.by_word.dtype.type
        add_rows(buffers.by_word, batch.touched, batch.sums, batch.n, single(worth / buffers.scale))
        if buffers.scale < _SMALL:
            _multiply(buffers)
        batch.clear()


def _multiply(buffers: StreamBuffers) -> None:
    if buffers.scale != 1.0:
        buffers.by_word *= buffers.by_word.dtype.type(buffers.scale)
        buffers.scale = 1.0


@nb.njit(**OPTIONS)
def _admit(
    order: Integers,
    documents: Shard,
    slots: Integers,
    touched: Integers,
    sums: Any,
    n: int,
    sizes: Floats,
    counting: bool,
) -> int:
    """Give the words of documents that have none a row of zeros; return the rows in use. Count tokens if asked to."""
    pointers, words, counts = documents
    for at in range(order.shape[0]):
        for e in range(pointers[order[at]], pointers[order[at] + 1]):
            w = words[e]
            if counting:
                sizes[w] += counts[e]
            if slots[w] < 0:
                slots[w] = n
                touched[n] = w
                for k in range(sums.shape[1]):
                    sums[n, k] = 0
                n += 1
    return n


@nb.njit(**OPTIONS)
def add_rows(by_word: Any, touched: Integers, sums: Any, n: int, weight: Any) -> None:
    """Add `weight` times the first n rows of `sums` to the rows of their words."""
    for at in range(n):
        word, own = by_word[touched[at]], sums[at]
        for k in range(by_word.shape[1]):
            word[k] += weight * own[k]
