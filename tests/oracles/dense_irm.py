"""Dense reference of inference for the two-domain IRM: textbook O(N1 N2 K1 K2) formulas in plain NumPy.

Nothing here is incremental: every update counts afresh. Domain 2 is updated by transposing the problem.
Import everything from this module; the statistics and the bound live in ``dense_stats`` and ``dense_score``.
Papers: IRM14 = Ishiguro, Sato, Ueda, arXiv 1409.4757 (2014).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from scipy.special import betaln, digamma, gammaln, logsumexp, polygamma

from tests.oracles.dense_score import (
    VBPosterior,
    crp_log_prior,
    log_joint,
    log_likelihood_of_labels,
    lower_bound,
    lower_bound_explicit,
    stick_log_prior,
    update_ab_per_block,
    update_ab_tied,
    update_alpha,
    vb_posterior,
    vb_update_ab_tied,
    vb_update_alpha,
)
from tests.oracles.dense_stats import (
    Array,
    DenseData,
    PerBlock,
    counts,
    entropy,
    exact_variance,
    expected_count,
    expected_log_pi,
    paper_variance,
    stick_posterior,
    tail_sums,
)

__all__ = [
    "DenseData",
    "VBPosterior",
    "counts",
    "crp_log_prior",
    "entropy",
    "exact_variance",
    "expected_count",
    "expected_log_pi",
    "log_joint",
    "log_likelihood_of_labels",
    "log_prior_terms",
    "lower_bound",
    "lower_bound_explicit",
    "paper_variance",
    "predict",
    "stick_log_prior",
    "stick_posterior",
    "sweep",
    "tail_sums",
    "update_ab_per_block",
    "update_ab_tied",
    "update_alpha",
    "update_cvb0",
    "update_cvb2",
    "vb_posterior",
    "vb_sweep",
    "vb_update",
    "vb_update_ab_tied",
    "vb_update_alpha",
]

Update = Callable[..., tuple[Array, float]]


def log_prior_terms(m_without_i: Array, alpha: float) -> Array:
    """log p(z_i = k | Z without i) of truncated stick breaking with v_K = 1 (IRM14 eq. 76, mended at k = K).

    A stick breaks off with probability (m_k + 1) / (m_k + M_k + alpha + 1); the last takes all that is left.
    """
    size = len(m_without_i)
    tails = tail_sums(m_without_i)
    log_terms = np.zeros(size)
    for k in range(size):
        if k < size - 1:
            log_terms[k] += np.log(m_without_i[k] + 1) - np.log(m_without_i[k] + tails[k] + alpha + 1)
        for before in range(k):
            log_terms[k] += np.log(tails[before] + alpha)
            log_terms[k] -= np.log(m_without_i[before] + tails[before] + alpha + 1)
    return log_terms


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
    return _normalise((after - before).sum(axis=1) + log_prior_terms(m, alpha))


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
    return _normalise(log_likelihood + log_prior_terms(m, alpha))


def _second_order_terms(c: Array, indicator: Array, q1: Array, q2: Array, i: int, variance: str) -> Array:
    """(K1, K2): E log Gamma(c + count with i in k) - E log Gamma(c + count without i), to second order."""
    others, q_others = np.delete(indicator, i, axis=0), np.delete(q1, i, axis=0)
    mean = expected_count(others, q_others, q2)
    mean_with = mean + indicator[i] @ q2
    if variance == "paper":
        var = paper_variance(others, q_others, q2)
        var_with = var + indicator[i] @ (q2 * (1 - q2))
    elif variance == "exact":
        placed = q1.copy()
        placed[i] = 1.0  # block (k, l) sees column k alone, so a row of ones puts i in every k at once
        var = exact_variance(others, q_others, q2)
        var_with = exact_variance(indicator, placed, q2)
    else:
        raise ValueError(f"variance must be 'paper' or 'exact', not {variance!r}")
    return _log_gamma_second_order(c + mean_with, var_with) - _log_gamma_second_order(c + mean, var)


def _log_gamma_second_order(mean: Array, variance: Array) -> Array:
    return gammaln(mean) + 0.5 * polygamma(1, mean) * variance


def _normalise(log_weights: Array) -> tuple[Array, float]:
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

    Returns new q1, q2 and the pseudo leave-one-out log likelihood: the sum of the log normalisers as met on
    the way.
    ``update`` is ``update_cvb0`` or ``update_cvb2``; ``options`` go to it (``variance=...``).
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
    log_ones = digamma(a + n) - digamma(np.asarray(a) + b + total)
    log_zeros = digamma(b + total - n) - digamma(np.asarray(a) + b + total)
    log_likelihood = data.ones @ q2 @ log_ones.T + data.zeros @ q2 @ log_zeros.T
    log_q = expected_log_pi(stick_posterior(q1, alpha)) + log_likelihood
    return np.array([_normalise(row)[0] for row in log_q])


def vb_sweep(
    data: DenseData, q1: Array, q2: Array, a: PerBlock, b: PerBlock, alpha1: float, alpha2: float
) -> tuple[Array, Array]:
    """One VB pass: domain 1, then domain 2, each after a fresh M step."""
    q1 = vb_update(data, q1, q2, a, b, alpha1)
    return q1, vb_update(data.T, q2, q1, np.transpose(a), np.transpose(b), alpha2)


def predict(data: DenseData, q1: Array, q2: Array, a: PerBlock, b: PerBlock) -> Array:
    """p(x_ij = 1) = sum_kl q1_ik q2_jl (a + n_kl) / (a + b + T_kl) for every pair, as (N1, N2)."""
    n, total, _, _ = counts(data, q1, q2)
    strength = (a + n) / (np.asarray(a) + b + total)
    return np.einsum("ik,kl,jl->ij", q1, strength, q2)
