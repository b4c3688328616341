"""The state shared by the variational methods of the IRM, its active objects, and its lower bound."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numba as nb
import numpy as np
from numpy.typing import NDArray

from acvb_core.core.clusters import Order, is_identity, order_by_size, renormalise, take
from acvb_core.core.protocols import Array, Poll, Posterior, no_poll
from acvb_core.core.special import OPTIONS, lbeta, x_log_x
from acvb_core.data.relation import CountRelation, Relation
from acvb_core.models.irm.hyper import Hyper
from acvb_core.models.irm.kernels import (
    TWO_DOMAINS,
    Floats,
    Layout,
    block_term,
    cluster_sums,
    neighbour_sums,
)

#: An object stays active while its last update changed its responsibilities by this much (L1).
ACTIVE_CHANGE = 1e-4
#: After the moves, partial sweeps keep an object within the clusters that have more of it than this.
MIN_RESPONSIBILITY = 1e-6
#: Partial sweeps in a row.
_IN_A_ROW = 3
Objects = NDArray[np.int64]


@dataclass(frozen=True)
class ActiveSet:
    """The last changes of all objects, from which the objects of the next sweep follow."""

    moved: Mapping[str, Floats]  #: shape (N,); L1 change of each object's responsibilities, by domain
    pseudo_loo: float  #: of the last sweep that updated all objects (nats)
    sweeps: int = 0  #: sweeps since then
    change: float | None = None  #: mean L1 change over all objects in the last sweep

    @property
    def is_whole(self) -> bool:
        """Return whether the last sweep updated all objects."""
        return self.sweeps == 0


def select_active(last: ActiveSet | None, limit: float) -> dict[str, Objects] | None:
    """Return the objects of each domain that the next sweep updates; None for all."""
    if last is None or limit <= 0.0 or last.sweeps >= _IN_A_ROW:
        return None
    return {domain: np.flatnonzero(moved >= limit) for domain, moved in last.moved.items()}


def track_changes(
    old: Mapping[str, Floats],
    new: Mapping[str, Floats],
    updated: Mapping[str, Objects],
    last: ActiveSet | None,
    pseudo_loo: float,
) -> ActiveSet:
    """Return the changes after a sweep from `old` to `new`; `last` is None if it updated all objects."""
    moved, total = {}, 0.0
    for domain, q in new.items():
        moved[domain] = np.empty(len(q)) if last is None else last.moved[domain].copy()
        total += _measure_changes(old[domain], q, updated[domain], moved[domain])
    change = total / sum(map(len, new.values()))
    if last is None:
        return ActiveSet(moved, pseudo_loo, 0, change)
    return ActiveSet(moved, last.pseudo_loo, last.sweeps + 1, change)


@nb.njit(**OPTIONS)
def _measure_changes(old: Floats, new: Floats, objects: Objects, out: Floats) -> float:
    """Write how far each object has moved; return the sum."""
    every = 0.0
    for i in objects:
        total = 0.0
        for k in range(new.shape[1]):
            total += abs(new[i, k] - old[i, k])
        out[i] = total
        every += total
    return every


@dataclass(frozen=True)
class IrmState:
    """Responsibilities of every domain, the block counts that follow from them, and the hyper-parameters."""

    q: Mapping[str, Floats]  #: shape (N, K); responsibilities of each domain; rows sum to one
    #: `ones`, `entries`: shape (K1, K2); expected ones and observed entries of each block. Of counts: their expected
    #: sum, and this plus the exposure.
    ones: Floats
    entries: Floats
    hyper: Hyper
    layout: Layout = TWO_DOMAINS  #: which domain lies along each axis of the blocks
    age: int = 0  #: sweeps done
    smoothing_mass: float = 0.0  #: share of every object that the start has spread evenly over the clusters
    moves: Any = None  #: the memory of the moves (`MoveMemory`); None if no more are tried
    active: ActiveSet | None = None  #: last changes of the objects; None if all are to be updated
    active_change: float = ACTIVE_CHANGE  #: most sweeps skip objects that changed less (L1); 0 for none
    #: Samples of the chain that the run began with, which predict together; None without a chain.
    samples: Mapping[str, Array] | None = None

    @property
    def masses(self) -> dict[str, Floats]:
        """Expected cluster sizes of each domain."""
        return {domain: q.sum(axis=0) for domain, q in self.q.items()}


def observed_sums(
    relation: Relation, responsibilities: Floats, poll: Poll = no_poll
) -> tuple[Floats, Floats]:
    """Return n+ and N+ of every row object, shapes (N1, K2): its ones and its zeros by cluster of the columns.

    Of counts: their sums, and the exposures.
    """
    if isinstance(relation, CountRelation):
        counts = neighbour_sums(relation.ones, responsibilities, poll, relation.factors)
        reached = relation.column_activity[:, None] * responsibilities
        exposure = np.tile(reached.sum(axis=0), (len(counts), 1))
        if relation.n_missing:
            exposure -= neighbour_sums(relation.missing, reached, poll)
        exposure *= relation.row_activity[:, None]
        return counts, np.maximum(exposure, 0.0, out=exposure)
    links = neighbour_sums(relation.ones, responsibilities, poll)
    zeros = responsibilities.sum(axis=0) - links
    if relation.n_missing:
        zeros -= neighbour_sums(relation.missing, responsibilities, poll)
    return links, np.maximum(zeros, 0.0, out=zeros)


def block_counts(
    relation: Relation, q: Mapping[str, Floats], layout: Layout = TWO_DOMAINS, poll: Poll = no_poll
) -> tuple[Floats, Floats]:
    """Return expected ones and observed entries of each block, shape (K1, K2)."""
    rows, cols = (q[domain] for domain in layout.axes)
    links, zeros = observed_sums(relation, cols, poll)
    if not layout.one_domain:
        ones = cluster_sums(rows, links)
        return ones, ones + cluster_sums(rows, zeros)
    # A link of an object to itself concerns one object, not two that happen to be in the same cluster: its
    # expectation is linear in q.
    own = relation.self_links
    links -= own[:, :1] * rows
    zeros -= own[:, 1:] * rows
    counts = []
    for sums, inner in ((links, own[:, 0]), (np.maximum(zeros, 0.0), own[:, 1])):
        pairs = rows.T @ sums
        if layout.symmetric:
            pairs = (pairs + pairs.T) / 2.0
            pairs[np.diag_indices_from(pairs)] /= 2.0
        pairs[np.diag_indices_from(pairs)] += inner @ rows
        counts.append(pairs)
    return counts[0], counts[0] + counts[1]


@nb.njit(**OPTIONS)
def stick_log_evidence(mass: Floats, alpha: float) -> float:
    """Return sum_{k<K} [lbeta(1 + m_k, alpha + M_k) - lbeta(1, alpha)], the prior's part of the lower bound."""
    beyond = mass.sum()
    total = 0.0
    for k in range(mass.shape[0] - 1):
        beyond = max(beyond - mass[k], 0.0)
        total += lbeta(1.0 + mass[k], alpha + beyond) + math.log(alpha)  # lbeta(1, alpha) = -log(alpha)
    return total


def tidy(
    state: IrmState, relation: Relation, shrink: float, *, keep_bound: bool = False
) -> tuple[IrmState, dict[str, Order] | None]:
    """Order the clusters of every domain by size and drop the tiny ones (IRM14 §7.1).

    `keep_bound`: leave a domain's order alone if sorting would lower the bound, so that VB's bound never falls. With a
    concentration above one the truncated stick-breaking prior need not favour descending sizes.

    Returns the state, and each domain's new order; None if nothing moved.
    """
    orders = {}
    for domain, mass in state.masses.items():
        order = order_by_size(mass, shrink)
        if keep_bound:
            alpha, unsorted = state.hyper.alpha[domain], np.sort(order)
            if stick_log_evidence(mass[order], alpha) < stick_log_evidence(mass[unsorted], alpha):
                order = unsorted
        orders[domain] = order
    widths = {domain: q.shape[1] for domain, q in state.q.items()}
    if all(is_identity(orders[domain], width) for domain, width in widths.items()):
        return state, None
    axes = state.layout.axes
    q = {domain: take(array, (None, domain), orders) for domain, array in state.q.items()}
    ones, entries = take(state.ones, axes, orders), take(state.entries, axes, orders)
    if any(len(orders[domain]) < width for domain, width in widths.items()):
        q = {domain: renormalise(array) for domain, array in q.items()}
        ones, entries = block_counts(relation, q, state.layout)
    hyper = state.hyper
    if hyper.per_block:
        hyper = replace(hyper, a=take(hyper.a, axes, orders), b=take(hyper.b, axes, orders))
    return replace(state, q=q, ones=ones, entries=entries, hyper=hyper), orders


def posterior_of(state: IrmState) -> Posterior:
    """Return the state as a posterior."""
    hyper, blocks = state.hyper, state.layout.axes
    by_block: dict[str, Array] = {"ones": state.ones, "entries": state.entries}
    if hyper.per_block:
        by_block |= {"a": hyper.a, "b": hyper.b}
    samples = state.samples or {}
    axes: dict[str, tuple[str | None, ...]] = {domain: (None, domain) for domain in state.q}
    axes |= dict.fromkeys(by_block, blocks)
    axes |= {name: (None,) * array.ndim for name, array in samples.items()}
    values = {f"alpha_{domain}": alpha for domain, alpha in hyper.alpha.items()}
    values |= {"a": float(np.median(hyper.a)), "b": float(np.median(hyper.b))}
    return Posterior(
        {**state.q, **by_block, **samples},
        axes,
        averaged=state.layout.domains,
        derived=("ones", "entries"),
        hyper=values,
    )


def hyper_of(posterior: Posterior, is_gamma: bool = False) -> Hyper:
    """Return the hyper-parameters a posterior carries."""
    values = posterior.hyper
    a, b = (
        posterior[name] if name in posterior.arrays else np.full((1, 1), values[name]) for name in ("a", "b")
    )
    return Hyper({domain: values[f"alpha_{domain}"] for domain in posterior.averaged}, a, b, is_gamma)


@nb.njit(**OPTIONS)
def sum_evidence(
    ones: Floats, entries: Floats, a: Floats, b: Floats, symmetric: bool, is_gamma: bool
) -> float:
    """Return the sum of `block_term` with and less without the entries of distinct blocks: the bound's part of them."""
    total = 0.0
    if is_gamma:  # with one prior for all blocks
        before = block_term(a[0, 0], b[0, 0], True)
        for k in range(ones.shape[0]):
            for m in range(k if symmetric else 0, ones.shape[1]):
                n, exposure = max(ones[k, m], 0.0), max(entries[k, m] - ones[k, m], 0.0)
                total += block_term(a[0, 0] + n, b[0, 0] + exposure, True) - before
        return total
    tied = a.shape[0] * a.shape[1] == 1
    before = lbeta(a[0, 0], b[0, 0])
    for k in range(ones.shape[0]):
        for m in range(k if symmetric else 0, ones.shape[1]):
            one, zero = (a[0, 0], b[0, 0]) if tied else (a[k, m], b[k, m])
            n, zeros = max(ones[k, m], 0.0), max(entries[k, m] - ones[k, m], 0.0)
            total += lbeta(one + n, zero + zeros) - (before if tied else lbeta(one, zero))
    return total


def block_log_evidence(state: IrmState) -> float:
    """Return `sum_evidence` of a state."""
    hyper = state.hyper
    return sum_evidence(state.ones, state.entries, hyper.a, hyper.b, state.layout.symmetric, hyper.is_gamma)


def lower_bound(state: IrmState) -> float:
    """Return the variational lower bound of log p(X) in nats, at the best q(v), q(theta) for given q(Z).

    IRM14 eqs. 39-49; the conjugate factors leave Beta functions of the counts.
    """
    total = block_log_evidence(state)
    for domain, q in state.q.items():
        total += stick_log_evidence(q.sum(axis=0), state.hyper.alpha[domain]) - x_log_x(q).sum()
    return float(total)
