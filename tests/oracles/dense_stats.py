"""Statistics of the two-domain infinite relational model (IRM), written out densely to check faster code.

Convention: ``q1`` is (N1, K1) and ``q2`` is (N2, K2), rows sum to one; "ones" and "zeros" count observed
entries only.
Papers: IRM14 = Ishiguro, Sato, Ueda, arXiv 1409.4757 (2014).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, digamma, xlogy

Array = NDArray[np.float64]
PerBlock = float | Array  # one value for all blocks, or (K1, K2)


class DenseData(NamedTuple):
    """A relation as a full matrix: ``x`` (N1, N2) of 0/1 floats, ``observed`` (N1, N2) of bools."""

    x: Array
    observed: NDArray[np.bool_]

    @property
    def ones(self) -> Array:
        """1.0 where an observed entry is one."""
        return np.where(self.observed & (self.x > 0.5), 1.0, 0.0)

    @property
    def zeros(self) -> Array:
        """1.0 where an observed entry is zero."""
        return np.where(self.observed & (self.x <= 0.5), 1.0, 0.0)

    @property
    def seen(self) -> Array:
        """1.0 where an entry is observed."""
        return self.observed.astype(np.float64)

    @property
    def T(self) -> DenseData:  # noqa: N802 - the name NumPy uses
        """The same relation with its two domains swapped."""
        return DenseData(self.x.T, self.observed.T)

    def without_row(self, i: int) -> DenseData:
        """The relation without object ``i`` of domain 1."""
        return DenseData(np.delete(self.x, i, axis=0), np.delete(self.observed, i, axis=0))

    def hiding_row(self, i: int) -> DenseData:
        """The relation with every entry of object ``i`` of domain 1 missing."""
        observed = self.observed.copy()
        observed[i] = False
        return DenseData(self.x, observed)


def expected_count(indicator: Array, q1: Array, q2: Array) -> Array:
    """E sum_ij indicator_ij [z1_i = k][z2_j = l] under a factorised q, as (K1, K2)."""
    return np.einsum("ij,ik,jl->kl", indicator, q1, q2)


def counts(data: DenseData, q1: Array, q2: Array) -> tuple[Array, Array, Array, Array]:
    """Expected ones n (K1, K2), observed entries T (K1, K2) and cluster sizes m1 (K1,), m2 (K2,)."""
    n = expected_count(data.ones, q1, q2)
    total = expected_count(data.seen, q1, q2)
    return n, total, q1.sum(axis=0), q2.sum(axis=0)


def paper_variance(indicator: Array, q1: Array, q2: Array) -> Array:
    """IRM14 eq. 91: sum_ij indicator q1 (1 - q1) q2 (1 - q2). It is NOT the variance of the count."""
    return expected_count(indicator, q1 * (1 - q1), q2 * (1 - q2))


def exact_variance(indicator: Array, q1: Array, q2: Array) -> Array:
    """Variance of sum_ij indicator_ij [z1_i = k][z2_j = l] under a factorised q, as (K1, K2).

    Entries are Bernoulli(p_i r_j); two entries are correlated where they share a row, with covariance
    p_i (1 - p_i) r_j r_j', or a column, with covariance r_j (1 - r_j) p_i p_i'. Summed pair by pair.
    """
    variance = np.zeros((q1.shape[1], q2.shape[1]))
    for k in range(q1.shape[1]):
        for cluster in range(q2.shape[1]):
            p, r = q1[:, k], q2[:, cluster]
            mean = np.outer(p, r)
            own = np.sum(indicator * mean * (1 - mean))
            rows = sum(p[i] * (1 - p[i]) * _ordered_pairs(indicator[i] * r) for i in range(len(p)))
            columns = sum(r[j] * (1 - r[j]) * _ordered_pairs(indicator[:, j] * p) for j in range(len(r)))
            variance[k, cluster] = own + rows + columns
    return variance


def _ordered_pairs(values: Array) -> float:
    """sum_{j != j'} values_j values_j'."""
    products = np.outer(values, values)
    np.fill_diagonal(products, 0.0)
    return float(products.sum())


def tail_sums(m: Array) -> Array:
    """M_k = sum_{k' > k} m_k'."""
    return np.array([m[k + 1 :].sum() for k in range(len(m))])


def stick_posterior(q: Array, alpha: float) -> tuple[Array, Array]:
    """Conjugate q(v_k) = Beta(1 + m_k, alpha + M_k) of the K - 1 free sticks (IRM14 section 4; v_K = 1)."""
    m = q.sum(axis=0)
    return 1 + m[:-1], alpha + tail_sums(m)[:-1]


def expected_log_pi(sticks: tuple[Array, Array]) -> Array:
    """E log pi_k = E log v_k + sum_{k' < k} E log(1 - v_k'), with log v_K = 0."""
    s, t = sticks
    log_v = np.append(digamma(s) - digamma(s + t), 0.0)
    log_rest = np.concatenate([[0.0], np.cumsum(digamma(t) - digamma(s + t))])
    return log_v + log_rest


def entropy(q: Array) -> float:
    """-sum q log q, with 0 log 0 = 0."""
    return -float(xlogy(q, q).sum())


def beta_evidence(n: Array, total: Array, a: PerBlock, b: PerBlock) -> float:
    """sum_kl [lbeta(a + n, b + N) - lbeta(a, b)], the log probability of the entries given counts."""
    a, b = np.broadcast_to(a, n.shape), np.broadcast_to(b, n.shape)
    return float(np.sum(betaln(a + n, b + total - n) - betaln(a, b)))


def stick_evidence(m: Array, alpha: float) -> float:
    """sum_{k<K} [lbeta(1 + m_k, alpha + M_k) - lbeta(1, alpha)], the log prior of labels with sizes m."""
    return float(np.sum((betaln(1 + m, alpha + tail_sums(m)) - betaln(1, alpha))[:-1]))
