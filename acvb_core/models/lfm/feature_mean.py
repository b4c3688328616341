"""The mean of samples whose features come and go."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from acvb_core.core.averaging import AveragedState, SampleMean
from acvb_core.core.clusters import place_columns
from acvb_core.core.protocols import Array, Posterior
from acvb_core.models.lfm.cells import Floats
from acvb_core.models.lfm.feature_match import correlate_features
from acvb_core.models.lfm.state import AXES

#: Features of two samples count as the same if their objects correlate at least so much, with either sign.
SAME = 0.5
#: The answer has the features that at least this share of the samples have, and no more than a sample has on average.
USUAL = 0.5
#: The rarest features are forgotten when there are more than this many times those of a sample, and some.
_FORGET, _AND_SOME = 3, 20

#: Arrays of the mean that have a row for each feature: zero in a sample without it.
_PER_FEATURE = ("present", "weights", "squares")


class FeaturePlaces(NamedTuple):
    """Places of a sample's features among those of a mean."""

    place: Array  #: shape (K',); each one's own; those without a partner come after the mean's last
    over: Array  #: shape (K',); the sample has the opposite feature
    width: int  #: features of both together


@dataclass(frozen=True)
class FeatureMean(SampleMean):
    """A sampler of binary features, answered by the mean of its kept samples.

    Features of a sample have no fixed names, are born and die, and may be flipped: the objects without the feature
    then have it, and its weights change sign. After burn-in each sample's features are matched with those of the mean
    by the correlation of their objects, flipped if it is negative; those without a partner get a name of their own.

    The answer has the features that are in half the samples or more, as many as a sample has on average at most. An
    object's activation is the share of all samples in which it has the feature; weights are means over the samples
    that have the feature, and their variance is that within and between samples; `in_samples` is the share of the
    samples that have the feature. The average contribution of all
    other features to a column is part of its baseline. (Predictions of cells are averaged sample by sample instead.)
    """

    def first_mean(self, sample: Posterior) -> dict[str, Array]:
        """Return the mean of one sample."""
        width = sample["objects"].shape[1]
        return _place_sample(sample, FeaturePlaces(np.arange(width), np.zeros(width, dtype=bool), width))

    def match(
        self, mean: Mapping[str, Array], sample: Posterior
    ) -> tuple[dict[str, Array], dict[str, Array]]:
        """Return the mean and a sample over one set of features."""
        places = place_features(mean["objects"], sample["objects"])
        old, more = dict(mean), places.width - len(mean["present"])
        for name in _PER_FEATURE:
            old[name] = np.concatenate([mean[name], np.zeros((more, *mean[name].shape[1:]))])
        old["objects"] = np.pad(mean["objects"], ((0, 0), (0, more)))
        return old, _place_sample(sample, places)

    def trim(self, mean: dict[str, Array], sample: Posterior) -> dict[str, Array]:
        """Return the mean without the rarest features, where there are too many."""
        return _select_frequent(mean, _FORGET * sample["objects"].shape[1] + _AND_SOME)

    def posterior(self, state: AveragedState) -> Posterior:
        """Return the current sample during burn-in, then the mean of the kept ones, most frequent feature first."""
        inner = self.inner.posterior(state.inner)
        if state.samples == 0:
            return inner
        mean = _select_frequent(state.mean, round(float(state.mean["present"].sum())), USUAL)
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
            "in_samples": mean["present"][order],
        }
        hyper = dict(inner.hyper) | {"noise": float(np.sqrt(mean["noise"]).mean())}
        return replace(inner.with_arrays(arrays, axes={"in_samples": AXES["in_samples"]}), hyper=hyper)


def place_features(mean: Floats, sample: Floats) -> FeaturePlaces:
    """Return the places of a sample's features, (N, K'), among a mean's, (N, K), by their absolute correlations."""
    correlation = correlate_features(mean, sample)
    size = np.abs(correlation)
    place, width = place_columns(size, size >= SAME)
    partner = place < mean.shape[1]
    over = np.zeros(len(place), dtype=bool)
    over[partner] = correlation[place[partner], partner] < 0.0
    return FeaturePlaces(place, over, width)


def _place_sample(sample: Posterior, places: FeaturePlaces) -> dict[str, Floats]:
    """Return the averaged arrays of a sample, its features at their places."""
    z, weights, place = sample["objects"], sample["weights"], places.place
    objects = np.zeros((len(z), places.width))
    objects[:, place] = np.where(places.over, 1.0 - z, z)
    present = np.zeros(places.width)
    present[place] = 1.0
    own, squares = np.zeros((2, places.width, weights.shape[1]))
    own[place] = np.where(places.over[:, None], -weights, weights)
    squares[place] = weights**2 + sample["weight_variance"]
    return {
        "objects": objects,
        "present": present,
        "weights": own,
        "squares": squares,
        "centre": sample["bias"] + sample["pi"] @ weights,
        "noise": 1.0 / sample["precision"],
    }


def _select_frequent(mean: Mapping[str, Array], most: int, least: float = 0.0) -> dict[str, Array]:
    """Return a mean with its `most` most frequent features, each in at least a share of the samples."""
    frequent = np.argsort(-mean["present"], kind="stable")[:most]
    chosen = np.sort(frequent[mean["present"][frequent] >= least])
    return {
        name: array[chosen] if name in _PER_FEATURE else array[:, chosen] if name == "objects" else array
        for name, array in mean.items()
    }
