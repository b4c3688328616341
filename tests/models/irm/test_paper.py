"""The IRM with `preset="paper"`: its first sweeps against dense references of IRM14 and ACVB17."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.special import digamma

from acvb_core.core.averaging import AveragedState
from acvb_core.core.clusters import order_by_size
from acvb_core.engine.prepared import prepare_run
from tests.loops import for_each
from tests.models.irm.adapters import ORACLE_UPDATES, relation_of
from tests.oracles import dense_network as network
from tests.oracles.cases import random_data
from tests.oracles.dense_irm import Array, DenseData, counts, tail_sums, vb_update
from tests.oracles.network_cases import KINDS, random_network

SHAPE = (9, 7)


def run_of(method: str, seed: int) -> tuple[DenseData, Any]:
    data = random_data(np.random.default_rng(seed), SHAPE, 0.15, 0.4)
    values = {"preset": "paper", "k_rows": 4, "k_cols": 3}
    return data, prepare_run(relation_of(data), method, values, seed=seed).algorithm


def printed_alpha(q: Array, alpha: float) -> float:
    """IRM14 eqs. 58 and 109: K, and the sum over all K sticks."""
    m = q.sum(axis=0)
    beyond = tail_sums(m)
    return float(len(m) / (digamma(m + beyond + alpha + 1) - digamma(beyond + alpha)).sum())


def in_order(q: Array) -> Array:
    return q[:, order_by_size(q.sum(axis=0))]


def interleaved(order: str, data: DenseData, q1: Array, q2: Array, visits: Array, *hyper: Any) -> Any:
    """Update the objects of both domains in one order, everything counted afresh each time (IRM14 Fig. 2)."""
    update, options = ORACLE_UPDATES[order]
    a, b, alpha1, alpha2 = hyper
    q1, q2 = q1.copy(), q2.copy()
    for visit in visits:
        if visit < len(q1):
            q1[visit], _ = update(data, q1, q2, visit, a, b, alpha1, **options)
        else:
            j = visit - len(q1)
            q2[j], _ = update(data.T, q2, q1, j, np.transpose(a), np.transpose(b), alpha2, **options)
    return q1, q2


@for_each(
    "method, order, seed",
    [("cvb0", "zeroth", 0), ("cvb0", "zeroth", 1), ("cvb", "paper", 0), ("cvb", "paper", 1)],
)
def test_collapsed_sweeps(method: str, order: str, seed: int) -> None:
    data, algorithm = run_of(method, seed)
    state = algorithm.init(np.random.default_rng(seed))
    drawn = np.random.default_rng(seed)
    for domain, n, k in (("rows", SHAPE[0], 4), ("cols", SHAPE[1], 3)):  # uniform, rows divided by their sum
        weights = drawn.random((n, k)) + 1e-12
        start = weights / weights.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(state.q[domain], in_order(start), rtol=1e-12)
    for sweep in range(3):
        a, b = (np.array(value) for value in (state.hyper.a, state.hyper.b))
        alpha = state.hyper.alpha
        visits = np.random.default_rng([seed, sweep]).permutation(sum(SHAPE))
        q1, q2 = interleaved(order, data, *state.q.values(), visits, a, b, alpha["rows"], alpha["cols"])
        state, _ = algorithm.sweep(state, np.random.default_rng([seed, sweep]))
        first, second = (order_by_size(q.sum(axis=0), 1e-5) for q in (q1, q2))
        np.testing.assert_allclose(state.q["rows"], q1[:, first], atol=1e-9)
        np.testing.assert_allclose(state.q["cols"], q2[:, second], atol=1e-9)
        # Eqs. 109-112, for the clusters in their new order.
        q1, q2, a, b = q1[:, first], q2[:, second], a[np.ix_(first, second)], b[np.ix_(first, second)]
        n, total, _, _ = counts(data, q1, q2)
        down = digamma(a + b + total) - digamma(a + b)
        np.testing.assert_allclose(state.hyper.a, a * (digamma(a + n) - digamma(a)) / down, rtol=1e-9)
        np.testing.assert_allclose(state.hyper.b, b * (digamma(b + total - n) - digamma(b)) / down, rtol=1e-9)
        assert state.hyper.alpha["rows"] == pytest.approx(printed_alpha(q1, alpha["rows"]), rel=1e-9)
        assert state.hyper.alpha["cols"] == pytest.approx(printed_alpha(q2, alpha["cols"]), rel=1e-9)


@for_each("seed", range(2))
def test_variational_sweep(seed: int) -> None:
    """Both domains by one q(theta), then q(v), q(theta) and eqs. 58-61."""
    data, algorithm = run_of("vb", seed)
    state = algorithm.init(np.random.default_rng(seed))
    a, b = (np.array(value) for value in (state.hyper.a, state.hyper.b))
    q1, q2, alpha = state.q["rows"], state.q["cols"], state.hyper.alpha
    n, total, _, _ = counts(data, q1, q2)
    theta = (a + n, b + total - n)
    new1 = vb_update(data, q1, q2, a, b, alpha["rows"])
    log_total = digamma(theta[0] + theta[1])
    links, zeros = data.ones.T @ new1, data.zeros.T @ new1
    likelihood = links @ (digamma(theta[0]) - log_total) + zeros @ (digamma(theta[1]) - log_total)
    # The prior's part of `vb_update`: the weights of the sticks do not depend on the links.
    nothing = DenseData(np.full((SHAPE[1], SHAPE[0]), np.nan), np.zeros((SHAPE[1], SHAPE[0]), dtype=bool))
    prior = vb_update(nothing, q2, new1, a.T, b.T, alpha["cols"])
    new2 = prior * np.exp(likelihood - likelihood.max(axis=1, keepdims=True))
    new2 /= new2.sum(axis=1, keepdims=True)
    state, _ = algorithm.sweep(state, np.random.default_rng(seed))
    first, second = (order_by_size(q.sum(axis=0), 1e-5) for q in (new1, new2))
    found = {domain: q[:, order_by_size(q.sum(axis=0))] for domain, q in state.q.items()}
    np.testing.assert_allclose(found["rows"], new1[:, first], atol=1e-9)
    np.testing.assert_allclose(found["cols"], new2[:, second], atol=1e-9)
    n, total, _, _ = counts(data, new1, new2)
    a_hat, b_hat = a + n, b + total - n
    up, down = digamma(a + b) - digamma(a), digamma(a_hat + b_hat) - digamma(a_hat)
    np.testing.assert_allclose(np.sort(state.hyper.a.ravel()), np.sort((a * up / down).ravel()), rtol=1e-9)
    up, down = digamma(a + b) - digamma(b), digamma(a_hat + b_hat) - digamma(b_hat)
    np.testing.assert_allclose(np.sort(state.hyper.b.ravel()), np.sort((b * up / down).ravel()), rtol=1e-9)


def test_the_mean_continues_when_a_cluster_is_dropped() -> None:
    """ACVB17 eq. 21 with the columns that are left, rows divided by their sums again."""
    _, averaged = run_of("acvb0", 1)
    averaged = replace(averaged, inner=replace(averaged.inner, shrink=0.24))
    inner = averaged.init(np.random.default_rng(0)).inner
    started = AveragedState(inner, sweeps=200, samples=4, mean={d: q.copy() for d, q in inner.q.items()})
    swept, info = averaged.sweep(started, np.random.default_rng(1))
    assert swept.samples == 5
    assert len(info.cluster_permutation["rows"]) < 4
    kept = inner.q["rows"][:, info.cluster_permutation["rows"]]
    kept = kept / kept.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(swept.mean["rows"], kept + (swept.inner.q["rows"] - kept) / 5, rtol=1e-12)


@for_each("kind", list(KINDS))
@for_each("method, update", [("cvb0", network.update_cvb0), ("cvb", network.update_cvb2)])
def test_sweeps_of_a_network(kind: str, method: str, update: Any) -> None:
    """One clustering: the objects in one random order, a prior for each block (IRM14 §2.2.1, §5)."""
    data = random_network(np.random.default_rng(3), 7, kind)
    values = {"preset": "paper", "k_rows": 3}
    algorithm = prepare_run(relation_of(data), method, values, model="network").algorithm
    state = algorithm.init(np.random.default_rng(2))
    for sweep in range(2):
        (q,), (alpha,) = state.q.values(), state.hyper.alpha.values()
        a, b = state.hyper.a, state.hyper.b
        order = np.random.default_rng(sweep).permutation(len(q))
        wanted, _ = network.sweep(update, data, q, order, a, b, alpha)
        state, _ = algorithm.sweep(state, np.random.default_rng(sweep))
        wanted = wanted[:, order_by_size(wanted.sum(axis=0), 1e-5)]
        np.testing.assert_allclose(state.q["rows"], wanted, atol=1e-9)
        assert state.hyper.alpha["rows"] == pytest.approx(printed_alpha(wanted, alpha), rel=1e-9)
