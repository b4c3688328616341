"""The two-domain IRM's lower bound, hyper-parameter rules and exact joint, in dense textbook form.

Papers: IRM14 = Ishiguro, Sato, Ueda, arXiv 1409.4757 (2014).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, digamma, gammaln

from tests.oracles.dense_stats import (
    Array,
    DenseData,
    PerBlock,
    beta_evidence,
    counts,
    entropy,
    expected_log_pi,
    stick_evidence,
    stick_posterior,
)

Labels = NDArray[np.int_]
BetaParameters = tuple[Array, Array]


# ----------------------------------------------------------------------------------------------- lower bound


def lower_bound(
    data: DenseData, q1: Array, q2: Array, a: PerBlock, b: PerBlock, alpha1: float, alpha2: float
) -> float:
    """VB's lower bound at the best q(v), q(theta) for a given q(Z), in closed form (IRM14 eqs. 39-49)."""
    n, total, m1, m2 = counts(data, q1, q2)
    priors = stick_evidence(m1, alpha1) + stick_evidence(m2, alpha2)
    return beta_evidence(n, total, a, b) + priors + entropy(q1) + entropy(q2)


class VBPosterior(NamedTuple):
    """q(v) of both domains and q(theta), each a pair of Beta parameters."""

    sticks1: BetaParameters
    sticks2: BetaParameters
    theta: BetaParameters


def vb_posterior(
    data: DenseData, q1: Array, q2: Array, a: PerBlock, b: PerBlock, alpha1: float, alpha2: float
) -> VBPosterior:
    """Conjugate M step: q(v_k) = Beta(1 + m_k, alpha + M_k), q(theta_kl) = Beta(a + n_kl, b + N_kl)."""
    n, total, _, _ = counts(data, q1, q2)
    theta = (np.asarray(a) + n, np.asarray(b) + total - n)
    return VBPosterior(stick_posterior(q1, alpha1), stick_posterior(q2, alpha2), theta)


def lower_bound_explicit(
    data: DenseData,
    q1: Array,
    q2: Array,
    a: PerBlock,
    b: PerBlock,
    alpha1: float,
    alpha2: float,
    posterior: VBPosterior | None = None,
) -> float:
    """E log p(X, Z, v, theta) - E log q(Z, v, theta), term by term (IRM14 eqs. 39-49).

    ``posterior`` may be any Beta q(v), q(theta); by default the conjugate ones of the current q(Z).
    """
    posterior = posterior or vb_posterior(data, q1, q2, a, b, alpha1, alpha2)
    bound = entropy(q1) + entropy(q2)
    for q, alpha, sticks in ((q1, alpha1, posterior.sticks1), (q2, alpha2, posterior.sticks2)):
        bound += float(q.sum(axis=0) @ expected_log_pi(sticks))  # E log p(Z | v)
        bound += _expected_log_beta(1.0, alpha, sticks) + _beta_entropy(sticks)  # E log p(v) - E log q(v)
    log_theta, log_rest = _expected_logs(posterior.theta)
    for i, j in np.argwhere(data.observed):  # E log p(X | Z, theta)
        log_likelihood = log_theta if data.x[i, j] > 0.5 else log_rest
        bound += float(q1[i] @ log_likelihood @ q2[j])
    return bound + _expected_log_beta(a, b, posterior.theta) + _beta_entropy(posterior.theta)


def _expected_logs(parameters: BetaParameters) -> tuple[Array, Array]:
    """E log t and E log(1 - t) for t ~ Beta(parameters)."""
    s, t = parameters
    return digamma(s) - digamma(s + t), digamma(t) - digamma(s + t)


def _expected_log_beta(a: PerBlock, b: PerBlock, parameters: BetaParameters) -> float:
    """Sum of E log Beta(t | a, b) for t ~ Beta(parameters)."""
    log_t, log_rest = _expected_logs(parameters)
    return float(np.sum((np.asarray(a) - 1) * log_t + (np.asarray(b) - 1) * log_rest - betaln(a, b)))


def _beta_entropy(parameters: BetaParameters) -> float:
    """Sum of the differential entropies of Beta(parameters)."""
    s, t = parameters
    moments = (s - 1) * digamma(s) + (t - 1) * digamma(t) - (s + t - 2) * digamma(s + t)
    return float(np.sum(betaln(s, t) - moments))


# ----------------------------------------------------------------------------------------- hyper-parameters


def update_alpha(q: Array, alpha: float) -> float:
    """alpha <- (K - 1) / sum_{k<K} [psi(m_k + M_k + alpha + 1) - psi(M_k + alpha)] (IRM14 section 5.6)."""
    return vb_update_alpha(stick_posterior(q, alpha))


def vb_update_alpha(sticks: BetaParameters) -> float:
    """argmax over alpha of E log p(v | alpha): (K - 1) / -sum E log(1 - v_k) (IRM14 eqs. 58-61)."""
    return len(sticks[0]) / -float(_expected_logs(sticks)[1].sum())


def update_ab_tied(data: DenseData, q1: Array, q2: Array, a: float, b: float) -> tuple[float, float]:
    """One fixed-point step for a, b shared by all blocks; both use the old a and b.

    a <- a sum_kl [psi(a + n) - psi(a)] / sum_kl [psi(a + b + T) - psi(a + b)], b likewise with the zeros.
    """
    n, total, _, _ = counts(data, q1, q2)
    return vb_update_ab_tied((a + n, b + total - n), a, b)


def vb_update_ab_tied(theta: BetaParameters, a: float, b: float) -> tuple[float, float]:
    """The same step with q(theta) = Beta(theta) held as it is (IRM14 eqs. 58-61, tied over blocks)."""
    scale = float(np.sum(digamma(theta[0] + theta[1]) - digamma(a + b)))
    new_a = a * float(np.sum(digamma(theta[0]) - digamma(a))) / scale
    return new_a, b * float(np.sum(digamma(theta[1]) - digamma(b))) / scale


def update_ab_per_block(
    data: DenseData, q1: Array, q2: Array, a: PerBlock, b: PerBlock
) -> tuple[Array, Array]:
    """IRM14 eqs. 111-112: the same step with one (a_kl, b_kl) a block. It has no finite fixed point."""
    n, total, _, _ = counts(data, q1, q2)
    a, b = np.broadcast_to(a, n.shape), np.broadcast_to(b, n.shape)
    scale = digamma(a + b + total) - digamma(a + b)
    return a * (digamma(a + n) - digamma(a)) / scale, b * (digamma(b + total - n) - digamma(b)) / scale


# -------------------------------------------------------------------------------------------- exact joint


def log_joint(
    data: DenseData,
    z1: Labels,
    z2: Labels,
    a: PerBlock,
    b: PerBlock,
    alpha1: float,
    alpha2: float,
    prior: str = "stick",
    sizes: tuple[int, int] | None = None,
) -> float:
    """Exact collapsed log p(X, Z) for hard labels.

    ``prior="stick"``: labels 0..K-1 under truncated stick breaking (v_K = 1), ``sizes`` = (K1, K2).
    ``prior="crp"``: the labels stand for partitions under the Chinese restaurant process; scalar a, b.
    """
    log_likelihood = log_likelihood_of_labels(data, z1, z2, a, b)
    if prior == "crp":
        return log_likelihood + crp_log_prior(z1, alpha1) + crp_log_prior(z2, alpha2)
    if prior != "stick" or sizes is None:
        raise ValueError("prior must be 'crp', or 'stick' with sizes=(K1, K2)")
    return log_likelihood + stick_log_prior(z1, alpha1, sizes[0]) + stick_log_prior(z2, alpha2, sizes[1])


def log_likelihood_of_labels(data: DenseData, z1: Labels, z2: Labels, a: PerBlock, b: PerBlock) -> float:
    """log p(X | Z) with every theta_kl integrated out; empty blocks add nothing."""
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    total = 0.0
    for k in np.unique(z1):
        for cluster in np.unique(z2):
            block = np.ix_(z1 == k, z2 == cluster)
            seen = data.x[block][data.observed[block]]
            a_kl, b_kl = (float(c if c.ndim == 0 else c[k, cluster]) for c in (a, b))
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
