"""Second-order CVB of networks with the exact variances of the counts, in closed form and dense.

The count of a block is F_kl = sum over pairs (i, j) of P_ij z_ik z_jl. Under the factorised q two of its terms are
correlated if their pairs share an object: as first, as second, or as the first of one and the second of the other.
With R = P p, C = P' p and S = P * P' (pairs in both directions), all of their covariances add up in closed form.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import gammaln, logsumexp, polygamma

from tests.oracles.dense_irm import Array, PerBlock, log_prior_terms
from tests.oracles.dense_network import NetworkData


class Blocks(NamedTuple):
    """Mean and variance of the count of every block, shape (K, K)."""

    mean: Array
    variance: Array


def count_blocks(marked: Array, q: Array, directed: bool) -> Blocks:
    """Mean and variance of the marked entries of every block; an object whose row of ``q`` is zero is not there.

    ``marked``: as `NetworkData.ones`; each entry of an undirected network once.
    """
    links, own = _without_own(marked, directed)
    both, square, spread = links * links.T, q * q, q * (1.0 - q)
    r, c = links @ q, links.T @ q
    mean = q.T @ r
    variance = mean - square.T @ (links @ square) + spread.T @ (r * r - links @ square)
    variance += (c * c - links.T @ square).T @ spread - 2.0 * (q * c).T @ (q * r)
    products = (q[:, :, None] * q[:, None, :]).reshape(len(q), -1)
    variance += (products * (both @ products)).sum(axis=0).reshape(variance.shape)
    at, share = np.diag_indices_from(variance), 1.0 if directed else 0.5
    within = 2.0 * (q * r * c).sum(axis=0) + (q * (both @ q - 2.0 * (both @ square))).sum(axis=0)
    mean[at] = share * mean[at] + own @ q
    variance[at] = share**2 * (variance[at] + within) + own @ (spread + 2.0 * share * spread * (r + c))
    return Blocks(mean, variance)


def _without_own(marked: Array, directed: bool) -> tuple[Array, Array]:
    """The entries between objects, in both triangles of an undirected network, and those of objects with themselves."""
    own = np.diag(marked)
    links = marked - np.diag(own)
    return links if directed else links + links.T, own


def count_blocks_placed(
    marked: Array, q: Array, i: int, without: Blocks, directed: bool
) -> tuple[Blocks, Blocks]:
    """Blocks (k, .) and (., k) with object ``i`` certainly in cluster k, shapes (K, K), a row for each k.

    ``q``, ``without``: the responsibilities with a row of zeros for ``i``, and the counts by them. Block (k, k) is in
    the first result; an undirected network has no use for the second.
    """
    links, own = _without_own(marked, directed)
    r, c, spread = links @ q, links.T @ q, q * (1.0 - q)
    out, back = links[i][:, None], links[:, i][:, None]
    at = np.diag_indices(q.shape[1])
    covariance = (out * c).T @ spread - (out * q).T @ (q * r)
    first = Blocks(
        without.mean + (out * q).sum(axis=0), without.variance + (out * spread).sum(axis=0) + 2.0 * covariance
    )
    covariance = (back * r).T @ spread - (back * q).T @ (q * c)
    second = Blocks(
        without.mean.T + (back * q).sum(axis=0),
        without.variance.T + (back * spread).sum(axis=0) + 2.0 * covariance,
    )
    share, weight = (1.0, out + back) if directed else (0.5, out)
    first.mean[at] = without.mean[at] + (weight * q).sum(axis=0) + own[i]
    within = (weight * spread * (share * (r + c) + own[:, None])).sum(axis=0)
    first.variance[at] = without.variance[at] + (weight**2 * spread).sum(axis=0) + 2.0 * within
    return first, second


def update_exact(
    data: NetworkData, q: Array, i: int, a: PerBlock, b: PerBlock, alpha: float
) -> tuple[Array, float]:
    """Second-order CVB update of object ``i`` with exact variances: the new row and the log of its normaliser."""
    q = q.copy()
    q[i] = 0.0
    weights, off = log_prior_terms(q.sum(axis=0), alpha), ~np.eye(q.shape[1], dtype=bool)
    for prior, sign, marked in ((a, 1, data.ones), (b, 1, data.zeros), (np.asarray(a) + b, -1, data.seen)):
        prior = np.broadcast_to(prior, off.shape)
        without = count_blocks(marked, q, data.directed)
        first, second = count_blocks_placed(marked, q, i, without, data.directed)
        before = log_gamma(prior, without)
        weights += sign * (log_gamma(prior, first) - before).sum(axis=1)
        if data.directed:
            weights += sign * ((log_gamma(prior.T, second) - before.T) * off).sum(axis=1)
    return np.exp(weights - logsumexp(weights)), float(logsumexp(weights))


def log_gamma(prior: PerBlock, blocks: Blocks) -> Array:
    """E log Gamma(prior + count) to second order."""
    mean = np.asarray(prior) + blocks.mean
    return np.asarray(gammaln(mean) + 0.5 * polygamma(1, mean) * blocks.variance)
