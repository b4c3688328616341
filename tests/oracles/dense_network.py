"""Dense reference of inference for the one-domain IRM: every update counts afresh, nothing is incremental.

Import everything from this module; the statistics and the bound live in ``dense_network_stats`` and
``dense_network_score``.
Papers: IRM14 = Ishiguro, Sato, Ueda, arXiv 1409.4757 (2014).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from scipy.special import betaln, gammaln, logsumexp, polygamma

from tests.oracles.dense_irm import log_prior_terms
from tests.oracles.dense_network_score import (
    NetworkPosterior,
    expected_logs,
    log_joint,
    log_likelihood_of_labels,
    lower_bound,
    lower_bound_explicit,
    update_ab_tied,
    vb_posterior,
)
from tests.oracles.dense_network_stats import (
    NetworkData,
    block_log_evidence,
    counts,
    each_block,
    expected_count,
    network,
    pair_share,
    paper_variance,
    paper_variance_placed,
)
from tests.oracles.dense_score import Labels
from tests.oracles.dense_stats import Array, PerBlock, expected_log_pi

__all__ = [
    "NetworkData",
    "NetworkPosterior",
    "counts",
    "each_block",
    "expected_count",
    "gibbs_conditional",
    "log_joint",
    "log_likelihood_of_labels",
    "lower_bound",
    "lower_bound_explicit",
    "merged",
    "network",
    "pair_share",
    "paper_variance",
    "paper_variance_placed",
    "predict",
    "pseudo_loo",
    "sorted_by_size",
    "split",
    "sweep",
    "update_ab_tied",
    "update_cvb0",
    "update_cvb2",
    "vb_posterior",
    "vb_sweep",
    "vb_update",
]

Update = Callable[..., tuple[Array, float]]


# ------------------------------------------------------------------------------------------- collapsed updates


def update_cvb0(
    data: NetworkData, q: Array, i: int, a: PerBlock, b: PerBlock, alpha: float
) -> tuple[Array, float]:
    """CVB0 update of object ``i``: the new row and the log of its normaliser (log C_i).

    The exact conditional p(z_i = k | Z without i, X) with every count replaced by its expectation, without ``i``
    and with ``i`` certainly in cluster k.
    """
    n, total, m = counts(data.without(i), np.delete(q, i, axis=0))
    before = block_log_evidence(n, total, a, b)
    log_likelihood = np.zeros(q.shape[1])
    for k in range(q.shape[1]):
        n_with, total_with, _ = counts(data, _placed(q, i, k))
        gain = block_log_evidence(n_with, total_with, a, b) - before
        log_likelihood[k] = each_block(gain, data.directed).sum()
    return _normalise(log_likelihood + log_prior_terms(m, alpha))


def update_cvb2(
    data: NetworkData, q: Array, i: int, a: PerBlock, b: PerBlock, alpha: float
) -> tuple[Array, float]:
    """Second-order CVB update of object ``i`` with the paper's variances; the prior term stays that of CVB0.

    Every E log Gamma(c + count) becomes log Gamma(c + E) + psi1(c + E) Var / 2 (IRM14 eqs. 87-99).
    """
    m = np.delete(q, i, axis=0).sum(axis=0)
    log_likelihood = np.zeros(q.shape[1])
    for c, sign, name in ((a, 1, "ones"), (b, 1, "zeros"), (np.asarray(a) + b, -1, "seen")):
        rest, q_rest = getattr(data.without(i), name), np.delete(q, i, axis=0)
        marked = getattr(data, name)
        before = _log_gamma_second_order(
            c + expected_count(rest, q_rest, data.directed), paper_variance(rest, q_rest, data.directed)
        )
        for k in range(q.shape[1]):
            after = _log_gamma_second_order(
                c + expected_count(marked, _placed(q, i, k), data.directed),
                paper_variance_placed(marked, q, i, k, data.directed),
            )
            log_likelihood[k] += sign * each_block(after - before, data.directed).sum()
    return _normalise(log_likelihood + log_prior_terms(m, alpha))


def _placed(q: Array, i: int, k: int) -> Array:
    """The responsibilities with object ``i`` certainly in cluster ``k``."""
    placed = q.copy()
    placed[i] = np.eye(q.shape[1])[k]
    return placed


def _log_gamma_second_order(mean: Array, variance: Array) -> Array:
    return np.asarray(gammaln(mean) + 0.5 * polygamma(1, mean) * variance)


def _normalise(log_weights: Array) -> tuple[Array, float]:
    log_normaliser = float(logsumexp(log_weights))
    return np.exp(log_weights - log_normaliser), log_normaliser


def sweep(
    update: Update, data: NetworkData, q: Array, order: Iterable[int], a: PerBlock, b: PerBlock, alpha: float
) -> tuple[Array, float]:
    """Update one object after another in ``order``; new q and the sum of the log normalisers met on the way."""
    q, total = q.copy(), 0.0
    for i in order:
        q[i], log_normaliser = update(data, q, i, a, b, alpha)
        total += log_normaliser
    return q, total


def pseudo_loo(
    data: NetworkData, q: Array, a: PerBlock, b: PerBlock, alpha: float, update: Update = update_cvb0
) -> float:
    """sum_i log C_i at the current q, once over the objects; nothing is updated."""
    return sum(update(data, q, i, a, b, alpha)[1] for i in range(len(q)))


# -------------------------------------------------------------------------------------------------- VB


def vb_update(
    data: NetworkData,
    q: Array,
    i: int,
    a: PerBlock,
    b: PerBlock,
    alpha: float,
    posterior: NetworkPosterior | None = None,
) -> Array:
    """VB's new row of object ``i`` given the other objects' and q(v), q(theta): by default the conjugate of q.

    Objects of one domain meet each other in the entries, so only one at a time may move without the bound falling.
    """
    posterior = posterior or vb_posterior(data, q, a, b, alpha)
    log_theta, log_rest = expected_logs(posterior.theta)
    log_weights = expected_log_pi(posterior.sticks)
    for row, column in np.argwhere(data.entries):
        log_likelihood = log_theta if data.x[row, column] > 0.5 else log_rest
        if row == column == i:
            log_weights = log_weights + np.diag(log_likelihood)
        elif row == i:
            log_weights = log_weights + log_likelihood @ q[column]
        elif column == i:
            log_weights = log_weights + q[row] @ log_likelihood
    return _normalise(log_weights)[0]


def vb_sweep(
    data: NetworkData, q: Array, order: Iterable[int], a: PerBlock, b: PerBlock, alpha: float, refresh: bool
) -> Array:
    """Update one object after another in ``order``.

    ``refresh``: q(v), q(theta) are brought to their optimum before every object; otherwise once, before the sweep.
    """
    q = q.copy()
    posterior = None if refresh else vb_posterior(data, q, a, b, alpha)
    for i in order:
        q[i] = vb_update(data, q, i, a, b, alpha, posterior)
    return q


# -------------------------------------------------------------------------------------------------- Gibbs


def gibbs_conditional(
    data: NetworkData, z: Labels, i: int, a: float, b: float, alpha: float
) -> tuple[Array, Array]:
    """p(z_i | the other labels, X) under the Chinese restaurant process: the clusters, the probabilities.

    The clusters are those of the other objects, then one that is new (named one more than the largest of them),
    whose blocks have the prior only. Written with the entries of ``i`` counted by the partner's cluster.
    """
    others = np.delete(z, i)
    names, sizes = np.unique(others, return_counts=True)
    clusters = np.append(names, others.max(initial=-1) + 1)
    log_weights = np.log(np.append(sizes, alpha).astype(float))
    rest = data.without(i)
    for at, k in enumerate(clusters):
        added: dict[tuple[int, int], list[int]] = {}
        for row, column in np.argwhere(data.entries):
            if i in (row, column):
                block = (int(k if row == i else z[row]), int(k if column == i else z[column]))
                added.setdefault(_block(block, data.directed), [0, 0])[int(data.x[row, column] <= 0.5)] += 1
        for block, (ones, zeros) in added.items():
            inside = [
                rest.x[row, column] > 0.5
                for row, column in np.argwhere(rest.entries)
                if _block((int(others[row]), int(others[column])), data.directed) == block
            ]
            a_now, b_now = a + sum(inside), b + len(inside) - sum(inside)
            log_weights[at] += betaln(a_now + ones, b_now + zeros) - betaln(a_now, b_now)
    return clusters, _normalise(log_weights)[0]


def _block(pair: tuple[int, int], directed: bool) -> tuple[int, int]:
    return pair if directed else (min(pair), max(pair))


# -------------------------------------------------------------------------------------- prediction and moves


def predict(data: NetworkData, q: Array, a: PerBlock, b: PerBlock) -> Array:
    """p(x_ij = 1) of every pair, as (N, N): sum_kl q_ik q_jl strength_kl; of a self-link sum_k q_ik strength_kk."""
    n, total, _ = counts(data, q)
    strength = (a + n) / (np.asarray(a) + b + total)
    probability = q @ strength @ q.T
    np.fill_diagonal(probability, q @ np.diag(strength))
    return probability


def sorted_by_size(q: Array) -> Array:
    """Largest cluster first, equal ones as they stand: the order the stick-breaking prior wants."""
    return q[:, np.argsort(-q.sum(axis=0), kind="stable")]


def merged(q: Array, k: int, other: int) -> Array:
    """The responsibilities with cluster ``other`` put into cluster ``k``."""
    both = q.copy()
    both[:, k] += q[:, other]
    return np.delete(both, other, axis=1)


def split(q: Array, k: int, share: Array) -> Array:
    """The responsibilities with ``share`` (N,) of cluster ``k`` left in it and the rest in a new last cluster."""
    kept = q.copy()
    kept[:, k] = q[:, k] * share
    return np.column_stack([kept, q[:, k] * (1 - share)])
