"""Dense reference of latent feature models (LFM): the formulas term by term in plain NumPy, to check faster code.

    x_n = W' z_n + b + noise,   z_nk ~ Bernoulli(pi_k),   noise_nd ~ N(0, 1 / lambda_d)

Convention: ``x`` is (N, D) on the scale the method works on (standardised columns), NaN = missing. ``Features`` are the
arrays of a posterior under their own names, so ``Features.of(posterior.arrays)`` is a state. Nothing is incremental, no
moment is kept: cells are visited one by one, and a missing cell is one that is not visited.
Papers: HF13 = Hayashi, Fujimaki, NIPS 26 (2013).

What "dof" maximises. HF13's Lemma 1 drops lambda_d from the Hessian lambda_d sum_n z_n z_n' of a column's weights.
Kept, and with a prior of the weights as wide as the column (s_d = sd of its observed cells), it gives

    L_c = L - K/2 sum_d log(lambda_d s_d^2)

s_d is a constant: with or without it lambda_d = (N_d - K) / S_d is the argmax. It belongs in L_c, since only then
a change of a column's unit moves L_c as it moves L, by -N_d log(unit) whatever K is; without it K log(unit) comes on
top, and values at different K mean nothing. On standardised columns s_d = 1. Where N_d <= K the floor of
max(N_d - K, 1) is no argmax: L_c only falls with lambda_d, and may fall in such a step.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit, xlog1py, xlogy

from tests.oracles.dense_irm import Array

MODES = ("paper", "dof", "em")


class Features(NamedTuple):
    """mu (N, K), W (K, D), pi (K,), b (D,), lambda (D,)."""

    objects: Array
    weights: Array
    pi: Array
    bias: Array
    precision: Array

    @classmethod
    def of(cls, arrays: Mapping[str, Array]) -> Features:
        """The state in the arrays of a posterior."""
        return cls(*(np.asarray(arrays[name], dtype=float) for name in cls._fields))

    @property
    def size(self) -> int:
        """K."""
        return self.objects.shape[1]

    def with_object(self, n: int, k: int, value: float) -> Features:
        """The same with another mu_nk."""
        objects = self.objects.copy()
        objects[n, k] = value
        return self._replace(objects=objects)

    def reordered(self, order: Array) -> Features:
        """The same with the features in another order, or some of them only."""
        return self._replace(objects=self.objects[:, order], weights=self.weights[order], pi=self.pi[order])


def seen(x: Array) -> Array:
    """Which cells are observed (N, D)."""
    return ~np.isnan(x)


def cells(x: Array) -> list[tuple[int, int]]:
    """(n, d) of each observed cell."""
    return [(int(n), int(d)) for n, d in np.argwhere(seen(x))]


def per_column(x: Array) -> Array:
    """N_d: observed cells of each column (D,)."""
    return seen(x).sum(axis=0).astype(float)


def column_sds(x: Array) -> Array:
    """s_d: standard deviation of each column's observed cells (D,)."""
    return np.array([x[seen(x)[:, d], d].std() for d in range(x.shape[1])])


def residual_squares(x: Array, state: Features) -> Array:
    """S_d = sum over observed n of E (x_nd - b_d - w_d' z_n)^2 (D,)."""
    squares = np.zeros(x.shape[1])
    spread = state.objects * (1 - state.objects)
    for n, d in cells(x):
        mean = state.bias[d] + state.objects[n] @ state.weights[:, d]
        squares[d] += (x[n, d] - mean) ** 2 + spread[n] @ state.weights[:, d] ** 2
    return squares


def expected_log_likelihood(x: Array, state: Features) -> float:
    """E log p(X | Z): sum_d N_d/2 log(lambda_d / 2 pi) - lambda_d S_d / 2."""
    logs = per_column(x) * np.log(state.precision / (2 * np.pi))
    return float((logs - state.precision * residual_squares(x, state)).sum() / 2)


def expected_log_prior(state: Features) -> float:
    """E log p(Z | pi)."""
    return float((xlogy(state.objects, state.pi) + xlog1py(1 - state.objects, -state.pi)).sum())


def entropy(objects: Array) -> float:
    """H(q) of independent Bernoullis."""
    return -float((xlogy(objects, objects) + xlog1py(1 - objects, -objects)).sum())


def regulariser(x: Array, state: Features, tilde: Array) -> float:
    """D/2 sum_k [ log(N pit_k) + (mean_n mu_nk - pit_k) / pit_k ]: the tangent at ``tilde`` of D/2 log sum_n z_nk."""
    n, d = x.shape
    share = state.objects.sum(axis=0) / n
    return float(d / 2 * (np.log(n * tilde) + (share - tilde) / tilde).sum())


def parameter_term(x: Array, size: int) -> float:
    """(2D + K)/2 log N, or with missing cells sum_d log N_d + K/2 log N: one bias and one precision a column."""
    return float(np.log(per_column(x)).sum() + size / 2 * np.log(len(x)))


def bound(x: Array, state: Features, mode: str, tilde: Array | None = None) -> float:
    """L of HF13 ("paper"), L_c ("dof"), or the variational lower bound without a regulariser ("em").

    ``tilde`` is where the logarithm of a feature's size is linearised; the mean of mu_.k if not given, its best place.
    """
    value = expected_log_likelihood(x, state) + expected_log_prior(state) + entropy(state.objects)
    if mode == "em":
        return value
    tilde = state.objects.sum(axis=0) / len(x) if tilde is None else tilde
    value -= regulariser(x, state, tilde) + parameter_term(x, state.size)
    if mode == "dof":
        value -= state.size / 2 * float(np.log(state.precision * column_sds(x) ** 2).sum())
    return value


def likelihood_gain(x: Array, state: Features, n: int, k: int) -> float:
    """c_nk = E log p(x_n | z_nk = 1) - E log p(x_n | z_nk = 0) over the observed cells of n."""
    total = 0.0
    for d in np.flatnonzero(seen(x)[n]):
        others = sum(state.objects[n, j] * state.weights[j, d] for j in range(state.size) if j != k)
        w = state.weights[k, d]
        total += state.precision[d] * w * (x[n, d] - state.bias[d] - others - w / 2)
    return float(total)


def shift(x: Array, pi: Array, mode: str) -> Array:
    """The term that is added to c_nk in an update: logit(pi_k) - D / (2 N pi_k), or logit(pi_k) alone for EM."""
    n, d = x.shape
    return logit(pi) - (0.0 if mode == "em" else d / (2 * n * pi))


def e_update(x: Array, state: Features, n: int, k: int, mode: str) -> float:
    """The new mu_nk, at fixed pi_k = pit_k."""
    return float(expit(likelihood_gain(x, state, n, k) + shift(x, state.pi, mode)[k]))


def e_sweep(x: Array, state: Features, mode: str) -> Features:
    """Every mu_nk once, feature by feature, at fixed parameters (objects do not influence each other)."""
    for k in range(state.size):
        for n in range(len(x)):
            state = state.with_object(n, k, e_update(x, state, n, k, mode))
    return state


def accelerate(x: Array, state: Features, k: int, mode: str, rounds: int = 1000) -> Features:
    """{mu_.k, pi_k} in turn until they stand still, W, b and lambda fixed (HF13 Algorithm 2); c_.k does not change."""
    gains = np.array([likelihood_gain(x, state, n, k) for n in range(len(x))])
    objects, pi = state.objects.copy(), state.pi.copy()
    for _ in range(rounds):
        before = pi[k]
        objects[:, k] = expit(gains + shift(x, pi, mode)[k])
        pi[k] = objects[:, k].mean()
        if pi[k] == 0 or abs(pi[k] - before) <= 1e-15 * pi[k]:
            break
    return state._replace(objects=objects, pi=pi)


def weights_and_bias(x: Array, objects: Array) -> tuple[Array, Array]:
    """W (K, D) and b (D,) that minimise every S_d; those of least norm where several do."""
    size = objects.shape[1]
    weights, bias = np.zeros((size, x.shape[1])), np.zeros(x.shape[1])
    for d in range(x.shape[1]):
        moments, target = np.zeros((size + 1, size + 1)), np.zeros(size + 1)
        for n in np.flatnonzero(seen(x)[:, d]):
            design = np.append(objects[n], 1.0)
            moments += np.outer(design, design) + np.diag(design - design**2)
            target += design * x[n, d]
        solution = np.linalg.lstsq(moments, target, rcond=None)[0]
        weights[:, d], bias[d] = solution[:-1], solution[-1]
    return weights, bias


def noise_precision(x: Array, state: Features, mode: str) -> Array:
    """lambda_d = N_d / S_d, or max(N_d - K, 1) / S_d for "dof"."""
    numbers = per_column(x)
    if mode == "dof":
        numbers = np.maximum(numbers - state.size, 1.0)
    return numbers / residual_squares(x, state)


def m_step(x: Array, objects: Array, mode: str) -> Features:
    """All parameters at their best for given mu."""
    weights, bias = weights_and_bias(x, objects)
    state = Features(objects, weights, objects.mean(axis=0), bias, np.ones(x.shape[1]))
    return state._replace(precision=noise_precision(x, state, mode))


def sweep(x: Array, state: Features, mode: str) -> Features:
    """An M step, then an E step."""
    return e_sweep(x, m_step(x, state.objects, mode), mode)


def predictive_moments(
    state: Features, n: int, d: int, weight_variance: Array | None = None
) -> tuple[float, float]:
    """Mean and variance of x_nd under q (and independent weights of these variances, if given)."""
    mu, w = state.objects[n], state.weights[:, d]
    variance = 1 / state.precision[d] + (mu * (1 - mu)) @ w**2
    if weight_variance is not None:
        variance += mu @ weight_variance[:, d]
    return float(state.bias[d] + mu @ w), float(variance)


def log_predictive(
    state: Features, n: int, d: int, value: float, weight_variance: Array | None = None
) -> float:
    """log of the Gaussian with those moments."""
    mean, variance = predictive_moments(state, n, d, weight_variance)
    return float(-0.5 * (np.log(2 * np.pi * variance) + (value - mean) ** 2 / variance))


def always_on_to_bias(state: Features, k: int) -> Features:
    """Feature k added to the bias and taken out: the same model where mu_.k = 1."""
    others = np.delete(np.arange(state.size), k)
    return state.reordered(others)._replace(bias=state.bias + state.weights[k])
