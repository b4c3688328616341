"""Dense reference of Gamma-Poisson blocks with propensities, in plain NumPy; every update sums afresh.

x_ij ~ Poisson(t_i f_j lambda_kl), lambda_kl ~ Gamma(a, b) with rate b; t and f are given. Labels have the prior of
the IRM. Responsibilities ``q`` are (q1, q2) of two domains, or (q,) of a network, whose objects are on both sides;
``alphas`` and labels ``z`` have as many parts. Of an undirected network each unordered pair is one entry, and (K, K)
arrays are symmetric, as in `dense_network`.
Papers: IRM14 = Ishiguro, Sato, Ueda, arXiv 1409.4757 (2014).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, gammaln, logsumexp, polygamma

from tests.oracles import dense_irm, dense_network
from tests.oracles.dense_irm import (
    Array,
    Labels,
    PerBlock,
    crp_log_prior,
    entropy,
    expected_log_pi,
    log_prior_terms,
    normalise,
    stick_evidence,
    stick_log_prior,
    stick_posterior,
)

Parts = tuple[Array, ...]  # one of each domain


class CountData(NamedTuple):
    """Counts as a full matrix ``x`` with NaN at missing entries, and the propensities of rows and columns."""

    x: Array
    t: Array
    f: Array
    directed: bool | None = None  # None: two domains

    @property
    def entries(self) -> NDArray[np.bool_]:
        """Every observed entry; of an undirected network those on or above the diagonal."""
        observed = ~np.isnan(self.x)
        return np.triu(observed) if self.directed is False else observed

    @property
    def values(self) -> Array:
        """The counts, 0 if there is no entry."""
        return np.where(self.entries, self.x, 0.0)

    @property
    def exposures(self) -> Array:
        """t_i f_j, 0 if there is no entry."""
        return np.where(self.entries, np.outer(self.t, self.f), 0.0)

    @property
    def base(self) -> float:
        """sum of x log(t f) - log x! over the entries, the part of log p(X | Z) that is free of Z."""
        x, exposure = self.values[self.entries], self.exposures[self.entries]
        return float(np.sum(x * np.log(exposure) - gammaln(x + 1)))

    @property
    def T(self) -> CountData:  # noqa: N802 - the name NumPy uses
        """The same counts with rows and columns swapped."""
        return CountData(self.x.T, self.f, self.t, self.directed)

    def hiding(self, i: int) -> CountData:
        """The counts with every entry of object ``i`` of the rows (of a network: of both sides) missing."""
        x = self.x.copy()
        x[i] = np.nan
        if self.directed is not None:
            x[:, i] = np.nan
        return self._replace(x=x)

    def rescaled(self, c: float) -> CountData:
        """The same counts with t multiplied by ``c``; rates 1 / c times as large explain them alike."""
        return self._replace(t=c * self.t)


def expected_sum(data: CountData, weights: Array, q: Parts) -> Array:
    """E of the sum of ``weights`` over each block under a factorised q, as (K1, K2)."""
    if data.directed is None:
        return dense_irm.expected_count(weights, q[0], q[1])
    return dense_network.expected_count(weights, q[0], data.directed)


def sums(data: CountData, q: Parts) -> tuple[Array, Array]:
    """Expected counts n and exposures e of the blocks, (K1, K2) each."""
    return expected_sum(data, data.values, q), expected_sum(data, data.exposures, q)


def placed(q: Parts, i: int, k: int) -> Parts:
    """The responsibilities with object ``i`` of the first domain certainly in cluster ``k``."""
    first = q[0].copy()
    first[i] = np.eye(first.shape[1])[k]
    return (first, *q[1:])


class Variances(NamedTuple):
    """Var n, Var e and Cov(n, e) of each block, (K1, K2) each."""

    counts: Array
    exposures: Array
    both: Array


def paper_variances(data: CountData, q: Parts, i: int | None = None, k: int = 0) -> Variances:
    """IRM14 eq. 91 with weights: entries vary independently with u_ik u_jl, u = q (1 - q).

    With ``i``: that object is certainly in cluster ``k``, so its entries vary with the other object alone.
    """
    x, exposure = data.values, data.exposures
    weights = (x**2, exposure**2, x * exposure)
    if data.directed is not None and i is not None:
        return Variances(
            *(dense_network.paper_variance_placed(w, q[0], i, k, data.directed) for w in weights)
        )
    spread = tuple(part * (1 - part) for part in q)
    if i is not None:
        spread = placed(spread, i, k)
    return Variances(*(expected_sum(data, w, spread) for w in weights))


def log_rate_integral(x: Array, y: Array) -> Array:
    """lgamma(x) - x log y = log of the integral of lambda^(x - 1) exp(-y lambda) over lambda > 0."""
    return np.asarray(gammaln(x) - x * np.log(y))


def second_order(x: Array, y: Array, variances: Variances) -> Array:
    """E of `log_rate_integral` to second order around the means x, y."""
    curvature = polygamma(1, x) * variances.counts + x / y**2 * variances.exposures
    return log_rate_integral(x, y) + 0.5 * (curvature - 2 / y * variances.both)


def each_block(data: CountData, values: Array) -> Array:
    """The values of the blocks, each once, as a vector."""
    return dense_network.each_block(values, data.directed is not False)


def lower_bound(data: CountData, q: Parts, a: PerBlock, b: PerBlock, alphas: Sequence[float]) -> float:
    """VB's lower bound at the best q(v), q(lambda) for a given q(Z), in closed form."""
    n, e = sums(data, q)
    blocks = log_rate_integral(a + n, b + e) - log_rate_integral(np.asarray(a), np.asarray(b))
    priors = sum(
        stick_evidence(part.sum(axis=0), alpha) + entropy(part) for part, alpha in zip(q, alphas, strict=True)
    )
    return float(each_block(data, blocks).sum()) + data.base + priors


def log_likelihood_of_labels(data: CountData, z: Sequence[Labels], a: PerBlock, b: PerBlock) -> float:
    """log p(X | Z) with every rate integrated out, adding up entry by entry; empty blocks add nothing."""
    z1, z2 = z[0], z[-1]
    found: dict[tuple[int, int], tuple[float, float]] = {}
    for i, j in np.argwhere(data.entries):
        block = (int(z1[i]), int(z2[j]))
        if data.directed is False:
            block = (min(block), max(block))
        n, e = found.get(block, (0.0, 0.0))
        found[block] = (n + data.x[i, j], e + data.t[i] * data.f[j])
    total = data.base
    for block, (n, e) in found.items():
        a_kl, b_kl = (float(c if np.ndim(c) == 0 else np.asarray(c)[block]) for c in (a, b))
        total += gammaln(a_kl + n) - gammaln(a_kl) + a_kl * np.log(b_kl) - (a_kl + n) * np.log(b_kl + e)
    return float(total)


def log_joint(
    data: CountData,
    z: Sequence[Labels],
    a: PerBlock,
    b: PerBlock,
    alphas: Sequence[float],
    sizes: Sequence[int] | None = None,
) -> float:
    """Exact collapsed log p(X, Z) for hard labels under truncated stick breaking (v_K = 1), ``sizes`` = the Ks.

    Without ``sizes``: the labels are names of partitions under the Chinese restaurant process; scalar a, b.
    """
    priors = [crp_log_prior(part, alpha) for part, alpha in zip(z, alphas, strict=True)]
    if sizes:
        priors = [stick_log_prior(*one) for one in zip(z, alphas, sizes, strict=True)]
    return log_likelihood_of_labels(data, z, a, b) + sum(priors)


Terms = Callable[[CountData, Parts, int | None, int], Array]
Update = Callable[[CountData, Parts, int, PerBlock, PerBlock, float], tuple[Array, float]]


def _update(data: CountData, q: Parts, i: int, alpha: float, terms: Terms) -> tuple[Array, float]:
    """Put object ``i`` into each cluster in turn; ``terms`` are E of `log_rate_integral` of the blocks.

    The log normaliser has the part of the object's entries that is free of Z.
    """
    hidden = data.hiding(i)
    before = terms(hidden, q, None, 0)
    log_weights = log_prior_terms(np.delete(q[0], i, axis=0).sum(axis=0), alpha)
    for k in range(q[0].shape[1]):
        log_weights[k] += each_block(data, terms(data, q, i, k) - before).sum()
    row, log_normaliser = normalise(log_weights)
    return row, log_normaliser + data.base - hidden.base


def update_cvb0(
    data: CountData, q: Parts, i: int, a: PerBlock, b: PerBlock, alpha: float
) -> tuple[Array, float]:
    """CVB0 update of object ``i`` of the first domain: the new row and the log of its normaliser (log C_i).

    The exact conditional p(z_i = k | Z without i, X) with both sums replaced by their expectations.
    """

    def terms(part: CountData, q: Parts, i: int | None, k: int) -> Array:
        n, e = sums(part, q if i is None else placed(q, i, k))
        return log_rate_integral(a + n, b + e)

    return _update(data, q, i, alpha, terms)


def update_cvb2(
    data: CountData, q: Parts, i: int, a: PerBlock, b: PerBlock, alpha: float
) -> tuple[Array, float]:
    """Second-order CVB update with the paper's variances; the prior term is that of CVB0 (IRM14 eqs. 87-99)."""

    def terms(part: CountData, q: Parts, i: int | None, k: int) -> Array:
        n, e = sums(part, q if i is None else placed(q, i, k))
        return second_order(a + n, b + e, paper_variances(part, q, i, k))

    return _update(data, q, i, alpha, terms)


def sweep(
    update: Update,
    data: CountData,
    q: Parts,
    orders: Sequence[Iterable[int]],
    a: PerBlock,
    b: PerBlock,
    alphas: Sequence[float],
) -> tuple[Parts, float]:
    """Update one object after another in ``orders``, the first domain before the second.

    Returns new responsibilities and the sum of the log normalisers on the way.
    """
    q, total = tuple(part.copy() for part in q), 0.0
    for i in orders[0]:
        q[0][i], log_normaliser = update(data, q, i, a, b, alphas[0])
        total += log_normaliser
    for j in orders[1] if len(q) > 1 else ():
        q[1][j], log_normaliser = update(data.T, q[::-1], j, np.transpose(a), np.transpose(b), alphas[1])
        total += log_normaliser
    return q, total


def pseudo_loo(data: CountData, q: Parts, a: PerBlock, b: PerBlock, alphas: Sequence[float]) -> float:
    """The sum of log C_i of CVB0 at the current q; nothing is updated."""
    total = sum(update_cvb0(data, q, i, a, b, alphas[0])[1] for i in range(len(q[0])))
    if len(q) > 1:
        a, b = np.transpose(a), np.transpose(b)
        total += sum(update_cvb0(data.T, q[::-1], j, a, b, alphas[1])[1] for j in range(len(q[1])))
    return total


def rate_factor(data: CountData, q: Parts, a: PerBlock, b: PerBlock) -> tuple[Array, Array]:
    """Shape a + n and rate b + e of the conjugate q(lambda)."""
    n, e = sums(data, q)
    return a + n, b + e


def vb_sweep(
    data: CountData,
    q: Parts,
    orders: Sequence[Iterable[int]],
    a: PerBlock,
    b: PerBlock,
    alphas: Sequence[float],
) -> Parts:
    """VB: each domain in turn under q(v), q(lambda) of the current q.

    Objects of a network are neighbours of each other: they change one after another, in the one order given.
    """
    first = _vb_domain(data, q, orders[0], a, b, alphas[0])
    if len(q) == 1:
        return (first,)
    second = _vb_domain(data.T, (q[1], first), orders[1], np.transpose(a), np.transpose(b), alphas[1])
    return first, second


def _vb_domain(
    data: CountData, q: Parts, order: Iterable[int], a: PerBlock, b: PerBlock, alpha: float
) -> Array:
    """New responsibilities of the first domain: E log pi_k + the expected log density of the object's entries."""
    shape, rate = rate_factor(data, q, a, b)
    log_rate, mean_rate = digamma(shape) - np.log(rate), shape / rate
    log_pi = expected_log_pi(stick_posterior(q[0], alpha))
    new = q[0].copy()
    others = new if data.directed is not None else q[1]
    for i in order:
        log_weights = log_pi.copy()
        for row, column in np.argwhere(data.entries):
            log_density = data.x[row, column] * log_rate - data.t[row] * data.f[column] * mean_rate
            if row == i and column == i and data.directed is not None:
                log_weights += np.diag(log_density)
            elif row == i:
                log_weights += log_density @ others[column]
            elif column == i and data.directed is not None:
                log_weights += others[row] @ log_density
        new[i] = normalise(log_weights)[0]
    return new


def pair_weights(data: CountData, q: Parts) -> Array:
    """q(z_i = k, z_j = l) of every pair, as (N1, N2, K1, K2); an object and itself are in the same cluster."""
    weights = np.einsum("ik,jl->ijkl", q[0], q[-1])
    if data.directed is not None:
        for i, row in enumerate(q[0]):
            weights[i, i] = np.diag(row)
    return weights


def log_predict(data: CountData, q: Parts, a: PerBlock, b: PerBlock, x: Array) -> Array:
    """log p(x_ij) of a count for every pair: a mixture of negative binomials, as (N1, N2)."""
    shape, rate = rate_factor(data, q, a, b)
    exposure = np.outer(data.t, data.f)[:, :, None, None]
    x = np.broadcast_to(x, data.x.shape)[:, :, None, None]
    log_p = gammaln(shape + x) - gammaln(shape) - gammaln(x + 1)
    log_p = log_p + shape * np.log(rate / (rate + exposure)) + x * np.log(exposure / (rate + exposure))
    with np.errstate(divide="ignore"):
        return np.asarray(logsumexp(log_p + np.log(pair_weights(data, q)), axis=(2, 3)))


def expected_value(data: CountData, q: Parts, a: PerBlock, b: PerBlock) -> Array:
    """E x_ij = t_i f_j sum_kl q_ik q_jl (a + n) / (b + e) for every pair, as (N1, N2)."""
    shape, rate = rate_factor(data, q, a, b)
    return np.outer(data.t, data.f) * np.einsum("ijkl,kl->ij", pair_weights(data, q), shape / rate)
