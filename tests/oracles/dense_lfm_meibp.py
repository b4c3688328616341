"""Dense reference of maximisation-expectation for the IBP with non-negative weights (MEIBP).

    w_kd ~ N(0, weight_var) cut off below 0,  x_nd = b_d + z_n' w_d + N(0, noise_var_d),  Z ~ IBP(alpha)
    q(w_kd) = N(location, scale^2) cut off below 0, independent; Z and the hyper-parameters are points

    F = E log p(X | Z, W) + E log p(W) + H(q) + log P([Z])   <=   log p(X, [Z])

Given q, an object's part of F is  z' xi - z' G z / 2  with G_kl = sum_d E w_kd E w_ld / noise_var_d >= 0, plus
the prior's log odds for each feature. It is submodular in the set of its features, so adding and deleting them
greedily, one at a time, does well. Missing cells are cells that are not visited.
Paper: RG13 = Reed, Ghahramani, ICML 2013. It counts shift classes (K+! in place of prod K_h!): the weights tell
features apart.

    truncated_moments(location, scale)     mean, variance, entropy, elementwise
    me_bound(x, state)                     F
    me_weight_update(x, state, k, d)       location and scale of w_kd, the other weights as they are
    me_object_value(x, state, n, z)        part of F that depends on the row z (K,) of object n
    me_object_best(x, state, n)            the best row, of all 2**K
    me_object_greedy(x, state, n, z)       from the row z, one flip after another while F rises
    me_noise_update, me_weight_var_update, me_bias_update (x, state)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import erfcx, log_ndtr

from tests.oracles.dense_irm import Array
from tests.oracles.dense_lfm import cells, per_column, seen
from tests.oracles.dense_lfm_ibp import ibp_log_prior
from tests.oracles.lfm_enumeration import settings


class MeState(NamedTuple):
    """z (N, K), location and scale (K, D) of the weights, b (D,), noise_var (D,), weight_var, alpha."""

    objects: Array
    location: Array
    scale: Array
    bias: Array
    noise_var: Array
    weight_var: float
    alpha: float

    @property
    def moments(self) -> tuple[Array, Array]:
        """E w and Var w (K, D)."""
        mean, variance, _ = truncated_moments(self.location, self.scale)
        return mean, variance

    def with_row(self, n: int, z: Array) -> MeState:
        """The same with another row of activations."""
        objects = self.objects.copy()
        objects[n] = z
        return self._replace(objects=objects)


def truncated_moments(location: Array | float, scale: Array | float) -> tuple[Array, Array, Array]:
    """Mean, variance and entropy of N(location, scale^2) cut off below 0.

    With r = location / scale and h = phi(r) / Phi(r): location + scale h, scale^2 (1 - r h - h^2) and
    log scale + log(2 pi e)/2 + log Phi(r) - r h / 2. The variance loses digits as r^4: good to 1e-8 at r = -50.
    """
    ratio = np.asarray(location) / scale
    hazard = np.sqrt(2 / np.pi) / erfcx(-ratio / np.sqrt(2))
    mean = location + scale * hazard
    variance = np.square(scale) * (1 - ratio * hazard - hazard**2)
    entropy = np.log(scale) + np.log(2 * np.pi * np.e) / 2 + log_ndtr(ratio) - ratio * hazard / 2
    return mean, variance, entropy


def residual_squares(x: Array, state: MeState) -> Array:
    """S_d = sum over observed n of E (x_nd - b_d - z_n' w_d)^2 (D,)."""
    mean, variance = state.moments
    squares = np.zeros(x.shape[1])
    for n, d in cells(x):
        z = state.objects[n]
        squares[d] += (x[n, d] - state.bias[d] - z @ mean[:, d]) ** 2 + z @ variance[:, d]
    return squares


def me_bound(x: Array, state: MeState, classes: str = "shift") -> float:
    """F."""
    mean, variance, entropy = truncated_moments(state.location, state.scale)
    value = -(per_column(x) * np.log(2 * np.pi * state.noise_var)).sum() / 2
    value -= (residual_squares(x, state) / state.noise_var).sum() / 2
    log_half_normal = np.log(2) - np.log(2 * np.pi * state.weight_var) / 2
    value += (log_half_normal - (mean**2 + variance) / (2 * state.weight_var) + entropy).sum()
    return float(value + ibp_log_prior(state.objects, state.alpha, classes))


def me_weight_update(x: Array, state: MeState, k: int, d: int) -> tuple[float, float]:
    """Location and scale of w_kd."""
    mean, _ = state.moments
    others = np.delete(np.arange(len(mean)), k)
    information, target = 1 / state.weight_var, 0.0
    for n in np.flatnonzero(seen(x)[:, d]):
        z = state.objects[n]
        information += z[k] / state.noise_var[d]
        target += z[k] * (x[n, d] - state.bias[d] - z[others] @ mean[others, d]) / state.noise_var[d]
    return target / information, information**-0.5


def me_object_value(x: Array, state: MeState, n: int, z: Array) -> float:
    """z' xi - z' G z / 2 and the log odds m / (N - m) of features that other objects have.

    A feature that no other object has is its own: ``z`` must leave it as it is (its prior depends on all others').
    """
    mean, variance = state.moments
    value = 0.0
    for d in np.flatnonzero(seen(x)[n]):
        fit = z @ mean[:, d]
        gap = x[n, d] - state.bias[d]
        value += (gap * fit - fit**2 / 2 - z @ variance[:, d] / 2) / state.noise_var[d]
    for k in shared_features(state, n):
        ones = np.delete(state.objects[:, k], n).sum()
        value += z[k] * np.log(ones / (len(x) - ones))
    return float(value)


def shared_features(state: MeState, n: int) -> list[int]:
    """Features that another object has."""
    return [int(k) for k in np.flatnonzero(state.objects.sum(axis=0) > state.objects[n])]


def me_object_best(x: Array, state: MeState, n: int) -> Array:
    """The row of object n with the largest F; its own features stay."""
    shared, row = shared_features(state, n), state.objects[n].copy()
    rows = []
    for choice in settings(len(shared)):
        row[shared] = choice
        rows.append(row.copy())
    return max(rows, key=lambda z: me_object_value(x, state, n, z))


def me_object_greedy(x: Array, state: MeState, n: int, z: Array) -> Array:
    """From the row ``z``: the best single flip of a shared feature, again and again, while F rises."""
    while True:
        flips = [np.abs(z - np.eye(len(z))[k]) for k in shared_features(state, n)]
        better = max(flips, key=lambda other: me_object_value(x, state, n, other), default=z)
        if me_object_value(x, state, n, better) <= me_object_value(x, state, n, z):
            return z
        z = better


def me_noise_update(x: Array, state: MeState) -> Array:
    """noise_var_d = S_d / N_d."""
    return residual_squares(x, state) / per_column(x)


def me_weight_var_update(state: MeState) -> float:
    """weight_var = mean over k and d of E w_kd^2."""
    mean, variance = state.moments
    return float((mean**2 + variance).mean())


def me_bias_update(x: Array, state: MeState) -> Array:
    """b_d: mean residual of the observed cells."""
    return np.nanmean(x - state.objects @ state.moments[0], axis=0)
