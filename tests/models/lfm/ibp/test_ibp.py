"""IBP sampler: its stationary distribution against enumeration, its joint with the priors, recovery."""

from __future__ import annotations

import math
from collections import Counter
from itertools import combinations_with_replacement

import numpy as np
import pytest
from scipy.special import gammaln, logsumexp
from scipy.stats import multivariate_normal

from acvb_core.models.lfm.ibp import (
    ALPHA_PRIOR,
    NOISE_PRIOR,
    PSEUDO,
    WEIGHT_PRIOR,
    IbpGibbs,
    IbpState,
    Widths,
    choose_sides,
    draw_features,
    draw_weights,
    log_joint,
    moments,
    weight_posterior,
)
from tests.loops import for_each
from tests.models.lfm.fab.cases import cells_of

X = np.array([[1.3, -0.4, 0.3], [0.2, 0.9, np.nan], [-1.1, np.nan, 0.6]])
WIDTHS = Widths(np.array([0.3, 0.5, 0.8]), 1.2, 0.4)
ALPHA = 0.9


def log_evidence(x: np.ndarray, z: np.ndarray, widths: Widths) -> float:
    """log p(X | Z): each column's known cells are normal, weights and baseline integrated out."""
    total = 0.0
    for d in range(x.shape[1]):
        seen = ~np.isnan(x[:, d])
        cov = widths.weights * z[seen] @ z[seen].T + widths.bias
        cov += widths.noise[d] * np.eye(seen.sum())
        total += multivariate_normal.logpdf(x[seen, d], cov=cov)
    return total


def classes(n: int, most: int) -> list[tuple[int, ...]]:
    """Every multiset of at most `most` features, each the number its objects spell in binary."""
    return [c for k in range(most + 1) for c in combinations_with_replacement(range(1, 2**n), k)]


def matrix(features: tuple[int, ...], n: int) -> np.ndarray:
    return np.array([[f >> i & 1 for f in features] for i in range(n)], dtype=np.int8).reshape(n, -1)


def key(z: np.ndarray) -> tuple[int, ...]:
    return tuple(sorted(int(c) for c in (z.T.astype(int) << np.arange(len(z))).sum(axis=1)))


def log_ibp(features: tuple[int, ...], n: int, alpha: float) -> float:
    """Griffiths and Ghahramani's prior of a class, up to a constant."""
    size = matrix(features, n).sum(axis=0)
    value = len(features) * math.log(alpha) - sum(gammaln(c + 1) for c in Counter(features).values())
    return value + float((gammaln(n - size + 1) + gammaln(size) - gammaln(n + 1)).sum())


def test_samples_are_those_of_the_exact_posterior() -> None:
    n, most, sweeps = 3, 3, 25_000
    cells, rng = cells_of(X), np.random.default_rng(1)
    every = classes(n, most)
    logs = np.array([log_ibp(c, n, ALPHA) + log_evidence(X, matrix(c, n), WIDTHS) for c in every])
    exact = dict(zip(every, np.exp(logs - logsumexp(logs)), strict=True))
    z = np.zeros((n, 0), dtype=np.int8)
    found = weight_posterior(moments(cells, z), WIDTHS)
    seen: Counter[tuple[int, ...]] = Counter()
    for sweep in range(sweeps):
        if sweep % 50 == 0:  # rank-one changes alone, in between
            found = weight_posterior(moments(cells, z), WIDTHS)
        z, found, _ = draw_features(cells, z, found, WIDTHS, ALPHA, most, rng)
        seen[key(z)] += 1
    distance = 0.5 * sum(abs(seen[c] / sweeps - exact[c]) for c in every)
    by_width = [sum(seen[c] for c in every if len(c) == k) / sweeps for k in range(most + 1)]
    wanted = [sum(exact[c] for c in every if len(c) == k) for k in range(most + 1)]
    assert set(seen) <= set(every)
    assert distance < 0.03
    np.testing.assert_allclose(by_width, wanted, atol=0.015)


def test_posterior_of_the_weights_after_many_visits_is_that_from_scratch() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 7))
    x[rng.random(x.shape) < 0.3] = np.nan
    cells, widths = cells_of(x), Widths(rng.uniform(0.05, 1.0, 7), 0.7, 0.5)
    z = (rng.random((40, 4)) < 0.4).astype(np.int8)
    found, widest = weight_posterior(moments(cells, z), widths), 0
    for _ in range(20):
        z, found, _ = draw_features(cells, z, found, widths, 3.0, 7, rng)
        widest = max(widest, z.shape[1])
    fresh = weight_posterior(moments(cells, z), widths)
    lower = np.tril_indices(z.shape[1] + 1)
    np.testing.assert_allclose(found.cov[lower], fresh.cov[lower], atol=1e-9)
    np.testing.assert_allclose(found.mean, fresh.mean, atol=1e-9)
    assert widest == 7
    assert z.any(axis=0).all()


def test_joint_probability_differs_from_the_exact_one_by_a_constant() -> None:
    cells, gaps = cells_of(X), []
    for features in [(), (1,), (3, 5), (1, 6, 7)]:
        z = matrix(features, 3)
        value = log_joint(cells, z, WIDTHS, ALPHA)
        gaps.append(value - log_ibp(features, 3, ALPHA) - log_evidence(X, z, WIDTHS))
    np.testing.assert_allclose(gaps, gaps[0], atol=1e-9)


@pytest.mark.long
@for_each("noise", ["columns", "one"])
def test_sampling_data_and_parameters_in_turn_gives_the_priors(noise: str) -> None:
    """Geweke's test: where data are drawn anew from each sample, samples are draws of the prior."""
    n, d, rounds = 4, 2, 6_000
    rng = np.random.default_rng(3)
    hidden = np.array([[0, 0], [0, 1], [0, 0], [1, 0]], dtype=bool)
    x = rng.normal(size=(n, d))
    x[hidden] = np.nan
    state, found = None, []
    for _ in range(rounds):
        method = Unscaled(cells_of(x), 50, 1.0, noise)
        state = state or method.init(rng)
        state, _ = method.sweep(state, rng)
        w = draw_weights(weight_posterior(moments(method.cells, state.z), state.widths), rng)
        x = w[0] + state.z @ w[1:] + np.sqrt(state.widths.noise) * rng.normal(size=(n, d))
        x[hidden] = np.nan
        found.append(bounded(state))
    chain = np.array(found[500:])
    prior = np.array([bounded(draw_prior(n, d, noise, rng)) for _ in range(10_000)])
    lots = chain[: len(chain) // 50 * 50].reshape(50, -1, chain.shape[1]).mean(axis=1)
    error = lots.std(axis=0) / math.sqrt(50) + prior.std(axis=0) / math.sqrt(len(prior))
    assert (np.abs(chain.mean(axis=0) - prior.mean(axis=0)) < 4.0 * error).all()
    assert (error < 0.04).all()


class Unscaled(IbpGibbs):
    """Priors that do not look at the data."""

    @property
    def scales(self) -> np.ndarray:
        return np.ones(self.cells.n_columns)


def bounded(state: IbpState) -> list[float]:
    """Functions of a sample that have moments, whatever the priors' tails."""
    w = state.widths
    known = [float(np.mean(v / (1 + v))) for v in (w.noise, w.weights, w.bias, state.alpha)]
    return [*known, min(state.z.shape[1], 5) / 5, min(state.z.sum(), 10) / 10, float(w.noise[0] < w.weights)]


def draw_prior(n: int, d: int, noise: str, rng: np.random.Generator) -> IbpState:
    """A draw of alpha, Z and the variances from their priors."""
    alpha = rng.gamma(ALPHA_PRIOR[0]) / ALPHA_PRIOR[1]
    z = np.zeros((n, 0), dtype=np.int8)
    for i in range(n):
        row = rng.random(z.shape[1]) < z[:i].sum(axis=0) / (i + 1)
        z[i] = row
        new = np.zeros((n, rng.poisson(alpha / (i + 1))), dtype=np.int8)
        new[i] = 1
        z = np.concatenate([z, new], axis=1)
    more = 0.5 * PSEUDO * (n - 1) * (1 if noise == "columns" else d)  # one cell of each column is hidden
    precision = rng.gamma(NOISE_PRIOR[0] + more, size=d if noise == "columns" else 1) / (
        NOISE_PRIOR[1] + more
    )
    weights, bias = WEIGHT_PRIOR[1] / rng.gamma(WEIGHT_PRIOR[0], size=2)
    widths = Widths(np.broadcast_to(1 / precision, (d,)), weights, bias)
    return IbpState(z, widths, alpha, np.empty(0), np.empty(0))


def test_features_are_shown_upright() -> None:
    z = np.array([[1.0, 1.0, 1.0], [0.0, 1.0, 0.0], [0.0, 1.0, 1.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0]])
    weights = np.array([[0.5, 0.5], [-2.0, 1.0], [-1.0, -1.0], [3.0, -1.0]])
    shown, turned = choose_sides(z, weights)
    np.testing.assert_array_equal(shown[:, 0], 1.0 - z[:, 0])
    np.testing.assert_array_equal(shown[:, 1:], z[:, 1:])  # the second is too common to be turned
    np.testing.assert_allclose(turned[0] + shown @ turned[1:], weights[0] + z @ weights[1:])
