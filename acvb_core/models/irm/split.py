"""Split a cluster in two when the lower bound rises."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain
from typing import Any, NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from acvb_core.core.protocols import Poll, no_poll
from acvb_core.core.special import OPTIONS, x_log_x
from acvb_core.data.relation import CountRelation, Relation
from acvb_core.models.irm.kernels import Floats, cluster_sums
from acvb_core.models.irm.network import Indices, NetworkPass
from acvb_core.models.irm.start import leading_vectors
from acvb_core.models.irm.state import (
    IrmState,
    block_counts,
    block_log_evidence,
    observed_sums,
    stick_log_evidence,
)
from acvb_core.models.irm.sweep import CoordinateSweep

Members = NDArray[np.bool_]
#: Two sets of objects are about the same when the objects in both are this share of those in either: clusters that lose
#: and win a few objects from sweep to sweep are not worth another attempt.
_ALIKE = 0.95


class RejectedMoves:
    """Sets of objects, each with what was tried with it; adding one makes a new list."""

    def __init__(self, tried: tuple[tuple[str, Members], ...] = ()) -> None:
        self._tried = tried

    def __len__(self) -> int:
        return len(self._tried)

    def contains(self, what: str, members: Members) -> bool:
        """Return whether the same was tried with about the same objects."""
        return any(what == kind and _is_alike(members, known) for kind, known in self._tried)

    def add(self, what: str, members: Members) -> RejectedMoves:
        """Return the list with one more; what it is about the same as is left out."""
        others = tuple(one for one in self._tried if one[0] != what or not _is_alike(members, one[1]))
        return RejectedMoves((*others, (what, members)))


def _is_alike(one: Members, other: Members) -> bool:
    either = int(np.count_nonzero(one | other))
    return int(np.count_nonzero(one & other)) >= _ALIKE * either


class SplitTrial(NamedTuple):
    """A state after a split, and what the lower bound gains."""

    gain: float
    state: IrmState


class TriedSplits(dict[tuple[str, int], SplitTrial | None]):
    """The best split of each cluster that was tried, by domain and cluster; None if there is none that is wanted.

    Only the `most` best are kept, because each contains a whole state: the others become None.
    """

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def __setitem__(self, key: tuple[str, int], trial: SplitTrial | None) -> None:
        """Add the best split of a cluster."""
        super().__setitem__(key, trial)
        gains = {key: kept.gain for key, kept in self.items() if kept is not None}
        if len(gains) > self._most:
            super().__setitem__(min(reversed(gains), key=gains.__getitem__), None)


#: Ones and zeros, shape (N, K) each.
Sums = tuple[Floats, Floats]


class SplitCounts:
    """Counts after splits of the clusters of a state; what they share is computed once, until the state is another."""

    def __init__(self, relation: Relation) -> None:
        self.relation = relation
        self._known: tuple[Floats, Sums, Sums] | None = None

    def count(self, state: IrmState, moved: Floats, k: int, poll: Poll) -> tuple[Floats, Floats]:
        """Return the ones and the observed entries of each block, shape (K + 1, K + 1), the new cluster last.

        `moved`: shape (N,); what each object gives of cluster k to the new one.
        """
        symmetric, (going, coming) = state.layout.symmetric, self._sums_of(state, poll)
        self_links = self.relation.self_links
        moved = np.ascontiguousarray(moved)
        among = np.array(_sum_among(self.relation, moved)) - moved**2 @ self_links
        poll()
        counts = []
        for which, before in enumerate((state.ones, state.entries - state.ones)):
            row, column = moved @ going[which], moved @ coming[which]
            own, pairs = moved @ self_links[:, which], among[which]
            inside = pairs / 2.0 if symmetric else pairs
            counted = np.zeros((len(before) + 1, len(before) + 1))
            counted[:-1, :-1] = before
            counted[k, :-1] -= row
            counted[:-1, k] -= column
            counted[k, k] += inside - own + (row[k] if symmetric else 0.0)
            counted[-1, :-1], counted[:-1, -1] = row, column
            counted[[k, -1], [-1, k]] -= pairs
            counted[-1, -1] = inside + own
            counts.append(counted)
        return counts[0], counts[0] + counts[1]

    def _sums_of(self, state: IrmState, poll: Poll) -> tuple[Sums, Sums]:
        """Return the links of every object to each cluster, and from each."""
        (q,) = state.q.values()
        if self._known is None or self._known[0] is not q:
            going = coming = _sum_between(self.relation, q, poll)
            if not state.layout.symmetric:
                coming = _sum_between(self.relation.transposed, q, poll)
            self._known = q, going, coming
        return self._known[1:]


def _sum_among(relation: Relation, shares: Floats) -> tuple[float, float]:
    """Return the ones and the zeros among objects of which there are these shares, or their counts and exposures."""
    ones, missing = relation.ones, relation.missing
    if isinstance(relation, CountRelation):
        counts = sparse.csr_array((relation.counts, ones.indices, ones.indptr), shape=relation.shape)
        out, into = shares * relation.row_activity, shares * relation.column_activity
        return float(shares @ (counts @ shares)), float(out.sum() * into.sum() - out @ (missing @ into))
    linked, unknown = (sum_pairs(pattern.indptr, pattern.indices, shares) for pattern in (ones, missing))
    return linked, shares.sum() ** 2 - linked - unknown


@nb.njit(**OPTIONS)
def sum_pairs(indptr: Indices, indices: Indices, shares: Floats) -> float:
    """Return the sum of s_i s_j over the stored entries (i, j) of a pattern."""
    total = 0.0
    for i in range(shares.shape[0]):
        if shares[i] != 0.0:
            beside = 0.0
            for p in range(indptr[i], indptr[i + 1]):
                beside += shares[indices[p]]
            total += shares[i] * beside
    return total


def _sum_between(relation: Relation, q: Floats, poll: Poll) -> Sums:
    """Return the ones and the zeros of each object by cluster of the others, itself left out."""
    links, zeros = observed_sums(relation, q, poll)
    own = relation.self_links
    return links - own[:, :1] * q, zeros - own[:, 1:] * q


#: Directions of each kind, vectors computed with them, and iterations.
_DIRECTIONS, _EXTRA, _ITERATIONS = 2, 6, 6
#: Of so few members the directions are computed exactly: a product with one vector for each costs no more than the
#: iterations do.
_FEW = (_DIRECTIONS + _EXTRA) * _ITERATIONS


class Residuals:
    """Links of a cluster's members, less what the cluster's block strengths let expect.

    The objects of the domain are the rows of `relation`; `links` and `zeros`, shape (N, L), are the ones and zeros of
    every row object by cluster of the columns, if known.
    """

    def __init__(
        self,
        state: IrmState,
        relation: Relation,
        domain: str,
        k: int,
        members: NDArray[np.int64],
        links: Floats | None,
        zeros: Floats | None,
    ) -> None:
        self.members, self.layout = members, state.layout
        hyper, (first, second) = state.hyper, state.layout.axes
        strengths = hyper.strengths(state.ones, state.entries)
        if domain != first:
            strengths, second = strengths.T, first
        self.sides = [(relation, strengths[k], state.q[second])]
        if self.layout.one_domain and not self.layout.symmetric:
            self.sides.append((relation.transposed, strengths[:, k], state.q[second]))
        self.known = [
            (
                _take_rows(one.ones, members, one.counts if isinstance(one, CountRelation) else None),
                _take_rows(one.missing, members),
            )
            for one, _, _ in self.sides
        ]
        # Roots of the members' activities on each side.
        self.is_counted = isinstance(relation, CountRelation)
        self.roots = [
            np.sqrt(one.row_activity[members]) if isinstance(one, CountRelation) else np.ones(len(members))
            for one, _, _ in self.sides
        ]
        self.given = None if links is None or zeros is None else (links[members], zeros[members])

    def directions(self, rng: np.random.Generator, poll: Poll) -> Iterator[Floats]:
        """Give vectors over the members, shape (n_members,): of whole rows, of block profiles, of their own block."""
        directions = [self._of_rows(rng, poll), self._of_profiles(poll)]
        if self.layout.one_domain:
            directions.append(self._of_own_block(rng, poll))
        for direction in chain.from_iterable(directions):
            # Of counts, active members are far from 0 on either side: what is cut is the direction without activity.
            yield direction / sum(self.roots) if self.is_counted else direction

    def _of_rows(self, rng: np.random.Generator, poll: Poll) -> Iterator[Floats]:
        """Members' rows against the other objects one by one, scaled to unit variance."""
        known, expected = [], []
        for (ones, missing), (relation, strength, other), root in zip(
            self.known, self.sides, self.roots, strict=True
        ):
            p = np.clip(other @ strength, 1e-9, 1.0)
            if isinstance(relation, CountRelation):
                p = np.maximum(other @ strength, 1e-9) * relation.column_activity
                ones, missing = _scale_rows(ones, 1.0 / root), _scale_rows(missing, root)
            scale = 1.0 / np.sqrt(p)
            # An unknown entry is taken to be what is expected of it.
            known.append(_scale_columns(ones, scale) + _scale_columns(missing, p * scale))
            expected.append(p * scale)
            poll()
        is_dense, mean = isinstance(known[0], np.ndarray), np.concatenate(expected)
        matrix: Any = np.hstack(known) if is_dense else sparse.hstack(known, format="csr")
        turned = matrix.T if is_dense else matrix.T.tocsr()
        # Of counts, what is expected of a member grows with the root of its activity on each side.
        roots = np.stack(self.roots, axis=1)
        means = np.zeros((len(expected), len(mean))) if self.is_counted else mean
        for at, part in enumerate(expected if self.is_counted else ()):
            means[at, at * len(part) : (at + 1) * len(part)] = part

        def forward(vectors: Floats) -> Floats:
            poll()
            expected = means @ vectors
            return np.asarray(matrix @ vectors - (roots @ expected if self.is_counted else expected))

        def backward(vectors: Floats) -> Floats:
            poll()
            if self.is_counted:
                return np.asarray(turned @ vectors - means.T @ (roots.T @ vectors))
            return np.asarray(turned @ vectors - np.outer(mean, vectors.sum(axis=0)))

        yield from self._leading(forward, backward, matrix.shape, rng)

    def _of_profiles(self, poll: Poll) -> Iterator[Floats]:
        """Members' links by cluster of the other objects, scaled to unit variance."""
        parts = []
        for (ones, missing), (relation, strength, other) in zip(self.known, self.sides, strict=True):
            if self.given is not None:
                links, zeros = self.given
            elif isinstance(relation, CountRelation):
                links, zeros = (each[self.members] for each in observed_sums(relation, other, poll))
            else:
                links, zeros = _sums_of(ones, missing, other, poll)
            expected = (zeros if self.is_counted else links + zeros) * strength
            parts.append((links - expected) / np.sqrt(np.maximum(expected, 1e-9)))
        profiles = np.hstack(parts)
        profiles -= profiles.mean(axis=0)
        left = np.linalg.svd(profiles, full_matrices=False)[0]
        yield from left[:, :_DIRECTIONS].T

    def _of_own_block(self, rng: np.random.Generator, poll: Poll) -> Iterator[Floats]:
        """Members' links among each other, in both directions: a group that avoids itself has a negative eigenvalue."""
        ones, missing = (rows[:, self.members].astype(np.float64) for rows in self.known[0])
        n_links, n_members = ones.sum(), len(self.members)
        if not n_links:
            return
        if self.is_counted:
            yield from self._of_own_counts(ones, rng, poll)
            return
        density = n_links / max(n_members**2 - missing.sum(), 1)
        matrix = ones + density * missing
        if not self.layout.symmetric:
            matrix = matrix + matrix.T
            density *= 2.0

        def product(vectors: Floats) -> Floats:
            poll()
            return np.asarray(matrix @ vectors - density * vectors.sum(axis=0))

        yield from self._leading(product, product, matrix.shape, rng)

    def _of_own_counts(self, counts: Any, rng: np.random.Generator, poll: Poll) -> Iterator[Floats]:
        """Members' counts among each other, less the expected ones, both scaled by the roots of their activities.

        Missing pairs count as 0: with so few objects they change the directions little.
        """
        out, into = self.roots[0], self.roots[-1]
        matrix = _scale_columns(_scale_rows(counts, 1.0 / out), 1.0 / into)
        rate = counts.sum() / ((out**2).sum() * (into**2).sum())
        if not self.layout.symmetric:
            matrix = matrix + matrix.T

        def product(vectors: Floats) -> Floats:
            poll()
            expected = np.outer(out, into @ vectors)
            if not self.layout.symmetric:
                expected += np.outer(into, out @ vectors)
            return np.asarray(matrix @ vectors - rate * expected)

        yield from self._leading(product, product, matrix.shape, rng)

    def _leading(self, forward, backward, shape, rng: np.random.Generator) -> Iterator[Floats]:  # type: ignore[no-untyped-def]
        n_members = shape[0]
        if n_members <= _FEW:
            left = np.linalg.eigh(forward(backward(np.eye(n_members))))[1][:, ::-1]
        else:
            left = leading_vectors(forward, backward, shape, _DIRECTIONS + _EXTRA, _ITERATIONS, rng)[0]
        yield from left[:, :_DIRECTIONS].T


def _take_rows(pattern: sparse.csr_array, members: NDArray[np.int64], counts: Floats | None = None) -> Any:
    """Return some rows of a pattern, as an array of numbers if they are few: sparse ones take longer to handle."""
    if len(members) > _FEW:
        if counts is not None:
            pattern = sparse.csr_array((counts, pattern.indices, pattern.indptr), shape=pattern.shape)
        return pattern[members]
    rows = np.zeros((len(members), pattern.shape[1]))
    for row, i in zip(rows, members, strict=True):
        stored = slice(pattern.indptr[i], pattern.indptr[i + 1])
        row[pattern.indices[stored]] = 1.0 if counts is None else counts[stored]
    return rows


def _scale_rows(rows: Any, scale: Floats) -> Any:
    """Return rows with each row multiplied by its scale."""
    if isinstance(rows, np.ndarray):
        return rows * scale[:, None]
    return sparse.csr_array(sparse.diags_array(scale) @ rows.astype(np.float64))


def _scale_columns(rows: Any, scale: Floats) -> Any:
    """Return rows of a pattern with each stored entry at its column's scale."""
    if isinstance(rows, np.ndarray):
        return rows * scale
    values = scale[rows.indices] * rows.data
    return sparse.csr_array((values, rows.indices, rows.indptr), shape=rows.shape)


def _sums_of(ones: Any, missing: Any, other: Floats, poll: Poll) -> tuple[Floats, Floats]:
    """Return the members' ones and zeros by cluster of the other objects (an object's link to itself included)."""
    links = ones @ other
    poll()
    return links, np.maximum(other.sum(axis=0) - links - missing @ other, 0.0)


#: An object is a member of a cluster that holds more than this share of it. A cluster of fewer members is left alone,
#: but for a pair: there is only one way to split it, so it costs little to try.
_MEMBER, _FEWEST = 0.1, 6
#: Share of a member that its half starts with, and sweeps over the members.
_SHARE, _SWEEPS = 0.9, 4
#: A split must raise the bound by more than this (nats).
_LEAST_GAIN = 1e-6
#: The name of a split that sweeps follow, in the memory of rejected moves.
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
                tried[domain, k] = trial if wanted else None
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
    trials: list[tuple[SplitTrial, str, NDArray[np.bool_]]] = []
    known: Mapping[tuple[str, int], SplitTrial | None] = tried or {}
    for domain in state.q:
        if _is_full(state, domain, most):
            continue
        side = _Side(state, relation, domain, largest_first, poll)
        for k in range(state.q[domain].shape[1]):
            what, members = f"{_ON_TRIAL} {domain}", state.q[domain][:, k] > 0.5
            if rejected.contains(what, members):
                continue
            is_known = (domain, k) in known
            best = known[domain, k] if is_known else side.best_split(state, k, rng, poll)
            if best is not None and best.gain > worst:
                trials = heapq.nlargest(n, [*trials, (best, what, members)], key=lambda trial: trial[0].gain)
    for best, what, members in trials:
        yield best.state, what, members


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
            share = np.where(cut_in_two(direction, self._weigh(members)), _SHARE, 1.0 - _SHARE)
            cut = self._recount(state, _split_state(state, self.domain, k, members, share), k, poll)
            cuts.append(SplitTrial(block_log_evidence(cut), cut))
            cuts = heapq.nlargest(_FOLLOWED, cuts, key=lambda trial: trial.gain)
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

    def _weigh(self, members: NDArray[np.int64]) -> Floats | None:
        """Return how sure the places of the members along a direction are; None if they are all alike."""
        relation = self.relation
        if not isinstance(relation, CountRelation):
            return None
        active = relation.row_activity[members]
        return active + relation.column_activity[members] if self.layout.one_domain else active

    def rebuild_counts(self, state: IrmState, poll: Poll) -> IrmState:
        """Return a network's state with its counts rebuilt: they were kept up by adding and subtracting."""
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
        is_gamma = cut.hyper.is_gamma
        pair = CoordinateSweep.of_sums(halves, *sums, a[[k, k]], b[[k, k]], alpha, is_gamma)
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


def cut_in_two(values: Floats, weights: Floats | None = None) -> NDArray[np.bool_]:
    """Return which values belong to the upper of two groups with the least squared distance to their means (exact)."""
    order = np.argsort(values, kind="stable")
    weights = np.ones(len(values)) if weights is None else weights[order]
    sums, below = np.cumsum(weights * values[order]), np.cumsum(weights)
    between = sums[:-1] ** 2 / below[:-1] + (sums[-1] - sums[:-1]) ** 2 / (below[-1] - below[:-1])
    upper = np.zeros(len(values), dtype=np.bool_)
    upper[order[int(np.argmax(between)) + 1 :]] = True
    return upper
