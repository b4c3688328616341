"""LDA over shards, which keep the documents and share the topics and concentrations."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from acvb_core.core.averaging import AveragedAlgorithm, blend, update_mean
from acvb_core.core.clusters import Order
from acvb_core.core.errors import ParameterError
from acvb_core.core.protocols import (
    Algorithm,
    Array,
    Poll,
    Posterior,
    RemoteResponsibilities,
    SweepInfo,
    UnaveragedMethod,
    no_poll,
)
from acvb_core.core.spec import SHARDS, Values
from acvb_core.data.corpus import Corpus
from acvb_core.data.disk import DiskCorpus
from acvb_core.models.lda.cvb import REBUILD_EVERY, build_collapsed, check_unswept, find_start
from acvb_core.models.lda.documents import Part, StoredRows, cut
from acvb_core.models.lda.hyper import (
    BLOCK,
    Concentrations,
    DocumentGains,
    check_concentrations,
    document_gains,
    learn_hyper,
    minka_step_of_gains,
)
from acvb_core.models.lda.kernels import (
    Counts,
    DocumentTerms,
    Floats,
    Singles,
    add_counts,
    document_terms,
    entropies,
    leave_one_out,
    multiply_absences,
    zeroth_order,
)
from acvb_core.models.lda.memory import shards_needed
from acvb_core.models.lda.start import draw_noisy_topics, draw_rows, even_counts, warm_responsibilities
from acvb_core.models.lda.state import (
    BEGINNING,
    build_posterior,
    drop_topics,
    is_beginning,
    padded_copy,
    padded_zeros,
)
from acvb_core.models.lda.trained import TrainedTopics
from acvb_core.models.lda.vb import build_vb as build_whole_vb
from acvb_core.models.lda.vb import keep_columns, update_documents, word_weights
from acvb_core.shards.group import ShardGroup, tree_sum
from acvb_core.shards.host import Factory


class TopicSums(NamedTuple):
    """Counts of words that a shard adds to the topics."""

    by_word: Array  #: shape (V, K)
    totals: Floats  #: shape (K,)


class CollapsedSums(NamedTuple):
    """Sums over the documents that a shard has swept."""

    #: Changes of the counts; the first shard gives the new counts. So the sum over shards has the same bits as the
    #: result of a single shard.
    topics: TopicSums
    moved: float  #: L1 change of the responsibilities, over tokens
    loo: float  #: log probability of each token given all others, in nats


class CollapsedShard:
    """Documents, their responsibilities and their own counts (a `shards.host.Shard`).

    `short`: keep the responsibilities in half the memory.
    """

    def __init__(self, part: Part, short: bool = False) -> None:
        self.number, self.tokens, self.short = part.number, part.read(), short
        self._make_room(0)
        #: The running means of the responsibilities and of the documents' counts.
        self.mean: tuple[StoredRows, Array] | None = None

    def count_pairs(self) -> int:
        """Return the number of pairs of the documents."""
        return len(self.tokens.words)

    def begin(self, n_topics: int, draws: Any, before: list[int]) -> TopicSums:
        """Draw random responsibilities that do not depend on how the documents are cut.

        `draws`: state of the generator for all documents, in order.
        `before`: number of pairs before each shard.
        """
        generator = np.random.PCG64()
        generator.state = draws
        numbers = before[self.number] * n_topics
        generator.advance(numbers // 2)  # two of single precision are drawn at a time
        rng = np.random.Generator(generator)
        if numbers % 2:
            rng.random(dtype=np.float32)
        self._make_room(n_topics)
        for piece in self.rows.pieces():
            draw_rows(piece.q, rng)
            self.rows.put(piece)
        return self.recount()

    def begin_warm(self, by_word: Singles, given: Concentrations) -> TopicSums:
        """Start from the responsibilities that trained topics imply."""
        self._make_room(by_word.shape[1])
        q = warm_responsibilities(self.tokens, by_word, given)
        for piece in self.rows.pieces():
            piece.q[...] = q[piece.pairs]
            self.rows.put(piece)
        return self.recount()

    def _make_room(self, n_topics: int) -> None:
        self.rows = StoredRows(self.tokens, n_topics, self.short)
        self.by_document = padded_zeros((self.tokens.n_documents, n_topics), np.float32)

    def sweep(
        self, by_word: Singles, totals: Floats, hyper: Concentrations, turn: int = 0, rounds: int = 1
    ) -> CollapsedSums:
        """Update every pair, document by document, with a copy of the topics.

        `turn`, `rounds`: the documents are cut into `rounds` parts; update part `turn` (from 0).
        """
        begin, end = (self.tokens.n_documents * at // rounds for at in (turn, turn + 1))
        own, all_own = padded_copy(by_word), totals.copy()
        prior = hyper.singles(self.tokens.n_words)
        moved = loo = 0.0
        for piece in self.rows.pieces(begin, end):
            counts = Counts(self.by_document[piece.begin : piece.end], own, all_own)
            moved_here, loo_here = zeroth_order(0, piece.n, piece.documents, piece.q, counts, prior)
            self.rows.put(piece)
            moved += moved_here
            loo += loo_here
        if self.number:
            own -= by_word
            all_own -= totals
        return CollapsedSums(TopicSums(own, all_own), moved, loo)

    def recount(self) -> TopicSums:
        """Compute the counts from the responsibilities."""
        n_topics = self.rows.n_topics
        own, totals = padded_zeros((self.tokens.n_words, n_topics), np.float32), np.zeros(n_topics)
        self.by_document[...] = 0.0
        for piece in self.rows.pieces():
            counts = Counts(self.by_document[piece.begin : piece.end], own, totals)
            add_counts(0, piece.n, piece.documents, piece.q, counts, False)
        return TopicSums(own, totals)

    def keep_topics(self, left: NDArray[np.int64]) -> TopicSums:
        """Keep these topics only."""
        self.rows.keep_topics(left)
        self.by_document = padded_zeros((self.tokens.n_documents, len(left)), np.float32)
        return self.recount()

    def gains(self, hyper: Concentrations) -> tuple[DocumentGains, Singles]:
        """Return the sums for a step of the concentrations: over documents, and the absences of words."""
        n_topics = self.rows.n_topics
        by_word, totals = padded_zeros((self.tokens.n_words, n_topics), np.float32), np.zeros(n_topics)
        by_word.fill(1.0)
        up, down = np.zeros(n_topics), 0.0
        for begin in range(0, self.tokens.n_documents, BLOCK):
            end = min(begin + BLOCK, self.tokens.n_documents)
            absent = padded_zeros((end - begin, n_topics), np.float32)
            absent.fill(1.0)
            for piece in self.rows.pieces(begin, end):
                part = Counts(absent[piece.begin - begin : piece.end - begin], by_word, totals)
                multiply_absences(0, piece.n, piece.documents, piece.q, part)
            sums = document_gains(hyper, self.by_document[begin:end], absent)
            up, down = up + sums.up, down + sums.down
        return DocumentGains(up, down), by_word

    def start_mean(self) -> None:
        """Begin the running means with the current responsibilities."""
        rows = StoredRows(self.tokens, self.rows.n_topics)
        for piece in self.rows.pieces():
            rows.rows[piece.pairs] = piece.q
        self.mean = rows, self.by_document.copy()

    def add_to_mean(self, samples: int) -> float:
        """Add the responsibilities, the last of so many samples; return the L1 change of the mean, over tokens."""
        assert self.mean is not None
        rows, by_document = self.mean
        for begin in range(0, self.tokens.n_documents, BLOCK):
            block = slice(begin, begin + BLOCK)
            old, new = {"": by_document[block]}, {"": self.by_document[block]}
            by_document[block] = update_mean(old, new, samples)[""]
        mean, weights, share = rows.rows, self.tokens.counts, 1.0 / samples
        if not self.short:
            return float(blend(mean, self.rows.rows, weights, share))
        parts = ((piece.pairs, piece.q) for piece in self.rows.pieces())
        return float(sum(blend(mean[pairs], q, weights[pairs], share) for pairs, q in parts))

    def document_terms(self, alpha: Floats, mean: bool) -> DocumentTerms:
        """Return the documents' terms of the bound; with `mean`, those of the running means."""
        rows, by_document = self.rows, self.by_document
        if mean:
            assert self.mean is not None
            rows, by_document = self.mean
        entropy = 0.0
        for piece in rows.pieces():
            pointers, _, weights = piece.documents
            entropy += entropies(0, piece.n, pointers, weights, piece.q)
        return document_terms(by_document, alpha, entropy)

    def save(self) -> dict[str, Array]:
        """Return the responsibilities, the counts and their means."""
        state = {"rows": self.rows.rows, "by_document": self.by_document}
        if self.mean is not None:
            state |= {"mean_rows": self.mean[0].rows, "mean_documents": self.mean[1]}
        return state

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Continue from the arrays of `save`."""
        self._make_room(arrays["rows"].shape[1])
        self.rows.rows[...] = arrays["rows"]
        self.by_document[...] = arrays["by_document"]
        if "mean_rows" in arrays:
            rows = StoredRows(self.tokens, self.rows.n_topics)
            rows.rows[...] = arrays["mean_rows"]
            self.mean = rows, np.array(arrays["mean_documents"])


_NONE = np.zeros((0, 1), np.float32)


class VariationalSums(NamedTuple):
    """Sums over the documents that a shard has swept."""

    by_word: Floats  #: shape (V, K); counts of the shard's tokens
    entropy: float  #: entropy of their responsibilities, in nats
    moved: float  #: L1 change of the documents' counts
    mass: float  #: sum of these counts


class VariationalShard:
    """Documents and their own counts (a `shards.host.Shard`)."""

    def __init__(self, part: Part, inner: int) -> None:
        self.tokens, self.inner = part.read(), inner
        self.by_document = padded_zeros((0, 0))

    def begin(self, n_topics: int) -> None:
        """Start with equal counts of all topics in each document."""
        self.by_document = even_counts(self.tokens, n_topics)

    def sweep(self, by_word: Floats, totals: Floats, hyper: Concentrations) -> VariationalSums:
        """Update the documents, and count the words of each topic."""
        tokens, alpha = self.tokens, hyper.alpha
        log_words, words = padded_zeros(by_word.shape), padded_zeros(by_word.shape)
        word_weights(0, len(words), by_word, totals, hyper.beta, log_words, words)
        gained = padded_zeros(words.shape)
        entropy = moved = mass = 0.0
        for begin, end in tokens.chunks(len(alpha), 2.0 * self.inner):
            before = self.by_document[begin:end].copy()
            topics = (self.by_document, gained, log_words, words)
            entropy += update_documents(begin, end, tokens.documents, *topics, alpha, self.inner)
            moved += float(np.abs(self.by_document[begin:end] - before).sum())
            mass += float(self.by_document[begin:end].sum())
        entropy -= float((gained * log_words).sum())
        return VariationalSums(gained, entropy, moved, mass)

    def keep_topics(self, left: NDArray[np.int64]) -> None:
        """Keep these topics only."""
        kept = keep_columns(self.by_document, left)
        self.by_document = padded_zeros(kept.shape)
        self.by_document[...] = kept

    def gains(self, hyper: Concentrations) -> DocumentGains:
        """Return the sums over documents for a step of the concentrations."""
        return document_gains(hyper, self.by_document)

    def document_terms(self, alpha: Floats, mean: bool) -> DocumentTerms:
        """Return the documents' terms of the bound, without the entropy."""
        return document_terms(self.by_document, alpha)

    def leave_one_out(self, by_word: Singles, alpha: Floats, beta: float, mean: bool) -> float:
        """Return the log probability of each token given all others, computed from the counts, in nats."""
        prior = Concentrations(alpha, beta).singles(self.tokens.n_words)
        totals, loo = by_word.sum(axis=0, dtype=np.float64), 0.0
        for begin, end in self.tokens.chunks(len(alpha)):
            own = self.by_document[begin:end].astype(np.float32)
            loo += leave_one_out(
                0, end - begin, self.tokens.take(begin, end), _NONE, Counts(own, by_word, totals), prior
            )
        return loo

    def save(self) -> dict[str, Array]:
        """Return the documents' counts."""
        return {"by_document": self.by_document}

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Continue from the arrays of `save`."""
        self.by_document = padded_zeros(arrays["by_document"].shape)
        self.by_document[...] = arrays["by_document"]


@dataclass
class SweepCourse:
    """The current sweep, which all states of a run share; the next call continues an interrupted sweep."""

    turn: int = 0  #: exchanges of the topics in this sweep; 0 between sweeps
    sums: Any = None  #: sums of the sweep so far


@dataclass(frozen=True, eq=False)
class ShardedState:
    """The topics after a whole sweep; the shards have the documents of the newest state."""

    group: ShardGroup
    course: SweepCourse
    by_word: Array  #: shape (V, K)
    totals: Floats  #: shape (K,)
    hyper: Concentrations
    age: int = 0  #: sweeps done
    learning: bool = False  #: the hyper-parameters are still being learned
    #: L1 change of the responsibilities (mean over tokens), or relative L1 change of the documents' counts.
    change: float = 0.0
    #: Entropy of the responsibilities (nats), if the shards do not keep these; None if it is unknown.
    entropy: float | None = None

    @property
    def is_newest(self) -> bool:
        """Return whether the shards have the documents of this state: its next sweep has not begun."""
        is_between = self.course.turn == 0 and not self.group.is_busy
        return self.group.sweeps == self.age and is_between


@dataclass(frozen=True, eq=False)
class ShardedRows:
    """The responsibilities in the shards (`RemoteResponsibilities`), or their running means."""

    state: ShardedState
    n_tokens: float
    mean: bool = False

    def ask(self, name: str, *arguments: Any) -> Any:
        """Return the sum of the shards' answers; None after the state was swept."""
        return tree_sum(self.state.group.ask(name, *arguments, self.mean)) if self.state.is_newest else None

    def start_mean(self) -> ShardedRows:
        """Begin the running means in the shards."""
        self.state.group.change("start_mean")
        return replace(self, mean=True)

    def add_to_mean(self, samples: int) -> tuple[ShardedRows, float]:
        """Add the responsibilities to the running means; return these, and their mean L1 change per token."""
        moved = tree_sum(self.state.group.change("add_to_mean", samples))
        return replace(self, mean=True), moved / self.n_tokens


@dataclass(frozen=True, eq=False)
class ShardedLda(UnaveragedMethod, ABC):
    """A method bound to a corpus in shards (an `Algorithm`).

    Each shard sweeps its documents with a copy of the topics after the last sweep. The changes are added in an order
    that only the number of shards decides. Gibbs sampling does the same in AD-LDA (Newman, Asuncion, Smyth and
    Welling, JMLR 10, 2009).
    """

    corpus: Corpus | DiskCorpus
    n_shards: int
    n_topics: int
    start: Concentrations  #: initial hyper-parameters
    learn: bool = True  #: learn the hyper-parameters
    shrink: float = 1e-5  #: a topic with less than this share of the tokens is dropped

    @abstractmethod
    def factory(self, part: Part) -> Factory:
        """Return a function that makes the shard of some documents."""

    @abstractmethod
    def begin(self, group: ShardGroup, rng: np.random.Generator) -> tuple[Array, Floats]:
        """Return the initial topics, and their sums."""

    @abstractmethod
    def pass_over(self, state: ShardedState, poll: Poll) -> tuple[ShardedState, float | None]:
        """Return the state after all shards were swept, and its pseudo leave-one-out if known."""

    @abstractmethod
    def keep_topics(self, state: ShardedState, left: Order) -> ShardedState:
        """Return the state with these topics only."""

    @abstractmethod
    def gains(self, state: ShardedState) -> tuple[DocumentGains, Array | None]:
        """Return the sums for a step of the concentrations: over documents, and the absences of words."""

    def init(self, rng: np.random.Generator, poll: Poll = no_poll) -> ShardedState:
        """Open the shards and return the first state."""
        poll()
        parts = cut(self.corpus, self.n_shards)
        group = ShardGroup([self.factory(part) for part in parts])
        by_word, totals = self.begin(group, rng)
        return ShardedState(group, SweepCourse(), by_word, totals, self.start, learning=self.learn)

    def sweep(
        self, state: ShardedState, rng: np.random.Generator, poll: Poll = no_poll
    ) -> tuple[ShardedState, SweepInfo]:
        """Sweep all shards; `rng` is not used.

        If the poll raises, the shards finish the sweep, and the next call waits for them.

        Raises ValueError: the state was swept before.
        """
        group = state.group
        check_unswept(state.age, group.sweeps)
        poll()
        before = group.tally()
        swept, loo = self.pass_over(state, poll)
        # The sweep cannot be interrupted any more: the documents belong to the new state.
        swept = replace(swept, age=state.age + 1)
        swept, order = drop_topics(swept, swept.totals, self.shrink, self.keep_topics)
        swept = learn_hyper(swept, partial(self._minka_step, swept))
        group.end_sweep()
        not_stationary = swept.learning or is_beginning(swept.age, swept.change, state.change)
        return swept, SweepInfo(
            loo, order, change=swept.change, not_stationary=not_stationary, **group.since(before)
        )

    def posterior(self, state: ShardedState) -> Posterior:
        """Return the posterior of topics and words; it has no documents."""
        entropy = None if state.entropy is None else np.array([state.entropy])
        return build_posterior(state.by_word, state.hyper, entropy=entropy)

    def responsibilities(self, state: ShardedState) -> RemoteResponsibilities | None:
        """Return the responsibilities in the shards; None once the state is being swept."""
        return ShardedRows(state, self.corpus.n_tokens) if state.is_newest else None

    def can_keep(self, state: ShardedState) -> bool:
        """Return False: the documents are in the shards, which end with the program."""
        return False

    def _minka_step(self, state: ShardedState) -> Concentrations:
        gains, absent = self.gains(state)
        return minka_step_of_gains(state.hyper, gains, state.by_word, absent)


#: In each of the first sweeps the shards exchange the topics once per shard, and at most this often.
MOST_ROUNDS = 16


@dataclass(frozen=True, eq=False)
class ShardedCvb0(ShardedLda):
    """CVB0 over shards."""

    short: bool = False  #: keep the responsibilities in half the memory
    #: Shape (V, K); initial counts of topics; None: a random start.
    warm: Singles | None = None

    def factory(self, part: Part) -> Factory:
        """Return a function that makes the shard of some documents."""
        return partial(CollapsedShard, part, self.short)

    def begin(self, group: ShardGroup, rng: np.random.Generator) -> tuple[Array, Floats]:
        """Return the topics of random responsibilities, or of trained topics."""
        if self.warm is not None:
            return tree_sum(group.change("begin_warm", self.warm, self.start))
        sizes = group.ask("count_pairs")
        before = [sum(sizes[:number]) for number in range(len(sizes))]
        return tree_sum(group.change("begin", self.n_topics, rng.bit_generator.state, before))

    def pass_over(self, state: ShardedState, poll: Poll) -> tuple[ShardedState, float | None]:
        """Sweep all shards; now and then compute the counts from the responsibilities, against rounding errors.

        In the first sweeps, when all topics are similar, the shards exchange them several times.
        """
        course, group = state.course, state.group
        rounds = min(group.n_shards, MOST_ROUNDS) if state.age < BEGINNING else 1
        if course.sums is None:
            course.sums = CollapsedSums(TopicSums(state.by_word, state.totals), 0.0, 0.0)
        while course.turn < rounds:
            given = (*course.sums.topics, state.hyper, course.turn, rounds)
            sums = tree_sum(group.change("sweep", *given, poll=poll))
            moved, loo = course.sums.moved + sums.moved, course.sums.loo + sums.loo
            course.sums, course.turn = sums._replace(moved=moved, loo=loo), course.turn + 1
        topics, moved, loo = course.sums
        course.sums, course.turn = None, 0
        if (state.age + 1) % REBUILD_EVERY == 0:
            topics = tree_sum(state.group.change("recount"))
        change = moved / self.corpus.n_tokens
        return replace(state, by_word=topics.by_word, totals=topics.totals, change=change), loo

    def keep_topics(self, state: ShardedState, left: Order) -> ShardedState:
        """Return the state with these topics only."""
        by_word, totals = tree_sum(state.group.change("keep_topics", left))
        return replace(state, by_word=by_word, totals=totals)

    def gains(self, state: ShardedState) -> tuple[DocumentGains, Array | None]:
        """Return the sums over documents, and for each word the probability that a topic has no token of it."""
        gains, absences = zip(*state.group.ask("gains", state.hyper), strict=True)
        return tree_sum(gains), reduce(np.multiply, absences)


@dataclass(frozen=True, eq=False)
class ShardedVb(ShardedLda):
    """VB over shards: the topics are fixed while the documents are updated, so the result is that of one shard."""

    inner: int = 1

    def factory(self, part: Part) -> Factory:
        """Return a function that makes the shard of some documents."""
        return partial(VariationalShard, part, self.inner)

    def begin(self, group: ShardGroup, rng: np.random.Generator) -> tuple[Array, Floats]:
        """Return almost equal topics."""
        group.change("begin", self.n_topics)
        by_word = draw_noisy_topics(self.corpus.n_words, self.n_topics, rng)
        return by_word, by_word.sum(axis=0)

    def pass_over(self, state: ShardedState, poll: Poll) -> tuple[ShardedState, float | None]:
        """Update the documents with the topics fixed, then the topics."""
        given = (state.by_word, state.totals, state.hyper)
        by_word, entropy, moved, mass = tree_sum(state.group.change("sweep", *given, poll=poll))
        change = moved / mass if mass else 0.0
        totals = by_word.sum(axis=0)
        return replace(state, by_word=by_word, totals=totals, entropy=entropy, change=change), None

    def keep_topics(self, state: ShardedState, left: Order) -> ShardedState:
        """Return the state with these topics only; its entropy is unknown until the next sweep."""
        state.group.change("keep_topics", left)
        by_word = keep_columns(state.by_word, left)
        return replace(state, by_word=by_word, totals=by_word.sum(axis=0), entropy=None)

    def gains(self, state: ShardedState) -> tuple[DocumentGains, Array | None]:
        """Return the sums over documents of the plain counts."""
        return tree_sum(state.group.ask("gains", state.hyper)), None


def build_cvb0(data: Any, values: Values, trained: TrainedTopics | None = None) -> Algorithm:
    """Return CVB0, in memory or over shards; it continues from trained topics if they are given."""
    n_shards = _count_shards(data, values)
    if not n_shards:
        return build_collapsed("zeroth", data, values, trained)
    start, warm = find_start(data, values, trained)
    common = (data, n_shards, values["k"], start, values["hyper"] == "minka", values["shrink"])
    return ShardedCvb0(*common, values["short"], warm)


def build_acvb0(data: Any, values: Values, trained: TrainedTopics | None = None) -> AveragedAlgorithm:
    """Return ACVB0; parameters as for CVB0."""
    return AveragedAlgorithm(build_cvb0(data, values, trained), values["burn_in"], values["track"])


def build_vb(data: Any, values: Values) -> Algorithm:
    """Return VB, in memory or over shards."""
    n_shards = _count_shards(data, values)
    if not n_shards:
        return build_whole_vb(data, values)
    start, learn = Concentrations.of_values(values), values["hyper"] == "minka"
    return ShardedVb(data, n_shards, values["k"], start, learn, values["shrink"], values["inner"])


def check_settings(data: Any, values: Values) -> None:
    """Raise ParameterError if alpha is too small, or if a setting is not available over shards."""
    check_concentrations(data, values)
    if not (values[SHARDS] or isinstance(data, DiskCorpus)):
        return
    for name, label, usual in (
        ("hyper", "Learning of alpha and beta", ("minka", "fixed")),
        ("init", "Start", ("even",)),
    ):
        if values.get(name, usual[0]) not in usual:
            raise ParameterError(
                f"{label} ({name}) is {values[name]!r}; over shards it must be {' or '.join(usual)}."
            )


def _count_shards(data: Any, values: Values) -> int:
    """Return the number of shards; 0 if the data are not cut."""
    on_disk = isinstance(data, DiskCorpus)
    return int(values[SHARDS]) or (shards_needed(data, values) if on_disk else 0)
