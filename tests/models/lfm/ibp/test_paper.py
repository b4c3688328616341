"""IBP as HF13 runs it: alpha and noise held, the most probable sample as the answer."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import gammaln
from scipy.stats import gamma, multivariate_normal

from acvb_core.engine.prepared import prepare_run
from acvb_core.models.lfm.ibp import NOISE_PRIOR, PSEUDO, BestSample, IbpGibbs, IbpState, log_probability
from acvb_core.samples.planted_mixtures import planted_features
from tests.loops import for_each
from tests.models.lfm.fab.cases import cells_of

TABLE = planted_features(12, 5, 2, noise=0.5, seed=2).table
X = np.random.default_rng(4).normal(size=(6, 3))
X[1, 2] = np.nan


def dense_log_probability(sampler: IbpGibbs, state: IbpState) -> float:
    """The density written out: cells without weights, Griffiths and Ghahramani's prior, Gamma priors of precisions."""
    x, z, widths, total = X, state.z.astype(float), state.widths, 0.0
    for d in range(x.shape[1]):
        seen = ~np.isnan(x[:, d])
        cov = widths.weights * z[seen] @ z[seen].T + widths.bias + widths.noise[d] * np.eye(seen.sum())
        total += multivariate_normal.logpdf(x[seen, d], cov=cov)
    n, size = len(x), z.sum(axis=0)
    harmonic = sum(1 / i for i in range(1, n + 1))
    total += z.shape[1] * np.log(state.alpha) - state.alpha * harmonic
    total += (gammaln(size) + gammaln(n - size + 1) - gammaln(n + 1)).sum()
    if sampler.learn:
        total += gamma.logpdf(state.alpha, 1.0)
    for width in (widths.weights, widths.bias):
        total += gamma.logpdf(1 / width, 1.0, scale=1 / sampler.scale)
    if not sampler.noise_sd:
        shape, rate = NOISE_PRIOR
        for d, cells in enumerate(sampler.cells.per_column):
            total += gamma.logpdf(
                1 / widths.noise[d],
                shape + PSEUDO * cells / 2,
                scale=1 / (sampler.scales[d] * (rate + PSEUDO * cells / 2)),
            )
    return float(total)


@for_each("learn, noise_sd", [(False, 0.75), (True, 0.0)])
def test_probability_of_a_sample(learn: bool, noise_sd: float) -> None:
    sampler = IbpGibbs(cells_of(X), alpha=3.0, learn=learn, noise_sd=noise_sd)
    state, rng = sampler.init(np.random.default_rng(0)), np.random.default_rng(1)
    for _ in range(3):
        state, _ = sampler.sweep(state, rng)
        assert log_probability(sampler, state) == pytest.approx(
            dense_log_probability(sampler, state), rel=1e-9
        )


def test_the_preset_answers_with_the_most_probable_sample() -> None:
    prepared = prepare_run(TABLE, "ibp", {"preset": "paper"})
    method = prepared.algorithm
    assert isinstance(method, BestSample)
    alone, state = method.inner, method.init(np.random.default_rng(1))
    assert (alone.alpha, alone.learn, alone.noise_sd) == (3.0, False, 0.75)
    own, found = state.inner, [log_probability(alone, state.inner)]
    samples = [own]
    for sweep in range(20):
        own, _ = alone.sweep(own, np.random.default_rng(sweep))
        state, _ = method.sweep(state, np.random.default_rng(sweep))
        samples.append(own)
        found.append(log_probability(alone, own))
        best = samples[int(np.argmax(found))]
        np.testing.assert_array_equal(state.best.z, best.z)
        assert own.alpha == 3.0
        np.testing.assert_allclose(own.widths.noise, 0.75**2 * alone.scales)
    assert np.argmax(found) not in (0, 20)
    np.testing.assert_array_equal(method.posterior(state)["pi"], alone.posterior(state.best)["pi"])
