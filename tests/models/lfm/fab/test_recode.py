"""FAB separates two features that represent sums and differences of others, and changes nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from acvb_core.models.lfm import fab
from acvb_core.models.lfm.fab import Fab, recode_pair
from acvb_core.models.lfm.kernels import StandardisedTable
from acvb_core.models.lfm.state import FabState, Penalty
from acvb_core.samples.planted_mixtures import PlantedFeatures, planted_features
from tests.loops import for_each

PENALTY = Penalty()


def planted() -> PlantedFeatures:
    """Return a table on which FAB from a random start mixes two of ten features."""
    return planted_features(2000, 30, 10, seed=3)


def cells(missing: float = 0.0) -> StandardisedTable:
    """Return its cells, a share of them missing."""
    table = planted().table
    values = table.values.copy()
    values[np.random.default_rng(0).random(values.shape) < missing] = np.nan
    return StandardisedTable.of(table.with_values(values))


def finished(given: StandardisedTable) -> tuple[FabState, list[str]]:
    """Return where FAB ends, and the kinds of moves it told of."""
    method, told = Fab(given, start="random"), []
    state = method.init(np.random.default_rng([3, 0]))
    for sweep in range(300):
        before = state
        state, info = method.sweep(state, np.random.default_rng(sweep))
        told += list(info.moves or ())
        if info.moves:
            assert info.not_stationary
        if not info.not_stationary and abs(state.bound - before.bound) < 1e-4 * given.n_objects:
            return state, told
    raise AssertionError("no end")


def n_found(state: FabState) -> int:
    """Return how many planted features an activation goes with."""
    truth = planted().activations.T
    correlation = np.corrcoef(np.vstack([state.mu, truth]))[: state.n_features, state.n_features :]
    return int((np.abs(correlation).max(axis=0) > 0.9).sum())


@pytest.fixture(scope="module")
def mixed() -> FabState:
    """The state in which FAB ends when it may not tell features apart."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fab, "recode_pair", lambda *_: None)
        return finished(cells())[0]


@for_each("missing", [0.0, 0.2])
def test_a_mixed_pair_is_told_apart(mixed: FabState, missing: float) -> None:
    assert n_found(mixed) == 8
    given = cells(missing)
    begun = mixed.with_activations(given, mixed.mu, PENALTY)
    better = recode_pair(given, begun, PENALTY)
    assert better is not None
    assert better.bound > begun.bound + 500
    assert n_found(better) == 10
    same = np.abs(better.mu - mixed.mu).max(axis=1) < 0.9
    assert same.sum() >= 7 or missing  # the other features keep their objects


def test_a_run_tells_of_it_and_ends_with_the_planted_features(mixed: FabState) -> None:
    state, told = finished(cells())
    assert "recoded" in told
    assert (n_found(state), state.n_features) == (10, 10)
    assert recode_pair(cells(), state, PENALTY) is None  # independent features stay as they are
    assert state.bound > mixed.bound
