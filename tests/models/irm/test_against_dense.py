"""Every fast sweep equals the textbook one in plain NumPy, missing entries and both orders included."""

from __future__ import annotations

import numpy as np
import pytest

from acvb_core.core.clusters import order_by_size
from acvb_core.evaluate.split import HeldOut
from acvb_core.models.irm.hyper import update_concentration, update_per_block, update_tied
from acvb_core.models.irm.model import IrmModel
from acvb_core.models.irm.state import posterior_of
from acvb_core.models.irm.vb import expected_logs, update_domain
from tests.loops import for_each
from tests.models.irm.adapters import ORACLE_UPDATES, hyper_of, method_of, oracle_sweep, relation_of, state_of
from tests.oracles.cases import random_case
from tests.oracles.dense_irm import (
    lower_bound,
    predict,
    update_ab,
    update_alpha,
    update_cvb0,
    vb_update,
)

CASES = {
    "complete": {"seed": 1, "shape": (9, 7), "sizes": (4, 3), "missing": 0.0},
    "missing": {"seed": 2, "shape": (12, 10), "sizes": (3, 5), "missing": 0.3},
    "hard": {"seed": 3, "shape": (8, 14), "sizes": (5, 2), "missing": 0.2, "hard": True},
    "per-block": {"seed": 4, "shape": (10, 9), "sizes": (3, 3), "missing": 0.2, "per_block": True},
    "one row cluster": {"seed": 5, "shape": (6, 11), "sizes": (1, 4), "missing": 0.1},
    "mostly missing": {"seed": 6, "shape": (13, 8), "sizes": (4, 4), "missing": 0.9},
    "decided": {"seed": 7, "shape": (20, 30), "sizes": (3, 3), "missing": 0.1, "decided": True},
}


def in_state_order(q: np.ndarray) -> np.ndarray:
    """Put dense responsibilities in the order the package leaves them in: largest cluster first."""
    return q[:, order_by_size(q.sum(axis=0))]


@pytest.mark.parametrize("order", ORACLE_UPDATES)
@for_each("options", CASES)
def test_sweep_equals_dense_sweep(options: dict, order: str) -> None:
    case = random_case(**options)
    q1, q2, pseudo_loo = oracle_sweep(case, order, seed=11)
    state, info = method_of(case, order).sweep(state_of(case), np.random.default_rng(11))
    np.testing.assert_allclose(state.q["rows"], in_state_order(q1), atol=1e-9)
    np.testing.assert_allclose(state.q["cols"], in_state_order(q2), atol=1e-9)
    assert info.pseudo_loo == pytest.approx(pseudo_loo, rel=1e-10)


@for_each("options", CASES)
def test_vb_update_equals_dense_update(options: dict) -> None:
    case = random_case(**options)
    state = state_of(case)
    a, b = state.hyper.blocks(state.ones.shape)
    links, zeros = case.data.ones @ case.q2, case.data.zeros @ case.q2
    logs = expected_logs(a + state.ones, b + state.entries - state.ones, is_gamma=False)
    rows = update_domain(case.q1.sum(axis=0), links, zeros, *logs, case.alpha1)
    np.testing.assert_allclose(
        rows, vb_update(case.data, case.q1, case.q2, case.a, case.b, case.alpha1), atol=1e-10
    )


@for_each("options", CASES)
def test_bound_prediction_and_pseudo_loo(options: dict) -> None:
    case = random_case(**options)
    model = IrmModel(relation_of(case.data))
    posterior = posterior_of(state_of(case))
    if not hyper_of(case).per_block or case.sizes == (1, 1):
        posterior = posterior.with_arrays({}, drop=("ones", "entries"))  # as an averaged posterior comes
    assert model.lower_bound(posterior) == pytest.approx(
        lower_bound(case.data, case.q1, case.q2, *case.hyper), rel=1e-11
    )
    rows, cols = (index.ravel().astype(np.int32) for index in np.indices(case.data.x.shape))
    probability = model.predict(posterior, HeldOut(rows, cols, np.zeros(len(rows), bool)))
    np.testing.assert_allclose(
        probability, predict(case.data, case.q1, case.q2, case.a, case.b).ravel(), atol=1e-12
    )
    loo = sum(
        update_cvb0(one.data, one.q1, one.q2, i, one.a, one.b, one.alpha1)[1]
        for one in (case, case.T)
        for i in range(len(one.q1))
    )
    assert model.pseudo_loo(posterior) == pytest.approx(loo, rel=1e-10)


@for_each("options", CASES)
def test_hyper_parameter_steps(options: dict) -> None:
    case = random_case(**options)
    state = state_of(case)
    if case.sizes[0] > 1:
        assert update_concentration(case.alpha1, case.q1.sum(axis=0)) == pytest.approx(
            update_alpha(case.q1, case.alpha1), rel=1e-12
        )
    hyper = state.hyper
    wanted = update_ab(case.data, case.q1, case.q2, case.a, case.b, tied=not hyper.per_block)
    counts = state.ones, state.entries
    found = update_per_block(hyper.a, hyper.b, *counts) if hyper.per_block else update_tied(hyper, *counts)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, np.broadcast_to(other, one.shape), rtol=1e-10)
