"""Exact pieces of the Indian buffet process (IBP) with linear Gaussian features, weights integrated out.

    w_kd ~ N(0, weight_var),   x_nd = b_d + z_n' w_d + N(0, noise_var_d),   Z ~ IBP(alpha)

``z`` is (N, K) of zeros and ones, ``x`` (N, D) with NaN = missing. A class is Z up to the order of its columns, those
without a one left out: its key is the sorted tuple of columns, ``class_key(z)``, and back by ``matrix_of(key, n)``.
Papers: GG11 = Griffiths, Ghahramani, JMLR 12 (2011).
"""

from __future__ import annotations

from collections import Counter

import numpy as np
from scipy.special import betaln, gammaln

from tests.oracles.dense_irm import Array
from tests.oracles.dense_lfm import seen

Key = tuple[tuple[int, ...], ...]


def log_marginal(
    x: Array,
    z: Array,
    noise_var: float | Array,
    weight_var: float,
    bias: float | Array = 0.0,
    bias_var: float = 0.0,
) -> float:
    """log p(X | Z): the observed cells of each column are jointly Gaussian with mean b (b ~ N(bias, bias_var))."""
    noise = np.broadcast_to(noise_var, x.shape[1])
    means = np.broadcast_to(bias, x.shape[1])
    total = 0.0
    for d in range(x.shape[1]):
        rows = np.flatnonzero(seen(x)[:, d])
        if len(rows):
            spread = weight_var * z[rows] @ z[rows].T + bias_var + noise[d] * np.eye(len(rows))
            gap = x[rows, d] - means[d]
            total -= np.linalg.slogdet(2 * np.pi * spread)[1] / 2 + gap @ np.linalg.solve(spread, gap) / 2
    return float(total)


def weight_posterior(
    x: Array, z: Array, noise_var: float | Array, weight_var: float, bias: float | Array = 0.0
) -> tuple[Array, Array]:
    """Mean (K, D) and covariance (D, K, K) of p(W | X, Z)."""
    size = z.shape[1]
    noise, means = np.broadcast_to(noise_var, x.shape[1]), np.broadcast_to(bias, x.shape[1])
    mean, covariance = np.zeros((size, x.shape[1])), np.zeros((x.shape[1], size, size))
    for d in range(x.shape[1]):
        rows = seen(x)[:, d]
        covariance[d] = np.linalg.inv(z[rows].T @ z[rows] / noise[d] + np.eye(size) / weight_var)
        mean[:, d] = covariance[d] @ z[rows].T @ (x[rows, d] - means[d]) / noise[d]
    return mean, covariance


# ---------------------------------------------------------------------------------------------------------- priors


def finite_log_prior(z: Array, a: float, c: float = 1.0) -> float:
    """log p(Z) of labelled columns with pi_k ~ Beta(a, c) integrated out; a = alpha / K tends to the IBP."""
    ones = z.sum(axis=0)
    return float((betaln(a + ones, c + len(z) - ones) - betaln(a, c)).sum())


def class_key(z: Array) -> Key:
    """The class of a matrix."""
    return tuple(sorted(tuple(int(v) for v in column) for column in np.asarray(z).T if column.any()))


def matrix_of(key: Key, n: int) -> Array:
    """One matrix (n, K+) of a class."""
    return np.array(key, dtype=float).reshape(len(key), n).T


def ibp_log_prior(z: Array, alpha: float, classes: str = "left-ordered") -> float:
    """log P([Z]) (GG11 eq. 14); ``classes="shift"``: with K+! in place of prod K_h!, where columns keep their order.

    A left-ordered class has K+! / prod K_h! shift classes. Columns without a one do not count.
    """
    n, columns = len(z), [column for column in z.T if column.any()]
    ones = np.array([column.sum() for column in columns])
    same = Counter(class_key(z)).values() if classes == "left-ordered" else [len(columns)]
    value = len(columns) * np.log(alpha) - sum(gammaln(h + 1) for h in same)
    value -= alpha * (1 / np.arange(1, n + 1)).sum()
    return float(value + (gammaln(n - ones + 1) + gammaln(ones) - gammaln(n + 1)).sum())


# ----------------------------------------------------------------------------------------------------------- Gibbs


def flip_log_odds(
    x: Array, z: Array, n: int, k: int, noise_var: float | Array, weight_var: float, **bias: float | Array
) -> float:
    """log odds of z_nk = 1 given the rest, for a feature that another object has: m / (N - m) and the data."""
    ones = np.delete(z[:, k], n).sum()
    logs = []
    for value in (0.0, 1.0):
        other = z.copy()
        other[n, k] = value
        logs.append(log_marginal(x, other, noise_var, weight_var, **bias))
    return float(np.log(ones / (len(z) - ones)) + logs[1] - logs[0])


def with_own_features(z: Array, n: int, number: int) -> Array:
    """Object n's own features (that no other has) replaced by this many new ones."""
    others = z.sum(axis=0) - z[n]
    new = np.zeros((len(z), number))
    new[n] = 1
    return np.hstack([z[:, others > 0], new])


def own_features_law(
    x: Array,
    z: Array,
    n: int,
    alpha: float,
    limit: int,
    noise_var: float | Array,
    weight_var: float,
    **bias: float | Array,
) -> Array:
    """p(object n has j features of its own | the rest), j = 0 ... limit: Poisson(alpha / N) times the likelihood."""
    logs = [
        j * np.log(alpha / len(z))
        - gammaln(j + 1)
        + log_marginal(x, with_own_features(z, n, j), noise_var, weight_var, **bias)
        for j in range(limit + 1)
    ]
    chances = np.exp(np.array(logs) - max(logs))
    return chances / chances.sum()
