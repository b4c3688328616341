"""VB for latent features: its bound and updates against the reference and against each other."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from acvb_core.models.lfm.kernels import StandardisedTable
from acvb_core.models.lfm.vb import (
    DEAD,
    WARM,
    Sums,
    VariationalLfm,
    VbPrior,
    VbState,
    expected_errors,
    flip_gains,
    lower_bound,
    update_activations,
    update_weights,
)
from tests.loops import for_each
from tests.models.lfm.fab.cases import cells_of
from tests.oracles import dense_lfm_vb as dense

N, D, K = 4, 3, 2
MISSING = [False, True]


def table(missing: bool, seed: int = 0, shape: tuple[int, int] = (N, D)) -> np.ndarray:
    rng = np.random.default_rng(seed)
    x = (rng.random((shape[0], 2)) < 0.5) @ rng.normal(0, 1.5, (2, shape[1])) + rng.normal(0, 0.5, shape)
    if missing:
        x[rng.random(shape) < 0.25] = np.nan
        x[1] = np.nan  # an object of which nothing is known
        x[[0, 2], :] = np.where(np.isnan(x[[0, 2], :]), 0.3, x[[0, 2], :])
        x[0, 0] = np.nan
    return x


def state_of(seed: int, size: int = K) -> VbState:
    """A state in which no factor is at its best."""
    rng = np.random.default_rng(seed)
    return VbState(
        nu=rng.uniform(0.05, 0.95, (N, size)),
        tau=rng.uniform(0.5, 4.0, (size, 2)),
        means=rng.normal(size=(size, D)),
        variances=rng.uniform(0.1, 1.0, (size, D)),
        bias=rng.normal(size=D),
        shape=rng.uniform(1.0, 4.0, D),
        rate=rng.uniform(0.5, 3.0, D),
        variance=1.7,
    )


PRIOR = VbPrior(alpha=1.5, size=K, shape=1.3, rate=np.array([0.4, 1.0, 2.0]))


def bound(cells: StandardisedTable, state: VbState, prior: VbPrior = PRIOR) -> float:
    errors = expected_errors(cells, state, Sums.of(cells, state.nu))
    return lower_bound(cells, state, prior, errors)


@for_each("missing", MISSING)
def test_bound_and_updates_are_those_of_the_reference(missing: bool) -> None:
    x = table(missing, 21)
    cells, ours = cells_of(x), state_of(23)
    method = VariationalLfm(cells, K)
    prior = replace(PRIOR, rate=np.full(D, 0.8))
    their_prior = dense.VbPrior((prior.first, 1.0), ours.variance, None, (prior.shape, 0.8))

    def theirs(state: VbState) -> dense.VbState:
        covariance = np.stack([np.diag(state.variances[:, d]) for d in range(D)])
        noise = np.column_stack([state.shape, state.rate])
        return dense.VbState(state.nu, state.tau, state.means, covariance, state.bias, np.zeros(D), noise)

    assert bound(cells, ours, prior) == pytest.approx(dense.vb_bound(x, theirs(ours), their_prior))
    best = fitted(cells, ours)
    for k, d in product(range(K), range(D)):
        mean, variance = dense.weight_update(x, theirs(best), their_prior, k, d)
        assert (mean, variance) == pytest.approx((best.means[k, d], best.variances[k, d]))
    left_over = np.nan_to_num(x - best.bias - best.nu @ best.means).sum(axis=0)
    np.testing.assert_allclose(left_over, 0.0, atol=1e-7)
    assert method._learn_priors(best).variance == pytest.approx(dense.weight_variance_update(theirs(best)))
    noise = dense.noise_update(x, theirs(best), their_prior)
    errors = expected_errors(cells, best, Sums.of(cells, best.nu))
    np.testing.assert_allclose(noise[:, 1], 0.8 + 0.5 * errors)


@for_each("missing", MISSING)
def test_activations_are_the_best_one_after_the_other(missing: bool) -> None:
    cells, state = cells_of(table(missing)), state_of(5, 3)
    found, change = update_activations(cells, state)
    expected = state.nu.copy()
    for n, k in product(range(N), range(3)):

        def loss(p: float, n: int = n, k: int = k) -> float:
            nu = expected.copy()
            nu[n, k] = p
            return -bound(cells, replace(state, nu=nu))

        expected[n, k] = minimize_scalar(loss, bounds=(0, 1), method="bounded", options={"xatol": 1e-9}).x
    np.testing.assert_allclose(found, expected, atol=2e-6)
    assert change == pytest.approx(np.abs(found - state.nu).mean())


def fitted(cells: StandardisedTable, state: VbState, steps: int = 50, least: float = 0.0) -> VbState:
    return update_weights(cells, state, Sums.of(cells, state.nu), steps=steps, least=least)


@for_each("missing", MISSING)
def test_shares_noise_and_prior_of_the_weights_are_the_best(missing: bool) -> None:
    cells, state = cells_of(table(missing)), state_of(11)
    method = VariationalLfm(cells, K)
    prior = method.prior
    sums = Sums.of(cells, state.nu)
    best = method._learn_noise(method._learn_priors(state), expected_errors(cells, state, sums))
    assert best.variance == pytest.approx((state.means**2 + state.variances).mean())
    top = bound(cells, best, prior)
    for factor in (0.97, 1.03):
        assert bound(cells, replace(best, variance=factor * best.variance), prior) < top
        for k, side in product(range(K), range(2)):
            tau = best.tau.copy()
            tau[k, side] *= factor
            assert bound(cells, replace(best, tau=tau), prior) < top
        for name in ("shape", "rate"):
            assert bound(cells, replace(best, **{name: factor * getattr(best, name)}), prior) < top


@for_each("missing", MISSING)
def test_what_turning_gains_is_what_the_bound_gains(missing: bool) -> None:
    cells = cells_of(table(missing))
    method = VariationalLfm(cells, K)
    state = method._learn_priors(state_of(13))
    gains = flip_gains(cells, state, Sums.of(cells, state.nu), method.prior.first)
    before, expected = bound(cells, state, method.prior), []
    for k in range(K):
        nu, means = state.nu.copy(), state.means.copy()
        nu[:, k], means[k] = 1.0 - nu[:, k], -means[k]
        turned = replace(state, nu=nu, means=means, bias=state.bias + state.means[k])
        expected.append(bound(cells, method._learn_priors(turned), method.prior) - before)
    np.testing.assert_allclose(gains, expected, atol=1e-9)
    after = method._learn_priors(method._flip_features(state, Sums.of(cells, state.nu)))
    assert bound(cells, after, method.prior) == pytest.approx(before + np.maximum(gains, 0).sum())
    assert (gains > 0).any()


def course(method: VariationalLfm, n_sweeps: int, seed: int = 0) -> list[VbState]:
    rng = np.random.default_rng(seed)
    states = [method.init(rng)]
    for _ in range(n_sweeps):
        states.append(method.sweep(states[-1], rng)[0])
    return states


@for_each("missing", MISSING)
@for_each("seed", [0, 1, 2])
def test_no_sweep_lowers_the_bound(missing: bool, seed: int) -> None:
    cells = cells_of(table(missing, seed, (40, 8)))
    states = course(VariationalLfm(cells, 12), WARM + 80, seed)
    died = -np.diff([state.nu.shape[1] for state in states])
    assert (np.diff([state.bound for state in states]) > -1e-9 - DEAD * died).all()
    assert states[-1].nu.shape[1] < 12  # some features died on the way
    assert states[-1].bound > states[WARM].bound + 1.0


def test_column_of_two_values_is_not_taken_for_free_of_noise() -> None:
    x = table(False, 6, (60, 5))
    x[:, 0] = np.where(x[:, 1] > 0, 1.0, -1.0)
    end = course(VariationalLfm(cells_of(x)), 80)[-1]
    assert math.isfinite(end.bound)
    assert end.precision[0] < 60.0
