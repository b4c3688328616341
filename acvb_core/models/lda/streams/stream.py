"""The common part of the streaming methods: windows of documents, start values, posterior."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray

from acvb_core.core.protocols import Array, Poll, Posterior, SweepInfo, UnaveragedMethod, no_poll
from acvb_core.data.disk import Shard
from acvb_core.models.lda.hyper import Concentrations
from acvb_core.models.lda.kernels import OPTIONS, Floats, Singles, chunk_pairs
from acvb_core.models.lda.state import padded_zeros
from acvb_core.models.lda.streams.limits import fit_window
from acvb_core.models.lda.streams.source import DocumentFeed, Source
from acvb_core.models.lda.streams.state import Prior, StreamBuffers, StreamState

if TYPE_CHECKING:
    from acvb_core.models.lda.trained import TrainedTopics

#: By how much the topics differ in the beginning.
SPREAD = 0.3
_ROWS = 1 << 14  # drawn at a time


class WordTopics(NamedTuple):
    """The topics as the kernels of streams take them."""

    by_word: Any  #: shape (V, K); n_wk, to be multiplied by `scale`; its type is that of the computation
    scale: Any
    totals: Floats  #: shape (K,); n_k
    beta: Any
    all_beta: float  #: V beta


@dataclass(frozen=True, eq=False)
class StreamMethod(UnaveragedMethod, ABC):
    """A method bound to a stream of documents; a sweep is a window of them."""

    source: Source
    n_topics: int
    start: Concentrations  #: hyper-parameters to start from
    rule: int = 0  #: how alpha is learned (`kernels_prior`)
    window: int = 0  #: documents in a sweep; 0 for a twentieth of all, 20,000 at most
    shuffle: bool = True  #: take the documents of each pass in an order of its own, drawn at random
    #: The sizes of the corpus are used from the start; otherwise those of what was met so far.
    known: bool = True
    trained: TrainedTopics | None = None  #: what to go on from
    #: Documents that a stream whose sizes are those of what was met will have in all; 0 where nobody knows.
    expected: float = 0.0
    piece: bool = False  #: the documents are a piece of a pass, which does not end with them

    @property
    def batch(self) -> int:
        """Documents that the topics are changed by at a time."""
        return 1

    @cached_property
    def n_documents(self) -> int:
        """Documents in a pass."""
        return self.source.n_documents

    @cached_property
    def in_window(self) -> int:
        """Documents in a window: whole batches."""
        return fit_window(self.n_documents, self.window, self.batch)

    @property
    def all_beta(self) -> float:
        """V beta."""
        return self.source.n_words * self.start.beta

    def word_topics(self, buffers: StreamBuffers) -> WordTopics:
        """Return the topics of a window under way as the kernels take them."""
        scale, beta = np.float32(buffers.scale), np.float32(self.start.beta)
        return WordTopics(buffers.by_word, scale, buffers.totals, beta, self.all_beta)

    @cached_property
    def feed(self) -> DocumentFeed:
        """The documents in the order of each pass."""
        return DocumentFeed(self.source, self.shuffle)

    @abstractmethod
    def start_counts(self, rng: np.random.Generator) -> Singles:
        """Return the counts by word to begin with, shape (V, K)."""

    @abstractmethod
    def start_rows(self, rng: np.random.Generator, n: int) -> Singles:
        """Return the counts that `n` words begin with whose sizes are not known, shape (n, K)."""

    @abstractmethod
    def count_steps(self, state: StreamState) -> NDArray[np.int64]:
        """Return by how many steps the counts have moved: those of each word, shape (V,), or all of them, (1,)."""

    @abstractmethod
    def step_sizes(self, n: int) -> Floats:
        """Return by what share each of the first steps moves the counts, shape (n,)."""

    def rescale_counts(self, by_word: Singles, old: Array, new: Array) -> Singles:
        """Return counts that stood for so many tokens of each word as ones that stand for others."""
        before = float(old.sum())
        by_word *= np.float32(new.sum() / before if before else 1.0)
        return by_word

    @abstractmethod
    def learn(self, buffers: StreamBuffers, shard: Shard, order: NDArray[np.int64]) -> None:
        """Go through some documents of a shard, in this order."""

    def begin(self, buffers: StreamBuffers, state: StreamState) -> None:
        """Make ready for a window."""

    def flush(self, buffers: StreamBuffers) -> None:
        """Bring what was put off into the counts: at the end of a window."""

    def init(self, rng: np.random.Generator, poll: Poll = no_poll) -> StreamState:
        """Return the first state."""
        poll()
        n_words = self.source.n_words
        if self.trained is not None:
            return replace(self.trained.build_state(self), noise=int(rng.integers(2**62)))
        by_word = self.start_counts(rng)
        sizes, documents, tokens = np.zeros(n_words), 0.0, 0.0
        if self.known:
            sizes = self.source.frequencies.astype(np.float64)
            documents, tokens = float(self.n_documents), float(self.source.n_tokens)
        return StreamState(
            by_word, column_sums(by_word), np.zeros(n_words, np.int64), sizes, documents, tokens, 0,
            Prior.begin(self.start.alpha), noise=0 if self.known else int(rng.integers(2**62)),
        )  # fmt: skip

    def sweep(
        self, state: StreamState, rng: np.random.Generator, poll: Poll = no_poll
    ) -> tuple[StreamState, SweepInfo]:
        """Go through the next window; `rng` draws the order of a pass when one begins."""
        order = state.order if state.position else int(rng.integers(2**62))
        end = min(state.position + self.in_window, self.n_documents)
        buffers = self.read(state, order, (state.position, end), poll)
        over = end == self.n_documents
        epoch, position = (state.epoch + 1, 0) if over else (state.epoch, end)
        swept = buffers.build_state(epoch, position, order)
        if self.piece:
            swept = replace(swept, renewal=buffers.renewal)
        # The window's likelihood stands for that of all the tokens.
        loo = buffers.loo * self.source.n_tokens / buffers.seen if buffers.seen else None
        change = l1_change(swept.by_word, state.by_word)
        progress = (end - state.position) / self.n_documents
        return swept, SweepInfo(loo, None, progress, change)

    def read(
        self,
        state: StreamState,
        order: int,
        documents: tuple[int, int],
        poll: Poll = no_poll,
    ) -> StreamBuffers:
        """Go through documents of a pass, from the first to the one before the last; return what they leave.

        `order`: what the order of the pass is drawn from.
        """
        buffers = StreamBuffers(state)
        buffers.counting = not self.known and state.epoch == 0
        self.begin(buffers, state)
        for piece in self.feed.iterate(order, *documents):
            for part in _parts(piece.shard, piece.order, self.n_topics):
                poll()
                self.learn(buffers, piece.shard, part)
                buffers.gone += len(part)
        self.flush(buffers)
        return buffers

    def posterior(self, state: StreamState) -> Posterior:
        """Return what the state says: of topics and words only."""
        return state.posterior(self.start.beta)

    def noisy_rows(self, rng: np.random.Generator, sizes: Array) -> Singles:
        """Return rows of nearly even counts, 1 + 0.3 U(0, 1) each, that add up to these sizes."""
        rows = padded_zeros((len(sizes), self.n_topics), np.float32)
        for begin in range(0, len(sizes), _ROWS):
            part = rows[begin : begin + _ROWS]
            rng.random(out=part, dtype=np.float32)
            part *= np.float32(SPREAD)
            part += np.float32(1.0)
            part *= (sizes[begin : begin + _ROWS, None] / part.sum(axis=1, keepdims=True)).astype(np.float32)
        return rows


def _parts(shard: Shard, order: NDArray[np.int64], n_topics: int) -> list[NDArray[np.int64]]:
    """Return documents in pieces of some 50 ms."""
    pairs = np.cumsum(np.diff(shard.pointers)[order])
    cuts, most = [0], chunk_pairs(n_topics, 5.0)
    while cuts[-1] < len(order):
        done = int(pairs[cuts[-1] - 1]) if cuts[-1] else 0
        cuts.append(max(int(np.searchsorted(pairs, done + most, side="right")), cuts[-1] + 1))
    return [order[begin:end] for begin, end in zip(cuts[:-1], cuts[1:], strict=True)]


def column_sums(by_word: Singles) -> Array:
    """Return the sums over the words, in double precision."""
    return np.asarray(by_word.sum(axis=0, dtype=np.float64))


@nb.njit(**OPTIONS)
def l1_change(new: Singles, old: Singles) -> float:
    """Return the L1 distance of two arrays of counts, relative to the size of the first."""
    moved, size = 0.0, 0.0
    for w in range(new.shape[0]):
        own, other = new[w], old[w]
        here, mass = np.float32(0), np.float32(0)
        for k in range(new.shape[1]):
            here += abs(own[k] - other[k])
            mass += own[k]
        moved += float(here)
        size += float(mass)
    return moved / size if size > 0.0 else 0.0
