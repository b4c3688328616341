"""MEIBP as HF13 runs it: from min(N, D) random features, of which none is added."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from acvb_core.engine.prepared import prepare_run
from acvb_core.models.lfm.meibp import Meibp, SubmodularIbp, choose_all
from acvb_core.samples.planted_mixtures import planted_features
from tests.oracles.dense_lfm_meibp import MeState, me_weight_update, residual_squares

TABLE = planted_features(14, 6, 2, noise=0.4, seed=3).table
CLOSE = {"rtol": 1e-9, "atol": 1e-9}


def dense_of(answer: Meibp) -> MeState:
    return MeState(
        answer.z.astype(float), answer.parent, np.sqrt(answer.spread), answer.bias, answer.noise, answer.prior,
        answer.alpha,
    )  # fmt: skip


def learned(x: np.ndarray, dense: MeState) -> MeState:
    """Weights, one after the other, then baselines, one noise for all columns, and the prior of the weights."""
    location, scale = dense.location.copy(), dense.scale.copy()
    for k in range(len(location)):
        for d in range(x.shape[1]):
            location[k, d], scale[k, d] = me_weight_update(x, dense, k, d)
        dense = dense._replace(location=location.copy(), scale=scale.copy())
    first, second = dense.moments
    dense = dense._replace(bias=(x - dense.objects @ first).mean(axis=0))
    squares = residual_squares(x, dense) + 0.1 * len(x) * x.var(axis=0)
    noise = np.full(x.shape[1], squares.sum() / x.size / 1.1)
    return dense._replace(noise_var=noise, weight_var=float((first**2 + second).mean()))


def test_start_and_sweeps() -> None:
    method = prepare_run(TABLE, "meibp", {"preset": "paper"}).algorithm
    assert isinstance(method, SubmodularIbp)
    x = method.cells.values
    state = method.init(np.random.default_rng(5))
    z = np.random.default_rng(5).random((14, 6)) < 0.5
    np.testing.assert_array_equal(state.answer.z, z)
    start = Meibp(
        z.astype(np.int8), np.zeros((6, 6)), np.full((6, 6), x.var()), np.zeros(6), x.var(axis=0), x.var(), 3.0,
        x.var(axis=0),
    )  # fmt: skip
    for sweep in range(4):
        wanted = learned(x, dense_of(start))
        np.testing.assert_allclose(state.answer.parent, wanted.location, **CLOSE)
        np.testing.assert_allclose(state.answer.spread, wanted.scale**2, **CLOSE)
        np.testing.assert_allclose(state.answer.bias, wanted.bias, **CLOSE)
        np.testing.assert_allclose(state.answer.noise, wanted.noise_var, **CLOSE)
        start, _ = choose_all(method.cells, state.answer, method.most)
        before, (state, info) = state, method.sweep(state, np.random.default_rng(sweep))
        assert state.answer.n_features <= before.answer.n_features
        assert info.not_stationary == (state.answer.n_features < before.answer.n_features)
        np.testing.assert_array_equal(state.answer.z, start.z)
    assert replace(method, start="empty").init(np.random.default_rng(5)).answer.n_features == 0
