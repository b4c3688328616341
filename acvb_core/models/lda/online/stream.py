"""State, windows and minibatches of the streaming methods."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numba as nb
import numpy as np
from numpy.typing import NDArray

from acvb_core.core.protocols import Array, Poll, Posterior, SweepInfo, UnaveragedMethod, no_poll
from acvb_core.data.disk import Shard
from acvb_core.models.lda.documents import DocumentFeed, Source
from acvb_core.models.lda.hyper import Concentrations
from acvb_core.models.lda.kernels import OPTIONS, Floats, Integers, Singles, chunk_pairs
from acvb_core.models.lda.online.kernels import PAPER, BatchSums, Prior, WordTopics
from acvb_core.models.lda.spec import fit_window
from acvb_core.models.lda.state import TOPICS, padded_copy, padded_zeros

if TYPE_CHECKING:
    from acvb_core.models.lda.trained import TrainedTopics


@dataclass(frozen=True, eq=False)
class StreamState:
    """The state after a window."""

    by_word: Singles  #: shape (V, K); expected counts n_wk of the topics, without the prior's beta
    totals: Floats  #: shape (K,); their sums
    steps: NDArray[np.int64]  #: shape (V,); number of updates of each word's counts (SDM)
    #: Shape (V,); tokens of each word that the counts represent: of the corpus, or those read so far.
    sizes: Floats
    documents: float  #: documents that the counts represent
    tokens: float  #: all tokens that the counts represent
    batches: int  #: minibatches so far (SVB, SCVB0)
    prior: Prior
    epoch: int = 0  #: whole epochs done
    position: int = 0  #: documents done of the current epoch
    order: int = 0  #: seed of the order of the documents in the current epoch
    noise: int = 0  #: seed of the differences between topics for a word read for the first time (SDM)
    gone: int = 0  #: documents read in all epochs
    renewal: Renewal | None = None  #: what the current epoch has renewed (SDM, from the second epoch)


@dataclass(frozen=True, eq=False)
class Renewal:
    """Counts of the current epoch alone, which replace those of the epoch before."""

    #: Shape (V, K); sums of c q over the documents of the epoch so far; part of the state's own counts.
    by_word: Singles
    tokens: Floats  #: shape (V,); number of tokens of each word in these counts

    @classmethod
    def begin(cls, by_word: Singles) -> Renewal:
        """Return counts of zero, in the shape of `by_word`."""
        return cls(padded_zeros(by_word.shape, by_word.dtype), np.zeros(len(by_word)))


class StreamBuffers:
    """Arrays of a state that a window writes to, and the window's sums.

    The attributes have the names of `StreamState`, and further:

    `scale`: factor by which `by_word` is to be multiplied.
    `loo`, `seen`: sum of the leave-one-out log probabilities of the window, and the number of its tokens.
    `counting`: sizes are those read so far, and the documents are read for the first time.
    `batch`: sums of the current minibatch.
    """

    def __init__(self, state: StreamState) -> None:
        self._state, prior, renewal = state, state.prior, state.renewal
        self.by_word, self.totals = padded_copy(state.by_word), padded_copy(state.totals)
        self.steps, self.sizes = state.steps.copy(), state.sizes.copy()
        self.documents, self.tokens, self.batches = state.documents, state.tokens, state.batches
        self.prior = Prior(*[padded_copy(array) for array in prior])
        self.noise, self.gone = state.noise, state.gone
        self.renewal = renewal and Renewal(padded_copy(renewal.by_word), renewal.tokens.copy())
        self.scale, self.loo, self.seen = 1.0, 0.0, 0.0
        self.counting = False
        self.batch: Any = None

    def build_state(self, epoch: int, position: int, order: int) -> StreamState:
        """Return the state after the window."""
        names = (
            "by_word", "totals", "steps", "sizes", "documents", "tokens", "batches", "prior", "gone", "renewal",
        )  # fmt: skip
        arrays = {name: getattr(self, name) for name in names}
        return replace(self._state, epoch=epoch, position=position, order=order, **arrays)


@dataclass(frozen=True, eq=False)
class StreamMethod(UnaveragedMethod, ABC):
    """A method bound to a stream of documents; a sweep is a window of them."""

    source: Source
    n_topics: int
    start: Concentrations  #: initial hyper-parameters
    rule: int = 0  #: how alpha is learned (`online.kernels`)
    window: int = 0  #: documents in a sweep; 0 for a twentieth of all, at most 20,000
    shuffle: bool = True  #: draw a new order of the documents for each epoch
    known: bool = True  #: use the sizes of the corpus from the start, otherwise those read so far
    trained: TrainedTopics | None = None  #: topics to continue from
    #: Documents that a stream of unknown size will have in all; 0 if that is unknown too.
    expected: float = 0.0
    piece: bool = False  #: the documents are a piece of an epoch, which does not end with them
    #: From the second epoch on, the counts of the current epoch replace those of the epoch before (SDM). Steps would
    #: keep more than half of the counts of a rare word from long past epochs.
    renew: bool = False

    @property
    def batch(self) -> int:
        """Documents in a minibatch."""
        return 1

    @cached_property
    def n_documents(self) -> int:
        """Documents in an epoch."""
        return self.source.n_documents

    @cached_property
    def in_window(self) -> int:
        """Documents in a window: whole minibatches."""
        return fit_window(self.n_documents, self.window, self.batch)

    def word_topics(self, buffers: StreamBuffers) -> WordTopics:
        """Return the current topics as the kernels read them."""
        scale, beta = np.float32(buffers.scale), np.float32(self.start.beta)
        all_beta = self.source.n_words * self.start.beta
        return WordTopics(buffers.by_word, scale, buffers.totals, beta, all_beta)

    @cached_property
    def feed(self) -> DocumentFeed:
        """The documents in the order of each epoch."""
        return DocumentFeed(self.source, self.shuffle)

    @abstractmethod
    def start_counts(self, rng: np.random.Generator) -> Singles:
        """Return the initial counts by word, shape (V, K)."""

    @abstractmethod
    def start_rows(self, rng: np.random.Generator, n: int) -> Singles:
        """Return the initial counts of `n` words of unknown size, shape (n, K)."""

    @abstractmethod
    def count_steps(self, state: StreamState) -> NDArray[np.int64]:
        """Return how many steps moved the counts: for each word, shape (V,), or for all words, shape (1,)."""

    @abstractmethod
    def step_sizes(self, n: int) -> Floats:
        """Return the sizes of the first `n` steps, shape (n,)."""

    def rescale_counts(self, by_word: Singles, old: Array, new: Array) -> Singles:
        """Return counts for `old` tokens of each word, rescaled to `new` tokens."""
        before = float(old.sum())
        by_word *= np.float32(new.sum() / before if before else 1.0)
        return by_word

    @abstractmethod
    def learn(self, buffers: StreamBuffers, shard: Shard, order: NDArray[np.int64]) -> None:
        """Learn from some documents of a shard, in this order."""

    @abstractmethod
    def flush(self, buffers: StreamBuffers) -> None:
        """Finish a window: add all pending sums to the counts."""

    def init(self, rng: np.random.Generator, poll: Poll = no_poll) -> StreamState:
        """Return the first state."""
        poll()
        n_words = self.source.n_words
        if self.trained is not None:
            return replace(self._continue(self.trained), noise=int(rng.integers(2**62)))
        by_word = self.start_counts(rng)
        sizes, documents, tokens = np.zeros(n_words), 0.0, 0.0
        if self.known:
            sizes = self.source.frequencies.astype(np.float64)
            documents, tokens = float(self.n_documents), float(self.source.n_tokens)
        return StreamState(
            by_word, by_word.sum(axis=0, dtype=np.float64), np.zeros(n_words, np.int64), sizes, documents, tokens, 0,
            Prior.begin(self.start.alpha), noise=0 if self.known else int(rng.integers(2**62)),
        )  # fmt: skip

    def _continue(self, trained: TrainedTopics) -> StreamState:
        """Return the state that continues trained topics; new words have no counts.

        The counts represent the new documents too, unless the topics were trained on them.
        """
        source = self.source
        trained.check(self.n_topics)
        places = trained.find_places(source.vocabulary)
        old = np.where(places >= 0, trained.sizes[places], 0.0)
        sizes, documents = old, trained.documents
        met = bool(trained.fingerprint) and trained.fingerprint == source.fingerprint
        if self.known and not met:
            sizes, documents = old + source.frequencies, trained.documents + source.n_documents
        by_word = self.rescale_counts(trained.counts_at(places), old, sizes)
        arrays = trained.posterior.arrays
        steps = np.minimum(old, trained.documents).astype(np.int64)
        batches = int(trained.documents // max(self.batch, 1))
        prior = Prior.begin(trained.concentrations.alpha)
        if "course" in arrays:
            denominator, learned, batches = arrays["course"]
            steps = np.where(places >= 0, arrays["steps"][places], 0)
            # The two rules learn from different sums.
            if denominator or self.rule == PAPER:
                scalars = np.array([denominator, learned])
                prior = Prior(prior.alpha, arrays["gains"].copy(), prior.sticks, scalars)
        return StreamState(
            by_word, by_word.sum(axis=0, dtype=np.float64), steps, sizes, float(documents), float(sizes.sum()),
            int(batches), prior, int(met), gone=int(trained.documents),
        )  # fmt: skip

    def sweep(
        self, state: StreamState, rng: np.random.Generator, poll: Poll = no_poll
    ) -> tuple[StreamState, SweepInfo]:
        """Read the next window; `rng` draws the order of an epoch at its start."""
        order = state.order if state.position else int(rng.integers(2**62))
        end = min(state.position + self.in_window, self.n_documents)
        buffers = self.read(state, order, (state.position, end), poll)
        over = end == self.n_documents
        epoch, position = (state.epoch + 1, 0) if over else (state.epoch, end)
        swept = buffers.build_state(epoch, position, order)
        if over and not self.piece:
            swept = replace(swept, renewal=None)
        # The likelihood of the window is scaled to that of all tokens.
        loo = buffers.loo * self.source.n_tokens / buffers.seen if buffers.seen else None
        change = l1_change(swept.by_word, state.by_word)
        progress = (end - state.position) / self.n_documents
        return swept, SweepInfo(loo, None, progress, change)

    def read(
        self, state: StreamState, order: int, documents: tuple[int, int], poll: Poll = no_poll
    ) -> StreamBuffers:
        """Learn from documents of an epoch: the first, and the index after the last; `order`: seed of their order."""
        buffers = StreamBuffers(state)
        buffers.counting = not self.known and state.epoch == 0
        if self.renew and state.epoch and buffers.renewal is None:
            buffers.renewal = Renewal.begin(buffers.by_word)
        for shard, numbers in self.feed.iterate(order, *documents):
            for part in _parts(shard, numbers, self.n_topics):
                poll()
                self.learn(buffers, shard, part)
                buffers.gone += len(part)
        self.flush(buffers)
        return buffers

    def posterior(self, state: StreamState) -> Posterior:
        """Return the posterior of topics and words; it has no documents."""
        alpha = state.prior.alpha.astype(np.float64)
        words: tuple[str | None, ...] = (None,)
        return Posterior(
            {
                "words": state.by_word,
                "alpha": alpha,
                # Training continues from the following arrays.
                "gains": state.prior.gains,
                "steps": state.steps,
                "sizes": state.sizes,
                "course": np.array([*state.prior.scalars, float(state.batches)]),
                "documents_met": np.array([state.documents]),
            },
            {"words": (None, TOPICS), "alpha": (TOPICS,), "gains": (TOPICS,)}
            | dict.fromkeys(("steps", "sizes", "course", "documents_met"), words),
            averaged=("words",),
            hyper={"alpha_total": float(alpha.sum()), "beta": self.start.beta},
            normalised=False,
        )


def _parts(shard: Shard, order: NDArray[np.int64], n_topics: int) -> list[NDArray[np.int64]]:
    """Return documents in pieces of about 50 ms."""
    pairs = np.cumsum(np.diff(shard.pointers)[order])
    cuts, most = [0], chunk_pairs(n_topics, 5.0)
    while cuts[-1] < len(order):
        done = int(pairs[cuts[-1] - 1]) if cuts[-1] else 0
        cuts.append(max(int(np.searchsorted(pairs, done + most, side="right")), cuts[-1] + 1))
    return [order[begin:end] for begin, end in zip(cuts[:-1], cuts[1:], strict=True)]


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


def add_words(state: StreamState, rows: Singles) -> StreamState:
    """Return a state with further words; `rows`: their initial counts, shape (number of new words, K)."""

    def extend(counts: Singles, rows: Singles) -> Singles:
        return padded_copy(np.concatenate([counts, rows]))

    none, renewal = np.zeros(len(rows)), state.renewal
    if renewal is not None:
        renewal = Renewal(extend(renewal.by_word, np.zeros_like(rows)), np.append(renewal.tokens, none))
    return replace(
        state,
        renewal=renewal,
        by_word=extend(state.by_word, rows),
        totals=state.totals + rows.sum(axis=0, dtype=np.float64),
        steps=np.append(state.steps, none.astype(np.int64)),
        sizes=np.append(state.sizes, none),
    )


#: The counts are multiplied by their scale when it falls below this.
_SMALL = 1e-6


class Batch:
    """Sums of the current minibatch, with rows for its words alone.

    `slots`: shape (V,); row of each word, -1 for words that it does not have.
    `touched`: word of each row.
    `sums`: shape (rows, K); expected counts.
    `cache`: shape (rows, K); values that a method computes once for each word.
    `totals`: shape (K,); column sums of `sums`.
    `n`, `documents`, `tokens`: rows in use, documents and tokens so far.
    """

    def __init__(self, n_words: int, n_topics: int, dtype: Any = np.float32) -> None:
        self.slots = np.full(n_words, -1, dtype=np.int32)
        self.touched = np.empty(0, dtype=np.int32)
        self.sums = self.cache = padded_zeros((0, n_topics), dtype)
        self.totals = np.zeros(n_topics)
        self.n = self.documents = 0
        self.tokens = 0.0

    def admit(self, shard: Shard, order: NDArray[np.int64], sizes: Floats, counting: bool) -> None:
        """Give every word of some documents a row; with `counting`, add its tokens to its size."""
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

    def clear(self) -> None:
        """Begin the next minibatch."""
        self.slots[self.touched[: self.n]] = -1
        self.totals[:] = 0.0
        self.n = self.documents = 0
        self.tokens = 0.0


@dataclass(frozen=True, eq=False)
class MinibatchMethod(StreamMethod):
    """A stochastic variational method: the t-th minibatch has the step scale / (offset + t)^power, at most 1."""

    documents: int = 100  #: documents in a minibatch
    scale: float = 1.0
    offset: float = 1.0
    power: float = 0.7

    @property
    def batch(self) -> int:
        """Documents in a minibatch."""
        return self.documents

    @abstractmethod
    def infer(
        self, buffers: StreamBuffers, batch: BatchSums, shard: Shard, order: NDArray[np.int64]
    ) -> tuple[float, float, float]:
        """Add expected counts of some documents to a minibatch, with the topics fixed.

        Returns `loo, predicted, tokens`: as of `infer_scvb0`.
        """

    @abstractmethod
    def weight(self, buffers: StreamBuffers, batch: Batch) -> float:
        """Return the size of the corpus relative to a minibatch."""

    def learn(self, buffers: StreamBuffers, shard: Shard, order: NDArray[np.int64]) -> None:
        """Learn from some documents of a shard; the topics change after each full minibatch."""
        done = 0
        if buffers.batch is None:
            n_words, n_topics = buffers.by_word.shape
            buffers.batch = Batch(n_words, n_topics, buffers.by_word.dtype)
        batch: Batch = buffers.batch
        while done < len(order):
            part = order[done : done + self.documents - batch.documents]
            batch.admit(shard, part, buffers.sizes, buffers.counting)
            sums = BatchSums(batch.slots, batch.sums, batch.cache, batch.totals)
            loo, predicted, tokens = self.infer(buffers, sums, shard, part)
            buffers.loo += loo
            buffers.seen += predicted
            batch.tokens += tokens
            batch.documents += len(part)
            done += len(part)
            if batch.documents == self.documents:
                self._update(buffers, batch)

    def flush(self, buffers: StreamBuffers) -> None:
        """Add the last minibatch, and multiply the counts by their scale."""
        if buffers.batch is not None and buffers.batch.documents:
            self._update(buffers, buffers.batch)
        _multiply(buffers)

    def count_steps(self, state: StreamState) -> NDArray[np.int64]:
        """Return the number of minibatches."""
        return np.array([state.batches])

    def step_sizes(self, n: int) -> Floats:
        """Return the steps of the first minibatches."""
        return np.array([self.step(t) for t in range(1, n + 1)])

    def step(self, batches: int) -> float:
        """Return the step of a minibatch, counted from 1."""
        return float(min(self.scale / (self.offset + batches) ** self.power, 1.0))

    def _update(self, buffers: StreamBuffers, batch: Batch) -> None:
        """Move the counts towards those of the minibatch; one without tokens changes nothing."""
        if buffers.counting:
            buffers.documents += batch.documents
            buffers.tokens += batch.tokens
        if batch.tokens:
            buffers.batches += 1
            rho = self.step(buffers.batches)
            worth = rho * self.weight(buffers, batch)
            keep = 1.0 - rho
            buffers.totals *= keep
            buffers.totals += worth * batch.totals
            buffers.scale *= keep
            if keep < _SMALL:
                _multiply(buffers)
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
    """Give each new word of some documents a row of zeros; return the rows in use. With `counting`, count tokens."""
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
