"""Every fast sweep over counts equals the textbook one in plain NumPy: two domains and each kind of network."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.optimize import minimize

from acvb_core.evaluate.split import HeldOut
from acvb_core.models.irm.hyper import update_tied
from acvb_core.models.irm.kernels import network_layout
from acvb_core.models.irm.state import posterior_of
from acvb_core.models.poisson.counts import count_links
from acvb_core.models.poisson.methods import COUNTING, CountChoice
from acvb_core.models.poisson.model import PoissonModel
from tests.loops import for_each
from tests.models.poisson.adapters import method_of, relation_of, state_of
from tests.oracles.dense_irm import stick_evidence
from tests.oracles.dense_poisson import (
    Parts,
    expected_value,
    log_predict,
    lower_bound,
    pseudo_loo,
    sums,
    sweep,
    update_cvb0,
    update_cvb2,
    vb_sweep,
)
from tests.oracles.poisson_cases import KINDS, CountCase, random_count_case, random_counts
from tests.oracles.poisson_enumeration import joint_table

UPDATES = {"zeroth": update_cvb0, "paper": update_cvb2}
ORDERS = [*UPDATES, "vb"]
SETTINGS = {
    "complete": {"seed": 1, "shape": (9, 7), "sizes": (4, 3), "missing": 0.0},
    "missing": {"seed": 2, "shape": (10, 12), "sizes": (3, 5), "missing": 0.3},
    "hard": {"seed": 3, "shape": (8, 11), "sizes": (5, 2), "missing": 0.2, "hard": True},
    "large counts": {"seed": 4, "shape": (9, 9), "sizes": (3, 3), "missing": 0.2, "mean": 60.0},
    "one cluster": {"seed": 5, "shape": (6, 11), "sizes": (1, 4), "missing": 0.1},
    "mostly missing": {"seed": 6, "shape": (11, 8), "sizes": (4, 4), "missing": 0.9},
    "few links": {"seed": 7, "shape": (12, 12), "sizes": (4, 3), "missing": 0.1, "mean": 0.05},
}
each_case = for_each("kind, setting", list(product(KINDS, SETTINGS)))


def case_of(kind: str, setting: str) -> CountCase:
    return random_count_case(kind=kind, **SETTINGS[setting])


def swept_densely(case: CountCase, order: str, seed: int) -> tuple[Parts, float | None]:
    """Return responsibilities and pseudo leave-one-out after a dense sweep in the order that `seed` draws."""
    rng = np.random.default_rng(seed)
    visits = [rng.permutation(len(part)) for part in case.q]
    if order == "vb":
        return vb_sweep(case.data, case.q, visits, *case.hyper), None
    return sweep(UPDATES[order], case.data, case.q, visits, *case.hyper)


def in_state_order(case: CountCase, q: Parts, order: str) -> Parts:
    """Return the clusters in the package's order: largest first, of VB only if that does not lower the bound."""
    arranged = []
    for part, alpha in zip(q, case.alphas, strict=True):
        mass = part.sum(axis=0)
        by_size = np.argsort(-mass, kind="stable")
        lower = stick_evidence(mass[by_size], alpha) < stick_evidence(mass, alpha)
        arranged.append(part if order == "vb" and lower else part[:, by_size])
    return tuple(arranged)


def assert_same(state_q: dict, q: Parts, tolerance: float) -> None:
    for found, wanted in zip(state_q.values(), q, strict=True):
        np.testing.assert_allclose(found, wanted, atol=tolerance)


@pytest.mark.parametrize("order", ORDERS)
@each_case
def test_sweeps_equal_dense_sweeps(kind: str, setting: str, order: str) -> None:
    """Two sweeps: the second begins with the sums that the first has kept up to date."""
    case = case_of(kind, setting)
    method, state = method_of(case, order), state_of(case)
    for seed in (11, 12):
        q, loo = swept_densely(case, order, seed)
        case = case._replace(q=in_state_order(case, q, order))
        state, info = method.sweep(replace(state, active=None), np.random.default_rng(seed))
        assert_same(state.q, case.q, 1e-8)
        assert (info.pseudo_loo is None) == (loo is None) == (order == "vb")
        if loo is not None:
            assert info.pseudo_loo == pytest.approx(loo, rel=1e-8, abs=1e-8)
        n, exposure = sums(case.data, case.q)
        np.testing.assert_allclose(state.ones, n, atol=1e-7)
        np.testing.assert_allclose(state.entries, n + exposure, atol=1e-7)


@for_each("kind, rule", list(product(KINDS, ["fixed", "tied"])))
def test_vb_never_lowers_the_bound(kind: str, rule: str) -> None:
    for seed in range(3):
        case = random_count_case(seed, kind, (14, 12), (4, 3), mean=2.0)
        method, state, bounds = method_of(case, "vb", hyper_rule=rule), state_of(case), []
        rng = np.random.default_rng(seed)
        for _ in range(25):
            state, _ = method.sweep(state, rng)
            hyper = state.hyper
            alphas = tuple(hyper.alpha.values())
            q = tuple(state.q.values())
            bounds.append(lower_bound(case.data, q, hyper.a.item(), hyper.b.item(), alphas))
        assert (np.diff(bounds) >= -1e-9 * abs(bounds[-1])).all()
        assert bounds[-1] > bounds[0]


@for_each("kind, order", list(product(KINDS, ORDERS)))
def test_rates_absorb_a_factor_of_the_activity(kind: str, order: str) -> None:
    case = case_of(kind, "missing")
    plain, _ = method_of(case, order).sweep(state_of(case), np.random.default_rng(0))
    if case.data.directed is False:  # both sides of an undirected network have the same activity
        data, b = case.data._replace(t=5.0 * case.data.t, f=5.0 * case.data.f), 25.0 * case.b
    else:
        data, b = case.data.rescaled(5.0), 5.0 * case.b
    scaled = case._replace(data=data, b=b)
    state, _ = method_of(scaled, order).sweep(state_of(scaled), np.random.default_rng(0))
    assert_same(state.q, tuple(plain.q.values()), 1e-9)


@for_each("order", ORDERS)
def test_turning_every_link_of_a_network_keeps_its_clusters(order: str) -> None:
    case = case_of("directed, self-links", "missing")
    plain, _ = method_of(case, order).sweep(state_of(case), np.random.default_rng(0))
    turned, _ = method_of(case.T, order).sweep(state_of(case.T), np.random.default_rng(0))
    assert_same(turned.q, tuple(plain.q.values()), 1e-9)
    np.testing.assert_allclose(turned.ones, plain.ones.T, atol=1e-9)


def test_two_domains_swap_with_the_sides_of_the_data() -> None:
    """Sweeps begin with the rows, so the answers are compared when both have converged."""
    case = random_count_case(9, "two domains", (20, 16), (3, 2), missing=0.1, mean=3.0)
    answers = []
    for one in (case, case.T):
        method, state = method_of(one, "vb"), state_of(one)
        for _ in range(300):
            state, _ = method.sweep(state, np.random.default_rng(0))
        answers.append(state)
    plain, turned = answers
    np.testing.assert_allclose(turned.q["cols"], plain.q["rows"], atol=1e-6)
    np.testing.assert_allclose(turned.q["rows"], plain.q["cols"], atol=1e-6)


def modelled(case: CountCase, degree: str) -> tuple[PoissonModel, CountCase]:
    """Return the model of a case's relation, and the case with the activities that the model finds."""
    relation = relation_of(case.data)
    activity = count_links(relation, degree)
    data = case.data._replace(t=activity.row_activity, f=activity.column_activity)
    layout = {} if relation.network is None else {"layout": network_layout(relation)}
    return PoissonModel(relation, **layout), case._replace(data=data)


@for_each("degree", ["corrected", "none"])
@each_case
def test_bound_pseudo_loo_and_predictions(kind: str, setting: str, degree: str) -> None:
    model, case = modelled(case_of(kind, setting), degree)
    posterior = posterior_of(state_of(case))
    posterior = posterior.with_arrays(
        {COUNTING: CountChoice(degree).to_array()}, axes={COUNTING: (None,)}, drop=("ones", "entries")
    )
    bound = lower_bound(case.data, case.q, *case.hyper)
    assert model.lower_bound(posterior) == pytest.approx(bound, rel=1e-10)
    loo = pseudo_loo(case.data, case.q, *case.hyper)
    assert model.pseudo_loo(posterior) == pytest.approx(loo, rel=1e-9, abs=1e-9)
    rows, cols = (index.ravel().astype(np.int32) for index in np.indices(case.data.x.shape))
    counts = np.random.default_rng(0).poisson(1.0, len(rows)).astype(float)
    found = model.pairs(posterior).predict(rows, cols, counts)
    absent = np.exp(log_predict(case.data, case.q, case.a, case.b, 0.0)).ravel()
    grid = counts.reshape(case.data.x.shape)
    likely = np.exp(log_predict(case.data, case.q, case.a, case.b, grid)).ravel()
    mean = expected_value(case.data, case.q, case.a, case.b).ravel()
    np.testing.assert_allclose(found, np.stack([1 - absent, likely, mean], axis=1), atol=1e-7, rtol=1e-6)
    held_out = HeldOut(rows, cols, counts > 0, counts)
    np.testing.assert_allclose(model.predict(posterior, held_out), found[:, :2], atol=1e-11)


@for_each("kind", list(KINDS))
def test_bound_is_below_the_exact_evidence(kind: str) -> None:
    shape = (3, 3) if kind == "two domains" else (4, 4)
    for seed in range(3):
        model, case = modelled(random_count_case(seed, kind, shape, missing=0.1 * seed), "corrected")
        table = joint_table(case.data, case.sizes, *case.hyper)
        method, state = method_of(case, "vb"), state_of(case)
        for _ in range(30):
            state, _ = method.sweep(state, np.random.default_rng(0))
            posterior = method.posterior(replace(state))
            posterior = posterior.with_arrays(
                {COUNTING: CountChoice("corrected").to_array()}, axes={COUNTING: (None,)}
            )
            assert model.lower_bound(posterior) <= table.log_evidence + 1e-10
        assert model.lower_bound(posterior) > table.log_evidence - 12.0


@for_each("kind, steps", list(product(KINDS, [0, 3])))
def test_learned_prior_has_the_highest_bound(kind: str, steps: int) -> None:
    """By the fixed point alone, and with Newton's method."""
    rng = np.random.default_rng(3)
    case = random_count_case(3, kind, (16, 14), (5, 4), hard=True)
    rates = rng.gamma(0.8, 2.0, (case.sizes[0], case.sizes[-1]))  # no blocks alike: the best prior is finite
    if case.data.directed is False:
        rates = (rates + rates.T) / 2
    data = random_counts(rng, case.data.x.shape, kind, mean=case.q[0] @ rates @ case.q[-1].T)
    case = case._replace(data=data)
    state = state_of(case)
    hyper, distinct = state.hyper, state.layout.distinct(len(state.ones))
    for _ in range(4 if steps else 100):
        a, b = update_tied(hyper, state.ones, state.entries, distinct, steps=steps)
        hyper = replace(hyper, a=a, b=b)
    best = minimize(
        lambda logs: -lower_bound(case.data, case.q, *np.exp(logs), case.alphas), [0.0, 0.0], method="BFGS"
    )
    np.testing.assert_allclose([hyper.a.item(), hyper.b.item()], np.exp(best.x), rtol=1e-3)
