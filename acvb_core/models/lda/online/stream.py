"""The common part of the streaming methods: state, windows, mini-batches, growing vocabularies."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from acvb_core.core.protocols import Array, Poll, Posterior, SweepInfo, UnaveragedMethod, no_poll
from acvb_core.data.disk import Shard
from acvb_core.models.lda.documents import DocumentFeed, Source
from acvb_core.models.lda.hyper import Concentrations
from acvb_core.models.lda.kernels import OPTIONS, Floats, Integers, Singles, chunk_pairs
from acvb_core.models.lda.spec import fit_window
from acvb_core.models.lda.state import TOPICS, padded_copy, padded_zeros

if TYPE_CHECKING:
    from acvb_core.models.lda.trained import TrainedTopics


class Prior(NamedTuple):
    """Concentrations of the topics in a document, and what they are being learned from."""

    alpha: Singles  #: shape (K,)
    gains: Floats  #: shape (K,); weighted mean over documents of alpha_k g_k (see `kernels_prior`)
    sticks: Floats  #: shape (K,); log alpha0, then logit v_k of the stick breaking
    scalars: Floats  #: shape (2,); weighted mean of the denominators; documents seen

    @classmethod
    def begin(cls, alpha: Floats) -> Prior:
        """Return concentrations before anything is learned of them."""
        rest = np.cumsum(alpha[::-1])[::-1]
        share = np.clip(alpha[:-1] / rest[:-1], 1e-9, 1.0 - 1e-9)
        sticks = np.concatenate([[np.log(rest[0])], np.log(share) - np.log1p(-share)])
        return cls(alpha.astype(np.float32), np.zeros(len(alpha)), sticks, np.zeros(2))

    def buffers(self) -> Prior:
        """Return arrays of its own, to be written to."""
        alpha, gains, sticks, scalars = self
        return Prior(padded_copy(alpha), gains.copy(), padded_copy(sticks), padded_copy(scalars))


@dataclass(frozen=True, eq=False)
class StreamState:
    """After a window."""

    by_word: Singles  #: shape (V, K); expected counts n_wk of the topics, without the prior's beta
    totals: Floats  #: shape (K,); their sums
    steps: NDArray[np.int64]  #: shape (V,); how often each word's counts were brought up to date (SDM)
    #: Shape (V,); tokens of each word that the topics stand for: of the corpus, or those met so far.
    sizes: Floats
    #: `documents`, `tokens`: the same for documents and all tokens.
    documents: float
    tokens: float
    batches: int  #: minibatches so far (SVB, SCVB0)
    prior: Prior
    epoch: int = 0  #: whole passes done
    position: int = 0  #: documents done of the pass under way
    order: int = 0  #: what the order of the documents in the pass under way was drawn from
    #: What tells the topics of a word apart that is met for the first time is drawn from this (SDM).
    noise: int = 0
    gone: int = 0  #: documents gone through, all passes together
    renewal: Renewal | None = None  #: what the pass under way has renewed (SDM, from the second pass on)

    def posterior(self, beta: float) -> Posterior:
        """Return the posterior of topics and words; the state has none of the documents."""
        alpha = self.prior.alpha.astype(np.float64)
        # The later ones are what training goes on with.
        arrays: dict[str, tuple[Array, tuple[str | None, ...]]] = {
            "words": (self.by_word, (None, TOPICS)),
            "alpha": (alpha, (TOPICS,)),
            "gains": (self.prior.gains, (TOPICS,)),
            "steps": (self.steps, (None,)),
            "sizes": (self.sizes, (None,)),
            "course": (np.array([*self.prior.scalars, float(self.batches)]), (None,)),
            "documents_met": (np.array([self.documents]), (None,)),
        }
        return Posterior(
            {name: array for name, (array, _) in arrays.items()},
            {name: axes for name, (_, axes) in arrays.items()},
            averaged=("words",),
            hyper={"alpha_total": float(alpha.sum()), "beta": beta},
            normalised=False,
        )


@dataclass(frozen=True, eq=False)
class Renewal:
    """Counts of the pass under way alone, which take the place of those of the pass before."""

    #: Shape (V, K); sums of c q over the documents of the pass so far; part of the state's own counts.
    by_word: Singles
    tokens: Floats  #: shape (V,); how many tokens of each word these are

    @classmethod
    def begin(cls, by_word: Singles) -> Renewal:
        """Return the renewal at the beginning of a pass."""
        return cls(padded_zeros(by_word.shape, by_word.dtype), np.zeros(len(by_word)))

    @classmethod
    def none(cls, by_word: Singles) -> Renewal:
        """Return the renewal, without rows, of a pass that renews nothing."""
        return cls(np.zeros((0, by_word.shape[1]), by_word.dtype), np.zeros(0))

    def copy(self) -> Renewal:
        """Return arrays of its own, to be written to."""
        return Renewal(padded_copy(self.by_word), self.tokens.copy())


class StreamBuffers:
    """The arrays of a state while a window is gone through, and the window's sums.

    `by_word`, `totals`, `steps`, `sizes`, `documents`, `tokens`, `batches`, `prior`, `noise`, `gone`, `renewal`: as in
      `StreamState`.
    `scale`: factor by which `by_word` is to be multiplied.
    `loo`, `seen`: sum of the leave-one-out log probabilities of the window, and its tokens.
    `counting`: sizes are those met so far, and the documents are met for the first time.
    `batch`: sums of the mini-batch under way.
    """

    def __init__(self, state: StreamState) -> None:
        self._state = state
        self.by_word, self.totals = padded_copy(state.by_word), padded_copy(state.totals)
        self.steps, self.sizes = state.steps.copy(), state.sizes.copy()
        self.documents, self.tokens, self.batches = state.documents, state.tokens, state.batches
        self.prior, self.noise, self.gone = state.prior.buffers(), state.noise, state.gone
        self.renewal = None if state.renewal is None else state.renewal.copy()
        self.scale, self.loo, self.seen = 1.0, 0.0, 0.0
        self.counting = False
        self.batch: Any = None

    def build_state(self, epoch: int, position: int, order: int) -> StreamState:
        """Return the state after the window."""
        names = ("by_word", "totals", "steps", "sizes", "documents", "tokens", "batches", "prior", "gone")
        arrays = {name: getattr(self, name) for name in names}
        renewal = self.renewal if position else None
        return replace(self._state, epoch=epoch, position=position, order=order, renewal=renewal, **arrays)


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
