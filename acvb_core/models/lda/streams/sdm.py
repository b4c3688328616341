"""Stochastic divergence minimisation: CVB0 for a stream, document by document and word by word (SN15)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from acvb_core.core.protocols import Array
from acvb_core.data.disk import Shard
from acvb_core.models.lda.kernels import Floats, Singles
from acvb_core.models.lda.state import padded_zeros
from acvb_core.models.lda.streams.limits import EARLY
from acvb_core.models.lda.streams.sdm_kernels import Pace, Sizing, WordUse, update_documents
from acvb_core.models.lda.streams.state import Renewal, StreamBuffers, StreamState
from acvb_core.models.lda.streams.stream import StreamMethod, WordTopics

_RATES = 1 << 14


@dataclass(eq=False)
class FrozenTopics:
    """The topics that the documents of a mini-batch are inferred by."""

    by_word: Singles
    totals: Floats
    documents: int = 0  #: inferred so far


@dataclass(frozen=True, eq=False)
class DivergenceMinimisation(StreamMethod):
    """SDM bound to a stream (an `Algorithm`).

    Reference: SN15 §7; the last two are additions to it.
    """

    passes: int = 5  #: times that the responsibilities of a document are updated
    power: float = 0.7  #: the step of a word met for the t-th time is t^-power
    #: From the second pass on the counts of the pass before give way to those of the pass under way, token by token,
    #: in place of steps: with these more than half of what is known of a rare word stays that of passes long gone.
    renew: bool = False
    #: At most so many updates for each of the first ten documents a topic, while the topics are hardly different; 0 as
    #: many as later.
    early_passes: int = 0
    documents: int = 1  #: documents that are inferred by the same topics

    @property
    def batch(self) -> int:
        """Documents that are inferred by the same topics."""
        return self.documents

    @cached_property
    def _rates(self) -> Floats:
        return np.arange(1.0, _RATES + 1.0) ** -self.power

    def start_counts(self, rng: np.random.Generator) -> NDArray[np.float32]:
        """Return nearly even counts of all tokens but one of each word, if known."""
        if not self.known:
            return self.start_rows(rng, self.source.n_words)
        return self.noisy_rows(rng, np.maximum(self.source.frequencies - 1.0, 0.0))

    def start_rows(self, rng: np.random.Generator, n: int) -> NDArray[np.float32]:
        """Return no counts: a word is not there before it is met."""
        return padded_zeros((n, self.n_topics), np.float32)

    def count_steps(self, state: StreamState) -> NDArray[np.int64]:
        """Return how often the counts of each word moved."""
        return state.steps

    def step_sizes(self, n: int) -> Floats:
        """Return t^-power."""
        return np.asarray(np.arange(1.0, n + 1.0) ** -self.power)

    def rescale_counts(self, by_word: Singles, old: Array, new: Array) -> Singles:
        """Return the counts of each word brought to its own number of tokens, less one where all are known."""
        less = 1.0 if self.known else 0.0
        before, after = np.maximum(old - less, 0.0), np.maximum(new - less, 0.0)
        by_word *= np.divide(after, before, out=np.ones(len(old)), where=before > 0)[:, None].astype(
            np.float32
        )
        return by_word

    def begin(self, buffers: StreamBuffers, state: StreamState) -> None:
        """Begin to renew the counts when a pass begins that is not the first."""
        if self.renew and state.epoch and buffers.renewal is None:
            buffers.renewal = Renewal.begin(buffers.by_word)

    def learn(self, buffers: StreamBuffers, shard: Shard, order: NDArray[np.int64]) -> None:
        """Update the topics by some documents of a shard."""
        if self.documents == 1:
            self._update(buffers, shard, order, self.word_topics(buffers), buffers.gone)
            return
        done = 0
        while done < len(order):
            frozen = buffers.batch
            if frozen is None or frozen.documents == self.documents:
                frozen = FrozenTopics(buffers.by_word.copy(), buffers.totals.copy())
                buffers.batch = frozen
            part = order[done : done + self.documents - frozen.documents]
            topics = self.word_topics(buffers)._replace(by_word=frozen.by_word, totals=frozen.totals)
            self._update(buffers, shard, part, topics, buffers.gone + done)
            frozen.documents += len(part)
            done += len(part)

    def _update(
        self, buffers: StreamBuffers, shard: Shard, order: NDArray[np.int64], topics: WordTopics, gone: int
    ) -> None:
        """Update the topics by documents that are inferred by `topics`; `gone`: documents before them."""
        renewal = Renewal.none(buffers.by_word) if buffers.renewal is None else buffers.renewal
        early = max(EARLY * self.n_topics - gone, 0) if self.early_passes else 0
        use = WordUse(buffers.steps, buffers.sizes, renewal.by_word, renewal.tokens)
        pace = Pace(self.passes, early, self.early_passes, self.power, self._rates)
        sizing = Sizing(not self.known, buffers.counting, buffers.noise)
        written = (buffers.by_word, buffers.totals)
        loo, seen = update_documents(
            order, shard, topics, written, use, pace, sizing, self.rule, buffers.prior
        )
        buffers.loo += loo
        buffers.seen += seen
        if buffers.counting:
            buffers.documents += len(order)

    def flush(self, buffers: StreamBuffers) -> None:
        """Add up the tokens that the words were counted by; the next window begins another mini-batch."""
        buffers.batch = None
        if buffers.counting:
            buffers.tokens = float(buffers.sizes.sum())
