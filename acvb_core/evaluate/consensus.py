"""The clustering that several runs agree on, and how sure each object's place in it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

from acvb_core.core.errors import ParameterError

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]
#: Cluster of each object in each sample of a run, shape (S, N); None without samples.
Samples = NDArray[np.integer] | None

#: Most objects: every pair of them has a number, 0.8 GB of them at this size.
MOST_OBJECTS = 10_000
#: Pairs of objects, times samples, that are compared for one run: a second or so.
_MOST_PAIRS = 500_000_000


class Consensus(NamedTuple):
    """One clustering of the objects of several runs."""

    labels: Labels  #: shape (N,); cluster of each object, the largest 0
    #: Shape (N,); how often, on average over the runs, an object is together with the others of its cluster. Of an
    #: object alone, how often it is apart from the one it is most often with.
    certainty: Floats
    together: Floats  #: shape (N, N); how often two objects are in one cluster, on average over the runs


def count_together(
    responsibilities: Sequence[NDArray[np.floating]], samples: Sequence[Samples] | None = None
) -> Floats:
    """Return the mean over runs of the probability that two objects are in one cluster, shape (N, N), 1 with itself.

    `responsibilities`: of each run, shape (N, K_r); rows sum to one.
    `samples`: of each run, shape (S, N), the cluster of each object in each sample; None for a run without samples.
      A run with samples counts by these: its responsibilities take its own clusters as known.
    Raises ParameterError: there are none, or more than `MOST_OBJECTS` objects.
    """
    if not responsibilities:
        raise ParameterError("A consensus needs one run at least.")
    n_objects = len(responsibilities[0])
    if n_objects > MOST_OBJECTS:
        raise ParameterError(
            f"A consensus compares every pair of objects: {n_objects:,} objects are too many, the most are "
            f"{MOST_OBJECTS:,}."
        )
    together = np.zeros((n_objects, n_objects))
    for q, drawn in zip(responsibilities, samples or [None] * len(responsibilities), strict=True):
        if drawn is None:
            together += q @ q.T
            continue
        chosen = _choose_samples(len(drawn), n_objects)
        for labels in drawn[chosen]:
            together += (labels[:, None] == labels) / len(chosen)
    together /= len(responsibilities)
    np.fill_diagonal(together, 1.0)
    return together


def _choose_samples(n_samples: int, n_objects: int) -> NDArray[np.int64]:
    """Return which samples are compared: all of them, unless there are many pairs of objects."""
    n_chosen = int(np.clip(_MOST_PAIRS // n_objects**2, 10, n_samples)) if n_samples > 10 else n_samples
    return np.linspace(0, n_samples - 1, n_chosen).round().astype(np.int64)


def find_consensus(
    responsibilities: Sequence[NDArray[np.floating]], samples: Sequence[Samples] | None = None
) -> Consensus:
    """Return the clustering of largest expected adjusted Rand index with those of the runs.

    It is chosen among the runs' own clusterings and the cuts of a tree, which joins first what is most often together
    (average linkage).

    `responsibilities`, `samples`: as for `count_together`.
    Raises ParameterError: as `count_together`.
    Reference: A. Fritsch, K. Ickstadt, Improved criteria for clustering based on the posterior similarity matrix,
      Bayesian Analysis 4, 2009 (PEAR).
    """
    together = count_together(responsibilities, samples)
    best, highest = np.zeros(len(together), np.int64), -np.inf
    for labels in _candidates(responsibilities, together):
        value = expected_rand(labels, together)
        if value > highest:
            best, highest = labels, value
    best = _number_by_size(best)
    return Consensus(best, _measure_certainty(best, together), together)


def expected_rand(labels: Labels, together: Floats) -> float:
    """Return the adjusted Rand index of a clustering with the mean over runs (PEAR); 1 if all is one cluster."""
    n_pairs = len(labels) * (len(labels) - 1) / 2
    inside = sum(_sum_pairs(together[np.ix_(own, own)]) for own in _members(labels))
    sizes = np.bincount(labels).astype(np.float64)
    own, theirs = float((sizes * (sizes - 1) / 2).sum()), _sum_pairs(together)
    by_chance = own * theirs / max(n_pairs, 1.0)
    most = (own + theirs) / 2
    return 1.0 if most == by_chance else (inside - by_chance) / (most - by_chance)


def _sum_pairs(square: Floats) -> float:
    return float(square.sum() - np.trace(square)) / 2


def _members(labels: Labels) -> list[Labels]:
    order = np.argsort(labels, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)


def _candidates(responsibilities: Sequence[NDArray[np.floating]], together: Floats) -> Iterator[Labels]:
    own = [np.unique(q.argmax(axis=1), return_inverse=True)[1].astype(np.int64) for q in responsibilities]
    yield from own
    if len(together) < 2:
        return
    tree = linkage(squareform(1.0 - together, checks=False), "average")
    for n_clusters in range(1, max(int(labels.max()) for labels in own) + 3):
        yield np.asarray(fcluster(tree, n_clusters, "maxclust") - 1, dtype=np.int64)


def _number_by_size(labels: Labels) -> Labels:
    number = np.empty(int(labels.max()) + 1, np.int64)
    number[np.argsort(-np.bincount(labels), kind="stable")] = np.arange(len(number))
    return number[labels]


def _measure_certainty(labels: Labels, together: Floats) -> Floats:
    certainty = np.ones(len(labels))
    for own in _members(labels):
        if len(own) > 1:
            certainty[own] = (together[np.ix_(own, own)].sum(axis=1) - 1.0) / (len(own) - 1)
        elif len(labels) > 1:
            certainty[own] = 1.0 - np.delete(together[own[0]], own[0]).max()
    return certainty
