"""Second-order CVB of networks with the exact variances of the counts, written densely: a reference for small ones.

The count of a block is F_kl = sum over pairs (i, j) of P_ij z_ik z_jl. Under the factorised q two of its terms are
correlated where their pairs share an object, as first, as second, or as the first of one and the second of the other.
With R = P p, C = P' p and S = P * P' (pairs in both directions), all of their covariances add up in closed form.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from acvb_core.data.relation import Relation
from acvb_core.models.irm.kernels import SMALLEST, Floats, log_prior

#: Objects at most: the pairs are held as dense matrices, and a sweep costs O(N^2 K^2).
MOST_OBJECTS = 2_000


class Blocks(NamedTuple):
    """Mean and variance of the count of every block."""

    mean: Floats
    variance: Floats


@dataclass(frozen=True, eq=False)
class Pairs:
    """The pairs that one kind of count is about: the ones, the zeros or all that are observed."""

    links: Floats  #: shape (N, N); 1 for such a pair, 0 on the diagonal; symmetric where undirected
    own: Floats  #: shape (N,); 1 for such a pair of an object with itself
    both: Floats  #: shape (N, N); 1 where there is such a pair in both directions
    directed: bool

    @classmethod
    def of(cls, marked: NDArray[np.bool_], directed: bool) -> Pairs:
        """Return the pairs that are marked, shape (N, N)."""
        own = marked.diagonal().astype(np.float64)
        links = marked.astype(np.float64)
        np.fill_diagonal(links, 0.0)
        return cls(links, own, links * links.T, directed)

    def count(self, p: Floats) -> Blocks:
        """Return mean and variance of every block's count; an object whose row of `p` is zero is not there."""
        r, c = self.links @ p, self.links.T @ p
        spread, square = p * (1.0 - p), p * p
        r2, c2 = self.links @ square, self.links.T @ square
        mean = p.T @ r
        variance = mean - square.T @ r2 + spread.T @ (r * r - r2) + (c * c - c2).T @ spread
        variance -= 2.0 * (p * c).T @ (p * r)
        products = (p[:, :, None] * p[:, None, :]).reshape(len(p), -1)
        variance += (products * (self.both @ products)).sum(axis=0).reshape(variance.shape)
        at, share = np.diag_indices_from(variance), 1.0 if self.directed else 0.5
        within = 2.0 * (p * r * c).sum(axis=0)
        within += (p * (self.both @ p - 2.0 * (self.both @ square))).sum(axis=0)
        mean[at] *= share
        variance[at] = share**2 * (variance[at] + within)
        mean[at] += self.own @ p
        variance[at] += self.own @ (spread + 2.0 * share * spread * (r + c))
        return Blocks(mean, variance)

    def place(self, p: Floats, i: int, without: Blocks) -> tuple[Blocks, Blocks]:
        """Return the blocks (k, .) and (., k) with object i certainly in cluster k, shapes (K, K), a row for each k.

        `p`, `without`: the responsibilities with a row of zeros for i, and the counts by them. Block (k, k) stands in
        the first; an undirected network has no second.
        """
        r, c, spread = self.links @ p, self.links.T @ p, p * (1.0 - p)
        out, back = self.links[i][:, None], self.links[:, i][:, None]
        at = np.diag_indices(p.shape[1])
        first = Blocks(
            without.mean + (out * p).sum(axis=0),
            without.variance
            + (out * spread).sum(axis=0)
            + 2.0 * ((out * c).T @ spread - (out * p).T @ (p * r)),
        )
        second = Blocks(
            without.mean.T + (back * p).sum(axis=0),
            without.variance.T
            + (back * spread).sum(axis=0)
            + 2.0 * ((back * r).T @ spread - (back * p).T @ (p * c)),
        )
        share = 1.0 if self.directed else 0.5
        weight = out + back if self.directed else out
        first.mean[at] = without.mean[at] + (weight * p).sum(axis=0) + self.own[i]
        covariance = (weight * spread * (share * (r + c) + self.own[:, None])).sum(axis=0)
        first.variance[at] = without.variance[at] + (weight**2 * spread).sum(axis=0) + 2.0 * covariance
        return first, second


@dataclass(frozen=True, eq=False)
class ExactUpdates:
    """Updates of the objects of a network, one by one."""

    ones: Pairs
    zeros: Pairs
    seen: Pairs
    a: Floats
    b: Floats
    alpha: float

    @classmethod
    def of(cls, relation: Relation, a: Floats, b: Floats, alpha: float, *, directed: bool) -> ExactUpdates:
        """Return the updates for a network, `a` and `b` of shape (K, K)."""
        ones = relation.ones.toarray() > 0
        seen = ~(relation.missing.toarray() > 0)
        zeros = Pairs.of(seen & ~ones, directed)
        return cls(Pairs.of(ones, directed), zeros, Pairs.of(seen, directed), a, b, alpha)

    def update(
        self, q: Floats, objects: NDArray[np.int64], choices: NDArray[np.int64], change: bool
    ) -> float:
        """Update objects in turn, `q` in place where it may change; return the sum of log C_i (nats).

        `choices`: the clusters among which an object's share of them is divided anew.
        """
        total, prior = 0.0, np.empty(q.shape[1])
        for i in objects:
            held, p = float(q[i, choices].sum()), q.copy()
            p[i] = 0.0
            log_prior(p.sum(axis=0), self.alpha, prior)
            weights = (self._gain(p, int(i)) + prior)[choices]
            top = weights.max()
            shares = np.exp(weights - top)
            total += float(top + np.log(shares.sum()))
            if change:
                q[i, choices] = held * shares / shares.sum()
        return total

    def _gain(self, p: Floats, i: int) -> Floats:
        """Return the expected log probability of what object i brings, for each cluster it may be in, shape (K,)."""
        gain, directed = np.zeros(p.shape[1]), self.ones.directed
        at = np.diag_indices(p.shape[1])
        for sign, prior, pairs in (
            (1.0, self.a, self.ones),
            (1.0, self.b, self.zeros),
            (-1.0, self.a + self.b, self.seen),
        ):
            without = pairs.count(p)
            first, second = pairs.place(p, i, without)
            before = _expect_log_gamma(prior, without)
            gain += sign * (_expect_log_gamma(prior, first) - before).sum(axis=1)
            if directed:
                more = _expect_log_gamma(prior.T, second) - before.T
                more[at] = 0.0
                gain += sign * more.sum(axis=1)
        return gain


def _expect_log_gamma(prior: Floats, blocks: Blocks) -> Floats:
    """Return E log Gamma(prior + count) to second order."""
    from scipy.special import gammaln, polygamma  # slow to import

    x = np.maximum(prior + blocks.mean, SMALLEST)
    return np.asarray(gammaln(x) + 0.5 * polygamma(1, x) * np.maximum(blocks.variance, 0.0))
