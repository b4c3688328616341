"""The oracles of latent features: closed forms against enumeration and quadrature, updates as maxima of the bound."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import truncnorm

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


@EVERY_MODE
@for_each("case", [larger_case(0), larger_case(1, 0.0), random_case(3, (9, 3), 2)])
def test_the_m_step_is_the_argmax_of_the_bound(case: LfmCase, mode):
    """Stationary in every direction to rounding, and better than what is near."""
    x, state = case
    size, columns = state.weights.shape
    best = lfm.m_step(x, state.objects, mode)
    packed = np.concatenate([best.weights.ravel(), logit(best.pi), best.bias, np.log(best.precision)])

    def bound(point):
        w, pi, b, log_precision = np.split(point, np.cumsum([size * columns, size, columns]))
        w = w.reshape(size, columns)
        return lfm.bound(x, Features(state.objects, w, expit(pi), b, np.exp(log_precision)), mode)

    for step in 1e-5 * np.eye(len(packed)):
        low, high = bound(packed - step), bound(packed + step)
        assert (high - low) / 2e-5 == pytest.approx(0, abs=1e-6)
        assert max(low, high) <= bound(packed) + 1e-12


PRIORS = {"free": VbPrior((0.7, 1.0), 1.4), "bayesian": VbPrior((0.4, 1.3), 0.8, 0.5, (1.5, 0.9))}
EVERY_PRIOR = for_each("prior", PRIORS)


#: 5 x 3 with missing cells, one object without any.
TABLE = without_cells(random_case(0, (5, 3), missing=0.2), 1).x


def state_of(prior: VbPrior, n: int = 5, d: int = 3, size: int = 2) -> VbState:
    rng = np.random.default_rng(0)
    free, noise = prior.bias_variance is None, rng.uniform(1, 3, (d, 2))
    return VbState(
        rng.uniform(0.05, 0.95, (n, size)),
        rng.uniform(0.5, 3, (size, 2)),
        rng.normal(size=(size, d)),
        rng.uniform(0.1, 1.0, (d, size, 1)) * np.eye(size),
        rng.normal(0, 0.3, d),
        np.zeros(d) if free else rng.uniform(0.1, 0.5, d),
        noise[:, 0] if prior.noise is None else noise,
    )


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
    x, state = TABLE, state_of(prior)
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


@for_each("ratio", [-6.0, -1.5, 0.0, 0.7, 5.0, 40.0])
@for_each("scale", [0.2, 3.0])
def test_moments_of_a_truncated_gaussian_are_scipys(ratio, scale):
    law = truncnorm(-ratio, 60.0, loc=ratio * scale, scale=scale)
    mean, variance, entropy = me.truncated_moments(ratio * scale, scale)
    assert mean == pytest.approx(law.mean(), rel=1e-8)
    assert variance == pytest.approx(law.var(), rel=1e-6)
    assert entropy == pytest.approx(law.entropy(), abs=1e-6)
