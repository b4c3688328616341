"""Moves of FAB: features put together, left out, turned round; and when there are none left."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from acvb_core.models.lfm.fab import INDIFFERENT, Fab, find_move, flip_features
from acvb_core.models.lfm.kernels import StandardisedTable
from acvb_core.models.lfm.state import FabState
from acvb_core.samples.planted_mixtures import planted_features
from tests.loops import for_each
from tests.models.lfm.fab.cases import PENALTIES, started, with_holes
from tests.oracles.dense_lfm import Features, predictive_moments

TRUTH = planted_features(80, 10, 3, noise=0.4, share=0.25, seed=2)
CELLS = StandardisedTable.of(TRUTH.table)
EVERY_CRITERION = for_each("mode", ["paper", "dof"])


def at_truth(mode: str, cells: StandardisedTable = CELLS) -> tuple[Fab, FabState]:
    """The fixed point beside the truth."""
    fab = Fab(cells, 5, PENALTIES[mode], 0, accelerate=False, merge=False)
    state = started(fab, np.clip(TRUTH.activations.T, 0.1, 0.9))
    for sweep in range(30):
        state, _ = fab.sweep(state, np.random.default_rng(sweep))
    assert state.n_features == 3
    return fab, state


def agreement(state: FabState) -> np.ndarray:
    """Of each planted feature, the largest correlation of its objects with those of a feature found."""
    return np.abs(np.corrcoef(state.mu, TRUTH.activations.T)[: state.n_features, state.n_features :]).max(
        axis=0
    )


def split(mu: np.ndarray, k: int, kind: str) -> np.ndarray:
    """E[z] with one feature more that says what another does."""
    rng = np.random.default_rng(5)
    part = rng.random(mu.shape[1]) < (0.5 if "parts" in kind else 2.0)
    mu = np.vstack([mu, np.where(part, 0.9 * mu[k], 0.01)])
    mu[k] = np.where(part & ("parts" in kind), 0.01, 0.9 * mu[k])
    if "turned round" in kind:
        mu[-1] = 1.0 - mu[-1]
    return mu


@EVERY_CRITERION
@for_each("kind", ["twice the same", "twice the same, one turned round", "parts", "parts, one turned round"])
def test_features_that_say_the_same_are_put_together(kind: str, mode: str) -> None:
    fab, alone = at_truth(mode)
    state = started(fab, split(alone.mu, 0, kind))
    move = find_move(CELLS, state, fab.penalty)
    assert move is not None
    assert move.kind == "merged"
    assert move.state.bound > state.bound
    assert move.features.tolist() == [0, 1, 2]
    assert agreement(move.state) == pytest.approx(agreement(alone), abs=0.02)
    assert move.state.bound == pytest.approx(alone.bound, abs=3)


def moments(fab: Fab, state: FabState) -> np.ndarray:
    features = Features.of(fab.posterior(state).arrays)
    return np.array([predictive_moments(features, n, d) for n in range(80) for d in range(0, 10, 3)])


@EVERY_CRITERION
@for_each("missing", [0.0, 0.2])
def test_a_turn_leaves_every_prediction_as_it_is(mode: str, missing: float) -> None:
    cells = StandardisedTable.of(with_holes(TRUTH.table, missing))
    fab, state = at_truth(mode, cells)
    common = started(fab, np.vstack([1.0 - state.mu[:2], state.mu[2:]]))
    found = flip_features(cells, common, fab.penalty)
    assert found is not None
    turned, number = found
    assert number == 2
    assert turned.n_features == 3
    assert turned.mu[:2] == pytest.approx(1.0 - common.mu[:2])
    assert (turned.mu[2] == common.mu[2]).all()
    assert moments(fab, turned) == pytest.approx(moments(fab, common), abs=1e-6)
    assert turned.fit.weights[:2] == pytest.approx(-common.fit.weights[:2], abs=1e-6)
    # What the bound gains is the regulariser's: D / 2 log of the odds.
    odds = np.log(common.shares[:2] / (1.0 - common.shares[:2]))
    assert turned.bound - common.bound == pytest.approx(5.0 * odds.sum(), abs=1e-5)
    assert (odds > 0).all()


@for_each(
    "share, sign, expected",
    [
        (0.9, 1, True),
        (0.1, -1, False),
        (0.8, 1, False),
        (0.2, -1, True),
    ],
)
def test_the_side_taken_is_the_rarer_or_where_that_hardly_matters_the_positive(
    share: float, sign: int, expected: bool
) -> None:
    rng = np.random.default_rng(3)
    has = rng.permutation(200) < 200 * share
    values = np.outer(np.where(has, sign, 0.0), [3.0, 2.0, -1.0]) + 0.1 * rng.normal(size=(200, 3))
    cells = StandardisedTable(values, None, np.full(3, 200.0))
    fab = Fab(cells, 1, PENALTIES["dof"])
    state = started(fab, np.where(has, 0.999, 0.001)[None])
    gain = 1.5 * np.log(state.shares / (1.0 - state.shares))
    assert (np.abs(gain) > INDIFFERENT).all() == (abs(share - 0.5) > 0.35)
    turned = flip_features(cells, state, fab.penalty)
    assert (turned is not None) == expected
    if turned is not None:
        assert turned[0].mu == pytest.approx(1.0 - state.mu)
        assert flip_features(cells, turned[0], fab.penalty) is None


def told(fab: Fab, seed: int = 0, sweeps: int = 120) -> list[tuple[FabState, Any]]:
    state, found = fab.init(np.random.default_rng(seed)), []
    for sweep in range(sweeps):
        state, info = fab.sweep(state, np.random.default_rng(sweep))
        found.append((state, info))
        if not info.not_stationary:
            break
    return found


@EVERY_CRITERION
@for_each("seed", range(3))
def test_a_run_settles_when_moves_have_been_looked_for_and_none_was_found(mode: str, seed: int) -> None:
    fab = Fab(CELLS, 9, PENALTIES[mode], warmup=4, start="random")
    course = told(fab, seed)
    before = fab.init(np.random.default_rng(seed))
    for sweep, (state, info) in enumerate(course):
        moves = info.moves or {}
        assert moves.get("merged", 0) + moves.get("dropped", 0) == before.n_features - state.n_features
        assert info.not_stationary or not moves
        if state.n_features == before.n_features:  # turning may cost what it is indifferent to
            allowed = INDIFFERENT * moves.get("turned", 0) + 1e-7 * abs(before.bound)
            assert state.bound >= before.bound - allowed
        assert info.not_stationary or sweep > 4
        kept = info.cluster_permutation
        order = np.arange(before.n_features) if kept is None else kept["features"]
        assert len(set(order.tolist())) == state.n_features
        assert (np.diff(state.shares) <= 0).all()
        before = state
    last, info = course[-1]
    assert not info.not_stationary
    assert last.moves_over
    assert find_move(CELLS, last, fab.penalty) is None
    assert any(info.moves for _, info in course)
