"""Exact answers for tiny networks under the one-domain IRM, by going through every assignment of the objects."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from tests.oracles.dense_irm import Array, Labels, PerBlock, entropy
from tests.oracles.dense_network import NetworkData, log_joint
from tests.oracles.enumeration import Partition, label_probabilities, label_vectors, partitions


class NetworkTable(NamedTuple):
    """log p(X, Z) of every label vector: shapes (L, N) and (L,)."""

    labels: Labels
    log_joint: Array


def joint_table(data: NetworkData, size: int, a: PerBlock, b: PerBlock, alpha: float) -> NetworkTable:
    """log p(X, Z) of all labels in K = ``size`` clusters under truncated stick breaking."""
    labels = label_vectors(len(data.x), size)
    return NetworkTable(labels, np.array([log_joint(data, z, a, b, alpha, size=size) for z in labels]))


def log_evidence(table: NetworkTable) -> float:
    """log p(X)."""
    return float(logsumexp(table.log_joint))


def partition_posterior(data: NetworkData, a: float, b: float, alpha: float) -> dict[Partition, float]:
    """Exact posterior over partitions under the CRP prior, the target of collapsed Gibbs."""
    listed = partitions(len(data.x))
    logs = np.array([log_joint(data, np.array(p), a, b, alpha) for p in listed])
    return dict(zip(listed, np.exp(logs - logsumexp(logs)).tolist(), strict=True))


def block_counts_of_labels(data: NetworkData, indicator: Array, z: Labels, size: int) -> Array:
    """(K, K) marked entries in each block, counted; symmetric, each entry once, when undirected."""
    count = np.zeros((size, size))
    for i, j in np.argwhere(indicator):
        count[z[i], z[j]] += 1
        if not data.directed and z[i] != z[j]:
            count[z[j], z[i]] += 1
    return count


def count_moments(data: NetworkData, indicator: Array, q: Array) -> tuple[Array, Array]:
    """Exact mean and variance (K, K) of the marked entries in each block under a factorised q."""
    labels = label_vectors(*q.shape)
    weights = label_probabilities(labels, q)
    values = np.array([block_counts_of_labels(data, indicator, z, q.shape[1]) for z in labels])
    mean = np.einsum("s,skl->kl", weights, values)
    return mean, np.einsum("s,skl->kl", weights, (values - mean) ** 2)


def collapsed_bound(table: NetworkTable, q: Array) -> float:
    """E_q log p(X, Z) + H(q): the collapsed bound, between the VB bound and log p(X)."""
    return float(label_probabilities(table.labels, q) @ table.log_joint) + entropy(q)
