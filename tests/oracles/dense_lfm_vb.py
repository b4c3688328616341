"""Dense reference of variational Bayes for the finite beta-Bernoulli feature model, one coordinate at a time.

    pi_k ~ Beta(a, c) (a = alpha / K, c = 1 in the paper),  w_kd ~ N(0, weight_variance)
    b_d ~ N(0, bias_variance), or free;  noise of column d: a free precision lambda_d, or lambda_d ~ Gamma(shape, rate)

    q = prod_k Beta(tau_k) prod_nk Bernoulli(mu_nk) prod_d N(w_d; m_d, C_d) N(b_d; ., .) Gamma(lambda_d; ., .)

C_d is (K, K): a full one is the best Gaussian of a column's weights, a diagonal one (``factorised``) that of the paper,
where the weights of different features are independent. Missing cells are cells that are not visited.
Paper: DMVT09 = Doshi-Velez, Miller, Van Gael, Teh, AISTATS 2009.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import betaln, digamma, gammaln

from tests.oracles.dense_irm import Array
from tests.oracles.dense_lfm import cells, entropy, per_column, seen


class VbPrior(NamedTuple):
    """Hyper-parameters; ``bias_variance`` None: b is free (flat prior, no variance); ``noise`` None: so is lambda."""

    sticks: tuple[float, float]
    weight_variance: float
    bias_variance: float | None = None
    noise: tuple[float, float] | None = None


class VbState(NamedTuple):
    """mu (N, K), tau (K, 2), m (K, D), C (D, K, K), bias and its variance (D,), noise (D,) or (D, 2) shape and rate."""

    objects: Array
    sticks: Array
    weights: Array
    covariance: Array
    bias: Array
    bias_variance: Array
    noise: Array

    @property
    def size(self) -> int:
        """K."""
        return self.objects.shape[1]

    @property
    def precision(self) -> Array:
        """E lambda_d (D,)."""
        return self.noise if self.noise.ndim == 1 else self.noise[:, 0] / self.noise[:, 1]

    @property
    def log_precision(self) -> Array:
        """E log lambda_d (D,)."""
        if self.noise.ndim == 1:
            return np.log(self.noise)
        return digamma(self.noise[:, 0]) - np.log(self.noise[:, 1])

    @property
    def log_shares(self) -> tuple[Array, Array]:
        """E log pi_k and E log(1 - pi_k)."""
        total = digamma(self.sticks.sum(axis=1))
        return digamma(self.sticks[:, 0]) - total, digamma(self.sticks[:, 1]) - total

    @property
    def weight_variance(self) -> Array:
        """Var w_kd (K, D)."""
        return np.array([np.diag(c) for c in self.covariance]).T


def second_moments(mu: Array) -> Array:
    """E z z' of one object (K, K)."""
    return np.outer(mu, mu) + np.diag(mu - mu**2)


def residual_squares(x: Array, state: VbState) -> Array:
    """S_d = sum over observed n of E (x_nd - b_d - w_d' z_n)^2 (D,)."""
    squares = np.zeros(x.shape[1])
    for n, d in cells(x):
        gap, w = x[n, d] - state.bias[d], state.weights[:, d]
        moments = np.outer(w, w) + state.covariance[d]
        squares[d] += gap**2 - 2 * gap * (state.objects[n] @ w) + state.bias_variance[d]
        squares[d] += np.trace(second_moments(state.objects[n]) @ moments)
    return squares


def stick_divergence(sticks: Array, prior: tuple[float, float]) -> Array:
    """KL(Beta(tau_k) || Beta(a, c)) of each feature (K,)."""
    a, c = prior
    s, t = sticks.T
    value = betaln(a, c) - betaln(s, t) + (s - a) * digamma(s) + (t - c) * digamma(t)
    return value + (a - s + c - t) * digamma(s + t)


def gaussian_divergence(mean: Array, covariance: Array, variance: float) -> float:
    """KL(N(mean, covariance) || N(0, variance I))."""
    size = len(mean)
    spread = (np.trace(covariance) + mean @ mean) / variance
    return float((spread - size + size * np.log(variance) - np.linalg.slogdet(covariance)[1]) / 2)


def gamma_divergence(noise: Array, prior: tuple[float, float]) -> Array:
    """KL(Gamma(shape_d, rate_d) || Gamma(prior)) of each column (D,)."""
    (shape, rate), (a, b) = noise.T, prior
    value = (shape - a) * digamma(shape) - gammaln(shape) + gammaln(a) + a * (np.log(rate) - np.log(b))
    return value + shape * (b - rate) / rate


def vb_bound(x: Array, state: VbState, prior: VbPrior) -> float:
    """E log p(X, Z, ...) - E log q: no constant is left out, so it is at most log p(X)."""
    log_on, log_off = state.log_shares
    data = per_column(x) * (state.log_precision - np.log(2 * np.pi))
    value = (data - state.precision * residual_squares(x, state)).sum() / 2
    value += (state.objects * log_on + (1 - state.objects) * log_off).sum() + entropy(state.objects)
    value -= stick_divergence(state.sticks, prior.sticks).sum()
    for d in range(x.shape[1]):
        value -= gaussian_divergence(state.weights[:, d], state.covariance[d], prior.weight_variance)
        if prior.bias_variance is not None:
            spread = state.bias_variance[d : d + 1, None]
            value -= gaussian_divergence(state.bias[d : d + 1], spread, prior.bias_variance)
    if prior.noise is not None:
        value -= gamma_divergence(state.noise, prior.noise).sum()
    return float(value)


def weight_update(x: Array, state: VbState, prior: VbPrior, k: int, d: int) -> tuple[float, float]:
    """Mean and variance of w_kd where it is independent of the other weights."""
    others = np.delete(np.arange(state.size), k)
    information, target = 1 / prior.weight_variance, 0.0
    for n in np.flatnonzero(seen(x)[:, d]):
        mu = state.objects[n]
        gap = x[n, d] - state.bias[d] - mu[others] @ state.weights[others, d]
        information += state.precision[d] * mu[k]
        target += state.precision[d] * mu[k] * gap
    return target / information, 1 / information


def noise_update(x: Array, state: VbState, prior: VbPrior) -> Array:
    """Gamma (a + N_d / 2, b + S_d / 2) as (D, 2), or N_d / S_d (D,) where the precision is free."""
    numbers, squares = per_column(x), residual_squares(x, state)
    if prior.noise is None:
        return numbers / squares
    return np.column_stack([prior.noise[0] + numbers / 2, prior.noise[1] + squares / 2])


def weight_variance_update(state: VbState) -> float:
    """The weight_variance that maximises the bound: mean over k and d of E w_kd^2."""
    return float((state.weights**2 + state.weight_variance).mean())
