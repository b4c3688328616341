"""Dense reference of maximisation-expectation for the IBP with non-negative weights (MEIBP).

    w_kd ~ N(0, weight_var) cut off below 0,  x_nd = b_d + z_n' w_d + N(0, noise_var_d),  Z ~ IBP(alpha)
    q(w_kd) = N(location, scale^2) cut off below 0, independent; Z and the hyper-parameters are points

Missing cells are cells that are not visited.
Paper: RG13 = Reed, Ghahramani, ICML 2013.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import erfcx, log_ndtr

from tests.oracles.dense_irm import Array
from tests.oracles.dense_lfm import cells, seen


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
