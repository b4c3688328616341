"""Dense reference of inference for the one-domain IRM (a network), pair by pair; every update counts afresh.

Convention: ``q`` is (N, K), rows sum to one; objects are on both sides of the relation. Of an undirected network each
unordered pair of objects is one entry, block {k, l} has one strength, and (K, K) arrays are stored symmetric, every
entry counted once: a sum over the blocks is a sum over k <= l. The prior of the labels is that of one domain of the
two-domain model, so its parts are taken from there.
Papers: IRM14 = Ishiguro, Sato, Ueda, arXiv 1409.4757 (2014), section 2.2.1.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, digamma

from tests.oracles.dense_irm import (
    Array,
    Labels,
    PerBlock,
    Update,
    crp_log_prior,
    entropy,
    expected_log_pi,
    expected_logs,
    log_gamma_second_order,
    log_prior_terms,
    normalise,
    stick_evidence,
    stick_log_prior,
    stick_posterior,
)


class NetworkData(NamedTuple):
    """A network as a full matrix: ``x`` (N, N) of 0/1 floats, ``observed`` (N, N) of bools; see `network`."""

    x: Array
    observed: NDArray[np.bool_]
    directed: bool

    @property
    def entries(self) -> NDArray[np.bool_]:
        """Where an entry stands: every observed pair, of an undirected network on or above the diagonal."""
        return self.observed if self.directed else np.triu(self.observed)

    @property
    def ones(self) -> Array:
        """1.0 where an entry is one."""
        return np.where(self.entries & (self.x > 0.5), 1.0, 0.0)

    @property
    def zeros(self) -> Array:
        """1.0 where an entry is zero."""
        return np.where(self.entries & (self.x <= 0.5), 1.0, 0.0)

    @property
    def seen(self) -> Array:
        """1.0 where there is an entry."""
        return self.entries.astype(np.float64)

    def without(self, i: int) -> NetworkData:
        """The network without object ``i``."""
        kept = np.delete(np.arange(len(self.x)), i)
        return self.permuted(kept)

    def hiding(self, i: int) -> NetworkData:
        """The network with every entry of object ``i`` missing."""
        observed = self.observed.copy()
        observed[i] = observed[:, i] = False
        return NetworkData(self.x, observed, self.directed)

    def permuted(self, order: NDArray[np.int_]) -> NetworkData:
        """The network of the objects ``order[0]``, ``order[1]``, … in this order."""
        at = np.ix_(order, order)
        return NetworkData(self.x[at], self.observed[at], self.directed)


def network(x: Array, observed: NDArray[np.bool_], directed: bool, self_links: bool) -> NetworkData:
    """A network; of an undirected one the upper triangle is read and mirrored. A missing entry holds NaN."""
    if not directed:
        x = np.triu(x) + np.triu(x, 1).T
        observed = np.triu(observed) | np.triu(observed).T
    if not self_links:
        observed = observed & ~np.eye(len(x), dtype=bool)
    return NetworkData(np.where(observed, x, np.nan), observed, directed)


def expected_count(indicator: Array, q: Array, directed: bool) -> Array:
    """E of the number of marked entries in each block under a factorised q, as (K, K).

    A link of an object to itself lies in block (k, k) with probability q_ik, not q_ik^2. Within one block the two
    orders of an unordered pair are the same event, which counts once.
    """
    own = np.diag(indicator)
    between = q.T @ (indicator - np.diag(own)) @ q
    if not directed:
        between = between + between.T - np.diag(np.diag(between))
    return between + np.diag(own @ q)


def counts(data: NetworkData, q: Array) -> tuple[Array, Array, Array]:
    """Expected ones n (K, K), observed entries T (K, K) and cluster sizes m (K,)."""
    n = expected_count(data.ones, q, data.directed)
    return n, expected_count(data.seen, q, data.directed), q.sum(axis=0)


def paper_variance(indicator: Array, q: Array, directed: bool) -> Array:
    """IRM14 eq. 91 for one domain: as `expected_count` with q (1 - q) in place of q.

    It is NOT the variance of the count, but for self-links, which are Bernoulli(q_ik).
    """
    return expected_count(indicator, q * (1 - q), directed)


def paper_variance_placed(indicator: Array, q: Array, i: int, k: int, directed: bool) -> Array:
    """The same with object ``i`` certainly in cluster ``k``: each of its pairs varies with its partner alone.

    Its self-link then varies no more.
    """
    spread = q * (1 - q)
    spread[i] = 0.0
    others = expected_count(indicator, spread, directed)  # nothing of i: its spread is zero
    placed = spread.copy()
    placed[i] = np.eye(q.shape[1])[k]
    own = np.zeros_like(indicator)
    own[i], own[:, i] = indicator[i], indicator[:, i]
    own[i, i] = 0.0
    return others + expected_count(own, placed, directed)


def each_block(values: Array, directed: bool) -> Array:
    """The values of the blocks, each once, as a vector: all of them, or those with k <= l."""
    return values.ravel() if directed else values[np.triu_indices(len(values))]


def block_log_evidence(n: Array, total: Array, a: PerBlock, b: PerBlock) -> Array:
    """(K, K) lbeta(a + n, b + N) - lbeta(a, b) of each block."""
    return np.asarray(betaln(a + n, np.asarray(b) + total - n) - betaln(a, b))


def lower_bound(data: NetworkData, q: Array, a: PerBlock, b: PerBlock, alpha: float) -> float:
    """VB's lower bound at the best q(v), q(theta) for a given q(Z): one stick term, one entropy."""
    n, total, m = counts(data, q)
    blocks = each_block(block_log_evidence(n, total, a, b), data.directed).sum()
    return float(blocks) + stick_evidence(m, alpha) + entropy(q)


def update_ab_tied(data: NetworkData, q: Array, a: float, b: float) -> tuple[float, float]:
    """One fixed-point step for a, b shared by all blocks, each block once; both use the old a and b."""
    n, total, _ = counts(data, q)
    ones, zeros = (each_block(part, data.directed) for part in (n, total - n))
    scale = float(np.sum(digamma(a + b + ones + zeros) - digamma(a + b)))
    new_a = a * float(np.sum(digamma(a + ones) - digamma(a))) / scale
    return new_a, b * float(np.sum(digamma(b + zeros) - digamma(b))) / scale


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
    data: NetworkData, z: Labels, a: PerBlock, b: PerBlock, alpha: float, size: int | None = None
) -> float:
    """Exact collapsed log p(X, Z) for hard labels under truncated stick breaking (v_K = 1), ``size`` = K.

    Without ``size``: the labels are names of a partition under the Chinese restaurant process; scalar a, b.
    """
    log_prior = stick_log_prior(z, alpha, size) if size else crp_log_prior(z, alpha)
    return log_likelihood_of_labels(data, z, a, b) + log_prior


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
    return normalise(log_likelihood + log_prior_terms(m, alpha))


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
        before = log_gamma_second_order(
            c + expected_count(rest, q_rest, data.directed), paper_variance(rest, q_rest, data.directed)
        )
        for k in range(q.shape[1]):
            after = log_gamma_second_order(
                c + expected_count(marked, _placed(q, i, k), data.directed),
                paper_variance_placed(marked, q, i, k, data.directed),
            )
            log_likelihood[k] += sign * each_block(after - before, data.directed).sum()
    return normalise(log_likelihood + log_prior_terms(m, alpha))


def _placed(q: Array, i: int, k: int) -> Array:
    """The responsibilities with object ``i`` certainly in cluster ``k``."""
    placed = q.copy()
    placed[i] = np.eye(q.shape[1])[k]
    return placed


def sweep(
    update: Update, data: NetworkData, q: Array, order: Iterable[int], a: PerBlock, b: PerBlock, alpha: float
) -> tuple[Array, float]:
    """Update one object after another in ``order``; new q and the sum of the log normalisers met on the way."""
    q, total = q.copy(), 0.0
    for i in order:
        q[i], log_normaliser = update(data, q, i, a, b, alpha)
        total += log_normaliser
    return q, total


def pseudo_loo(data: NetworkData, q: Array, a: PerBlock, b: PerBlock, alpha: float) -> float:
    """sum_i log C_i of CVB0 at the current q; nothing is updated."""
    return sum(update_cvb0(data, q, i, a, b, alpha)[1] for i in range(len(q)))


def vb_sweep(
    data: NetworkData, q: Array, order: Iterable[int], a: PerBlock, b: PerBlock, alpha: float
) -> Array:
    """VB: q(v), q(theta) of the current q, then one object after another in ``order``, given the others.

    Objects of one domain meet each other in the entries, so only one at a time may move without the bound falling.
    """
    q = q.copy()
    n, total, _ = counts(data, q)
    log_theta, log_rest = expected_logs((a + n, b + total - n))
    log_pi = expected_log_pi(stick_posterior(q, alpha))
    for i in order:
        log_weights = log_pi.copy()
        for row, column in np.argwhere(data.entries):
            log_likelihood = log_theta if data.x[row, column] > 0.5 else log_rest
            if row == column == i:
                log_weights += np.diag(log_likelihood)
            elif row == i:
                log_weights += log_likelihood @ q[column]
            elif column == i:
                log_weights += q[row] @ log_likelihood
        q[i] = normalise(log_weights)[0]
    return q


def gibbs_conditional(
    data: NetworkData, z: Labels, i: int, a: float, b: float, alpha: float
) -> tuple[Array, Array]:
    """p(z_i | the other labels, X) under the Chinese restaurant process: the clusters, the probabilities.

    The clusters are those of the other objects, then one that is new, named one more than the largest of them.
    """
    others = np.delete(z, i)
    clusters = np.append(np.unique(others), others.max(initial=-1) + 1)
    tried = [np.where(np.arange(len(z)) == i, k, z) for k in clusters]
    return clusters, normalise(np.array([log_joint(data, one, a, b, alpha) for one in tried]))[0]


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
