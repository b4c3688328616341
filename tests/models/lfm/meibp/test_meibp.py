"""MEIBP: its greedy choice against enumeration, its bound against the definition, every learned value a maximum."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import gammaln, logsumexp
from scipy.stats import norm

import acvb_core
from acvb_core.core.protocols import no_poll
from acvb_core.engine.prepared import prepare_run
from acvb_core.models.lfm.kernels import StandardisedTable
from acvb_core.models.lfm.meibp import (
    ATTEMPTS,
    Meibp,
    choose_all,
    divergence,
    double_greedy,
    improve_set,
    learn_rest,
    learn_weights,
    log_prior,
    lower_bound,
    moments,
    overlaps,
    value,
)
from tests.loops import for_each
from tests.models.lfm.fab.cases import cells_of
from tests.oracles.dense_lfm_meibp import truncated_moments

MOST = 5


def subsets(size: int) -> np.ndarray:
    """Every set of features, one a row."""
    return (np.arange(2**size)[:, None] >> np.arange(size) & 1).astype(np.int8)


def random_case(n: int, d: int, k: int, seed: int, missing: float = 0.25) -> tuple[StandardisedTable, Meibp]:
    """A table with missing cells and a state that nothing was learned of."""
    rng = np.random.default_rng(seed)
    x = 1.5 * rng.normal(size=(n, d))
    x[rng.random(x.shape) < missing] = np.nan
    x[0] = np.where(np.isnan(x[0]), 0.3, x[0])
    z = (rng.random((n, k)) < 0.5).astype(np.int8)
    z[0] = 1
    parent, spread = rng.normal(0.5, 1.0, (k, d)), rng.uniform(0.01, 0.5, (k, d))
    noise = rng.uniform(0.2, 1.0, d)
    return cells_of(x), Meibp(z, parent, spread, rng.normal(0, 0.3, d), noise, 0.8, 1.3, noise)


@for_each("t", [-20.0, -0.2, 0.0, 9.0])
def test_moments_and_divergence_are_those_of_the_reference(t: float) -> None:
    variance, prior = 0.6, 1.7
    first, second = moments(np.array([t * variance**0.5]), np.array([variance]))
    mean, spread, entropy = truncated_moments(t * variance**0.5, variance**0.5)
    assert (first[0], second[0]) == pytest.approx((mean, spread), rel=1e-7)
    cross = 0.5 * np.log(np.pi * prior / 2) + (mean**2 + spread) / (2 * prior)
    given = np.array([t * variance**0.5]), np.array([variance])
    assert divergence(*given, prior) == pytest.approx(cross - entropy, rel=1e-7)


def test_moments_far_below_zero_are_those_of_an_exponential() -> None:
    t = np.array([-59.9, -60.1, -1e3, -1e6])
    first, second = moments(t, np.ones(4))
    np.testing.assert_allclose(first * -t, 1.0, atol=1e-3)
    np.testing.assert_allclose(second * t**2, 1.0, atol=3e-3)
    np.testing.assert_allclose(first[0] / first[1], 60.1 / 59.9, rtol=1e-5)
    np.testing.assert_allclose(second[0] / second[1], (60.1 / 59.9) ** 2, rtol=1e-4)


def direct_value(u: np.ndarray, q: np.ndarray, z: np.ndarray) -> float:
    return float(u @ z - 0.5 * (z @ q @ z - np.diag(q) @ z))


@for_each("size", [1, 2, 3, 4, 6])
def test_choice_is_worth_a_third_of_the_best_and_no_less_than_before(size: int) -> None:
    every, exact, close = subsets(size), 0, 0
    for seed in range(150):
        rng = np.random.default_rng(seed)
        a = rng.exponential(size=(size, 4)) * rng.integers(0, 2, (size, 4))
        u, q = rng.normal(1.0, 2.0, size), a @ a.T
        worth = np.array([direct_value(u, q, z) for z in every])
        found = np.empty(size, dtype=np.int8)
        double_greedy(u, q, found)
        least = (worth.max() - worth.min()) / 3.0
        assert direct_value(u, q, found) - worth.min() >= least - 1e-9
        now = rng.integers(0, 2, size).astype(np.int8)
        differ = improve_set(u, q, now.copy(), found)
        reached = direct_value(u, q, found)
        assert differ == (found != now).sum()
        assert value(u, q, found) == pytest.approx(reached)
        assert reached >= max(direct_value(u, q, now), worth.min() + least) - 1e-9
        for k in range(size):
            other = found.copy()
            other[k] = 1 - other[k]
            assert direct_value(u, q, other) <= reached + 1e-8
        exact += reached > worth.max() - 1e-8
        close += reached > worth.min() + 0.9 * (worth.max() - worth.min())
    assert exact >= 120
    assert close >= 145


def test_prior_is_that_of_beta_bernoulli_features() -> None:
    size, n, alpha, most = np.array([2.0, 0.0, 4.0]), 4, 1.7, 6
    rate = alpha / most
    ones = np.concatenate([size, np.zeros(3)])
    wanted = (
        gammaln(ones + rate)
        + gammaln(n - ones + 1)
        - gammaln(n + 1 + rate)
        - gammaln(rate)
        + gammaln(1 + rate)
    )
    assert log_prior(size, n, alpha, most) == pytest.approx(wanted.sum())
    # A row more for one object: Beta-Bernoulli probabilities of 8 rows of one object sum to one.
    logs = [log_prior(z.astype(float), 1, alpha, 3) for z in subsets(3)]
    assert logsumexp(logs) == pytest.approx(0.0, abs=1e-12)


def test_missing_cells_are_left_out_of_the_bound() -> None:
    cells, state = random_case(7, 4, 3, 1)
    first, second = moments(state.parent, state.spread)
    total = log_prior(state.z.sum(axis=0), 7, state.alpha, MOST)
    total -= divergence(state.parent, state.spread, state.prior)
    for n, d in zip(*np.nonzero(cells.observed), strict=True):
        z = state.z[n]
        mean = state.bias[d] + z @ first[:, d]
        total += norm.logpdf(cells.values[n, d], mean, np.sqrt(state.noise[d]))
        total -= 0.5 * (z @ second[:, d]) / state.noise[d]
    assert 0 < cells.n < 28
    assert lower_bound(cells, state, MOST) == pytest.approx(total, rel=1e-12)


def test_features_overlap_in_known_cells_only() -> None:
    rng = np.random.default_rng(0)
    weights, known, precision = rng.random((3, 5)), np.array([1.0, 0, 1, 1, 0]), rng.random(5)
    found = np.empty((3, 3))
    overlaps(weights, known, precision, found)
    np.testing.assert_allclose(found, (weights * known * precision) @ weights.T)


@for_each("seed", range(6))
def test_no_step_lowers_the_bound(seed: int) -> None:
    cells, state = random_case(15, 6, 5, seed)
    bounds = [lower_bound(cells, state, MOST)]
    for _ in range(4):
        chosen, changed = choose_all(cells, state, MOST)
        learned = learn_weights(cells, chosen)
        assert changed or np.array_equal(chosen.z, state.z)
        state = learn_rest(cells, learned, MOST)
        bounds += [lower_bound(cells, each, MOST) for each in (chosen, learned, state)]
    assert np.diff(bounds).min() > -1e-9 * abs(bounds[0])


def test_learned_values_are_the_best() -> None:
    cells, state = random_case(12, 3, 2, 4)
    truth = cells.values + 3.0 * state.z @ np.array([[1.0, 2.0, 1.0], [0.5, 1.0, 2.0]])
    cells = StandardisedTable(truth * cells.observed, cells.observed, cells.per_column)
    for _ in range(300):
        state = learn_rest(cells, learn_weights(cells, state), MOST)
    bound = lower_bound(cells, state, MOST)
    for name in ("parent", "spread", "bias", "noise", "prior", "alpha"):
        now = np.asarray(getattr(state, name), dtype=float)
        for at in np.ndindex(now.shape):
            for by in (0.98, 1.02):
                other = now.copy()
                other[at] *= by
                changed = replace(state, **{name: other if other.shape else float(other)})
                assert lower_bound(cells, changed, MOST) < bound, (name, at, by)


def test_a_feature_of_noise_alone_is_dropped() -> None:
    x = np.random.default_rng(2).normal(size=(60, 5))
    x[:30] += 4.0
    table = acvb_core.Table.build(x)
    method = prepare_run(table, "meibp").algorithm
    z = np.zeros((60, 2), dtype=np.int8)
    z[:30, 0], z[::7, 1] = 1, 1
    scale = np.array([[2.0], [0.05]]) * np.ones((2, 5))
    state = method._evaluate(
        Meibp(z, scale, 0.01 * abs(scale), np.full(5, -1.0), np.full(5, 0.3), 1.0, 1.0, np.ones(5))
    )
    better = method._try_move(replace(state, births=ATTEMPTS), np.random.default_rng(0), no_poll)
    assert better.answer.n_features == 1
    assert better.bound > state.bound
