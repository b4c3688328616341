"""Split a cluster in two when the lower bound rises: a move that updates of one object at a time cannot make.

For every cluster some ways to cut its members in two are tried (`directions.py`); from each, a few sweeps over the
members, with everybody else fixed, find the two halves. The best is kept if the lower bound has risen.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from acvb_core.core.protocols import Poll, no_poll
from acvb_core.core.special import x_log_x
from acvb_core.data.relation import Relation
from acvb_core.models.irm.domain import DomainPass
from acvb_core.models.irm.kernels import Floats
from acvb_core.models.irm.moves.neighbours import cluster_sums
from acvb_core.models.irm.moves.rejected_moves import RejectedMoves
from acvb_core.models.irm.moves.tried_splits import SplitTrial, TriedSplits
from acvb_core.models.irm.network.directions import Residuals
from acvb_core.models.irm.network.model import NetworkPass
from acvb_core.models.irm.network.split_counts import SplitCounts
from acvb_core.models.irm.state import (
    IrmState,
    block_counts,
    block_log_evidence,
    observed_sums,
    stick_log_evidence,
)

#: An object is a member of a cluster that holds more than this share of it. A cluster of fewer members is left alone,
#: but for a pair: there is only one way to split it, so it costs little to try.
_MEMBER, _FEWEST = 0.1, 6
#: Share of a member that its half starts with, and sweeps over the members.
_SHARE, _SWEEPS = 0.9, 4
#: A split must raise the bound by more than this (nats).
_LEAST_GAIN = 1e-6
#: What is tried, in the memory of rejected moves, where sweeps follow.
_ON_TRIAL = "split on trial"
#: Of the ways to cut a cluster, so many are followed up with sweeps: those that cost the bound least before them.
_FOLLOWED = 2


def split_clusters(
    state: IrmState,
    relation: Relation,
    most: Mapping[str, int],
    rejected: RejectedMoves,
    rng: np.random.Generator,
    poll: Poll = no_poll,
    *,
    largest_first: bool = True,
    tried: TriedSplits | None = None,
) -> tuple[IrmState, int, RejectedMoves]:
    """Try to split every cluster of every domain once.

    `most` limits the clusters of a domain, `rejected` names clusters that are not tried again, and `largest_first`
    says that clusters are always put in order of size, not only where that does not lower the bound. `tried` is
    filled with what was tried, if nothing was split. Returns the state (new clusters last), the number of splits, and
    the clusters rejected so far.
    """
    split = 0
    for domain in state.q:
        side = _Side(state, relation, domain, largest_first, poll)
        for k in range(state.q[domain].shape[1]):
            about = f"split {domain}", state.q[domain][:, k] > 0.5
            if rejected.contains(*about) or _is_full(state, domain, most):
                continue
            trial = side.best_split(state, k, rng, poll)
            if tried is not None:
                wanted = not rejected.contains(f"{_ON_TRIAL} {domain}", about[1])
                tried.add(domain, k, trial if wanted else None)
            if trial is None or trial.gain <= _LEAST_GAIN:
                rejected = rejected.add(*about)
            else:
                state, split = side.rebuild_counts(trial.state, poll), split + 1
    return state, split, rejected


def promising_splits(
    state: IrmState,
    relation: Relation,
    most: Mapping[str, int],
    n: int,
    worst: float,
    rejected: RejectedMoves,
    rng: np.random.Generator,
    poll: Poll = no_poll,
    *,
    largest_first: bool = True,
    tried: TriedSplits | None = None,
) -> Iterator[tuple[IrmState, str, NDArray[np.bool_]]]:
    """Give the states after the n splits that lower the bound least, with what is tried and the cluster's members.

    One that lowers it by more than `worst` (nats, negative) is left out. Those in `tried` are not looked for again.
    The rest: `split_clusters`.
    """
    trials: list[tuple[float, int, IrmState, str, NDArray[np.bool_]]] = []
    for domain in state.q:
        if _is_full(state, domain, most):
            continue
        side = _Side(state, relation, domain, largest_first, poll)
        for k in range(state.q[domain].shape[1]):
            what, members = f"{_ON_TRIAL} {domain}", state.q[domain][:, k] > 0.5
            if rejected.contains(what, members):
                continue
            if tried is not None and tried.has_tried(domain, k):
                best = tried.find(domain, k)
            else:
                best = side.best_split(state, k, rng, poll)
            if best is not None and best.gain > worst:
                trials = heapq.nlargest(n, [*trials, (best.gain, -len(trials), best.state, what, members)])
    for _, _, after, what, members in trials:
        yield after, what, members


def _best_trials(trials: list[SplitTrial], n: int) -> list[SplitTrial]:
    return heapq.nlargest(n, trials, key=lambda trial: trial.gain)


def _is_full(state: IrmState, domain: str, most: Mapping[str, int]) -> bool:
    return domain in most and state.q[domain].shape[1] >= most[domain]


class _Side:
    """One domain of a relation, seen as its row objects."""

    def __init__(
        self, state: IrmState, relation: Relation, domain: str, largest_first: bool, poll: Poll
    ) -> None:
        self.domain, self.layout, self.largest_first = domain, state.layout, largest_first
        self.turned = domain != state.layout.axes[0]
        self.relation = relation.transposed if self.turned else relation
        self.links: Floats | None = None
        self.zeros: Floats | None = None
        self.split_counts = SplitCounts(self.relation) if state.layout.one_domain else None
        if not state.layout.one_domain:
            # The other domain is not touched, so these hold for every split of this one.
            other = state.q[state.layout.axes[1] if not self.turned else state.layout.axes[0]]
            self.links, self.zeros = observed_sums(self.relation, other, poll)

    def best_split(self, state: IrmState, k: int, rng: np.random.Generator, poll: Poll) -> SplitTrial | None:
        """Return the best of the ways to split cluster k, None if there are none."""
        q = state.q[self.domain]
        members = np.flatnonzero(q[:, k] > _MEMBER)
        before = block_log_evidence(state)
        cuts: list[SplitTrial] = []
        for direction in self._directions(state, k, members, rng, poll):
            share = np.where(cut_in_two(direction), _SHARE, 1.0 - _SHARE)
            cut = self._recount(state, _split_state(state, self.domain, k, members, share), k, poll)
            cuts = _best_trials([*cuts, SplitTrial(block_log_evidence(cut), cut)], _FOLLOWED)
            poll()
        best: SplitTrial | None = None
        for _, cut in cuts:
            tried = self._optimise_split(cut, k, members, poll)
            risen = block_log_evidence(tried) - before + self._other_gains(state, tried, k, members)
            if best is None or risen > best.gain:
                best = SplitTrial(risen, tried)
            poll()
        return best

    def _directions(
        self,
        state: IrmState,
        k: int,
        members: NDArray[np.int64],
        rng: np.random.Generator,
        poll: Poll,
    ) -> Iterator[Floats]:
        """Give vectors over the members of cluster k, along which they may be cut in two."""
        if len(members) == 2:
            yield np.array([0.0, 1.0])
        elif len(members) >= _FEWEST:
            residuals = Residuals(state, self.relation, self.domain, k, members, self.links, self.zeros)
            yield from residuals.directions(rng, poll)

    def rebuild_counts(self, state: IrmState, poll: Poll) -> IrmState:
        """Return a network's state with its counts made anew: they were kept up by adding and subtracting."""
        if not self.layout.one_domain:
            return state
        ones, entries = block_counts(self.relation, state.q, self.layout, poll)
        return replace(state, ones=ones, entries=entries)

    def _optimise_split(self, cut: IrmState, k: int, members: NDArray[np.int64], poll: Poll) -> IrmState:
        """Return the state after some sweeps over the members of cluster k, which was cut in two."""
        if self.layout.one_domain:
            objects = NetworkPass(self.relation, cut)
            halves = np.array([k, objects.q.shape[1] - 1])
            for _ in range(_SWEEPS):
                objects.run("zeroth", members, poll, choices=halves)
            ones, entries = objects.counts()
            return replace(cut, q={self.domain: objects.q}, ones=ones, entries=entries)
        assert self.links is not None
        assert self.zeros is not None
        a, b = cut.hyper.blocks(cut.ones.shape)
        if self.turned:
            a, b = a.T, b.T
        # A relation of two clusters of their own: the members are all there is, each wholly in.
        q = cut.q[self.domain]
        held = q[members, k] + q[members, -1]
        share = q[members, k] / held
        halves, alpha = np.stack([share, 1.0 - share], axis=1), cut.hyper.alpha[self.domain]
        sums = self.links[members], self.zeros[members]
        pair = DomainPass.of_sums(halves, *sums, a[[k, k]], b[[k, k]], alpha)
        for _ in range(_SWEEPS):
            pair.run("zeroth", np.arange(len(members)), poll)
        q = q.copy()
        q[members, k], q[members, -1] = held * pair.own[:, 0], held * pair.own[:, 1]
        return self._recount_sums(replace(cut, q={**cut.q, self.domain: q}))

    def _recount_sums(self, state: IrmState) -> IrmState:
        """Return the state of two domains with its counts made from the sums over the other domain."""
        assert self.links is not None
        assert self.zeros is not None
        own = state.q[self.domain]
        ones, zeros = cluster_sums(own, self.links), cluster_sums(own, self.zeros)
        ones, entries = (
            np.ascontiguousarray(array.T if self.turned else array) for array in (ones, ones + zeros)
        )
        return replace(state, ones=ones, entries=entries)

    def _recount(self, state: IrmState, tried: IrmState, k: int, poll: Poll) -> IrmState:
        """Return the state with cluster k split and new counts."""
        if self.split_counts is None:
            return self._recount_sums(tried)
        ones, entries = self.split_counts.count(state, tried.q[self.domain][:, -1], k, poll)
        return replace(tried, ones=ones, entries=entries)

    def _other_gains(self, state: IrmState, tried: IrmState, k: int, members: NDArray[np.int64]) -> float:
        """Return what sticks and entropy gain in a split."""
        alpha = state.hyper.alpha[self.domain]
        q, new = state.q[self.domain], tried.q[self.domain]
        sticks = self._sticks(new.sum(axis=0), alpha) - self._sticks(q.sum(axis=0), alpha)
        parts, whole = new[members][:, [k, -1]], q[members, k]
        return float(sticks - x_log_x(parts).sum() + x_log_x(whole).sum())

    def _sticks(self, mass: Floats, alpha: float) -> float:
        """Return the prior's part of the bound in the order that the clusters will be put in."""
        sorted_sticks = stick_log_evidence(-np.sort(-mass), alpha)
        return sorted_sticks if self.largest_first else max(sorted_sticks, stick_log_evidence(mass, alpha))


def _split_state(state: IrmState, domain: str, k: int, members: NDArray[np.int64], share: Floats) -> IrmState:
    """Return the state with `share` of each member's part in cluster k left there, the rest in a new last cluster.

    The counts are those of before; a per-block prior of the new cluster is a copy of the old one's.
    """
    q = state.q[domain]
    moved = np.zeros((len(q), 1))
    moved[members, 0] = q[members, k] * (1.0 - share)
    wider = np.hstack([q, moved])
    wider[members, k] = q[members, k] * share
    hyper = state.hyper
    if hyper.per_block:
        a, b = hyper.a, hyper.b
        for axis, name in enumerate(state.layout.axes):
            if name == domain:
                a, b = (
                    np.concatenate([array, np.take(array, [k], axis=axis)], axis=axis) for array in (a, b)
                )
        hyper = replace(hyper, a=a, b=b)
    return replace(state, q={**state.q, domain: wider}, hyper=hyper)


def cut_in_two(values: Floats) -> NDArray[np.bool_]:
    """Return which values belong to the upper of two groups with the least squared distance to their means (exact)."""
    order = np.argsort(values, kind="stable")
    sums = np.cumsum(values[order])
    below = np.arange(1, len(values))
    between = sums[:-1] ** 2 / below + (sums[-1] - sums[:-1]) ** 2 / (len(values) - below)
    upper = np.zeros(len(values), dtype=np.bool_)
    upper[order[int(np.argmax(between)) + 1 :]] = True
    return upper
