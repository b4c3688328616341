"""The steps of FAB and EM, each against the same written out term by term."""

from __future__ import annotations

import numpy as np
import pytest

from acvb_core.models.lfm import fab as activations
from acvb_core.models.lfm import state as least_squares
from acvb_core.models.lfm.fab import Fab, update_activations
from acvb_core.models.lfm.spec import NOISE_FLOOR
from acvb_core.models.lfm.state import fit_weights
from acvb_core.samples.planted_mixtures import planted_features
from tests.loops import for_each
from tests.models.lfm.fab.cases import (
    CLOSE,
    PENALTIES,
    cells_of,
    dense_sweep,
    features_of,
    fit_of,
    started,
    with_holes,
)
from tests.oracles import dense_lfm as dense
from tests.oracles.dense_lfm import MODES, Features
from tests.oracles.lfm_cases import LfmCase, edge_cases, larger_case, random_case, standardised

EDGES = edge_cases()
EVERY_MODE = for_each("mode", MODES)


def of_many_features(missing: float, size: int = 20) -> LfmCase:
    """More features than a block of either kind has, of weights that leave none of them certain."""
    x, state = random_case(3, (9, 4), size, missing)
    return LfmCase(x, state._replace(weights=0.3 * state.weights))


CASES = {
    **EDGES,
    "17 features": of_many_features(0.0, 17),
    "20 features, missing": of_many_features(0.3),
    "4 features, missing": random_case(5, (6, 3), 4),
    "larger": larger_case(0),
}


@EVERY_MODE
@for_each("name", list(CASES))
def test_one_round_is_the_e_step(name: str, mode: str) -> None:
    x, state = CASES[name]
    mu, cells = np.ascontiguousarray(state.objects.T), cells_of(x)
    found, shares = update_activations(cells, mu, fit_of(x, state), state.pi, PENALTIES[mode].slope(cells))
    assert np.transpose(found) == pytest.approx(dense.e_sweep(x, state, mode).objects, abs=1e-11)
    assert (shares == state.pi).all()


@EVERY_MODE
@for_each("name", ["complete", "missing", "17 features", "20 features, missing", "larger"])
def test_rounds_are_those_of_a_feature_and_its_share(
    name: str, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(activations, "_STILL", 0.0)
    x, state = CASES[name]
    cells = cells_of(x)
    found, shares = update_activations(
        cells, state.objects.T.copy(), fit_of(x, state), state.pi, PENALTIES[mode].slope(cells), 7
    )
    wanted = state
    with np.errstate(divide="ignore"):  # a share that has gone to zero
        for k in range(state.size):
            wanted = dense.accelerate(x, wanted, k, mode, 7)
    assert np.transpose(found) == pytest.approx(wanted.objects, abs=1e-10)
    assert shares == pytest.approx(wanted.pi, abs=1e-10)


@EVERY_MODE
@for_each("case", [larger_case(0), larger_case(1, 0.0), random_case(3, (9, 3), 2)])
def test_fit_is_the_m_step(case: LfmCase, mode: str) -> None:
    x, state = case
    wanted = dense.m_step(x, state.objects, mode)
    fit = fit_weights(cells_of(x), state.objects.T.copy(), lost=PENALTIES[mode].lost_degrees(state.size))
    assert fit.weights == pytest.approx(wanted.weights, **CLOSE)
    assert fit.bias == pytest.approx(wanted.bias, **CLOSE)
    assert fit.precision == pytest.approx(wanted.precision, **CLOSE)
    assert fit.squared_error == pytest.approx(dense.residual_squares(x, wanted), **CLOSE)


@for_each("missing", [0.0, 0.3])
def test_pieces_do_not_matter(missing: float, monkeypatch: pytest.MonkeyPatch) -> None:
    x, state = larger_case(2, missing)
    mu, cells, errors = state.objects.T.copy(), cells_of(x), []
    for exact_up_to in (0, 1e9):
        monkeypatch.setattr(least_squares, "_EXACT_UP_TO", exact_up_to)
        whole = fit_weights(cells, mu, lost=3)
        monkeypatch.setattr(least_squares, "_PIECE", 5)
        monkeypatch.setattr(least_squares, "_AT_ONCE", 3 * (len(mu) + 1) * len(x))
        found = fit_weights(cells, mu, lost=3)
        monkeypatch.undo()
        for name in ("weights", "bias", "precision", "squared_error"):
            assert getattr(found, name) == pytest.approx(getattr(whole, name), rel=1e-9, abs=1e-9)
        errors.append(whole.squared_error)
    assert errors[0] == pytest.approx(errors[1], abs=1e-4)  # of conjugate gradients and of the exact solution


def test_noise_has_a_floor_if_a_column_is_explained_to_the_last_digit() -> None:
    rng = np.random.default_rng(0)
    objects = (rng.random((20, 2)) < 0.5).astype(float)
    x = np.column_stack([objects @ [3.0, -50.0], objects @ [1.0, 2.0] + rng.normal(size=20)])
    fit = fit_weights(cells_of(x), objects.T.copy(), lost=2)
    assert np.sqrt(1.0 / fit.precision[0]) == pytest.approx(NOISE_FLOOR * x[:, 0].std(), rel=1e-6)
    assert 1.0 / fit.precision[1] == pytest.approx(fit.squared_error[1] / 18, rel=1e-12)


@for_each("steps", [0, 1, 2, 3])
@for_each("seed", range(3))
def test_conjugate_gradients_cut_short_raise_no_squared_error(
    steps: int, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the fit for other activations, which are near; and what is told is the error of what is returned."""
    x, state = larger_case(seed, 0.3)
    cells, rng = cells_of(x), np.random.default_rng(seed)
    start = fit_weights(cells, state.objects.T.copy())
    objects = np.clip(state.objects + 0.2 * rng.normal(size=state.objects.shape), 0.0, 1.0)
    before = dense.residual_squares(x, features_of(objects.T, start))
    monkeypatch.setattr(least_squares, "_EXACT_UP_TO", 0)
    monkeypatch.setattr(least_squares, "_STEPS", steps)
    found = fit_weights(cells, objects.T.copy(), start)
    after = dense.residual_squares(x, features_of(objects.T, found))
    assert found.squared_error == pytest.approx(after, abs=1e-8)
    assert (before - after).min() > -1e-8
    assert (before - after).min() > 1e-6 if steps else (before == after).all()
    # A start of another number of features is none.
    fewer = fit_weights(cells, objects.T[:2].copy(), start)
    assert fewer.weights.shape == (2, x.shape[1])


def beginnings(seed: int, missing: float) -> tuple[np.ndarray, np.ndarray]:
    """A table and E[z] (K, N): of three features that say nothing and one that all have, or near the truth."""
    if seed < 2:
        x, state = random_case(seed, (20, 4), 4, missing)
        return x, np.where(np.arange(4) == 3, 1.0 - 1e-4, state.objects).T
    planted = planted_features(24, 8, 2, noise=0.3, seed=seed)
    rng = np.random.default_rng(seed)
    near = np.clip(planted.activations.T, 0.2, 0.8)
    mu = np.vstack([rng.random(24), near, np.full(24, 1.0 - 1e-4)])
    return standardised(with_holes(planted.table, missing).values), mu


@EVERY_MODE
@for_each("accelerated", [False, True])
@for_each("missing", [0.0, 0.2])
def test_sweeps_are_those_of_the_oracle(
    mode: str, accelerated: bool, missing: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dropped features included: those that die, and one that all objects have."""
    monkeypatch.setattr(activations, "_STILL", 0.0)
    dropped = left = 0
    for seed in range(4):
        x, mu = beginnings(seed, missing)
        fab = Fab(cells_of(x), 4, PENALTIES[mode], 0, accelerated, False)
        state = started(fab, mu)
        for sweep in range(4):
            before = Features.of(fab.posterior(state).arrays)
            wanted, names = dense_sweep(x, before, mode, accelerated=accelerated)
            after, info = fab.sweep(state, np.random.default_rng(sweep))
            found = Features.of(fab.posterior(after).arrays)
            assert found.objects == pytest.approx(wanted.objects, abs=1e-7)
            assert found.weights == pytest.approx(wanted.weights, rel=1e-4, abs=1e-4)
            assert found.bias == pytest.approx(wanted.bias, rel=1e-4, abs=1e-4)
            assert found.precision == pytest.approx(wanted.precision, rel=1e-4)
            kept = info.cluster_permutation or {"features": np.arange(before.size)}
            assert kept["features"].tolist() == names.tolist()
            lost = before.size - len(names)
            assert info.moves == ({"dropped": lost} if lost else None)
            if len(names):
                change = np.abs(found.objects - before.objects[:, names]).mean()
                assert info.change == pytest.approx(change, abs=1e-12)
            dropped, state = dropped + lost, after
        left += state.n_features
    assert dropped >= 3
    assert left >= 4
