"""The oracle of VB for latent features against enumeration, quadrature and the evidence; its updates as argmaxes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import beta, gamma, norm

from tests.loops import for_each
from tests.oracles import dense_lfm_vb as vb
from tests.oracles import lfm_enumeration as exact
from tests.oracles.dense_lfm_vb import VbPrior, VbState
from tests.oracles.lfm_cases import random_case, without_cells

PRIORS = {
    "free": VbPrior((0.7, 1.0), 1.4),
    "bayesian": VbPrior((0.4, 1.3), 0.8, 0.5, (1.5, 0.9)),
}
EVERY_PRIOR = for_each("prior", PRIORS)
FACTORISED = for_each("factorised", [True, False])


def table(seed: int) -> np.ndarray:
    """5 x 3 with missing cells, one object without any."""
    return without_cells(random_case(seed, (5, 3), missing=0.2), 1).x


def state_of(seed: int, prior: VbPrior, factorised: bool, shape: tuple[int, int] = (5, 3)) -> VbState:
    rng = np.random.default_rng(seed)
    (n, d), size = shape, 2
    roots = rng.normal(size=(d, size, size))
    covariance = 0.3 * roots @ roots.transpose(0, 2, 1) + 0.1 * np.eye(size)
    free, noise = prior.bias_variance is None, rng.uniform(1, 3, (d, 2))
    return VbState(
        rng.uniform(0.05, 0.95, (n, size)),
        rng.uniform(0.5, 3, (size, 2)),
        rng.normal(size=(size, d)),
        covariance * np.eye(size) if factorised else covariance,
        rng.normal(0, 0.3, d),
        np.zeros(d) if free else rng.uniform(0.1, 0.5, d),
        noise[:, 0] if prior.noise is None else noise,
    )


def enumerated(x: np.ndarray, s: VbState, prior: VbPrior) -> float:
    """The bound over every vector of activations, Gaussians by quadrature nodes, divergences by integrals."""
    nodes, w = np.polynomial.hermite_e.hermegauss(4)  # exact up to degree 7, and squares are of degree 2
    w = w / w.sum()
    total, size = 0.0, s.size
    shares = [beta(*pair) for pair in s.sticks]
    on = [quad(lambda p, law=law: law.pdf(p) * np.log(p), 0, 1)[0] for law in shares]
    off = [quad(lambda p, law=law: law.pdf(p) * np.log1p(-p), 0, 1)[0] for law in shares]
    for row, mu in zip(x, s.objects, strict=True):
        for z in exact.settings(size):
            q = exact.law(mu, z)
            value = z @ on + (1 - z) @ off - np.log(q)
            for d in np.flatnonzero(~np.isnan(row)):
                root, square = np.linalg.cholesky(s.covariance[d]), 0.0
                for i, j, k in np.ndindex(4, 4, 4):
                    weights = s.weights[:, d] + root @ nodes[[i, j]]
                    bias = s.bias[d] + np.sqrt(s.bias_variance[d]) * nodes[k]
                    square += w[i] * w[j] * w[k] * (row[d] - bias - z @ weights) ** 2
                value += (s.log_precision[d] - np.log(2 * np.pi) - s.precision[d] * square) / 2
            total += q * value
    for law in shares:
        total -= divergence(law, beta(*prior.sticks), 0, 1)
    for d in range(x.shape[1]):
        total -= vb.gaussian_divergence(s.weights[:, d], s.covariance[d], prior.weight_variance)
        if prior.bias_variance is not None:
            law = norm(s.bias[d], np.sqrt(s.bias_variance[d]))
            total -= divergence(law, norm(0, np.sqrt(prior.bias_variance)), -12, 12)
        if prior.noise is not None:
            law, base = (gamma(a, scale=1 / b) for a, b in (s.noise[d], prior.noise))
            total -= divergence(law, base, 0, np.inf)
    return float(total)


def divergence(law, base, low: float, high: float) -> float:
    def integrand(t):
        return law.pdf(t) * (law.logpdf(t) - base.logpdf(t)) if law.pdf(t) > 0 else 0.0

    return quad(integrand, low, high, limit=200)[0]


@EVERY_PRIOR
@FACTORISED
def test_bound_is_its_expectation(prior, factorised):
    x, state = table(0), state_of(0, prior, factorised)
    assert vb.vb_bound(x, state, prior) == pytest.approx(enumerated(x, state, prior), abs=1e-6)


def assert_best(x, state: VbState, prior: VbPrior, name: str, place: tuple, low: float = -np.inf) -> None:
    """The bound is stationary in one number of a state, and lower on both sides of it."""
    best = getattr(state, name)[place]

    def value(t):
        array = getattr(state, name).copy()
        array[place] = t
        if name == "covariance":
            array[place[0], place[2], place[1]] = t
        return vb.vb_bound(x, state._replace(**{name: array}), prior)

    step = (
        1e-4 * max(abs(best), 0.1)
        if low == -np.inf
        else 1e-4 * min(best, 1 - best if name == "objects" else best)
    )
    assert (value(best + step) - value(best - step)) / (2 * step) == pytest.approx(0, abs=2e-5)
    for far in (1, 300):
        assert max(value(best + far * step), value(best - far * step)) < value(best)


@EVERY_PRIOR
@FACTORISED
@for_each("seed", [0, 1])
def test_every_update_is_the_argmax_of_the_bound(seed, factorised, prior):
    x, state = table(seed), state_of(seed, prior, factorised)
    sticks = state._replace(sticks=vb.stick_update(state, prior))
    for k, j in np.ndindex(2, 2):
        assert_best(x, sticks, prior, "sticks", (k, j), 0)
    for n, k in np.ndindex(5, 2):
        objects = state.objects.copy()
        objects[n, k] = vb.activation_update(x, state, n, k)
        assert_best(x, state._replace(objects=objects), prior, "objects", (n, k), 0)
    noise = state._replace(noise=vb.noise_update(x, state, prior))
    for place in np.ndindex(noise.noise.shape):
        assert_best(x, noise, prior, "noise", place, 0)
    for d in range(3):
        bias, spread = state.bias.copy(), state.bias_variance.copy()
        bias[d], spread[d] = vb.bias_update(x, state, prior, d)
        fitted = state._replace(bias=bias, bias_variance=spread)
        assert_best(x, fitted, prior, "bias", (d,))
        if prior.bias_variance is not None:
            assert_best(x, fitted, prior, "bias_variance", (d,), 0)
    values = [
        vb.vb_bound(x, state, prior._replace(weight_variance=f * vb.weight_variance_update(state)))
        for f in (0.99, 1.0, 1.01)
    ]
    assert values[1] > max(values[0], values[2])
    assert values[0] == pytest.approx(values[2], abs=1e-4)


@EVERY_PRIOR
def test_updates_of_weights_are_the_argmax_of_the_bound(prior):
    for d in range(3):
        x, state = table(0), state_of(0, prior, True)
        for k in range(2):
            weights, covariance = state.weights.copy(), state.covariance.copy()
            weights[k, d], covariance[d, k, k] = vb.weight_update(x, state, prior, k, d)
            fitted = state._replace(weights=weights, covariance=covariance)
            assert_best(x, fitted, prior, "weights", (k, d))
            assert_best(x, fitted, prior, "covariance", (d, k, k), 0)
        state = state_of(0, prior, False)
        weights, covariance = state.weights.copy(), state.covariance.copy()
        weights[:, d], covariance[d] = vb.column_update(x, state, prior, d)
        fitted = state._replace(weights=weights, covariance=covariance)
        for j, k in np.ndindex(2, 2):
            assert_best(x, fitted, prior, "weights", (k, d))
            assert_best(x, fitted, prior, "covariance", (d, j, k))
