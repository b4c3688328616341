"""The oracles of latent feature models (FAB, EM) checked against each other: closed forms against enumeration."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit, logit

from tests.oracles import dense_lfm as lfm
from tests.oracles import lfm_enumeration as exact
from tests.oracles.dense_lfm import MODES, Features
from tests.oracles.lfm_cases import LfmCase, edge_cases, larger_case, random_case, standardised

EDGES = edge_cases()
EVERY_EDGE = pytest.mark.parametrize("name", EDGES)
EVERY_MODE = pytest.mark.parametrize("mode", MODES)
SMALL = [random_case(seed) for seed in range(3)] + [random_case(7, (3, 4), 3)]


def shares(state: Features) -> np.ndarray:
    return state.objects.mean(axis=0)


def climbed(function, low: float, high: float) -> float:
    """Where a function of one number is largest."""
    return float(minimize_scalar(lambda t: -function(t), bounds=(low, high), options={"xatol": 1e-10}).x)


# ---------------------------------------------------------------------------------------------------------- bound


@EVERY_MODE
@EVERY_EDGE
def test_bound_is_its_expectation_over_all_matrices(name, mode):
    x, state = EDGES[name]
    for tilde in (shares(state), np.random.default_rng(0).uniform(0.1, 0.9, state.size)):
        truth = exact.bound(x, state, mode, tilde)
        assert lfm.bound(x, state, mode, tilde) == pytest.approx(truth, abs=1e-9)
    assert lfm.bound(x, state, mode) == lfm.bound(x, state, mode, shares(state))


@EVERY_MODE
def test_bound_is_its_expectation_for_other_shapes(mode):
    for x, state in SMALL:
        truth = exact.bound(x, state, mode, state.pi)
        assert lfm.bound(x, state, mode, state.pi) == pytest.approx(truth, abs=1e-9)


def test_without_features_only_the_noise_is_left():
    x, state = random_case(0)
    state = state.reordered(np.zeros(0, int))
    evidence = exact.log_evidence(x, state)
    assert lfm.bound(x, state, "em") == pytest.approx(evidence, abs=1e-10)
    term = np.log(lfm.per_column(x)).sum()
    assert lfm.bound(x, state, "paper") == pytest.approx(evidence - term, abs=1e-10)
    assert lfm.bound(x, state, "dof") == lfm.bound(x, state, "paper")
    best = lfm.m_step(x, state.objects, "dof")
    assert best.bias == pytest.approx(np.nanmean(x, axis=0), abs=1e-12)


@EVERY_EDGE
def test_without_a_regulariser_it_is_a_lower_bound(name):
    x, state = EDGES[name]
    assert lfm.bound(x, state, "em") <= exact.log_evidence(x, state) + 1e-10


@pytest.mark.parametrize("seed", range(3))
def test_that_bound_is_the_evidence_where_the_posterior_is_a_product(seed):
    x, state = random_case(seed, size=1)
    state = state._replace(objects=exact.object_marginals(x, state))
    assert lfm.bound(x, state, "em") == pytest.approx(exact.log_evidence(x, state), abs=1e-10)
    assert lfm.e_sweep(x, state, "em").objects == pytest.approx(state.objects, abs=1e-12)


def test_the_bound_of_fab_is_no_lower_bound_and_grows_without_limit_as_a_feature_goes():
    x, state = random_case(0)
    sized = [state._replace(objects=state.objects * [1.0, share]) for share in (1e-2, 1e-4, 1e-40, 1e-80)]
    values = [lfm.bound(x, s, "paper") for s in sized]
    assert np.all(np.diff(values) > 0)
    assert values[-1] - values[-2] == pytest.approx(x.shape[1] / 2 * 40 * np.log(10), rel=1e-6)
    assert values[-1] > exact.log_evidence(x, state) + 100


@EVERY_MODE
@EVERY_EDGE
def test_order_of_features_does_not_matter(name, mode):
    x, state = EDGES[name]
    turned = state.reordered(np.arange(state.size)[::-1])
    assert lfm.bound(x, turned, mode) == pytest.approx(lfm.bound(x, state, mode), abs=1e-10)
    one, other = lfm.m_step(x, state.objects, mode), lfm.m_step(x, turned.objects, mode)
    assert other.weights[::-1] == pytest.approx(one.weights, abs=1e-9)
    assert 1 / other.precision == pytest.approx(1 / one.precision, abs=1e-9)


# --------------------------------------------------------------------------------------------------------- E step


@EVERY_MODE
@pytest.mark.parametrize("name", ["complete", "missing", "an object without cells", "two features alike"])
def test_an_update_is_the_argmax_of_the_enumerated_bound(name, mode):
    x, state = EDGES[name]
    for n in range(len(x)):
        for k in range(state.size):

            def value(t, n=n, k=k):
                return exact.bound(x, state.with_object(n, k, t), mode, state.pi)

            best = lfm.e_update(x, state, n, k, mode)
            assert climbed(value, 1e-12, 1 - 1e-12) == pytest.approx(best, abs=2e-6)
            near = np.clip(best + np.array([-0.05, -1e-3, 1e-3, 0.05]), 1e-12, 1 - 1e-12)
            assert value(best) >= max(map(value, near)) - 1e-12


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


def test_an_object_without_cells_has_its_prior():
    x, state = EDGES["an object without cells"]
    assert lfm.e_sweep(x, state, "em").objects[1] == pytest.approx(state.pi, abs=1e-12)
    shifted = logit(state.pi) - x.shape[1] / (2 * len(x) * state.pi)
    for mode in ("paper", "dof"):
        assert lfm.e_sweep(x, state, mode).objects[1] == pytest.approx(expit(shifted), abs=1e-12)


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


# --------------------------------------------------------------------------------------------------------- M step


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
@pytest.mark.parametrize("case", [larger_case(0), larger_case(1, 0.0), random_case(3, (9, 3), 2)])
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


def test_the_best_tangent_point_is_the_share():
    x, state = larger_case(2)
    for k in range(3):

        def value(t, k=k):
            tilde = shares(state)
            tilde[k] = t
            return lfm.bound(x, state, "paper", tilde)

        assert climbed(value, 1e-6, 1.0) == pytest.approx(shares(state)[k], abs=1e-5)


@pytest.mark.parametrize("mode", ["paper", "dof"])
def test_noise_is_the_argmax_of_the_enumerated_bound(mode):
    x, state = random_case(0, (6, 3), missing=0.3)
    best = lfm.noise_precision(x, state, mode)
    for d in range(3):

        def value(log_precision, d=d):
            precision = state.precision.copy()
            precision[d] = np.exp(log_precision)
            return exact.bound(x[:, : d + 1], cut(state, precision, d + 1), mode, state.pi)

        around = np.log(best[d])
        assert climbed(value, around - 3, around + 3) == pytest.approx(around, abs=1e-5)


def cut(state: Features, precision: np.ndarray, d: int) -> Features:
    """The first ``d`` columns: fewer terms to enumerate; they do not depend on the others."""
    return state._replace(weights=state.weights[:, :d], bias=state.bias[:d], precision=precision[:d])


def test_dof_is_the_unbiased_variance_where_activations_are_certain():
    x, state = larger_case(3, 0.0)
    state = state._replace(objects=state.objects.round())
    fitted = lfm.m_step(x, state.objects, "dof")
    design = np.column_stack([state.objects, np.ones(len(x))])
    residual = x - design @ np.linalg.lstsq(design, x, rcond=None)[0]
    assert 1 / fitted.precision == pytest.approx((residual**2).sum(axis=0) / (len(x) - 3), rel=1e-10)


def test_the_floor_of_dof_is_no_argmax():
    x, state = random_case(0, (3, 3), 3, missing=0.0)  # N_d = K: the bound only falls with the precision
    best = lfm.noise_precision(x, state, "dof")
    assert best == pytest.approx(1 / lfm.residual_squares(x, state))
    values = [lfm.bound(x, state._replace(precision=f * best), "dof") for f in (1e-3, 1e-1, 1.0, 10.0)]
    assert np.all(np.diff(values) < 0)


def test_units_of_a_column_move_every_bound_by_the_same_whatever_k():
    """Why L_c takes the columns' sds in: bounds at different K stay comparable."""
    x, state = larger_case(0)
    unit = np.array([1.0, 10.0, 0.01, 3.0, 1.0])
    expected = -(lfm.per_column(x) * np.log(unit)).sum()
    for kept in ([0, 1, 2], [1]):
        one = state.reordered(np.array(kept))
        other = one._replace(
            weights=one.weights * unit, bias=one.bias * unit, precision=one.precision / unit**2
        )
        for mode in MODES:
            moved = lfm.bound(x * unit, other, mode) - lfm.bound(x, one, mode)
            assert moved == pytest.approx(expected, abs=1e-9)


# ---------------------------------------------------------------------------------------------------------- sweeps


@EVERY_MODE
@pytest.mark.parametrize("seed", range(4))
def test_no_step_of_a_sweep_lowers_the_bound(seed, mode):
    x, state = larger_case(seed)
    for _ in range(8):
        fitted = lfm.m_step(x, state.objects, mode)
        swept = lfm.e_sweep(x, fitted, mode)
        if swept.objects.sum(axis=0).min() < 1:  # a method drops such a feature
            break
        before, middle = (lfm.bound(x, s, mode) for s in (fitted, swept))
        after = lfm.bound(x, lfm.m_step(x, swept.objects, mode), mode)
        assert before <= middle + 1e-9
        assert middle <= after + 1e-9
        state = swept


def test_a_missing_cell_is_a_term_less():
    x, state = larger_case(0, 0.0)
    hidden = x.copy()
    hidden[4] = np.nan
    shorter = state._replace(objects=np.delete(state.objects, 4, axis=0))
    one, other = (
        lfm.weights_and_bias(hidden, state.objects),
        lfm.weights_and_bias(np.delete(x, 4, axis=0), shorter.objects),
    )
    for a, b in zip(one, other, strict=True):
        assert a == pytest.approx(b, abs=1e-12)
    assert lfm.noise_precision(hidden, state, "dof") == pytest.approx(
        lfm.noise_precision(np.delete(x, 4, axis=0), shorter, "dof"), rel=1e-12
    )


# -------------------------------------------------------------------------------------------------- what follows


@EVERY_EDGE
def test_moments_of_a_cell_are_those_of_its_mixture(name):
    x, state = EDGES[name]
    spread = np.random.default_rng(0).uniform(0, 1, state.weights.shape)
    for n, d in np.ndindex(x.shape):
        for variance in (None, spread):
            truth = exact.cell_moments(state, n, d, variance)
            assert lfm.predictive_moments(state, n, d, variance) == pytest.approx(truth, abs=1e-10)


def test_one_certain_feature_makes_the_predictive_exact():
    x, state = EDGES["a feature always on"]
    state = state.reordered(np.array([1]))
    for n, d in np.ndindex(x.shape):
        one = np.full((1, x.shape[1]), np.nan)
        one[0, d] = x[n, d]
        certain = state._replace(objects=np.ones((1, 1)))
        truth = exact.log_likelihood(one, np.ones((1, 1)), certain)
        assert lfm.log_predictive(state, n, d, x[n, d]) == pytest.approx(truth, abs=1e-12)


def test_a_feature_that_is_always_on_is_a_bias():
    x, state = EDGES["a feature always on"]
    less = lfm.always_on_to_bias(state, 1)
    assert less.size == 1
    assert lfm.residual_squares(x, less) == pytest.approx(lfm.residual_squares(x, state), abs=1e-12)
    nearly = state._replace(objects=np.minimum(state.objects, 0.9))
    moved = lfm.residual_squares(x, lfm.always_on_to_bias(nearly, 1))
    assert np.abs(moved - lfm.residual_squares(x, nearly)).max() > 1e-3


def test_cases_have_what_they_promise():
    for case in EDGES.values():
        assert np.nanmean(case.x, axis=0) == pytest.approx(np.zeros(case.x.shape[1]), abs=1e-12)
        assert lfm.column_sds(case.x) == pytest.approx(np.ones(case.x.shape[1]))
        assert case.x == pytest.approx(standardised(case.x), nan_ok=True)
    assert np.isnan(EDGES["missing"].x).any()
    assert not np.isnan(EDGES["complete"].x).any()
    assert np.isnan(EDGES["an object without cells"].x[1]).all()
    assert Features.of(EDGES["missing"].state._asdict()).size == EDGES["missing"].size == 2
