"""Dense reference of inference for the two-domain IRM: textbook O(N1 N2 K1 K2) formulas in plain NumPy.

Nothing here is incremental: every update counts afresh. Domain 2 is updated by transposing the problem.
Convention: ``q1`` is (N1, K1) and ``q2`` is (N2, K2), rows sum to one; "ones" and "zeros" count observed entries only.
Papers: IRM14 = Ishiguro, Sato, Ueda, arXiv 1409.4757 (2014).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, digamma, gammaln, logsumexp, polygamma, xlogy

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
    for k, cluster in np.ndindex(variance.shape):
        p, r = q1[:, k], q2[:, cluster]
        mean = np.outer(p, r)
        variance[k, cluster] = np.sum(indicator * mean * (1 - mean))
        variance[k, cluster] += sum(
            p[i] * (1 - p[i]) * _ordered_pairs(indicator[i] * r) for i in range(len(p))
        )
        variance[k, cluster] += sum(
            r[j] * (1 - r[j]) * _ordered_pairs(indicator[:, j] * p) for j in range(len(r))
        )
    return variance


def _ordered_pairs(values: Array) -> float:
    """sum_{j != j'} values_j values_j'."""
    return float(values.sum() ** 2 - (values**2).sum())


def tail_sums(m: Array) -> Array:
    """M_k = sum_{k' > k} m_k'."""
    return np.array([m[k + 1 :].sum() for k in range(len(m))])


def stick_posterior(q: Array, alpha: float) -> tuple[Array, Array]:
    """Conjugate q(v_k) = Beta(1 + m_k, alpha + M_k) of the K - 1 free sticks (IRM14 section 4; v_K = 1)."""
    m = q.sum(axis=0)
    return 1 + m[:-1], alpha + tail_sums(m)[:-1]


def expected_log_pi(sticks: tuple[Array, Array]) -> Array:
    """E log pi_k = E log v_k + sum_{k' < k} E log(1 - v_k'), with log v_K = 0."""
    log_v, log_rest = expected_logs(sticks)
    return np.append(log_v, 0.0) + np.append(0.0, np.cumsum(log_rest))


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


Labels = NDArray[np.int_]
BetaParameters = tuple[Array, Array]


def lower_bound(
    data: DenseData, q1: Array, q2: Array, a: PerBlock, b: PerBlock, alpha1: float, alpha2: float
) -> float:
    """VB's lower bound at the best q(v), q(theta) for a given q(Z), in closed form (IRM14 eqs. 39-49)."""
    n, total, m1, m2 = counts(data, q1, q2)
    priors = stick_evidence(m1, alpha1) + stick_evidence(m2, alpha2)
    return beta_evidence(n, total, a, b) + priors + entropy(q1) + entropy(q2)


def expected_logs(parameters: BetaParameters) -> tuple[Array, Array]:
    """E log t and E log(1 - t) for t ~ Beta(parameters)."""
    s, t = parameters
    return digamma(s) - digamma(s + t), digamma(t) - digamma(s + t)


def update_alpha(q: Array, alpha: float) -> float:
    """alpha <- (K - 1) / sum_{k<K} [psi(m_k + M_k + alpha + 1) - psi(M_k + alpha)] (IRM14 section 5.6)."""
    sticks = stick_posterior(q, alpha)
    return len(sticks[0]) / -float(expected_logs(sticks)[1].sum())


def update_ab(
    data: DenseData, q1: Array, q2: Array, a: PerBlock, b: PerBlock, tied: bool
) -> tuple[PerBlock, PerBlock]:
    """One fixed-point step for a and b, from the old values (IRM14 eqs. 111-112; not ``tied``: no finite fixed point).

    a <- a sum_kl [psi(a + n) - psi(a)] / sum_kl [psi(a + b + T) - psi(a + b)], b likewise with the zeros. ``tied``:
    shared by all blocks; otherwise without the sums, one (a_kl, b_kl) a block.
    """
    n, total, _, _ = counts(data, q1, q2)
    rises = [digamma(c + m) - digamma(c + 0 * m) for c, m in ((a, n), (b, total - n), (np.add(a, b), total))]
    for_a, for_b, scale = (float(np.sum(rise)) if tied else rise for rise in rises)
    return a * for_a / scale, b * for_b / scale


def log_joint(
    data: DenseData,
    z1: Labels,
    z2: Labels,
    a: PerBlock,
    b: PerBlock,
    alpha1: float,
    alpha2: float,
    sizes: tuple[int, int] | None = None,
) -> float:
    """Exact collapsed log p(X, Z) for hard labels under truncated stick breaking (v_K = 1), ``sizes`` = (K1, K2).

    Without ``sizes``: the labels are names of partitions under the Chinese restaurant process; scalar a, b.
    """
    log_prior = [crp_log_prior(z, alpha) for z, alpha in ((z1, alpha1), (z2, alpha2))]
    if sizes:
        log_prior = [stick_log_prior(z1, alpha1, sizes[0]), stick_log_prior(z2, alpha2, sizes[1])]
    return log_likelihood_of_labels(data, z1, z2, a, b) + sum(log_prior)


def log_likelihood_of_labels(data: DenseData, z1: Labels, z2: Labels, a: PerBlock, b: PerBlock) -> float:
    """log p(X | Z) with every theta_kl integrated out; empty blocks add nothing."""
    total = 0.0
    for k in np.unique(z1):
        for cluster in np.unique(z2):
            block = np.ix_(z1 == k, z2 == cluster)
            seen = data.x[block][data.observed[block]]
            a_kl, b_kl = (float(c if np.ndim(c) == 0 else np.asarray(c)[k, cluster]) for c in (a, b))
            total += betaln(a_kl + seen.sum(), b_kl + (1 - seen).sum()) - betaln(a_kl, b_kl)
    return float(total)


def stick_log_prior(z: Labels, alpha: float, size: int) -> float:
    """log p(z): every stick v_k ~ Beta(1, alpha), k < K, integrated out; v_K = 1."""
    total = 0.0
    for k in range(size - 1):
        total += betaln(1 + np.sum(z == k), alpha + np.sum(z > k)) - betaln(1, alpha)
    return float(total)


def crp_log_prior(z: Labels, alpha: float) -> float:
    """log p of the partition z stands for: alpha^K prod Gamma(m_k) Gamma(alpha) / Gamma(alpha + N)."""
    sizes = np.unique(z, return_counts=True)[1]
    weights = len(sizes) * np.log(alpha) + gammaln(sizes).sum()
    return float(weights + gammaln(alpha) - gammaln(alpha + len(z)))


Update = Callable[..., tuple[Array, float]]


def log_prior_terms(m_without_i: Array, alpha: float) -> Array:
    """log p(z_i = k | Z without i) of truncated stick breaking with v_K = 1 (IRM14 eq. 76, mended at k = K).

    A stick breaks off with probability (m_k + 1) / (m_k + M_k + alpha + 1); the last takes all that is left.
    """
    m, tails = m_without_i, tail_sums(m_without_i)
    breaks = np.append(((m + 1) / (m + tails + alpha + 1))[:-1], 1.0)
    passes = ((tails + alpha) / (m + tails + alpha + 1))[:-1]
    return np.log(breaks) + np.append(0.0, np.cumsum(np.log(passes)))


def update_cvb0(
    data: DenseData, q1: Array, q2: Array, i: int, a: PerBlock, b: PerBlock, alpha: float
) -> tuple[Array, float]:
    """CVB0 update of object ``i`` of domain 1: the new row and the log of its normaliser (log C1_i).

    The exact conditional p(z_i = k | Z without i, X) with every count replaced by its expectation
    (IRM14 section 5).
    """
    n, total, m, _ = counts(data.without_row(i), np.delete(q1, i, axis=0), q2)
    n_row, total_row = data.ones[i] @ q2, data.seen[i] @ q2
    before = betaln(a + n, b + total - n)
    after = betaln(a + n + n_row, b + (total - n) + (total_row - n_row))
    return normalise((after - before).sum(axis=1) + log_prior_terms(m, alpha))


def update_cvb2(
    data: DenseData,
    q1: Array,
    q2: Array,
    i: int,
    a: PerBlock,
    b: PerBlock,
    alpha: float,
    variance: str = "paper",
) -> tuple[Array, float]:
    """Second-order CVB update of object ``i`` of domain 1: the new row and the log of its normaliser.

    Every E log Gamma(c + count) becomes log Gamma(c + E) + psi1(c + E) Var / 2; the prior term is that
    of CVB0 (IRM14 eq. 87). ``variance="paper"`` takes IRM14 eqs. 91-99; ``"exact"`` the variance of each
    count itself: with i in cluster k, that of n_kl at q_i one-hot, where n_kl without i and the row of i
    are correlated because both contain z_2j.
    """
    a, b = np.asarray(a), np.asarray(b)
    log_likelihood = np.zeros(q1.shape[1])
    for c, sign, indicator in ((a, 1, data.ones), (b, 1, data.zeros), (a + b, -1, data.seen)):
        log_likelihood += sign * _second_order_terms(c, indicator, q1, q2, i, variance).sum(axis=1)
    m = np.delete(q1, i, axis=0).sum(axis=0)
    return normalise(log_likelihood + log_prior_terms(m, alpha))


def _second_order_terms(c: Array, indicator: Array, q1: Array, q2: Array, i: int, variance: str) -> Array:
    """(K1, K2): E log Gamma(c + count with i in k) - E log Gamma(c + count without i), to second order."""
    others, q_others = np.delete(indicator, i, axis=0), np.delete(q1, i, axis=0)
    mean = expected_count(others, q_others, q2)
    mean_with = mean + indicator[i] @ q2
    if variance == "paper":
        var = paper_variance(others, q_others, q2)
        var_with = var + indicator[i] @ (q2 * (1 - q2))
    else:
        placed = q1.copy()
        placed[i] = 1.0  # block (k, l) sees column k alone, so a row of ones puts i in every k at once
        var = exact_variance(others, q_others, q2)
        var_with = exact_variance(indicator, placed, q2)
    return log_gamma_second_order(c + mean_with, var_with) - log_gamma_second_order(c + mean, var)


def log_gamma_second_order(mean: Array, variance: Array) -> Array:
    return gammaln(mean) + 0.5 * polygamma(1, mean) * variance


def normalise(log_weights: Array) -> tuple[Array, float]:
    log_normaliser = float(logsumexp(log_weights))
    return np.exp(log_weights - log_normaliser), log_normaliser


def sweep(
    update: Update,
    data: DenseData,
    q1: Array,
    q2: Array,
    order1: Iterable[int],
    order2: Iterable[int],
    *,
    a: PerBlock,
    b: PerBlock,
    alpha1: float,
    alpha2: float,
    **options: str,
) -> tuple[Array, Array, float]:
    """Update domain 1 one object after another in ``order1``, then domain 2 in ``order2``.

    Returns new q1, q2 and the pseudo leave-one-out log likelihood: the sum of the log normalisers on the way.
    """
    q1, q2, pseudo_loo = q1.copy(), q2.copy(), 0.0
    for i in order1:
        q1[i], log_normaliser = update(data, q1, q2, i, a, b, alpha1, **options)
        pseudo_loo += log_normaliser
    for j in order2:
        q2[j], log_normaliser = update(data.T, q2, q1, j, np.transpose(a), np.transpose(b), alpha2, **options)
        pseudo_loo += log_normaliser
    return q1, q2, pseudo_loo


def vb_update(data: DenseData, q1: Array, q2: Array, a: PerBlock, b: PerBlock, alpha: float) -> Array:
    """VB of domain 1 (IRM14 section 4): conjugate q(v), q(theta) of the current q, then all of q1 at once.

    log q1_ik = E log pi_k + sum_l [n+_il E log theta_kl + N+_il E log(1 - theta_kl)] + const.
    """
    n, total, _, _ = counts(data, q1, q2)
    log_ones, log_zeros = expected_logs((a + n, b + total - n))
    log_likelihood = data.ones @ q2 @ log_ones.T + data.zeros @ q2 @ log_zeros.T
    log_q = expected_log_pi(stick_posterior(q1, alpha)) + log_likelihood
    return np.array([normalise(row)[0] for row in log_q])


def predict(data: DenseData, q1: Array, q2: Array, a: PerBlock, b: PerBlock) -> Array:
    """p(x_ij = 1) = sum_kl q1_ik q2_jl (a + n_kl) / (a + b + T_kl) for every pair, as (N1, N2)."""
    n, total, _, _ = counts(data, q1, q2)
    strength = (a + n) / (np.asarray(a) + b + total)
    return np.einsum("ik,kl,jl->ij", q1, strength, q2)
