"""Exact answers for tiny two-domain IRMs, by going through every assignment of objects to clusters.

Small means a few thousand label pairs for the posteriors, and N1, N2 <= 10 or so for the law of one count.
"""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from tests.oracles.dense_irm import (
    Array,
    DenseData,
    Labels,
    PerBlock,
    entropy,
    log_likelihood_of_labels,
    stick_log_prior,
)

Partition = tuple[int, ...]


class JointTable(NamedTuple):
    """log p(X, Z) of every pair of label vectors: shapes (L1, N1), (L2, N2) and (L1, L2)."""

    labels1: Labels
    labels2: Labels
    log_joint: Array


def label_vectors(n: int, size: int) -> Labels:
    """All size**n label vectors of n objects, as rows."""
    return np.array(list(product(range(size), repeat=n)), dtype=int).reshape(-1, n)


def joint_table(
    data: DenseData, sizes: tuple[int, int], a: PerBlock, b: PerBlock, alpha1: float, alpha2: float
) -> JointTable:
    """log p(X, Z) of all labels in (K1, K2) = ``sizes`` clusters under truncated stick breaking."""
    labels1 = label_vectors(data.x.shape[0], sizes[0])
    labels2 = label_vectors(data.x.shape[1], sizes[1])
    likelihood = [[log_likelihood_of_labels(data, z1, z2, a, b) for z2 in labels2] for z1 in labels1]
    prior1 = np.array([stick_log_prior(z, alpha1, sizes[0]) for z in labels1])
    prior2 = np.array([stick_log_prior(z, alpha2, sizes[1]) for z in labels2])
    return JointTable(labels1, labels2, np.array(likelihood) + prior1[:, None] + prior2)


def log_evidence(table: JointTable) -> float:
    """log p(X)."""
    return float(logsumexp(table.log_joint))


def canonical_partition(z: Labels | Partition) -> Partition:
    """Clusters numbered in order of first appearance, so that equal partitions have equal labels."""
    names: dict[int, int] = {}
    return tuple(names.setdefault(int(label), len(names)) for label in z)


def partitions(n: int) -> list[Partition]:
    """All set partitions of n objects, canonical."""
    return sorted({canonical_partition(z) for z in product(range(n), repeat=n)})


def count_moments(indicator: Array, q1: Array, q2: Array) -> tuple[Array, Array]:
    """Exact mean and variance (K1, K2) of sum_ij indicator_ij [z1_i = k][z2_j = l]."""
    mean, variance = np.zeros((2, q1.shape[1], q2.shape[1]))
    for k, cluster in np.ndindex(mean.shape):
        p, r = q1[:, k], q2[:, cluster]
        s, t = (
            label_vectors(len(p), 2),
            label_vectors(len(r), 2),
        )  # who is in k, and who in the column cluster
        weights = np.outer(np.where(s == 1, p, 1 - p).prod(axis=1), np.where(t == 1, r, 1 - r).prod(axis=1))
        values = s @ indicator @ t.T
        mean[k, cluster] = np.sum(weights * values)
        variance[k, cluster] = np.sum(weights * (values - mean[k, cluster]) ** 2)
    return mean, variance


def label_probabilities(labels: Labels, q: Array) -> Array:
    """q(Z) of every label vector."""
    return q[np.arange(q.shape[0]), labels].prod(axis=1)


def collapsed_bound(table: JointTable, q1: Array, q2: Array) -> float:
    """E_q log p(X, Z) + H(q): the collapsed bound, between the VB bound and log p(X)."""
    weights1, weights2 = label_probabilities(table.labels1, q1), label_probabilities(table.labels2, q2)
    return float(weights1 @ table.log_joint @ weights2) + entropy(q1) + entropy(q2)
