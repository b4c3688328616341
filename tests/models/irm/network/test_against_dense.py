"""Every fast sweep of a network equals the textbook one in plain NumPy: each kind of network, missing entries."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from acvb_core.evaluate.split import HeldOut
from acvb_core.models.irm import gibbs as sampling
from acvb_core.models.irm.cvb import CLIMB_FROM
from acvb_core.models.irm.gibbs import GibbsIrm
from acvb_core.models.irm.kernels import network_layout
from acvb_core.models.irm.model import IrmModel
from acvb_core.models.irm.network import NetworkPass
from acvb_core.models.irm.start import Start
from acvb_core.models.irm.state import posterior_of, tidy
from tests.loops import for_each
from tests.models.irm.adapters import (
    NETWORK_UPDATES,
    hyper_of,
    method_of,
    relation_of,
    state_of,
)
from tests.oracles.dense_irm import update_alpha
from tests.oracles.dense_network import (
    counts,
    gibbs_conditional,
    lower_bound,
    predict,
    pseudo_loo,
    sorted_by_size,
    sweep,
    update_ab_tied,
    vb_sweep,
)
from tests.oracles.network_cases import KINDS, NetworkCase, random_network_case

ORDERS = [*NETWORK_UPDATES, "vb"]
SETTINGS = {
    "complete": {"seed": 1, "n": 9, "size": 3, "missing": 0.0},
    "missing": {"seed": 2, "n": 10, "size": 4, "missing": 0.3},
    "hard": {"seed": 3, "n": 9, "size": 4, "missing": 0.2, "hard": True},
    "per-block": {"seed": 4, "n": 9, "size": 3, "missing": 0.2, "per_block": True},
    "one cluster": {"seed": 5, "n": 7, "size": 1, "missing": 0.1},
    "mostly missing": {"seed": 6, "n": 10, "size": 3, "missing": 0.9},
    "decided": {"seed": 8, "n": 18, "size": 3, "missing": 0.1, "decided": True},
    "more clusters than objects": {"seed": 7, "n": 4, "size": 6, "missing": 0.1},
}
each_case = for_each("kind, setting", list(product(KINDS, SETTINGS)))


def case_of(kind: str, setting: str) -> NetworkCase:
    return random_network_case(kind=kind, **SETTINGS[setting])


def swept_densely(case: NetworkCase, order: str, seed: int) -> tuple[np.ndarray, float | None]:
    """Return responsibilities and pseudo leave-one-out after a dense sweep in the order that `seed` draws."""
    visits = np.random.default_rng(seed).permutation(len(case.q))
    if order == "vb":
        return vb_sweep(case.data, case.q, visits, *case.hyper), None
    return sweep(NETWORK_UPDATES[order], case.data, case.q, visits, *case.hyper)


def in_state_order(case: NetworkCase, q: np.ndarray, order: str) -> np.ndarray:
    """Return where the package leaves the clusters: largest first, VB only where that does not lower the bound."""
    arranged = np.argsort(-q.sum(axis=0), kind="stable")
    if order == "vb":
        # A prior of each block moves with its block, so that sorting concerns the sticks alone.
        tied = case._replace(a=1.0, b=1.0)
        plain = lower_bound(tied.data, q, *tied.hyper)
        if lower_bound(tied.data, q[:, arranged], *tied.hyper) < plain - 1e-13 * abs(plain):
            return q
    return q[:, arranged]


@pytest.mark.parametrize("order", ORDERS)
@each_case
def test_sweep_equals_dense_sweep(kind: str, setting: str, order: str) -> None:
    case = case_of(kind, setting)
    q, loo = swept_densely(case, order, seed=11)
    state, info = method_of(case, order).sweep(state_of(case), np.random.default_rng(11))
    np.testing.assert_allclose(state.q["rows"], in_state_order(case, q, order), atol=1e-9)
    assert (info.pseudo_loo is None) == (loo is None) == (order == "vb")
    if loo is not None:
        assert info.pseudo_loo == pytest.approx(loo, rel=1e-9, abs=1e-9)


@for_each("kind, order", list(product(KINDS, ORDERS)))
def test_sweeps_in_pieces_equal_dense_sweeps_and_the_counts_follow(
    kind: str, order: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A compiled loop takes some objects at a time, so that a run can be paused between."""
    monkeypatch.setattr(NetworkPass, "chunk_length", lambda *_: 2)
    pauses: list[int] = []
    case = random_network_case(21, kind, n=10, size=3, missing=0.2)
    method, state = method_of(case, order), state_of(case)
    for seed in range(3):
        q, _ = swept_densely(case, order, seed)
        case = case._replace(q=in_state_order(case, q, order))
        state, _ = method.sweep(state, np.random.default_rng(seed), lambda: pauses.append(0))
    assert len(pauses) >= 3 * 5
    np.testing.assert_allclose(state.q["rows"], case.q, atol=1e-8)
    n, total, _ = counts(case.data, state.q["rows"])
    np.testing.assert_allclose(state.ones, n, atol=1e-10)
    np.testing.assert_allclose(state.entries, total, atol=1e-10)


@each_case
def test_counts_bound_pseudo_loo_and_predictions(kind: str, setting: str) -> None:
    case = case_of(kind, setting)
    relation, state = relation_of(case.data), state_of(case)
    n, total, _ = counts(case.data, case.q)
    np.testing.assert_allclose(state.ones, n, atol=1e-12)
    np.testing.assert_allclose(state.entries, total, atol=1e-12)
    model, posterior = IrmModel(relation, network_layout(relation)), posterior_of(state)
    if not state.hyper.per_block or case.size == 1:
        posterior = posterior.with_arrays({}, drop=("ones", "entries"))  # as an averaged posterior comes
    bound = lower_bound(case.data, case.q, *case.hyper)
    assert model.lower_bound(posterior) == pytest.approx(bound, rel=1e-11)
    loo = pseudo_loo(case.data, case.q, *case.hyper)
    assert model.pseudo_loo(posterior) == pytest.approx(loo, rel=1e-10, abs=1e-10)
    rows, cols = (index.ravel().astype(np.int32) for index in np.indices(case.data.x.shape))
    probability = model.predict(posterior, HeldOut(rows, cols, np.zeros(len(rows), bool)))
    np.testing.assert_allclose(
        probability, predict(case.data, case.q, case.a, case.b).ravel(), atol=1e-12, rtol=1e-12
    )
    strengths = (case.a + n) / (np.asarray(case.a) + case.b + total)
    np.testing.assert_allclose(model.strengths(posterior), strengths, rtol=1e-12)


@for_each("kind, order", list(product(KINDS, ORDERS)))
def test_a_sweep_learns_from_the_new_responsibilities(kind: str, order: str) -> None:
    case = case_of(kind, "missing")
    method, before = method_of(case, order, hyper_rule="tied"), state_of(case)
    early, _ = method.sweep(before, np.random.default_rng(3))
    state, _ = method.sweep(replace(before, age=CLIMB_FROM), np.random.default_rng(3))
    q = in_state_order(case, swept_densely(case, order, seed=3)[0], order)
    assert state.hyper.alpha["rows"] == pytest.approx(update_alpha(q, case.alpha), rel=1e-9)
    step = update_ab_tied(case.data, q, case.a, case.b)
    assert (early.hyper.a.item(), early.hyper.b.item()) == pytest.approx(step, rel=1e-9)
    # Later that step is continued towards the best a and b: the bound is no lower than after it.
    found = (state.hyper.a.item(), state.hyper.b.item())
    alpha = state.hyper.alpha["rows"]
    height = lower_bound(case.data, q, *found, alpha)
    assert height >= lower_bound(case.data, q, *step, alpha) - 1e-9
    assert found != pytest.approx(step, rel=1e-3)


@for_each("kind, order", list(product(KINDS, NETWORK_UPDATES)))
def test_dividing_shares_among_some_clusters_keeps_the_others(kind: str, order: str) -> None:
    """The conditional over all clusters, held to those that may change: what an object has of them is divided anew."""
    case = case_of(kind, "missing")
    visits, choices = np.array([7, 0, 3, 2, 7]), np.array([1, 3])
    q = case.q.copy()
    for i in visits:
        row, _ = NETWORK_UPDATES[order](case.data, q, i, *case.hyper)
        q[i, choices] = q[i, choices].sum() * row[choices] / row[choices].sum()
    objects = NetworkPass(relation_of(case.data), state_of(case))
    objects.run(order, visits, choices=choices)
    np.testing.assert_allclose(objects.q, q, atol=1e-9)


def dense_draw(case: NetworkCase, z: np.ndarray, visits: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
    """Draw every object's cluster in turn from its exact conditional, with the next uniform.

    The clusters are offered by number, and a new one last. An object that is alone may stay in its own in place of a
    new one; if it leaves, the last cluster takes that number.
    """
    z = z.copy()
    for i, uniform in zip(visits, uniforms, strict=True):
        old, width = z[i], z.max() + 1
        alone = np.sum(z == old) == 1
        clusters, probability = gibbs_conditional(case.data, z, i, *case.hyper)
        offered = np.zeros(width + (not alone))
        offered[clusters[:-1]] = probability[:-1]
        offered[old if alone else width] = probability[-1]
        z[i] = min(int(np.searchsorted(np.cumsum(offered), uniform)), len(offered) - 1)
        if alone and z[i] != old:
            z[z == width - 1] = old
    return z


@for_each("kind, alpha", list(product(KINDS, [0.5, 200.0])))
def test_gibbs_sweep_draws_from_the_exact_conditionals(
    kind: str, alpha: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Draw for draw, in one piece or several; a large concentration makes more clusters than there was room for."""
    case = random_network_case(14, kind, n=12, size=2, missing=0.15)._replace(alpha=alpha)
    relation = relation_of(case.data)
    layout = network_layout(relation)
    sampler = GibbsIrm(relation, Start(2, how="random"), hyper_of(case), "fixed", layout)
    state = sampler.init(np.random.default_rng(0))
    widths = []
    for seed in range(2):
        rng = np.random.default_rng(seed)
        visits, uniforms = rng.permutation(12), rng.random(12)
        wanted = dense_draw(case, state.labels["rows"], visits, uniforms)
        monkeypatch.setattr(sampling, "chunk_length", lambda *_, pieces=(2, 1000)[seed]: pieces)
        state, _ = sampler.sweep(state, np.random.default_rng(seed))
        assert (state.labels["rows"] == np.unique(wanted, return_inverse=True)[1]).all()
        widths.append(len(set(wanted)))
    assert alpha < 1 or max(widths) > 8
    posterior = sampler.posterior(state)
    for name, wanted in zip(("ones", "entries"), counts(case.data, posterior["rows"]), strict=False):
        np.testing.assert_allclose(posterior[name], wanted, atol=1e-12)


@for_each("kind", list(KINDS))
def test_tidying_takes_blocks_and_priors_along(kind: str) -> None:
    case = random_network_case(13, kind, n=10, size=4, per_block=True)
    q = sorted_by_size(case.q)[:, ::-1] * np.array([1.0, 1e-9, 1.0, 1.0])
    case = case._replace(q=q / q.sum(axis=1, keepdims=True))
    tidied, moved = tidy(state_of(case), relation_of(case.data), 1e-5)
    assert moved is not None
    assert sorted(moved["rows"]) == [0, 2, 3]
    kept = np.ix_(moved["rows"], moved["rows"])
    np.testing.assert_array_equal(tidied.hyper.a, np.asarray(case.a)[kept])
    np.testing.assert_array_equal(tidied.hyper.b, np.asarray(case.b)[kept])
    np.testing.assert_allclose(tidied.q["rows"], case.q[:, moved["rows"]], atol=1e-8)
    n, total, m = counts(case.data, tidied.q["rows"])
    assert (np.diff(m) <= 0).all()
    np.testing.assert_allclose(tidied.ones, n, atol=1e-12)
    np.testing.assert_allclose(tidied.entries, total, atol=1e-12)
