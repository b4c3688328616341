"""The mean of samples whose features come and go."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from acvb_core.core.averaging import AveragedState, SampleMean
from acvb_core.core.clusters import mean_l1_change
from acvb_core.core.protocols import Array, Checkpoint, Posterior, SweepInfo, no_checkpoint
from acvb_core.models.lfm.cells import Floats

#: Features of two samples are taken for the same where their objects correlate at least so much, either way round.
SAME = 0.5
#: The answer has the features that at least this share of the samples have, and no more than a sample has on average.
USUAL = 0.5
#: The rarest features are forgotten where there are more than this many times those of a sample, and some.
_FORGET, _AND_SOME = 3, 20

#: What the mean keeps for each feature: zero in a sample that has not got it.
_PER_FEATURE = ("present", "weights", "squares")


class FeaturePlaces(NamedTuple):
    """Places of a sample's features among those of a mean.

    Attributes
    ----------
    place : ndarray of int64, shape (K',)
        Each one's own; those without a partner come after the mean's last.
    over : ndarray of bool, shape (K',)
        The sample has it from the other side.
    width : int
        Features of both together.
    """

    place: Array
    over: Array
    width: int


@dataclass(frozen=True)
class FeatureMean(SampleMean):
    """A sampler of binary features, answered by the mean of its kept samples.

    Features of a sample have no fixed names, are born and die, and may be turned: who had one has not, the weights
    change sign. After burn-in each sample's features are matched with those of the mean by the correlation of the
    objects that have them, turned where it is negative; those without a partner get a name of their own.

    The answer has the features that are in half the samples or more, as many as a sample has on average at most. An
    object's activation is the share of all samples in which it has the feature; weights are means over the samples
    that have the feature, and their variance is that within and between samples. What the features left out
    contribute on average to a column is part of its baseline. (Predictions of cells are no part of this: they are
    averaged sample by sample.)
    """

    def sweep(
        self, state: AveragedState, rng: np.random.Generator, checkpoint: Checkpoint = no_checkpoint
    ) -> tuple[AveragedState, SweepInfo]:
        """Draw the next sample and take it into the mean once burn-in is over."""
        inner, info = self.inner.sweep(state.inner, rng, checkpoint)
        swept = AveragedState(inner, state.sweeps + 1)
        if swept.sweeps <= self.burn_in:
            return swept, info
        sample = self.inner.posterior(inner)
        if state.samples == 0:
            return replace(swept, samples=1, mean=_sums(sample, _as_it_is(sample))), info
        samples = state.samples + 1
        matched = place_features(state.mean["objects"], sample["objects"])
        old = _widened(state.mean, matched.width)
        new = _sums(sample, matched)
        mean = {name: old[name] + (new[name] - old[name]) / samples for name in new}
        change = mean_l1_change({"objects": mean["objects"]}, {"objects": old["objects"]})
        most = _FORGET * sample["objects"].shape[1] + _AND_SOME
        return replace(swept, samples=samples, mean=_commonest(mean, most), change=change), info

    def posterior(self, state: AveragedState) -> Posterior:
        """Return the current sample during burn-in, then the mean of the kept ones, most frequent feature first."""
        inner = self.inner.posterior(state.inner)
        if state.samples == 0:
            return inner
        mean = _commonest(state.mean, round(float(state.mean["present"].sum())), USUAL)
        share = mean["objects"].mean(axis=0)
        order = np.argsort(-share, kind="stable")
        present = mean["present"][:, None]
        weights = mean["weights"] / present
        arrays = {
            "objects": np.ascontiguousarray(mean["objects"][:, order]),
            "weights": weights[order],
            "pi": share[order],
            "bias": mean["centre"] - share @ weights,
            "precision": 1.0 / mean["noise"],
            "weight_variance": np.maximum(mean["squares"] / present - weights**2, 0.0)[order],
        }
        hyper = dict(inner.hyper) | {"noise": float(np.sqrt(mean["noise"]).mean())}
        return replace(inner.with_arrays(arrays), hyper=hyper)


def place_features(mean: Floats, sample: Floats) -> FeaturePlaces:
    """Return the places of a sample's features among a mean's, by the largest sum of absolute correlations.

    Parameters
    ----------
    mean, sample : ndarrays, shapes (N, K), (N, K')
        Activations between 0 and 1.
    """
    own, other = mean.shape[1], sample.shape[1]
    correlation = _unit(mean).T @ _unit(sample)
    kept, matched = linear_sum_assignment(np.abs(correlation), maximize=True)
    place, over = np.full(other, -1, dtype=np.int64), np.zeros(other, dtype=bool)
    for k, j in zip(kept, matched, strict=True):
        if abs(correlation[k, j]) >= SAME:
            place[j], over[j] = k, correlation[k, j] < 0.0
    new = place < 0
    place[new] = own + np.arange(new.sum())
    return FeaturePlaces(place, over, own + int(new.sum()))


def _unit(activations: Floats) -> Floats:
    """Return centred columns of length one, or zero."""
    centred = activations - activations.mean(axis=0)
    length = np.sqrt((centred**2).sum(axis=0))
    return centred / np.where(length > 1e-9, length, np.inf)


def _as_it_is(sample: Posterior) -> FeaturePlaces:
    width = sample["objects"].shape[1]
    return FeaturePlaces(np.arange(width), np.zeros(width, dtype=bool), width)


def _sums(sample: Posterior, matched: FeaturePlaces) -> dict[str, Floats]:
    """Return what is averaged of a sample, its features at their places."""
    z, weights, place = sample["objects"], sample["weights"], matched.place
    objects = np.zeros((len(z), matched.width))
    objects[:, place] = np.where(matched.over, 1.0 - z, z)
    present = np.zeros(matched.width)
    present[place] = 1.0
    placed, squares = (np.zeros((matched.width, weights.shape[1])) for _ in range(2))
    placed[place] = np.where(matched.over[:, None], -weights, weights)
    squares[place] = weights**2 + sample["weight_variance"]
    return {
        "objects": objects,
        "present": present,
        "weights": placed,
        "squares": squares,
        "centre": sample["bias"] + sample["pi"] @ weights,
        "noise": 1.0 / sample["precision"],
    }


def _widened(mean: Mapping[str, Array], width: int) -> dict[str, Array]:
    """Return a mean with room for features that it has not had."""
    more = width - len(mean["present"])
    wide = dict(mean)
    for name in _PER_FEATURE:
        wide[name] = np.concatenate([mean[name], np.zeros((more, *mean[name].shape[1:]))])
    wide["objects"] = np.concatenate([mean["objects"], np.zeros((len(mean["objects"]), more))], axis=1)
    return wide


def _commonest(mean: Mapping[str, Array], most: int, least: float = 0.0) -> dict[str, Array]:
    """Return a mean with at most so many features, the most common, each in at least a share of the samples."""
    common = np.argsort(-mean["present"], kind="stable")[:most]
    kept = np.sort(common[mean["present"][common] >= least])
    found = dict(mean)
    for name in _PER_FEATURE:
        found[name] = mean[name][kept]
    found["objects"] = mean["objects"][:, kept]
    return found
