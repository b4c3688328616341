"""LDA over shards: the topics and the concentrations, while the documents stay in the shards."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from acvb_core.core.clusters import Order
from acvb_core.core.protocols import (
    Array,
    Poll,
    Posterior,
    RemoteResponsibilities,
    SweepInfo,
    UnaveragedMethod,
    no_poll,
)
from acvb_core.data.corpus import Corpus
from acvb_core.data.disk import DiskCorpus
from acvb_core.models.lda.hyper import (
    Concentrations,
    DocumentGains,
    is_learning_due,
    minka_step_of_gains,
    should_keep_learning,
)
from acvb_core.models.lda.kernels import Floats
from acvb_core.models.lda.sharded.parts import Part, cut
from acvb_core.models.lda.state import TOPICS, is_beginning
from acvb_core.shards.group import ShardGroup, tree_sum
from acvb_core.shards.host import Factory


class SweepCourse:
    """A sweep under way, shared by all states of a run: the next call goes on with a sweep that was cut short.

    `turn`: how often the shards have exchanged the topics in it; 0 between sweeps.
    `sums`: what it has added up so far.
    """

    def __init__(self) -> None:
        self.turn = 0
        self.sums: Any = None

    def add(self, sums: Any) -> None:
        """Take what the shards gave in a turn."""
        self.sums = sums
        self.turn += 1

    def end(self) -> Any:
        """End the sweep; return what it has added up."""
        sums, self.sums, self.turn = self.sums, None, 0
        return sums


@dataclass(frozen=True, eq=False)
class ShardedState:
    """The topics after a whole sweep; the documents are in the shards, which are those of the newest state."""

    group: ShardGroup
    course: SweepCourse
    by_word: Array  #: shape (V, K)
    totals: Floats  #: shape (K,)
    hyper: Concentrations
    age: int = 0  #: sweeps done
    learning: bool = False  #: the hyper-parameters are still being learned
    change: float = (
        0.0  #: mean over tokens of the L1 change of the responsibilities, or of the documents' counts
    )
    #: Of the responsibilities (nats), where the shards do not hold these; None where it is not known.
    entropy: float | None = None

    @property
    def is_newest(self) -> bool:
        """Return whether the documents are still those of this state: no sweep of it has begun."""
        is_between = self.course.turn == 0 and not self.group.is_busy
        return self.group.sweeps == self.age and is_between


@dataclass(frozen=True, eq=False)
class ShardedRows:
    """The responsibilities in the shards (`RemoteResponsibilities`), or their running means."""

    state: ShardedState
    n_tokens: float
    mean: bool = False

    def ask(self, name: str, *arguments: Any) -> Any:
        """Return the sum over the shards of what they give; None once they are in another sweep."""
        return tree_sum(self.state.group.ask(name, *arguments, self.mean)) if self.state.is_newest else None

    def start_mean(self) -> ShardedRows:
        """Begin the running means in the shards."""
        self.state.group.change("start_mean")
        return replace(self, mean=True)

    def add_to_mean(self, samples: int) -> tuple[ShardedRows, float]:
        """Take the responsibilities into the running means; return these and the mean L1 change of a token."""
        moved = tree_sum(self.state.group.change("add_to_mean", samples))
        return replace(self, mean=True), moved / self.n_tokens


@dataclass(frozen=True, eq=False)
class ShardedLda(UnaveragedMethod, ABC):
    """A method bound to a corpus that is cut into shards (an `Algorithm`).

    Each shard sweeps its documents against a copy of the topics as they were after the last sweep; what changed is
    added up in an order that the number of shards alone decides. As in Newman, Asuncion, Smyth and Welling, JMLR 10
    (2009), AD-LDA, of Gibbs sampling.
    """

    corpus: Corpus | DiskCorpus
    n_shards: int
    n_topics: int
    start: Concentrations  #: hyper-parameters to start from
    learn: bool = True  #: learn the hyper-parameters
    shrink: float = 1e-5  #: a topic with less than this share of the tokens is dropped

    @abstractmethod
    def factory(self, part: Part) -> Factory:
        """Return what makes the shard of some documents."""

    @abstractmethod
    def begin(self, group: ShardGroup, rng: np.random.Generator) -> tuple[Array, Floats]:
        """Return the topics to begin with, and their sums."""

    @abstractmethod
    def pass_over(self, state: ShardedState, poll: Poll) -> tuple[ShardedState, float | None]:
        """Return the state after all shards were swept, and the pseudo leave-one-out where it is known."""

    @abstractmethod
    def keep_topics(self, state: ShardedState, left: Order) -> ShardedState:
        """Return the state without the other topics."""

    @abstractmethod
    def gains(self, state: ShardedState) -> tuple[DocumentGains, Array | None]:
        """Return what a step of the concentrations takes: sums over documents, and of words the absences."""

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
        """Sweep all shards; nothing is drawn.

        Where the poll raises, the shards go on with the sweep, and the next call waits for its end.

        Raises ValueError: the state was swept before.
        """
        group = state.group
        if group.sweeps != state.age:
            raise ValueError(
                f"the state after sweep {state.age} was swept already: its documents were handed on; "
                "start a run of its own to go another way"
            )
        poll()
        before = group.tally()
        swept, loo = self.pass_over(state, poll)
        # From here on nothing may stop the sweep: the documents belong to the new state.
        swept, order = self._drop(replace(swept, age=state.age + 1))
        swept = self._learn(swept)
        group.end_sweep()
        not_stationary = swept.learning or is_beginning(swept.age, swept.change, state.change)
        return swept, SweepInfo(
            loo, order, change=swept.change, not_stationary=not_stationary, **group.since(before)
        )

    def posterior(self, state: ShardedState) -> Posterior:
        """Return what the state says: of topics and words only."""
        arrays = {"words": state.by_word, "alpha": state.hyper.alpha}
        axes: dict[str, tuple[str | None, ...]] = {"words": (None, TOPICS), "alpha": (TOPICS,)}
        if state.entropy is not None:
            arrays["entropy"], axes["entropy"] = np.array([state.entropy]), (None,)
        return Posterior(
            arrays,
            axes,
            averaged=("words",),
            derived=("entropy",) if state.entropy is not None else (),
            hyper={"alpha_total": float(state.hyper.alpha.sum()), "beta": state.hyper.beta},
            normalised=False,
        )

    def responsibilities(self, state: ShardedState) -> RemoteResponsibilities | None:
        """Return what the shards can be asked for; None once the state is being swept."""
        return ShardedRows(state, self.corpus.n_tokens) if state.is_newest else None

    def can_keep(self, state: ShardedState) -> bool:
        """Return False: the documents are in the shards, and end with the program."""
        return False

    def _drop(self, state: ShardedState) -> tuple[ShardedState, dict[str, Order] | None]:
        """Drop the topics that hardly any token is of."""
        totals = np.maximum(state.totals, 0.0)  # rounding may leave an empty topic less than nothing
        left = np.flatnonzero(totals >= self.shrink * totals.sum()).astype(np.int64)
        if len(left) in (0, len(totals)):
            return state, None
        hyper = replace(state.hyper, alpha=state.hyper.alpha[left])
        return self.keep_topics(replace(state, hyper=hyper), left), {TOPICS: left}

    def _learn(self, state: ShardedState) -> ShardedState:
        if not state.learning or not is_learning_due(state.age):
            return state
        gains, absent = self.gains(state)
        hyper = minka_step_of_gains(state.hyper, gains, state.by_word, absent)
        return replace(state, hyper=hyper, learning=should_keep_learning(state.hyper, hyper, state.age))
