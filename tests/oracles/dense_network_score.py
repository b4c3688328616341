"""The one-domain IRM's lower bound, hyper-parameter rules and exact joint, in dense textbook form.

The prior of the labels is that of one domain of the two-domain model, so its parts are taken from there.
Papers: IRM14 = Ishiguro, Sato, Ueda, arXiv 1409.4757 (2014).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import betaln, digamma

from tests.oracles.dense_network_stats import NetworkData, block_log_evidence, counts, each_block
from tests.oracles.dense_score import BetaParameters, Labels, crp_log_prior, stick_log_prior
from tests.oracles.dense_stats import (
    Array,
    PerBlock,
    entropy,
    expected_log_pi,
    stick_evidence,
    stick_posterior,
)

# ----------------------------------------------------------------------------------------------- lower bound


def lower_bound(data: NetworkData, q: Array, a: PerBlock, b: PerBlock, alpha: float) -> float:
    """VB's lower bound at the best q(v), q(theta) for a given q(Z): one stick term, one entropy."""
    n, total, m = counts(data, q)
    blocks = each_block(block_log_evidence(n, total, a, b), data.directed).sum()
    return float(blocks) + stick_evidence(m, alpha) + entropy(q)


class NetworkPosterior(NamedTuple):
    """q(v) and q(theta), each a pair of Beta parameters; q(theta) as (K, K), symmetric when undirected."""

    sticks: BetaParameters
    theta: BetaParameters


def vb_posterior(data: NetworkData, q: Array, a: PerBlock, b: PerBlock, alpha: float) -> NetworkPosterior:
    """Conjugate M step: q(v_k) = Beta(1 + m_k, alpha + M_k), q(theta_kl) = Beta(a + n_kl, b + N_kl)."""
    n, total, _ = counts(data, q)
    theta = (np.asarray(a) + n, np.asarray(b) + total - n)
    return NetworkPosterior(stick_posterior(q, alpha), theta)


def expected_logs(parameters: BetaParameters) -> tuple[Array, Array]:
    """E log t and E log(1 - t) for t ~ Beta(parameters)."""
    s, t = parameters
    return digamma(s) - digamma(s + t), digamma(t) - digamma(s + t)


def lower_bound_explicit(
    data: NetworkData,
    q: Array,
    a: PerBlock,
    b: PerBlock,
    alpha: float,
    posterior: NetworkPosterior | None = None,
) -> float:
    """E log p(X, Z, v, theta) - E log q(Z, v, theta), entry by entry, for any Beta q(v), q(theta)."""
    posterior = posterior or vb_posterior(data, q, a, b, alpha)
    bound = entropy(q) + float(q.sum(axis=0) @ expected_log_pi(posterior.sticks))
    bound -= _divergence(posterior.sticks, np.ones(q.shape[1] - 1), np.full(q.shape[1] - 1, alpha))
    log_theta, log_rest = expected_logs(posterior.theta)
    for i, j in np.argwhere(data.entries):
        log_likelihood = log_theta if data.x[i, j] > 0.5 else log_rest
        bound += float(q[i] @ np.diag(log_likelihood) if i == j else q[i] @ log_likelihood @ q[j])
    shape = log_theta.shape
    theta = tuple(each_block(part, data.directed) for part in posterior.theta)
    prior = tuple(each_block(np.broadcast_to(part, shape), data.directed) for part in (a, b))
    return bound - _divergence((theta[0], theta[1]), *prior)


def _divergence(parameters: BetaParameters, a: Array, b: Array) -> float:
    """Sum of KL(Beta(parameters) || Beta(a, b))."""
    log_t, log_rest = expected_logs(parameters)
    s, t = parameters
    return float(np.sum(betaln(a, b) - betaln(s, t) + (s - a) * log_t + (t - b) * log_rest))


# ----------------------------------------------------------------------------------------- hyper-parameters


def update_ab_tied(data: NetworkData, q: Array, a: float, b: float) -> tuple[float, float]:
    """One fixed-point step for a, b shared by all blocks, each block once; both use the old a and b."""
    n, total, _ = counts(data, q)
    ones, zeros = (each_block(part, data.directed) for part in (n, total - n))
    scale = float(np.sum(digamma(a + b + ones + zeros) - digamma(a + b)))
    new_a = a * float(np.sum(digamma(a + ones) - digamma(a))) / scale
    return new_a, b * float(np.sum(digamma(b + zeros) - digamma(b))) / scale


# -------------------------------------------------------------------------------------------- exact joint


def log_likelihood_of_labels(data: NetworkData, z: Labels, a: PerBlock, b: PerBlock) -> float:
    """log p(X | Z) with every theta integrated out, by counting entries; empty blocks add nothing."""
    found: dict[tuple[int, int], list[int]] = {}
    for i, j in np.argwhere(data.entries):
        block = (int(z[i]), int(z[j]))
        if not data.directed:
            block = (min(block), max(block))
        found.setdefault(block, [0, 0])[0 if data.x[i, j] > 0.5 else 1] += 1
    total = 0.0
    for block, (ones, zeros) in found.items():
        a_kl, b_kl = (float(c if np.ndim(c) == 0 else np.asarray(c)[block]) for c in (a, b))
        total += betaln(a_kl + ones, b_kl + zeros) - betaln(a_kl, b_kl)
    return float(total)


def log_joint(
    data: NetworkData,
    z: Labels,
    a: PerBlock,
    b: PerBlock,
    alpha: float,
    prior: str = "stick",
    size: int | None = None,
) -> float:
    """Exact collapsed log p(X, Z) for hard labels.

    ``prior="stick"``: labels 0..K-1 under truncated stick breaking (v_K = 1), ``size`` = K.
    ``prior="crp"``: the labels stand for a partition under the Chinese restaurant process; scalar a, b.
    """
    log_likelihood = log_likelihood_of_labels(data, z, a, b)
    if prior == "crp":
        return log_likelihood + crp_log_prior(z, alpha)
    if prior != "stick" or size is None:
        raise ValueError("prior must be 'crp', or 'stick' with size=K")
    return log_likelihood + stick_log_prior(z, alpha, size)
