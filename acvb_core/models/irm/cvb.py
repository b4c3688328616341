"""Collapsed variational Bayes for the IRM of one domain or two, zeroth (CVB0) and second order (CVB)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from acvb_core.core.averaging import AveragedAlgorithm
from acvb_core.core.errors import ParameterError
from acvb_core.core.protocols import Poll
from acvb_core.core.rows import Values
from acvb_core.models.irm.domain import DomainPass, Order
from acvb_core.models.irm.kernels import NEGLIGIBLE, Limits
from acvb_core.models.irm.network.exact import MOST_OBJECTS
from acvb_core.models.irm.network.model import NetworkPass
from acvb_core.models.irm.state import IrmState, block_counts
from acvb_core.models.irm.sweeping import VariationalMethod, average_sweeps, read_variational_settings
from acvb_core.models.irm.sweeps.bounds import OUT_OF_REACH
from acvb_core.models.irm.sweeps.interleaved import update_interleaved
from acvb_core.models.irm.sweeps.rest import PLAUSIBLE, Objects, find_restless, follow_moves


@dataclass(frozen=True)
class CollapsedIrm(VariationalMethod):
    """CVB0 or CVB bound to a relation (an `Algorithm`).

    Reference: IRM14 §2.2.1 and §5; CVB0: Asuncion, Welling, Smyth and Teh, UAI 2009.
    """

    #: CVB0, or second-order CVB with the paper's or the exact variances.
    order: Order = "zeroth"

    def update(self, state: IrmState, rng: np.random.Generator, poll: Poll) -> tuple[IrmState, float | None]:
        """Update row objects, then column objects, each in a fresh random order; a network's objects once.

        Objects at rest, and after the moves clusters that hold hardly any of an object, are passed over in most
        sweeps; the pseudo leave-one-out is then that of the last whole one. As the paper prints it, every sweep is
        whole, and the objects of both domains come in one order.
        """
        poll()  # there may be nothing to visit, and nothing that calls it
        as_printed = self.schedule == "paper"
        if as_printed and not self.layout.one_domain:
            return update_interleaved(self.relation, state, self.order, rng, poll)
        restless = None if as_printed else find_restless(state.rest, state.at_rest)
        visits = {
            domain: rng.permutation(len(q) if restless is None else restless[domain])
            for domain, q in state.q.items()
        }
        update = self._update_network if self.layout.one_domain else self._update_domains
        # While moves are made, and in a run without any, objects are free to go anywhere.
        are_over = self.moves.any and state.moves is None
        least = PLAUSIBLE if are_over and restless is not None else -1.0
        limits = limit_updates(state, least, is_whole=restless is None and not state.even)
        after, pseudo_loo = update(state, visits, limits, poll)
        before = None if restless is None else state.rest
        rest = follow_moves(state.q, after.q, visits, before, pseudo_loo)
        if state.even and not self.layout.one_domain:  # the counts still hold what was spread
            ones, entries = block_counts(self.relation, after.q, self.layout, poll)
            after = replace(after, ones=ones, entries=entries)
        return replace(after, rest=rest, even=0.0), rest.pseudo_loo

    def _update_domains(
        self,
        state: IrmState,
        visits: Mapping[str, Objects],
        limits: Mapping[str, Limits],
        poll: Poll,
    ) -> tuple[IrmState, float]:
        """Update objects of two domains; one without any keeps its responsibilities."""
        hyper = state.hyper
        a, b = hyper.blocks(state.ones.shape)
        of_rows, of_cols = (state.q[domain] for domain in self.layout.axes)
        pseudo_loo = 0.0
        if len(visits["rows"]):
            rows = DomainPass(self.relation, of_rows.copy(), of_cols, a, b, hyper.alpha["rows"], poll)
            pseudo_loo += rows.run(self.order, visits["rows"], poll, limits=limits["rows"])
            of_rows = rows.own
            state = replace(state, q={"rows": of_rows, "cols": of_cols})
            if not len(visits["cols"]):
                ones, entries = rows.counts()
                state = replace(state, ones=ones, entries=entries)
        if len(visits["cols"]):
            turned = self.relation.transposed
            # Clusters that the first sweep has left empty tell columns nothing, and take as much time as any other.
            live = np.flatnonzero(of_rows.max(axis=0) > NEGLIGIBLE)
            left = of_rows if len(live) == len(a) else np.take(of_rows, live, axis=1)
            a, b = np.ascontiguousarray(a[live].T), np.ascontiguousarray(b[live].T)
            cols = DomainPass(turned, of_cols.copy(), left, a, b, hyper.alpha["cols"], poll)
            pseudo_loo += cols.run(self.order, visits["cols"], poll, limits=limits["cols"])
            ones, entries = np.zeros(state.ones.shape), np.zeros(state.ones.shape)
            ones[live], entries[live] = (counts.T for counts in cols.counts())
            state = replace(state, q={"rows": of_rows, "cols": cols.own}, ones=ones, entries=entries)
        return state, pseudo_loo

    def _update_network(
        self,
        state: IrmState,
        visits: Mapping[str, Objects],
        limits: Mapping[str, Limits],
        poll: Poll,
    ) -> tuple[IrmState, float]:
        """Update objects of a network."""
        (domain,) = self.layout.domains
        objects = NetworkPass(self.relation, state)
        pseudo_loo = objects.run(self.order, visits[domain], poll, least=limits[domain].least)
        q = {domain: objects.q}
        is_whole = len(visits[domain]) == len(objects.q)
        # Rebuilt in every whole sweep, so what adding and subtracting rounds off cannot pile up.
        counts = block_counts(self.relation, q, self.layout, poll) if is_whole else objects.counts()
        return replace(state, q=q, ones=counts[0], entries=counts[1]), pseudo_loo


def limit_updates(state: IrmState, least: float, *, is_whole: bool) -> dict[str, Limits]:
    """Return what an update of the objects of each domain passes over; `is_whole` where the run may end with it.

    What the start has spread over all clusters stays in the counts during the first sweep: to take it out, object by
    object, would take a logarithm for each block and object.
    """
    spread = {domain: 1.001 * state.even / q.shape[1] for domain, q in state.q.items()}
    reach = OUT_OF_REACH if is_whole else -math.log(PLAUSIBLE)
    return {domain: Limits(least, max(NEGLIGIBLE, share), reach) for domain, share in spread.items()}


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
    """Raise ParameterError where exact variances cannot be had (`MethodSpec.check`)."""
    variance = values.get("variance", "paper")
    is_network = "k_cols" not in values
    if variance == "exact" and is_network and data.shape[0] > MOST_OBJECTS:
        raise ParameterError(
            f"variance 'exact' is for networks of at most {MOST_OBJECTS:,} nodes; this one has "
            f"{data.shape[0]:,}. Choose variance 'paper'."
        )
    if variance == "exact" and values.get("schedule") == "paper" and not is_network:
        raise ParameterError("schedule 'paper' is for the paper's variances; choose variance 'paper'.")


def build_acvb(data: Any, values: Values) -> AveragedAlgorithm:
    """Return ACVB on data, with the values of its parameters."""
    return average_sweeps(build_cvb(data, values), values)
