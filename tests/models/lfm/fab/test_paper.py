"""FAB as HF13 prints it: the first sweeps of `preset="paper"`, and its two readings of a random start."""

from __future__ import annotations

import numpy as np
import pytest

from acvb_core.engine.prepared import prepare_run
from acvb_core.models.lfm import fab as activations
from acvb_core.samples.planted_mixtures import planted_features
from tests.loops import for_each
from tests.models.lfm.fab.cases import CLOSE, dense_sweep, features_of

TABLE = planted_features(40, 8, 3, noise=0.4, seed=2).table


@for_each("init", ["random", "binary"])
def test_sweeps_and_start(init: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Accelerated from the first sweep, by the paper's criterion; U(0, 1), or {0, 1}, features as many as columns."""
    monkeypatch.setattr(activations, "_STILL", 0.0)  # 100 rounds, also where nothing moves any more
    prepared = prepare_run(TABLE, "fab", {"preset": "paper", "init": init})
    method, x = prepared.algorithm, prepared.algorithm.cells.values
    state = method.init(np.random.default_rng(3))
    assert state.n_features == 8
    drawn = np.random.default_rng(3).random((8, 40))
    start = drawn if init == "random" else (drawn > 0.5).astype(float)
    np.testing.assert_array_equal(np.sort(state.mu.sum(axis=1)), np.sort(start.sum(axis=1)))
    for sweep in range(3):
        wanted, _ = dense_sweep(x, features_of(state.mu, state.fit), "paper", accelerated=True)
        state, info = method.sweep(state, np.random.default_rng(sweep))
        if info.moves and set(info.moves) != {"dropped"}:
            break
        assert np.transpose(state.mu) == pytest.approx(wanted.objects, **CLOSE)
        assert state.fit.weights == pytest.approx(wanted.weights, **CLOSE)
