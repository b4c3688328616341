"""VB of features as HF13 runs it: from every number of features, the highest bound answers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from acvb_core.engine.prepared import prepare_run
from acvb_core.models.lfm.vb import WARM, EverySize
from acvb_core.samples.planted_mixtures import planted_features

TABLE = planted_features(60, 5, 2, noise=0.4, seed=1).table


def test_every_size_is_run_as_alone_and_the_best_answers() -> None:
    method = prepare_run(TABLE, "vb", {"preset": "paper", "tol": 1e-3}).algorithm
    assert isinstance(method, EverySize)
    state, rng, bounds = method.init(np.random.default_rng(1)), np.random.default_rng(2), {}
    starts = {2: state.inner}
    while True:
        size = state.size
        alone, _ = replace(method.largest, k_max=size).sweep(state.inner, np.random.default_rng(0))
        state, info = method.sweep(state, rng)
        if state.size == size:
            np.testing.assert_allclose(state.inner.nu, alone.nu, rtol=1e-12)
        bounds[size] = alone.bound
        if state.size != size:
            assert info.not_stationary
            starts[state.size] = state.inner
            assert state.inner.age == 0
        if not info.not_stationary:
            break
    assert list(bounds) == [2, 3, 4, 5]
    assert [len(start.means) for start in starts.values()] == [2, 3, 4, 5]
    best = max(bounds.values())
    answer = state.inner if state.best is None or state.inner.bound > state.best.bound else state.best
    assert answer.bound == best
    np.testing.assert_array_equal(
        method.posterior(state)["weights"], method.largest.posterior(answer)["weights"]
    )
    assert state.inner.age > WARM
