"""Moves between sweeps, judged by the lower bound: merge clusters, split clusters, and keep trials that pay later."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol

import numba as nb
import numpy as np
from numpy.typing import NDArray

from acvb_core.core.protocols import Poll, no_poll
from acvb_core.core.special import INLINE, OPTIONS, x_log_x
from acvb_core.data.relation import Relation
from acvb_core.models.irm.kernels import Floats, block_term, block_terms
from acvb_core.models.irm.spec import MOVES_EVERY, MOVES_FROM, MOVES_UNTIL
from acvb_core.models.irm.split import RejectedMoves, TriedSplits, promising_splits, split_clusters
from acvb_core.models.irm.state import ACTIVE_CHANGE, IrmState, lower_bound, stick_log_evidence, tidy

#: A merge must raise the bound by more than this (nats), or rounding could undo and redo it.
_LEAST_GAIN = 1e-6
#: Blocks that a kernel call takes at most, each with every later cluster of one domain.
_TERMS = 20_000


class SweepingMethod(Protocol):
    """The parts of a variational method that moves use."""

    @property
    def relation(self) -> Relation: ...  # noqa: D102
    @property
    def shrink(self) -> float: ...  # noqa: D102
    @property
    def keep_bound(self) -> bool: ...  # noqa: D102

    def plain_sweep(self, state: IrmState, rng: np.random.Generator, poll: Poll) -> tuple[IrmState, Any, Any]:
        """Sweep without moves."""
        ...


def merge_clusters(
    state: IrmState, *, largest_first: bool = True, poll: Poll = no_poll
) -> tuple[IrmState, int]:
    """Merge pairs of clusters, best first, while the lower bound rises; return the state and the number of merges.

    The counts of the state are up to date. `largest_first`: the merged clusters will be put in order of size, on
    which the stick-breaking prior depends.
    """
    merged = 0
    while True:
        pairs = [_best_pair(state, domain, largest_first, poll) for domain in state.q]
        best = max((pair for pair in pairs if pair is not None), key=lambda pair: pair[0], default=None)
        if best is None:
            return state, merged
        state = _merge_pair(state, *best[1:])
        merged += 1


def promising_merges(
    state: IrmState, n: int, worst: float, poll: Poll = no_poll
) -> Iterator[tuple[IrmState, str, NDArray[np.bool_]]]:
    """Give the states after the n merges of each domain that change the bound's blocks and sticks most to the good.

    One that changes them by less than `worst` (nats, negative) is left out. Each comes with what is tried, and with
    the two clusters' members.
    """
    for domain, q in state.q.items():
        limits = weigh_merges(state, domain, True, poll)
        labels = q.argmax(axis=1)
        for pair in np.argsort(-limits, axis=None, kind="stable")[:n]:
            k, other = divmod(int(pair), len(limits))
            if limits[k, other] > worst:
                members = (labels == k) | (labels == other)
                yield _merge_pair(state, domain, k, other), f"merge {domain}", members


def _best_pair(
    state: IrmState, domain: str, largest_first: bool, poll: Poll
) -> tuple[float, str, int, int] | None:
    """Return the best merge of a domain that raises the bound: gain, domain, two clusters; None if none does."""
    q = state.q[domain]
    limits = weigh_merges(state, domain, largest_first, poll)
    # The entropy only falls in a merge, so the gain without it is an upper limit: look at the highest first.
    best = None
    least = _LEAST_GAIN
    for pair in np.argsort(-limits, axis=None, kind="stable"):
        k, other = divmod(int(pair), len(limits))
        if limits[k, other] <= least:
            break
        both = q[:, k] + q[:, other]
        entropy = float((x_log_x(q[:, k]) + x_log_x(q[:, other]) - x_log_x(both)).sum())
        if limits[k, other] + entropy > least:
            least = float(limits[k, other]) + entropy
            best = least, domain, k, other
        poll()
    return best


def weigh_merges(state: IrmState, domain: str, largest_first: bool, poll: Poll) -> Floats:
    """Return what the bound's blocks and sticks gain when a later cluster of a domain is put into an earlier one.

    Shape (K, K), -inf on and below the diagonal.
    """
    a, b = state.hyper.blocks(state.ones.shape)
    n, zeros = np.maximum(state.ones, 0.0), np.maximum(state.entries - state.ones, 0.0)
    is_gamma = state.hyper.is_gamma
    heights = _list_terms(a + n, b + zeros, is_gamma)
    blocks = _Blocks(n, zeros, a, b, heights, heights - _list_terms(a, b, is_gamma), is_gamma)
    turned = blocks.turn()
    layout = state.layout
    if domain != layout.axes[0]:
        blocks, turned = turned, blocks
    mass = state.q[domain].sum(axis=0)
    alpha = state.hyper.alpha[domain]
    # After a first merge the clusters may be out of order, and will not stay so.
    sticks = stick_log_evidence(-np.sort(-mass) if largest_first else mass, alpha)
    gains = np.full((len(mass), len(mass)), -np.inf)
    n_rows = max(_TERMS // max(n.size, 1), 1)
    for begin in range(0, len(mass) - 1, n_rows):
        end = min(begin + n_rows, len(mass) - 1)
        _write_gains(begin, end, blocks, turned, layout.one_domain, not layout.symmetric, gains)
        _add_stick_gains(begin, end, mass, alpha, sticks, largest_first, gains)
        poll()
    return gains


def _list_terms(x: Floats, y: Floats, is_gamma: bool) -> Floats:
    out = np.empty(x.shape)
    block_terms(x.ravel(), y.ravel(), x.size, is_gamma, out.reshape(-1))
    return out


class _Blocks(NamedTuple):
    """Blocks of the clusters of a domain, its own clusters being the rows, shape (K, L)."""

    #: `ones`, `zeros`: expected counts. `a`, `b`: the prior of their strengths.
    ones: Floats
    zeros: Floats
    a: Floats
    b: Floats
    heights: Floats  #: `block_term` with the entries
    terms: Floats  #: the same less that without them: what the block adds to the bound
    is_gamma: bool

    def turn(self) -> _Blocks:
        """Return the blocks with rows and columns swapped."""
        n, zeros, a, b, heights, terms = (np.ascontiguousarray(array.T) for array in self[:6])
        return _Blocks(n, zeros, a, b, heights, terms, self.is_gamma)


@nb.njit(**INLINE)
def _gain(k: int, other: int, m: int, blocks: _Blocks) -> float:
    """Return what block (other, m) gains when it is put into block (k, m)."""
    ones, zeros, a, b, heights, terms, is_gamma = blocks
    x, y = a[k, m] + ones[k, m] + ones[other, m], b[k, m] + zeros[k, m] + zeros[other, m]
    both = block_term(x, y, is_gamma)
    return both - heights[k, m] - terms[other, m]


@nb.njit(**OPTIONS)
def _write_gains(
    begin: int,
    end: int,
    blocks: _Blocks,
    turned: _Blocks,
    one_domain: bool,
    directed: bool,
    out: Floats,
) -> None:
    """Write what the blocks gain when each later cluster is put into each of the clusters from `begin` to `end`."""
    for k in range(begin, end):
        if one_domain:
            _gains_within(k, blocks, turned, directed, out[k])
        else:
            _gains_across(k, blocks, out[k])


@nb.njit(**OPTIONS)
def _gains_across(k: int, blocks: _Blocks, out: Floats) -> None:
    """Write what the blocks gain when each later row cluster is put into cluster k, the columns being others."""
    n_clusters, n_other = blocks.ones.shape
    for other in range(k + 1, n_clusters):
        gain = 0.0
        for m in range(n_other):
            gain += _gain(k, other, m, blocks)
        out[other] = gain


@nb.njit(**OPTIONS)
def _gains_within(k: int, blocks: _Blocks, turned: _Blocks, directed: bool, out: Floats) -> None:
    """Write what the blocks gain when each later cluster is put into cluster k, rows and columns being the same."""
    n, zeros, a, b, heights, terms, is_gamma = blocks
    _gains_across(k, blocks, out)
    backward = np.zeros(out.shape[0])
    if directed:
        _gains_across(k, turned, backward)
    for other in range(k + 1, n.shape[0]):
        # The blocks of the two clusters with each other become one.
        gain = out[other] - _gain(k, other, k, blocks) - _gain(k, other, other, blocks)
        ones = n[k, k] + n[other, other] + n[k, other]
        nothing = zeros[k, k] + zeros[other, other] + zeros[k, other]
        gain -= heights[k, k] + terms[other, other] + terms[k, other]
        if directed:
            gain += backward[other] - _gain(k, other, k, turned) - _gain(k, other, other, turned)
            ones += n[other, k]
            nothing += zeros[other, k]
            gain -= terms[other, k]
        out[other] = gain + block_term(a[k, k] + ones, b[k, k] + nothing, is_gamma)


@nb.njit(**OPTIONS)
def _add_stick_gains(
    begin: int, end: int, mass: Floats, alpha: float, sticks: float, largest_first: bool, out: Floats
) -> None:
    """Add what the prior's part of the bound gains by the same merges."""
    n_clusters = mass.shape[0]
    after = np.empty(n_clusters - 1)
    for k in range(begin, end):
        for other in range(k + 1, n_clusters):
            at = 0
            for c in range(n_clusters):
                if c != other:
                    after[at] = mass[c] + (mass[other] if c == k else 0.0)
                    at += 1
            if largest_first:
                _sort_downwards(after)
            out[k, other] += stick_log_evidence(after, alpha) - sticks


@nb.njit(**OPTIONS)
def _sort_downwards(values: Floats) -> None:
    """Sort in place, largest first, by insertion: clusters are nearly in order, and `np.sort` takes 3 s to compile."""
    for i in range(1, values.shape[0]):
        value = values[i]
        at = i
        while at > 0 and values[at - 1] < value:
            values[at] = values[at - 1]
            at -= 1
        values[at] = value


def _merge_pair(state: IrmState, domain: str, k: int, other: int) -> IrmState:
    """Return the state with cluster `other` of a domain put into cluster `k`; a per-block prior keeps k's."""
    layout, hyper = state.layout, state.hyper
    axes = [axis for axis, name in enumerate(layout.axes) if name == domain]
    ones, entries, a, b = state.ones, state.entries, hyper.a, hyper.b
    for axis in axes:
        ones, entries = _add_slice(ones, axis, k, other), _add_slice(entries, axis, k, other)
        if hyper.per_block:
            a, b = (np.ascontiguousarray(np.delete(array, other, axis=axis)) for array in (a, b))
    if layout.symmetric:
        # The block of the pairs between the two is stored twice: it has been added twice.
        ones[k, k] -= state.ones[k, other]
        entries[k, k] -= state.entries[k, other]
    q = {**state.q, domain: _add_slice(state.q[domain], 1, k, other)}
    return replace(state, q=q, ones=ones, entries=entries, hyper=replace(hyper, a=a, b=b))


def _add_slice(array: Floats, axis: int, k: int, other: int) -> Floats:
    """Return the array with slice `other` of an axis added to slice k < other, and left out."""
    rest = np.delete(array, other, axis=axis)
    target: list[slice | NDArray[np.int64]] = [slice(None)] * array.ndim
    target[axis] = slice(k, k + 1)
    rest[tuple(target)] += np.take(array, [other], axis=axis)
    return np.ascontiguousarray(rest)


#: How many of the rejected merges, and of the rejected splits, are tried with sweeps after them, how many sweeps, and
#: what such a move may lose at once (nats): sweeps do not win back more.
TRIALS, _TRIAL_SWEEPS, _WORST = 5, 5, -100.0
#: After the first sweep of a trial, which updates all objects, those that moved less (L1) are skipped.
_TRIAL_REST = 1e-2
#: A trial is given up when each sweep left would have to raise the bound by so many times more than the last did.
_HOPE = 2.0
#: A trial must end this much (nats) above the result of sweeps alone, or what still rises would count as a gain.
_TRIAL_GAIN = 0.5
#: A state after a move, what was tried, and the objects it was about.
Candidate = tuple[IrmState, str, NDArray[np.bool_]]


@dataclass(frozen=True)
class MoveMemory:
    """The memory of the moves from sweep to sweep."""

    due: int = MOVES_FROM  #: age (sweeps) at which moves are tried next
    #: Clusters and pairs of clusters that were tried without success.
    rejected: RejectedMoves = RejectedMoves()  # noqa: RUF009 - never changed in place
    last_look: bool = False  #: the last attempt found nothing; one more is made before moves are over


@dataclass(frozen=True)
class Moves:
    """The moves that are made."""

    merge: bool = True
    split: bool = True
    #: Clusters of each domain that splits may not go beyond; no limit for a domain that is not there.
    most: Mapping[str, int] = field(default_factory=dict)
    until: int = MOVES_UNTIL  #: no more moves after this sweep
    trials: bool = True  #: try also moves that lower the bound at first

    @property
    def any(self) -> bool:
        """Return whether any are made."""
        return self.merge or self.split

    def after(
        self, state: IrmState, method: SweepingMethod, rng: np.random.Generator, poll: Poll
    ) -> tuple[IrmState, dict[str, int]]:
        """Make the moves that are due after a sweep.

        Returns `state`: tidy, with a lower bound no lower than before; its `moves` is None once there will be no more.
        Returns `made`: how many clusters were "merged" and "split", if any was.
        """
        memory: MoveMemory | None = state.moves
        if memory is None or state.age < memory.due:
            return state, {}
        merged = split = 0
        rejected, by_size = memory.rejected, not method.keep_bound
        trials, tried = _Trials(method, rng, poll), TriedSplits(TRIALS)
        if self.merge:
            state, merged = merge_clusters(state, largest_first=by_size, poll=poll)
        if not merged and self.split:
            state, split, rejected = split_clusters(
                state,
                method.relation,
                self.most,
                rejected,
                rng,
                poll,
                largest_first=by_size,
                tried=tried,
            )
        if not merged and not split and self.merge and self.trials:
            candidates = promising_merges(state, TRIALS, _WORST, poll)
            state, merged, rejected = trials.best_of(state, candidates, rejected)
        if not merged and not split and self.split and self.trials:
            limits = (self.most, TRIALS, _WORST, rejected, rng, poll)
            candidates = promising_splits(state, method.relation, *limits, largest_first=by_size, tried=tried)
            state, split, rejected = trials.best_of(state, candidates, rejected)
        made = {name: count for name, count in (("merged", merged), ("split", split)) if count}
        if made:
            state, _ = tidy(state, method.relation, method.shrink, keep_bound=method.keep_bound)
            state = replace(state, active=None, active_change=ACTIVE_CHANGE)
        # A chain has left little to find: after it, one attempt without success is enough.
        is_last_look = memory.last_look or state.samples is not None
        over = state.age >= self.until or (is_last_look and not made)
        due = state.age + MOVES_EVERY
        return replace(state, moves=None if over else MoveMemory(due, rejected, not made)), made


#: Merges and splits.
MOVES: Moves = Moves()


class _Trials:
    """Moves that lower the bound at first, tried with sweeps and merges after them."""

    def __init__(self, method: SweepingMethod, rng: np.random.Generator, poll: Poll) -> None:
        self.method, self.rng, self.poll = method, rng, poll
        self.least: float | None = None

    def best_of(
        self, state: IrmState, candidates: Iterable[Candidate], rejected: RejectedMoves
    ) -> tuple[IrmState, int, RejectedMoves]:
        """Return the first that has paid, or the state itself; 1 if one was kept; and the moves rejected so far."""
        for candidate, what, members in candidates:
            if rejected.contains(what, members):
                continue
            if self.least is None:
                # Sweeps of CVB and CVB0 may lower the bound; a move may not.
                self.least = max(lower_bound(state), lower_bound(self._run_sweeps(state))) + _TRIAL_GAIN
            method = self.method
            tried, _ = tidy(candidate, method.relation, method.shrink, keep_bound=method.keep_bound)
            tried, _ = merge_clusters(
                self._run_sweeps(tried, self.least),
                largest_first=not method.keep_bound,
                poll=self.poll,
            )
            # The order of the clusters is part of the bound: another one that is not kept is no gain.
            tried, _ = tidy(tried, method.relation, method.shrink, keep_bound=method.keep_bound)
            # A move that has paid is not tried again either: if sweeps undo it, it would be made in every round.
            rejected = rejected.add(what, members)
            if lower_bound(tried) > self.least:
                return replace(tried, age=state.age), 1, rejected
        return state, 0, rejected

    def _run_sweeps(self, state: IrmState, least: float = -np.inf) -> IrmState:
        """Return the state after some sweeps, or after fewer if the bound will plainly not get to `least`."""
        height = lower_bound(state)
        state = replace(state, active=None, active_change=_TRIAL_REST)
        for left in reversed(range(_TRIAL_SWEEPS)):
            state, _, _ = self.method.plain_sweep(state, self.rng, self.poll)
            before, height = height, lower_bound(state)
            if height + _HOPE * left * (height - before) < least:
                break
        return state
