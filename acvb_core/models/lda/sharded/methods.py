"""CVB0 and VB over shards, built on data with the values of their parameters."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any

import numpy as np

from acvb_core.core.clusters import Order
from acvb_core.core.protocols import Array, Poll
from acvb_core.core.rows import Values
from acvb_core.models.lda.cvb import REBUILD_EVERY
from acvb_core.models.lda.hyper import Concentrations, DocumentGains
from acvb_core.models.lda.kernels import Floats, Singles
from acvb_core.models.lda.sharded.collapsed_shard import CollapsedShard, SweepSums, TopicSums
from acvb_core.models.lda.sharded.driver import ShardedLda, ShardedState
from acvb_core.models.lda.sharded.parts import Part
from acvb_core.models.lda.sharded.variational_shard import VariationalShard
from acvb_core.models.lda.start import draw_noisy_topics
from acvb_core.models.lda.state import BEGINNING
from acvb_core.models.lda.trained import TrainedTopics
from acvb_core.models.lda.vb import keep_columns
from acvb_core.shards.group import ShardGroup, tree_sum
from acvb_core.shards.host import Factory

#: In the first sweeps shards exchange the topics as often in a sweep as there are shards, and so often at most.
MOST_ROUNDS = 16


@dataclass(frozen=True, eq=False)
class ShardedCvb0(ShardedLda):
    """CVB0 over shards."""

    short: bool = False  #: keep the responsibilities in half the memory
    #: Shape (V, K), or None; counts of topics to begin with; None begins at random.
    warm: Singles | None = None

    def factory(self, part: Part) -> Factory:
        """Return what makes the shard of some documents."""
        return partial(CollapsedShard, part, self.short)

    def begin(self, group: ShardGroup, rng: np.random.Generator) -> tuple[Array, Floats]:
        """Return the topics that random responsibilities, or trained topics, imply."""
        if self.warm is not None:
            return tree_sum(group.change("begin_warm", self.warm, self.start))
        sizes = group.ask("count_pairs")
        before = [sum(sizes[:number]) for number in range(len(sizes))]
        return tree_sum(group.change("begin", self.n_topics, rng.bit_generator.state, before))

    def pass_over(self, state: ShardedState, poll: Poll) -> tuple[ShardedState, float | None]:
        """Sweep all shards; every so many sweeps add the counts up anew, so that rounding cannot pile up.

        In the beginning, when all topics are alike, the shards exchange them several times in a sweep.
        """
        course, group = state.course, state.group
        rounds = min(group.n_shards, MOST_ROUNDS) if state.age < BEGINNING else 1
        if course.sums is None:
            course.sums = SweepSums(TopicSums(state.by_word, state.totals), 0.0, 0.0)
        while course.turn < rounds:
            given = (*course.sums.topics, state.hyper, course.turn, rounds)
            sums = tree_sum(group.change("sweep", *given, poll=poll))
            course.add(sums._replace(moved=course.sums.moved + sums.moved, loo=course.sums.loo + sums.loo))
        topics, moved, loo = course.end()
        if (state.age + 1) % REBUILD_EVERY == 0:
            topics = tree_sum(state.group.change("recount"))
        return replace(
            state, by_word=topics.by_word, totals=topics.totals, change=moved / self.corpus.n_tokens
        ), loo

    def keep_topics(self, state: ShardedState, left: Order) -> ShardedState:
        """Return the state without the other topics."""
        by_word, totals = tree_sum(state.group.change("keep_topics", left))
        return replace(state, by_word=by_word, totals=totals)

    def gains(self, state: ShardedState) -> tuple[DocumentGains, Array | None]:
        """Return sums over documents, and of words the probability that no token is of a topic."""
        gains, absences = zip(*state.group.ask("gains", state.hyper), strict=True)
        return tree_sum(gains), reduce(np.multiply, absences)


@dataclass(frozen=True, eq=False)
class ShardedVb(ShardedLda):
    """VB over shards: what it would give on one, for its topics are fixed while the documents are updated."""

    inner: int = 1

    def factory(self, part: Part) -> Factory:
        """Return what makes the shard of some documents."""
        return partial(VariationalShard, part, self.inner)

    def begin(self, group: ShardGroup, rng: np.random.Generator) -> tuple[Array, Floats]:
        """Return topics that all but agree."""
        group.change("begin", self.n_topics)
        by_word = draw_noisy_topics(self.corpus.n_words, self.n_topics, rng)
        return by_word, by_word.sum(axis=0)

    def pass_over(self, state: ShardedState, poll: Poll) -> tuple[ShardedState, float | None]:
        """Update the documents with the topics fixed, then the topics."""
        given = (state.by_word, state.totals, state.hyper)
        by_word, entropy, moved, mass = tree_sum(state.group.change("sweep", *given, poll=poll))
        change = moved / mass if mass else 0.0
        return replace(
            state, by_word=by_word, totals=by_word.sum(axis=0), entropy=entropy, change=change
        ), None

    def keep_topics(self, state: ShardedState, left: Order) -> ShardedState:
        """Return the state without the other topics; its entropy is not known before the next sweep."""
        state.group.change("keep_topics", left)
        by_word = keep_columns(state.by_word, left)
        return replace(state, by_word=by_word, totals=by_word.sum(axis=0), entropy=None)

    def gains(self, state: ShardedState) -> tuple[DocumentGains, Array | None]:
        """Return sums over documents, by the counts as they are."""
        return tree_sum(state.group.ask("gains", state.hyper)), None


def spread_cvb0(
    data: Any, values: Values, n_shards: int, trained: TrainedTopics | None = None
) -> ShardedCvb0:
    """Return CVB0 over shards, to go on from trained topics if any are given."""
    start, warm = Concentrations.of_values(values), None
    if trained is not None:
        start, warm = trained.concentrations, trained.counts_at(trained.find_places(data.vocabulary))
    common = (data, n_shards, values["k"], start, values["hyper"] == "minka", values["shrink"])
    return ShardedCvb0(*common, values["short"], warm)


def spread_vb(data: Any, values: Values, n_shards: int) -> ShardedVb:
    """Return VB over shards."""
    start = Concentrations.of_values(values)
    common = (data, n_shards, values["k"], start, values["hyper"] == "minka", values["shrink"])
    return ShardedVb(*common, values["inner"])
