"""Exact answers for tiny latent feature models, by going through every vector or matrix of activations.

Tiny means 2**(N K) of a few thousand for matrices; where objects are independent, 2**K for each of them.
"""

from __future__ import annotations

import numpy as np
from scipy.special import xlogy

from tests.oracles.dense_irm import Array
from tests.oracles.dense_lfm import Features, column_sds, per_column, seen
from tests.oracles.enumeration import label_vectors


def settings(size: int) -> Array:
    """All 2**K activations of one object, as rows; without features the empty one."""
    return label_vectors(size, 2).astype(float) if size else np.zeros((1, 0))


def matrices(n: int, size: int) -> Array:
    """All 2**(N K) activation matrices (M, N, K)."""
    return settings(n * size).reshape(-1, n, size)


def law(mu: Array, z: Array) -> Array:
    """q(z) of independent Bernoullis: ``z`` is one or many arrays of the shape of ``mu``."""
    chances = np.where(z == 1, mu, 1 - mu)
    return chances.reshape(*z.shape[: z.ndim - mu.ndim], -1).prod(axis=-1)


def log_likelihood(x: Array, z: Array, state: Features) -> Array:
    """log p(X | Z, theta) of one matrix or many: the sum of the observed cells' Gaussian log densities."""
    mean = z @ state.weights + state.bias
    logs = np.log(state.precision / (2 * np.pi)) / 2 - state.precision * (x - mean) ** 2 / 2
    return logs[..., seen(x)].sum(axis=-1)


def log_prior(z: Array, pi: Array) -> Array:
    """log p(Z | pi) of one matrix or many."""
    return (xlogy(z, pi) + xlogy(1 - z, 1 - pi)).sum(axis=(-2, -1))


def bound(x: Array, state: Features, mode: str, tilde: Array) -> float:
    """L as the expectation under q(Z), over all matrices, of everything that stands in it."""
    n, d = x.shape
    z = matrices(n, state.size)
    q = law(state.objects, z)
    z, q = z[q > 0], q[q > 0]
    values = log_likelihood(x, z, state) + log_prior(z, state.pi) - np.log(q)
    if mode == "em":
        return float(q @ values)
    shares = z.sum(axis=1) / n
    values -= d / 2 * (np.log(n * tilde) + (shares - tilde) / tilde).sum(axis=1)
    values -= np.log(per_column(x)).sum() + state.size / 2 * np.log(n)
    if mode == "dof":
        values -= state.size / 2 * np.log(state.precision * column_sds(x) ** 2).sum()
    return float(q @ values)
