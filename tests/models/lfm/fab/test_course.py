"""Whole runs of FAB and EM: EM has no regulariser, settings arrive, and noise has no features."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import acvb_core
from acvb_core.data.table import Table
from acvb_core.engine.history import Verdict
from acvb_core.models.lfm.fab import Fab
from acvb_core.models.lfm.kernels import StandardisedTable
from acvb_core.registry import method_row
from acvb_core.samples.planted_mixtures import planted_features
from tests.loops import for_each
from tests.models.lfm.fab.cases import PENALTIES, with_holes

TRUTH = planted_features(60, 9, 3, noise=0.5, share=0.4, seed=3)


def swept(fab: Fab) -> list[bytes]:
    """E[z] and weights after each of a few sweeps."""
    state, found = fab.init(np.random.default_rng(0)), []
    for sweep in range(15):
        state, _ = fab.sweep(state, np.random.default_rng(sweep))
        found += [state.mu.tobytes(), state.fit.weights.tobytes()]
    assert state.n_features == 6 or fab.penalty != PENALTIES["em"]
    return found


@for_each("missing", [0.0, 0.3])
def test_em_is_fab_without_the_regulariser(missing: float) -> None:
    table = with_holes(TRUTH.table, missing)
    row = method_row("lfm", "em")
    cells, plain = StandardisedTable.of(table), {"accelerate": False, "merge": False, "start": "random"}
    fab = Fab(cells, 6, PENALTIES["em"], 0, **plain)
    found = swept(fab)
    assert swept(row.build(table, row.values({"k_max": 6}))) == found
    assert swept(replace(fab, penalty=PENALTIES["dof"]))[:4] != found[:4]


def test_settings_reach_the_method() -> None:
    row = method_row("lfm", "fab")
    given = {"k_max": 3, "mode": "paper", "warmup": 7, "accelerate": False, "merge": False, "tol": 0.25}
    fab = row.build(TRUTH.table, row.values({**given, "init": "random"}))
    assert replace(fab, cells=None) == Fab(
        None, 3, PENALTIES["paper"], 7, False, False, start="random", tol=0.25
    )
    assert row.build(TRUTH.table, row.values({})).penalty == PENALTIES["dof"]


@for_each("standardise, mode, init", [(True, "paper", "ica"), (False, "dof", "random")])
def test_noise_has_no_features(mode: str, standardise: bool, init: str) -> None:
    noise = np.random.default_rng(1).normal(5.0, 3.0, (200, 6))
    table = Table.build(noise, standardise=standardise)
    result = acvb_core.fit(table, "fab", mode=mode, init=init, heldout=0.1, seed=2)
    assert result.verdict is Verdict.CONVERGED
    assert result.posterior["weights"].shape == (0, 6)
    train = result.prepared.train.values
    assert result.columns["baseline"].to_numpy() == pytest.approx(np.nanmean(train, axis=0), abs=1e-6)
    assert result.columns["noise_sd"].to_numpy() == pytest.approx(np.nanstd(train, axis=0), rel=1e-6)
    last = result.snapshot
    assert last.extras["train_log_likelihood"] == pytest.approx(-0.5 * (np.log(2 * np.pi) + 1), abs=1e-6)
    assert last.heldout.explained == pytest.approx(0.0, abs=1e-9)
