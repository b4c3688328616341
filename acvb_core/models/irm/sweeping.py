"""The steps that all variational methods of the IRM share: the start, and the end of each sweep."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from acvb_core.core.averaging import AveragedAlgorithm
from acvb_core.core.clusters import Order
from acvb_core.core.protocols import (
    Poll,
    Posterior,
    SweepInfo,
    UnaveragedMethod,
    no_poll,
)
from acvb_core.core.rows import Values
from acvb_core.core.shared_work import SharedWork
from acvb_core.data.relation import Relation
from acvb_core.models.irm.gibbs.chain import ChainStart, keep_clusters, run_chain
from acvb_core.models.irm.gibbs.gibbs import GibbsIrm
from acvb_core.models.irm.hyper import Hyper, update_hyper
from acvb_core.models.irm.layout import TWO_DOMAINS, Layout
from acvb_core.models.irm.moves.moves import MOVES, MoveMemory, Moves
from acvb_core.models.irm.moves.schedule import (
    MOVES_FROM,
    MOVES_FROM_AFTER_CHAIN,
    MOVES_UNTIL,
    MOVES_UNTIL_AFTER_CHAIN,
    limit_clusters,
)
from acvb_core.models.irm.start import Start, read_settings
from acvb_core.models.irm.state import IrmState, block_counts, posterior_of, tidy

#: Priors of the blocks are learned to the end once the first moves have been made. Earlier, while clusters hardly
#: differ, the best prior is one that lets no block differ from the others: it would hold them there and merge them all.
#: Those of a chain differ.
CLIMB_FROM = MOVES_FROM

#: Chains under way.
_CHAINS = SharedWork[ChainStart]()
#: The mean of responsibilities begins again when a sweep moves them by less than this share of what it did at first.
_RENEWAL = 0.1


class SweepResult(NamedTuple):
    """A state after a sweep, with the pseudo leave-one-out where it is known, and the clusters' new order."""

    state: IrmState
    pseudo_loo: float | None
    order: dict[str, Order] | None


@dataclass(frozen=True)
class VariationalMethod(UnaveragedMethod, ABC):
    """The common part of VB, CVB0 and CVB: start, end of a sweep, posterior."""

    relation: Relation
    start: Start  #: how the first responsibilities are made
    hyper: Hyper  #: hyper-parameters to start from
    hyper_rule: str = "tied"
    shrink: float = 1e-5  #: a cluster with less than this share of its domain's objects is dropped
    moves: Moves = MOVES  #: which moves are made between the early sweeps
    layout: Layout = TWO_DOMAINS  #: which clusterings there are
    #: "domains": all rows, then all columns; "paper": as IRM14 prints it (Fig. 2; VB: §4.3, then §4.4).
    schedule: str = "domains"

    #: q(theta) is explicit: per-block priors are learned from its parameters.
    explicit = False
    #: Leave clusters in an order that is not that of their sizes where sorting would lower the bound.
    keep_bound = False

    def init(self, rng: np.random.Generator, poll: Poll = no_poll) -> IrmState:
        """Return the first state."""
        hyper, samples = self.hyper, None
        if self.start.how == "gibbs":
            q, hyper, samples = self._sample_start(rng, poll)
        else:
            q = self.start.responsibilities(self.relation, self.layout, rng, poll)
        ones, entries = block_counts(self.relation, q, self.layout, poll)
        if self.hyper_rule in ("per-block", "paper"):
            a, b = hyper.blocks(ones.shape)
            hyper = replace(hyper, a=a.copy(), b=b.copy())
        first = MOVES_FROM if samples is None else MOVES_FROM_AFTER_CHAIN
        memory = MoveMemory(first) if self.moves.any else None
        # Neither a random start nor a sample is spread over the clusters.
        even = 0.0 if self.start.how == "random" or samples is not None else self.start.smoothing
        return IrmState(q, ones, entries, hyper, self.layout, moves=memory, samples=samples, even=even)

    def _sample_start(self, rng: np.random.Generator, poll: Poll) -> ChainStart:
        """Return what a Gibbs chain leaves for the run, of the best sample the clusters that there may be."""
        rule = "fixed" if self.hyper_rule == "fixed" else "tied"
        spectral = replace(self.start, how="spectral")
        sampler = GibbsIrm(self.relation, spectral, self.hyper, rule, self.layout)
        # Methods that are compared begin with the same numbers on the same data: with the same chain.
        key = id(self.relation), repr((spectral, self.hyper, rule, self.layout, rng.bit_generator.state))
        best = _CHAINS.get(key, partial(run_chain, sampler, rng), poll)
        widths = dict(zip(self.layout.domains, (self.start.k_rows, self.start.k_cols), strict=False))
        widths |= self.moves.most
        return best._replace(q={domain: keep_clusters(q, widths[domain]) for domain, q in best.q.items()})

    def posterior(self, state: IrmState) -> Posterior:
        """Return what the state says."""
        return posterior_of(state)

    @abstractmethod
    def update(self, state: IrmState, rng: np.random.Generator, poll: Poll) -> tuple[IrmState, float | None]:
        """Return the state with new responsibilities and counts, and the pseudo leave-one-out where it falls out."""

    def plain_sweep(self, state: IrmState, rng: np.random.Generator, poll: Poll) -> SweepResult:
        """Update the responsibilities, order and drop clusters, learn the hyper-parameters; no moves."""
        state, pseudo_loo = self.update(state, rng, poll)
        state, order = tidy(state, self.relation, self.shrink, keep_bound=self.keep_bound)
        distinct = self.layout.distinct(len(state.ones))
        climb = state.samples is not None or state.age >= CLIMB_FROM
        learned = update_hyper(
            state.hyper,
            self.hyper_rule,
            state.ones,
            state.entries,
            state.masses,
            distinct,
            climb=climb,
            explicit=self.explicit,
        )
        return SweepResult(replace(state, hyper=learned, age=state.age + 1), pseudo_loo, order)

    def sweep(
        self, state: IrmState, rng: np.random.Generator, poll: Poll = no_poll
    ) -> tuple[IrmState, SweepInfo]:
        """Update every object, then the rest, and make the moves that are due.

        After a move `SweepInfo.cluster_permutation` is None: it is no re-ordering (the widths tell). A sweep that
        has passed over objects at rest says that it is settling: it cannot end a run.
        """
        state, pseudo_loo, order = self.plain_sweep(state, rng, poll)
        state, made = self.moves.after(state, self, rng, poll)
        not_stationary = state.moves is not None or (state.rest is not None and not state.rest.is_whole)
        change = None if made or state.rest is None else state.rest.change
        return state, SweepInfo(
            pseudo_loo,
            None if made else order,
            change=change,
            not_stationary=not_stationary,
            moves=made or None,
        )


def read_variational_settings(data: Any, values: Values) -> Values:
    """Return what every variational method is built with, from the values of its parameters."""
    until = MOVES_UNTIL_AFTER_CHAIN if values["init"] == "gibbs" else MOVES_UNTIL
    moves = Moves(values["merge"], values["split"], limit_clusters(data, values), until)
    schedule = values.get("schedule", "domains")
    return read_settings(data, values) | {"shrink": values["shrink"], "moves": moves, "schedule": schedule}


def average_sweeps(method: VariationalMethod, values: Values) -> AveragedAlgorithm:
    """Return the average of a method's responsibilities."""
    restart = values["restart_mean"]
    return AveragedAlgorithm(method, values["burn_in"], restart=restart, renew=_RENEWAL if restart else 0.0)
