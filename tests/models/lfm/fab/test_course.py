"""Whole courses of FAB and EM: what is dropped, what does not matter to them, what they find."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import acvb_core
from acvb_core.data.table import Table
from acvb_core.engine.history import Verdict
from acvb_core.models.lfm.fab import Fab
from acvb_core.models.lfm.kernels import StandardisedTable
from acvb_core.models.lfm.state import FabState
from acvb_core.registry import method_row
from acvb_core.samples.planted_mixtures import block_images, planted_features
from tests.loops import for_each
from tests.models.lfm.fab.cases import PENALTIES, started, with_holes

EVERY_MODE = for_each("mode", list(PENALTIES))
TRUTH = planted_features(60, 9, 3, noise=0.5, share=0.4, seed=3)


def swept(fab: Fab, state: FabState, sweeps: int) -> list[FabState]:
    states = [state]
    for sweep in range(sweeps):
        state, _ = fab.sweep(state, np.random.default_rng(sweep))
        states.append(state)
    return states


def bits(state: FabState) -> list[bytes]:
    fit = state.fit
    arrays = (state.mu, fit.weights, fit.bias, fit.precision, fit.squared_error, np.array([state.bound]))
    return [array.tobytes() for array in arrays]


# ------------------------------------------------------------------------------------------------------------- EM


@for_each("missing", [0.0, 0.3])
def test_em_is_fab_without_the_regulariser(missing: float) -> None:
    table = with_holes(TRUTH.table, missing)
    row = method_row("lfm", "em")
    em = row.build(table, row.values({"k_max": 6}))
    fab = Fab(
        StandardisedTable.of(table), 6, PENALTIES["em"], 0, accelerate=False, merge=False, start="random"
    )
    states = [swept(one, one.init(np.random.default_rng(0)), 15) for one in (em, fab)]
    assert [bits(state) for state in states[0]] == [bits(state) for state in states[1]]
    assert states[0][-1].n_features == 6
    assert not states[0][-1].turned
    regularised = Fab(
        StandardisedTable.of(table), 6, PENALTIES["dof"], 0, accelerate=False, merge=False, start="random"
    )
    other = swept(regularised, regularised.init(np.random.default_rng(0)), 2)
    assert bits(other[1]) != bits(states[0][1])


def test_settings_reach_the_method() -> None:
    row = method_row("lfm", "fab")
    values = {"k_max": 3, "mode": "paper", "warmup": 7, "accelerate": False, "merge": False, "tol": 0.25}
    values["init"] = "random"
    fab: Any = row.build(TRUTH.table, row.values(values))
    assert (fab.k_max, fab.warmup, fab.accelerate, fab.merge, fab.tol) == (3, 7, False, False, 0.25)
    assert fab.start == "random"
    assert fab.penalty == PENALTIES["paper"]
    usual: Any = row.build(TRUTH.table, row.values({}))
    assert usual.penalty == PENALTIES["dof"]
    assert usual.accelerate
    assert usual.merge
    assert usual.start == "auto"
    for k_max, wanted in ((0, 9), (4, 4), (200, 60)):
        fab = row.build(TRUTH.table, row.values({"k_max": k_max, "init": "random"}))
        assert fab.init(np.random.default_rng(0)).n_features == wanted


# -------------------------------------------------------------------------------------------------------- dropping


@EVERY_MODE
def test_a_feature_of_less_than_an_object_goes(mode: str) -> None:
    fab = Fab(StandardisedTable.of(TRUTH.table), 4, PENALTIES[mode], 0, accelerate=False, merge=False)
    near = np.clip(TRUTH.activations.T, 0.1, 0.9)
    state = started(fab, np.vstack([near[:1], np.full(60, 1e-4), near[1:]]))
    after, info = fab.sweep(state, np.random.default_rng(0))
    assert info.moves == {"dropped": 1}
    assert sorted(info.cluster_permutation["features"].tolist()) == [0, 2, 3]
    assert info.not_stationary
    wanted, _ = fab.sweep(started(fab, near), np.random.default_rng(0))
    assert after.bound == pytest.approx(wanted.bound, abs=2)  # the noise was another, of a feature more
    assert after.mu == pytest.approx(wanted.mu, abs=0.1)
    later, info = fab.sweep(after, np.random.default_rng(0))
    assert info.moves is None
    assert not info.not_stationary
    assert later.bound >= after.bound


@EVERY_MODE
@for_each("accelerate", [False, True])
def test_a_feature_of_all_objects_becomes_part_of_the_baseline(mode: str, accelerate: bool) -> None:
    fab = Fab(StandardisedTable.of(TRUTH.table), 4, PENALTIES[mode], 0, accelerate, False)
    near = np.clip(TRUTH.activations.T, 0.1, 0.9)
    alone = started(fab, near)
    # The baseline's values are those of the feature; so says no fit, but so it may be for a moment.
    weights = np.vstack([alone.fit.weights[:1], alone.fit.bias, alone.fit.weights[1:]])
    mu = np.vstack([near[:1], np.full(60, 1.0 - 1e-9), near[1:]])
    fit = type(alone.fit)(weights, 0.0 * alone.fit.bias, alone.fit.precision, alone.fit.squared_error)
    state = FabState(mu, fit, alone.bound)
    after, info = fab.sweep(state, np.random.default_rng(0))
    wanted, _ = fab.sweep(alone, np.random.default_rng(0))
    assert info.moves == {"dropped": 1}
    assert sorted(info.cluster_permutation["features"].tolist()) == [0, 2, 3]
    assert after.mu == pytest.approx(wanted.mu, abs=1e-4)
    assert after.fit.bias == pytest.approx(wanted.fit.bias, abs=1e-4)
    assert after.fit.weights == pytest.approx(wanted.fit.weights, abs=1e-4)


@for_each("standardise", [True, False])
@for_each("mode", ["paper", "dof"])
@for_each("init", ["ica", "random"])
def test_noise_has_no_features(mode: str, standardise: bool, init: str) -> None:
    noise = np.random.default_rng(1).normal(5.0, 3.0, (200, 6))
    table = Table.build(noise, standardise=standardise)
    result = acvb_core.fit(table, "fab", mode=mode, init=init, heldout=0.1, seed=2)
    assert result.verdict is Verdict.CONVERGED
    assert result.posterior["objects"].shape == (200, 0)
    assert result.posterior["weights"].shape == (0, 6)
    assert len(result.features) == 0
    assert list(result.objects.columns) == ["object"]
    train = result.prepared.train.values
    assert result.columns["baseline"].to_numpy() == pytest.approx(np.nanmean(train, axis=0), abs=1e-6)
    assert result.columns["noise_sd"].to_numpy() == pytest.approx(np.nanstd(train, axis=0), rel=1e-6)
    last = result.snapshot
    assert last.extras["train_log_likelihood"] == pytest.approx(-0.5 * (np.log(2 * np.pi) + 1), abs=1e-6)
    assert last.heldout.rmse == pytest.approx(1.0, abs=0.2)
    assert last.heldout.explained == pytest.approx(0.0, abs=1e-9)
    assert last.effective_k == {"features": 0}


# ----------------------------------------------------------------------------------------------------- invariances


# -------------------------------------------------------------------------------------------------------- recovery


def agreement(found: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Of each planted feature, the largest correlation of its objects with those of a feature found."""
    k = found.shape[1]
    return np.abs(np.corrcoef(found.T, truth.T)[:k, k:]).max(axis=0)


def test_fab_finds_the_four_blocks_and_em_keeps_all_it_is_given() -> None:
    truth = block_images(400, noise=0.3, seed=1)
    for init in ("ica", "random"):
        fab = acvb_core.fit(truth.table, "fab", seed=0, init=init)
        assert fab.posterior["objects"].shape[1] == 4
        assert agreement(fab.posterior["objects"], truth.activations).min() > 0.98
        assert fab.columns["noise_sd"].to_numpy() == pytest.approx(0.3, abs=0.05)
    em = acvb_core.fit(truth.table, "em", k_max=10, seed=0, max_sweeps=60)
    assert em.posterior["objects"].shape[1] == 10
