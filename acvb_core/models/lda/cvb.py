"""Collapsed variational Bayes for LDA, zeroth (CVB0) and second order (CVB)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from acvb_core.core.averaging import AveragedAlgorithm
from acvb_core.core.clusters import Order, renormalise
from acvb_core.core.protocols import Array, Poll, Posterior, Responsibilities, SweepInfo, no_poll
from acvb_core.core.spec import Values
from acvb_core.data.disk import Shard
from acvb_core.models.lda.hyper import Concentrations, learn_hyper, minka_step
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
    BlockPartition,
    CellPass,
    Tokens,
    VariationalMethod,
    build_posterior,
    choose_cells,
    copy_counts,
    drop_topics,
    is_beginning,
    padded_copy,
    zero_counts,
)

if TYPE_CHECKING:
    from acvb_core.models.lda.trained import TrainedTopics

#: Sweeps between two summations of the counts from the responsibilities, so that rounding does not accumulate.
REBUILD_EVERY = 50


@dataclass(frozen=True, eq=False)
class CollapsedState:
    """The state after a whole sweep."""

    #: The responsibilities of the newest state; all states of a run share them.
    buffers: SweepBuffers
    counts: Counts
    variances: Counts | None  #: variances of the counts, second order only
    hyper: Concentrations
    age: int = 0  #: sweeps done
    learning: bool = False  #: the hyper-parameters are still being learned
    change: float = 0.0  #: mean over tokens of the L1 change of the responsibilities in the last sweep


class SweepBuffers:
    """The responsibilities of all pairs, and the current sweep.

    A run holds one copy of the responsibilities, by far its largest array; each sweep overwrites it. After an
    interrupted sweep, the next call continues it and gives the same bits.

    `q`: shape (n_pairs, K), in the order of the blocks.
    `cells`: number of parts of documents and of words (`BlockPartition`).
    `age`: sweeps done.
    `under_way`: progress of the current sweep; None between sweeps.
    `counts`, `variances`: of the current sweep.
    `work`: other arrays of a method for the current sweep.
    """

    # Values for states that were stored before these attributes existed.
    cells = 1
    under_way: CellPass | None = None
    work: Any = None

    def __init__(self, q: Singles, cells: int = 1) -> None:
        self.q, self.cells = q, cells
        self.age = 0
        self.counts: Counts | None = None
        self.variances: Counts | None = None

    def belongs_to(self, state: CollapsedState) -> bool:
        """Return whether the responsibilities are those of this state: its next sweep has not begun."""
        return self.age == state.age and (self.under_way is None or not self.under_way.has_begun)

    def begin(self, state: CollapsedState) -> tuple[CellPass, Counts, Counts | None]:
        """Begin the sweep of a state, or continue it; return its progress, and the counts to update.

        Raises ValueError: the state was swept before.
        """
        check_unswept(state.age, self.age)
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
    #: Shape (V, K); initial counts of topics (`start.warm_responsibilities`); None: a random start.
    warm: Singles | None = None
    #: Learn the hyper-parameters from counts weighted by their presence (`minka_step`), or from plain counts.
    weighted: bool = True
    cells: int = 1  #: number of parts of documents and of words (`BlockPartition`)

    @property
    def pair_ns(self) -> float:
        """Nanoseconds of an update for each topic of a pair, which decide the length of kernel calls."""
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
        """Update every pair, document by document; `rng` is not used."""
        buffers, cells = state.buffers, self._cut(state.buffers.cells)
        under_way, counts, variances = buffers.begin(state)
        visit = partial(self._visit, state, counts, variances)
        cells.run(under_way, visit, buffers.q.shape[1], self.pair_ns, poll)
        moved, loo = under_way.sums
        loo += cells.length_terms(state.hyper.alpha.sum())
        change = moved / self.tokens.n_tokens
        buffers.end()
        # The sweep cannot be interrupted any more: the responsibilities belong to the new state.
        swept = replace(state, counts=counts, variances=variances, age=buffers.age, change=change)
        if buffers.age % REBUILD_EVERY == 0:
            counts, variances = sum_counts(cells, buffers.q), self._variances(cells, buffers.q)
            swept = replace(swept, counts=counts, variances=variances)
        swept, order = drop_topics(swept, swept.counts.totals, self.shrink, self._keep_topics)
        swept = learn_hyper(swept, partial(self._minka_step, swept))
        not_stationary = swept.learning or is_beginning(swept.age, change, state.change)
        return swept, SweepInfo(loo, order, change=change, not_stationary=not_stationary)

    def posterior(self, state: CollapsedState) -> Posterior:
        """Return the posterior of a state."""
        return build_posterior(state.counts.by_word, state.hyper, state.counts.by_document)

    def responsibilities(self, state: CollapsedState) -> Responsibilities | None:
        """Return the responsibilities of all pairs; None once the state is being swept."""
        if not state.buffers.belongs_to(state):
            return None
        q, n_parts = state.buffers.q, state.buffers.cells
        return Responsibilities(q, self._cut(n_parts).pairs.counts, n_parts)

    def can_keep(self, state: CollapsedState) -> bool:
        """Return whether a run can continue from the state: not after a later state has its responsibilities."""
        return state.buffers.age == state.age

    def _cut(self, n_parts: int) -> BlockPartition:
        """Return the pairs in the order of a sweep; the run keeps the partition."""
        return self._held.setdefault(n_parts, BlockPartition.of(self.tokens, n_parts))

    @cached_property
    def _held(self) -> dict[int, BlockPartition]:
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

    def _variances(self, cells: BlockPartition, q: np.ndarray, poll: Poll = no_poll) -> Counts | None:
        return sum_counts(cells, q, poll, spread=True) if self.order == "second" else None

    def _keep_topics(self, state: CollapsedState, left: Order) -> CollapsedState:
        buffers, cells = state.buffers, self._cut(state.buffers.cells)
        buffers.q = padded_copy(renormalise(buffers.q[:, left]))
        counts, variances = sum_counts(cells, buffers.q), self._variances(cells, buffers.q)
        return replace(state, counts=counts, variances=variances)

    def _minka_step(self, state: CollapsedState) -> Concentrations:
        q = state.buffers.q
        absences: tuple[Array, ...] = ()
        if self.weighted:
            absent = zero_counts(self.tokens, q.shape[1])
            absent.by_document.fill(1.0)
            absent.by_word.fill(1.0)
            self._cut(state.buffers.cells).run(
                CellPass(),
                lambda begin, end, pairs, _: multiply_absences(begin, end, pairs, q, absent),
                q.shape[1],
            )
            absences = absent[:2]
        return minka_step(state.hyper, *state.counts[:2], *absences)


def sum_counts(cells: BlockPartition, q: Singles, poll: Poll = no_poll, *, spread: bool = False) -> Counts:
    """Return expected counts, the sums of c q; with `spread` their variances, the sums of c q (1 - q)."""
    counts = zero_counts(cells.tokens, q.shape[1])

    def visit(begin: int, end: int, pairs: Shard, totals: Sequence[Floats]) -> None:
        add_counts(begin, end, pairs, q, counts._replace(totals=totals[0]), spread)

    cells.run(CellPass([counts.totals]), visit, q.shape[1], poll=poll)
    return counts


def check_unswept(age: int, swept: int) -> None:
    """Raise ValueError if the state of this age is not the newest, which has the responsibilities."""
    if age != swept:
        raise ValueError(
            f"the state after sweep {age} was swept already: its responsibilities belong to a later state; start a new "
            "run to continue differently"
        )


def find_start(
    data: Any, values: Values, trained: TrainedTopics | None
) -> tuple[Concentrations, Singles | None]:
    """Return the initial concentrations, and the initial counts of topics if trained topics are given."""
    if trained is None:
        return Concentrations.of_values(values), None
    return trained.concentrations, trained.counts_at(trained.find_places(data.vocabulary))


def build_collapsed(
    order: Literal["zeroth", "second"], data: Any, values: Values, trained: TrainedTopics | None = None
) -> CollapsedLda:
    """Return CVB0 or CVB with the values of its parameters; it continues from trained topics if they are given."""
    learn, weighted = values["hyper"] != "fixed", values["hyper"] == "minka"
    start, warm = find_start(data, values, trained)
    tokens, k = Tokens.of(data), values["k"]
    cells = choose_cells(len(tokens.words), values)
    return CollapsedLda(tokens, k, start, learn, values["shrink"], order, warm, weighted, cells)


def build_averaged(
    order: Literal["zeroth", "second"], data: Any, values: Values, trained: TrainedTopics | None = None
) -> AveragedAlgorithm:
    """Return ACVB0 or ACVB; parameters as for CVB0 and CVB."""
    return AveragedAlgorithm(
        build_collapsed(order, data, values, trained), values["burn_in"], values["track"]
    )
