"""Statistics of the one-domain infinite relational model (a network), written out pair by pair to check faster code.

Convention: ``q`` is (N, K), rows sum to one; objects are on both sides of the relation. Of an undirected network each
unordered pair of objects is one entry, block {k, l} has one strength, and (K, K) arrays are stored symmetric, every
entry counted once: a sum over the blocks is a sum over k <= l.
Papers: IRM14 = Ishiguro, Sato, Ueda, arXiv 1409.4757 (2014), section 2.2.1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln

from tests.oracles.dense_stats import Array, PerBlock


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

    @property
    def T(self) -> NetworkData:  # noqa: N802 - the name NumPy uses
        """The same network with every link turned round."""
        return NetworkData(self.x.T, self.observed.T, self.directed)

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


def pair_share(first: Array, second: Array, directed: bool) -> Array:
    """(K, K) probability that a pair of two objects lies in each block: in either order when undirected.

    Within one block the two orders of an unordered pair are the same event, which counts once.
    """
    share = np.outer(first, second)
    return share if directed else share + share.T - np.diag(np.diag(share))


def expected_count(indicator: Array, q: Array, directed: bool) -> Array:
    """E of the number of marked entries in each block under a factorised q, as (K, K).

    A link of an object to itself lies in block (k, k) with probability q_ik, not q_ik^2.
    """
    count = np.zeros((q.shape[1], q.shape[1]))
    for i, j in np.argwhere(indicator):
        count += np.diag(q[i]) if i == j else pair_share(q[i], q[j], directed)
    return count


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
