"""Exact answers for tiny Gamma-Poisson blocks, by going through every assignment of the objects of all domains."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from tests.oracles.dense_irm import Array, Labels, PerBlock, entropy
from tests.oracles.dense_poisson import CountData, Parts, log_joint
from tests.oracles.enumeration import label_vectors


class CountTable(NamedTuple):
    """log p(X, Z) of every assignment: the labels of each domain (L, N), and (L,)."""

    labels: tuple[Labels, ...]
    log_joint: Array

    @property
    def log_evidence(self) -> float:
        """log p(X)."""
        return float(logsumexp(self.log_joint))

    def collapsed_bound(self, q: Parts) -> float:
        """E_q log p(X, Z) + H(q): the collapsed bound, between the VB bound and log p(X)."""
        weights = np.prod(
            [part[np.arange(len(part)), z].prod(axis=1) for part, z in zip(q, self.labels, strict=True)],
            axis=0,
        )
        return float(weights @ self.log_joint) + sum(entropy(part) for part in q)

    def marginals(self, sizes: Sequence[int]) -> Parts:
        """p(z_i = k | X) of every object, (N, K) of each domain."""
        weights = np.exp(self.log_joint - self.log_evidence)
        return tuple(
            np.einsum("l,lnk->nk", weights, np.eye(k)[z]) for z, k in zip(self.labels, sizes, strict=True)
        )


def joint_table(
    data: CountData, sizes: Sequence[int], a: PerBlock, b: PerBlock, alphas: Sequence[float]
) -> CountTable:
    """log p(X, Z) of all labels in ``sizes`` clusters under truncated stick breaking."""
    each = [label_vectors(n, k) for n, k in zip(data.x.shape, sizes, strict=False)]
    labels = list(product(*each))
    table = np.array([log_joint(data, z, a, b, alphas, sizes) for z in labels])
    return CountTable(tuple(np.array(part) for part in zip(*labels, strict=True)), table)
