"""The oracles of latent feature models (FAB, EM) checked against each other: closed forms against enumeration."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit

from tests.loops import for_each
from tests.oracles import dense_lfm as lfm
from tests.oracles import lfm_enumeration as exact
from tests.oracles.dense_lfm import MODES, Features
from tests.oracles.lfm_cases import LfmCase, edge_cases, larger_case, random_case

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
def test_a_feature_takes_turns_with_its_share_until_both_fit(mode):
    x, state = larger_case(1)
    state = lfm.m_step(x, state.objects, mode)
    alive = 0
    for k in range(3):
        once = lfm.accelerate(x, state, k, mode, rounds=1)
        assert once.objects[:, k] == pytest.approx(
            [lfm.e_update(x, state, n, k, mode) for n in range(len(x))], abs=1e-14
        )
        many = lfm.accelerate(x, state, k, mode)
        assert np.delete(many.objects, k, 1) == pytest.approx(np.delete(state.objects, k, 1))
        if many.pi[k] * len(x) < 1:  # a method drops such a feature; its share goes to zero soon
            continue
        alive += 1
        values = [lfm.bound(x, s, mode) for s in (state, once, many)]
        assert values[0] <= values[1] + 1e-12 <= values[2] + 2e-12
        assert many.pi == pytest.approx(lfm.accelerate(x, many, k, mode, 1).pi, rel=1e-10)
    assert alive


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


@EVERY_EDGE
def test_moments_of_a_cell_are_those_of_its_mixture(name):
    x, state = EDGES[name]
    spread = np.random.default_rng(0).uniform(0, 1, state.weights.shape)
    for n, d in np.ndindex(x.shape):
        for variance in (None, spread):
            truth = exact.cell_moments(state, n, d, variance)
            assert lfm.predictive_moments(state, n, d, variance) == pytest.approx(truth, abs=1e-10)


def test_a_feature_that_is_always_on_is_a_bias():
    x, state = EDGES["a feature always on"]
    less = lfm.always_on_to_bias(state, 1)
    assert less.size == 1
    assert lfm.residual_squares(x, less) == pytest.approx(lfm.residual_squares(x, state), abs=1e-12)
    nearly = state._replace(objects=np.minimum(state.objects, 0.9))
    moved = lfm.residual_squares(x, lfm.always_on_to_bias(nearly, 1))
    assert np.abs(moved - lfm.residual_squares(x, nearly)).max() > 1e-3
