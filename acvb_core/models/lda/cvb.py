"""Collapsed variational Bayes for LDA, zeroth (CVB0) and second order (CVB)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from acvb_core.core.clusters import Order, renormalise
from acvb_core.core.protocols import Checkpoint, Posterior, Responsibilities, SweepInfo, no_checkpoint
from acvb_core.models.lda.collapsed_state import CollapsedState, SweepBuffers, sum_counts
from acvb_core.models.lda.hyper import is_learning_due, minka_step, should_keep_learning
from acvb_core.models.lda.kernels import Counts, Singles, add_log_absences, zeroth_order
from acvb_core.models.lda.kernels_second import second_order
from acvb_core.models.lda.method import VariationalMethod, is_beginning
from acvb_core.models.lda.start import random_responsibilities, warm_responsibilities
from acvb_core.models.lda.state import TOPICS, build_posterior, padded_copy, zero_counts

#: Sweeps after which the counts are added up anew from the responsibilities, so that rounding cannot pile up.
REBUILD_EVERY = 50


@dataclass(frozen=True, eq=False)
class CollapsedLda(VariationalMethod):
    """CVB0 or CVB bound to a corpus (an `Inference`).

    Attributes
    ----------
    order : "zeroth" or "second"
        CVB0 or CVB. The others: `VariationalMethod`.
    warm : ndarray of float32, shape (V, K), or None
        Counts of topics to begin with (`start.warm_responsibilities`); None begins at random.

    References
    ----------
    CVB0: AWST09. CVB: TNW07 eq. 18.
    """

    order: Literal["zeroth", "second"] = "zeroth"
    warm: Singles | None = None

    def init(self, rng: np.random.Generator, checkpoint: Checkpoint = no_checkpoint) -> CollapsedState:
        """Return the first state."""
        if self.warm is None:
            q = random_responsibilities(len(self.tokens.words), self.n_topics, rng, checkpoint)
        else:
            q = warm_responsibilities(self.tokens, self.warm, self.start, checkpoint)
        counts = sum_counts(self.tokens, q, checkpoint)
        return CollapsedState(
            SweepBuffers(q), counts, self._variances(q, checkpoint), self.start, learning=self.learn
        )

    def sweep(
        self, state: CollapsedState, rng: np.random.Generator, checkpoint: Checkpoint = no_checkpoint
    ) -> tuple[CollapsedState, SweepInfo]:
        """Update every pair, document by document; nothing is drawn, so `rng` is not used."""
        buffers = state.buffers
        counts, variances = buffers.begin(state)
        while buffers.at < self.tokens.n_documents:
            checkpoint()
            end = self.tokens.chunk_end(buffers.at, buffers.q.shape[1], 1.0 if variances is None else 3.0)
            moved, loo = self._pass(state, counts, variances, buffers.at, end)
            buffers.moved += moved
            buffers.loo += loo
            buffers.at = end
        change, loo = buffers.moved / self.tokens.n_tokens, buffers.loo
        buffers.end()
        # From here on nothing may stop the sweep: the responsibilities belong to the new state.
        swept = replace(state, counts=counts, variances=variances, age=buffers.age, change=change)
        if buffers.age % REBUILD_EVERY == 0:
            counts, variances = sum_counts(self.tokens, buffers.q), self._variances(buffers.q)
            swept = replace(swept, counts=counts, variances=variances)
        swept, order = self._drop(swept)
        swept = self._learn(swept)
        settling = swept.learning or is_beginning(swept.age, change, state.change)
        return swept, SweepInfo(loo, order, change=change, settling=settling)

    def posterior(self, state: CollapsedState) -> Posterior:
        """Return what the state says."""
        return build_posterior(state.counts, state.hyper)

    def responsibilities(self, state: CollapsedState) -> Responsibilities | None:
        """Return the responsibilities of all pairs; None once the state is being swept."""
        if not state.buffers.belongs_to(state):
            return None
        return Responsibilities(state.buffers.q, self.tokens.counts)

    def _pass(
        self, state: CollapsedState, counts: Counts, variances: Counts | None, begin: int, end: int
    ) -> tuple[float, float]:
        q, prior = state.buffers.q, state.hyper.singles(self.tokens.n_words)
        if variances is None:
            return zeroth_order(begin, end, self.tokens.documents, q, counts, prior)
        return second_order(begin, end, self.tokens.documents, q, counts, variances, prior)

    def _variances(self, q: np.ndarray, checkpoint: Checkpoint = no_checkpoint) -> Counts | None:
        return sum_counts(self.tokens, q, checkpoint, spread=True) if self.order == "second" else None

    def _drop(self, state: CollapsedState) -> tuple[CollapsedState, dict[str, Order] | None]:
        """Drop the topics that hardly any token is of."""
        totals = np.maximum(state.counts.totals, 0.0)  # rounding may leave an empty topic less than nothing
        left = np.flatnonzero(totals >= self.shrink * totals.sum())
        if len(left) in (0, len(totals)):
            return state, None
        buffers = state.buffers
        buffers.q = padded_copy(renormalise(buffers.q[:, left]))
        hyper = replace(state.hyper, alpha=state.hyper.alpha[left])
        counts = sum_counts(self.tokens, buffers.q)
        smaller = replace(state, counts=counts, variances=self._variances(buffers.q), hyper=hyper)
        return smaller, {TOPICS: left.astype(np.int64)}

    def _learn(self, state: CollapsedState) -> CollapsedState:
        if not state.learning or not is_learning_due(state.age):
            return state
        q = state.buffers.q
        absent = zero_counts(self.tokens, q.shape[1])
        for begin, end in self.tokens.chunks(q.shape[1]):
            add_log_absences(begin, end, self.tokens.documents, q, absent)
        counts = state.counts
        hyper = minka_step(
            state.hyper, counts.by_document, counts.by_word, absent.by_document, absent.by_word
        )
        return replace(state, hyper=hyper, learning=should_keep_learning(state.hyper, hyper, state.age))
