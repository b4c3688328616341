"""Averaged collapsed variational Bayes: the running mean of responsibilities, around any method.

The only place that averages. The inner method continues from its own state; the mean never feeds back
(ACVB17 §4, eq. 21). A posterior may hold counts in place of responsibilities: the mean is then that of the counts,
which are linear in the responsibilities. The responsibilities themselves are averaged beside them, if the method
hands them out, for the change of the mean and its bound.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numba as nb
import numpy as np

from acvb_core.core.clusters import match_clusters, mean_l1_change, order_by_size, renormalise, take
from acvb_core.core.parallel import cut_rows, map_rows, map_together
from acvb_core.core.protocols import (
    Algorithm,
    AnyResponsibilities,
    Array,
    Phase,
    Poll,
    Posterior,
    RemoteResponsibilities,
    Responsibilities,
    SweepInfo,
    can_keep,
    no_poll,
)
from acvb_core.core.spec import BURN_IN_CAP

_IN_CACHE = 1 << 16  # numbers of a small piece
_AT_ONCE = 1 << 20  # numbers of a mean that a call takes: less than a millisecond
#: Burn-in is over when the responsibilities move less than this in a sweep (mean over objects of the L1 norm), or
#: after BURN_IN_CAP sweeps.
BURN_IN_TOLERANCE = 1e-3
#: Where the mean may begin again, burn-in is also over when the responsibilities do not settle: they move more than
#: this share of what they did so many sweeps before.
_STILL_MOVING, _SWEEPS_APART = 0.75, 4


@dataclass(frozen=True)
class AveragedState:
    """State of the inner method, and the running mean."""

    inner: Any
    sweeps: int = 0  #: sweeps done since the last move
    samples: int = 0  #: sweeps in the mean (s); 0 during burn-in
    #: Running mean of each averaged array, in the inner state's order of clusters.
    mean: Mapping[str, Array] = field(default_factory=dict)
    change: float | None = None  #: mean over objects of the L1 change of the mean in the last sweep
    begun: float | None = None  #: the sweep's own change when the mean began, where the method knows it
    #: In burn-in, a sweep (counted from the last move) and its change, which a later one is compared with.
    earlier: tuple[int, float] | None = None
    #: Running mean of the responsibilities behind averaged counts; handed on, and written over, by the next sweep.
    shared: AnyResponsibilities | None = None


@dataclass(frozen=True)
class _RunningMean:
    """The common part of both kinds of mean."""

    inner: Algorithm
    burn_in: int = 0

    def init(self, rng: np.random.Generator, poll: Poll = no_poll) -> AveragedState:
        """Return the first state."""
        return AveragedState(self.inner.init(rng, poll))

    def current(self, state: AveragedState) -> Posterior:
        """Return the posterior of the inner method's last sweep."""
        return self.inner.current(state.inner)

    def can_keep(self, state: AveragedState) -> bool:
        """Return whether a run can continue from the state, as the inner method says."""
        return can_keep(self.inner, state.inner)

    def phase(self, state: AveragedState) -> Phase:
        """Return whether the mean has started, how many sweeps are in it, and its last change."""
        return Phase(state.samples == 0, state.samples, state.change)

    def responsibilities(self, state: AveragedState) -> AnyResponsibilities | None:
        """Return the mean of the responsibilities behind averaged counts, or those of the sweep during burn-in."""
        return self.inner.responsibilities(state.inner) if state.samples == 0 else state.shared


@dataclass(frozen=True)
class AveragedAlgorithm(_RunningMean):
    """ACVB: any `Algorithm`, answered by the running mean of its responsibilities after burn-in.

    With s sweeps in the mean its change is at most 2 / s for each object in L1 (ACVB17 Lemma 1) and
    sqrt(2) / s in L2 (Lemma 3), whatever the inner method does, so a tolerance is met in the end. The mean goes
    through the same re-ordering as the state. When a cluster is dropped the mean starts again: it would mix
    distributions over different sets of clusters. After a move (clusters merged or split) burn-in does.

    `burn_in`: sweeps before the mean starts, counted from the last move. 0: burn-in ends once moves are over and the
      responsibilities move little (mean L1 change below 1e-3), at the latest 100 sweeps after the last move; with
      `renew` also once they move as much as before.
    `track`: also average responsibilities that the posterior does not hold, if the method hands them out. Without them
      the change of the mean is that of the averaged counts, which is at most as large.
    `restart`: begin the mean again when a cluster is dropped; otherwise it continues without the cluster.
    `renew`: begin it again when a sweep moves less than this share of what it did when the mean began. Otherwise the
      mean of a method that comes to rest takes long to forget the way there. It stays certain to converge: once a sweep
      moves less than the tolerance, so does the mean of two.
    """

    track: bool = True
    restart: bool = True
    renew: float = 0.0

    def sweep(
        self, state: AveragedState, rng: np.random.Generator, poll: Poll = no_poll
    ) -> tuple[AveragedState, SweepInfo]:
        """Sweep the inner method, then take its responsibilities into the mean once burn-in is over."""
        inner, info = self.inner.sweep(state.inner, rng, poll)
        posterior = self.inner.posterior(inner)
        new = averaged_arrays(posterior)
        swept = AveragedState(inner, 0 if info.moves else state.sweeps + 1)
        if state.samples == 0 or info.moves:
            swept, is_over = self._follow_burn_in(state, swept, posterior, info)
            return self._start_mean(swept, new, info) if is_over else swept, info
        old = align_arrays(state.mean, info.cluster_permutation, posterior)
        before, order = self.inner.posterior(state.inner).n_clusters(), info.cluster_permutation or {}
        dropped = any(len(order[domain]) < before[domain] for domain in order)
        change = np.inf if info.change is None or info.not_stationary else info.change
        slower = change < self.renew * (state.begun or 0.0)
        if slower or (dropped and self.restart) or any(old[name].shape != new[name].shape for name in new):
            return self._start_mean(swept, new, info), info
        samples = state.samples + 1
        mean = update_mean(old, new, samples)
        shared, moved = self._update_shared(state, inner, info, samples)
        moved = mean_l1_change(mean, old) if moved is None else moved
        swept = replace(swept, samples=samples, mean=mean, change=moved, shared=shared, begun=state.begun)
        return swept, info

    def _start_mean(self, swept: AveragedState, new: Mapping[str, Array], info: SweepInfo) -> AveragedState:
        """Return the state with its one sweep as the mean."""
        shared = self.inner.responsibilities(swept.inner) if self.track else None
        if isinstance(shared, Responsibilities):
            shared = shared._replace(q=shared.q.copy())
        elif shared is not None:
            shared = shared.start_mean()
        return replace(swept, samples=1, mean=new, shared=shared, begun=info.change)

    def _update_shared(
        self, state: AveragedState, inner: Any, info: SweepInfo, samples: int
    ) -> tuple[AnyResponsibilities | None, float | None]:
        """Return the mean of the responsibilities behind the counts with this sweep's, and its change."""
        new = None if state.shared is None else self.inner.responsibilities(inner)
        if state.shared is None or new is None:
            return None, None
        if not (isinstance(new, Responsibilities) and isinstance(state.shared, Responsibilities)):
            return new.add_to_mean(samples) if isinstance(new, RemoteResponsibilities) else (None, None)
        mean = state.shared.q
        if info.cluster_permutation is not None:
            (order,) = info.cluster_permutation.values()
            mean = np.ascontiguousarray(mean[:, order])
        moved = blend(mean, new.q, new.weights, 1.0 / samples)
        return new._replace(q=mean), moved / float(new.weights.sum(dtype=np.float64))

    def posterior(self, state: AveragedState) -> Posterior:
        """Return the inner posterior, with the mean in place of its responsibilities after burn-in."""
        inner = self.inner.posterior(state.inner)
        if state.samples == 0:
            return inner
        return inner.with_arrays(state.mean, drop=inner.derived)

    def _follow_burn_in(
        self, state: AveragedState, swept: AveragedState, posterior: Posterior, info: SweepInfo
    ) -> tuple[AveragedState, bool]:
        """Return the state after a sweep of the burn-in, and whether the mean starts with this sweep."""
        if self.burn_in:
            return swept, swept.sweeps > self.burn_in
        earlier = None if info.moves else state.earlier
        if info.not_stationary:
            return replace(swept, earlier=earlier), False
        change = info.change
        if change is None:
            old = averaged_arrays(self.inner.posterior(state.inner))
            old = align_arrays(old, info.cluster_permutation, posterior)
            change = mean_l1_change(averaged_arrays(posterior), old)
        if change < BURN_IN_TOLERANCE or swept.sweeps > BURN_IN_CAP:
            return swept, True
        if earlier is not None and swept.sweeps - earlier[0] < _SWEEPS_APART:
            return replace(swept, earlier=earlier), False
        is_level = self.renew > 0.0 and earlier is not None and change > _STILL_MOVING * earlier[1]
        return replace(swept, earlier=(swept.sweeps, change)), is_level


def align_arrays(
    arrays: Mapping[str, Array], order: Mapping[str, Array] | None, posterior: Posterior
) -> dict[str, Array]:
    """Return averaged arrays of before a sweep in the order of clusters after it.

    `order` is that of the `SweepInfo`; `posterior`, of the state after the sweep, says which axes are clusters.
    """
    if order is None:
        return dict(arrays)
    moved = {name: take(array, posterior.axes[name], order) for name, array in arrays.items()}
    if not posterior.normalised:
        return moved
    return {name: a if a.shape == arrays[name].shape else renormalise(a) for name, a in moved.items()}


def averaged_arrays(posterior: Posterior) -> dict[str, Array]:
    """Return the arrays of a posterior that a running mean is taken of."""
    return {name: posterior.arrays[name] for name in posterior.averaged}


@dataclass(frozen=True)
class SampleMean(_RunningMean):
    """A sampler, answered by the mean of its kept samples, each relabelled to agree with the mean so far.

    Clusters of a sample have no fixed names and come and go. After burn-in each sample's clusters are matched
    with those of the mean (the assignment of largest overlap), new ones get a name of their own, and clusters
    that on average hold less than half an object are left out of the answer.

    `inner`: its posterior's averaged arrays are one-hot.
    `burn_in`: sweeps that are not kept.
    """

    def sweep(
        self, state: AveragedState, rng: np.random.Generator, poll: Poll = no_poll
    ) -> tuple[AveragedState, SweepInfo]:
        """Draw the next sample and take it into the mean once burn-in is over."""
        inner, info = self.inner.sweep(state.inner, rng, poll)
        swept = AveragedState(inner, state.sweeps + 1)
        if swept.sweeps <= self.burn_in:
            return swept, info
        sample = self.inner.posterior(inner)
        if state.samples == 0:
            return replace(swept, samples=1, mean=self.first_mean(sample)), info
        samples = state.samples + 1
        old, new = self.match(state.mean, sample)
        mean = update_mean(old, new, samples)
        change = mean_l1_change({name: mean[name] for name in sample.averaged}, old)
        return replace(swept, samples=samples, mean=self.trim(mean, sample), change=change), info

    def first_mean(self, sample: Posterior) -> dict[str, Array]:
        """Return the mean of one sample."""
        return averaged_arrays(sample)

    def match(
        self, mean: Mapping[str, Array], sample: Posterior
    ) -> tuple[dict[str, Array], dict[str, Array]]:
        """Return the mean and a sample over one set of clusters."""
        old, new = {}, {}
        for name, array in averaged_arrays(sample).items():
            old[name], new[name] = match_clusters(mean[name], array)
        return old, new

    def trim(self, mean: dict[str, Array], sample: Posterior) -> dict[str, Array]:
        """Return the mean without what need not be kept for the next sample: here, all of it."""
        return mean

    def posterior(self, state: AveragedState) -> Posterior:
        """Return the current sample during burn-in, then the mean of the kept ones, largest cluster first."""
        inner = self.inner.posterior(state.inner)
        if state.samples == 0:
            return inner
        means = {}
        for name, mean in state.mean.items():
            order = order_by_size(mean.sum(axis=0), 0.5 / len(mean))
            means[name] = renormalise(np.ascontiguousarray(mean[:, order]))
        return inner.with_arrays(means, drop=inner.derived)


def update_mean(old: Mapping[str, Array], new: Mapping[str, Array], samples: int) -> dict[str, Array]:
    """Return the mean of `samples` samples, given that of all but the last and the last, on the run's threads."""
    mean = {name: np.empty(new[name].shape, np.result_type(old[name], new[name], np.float32)) for name in new}

    def add_some(some: tuple[str, slice]) -> None:
        name, rows = some
        part = mean[name][rows]
        np.subtract(new[name][rows], old[name][rows], out=part)
        part /= samples
        part += old[name][rows]

    map_rows(add_some, mean, _IN_CACHE)
    return mean


def blend(mean: Array, new: Array, weights: Array, share: float) -> float:
    """Move `mean` (n, K) by `share` of the way to `new`, in place, on as many threads as there are.

    Returns the sum of the rows' L1 change, each row weighted by its `weights` (n,).
    """

    def blend_some(rows: slice) -> float:
        return float(blend_rows(mean[rows], new[rows], weights[rows], share))

    return sum(map_together(blend_some, cut_rows(mean, _AT_ONCE)), 0.0)


@nb.njit(nogil=True, cache=True, fastmath=True)
def blend_rows(mean: Array, new: Array, weights: Array, share: float) -> float:
    """Do what `blend` does, at once."""
    part = mean.dtype.type(share)
    total = 0.0
    for e in range(mean.shape[0]):
        own = mean[e]
        other = new[e]
        moved = mean.dtype.type(0)
        for k in range(own.shape[0]):
            step = (other[k] - own[k]) * part
            own[k] += step
            moved += abs(step)
        total += weights[e] * moved
    return total
