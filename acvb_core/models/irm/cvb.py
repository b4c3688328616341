"""Collapsed variational Bayes for the IRM: CVB0, CVB, their averaged forms, and the base of all variational methods."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from acvb_core.core.averaging import AveragedAlgorithm
from acvb_core.core.clusters import Order
from acvb_core.core.errors import ParameterError
from acvb_core.core.parallel import SharedWork
from acvb_core.core.protocols import Array, Poll, Posterior, SweepInfo, UnaveragedMethod, no_poll
from acvb_core.core.spec import Values
from acvb_core.data.relation import Relation
from acvb_core.models.irm.gibbs import ChainStart, GibbsIrm, keep_clusters, run_chain
from acvb_core.models.irm.hyper import Hyper, update_hyper
from acvb_core.models.irm.kernels import NEGLIGIBLE, OUT_OF_REACH, TWO_DOMAINS, Floats, Layout, Limits
from acvb_core.models.irm.moves import MOVES, MoveMemory, Moves, merge_clusters
from acvb_core.models.irm.network import NetworkPass
from acvb_core.models.irm.spec import (
    MOVES_FROM,
    MOVES_FROM_AFTER_CHAIN,
    MOVES_UNTIL,
    MOVES_UNTIL_AFTER_CHAIN,
    limit_clusters,
)
from acvb_core.models.irm.start import Start, read_settings
from acvb_core.models.irm.state import (
    MIN_RESPONSIBILITY,
    IrmState,
    Objects,
    block_counts,
    lower_bound,
    posterior_of,
    select_active,
    tidy,
    track_changes,
)
from acvb_core.models.irm.sweep import CoordinateSweep, Variances, update_interleaved

#: Tied priors are optimised by Newton's method from this sweep on. Earlier, while clusters hardly differ, the best
#: prior lets no block differ: it would keep the clusters alike and merge them all. Those of a chain differ.
CLIMB_FROM = MOVES_FROM
#: Of several chains, the best sample of each is tried: so many sweeps and then merges, so many times.
_TRIAL_SWEEPS, _TRIAL_ROUNDS = 4, 2
#: Chains under way.
_CHAINS = SharedWork[ChainStart]()
#: The average begins again when a sweep changes the responsibilities by less than this share of the first change.
_RENEWAL = 0.1
#: A state after a sweep, the pseudo leave-one-out if it is known, and the clusters' new order.
Swept = tuple[IrmState, float | None, dict[str, Order] | None]


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
    #: The sampler whose chain gives the start.
    sampler: ClassVar[type[GibbsIrm]] = GibbsIrm
    #: Do not sort clusters by size if that would lower the bound.
    keep_bound = False
    #: The same, once moves are over.
    keep_bound_at_rest = False

    def init(self, rng: np.random.Generator, poll: Poll = no_poll) -> IrmState:
        """Return the first state."""
        hyper, samples = self.hyper, None
        if self.start.how == "gibbs":
            q, hyper, samples = self._sample_start(rng, poll)[:3]
        else:
            q = self.start.responsibilities(self.relation, self.layout, rng, poll)
        ones, entries = block_counts(self.relation, q, self.layout, poll)
        if self.hyper_rule in ("per-block", "paper"):
            hyper = Hyper(hyper.alpha, *hyper.blocks(ones.shape))
        first = MOVES_FROM if samples is None else MOVES_FROM_AFTER_CHAIN
        memory = MoveMemory(first) if self.moves.any else None
        # Neither a random start nor a sample is spread over the clusters.
        mass = 0.0 if self.start.how == "random" or samples is not None else self.start.smoothing
        return IrmState(
            q, ones, entries, hyper, self.layout, moves=memory, samples=samples, smoothing_mass=mass
        )

    def _sample_start(self, rng: np.random.Generator, poll: Poll) -> ChainStart:
        """Return the start that a Gibbs chain gives, with as many clusters of its best sample as a run may have.

        Of several chains, each has a sample that may be the start.
        """
        rule = "fixed" if self.hyper_rule == "fixed" else "tied"
        spectral = replace(self.start, how="spectral")
        sampler = self.sampler(self.relation, spectral, self.hyper, rule, self.layout)
        # Methods that are compared begin with the same random numbers on the same data, so they share the chain.
        key = id(self.relation), repr((spectral, self.hyper, rule, self.layout, rng.bit_generator.state))
        best = _CHAINS.get(key, partial(run_chain, sampler, rng), poll)
        widths = dict(zip(self.layout.domains, (self.start.k_rows, self.start.k_cols), strict=False))
        widths |= self.moves.most
        starts = [
            ({domain: keep_clusters(each, widths[domain]) for domain, each in q.items()}, hyper)
            for q, hyper in [(best.q, best.hyper), *best.others]
        ]
        q, hyper = starts[0] if len(starts) == 1 else self._try_starts(starts, best.samples, poll)
        return ChainStart(q, hyper, best.samples)

    def _try_starts(
        self, starts: list[tuple[dict[str, Floats], Hyper]], samples: dict[str, Array], poll: Poll
    ) -> tuple[dict[str, Floats], Hyper]:
        """Return the start with the highest bound after some sweeps and merges, as they leave it.

        A sample's own bound says little about that: it is far below, and differs as much between samples of one chain.
        """
        best, highest = starts[0], -math.inf
        for q, hyper in starts:
            counts = block_counts(self.relation, q, self.layout, poll)
            state = IrmState(q, *counts, hyper, self.layout, moves=MoveMemory(), samples=samples)
            rng = np.random.default_rng(0)  # methods that share the chains have the same trials
            for _ in range(_TRIAL_ROUNDS):
                for _ in range(_TRIAL_SWEEPS):
                    state, _, _ = self.plain_sweep(state, rng, poll)
                if self.moves.merge:
                    state, _ = merge_clusters(state, largest_first=not self.keep_bound, poll=poll)
                    state, _ = tidy(state, self.relation, self.shrink, keep_bound=self.keep_bound)
                state = replace(state, active=None)
            if (height := lower_bound(state)) > highest:
                best, highest = (dict(state.q), state.hyper), height
        return best

    def posterior(self, state: IrmState) -> Posterior:
        """Return the state as a posterior."""
        return posterior_of(state)

    @abstractmethod
    def update(self, state: IrmState, rng: np.random.Generator, poll: Poll) -> tuple[IrmState, float | None]:
        """Return the state with new responsibilities and counts, and the pseudo leave-one-out if the method has it."""

    def plain_sweep(self, state: IrmState, rng: np.random.Generator, poll: Poll) -> Swept:
        """Update the responsibilities, order and drop clusters, learn the hyper-parameters; no moves."""
        state, pseudo_loo = self.update(state, rng, poll)
        are_over = self.moves.any and state.moves is None
        keep_bound = self.keep_bound or (self.keep_bound_at_rest and are_over)
        state, order = tidy(state, self.relation, self.shrink, keep_bound=keep_bound)
        learned = update_hyper(
            state.hyper,
            self.hyper_rule,
            state.ones,
            state.entries,
            state.masses,
            self.layout.distinct(len(state.ones)),
            climb=state.samples is not None or state.age >= CLIMB_FROM,
            explicit=self.explicit,
        )
        return replace(state, hyper=learned, age=state.age + 1), pseudo_loo, order

    def sweep(
        self, state: IrmState, rng: np.random.Generator, poll: Poll = no_poll
    ) -> tuple[IrmState, SweepInfo]:
        """Update the objects and the hyper-parameters, and make the moves that are due.

        After a move `SweepInfo.cluster_permutation` is None, as a move is no re-ordering. A sweep that has skipped
        objects is not stationary: it cannot end a run.
        """
        state, pseudo_loo, order = self.plain_sweep(state, rng, poll)
        state, made = self.moves.after(state, self, rng, poll)
        last = state.active
        return state, SweepInfo(
            pseudo_loo,
            None if made else order,
            change=None if made or last is None else last.change,
            not_stationary=state.moves is not None or (last is not None and not last.is_whole),
            moves=made or None,
        )


def read_variational_settings(data: Any, values: Values) -> Values:
    """Return the fields of every variational method, from the values of its parameters."""
    until = MOVES_UNTIL_AFTER_CHAIN if values["init"] == "gibbs" else MOVES_UNTIL
    moves = Moves(values["merge"], values["split"], limit_clusters(data, values), until)
    fields = {"shrink": values["shrink"], "moves": moves, "schedule": values["schedule"]}
    return read_settings(data, values) | fields


def average_sweeps(method: VariationalMethod, values: Values) -> AveragedAlgorithm:
    """Return the average of a method's responsibilities."""
    restart = values["restart_mean"]
    return AveragedAlgorithm(method, values["burn_in"], restart=restart, renew=_RENEWAL if restart else 0.0)


@dataclass(frozen=True)
class CollapsedIrm(VariationalMethod):
    """CVB0 or CVB bound to a relation (an `Algorithm`).

    Reference: IRM14 §2.2.1 and §5; CVB0: Asuncion, Welling, Smyth and Teh, UAI 2009.
    """

    #: CVB0, or second-order CVB with the paper's or the exact variances.
    order: Variances = "zeroth"

    def update(self, state: IrmState, rng: np.random.Generator, poll: Poll) -> tuple[IrmState, float | None]:
        """Update row objects, then column objects, each in a fresh random order; a network's objects once.

        Most sweeps skip objects that have settled and, after the moves, clusters that have hardly any of an object.
        The pseudo leave-one-out is that of the last whole sweep. With the paper's schedule every sweep is whole, and
        the objects of both domains come in one order.
        """
        poll()  # a sweep without objects calls nothing else that does
        as_printed = self.schedule == "paper"
        if as_printed and not self.layout.one_domain:
            return update_interleaved(self.relation, state, self.order, rng, poll)
        active = None if as_printed else select_active(state.active, state.active_change)
        update_order = {
            domain: rng.permutation(len(q) if active is None else active[domain])
            for domain, q in state.q.items()
        }
        update = self._update_network if self.layout.one_domain else self._update_domains
        # While moves are made, and in a run without any, objects are free to go anywhere.
        are_over = self.moves.any and state.moves is None
        least = MIN_RESPONSIBILITY if are_over and active is not None else -1.0
        reach = OUT_OF_REACH if active is None and not state.smoothing_mass else -math.log(MIN_RESPONSIBILITY)
        # The smoothing of the start stays in the counts during the first sweep. To take it out, object by object, would
        # take a logarithm for each block and object.
        smoothed = {domain: 1.001 * state.smoothing_mass / q.shape[1] for domain, q in state.q.items()}
        limits = {domain: Limits(least, max(NEGLIGIBLE, share), reach) for domain, share in smoothed.items()}
        after, pseudo_loo = update(state, update_order, limits, poll)
        last = None if active is None else state.active
        changes = track_changes(state.q, after.q, update_order, last, pseudo_loo)
        if state.smoothing_mass and not self.layout.one_domain:  # it is still in the counts
            ones, entries = block_counts(self.relation, after.q, self.layout, poll)
            after = replace(after, ones=ones, entries=entries)
        return replace(after, active=changes, smoothing_mass=0.0), changes.pseudo_loo

    def _update_domains(
        self,
        state: IrmState,
        update_order: Mapping[str, Objects],
        limits: Mapping[str, Limits],
        poll: Poll,
    ) -> tuple[IrmState, float]:
        """Update the objects of two domains; one without any keeps its responsibilities."""
        pseudo_loo = 0.0
        for side, domain in enumerate(self.layout.axes):
            if not len(update_order[domain]):
                continue
            clusters = None
            if side:
                # Empty clusters of rows say nothing about columns, and would take as much time as others.
                clusters = np.flatnonzero(state.q[self.layout.axes[0]].max(axis=0) > NEGLIGIBLE)
            sweep = CoordinateSweep.of_state(self.relation, state, side, poll, clusters)
            pseudo_loo += sweep.run(self.order, update_order[domain], poll, limits=limits[domain])
            ones, entries = sweep.counts()
            if side:
                counts = np.zeros((2, *state.ones.shape))
                counts[:, clusters] = ones.T, entries.T
                ones, entries = counts
            state = replace(state, q={**state.q, domain: sweep.own}, ones=ones, entries=entries)
        return state, pseudo_loo

    def _update_network(
        self,
        state: IrmState,
        update_order: Mapping[str, Objects],
        limits: Mapping[str, Limits],
        poll: Poll,
    ) -> tuple[IrmState, float]:
        """Update objects of a network."""
        (domain,) = self.layout.domains
        objects = NetworkPass(self.relation, state)
        pseudo_loo = objects.run(self.order, update_order[domain], poll, least=limits[domain].least)
        q = {domain: objects.q}
        is_whole = len(update_order[domain]) == len(objects.q)
        # Rebuilt in every whole sweep, so that rounding errors of adding and subtracting cannot pile up.
        counts = block_counts(self.relation, q, self.layout, poll) if is_whole else objects.counts()
        return replace(state, q=q, ones=counts[0], entries=counts[1]), pseudo_loo


def build_cvb0(data: Any, values: Values) -> CollapsedIrm:
    """Return CVB0 on data, with the values of its parameters."""
    return CollapsedIrm(**read_variational_settings(data, values))


def build_acvb0(data: Any, values: Values) -> AveragedAlgorithm:
    """Return ACVB0 on data, with the values of its parameters."""
    return average_sweeps(build_cvb0(data, values), values)


def build_cvb(data: Any, values: Values) -> CollapsedIrm:
    """Return second-order CVB on data, with the values of its parameters."""
    return CollapsedIrm(**read_variational_settings(data, values), order=values.get("variance", "paper"))


def check_variance(data: Any, values: Values) -> None:
    """Raise ParameterError for exact variances in the paper's order of updates (`MethodSpec.check`)."""
    if values.get("variance") == "exact" and values["schedule"] == "paper":
        raise ParameterError("schedule 'paper' is for the paper's variances; choose variance 'paper'.")


def build_acvb(data: Any, values: Values) -> AveragedAlgorithm:
    """Return ACVB on data, with the values of its parameters."""
    return average_sweeps(build_cvb(data, values), values)
