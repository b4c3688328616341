"""Averaged collapsed variational Bayes: the running mean of responsibilities, around any method.

The only place that averages. The inner method goes on from its own state; the mean never feeds back
(ACVB17 §4, eq. 21). Where a posterior holds counts in place of responsibilities, their mean is that of the
counts (they are linear in the responsibilities); the responsibilities themselves are then averaged beside
them, where the method hands them out, for the change of the mean and its bound.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numba as nb
import numpy as np
from scipy.optimize import linear_sum_assignment

from acvb_core.core.clusters import mean_l1_change, order_by_size, renormalise, take
from acvb_core.core.protocols import (
    Array,
    Checkpoint,
    Inference,
    Phase,
    Posterior,
    Responsibilities,
    SweepInfo,
    no_checkpoint,
)

#: Burn-in is over when the responsibilities move less than this in a sweep (mean over objects of the L1 norm).
BURN_IN_TOLERANCE = 1e-3
#: … or after this many sweeps, settled or not.
BURN_IN_CAP = 100


@dataclass(frozen=True)
class AveragedState:
    """State of the inner method beside the running mean.

    Attributes
    ----------
    inner : Any
        State of the inner method.
    sweeps : int
        Sweeps done since the last move.
    samples : int
        Sweeps in the mean (s); 0 during burn-in.
    mean : mapping of str to ndarray
        Running mean of each averaged array, in the inner state's order of clusters.
    change : float or None
        Mean over objects of the L1 change of the mean in the last sweep.
    shared : Responsibilities or None
        Running mean of the responsibilities behind averaged counts; handed on, and written over, by the next sweep.
    """

    inner: Any
    sweeps: int = 0
    samples: int = 0
    mean: Mapping[str, Array] = field(default_factory=dict)
    change: float | None = None
    shared: Responsibilities | None = None


@dataclass(frozen=True)
class _RunningMean:
    """What both kinds of mean have in common: the method inside, and what is not the mean's own business."""

    inner: Inference
    burn_in: int = 0

    def init(self, rng: np.random.Generator, checkpoint: Checkpoint = no_checkpoint) -> AveragedState:
        """Return the first state."""
        return AveragedState(self.inner.init(rng, checkpoint))

    def current(self, state: AveragedState) -> Posterior:
        """Return what the last sweep of the inner method says."""
        return self.inner.current(state.inner)

    def phase(self, state: AveragedState) -> Phase:
        """Return whether the mean has started, how many sweeps are in it, and its last change."""
        return Phase(state.samples == 0, state.samples, state.change)

    def responsibilities(self, state: AveragedState) -> Responsibilities | None:
        """Return the mean of the responsibilities behind averaged counts, or those of the sweep during burn-in."""
        return self.inner.responsibilities(state.inner) if state.samples == 0 else state.shared


@dataclass(frozen=True)
class AveragedInference(_RunningMean):
    """ACVB: any `Inference`, answered by the running mean of its responsibilities after burn-in.

    Attributes
    ----------
    inner : Inference
    burn_in : int
        Sweeps before the mean starts, counted from the last move; 0 ends burn-in when moves are over and the
        responsibilities have settled (mean L1 change below 1e-3), at the latest 100 sweeps after the last move.
    track : bool
        Average responsibilities that a posterior does not hold, too, where the method hands them out. Without
        them the change of the mean is that of the averaged counts, which is at most as large.

    Notes
    -----
    With s sweeps in the mean its change is at most 2 / s for each object in L1 (ACVB17 Lemma 1) and
    sqrt(2) / s in L2 (Lemma 3), whatever the inner method does, so a tolerance is met in the end. The mean goes
    through the same re-ordering as the state. When a cluster is dropped the mean starts again: it would mix
    distributions over different sets of clusters. After a move (clusters merged or split) burn-in does.
    """

    track: bool = True

    def sweep(
        self, state: AveragedState, rng: np.random.Generator, checkpoint: Checkpoint = no_checkpoint
    ) -> tuple[AveragedState, SweepInfo]:
        """Sweep the inner method, then take its responsibilities into the mean once burn-in is over."""
        inner, info = self.inner.sweep(state.inner, rng, checkpoint)
        posterior = self.inner.posterior(inner)
        new = averaged_arrays(posterior)
        swept = AveragedState(inner, 0 if info.moves else state.sweeps + 1)
        if state.samples == 0 or info.moves:
            if not self._burn_in_over(state, swept, posterior, info):
                return swept, info
            return self._first(swept, new), info
        old = align_arrays(state.mean, info.order, posterior)
        before = self.inner.posterior(state.inner).n_clusters()
        if any(old[name].shape != new[name].shape for name in new) or _drops_clusters(before, info.order):
            return self._first(swept, new), info
        samples = state.samples + 1
        mean = {name: old[name] + (new[name] - old[name]) / samples for name in new}
        shared, change = self._shared(state, inner, info, samples)
        if change is None:
            change = mean_l1_change(mean, old)
        return replace(swept, samples=samples, mean=mean, change=change, shared=shared), info

    def _first(self, swept: AveragedState, new: Mapping[str, Array]) -> AveragedState:
        """Return the state with the one sweep that stands in it as its mean."""
        found = self.inner.responsibilities(swept.inner) if self.track else None
        shared = None if found is None else found._replace(q=found.q.copy())
        return replace(swept, samples=1, mean=new, shared=shared)

    def _shared(
        self, state: AveragedState, inner: Any, info: SweepInfo, samples: int
    ) -> tuple[Responsibilities | None, float | None]:
        """Take the responsibilities behind the counts into their mean; return it and its change."""
        found = None if state.shared is None else self.inner.responsibilities(inner)
        if state.shared is None or found is None:
            return None, None
        mean = state.shared.q
        if info.order is not None:
            (order,) = info.order.values()
            mean = np.ascontiguousarray(mean[:, order])
        change = blend(mean, found.q, found.weights, 1.0 / samples)
        return Responsibilities(mean, found.weights), change

    def posterior(self, state: AveragedState) -> Posterior:
        """Return the inner posterior, with the mean in place of its responsibilities after burn-in."""
        inner = self.inner.posterior(state.inner)
        if state.samples == 0:
            return inner
        return inner.with_arrays(state.mean, drop=inner.derived)

    def _burn_in_over(
        self, state: AveragedState, swept: AveragedState, posterior: Posterior, info: SweepInfo
    ) -> bool:
        if self.burn_in:
            return swept.sweeps > self.burn_in
        if info.settling:
            return False
        if swept.sweeps > BURN_IN_CAP:
            return True
        if info.change is not None:
            return info.change < BURN_IN_TOLERANCE
        old = align_arrays(averaged_arrays(self.inner.posterior(state.inner)), info.order, posterior)
        return mean_l1_change(averaged_arrays(posterior), old) < BURN_IN_TOLERANCE


def align_arrays(
    arrays: Mapping[str, Array], order: Mapping[str, Array] | None, posterior: Posterior
) -> dict[str, Array]:
    """Return averaged arrays in the order of clusters after a sweep.

    Parameters
    ----------
    arrays : mapping of str to ndarray
        As they were before the sweep.
    order : mapping or None
        As `SweepInfo.order`.
    posterior : Posterior
        What the state after the sweep says: which axes are clusters, and whether rows sum to one.
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


def _drops_clusters(before: Mapping[str, int], order: Mapping[str, Array] | None) -> bool:
    return order is not None and any(len(order[domain]) < before[domain] for domain in order)


@nb.njit(nogil=True, cache=True, fastmath=True)
def blend(mean: Array, new: Array, weights: Array, share: float) -> float:
    """Move `mean` by `share` of the way to `new`, in place; return the weighted mean of the rows' L1 change.

    Parameters
    ----------
    mean, new : ndarrays of one type, shape (n, K)
    weights : ndarray, shape (n,)
    share : float
    """
    part = mean.dtype.type(share)
    total = 0.0
    weight = 0.0
    for e in range(mean.shape[0]):
        own = mean[e]
        other = new[e]
        moved = mean.dtype.type(0)
        for k in range(own.shape[0]):
            step = (other[k] - own[k]) * part
            own[k] += step
            moved += abs(step)
        total += weights[e] * moved
        weight += weights[e]
    return total / weight


@dataclass(frozen=True)
class SampleMean(_RunningMean):
    """A sampler, answered by the mean of its kept samples, each relabelled to agree with the mean so far.

    Clusters of a sample have no fixed names and come and go. After burn-in each sample's clusters are matched
    with those of the mean (the assignment of largest overlap), new ones get a name of their own, and clusters
    that on average hold less than half an object are left out of the answer.

    Attributes
    ----------
    inner : Inference
        Its posterior's averaged arrays are one-hot.
    burn_in : int
        Sweeps that are not kept.
    """

    def sweep(
        self, state: AveragedState, rng: np.random.Generator, checkpoint: Checkpoint = no_checkpoint
    ) -> tuple[AveragedState, SweepInfo]:
        """Draw the next sample and take it into the mean once burn-in is over."""
        inner, info = self.inner.sweep(state.inner, rng, checkpoint)
        swept = AveragedState(inner, state.sweeps + 1)
        if swept.sweeps <= self.burn_in:
            return swept, info
        new = averaged_arrays(self.inner.posterior(inner))
        if state.samples == 0:
            return replace(swept, samples=1, mean=new), info
        samples = state.samples + 1
        mean, old = {}, {}
        for name, sample in new.items():
            old[name], named = match_clusters(state.mean[name], sample)
            mean[name] = old[name] + (named - old[name]) / samples
        return replace(swept, samples=samples, mean=mean, change=mean_l1_change(mean, old)), info

    def posterior(self, state: AveragedState) -> Posterior:
        """Return the current sample during burn-in, then the mean of the kept ones, largest cluster first."""
        inner = self.inner.posterior(state.inner)
        if state.samples == 0:
            return inner
        kept = {}
        for name, mean in state.mean.items():
            order = order_by_size(mean.sum(axis=0), 0.5 / len(mean))
            kept[name] = renormalise(np.ascontiguousarray(mean[:, order]))
        return inner.with_arrays(kept, drop=inner.derived)


def match_clusters(mean: Array, sample: Array) -> tuple[Array, Array]:
    """Return `mean` and `sample` over one set of clusters, the sample's matched to the mean's by overlap.

    Parameters
    ----------
    mean, sample : ndarrays, shapes (N, K), (N, K')

    Returns
    -------
    tuple of ndarray, both of shape (N, K + number of the sample's clusters without a partner)
    """
    own, other = mean.shape[1], sample.shape[1]
    overlap = mean.T @ sample
    kept, matched = linear_sum_assignment(overlap, maximize=True)
    partner = {int(j): int(k) for k, j in zip(kept, matched, strict=True) if overlap[k, j] > 0}
    place = np.empty(other, dtype=np.int64)
    width = own
    for j in range(other):
        if j in partner:
            place[j] = partner[j]
        else:
            place[j] = width
            width += 1
    wide = np.zeros((len(mean), width))
    wide[:, :own] = mean
    named = np.zeros_like(wide)
    named[:, place] = sample
    return wide, named
