"""The oracle of MEIBP: truncated Gaussians by quadrature, its bound by integrals, its steps as argmaxes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from tests.loops import for_each
from tests.oracles import dense_lfm_meibp as me
from tests.oracles import lfm_enumeration as exact
from tests.oracles.dense_lfm_ibp import ibp_log_prior
from tests.oracles.dense_lfm_meibp import MeState
from tests.oracles.lfm_cases import random_case

CASES = for_each("seed", range(3))


def case_of(seed: int, size: int = 3) -> tuple[np.ndarray, MeState]:
    """7 x 3 with missing cells; the first two objects have every feature, so that no feature is anyone's own."""
    rng = np.random.default_rng(seed)
    x = random_case(seed, (7, 3), missing=0.3).x
    z = (rng.random((7, size)) < 0.5).astype(float)
    z[:2], z[2] = 1, 0
    shape = (size, 3)
    state = MeState(
        z,
        rng.normal(0, 1.5, shape),
        rng.uniform(0.3, 1.0, shape),
        rng.normal(-0.5, 0.3, 3),
        rng.uniform(0.3, 1.0, 3),
        1.2,
        0.9,
    )
    return x, state


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


@CASES
def test_bound_is_the_exact_integral_for_one_feature(seed):
    x, state = case_of(seed, 1)
    for d in range(3):
        state.location[0, d], state.scale[0, d] = me.me_weight_update(x, state, 0, d)
    total = 0.0
    for d in range(3):
        rows = ~np.isnan(x[:, d])

        def joint(w, d=d, rows=rows):
            logs = norm.logpdf(
                x[rows, d], state.bias[d] + state.objects[rows, 0] * w, np.sqrt(state.noise_var[d])
            )
            return np.exp(logs.sum()) * 2 * norm.pdf(w, 0, np.sqrt(state.weight_var))

        total += np.log(quad(joint, 0, 15, epsabs=0, epsrel=1e-10, limit=200)[0])
    total += ibp_log_prior(state.objects, state.alpha, "shift")
    assert me.me_bound(x, state) == pytest.approx(total, abs=1e-8)


@CASES
def test_bound_is_its_expectation_for_many_features(seed):
    """The likelihood's part over a grid of each weight's density; the rest stands in the test above."""
    x, state = case_of(seed, 2)
    grid, total = np.linspace(0, 12, 6001), 0.0
    laws = np.empty((2, 3, len(grid)))
    for k, d in np.ndindex(2, 3):
        density = norm.pdf(grid, state.location[k, d], state.scale[k, d])
        density[0] /= 2  # trapezium rule
        laws[k, d] = density / density.sum()
    for n, d in np.argwhere(~np.isnan(x)):
        z = state.objects[n]
        first = laws[:, d] @ grid
        second = laws[:, d] @ grid**2
        gap = x[n, d] - state.bias[d]
        total += gap**2 - 2 * gap * (z @ first) + z @ second + 2 * z[0] * z[1] * first[0] * first[1]
    assert me.residual_squares(x, state).sum() == pytest.approx(total, rel=1e-4)


def assert_stationary(value, best: float, step: float) -> None:
    assert (value(best + step) - value(best - step)) / (2 * step) == pytest.approx(0, abs=1e-5)
    for far in (1, 300):
        assert max(value(best + far * step), value(best - far * step)) < value(best)


@CASES
def test_every_update_is_the_argmax_of_the_bound(seed):
    x, state = case_of(seed)
    for k, d in np.ndindex(3, 3):
        fitted = state._replace(location=state.location.copy(), scale=state.scale.copy())
        fitted.location[k, d], fitted.scale[k, d] = me.me_weight_update(x, state, k, d)
        for name in ("location", "scale"):

            def value(t, name=name, k=k, d=d, fitted=fitted):
                array = getattr(fitted, name).copy()
                array[k, d] = t
                return me.me_bound(x, fitted._replace(**{name: array}))

            assert_stationary(value, getattr(fitted, name)[k, d], 3e-4)
    for name, best in (("noise_var", me.me_noise_update(x, state)), ("bias", me.me_bias_update(x, state))):
        for d in range(3):

            def value(t, name=name, best=best, d=d):
                array = best.copy()
                array[d] = t
                return me.me_bound(x, state._replace(**{name: array}))

            assert_stationary(value, best[d], 1e-4)
    assert_stationary(
        lambda t: me.me_bound(x, state._replace(weight_var=t)), me.me_weight_var_update(state), 1e-4
    )


@CASES
def test_the_value_of_a_row_is_what_the_bound_changes_by(seed):
    x, state = case_of(seed)
    for n in (2, 4, 6):
        rows = exact.settings(3)
        values = np.array([me.me_object_value(x, state, n, z) for z in rows])
        bounds = np.array([me.me_bound(x, state.with_row(n, z)) for z in rows])
        assert values - values[0] == pytest.approx(bounds - bounds[0], abs=1e-9)
        assert values[0] == 0
        assert np.array_equal(me.me_object_best(x, state, n), rows[bounds.argmax()])


@CASES
def test_greedy_flips_end_where_no_flip_helps(seed):
    x, state = case_of(seed)
    hits = 0
    for n in range(7):
        row = me.me_object_greedy(x, state, n, state.objects[n])
        reached = me.me_bound(x, state.with_row(n, row))
        assert reached >= me.me_bound(x, state) - 1e-12
        for k in me.shared_features(state, n):
            flipped = row.copy()
            flipped[k] = 1 - flipped[k]
            assert me.me_bound(x, state.with_row(n, flipped)) <= reached + 1e-12
        hits += np.array_equal(row, me.me_object_best(x, state, n))
    assert hits >= 5
