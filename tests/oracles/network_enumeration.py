"""Exact answers for tiny networks under the one-domain IRM, by going through every assignment of the objects."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from tests.oracles.dense_irm import Array, Labels, PerBlock, entropy
from tests.oracles.dense_network import NetworkData, log_joint
from tests.oracles.enumeration import label_probabilities, label_vectors


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


def collapsed_bound(table: NetworkTable, q: Array) -> float:
    """E_q log p(X, Z) + H(q): the collapsed bound, between the VB bound and log p(X)."""
    return float(label_probabilities(table.labels, q) @ table.log_joint) + entropy(q)
