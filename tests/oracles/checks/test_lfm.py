"""The oracles of latent features: closed forms against enumeration and quadrature, updates as maxima of the bound."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.special import expit, logit
from scipy.stats import beta, gamma, norm

from tests.loops import for_each
from tests.oracles import dense_lfm as lfm
from tests.oracles import dense_lfm_meibp as me
from tests.oracles import dense_lfm_vb as vb
from tests.oracles import lfm_enumeration as exact
from tests.oracles.dense_lfm import MODES, Features
from tests.oracles.dense_lfm_vb import VbPrior, VbState
from tests.oracles.lfm_cases import LfmCase, edge_cases, larger_case, random_case, without_cells

EDGES = edge_cases()
EVERY_EDGE = for_each("name", list(EDGES))
EVERY_MODE = for_each("mode", MODES)


def shares(state: Features) -> np.ndarray:
    return state.objects.mean(axis=0)


@EVERY_MODE
@EVERY_EDGE
def test_bound_is_its_expectation_over_all_matrices(name, mode):
    x, state = EDGES[name]
    for tilde in (shares(state), np.random.default_rng(0).uniform(0.1, 0.9, state.size)):
        truth = exact.bound(x, state, mode, tilde)
        assert lfm.bound(x, state, mode, tilde) == pytest.approx(truth, abs=1e-9)
    assert lfm.bound(x, state, mode) == lfm.bound(x, state, mode, shares(state))


@EVERY_MODE
def test_an_update_is_stationary_to_rounding(mode):
    """The bound is concave in one mu: d/dmu = 0 is the argmax, here to more digits than a search gives."""
    for seed in range(4):
        x, state = larger_case(seed)
        n, k, step = seed, seed % 3, 1e-5
        best = lfm.e_update(x, state, n, k, mode)
        at = [
            lfm.bound(x, state.with_object(n, k, expit(logit(best) + s)), mode, state.pi)
            for s in (-step, step)
        ]
        assert (at[1] - at[0]) / (2 * step) == pytest.approx(0, abs=1e-7)


@EVERY_EDGE
def test_weights_and_bias_are_those_of_the_enumerated_regression(name):
    x, state = EDGES[name]
    weights, bias = lfm.weights_and_bias(x, state.objects)
    fitted = state._replace(weights=weights, bias=bias)
    squares = lfm.residual_squares(x, fitted)
    for d in range(x.shape[1]):
        w, b, least = exact.regression(x, state.objects, d)
        assert squares[d] == pytest.approx(least, abs=1e-10)
        assert [*weights[:, d], bias[d]] == pytest.approx([*w, b], abs=1e-7)


@EVERY_MODE
@for_each("case", [larger_case(0), larger_case(1, 0.0), random_case(3, (9, 3), 2)])
def test_the_m_step_is_the_argmax_of_the_bound(case: LfmCase, mode):
    x, state = case
    size, columns = state.weights.shape
    best = lfm.m_step(x, state.objects, mode)

    def unpacked(point):
        w, pi, b, log_precision = np.split(point, np.cumsum([size * columns, size, columns]))
        w = w.reshape(size, columns)
        return Features(state.objects, w, expit(pi), b, np.exp(log_precision))

    def packed(s):
        return np.concatenate([s.weights.ravel(), logit(s.pi), s.bias, np.log(s.precision)])

    def loss(point):
        return -lfm.bound(x, unpacked(point), mode)

    for k in range(
        len(packed(best))
    ):  # stationary in every direction to rounding, and better than what is near
        step = 1e-5 * np.eye(len(packed(best)))[k]
        low, high = loss(packed(best) - step), loss(packed(best) + step)
        assert (high - low) / 2e-5 == pytest.approx(0, abs=1e-6)
        assert min(low, high) >= loss(packed(best)) - 1e-12
    found = minimize(loss, packed(state._replace(precision=np.ones(columns))), method="BFGS")
    assert -found.fun <= lfm.bound(x, best, mode) + 1e-9
    assert packed(unpacked(found.x)) == pytest.approx(packed(best), abs=2e-3)


PRIORS = {"free": VbPrior((0.7, 1.0), 1.4), "bayesian": VbPrior((0.4, 1.3), 0.8, 0.5, (1.5, 0.9))}
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


def assert_best(x, state: VbState, prior: VbPrior, name: str, place: tuple) -> None:
    """The bound is stationary in one number of a state, and lower on both sides of it."""
    best = getattr(state, name)[place]

    def value(t):
        array = getattr(state, name).copy()
        array[place] = t
        return vb.vb_bound(x, state._replace(**{name: array}), prior)

    step = 1e-4 * min(abs(best), 0.1 + abs(best) * (name == "weights"))
    assert (value(best + step) - value(best - step)) / (2 * step) == pytest.approx(0, abs=2e-5)
    for far in (1, 300):
        assert max(value(best + far * step), value(best - far * step)) < value(best)


@EVERY_PRIOR
def test_every_update_is_the_argmax_of_the_bound(prior):
    x, state = table(0), state_of(0, prior, True)
    noise = state._replace(noise=vb.noise_update(x, state, prior))
    for place in np.ndindex(noise.noise.shape):
        assert_best(x, noise, prior, "noise", place)
    for k, d in np.ndindex(2, 3):
        weights, covariance = state.weights.copy(), state.covariance.copy()
        weights[k, d], covariance[d, k, k] = vb.weight_update(x, state, prior, k, d)
        fitted = state._replace(weights=weights, covariance=covariance)
        assert_best(x, fitted, prior, "weights", (k, d))
        assert_best(x, fitted, prior, "covariance", (d, k, k))
    best = vb.weight_variance_update(state)
    values = [vb.vb_bound(x, state, prior._replace(weight_variance=f * best)) for f in (0.99, 1.0, 1.01)]
    assert values[1] > max(values[0], values[2])
    assert values[0] == pytest.approx(values[2], abs=1e-4)


@for_each("ratio", [-20.0, -6.0, -1.5, 0.0, 0.7, 5.0, 40.0])
@for_each("scale", [0.2, 3.0])
def test_moments_of_a_truncated_gaussian_are_its_integrals(ratio, scale):
    location = ratio * scale
    peak = max(location, 0.0)
    top = peak + (12 * scale if ratio > -3 else 40 * scale / -ratio)
    low = max(0.0, peak - 12 * scale)

    def weight(t):
        return np.exp(
            (peak - t) * (peak + t - 2 * location) / (2 * scale**2)
        )  # density / density at its peak

    def integral(f):
        return quad(f, low, top, epsabs=0, epsrel=1e-12, limit=200)[0]

    mass = integral(weight)
    mean = integral(lambda t: weight(t) * t) / mass
    variance = integral(lambda t: weight(t) * (t - mean) ** 2) / mass
    entropy = np.log(mass) - integral(lambda t: weight(t) * np.log(max(weight(t), 1e-300))) / mass
    got = me.truncated_moments(location, scale)
    assert got[0] == pytest.approx(mean, rel=1e-9)
    assert got[1] == pytest.approx(variance, rel=1e-8)
    assert got[2] == pytest.approx(entropy, abs=1e-8)


def test_weight_update_is_the_gaussian_of_the_squares_in_one_weight():
    """With a certain weight w the log density is -S / (2 noise) - w^2 / (2 variance): its peak and its curvature."""
    rng = np.random.default_rng(1)
    x, z = random_case(1, (7, 2), missing=0.3).x, (rng.random((7, 2)) < 0.6).astype(float)
    location, scale = rng.normal(1.0, 0.5, (2, 2)), rng.uniform(0.3, 1.0, (2, 2))
    state = me.MeState(z, location, scale, rng.normal(-0.5, 0.3, 2), rng.uniform(0.3, 1.0, 2), 1.2, 0.9)

    def log_density(w, k, d):
        array, certain = state.location.copy(), state.scale.copy()
        array[k, d], certain[k, d] = w, 1e-3
        squares = me.residual_squares(x, state._replace(location=array, scale=certain))
        return -(squares[d] / state.noise_var[d] + w**2 / state.weight_var) / 2

    for k, d in np.ndindex(2, 2):
        quadratic = np.polyfit(points := np.array([0.5, 1.0, 1.5]), [log_density(w, k, d) for w in points], 2)
        location, scale = me.me_weight_update(x, state, k, d)
        assert location == pytest.approx(-quadratic[1] / (2 * quadratic[0]), abs=1e-6)
        assert scale == pytest.approx((-2 * quadratic[0]) ** -0.5, abs=1e-6)
