"""Collapsed variational Bayes for LDA, zeroth (CVB0) and second order (CVB)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from acvb_core.core.averaging import AveragedAlgorithm
from acvb_core.core.clusters import Order, renormalise
from acvb_core.core.protocols import Poll, Posterior, Responsibilities, SweepInfo, no_poll
from acvb_core.core.spec import Values
from acvb_core.data.disk import Shard
from acvb_core.models.lda.hyper import Concentrations, is_learning_due, minka_step, should_keep_learning
from acvb_core.models.lda.kernels import (
    Counts,
    Floats,
    Singles,
    add_counts,
    multiply_absences,
    second_order,
    zeroth_order,
)
from acvb_core.models.lda.start import random_responsibilities, warm_responsibilities
from acvb_core.models.lda.state import (
    TOPICS,
    CellPass,
    Cells,
    Tokens,
    VariationalMethod,
    build_posterior,
    choose_cells,
    copy_counts,
    is_beginning,
    padded_copy,
    zero_counts,
)

if TYPE_CHECKING:
    from acvb_core.models.lda.trained import TrainedTopics

#: Sweeps after which the counts are added up anew from the responsibilities, so that rounding cannot pile up.
REBUILD_EVERY = 50


@dataclass(frozen=True, eq=False)
class CollapsedState:
    """After a whole sweep."""

    #: The responsibilities, shared by all states of a run: they are those of the newest.
    buffers: SweepBuffers
    counts: Counts
    variances: Counts | None  #: variances of the counts, second order only
    hyper: Concentrations
    age: int = 0  #: sweeps done
    learning: bool = False  #: the hyper-parameters are still being learned
    change: float = 0.0  #: mean over tokens of the L1 change of the responsibilities in the last sweep


class SweepBuffers:
    """The responsibilities of all pairs, and a sweep under way.

    A run holds one copy of the responsibilities, by far its largest array; each sweep writes over it. The next call
    continues a sweep that was cut short, and gives the same bits.

    `q`: shape (n_pairs, K), in the order of the cells.
    `cells`: parts that documents and words are cut into.
    `age`: sweeps done.
    `under_way`: how far the sweep is that was begun; None between sweeps.
    `counts`, `variances`: of the sweep under way.
    `work`: whatever else a method works out for the sweep under way.
    """

    # What states have that were stored before there were cells.
    cells = 1
    under_way: CellPass | None = None
    work: Any = None

    def __init__(self, q: Singles, cells: int = 1) -> None:
        self.q, self.cells = q, cells
        self.age = 0
        self.counts: Counts | None = None
        self.variances: Counts | None = None

    def belongs_to(self, state: CollapsedState) -> bool:
        """Return whether the responsibilities are still those of this state: no sweep of it has begun."""
        return self.age == state.age and (self.under_way is None or not self.under_way.has_begun)

    def begin(self, state: CollapsedState) -> tuple[CellPass, Counts, Counts | None]:
        """Begin a sweep of a state, or go on with it; return how far it is, and the counts to be written to.

        Raises ValueError: the state was swept before.
        """
        if self.age != state.age:
            raise ValueError(
                f"the state after sweep {state.age} was swept already: its responsibilities were handed on; "
                "start a run of its own to go another way"
            )
        if self.under_way is None or self.counts is None:
            self.counts = copy_counts(state.counts)
            self.variances = None if state.variances is None else copy_counts(state.variances)
            kinds = (self.counts,) if self.variances is None else (self.counts, self.variances)
            self.under_way = CellPass([counts.totals for counts in kinds])
        return self.under_way, self.counts, self.variances

    def end(self) -> None:
        """End the sweep under way."""
        self.age += 1
        self.counts = self.variances = self.under_way = self.work = None


@dataclass(frozen=True, eq=False)
class CollapsedLda(VariationalMethod):
    """CVB0 or CVB bound to a corpus (an `Algorithm`).

    Reference: CVB0: AWST09. CVB: TNW07 eq. 18.
    """

    order: Literal["zeroth", "second"] = "zeroth"  #: CVB0 or CVB
    #: Shape (V, K), or None; counts of topics to begin with (`start.warm_responsibilities`); None begins at random.
    warm: Singles | None = None
    #: Learn the hyper-parameters from counts that are weighted by their presence (`minka_step`), or as they are.
    weighted: bool = True
    cells: int = 1  #: parts that documents and words are cut into (`cells.py`)

    @property
    def pair_ns(self) -> float:
        """Nanoseconds that an update takes for each topic of a pair, by which calls of the kernel are cut."""
        return 1.0 if self.order == "zeroth" else 3.0

    def init(self, rng: np.random.Generator, poll: Poll = no_poll) -> CollapsedState:
        """Return the first state."""
        cells = self._cut(self.cells)
        if self.warm is None:
            q = random_responsibilities(len(self.tokens.words), self.n_topics, rng, poll)
        else:
            q = warm_responsibilities(self.tokens, self.warm, self.start, poll, cells)
        counts = sum_counts(cells, q, poll)
        variances = self._variances(cells, q, poll)
        return CollapsedState(SweepBuffers(q, self.cells), counts, variances, self.start, learning=self.learn)

    def sweep(
        self, state: CollapsedState, rng: np.random.Generator, poll: Poll = no_poll
    ) -> tuple[CollapsedState, SweepInfo]:
        """Update every pair, document by document; nothing is drawn, so `rng` is not used."""
        buffers, cells = state.buffers, self._cut(state.buffers.cells)
        under_way, counts, variances = buffers.begin(state)
        visit = partial(self._visit, state, counts, variances)
        cells.run(under_way, visit, buffers.q.shape[1], self.pair_ns, poll)
        moved, loo = under_way.sums
        loo += cells.length_terms(state.hyper.alpha.sum())
        change = moved / self.tokens.n_tokens
        buffers.end()
        # From here on nothing may stop the sweep: the responsibilities belong to the new state.
        swept = replace(state, counts=counts, variances=variances, age=buffers.age, change=change)
        if buffers.age % REBUILD_EVERY == 0:
            counts, variances = sum_counts(cells, buffers.q), self._variances(cells, buffers.q)
            swept = replace(swept, counts=counts, variances=variances)
        swept, order = self._drop(swept)
        swept = self._learn(swept)
        not_stationary = swept.learning or is_beginning(swept.age, change, state.change)
        return swept, SweepInfo(loo, order, change=change, not_stationary=not_stationary)

    def posterior(self, state: CollapsedState) -> Posterior:
        """Return what the state says."""
        return build_posterior(state.counts, state.hyper)

    def responsibilities(self, state: CollapsedState) -> Responsibilities | None:
        """Return the responsibilities of all pairs; None once the state is being swept."""
        if not state.buffers.belongs_to(state):
            return None
        q, n_parts = state.buffers.q, state.buffers.cells
        return Responsibilities(q, self._cut(n_parts).pairs.counts, n_parts)

    def can_keep(self, state: CollapsedState) -> bool:
        """Return whether a run can go on from the state: not while the next one has its responsibilities."""
        return state.buffers.age == state.age

    def _cut(self, n_parts: int) -> Cells:
        """Return the pairs as a sweep goes through them; they are cut when the run begins."""
        return self._held.setdefault(n_parts, Cells.of(self.tokens, n_parts))

    @cached_property
    def _held(self) -> dict[int, Cells]:
        return {}

    def _visit(
        self,
        state: CollapsedState,
        counts: Counts,
        variances: Counts | None,
        begin: int,
        end: int,
        pairs: Shard,
        totals: Sequence[Floats],
    ) -> tuple[float, float]:
        """Update pairs of documents `begin` to `end` in a cell with these totals."""
        q, prior = state.buffers.q, state.hyper.singles(self.tokens.n_words)
        counts = counts._replace(totals=totals[0])
        if variances is None:
            return zeroth_order(begin, end, pairs, q, counts, prior)
        return second_order(begin, end, pairs, q, counts, variances._replace(totals=totals[1]), prior)

    def _variances(self, cells: Cells, q: np.ndarray, poll: Poll = no_poll) -> Counts | None:
        return sum_counts(cells, q, poll, spread=True) if self.order == "second" else None

    def _drop(self, state: CollapsedState) -> tuple[CollapsedState, dict[str, Order] | None]:
        """Drop the topics that hardly any token is of."""
        totals = np.maximum(state.counts.totals, 0.0)  # rounding may leave an empty topic less than nothing
        left = np.flatnonzero(totals >= self.shrink * totals.sum())
        if len(left) in (0, len(totals)):
            return state, None
        buffers, cells = state.buffers, self._cut(state.buffers.cells)
        buffers.q = padded_copy(renormalise(buffers.q[:, left]))
        hyper = replace(state.hyper, alpha=state.hyper.alpha[left])
        counts = sum_counts(cells, buffers.q)
        smaller = replace(state, counts=counts, variances=self._variances(cells, buffers.q), hyper=hyper)
        return smaller, {TOPICS: left.astype(np.int64)}

    def _learn(self, state: CollapsedState) -> CollapsedState:
        if not state.learning or not is_learning_due(state.age):
            return state
        q = state.buffers.q
        if not self.weighted:
            hyper = minka_step(state.hyper, state.counts.by_document, state.counts.by_word)
            return replace(state, hyper=hyper, learning=should_keep_learning(state.hyper, hyper, state.age))
        absent = zero_counts(self.tokens, q.shape[1])
        absent.by_document.fill(1.0)
        absent.by_word.fill(1.0)
        self._cut(state.buffers.cells).run(
            CellPass(),
            lambda begin, end, pairs, _: multiply_absences(begin, end, pairs, q, absent),
            q.shape[1],
        )
        counts = state.counts
        hyper = minka_step(
            state.hyper, counts.by_document, counts.by_word, absent.by_document, absent.by_word
        )
        return replace(state, hyper=hyper, learning=should_keep_learning(state.hyper, hyper, state.age))


def sum_counts(cells: Cells, q: Singles, poll: Poll = no_poll, *, spread: bool = False) -> Counts:
    """Return the expected counts of responsibilities, sums of c q; with `spread` their variances, of c q (1 - q)."""
    counts = zero_counts(cells.tokens, q.shape[1])

    def visit(begin: int, end: int, pairs: Shard, totals: Sequence[Floats]) -> None:
        add_counts(begin, end, pairs, q, counts._replace(totals=totals[0]), spread)

    cells.run(CellPass([counts.totals]), visit, q.shape[1], poll=poll)
    return counts


def build_collapsed(
    order: Literal["zeroth", "second"], data: Any, values: Values, trained: TrainedTopics | None = None
) -> CollapsedLda:
    """Return CVB0 or CVB on data, with the values of its parameters, to go on from trained topics if any are given."""
    learn, weighted = values["hyper"] != "fixed", values["hyper"] == "minka"
    start, warm = Concentrations.of_values(values), None
    if trained is not None:
        start, warm = trained.concentrations, trained.counts_at(trained.find_places(data.vocabulary))
    tokens, k = Tokens.of(data), values["k"]
    cells = choose_cells(len(tokens.words), values)
    return CollapsedLda(tokens, k, start, learn, values["shrink"], order, warm, weighted, cells)


def build_averaged(
    order: Literal["zeroth", "second"], data: Any, values: Values, trained: TrainedTopics | None = None
) -> AveragedAlgorithm:
    """Return ACVB0 or ACVB; the rest as for CVB0 and CVB."""
    return AveragedAlgorithm(
        build_collapsed(order, data, values, trained), values["burn_in"], values["track"]
    )
