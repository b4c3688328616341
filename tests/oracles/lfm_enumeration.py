"""Exact answers for tiny latent feature models, by going through every vector or matrix of activations.

Tiny means 2**(N K) of a few thousand for matrices; where objects are independent, 2**K for each of them.
"""

from __future__ import annotations

from itertools import combinations_with_replacement
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp, xlogy

from tests.oracles import dense_lfm_ibp as ibp
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


def regression(x: Array, objects: Array, d: int) -> tuple[Array, float, float]:
    """w_d, b_d and S_d of the regression of column d on every (n, z) with weight q_n(z), by least squares."""
    vectors = settings(objects.shape[1])
    design, target, weight = [], [], []
    for n in np.flatnonzero(seen(x)[:, d]):
        for z in vectors:
            design.append(np.append(z, 1.0))
            target.append(x[n, d])
            weight.append(law(objects[n], z))
    root = np.sqrt(weight)
    solution = np.linalg.lstsq(np.array(design) * root[:, None], np.array(target) * root, rcond=None)[0]
    squares = float(weight @ (np.array(target) - np.array(design) @ solution) ** 2)
    return solution[:-1], float(solution[-1]), squares


def object_logs(x: Array, state: Features) -> Array:
    """log p(x_n, z | theta) of every object and activation vector (N, 2**K)."""
    z = settings(state.size)[:, None]
    prior = log_prior(z, state.pi)
    return np.array([log_likelihood(row[None], z, state) + prior for row in x])


def log_evidence(x: Array, state: Features) -> float:
    """log p(X | theta), Z summed out."""
    return float(logsumexp(object_logs(x, state), axis=1).sum())


def object_marginals(x: Array, state: Features) -> Array:
    """Exact p(z_nk = 1 | X, theta) (N, K)."""
    logs = object_logs(x, state)
    return np.exp(logs - logsumexp(logs, axis=1, keepdims=True)) @ settings(state.size)


def cell_moments(
    state: Features, n: int, d: int, weight_variance: Array | None = None
) -> tuple[float, float]:
    """Mean and variance of x_nd: the mixture over all z of Gaussians whose weights vary independently."""
    mean = square = 0.0
    for z in settings(state.size):
        q, centre = law(state.objects[n], z), state.bias[d] + z @ state.weights[:, d]
        spread = 1 / state.precision[d] + (0.0 if weight_variance is None else z @ weight_variance[:, d])
        mean += q * centre
        square += q * (centre**2 + spread)
    return mean, square - mean**2


# ------------------------------------------------------------------------------ weights and shares integrated out


class MatrixTable(NamedTuple):
    """log p(Z) and log p(X, Z) (M,) of activation matrices: all of a finite model, or one of each class of the IBP."""

    matrices: list[Array]
    log_prior: Array
    log_joint: Array

    @property
    def log_evidence(self) -> float:
        """log p(X); for the IBP without what has more features than the table."""
        return float(logsumexp(self.log_joint))

    @property
    def posterior(self) -> Array:
        """p(Z | X) (M,)."""
        return np.exp(self.log_joint - self.log_evidence)

    @property
    def by_class(self) -> dict[ibp.Key, float]:
        """p([Z] | X), the probabilities of labelled matrices of a class added up."""
        law: dict[ibp.Key, float] = {}
        for z, p in zip(self.matrices, self.posterior, strict=True):
            law[ibp.class_key(z)] = law.get(ibp.class_key(z), 0.0) + float(p)
        return law

    @property
    def features_law(self) -> Array:
        """p(K+ = 0, 1, ... | X), K+ = features that some object has."""
        numbers = [int(z.any(axis=0).sum()) for z in self.matrices]
        return np.bincount(numbers, self.posterior)

    @property
    def shared_features(self) -> Array:
        """E[Z Z' | X] (N, N): features two objects share, on the diagonal those an object has."""
        return sum(p * z @ z.T for z, p in zip(self.matrices, self.posterior, strict=True))


def finite_table(
    x: Array,
    size: int,
    a: float,
    c: float,
    noise_var: float | Array,
    weight_var: float,
    **bias: float | Array,
) -> MatrixTable:
    """All 2**(N K) labelled matrices under pi_k ~ Beta(a, c)."""
    every = list(matrices(len(x), size))
    prior = np.array([ibp.finite_log_prior(z, a, c) for z in every])
    data = np.array([ibp.log_marginal(x, z, noise_var, weight_var, **bias) for z in every])
    return MatrixTable(every, prior, prior + data)


def ibp_classes(n: int, k_max: int) -> list[Array]:
    """One matrix of every class of n objects with up to ``k_max`` features."""
    histories = [tuple(int(v) for v in row) for row in settings(n) if row.any()]
    return [
        ibp.matrix_of(key, n)
        for size in range(k_max + 1)
        for key in combinations_with_replacement(histories, size)
    ]


def ibp_table(
    x: Array, alpha: float, k_max: int, noise_var: float | Array, weight_var: float, **bias: float | Array
) -> MatrixTable:
    """Every class of the IBP with up to ``k_max`` features: 330 for N = 3, k_max = 4; 455 for N = 2, k_max = 12."""
    every = ibp_classes(len(x), k_max)
    prior = np.array([ibp.ibp_log_prior(z, alpha) for z in every])
    data = np.array([ibp.log_marginal(x, z, noise_var, weight_var, **bias) for z in every])
    return MatrixTable(every, prior, prior + data)
