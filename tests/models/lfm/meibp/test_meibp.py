"""MEIBP: its greedy choice against enumeration, its bound against quadrature, every step a maximum, recovery."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import gammaln, logsumexp
from scipy.stats import halfnorm, norm, truncnorm

from acvb_core.models.lfm.kernels import StandardisedTable
from acvb_core.models.lfm.meibp import (
    Meibp,
    choose_all,
    climb,
    divergence,
    double_greedy,
    improve_set,
    learn_rest,
    learn_weights,
    log_prior,
    lower_bound,
    moments,
    value,
)
from tests.loops import for_each

MOST = 5


def cells_of(x: np.ndarray) -> StandardisedTable:
    known = ~np.isnan(x)
    return StandardisedTable(np.where(known, x, 0.0), known.astype(float), known.sum(axis=0).astype(float))


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


@for_each("t", [-20.0, -3.0, -0.2, 0.0, 1.5, 9.0])
def test_moments_and_divergence_are_those_of_quadrature(t: float) -> None:
    variance, prior = 0.6, 1.7
    sd = np.sqrt(variance)
    q = truncnorm(-t, np.inf, t * sd, sd)
    first, second = moments(np.array([t * sd]), np.array([variance]))
    high = max(t * sd, 0.0) + 12 * sd

    def mean_of(f: Callable[[float], float]) -> float:
        at = [min(high, max(t * sd, 0.0) + sd / (1 + abs(t)))]
        return float(quad(lambda a: q.pdf(a) * f(a), 0, high, points=at, limit=400, epsabs=1e-13)[0])

    mean = mean_of(lambda a: a)
    assert first[0] == pytest.approx(mean, rel=1e-6)
    assert second[0] == pytest.approx(mean_of(lambda a: (a - mean) ** 2), rel=1e-6)
    wanted = mean_of(lambda a: q.logpdf(a) - halfnorm(scale=np.sqrt(prior)).logpdf(a))
    assert divergence(np.array([t * sd]), np.array([variance]), prior) == pytest.approx(wanted, rel=1e-6)


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


def test_climbing_goes_from_where_it_is() -> None:
    u, q = np.array([1.0, 0.9]), np.array([[1.0, 5.0], [5.0, 1.0]])
    z = np.array([0, 1], dtype=np.int8)
    climb(u, q, z)
    np.testing.assert_array_equal(z, [0, 1])  # to swap it would have to go down first
    z[1] = 0
    climb(u, q, z)
    np.testing.assert_array_equal(z, [1, 0])


def data_terms(cells: StandardisedTable, state: Meibp) -> float:
    """The bound without the divergence, whatever features nobody has."""
    return lower_bound(cells, state, MOST) + divergence(state.parent, state.spread, state.prior)


@for_each("missing", [0.0, 0.4])
def test_choice_for_one_object_against_the_bound_of_every_set(missing: float) -> None:
    best = 0
    for seed in range(40):
        cells, state = random_case(6, 5, 4, seed, missing)
        x = cells.values.copy()
        x[0] = x[1:3].sum(axis=0) + state.bias  # one that features can say something of
        cells = StandardisedTable(x, cells.observed if missing else None, cells.per_column)
        # The other objects' features do not change: their worth is not asked for in this table of one object.
        one = StandardisedTable(x[:1], None if cells.observed is None else cells.observed[:1], np.ones(5))
        alone = replace(state, z=state.z[:1])
        every = [data_terms(one, replace(alone, z=z[None])) for z in subsets(4)]
        chosen, changed = choose_all(one, alone, MOST)
        reached = data_terms(one, chosen)
        assert reached >= every[-1] - 1e-9  # the set before: all of them
        assert reached >= min(every) + (max(every) - min(every)) / 3.0
        assert changed == 4 - chosen.n_features
        best += reached > max(every) - 1e-9
    assert best >= 32


def test_bound_of_one_feature_is_below_the_evidence_and_is_what_quadrature_says() -> None:
    cells, state = random_case(3, 2, 1, 0)
    known = cells.observed > 0
    sd = np.sqrt(state.spread)

    def log_cells(z: np.ndarray, d: int, a: float) -> float:
        at = norm.logpdf(cells.values[:, d], state.bias[d] + z * a, np.sqrt(state.noise[d]))
        return float(at[known[:, d]].sum())

    half = halfnorm(scale=np.sqrt(state.prior))
    total = log_prior(state.z.sum(axis=0), 3, state.alpha, MOST)
    for d in range(2):
        q = truncnorm(-state.parent[0, d] / sd[0, d], np.inf, state.parent[0, d], sd[0, d])

        def inside(a: float, d: int = d, q: truncnorm = q) -> float:
            return float(q.pdf(a) * (log_cells(state.z[:, 0], d, a) + half.logpdf(a) - q.logpdf(a)))

        total += quad(inside, 1e-9, 8.0, limit=300, points=[max(state.parent[0, d], 0.05)])[0]
    assert lower_bound(cells, state, MOST) == pytest.approx(total, rel=1e-7)

    logs = []
    for z in subsets(3):
        parts = [
            np.log(quad(lambda a, z=z, d=d: np.exp(log_cells(z, d, a)) * half.pdf(a), 0, 12, limit=300)[0])
            for d in range(2)
        ]
        logs.append(sum(parts) + log_prior(np.array([z.sum()]), 3, state.alpha, 1))
    evidence = logsumexp(logs)
    for _ in range(50):
        state = learn_weights(cells, choose_all(cells, state, 1)[0])
        if not state.n_features:
            break
        assert lower_bound(cells, state, 1) < evidence


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


def step_by_step(cells: StandardisedTable, state: Meibp) -> list[Meibp]:
    chosen, _ = choose_all(cells, state, MOST)
    learned = learn_weights(cells, chosen)
    return [chosen, learned, learn_rest(cells, learned, MOST)]


@for_each("seed", range(12))
def test_no_step_lowers_the_bound(seed: int) -> None:
    cells, state = random_case(15, 6, 5, seed)
    bound = lower_bound(cells, state, MOST)
    for _ in range(4):
        for each in step_by_step(cells, state):
            state, now = each, lower_bound(cells, each, MOST)
            assert now >= bound - 1e-9 * abs(bound)
            bound = now


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


def test_one_noise_variance_for_all_columns_is_the_best_one() -> None:
    cells, state = random_case(12, 3, 2, 8)
    state = learn_rest(cells, learn_weights(cells, state), MOST, one=True)
    bound = lower_bound(cells, state, MOST)
    assert (state.noise == state.noise[0]).all()
    for by in (0.97, 1.03):
        assert lower_bound(cells, replace(state, noise=by * state.noise), MOST) < bound
