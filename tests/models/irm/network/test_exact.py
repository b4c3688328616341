"""Exact variances of the counts of a network: against all assignments, one by one."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.special import gammaln, logsumexp, polygamma

from acvb_core.core.errors import ParameterError
from acvb_core.data.relation import Network, Relation
from acvb_core.engine.fitting import fit
from acvb_core.engine.prepared import prepare_run
from acvb_core.models.irm.network_exact import MOST_OBJECTS, Pairs
from tests.models.irm.network.adapters import method_of, relation_of, state_of
from tests.oracles.dense_irm import Array, log_prior_terms
from tests.oracles.dense_network import NetworkData, each_block
from tests.oracles.network_cases import KINDS, random_network_case

CLOSE = {"rtol": 1e-9, "atol": 1e-9}


def moments(
    marked: Array, q: Array, directed: bool, fixed: dict[int, int], gone: int = -1
) -> tuple[Array, Array]:
    """Mean and variance of the marked entries of every block over all assignments; some objects are fixed or gone."""
    n, size = q.shape
    mean, square, total = np.zeros((size, size)), np.zeros((size, size)), 0.0
    for z in product(range(size), repeat=n):
        if any(z[i] != k for i, k in fixed.items()) or (gone >= 0 and z[gone] != 0):
            continue
        weight = np.prod([q[i, k] for i, k in enumerate(z) if i not in fixed and i != gone])
        count = np.zeros((size, size))
        for i, j in np.argwhere(marked):
            if gone not in (i, j):
                count[z[i], z[j]] += 1
                if not directed and z[i] != z[j]:
                    count[z[j], z[i]] += 1
        total += weight
        mean += weight * count
        square += weight * count**2
    assert total == pytest.approx(1.0)
    return mean, square - mean**2


def whole(data: NetworkData, marked: Array) -> Array:
    """Both triangles of an undirected network's entries."""
    return (marked if data.directed else np.maximum(marked, marked.T)) > 0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [2, 3])
def test_variances_are_those_of_all_assignments(kind: str, size: int) -> None:
    case = random_network_case(7, kind, n=5, size=size)
    data, q = case.data, case.q
    for marked in (data.ones, data.zeros, data.seen):
        pairs = Pairs.of(whole(data, marked), data.directed)
        for found, wanted in zip(pairs.count(q), moments(marked, q, data.directed, {}), strict=True):
            np.testing.assert_allclose(found, wanted, **CLOSE)
        p = q.copy()
        p[2] = 0.0
        without = pairs.count(p)
        for found, wanted in zip(without, moments(marked, q, data.directed, {}, gone=2), strict=True):
            np.testing.assert_allclose(found, wanted, **CLOSE)
        first, second = pairs.place(p, 2, without)
        for k in range(size):
            mean, variance = moments(marked, q, data.directed, {2: k})
            np.testing.assert_allclose(first.mean[k], mean[k], **CLOSE)
            np.testing.assert_allclose(first.variance[k], variance[k], **CLOSE)
            if data.directed:
                others = np.arange(size) != k  # block (k, k) stands in the first
                np.testing.assert_allclose(second.mean[k, others], mean[others, k], **CLOSE)
                np.testing.assert_allclose(second.variance[k, others], variance[others, k], **CLOSE)


def enumerated_update(
    data: NetworkData, q: Array, i: int, a: Array, b: Array, alpha: float
) -> tuple[Array, float]:
    """Second-order CVB with the moments of all assignments."""
    weights = log_prior_terms(np.delete(q, i, axis=0).sum(axis=0), alpha)
    for c, sign, marked in ((a, 1, data.ones), (b, 1, data.zeros), (np.asarray(a) + b, -1, data.seen)):
        before = second_order(c, *moments(marked, q, data.directed, {}, gone=i))
        for k in range(q.shape[1]):
            after = second_order(c, *moments(marked, q, data.directed, {i: k}))
            weights[k] += sign * each_block(after - before, data.directed).sum()
    return np.exp(weights - logsumexp(weights)), float(logsumexp(weights))


def second_order(c: Array, mean: Array, variance: Array) -> Array:
    return np.asarray(gammaln(c + mean) + 0.5 * polygamma(1, c + mean) * variance)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("per_block", [False, True])
def test_a_sweep(kind: str, per_block: bool) -> None:
    case = random_network_case(3, kind, n=5, size=2, per_block=per_block)
    relation = relation_of(case.data)
    order = np.random.default_rng(4).permutation(5)
    wanted, told = case.q.copy(), 0.0
    for i in order:
        wanted[i], log_normaliser = enumerated_update(case.data, wanted, int(i), *case.hyper)
        told += log_normaliser
    method = method_of(case, "exact", relation, schedule="paper")
    state, info = method.sweep(state_of(case, relation), np.random.default_rng(4))
    found = state.q["rows"]
    if not np.allclose(found, wanted, **CLOSE):  # clusters are ordered by size afterwards
        found = found[:, ::-1]
    np.testing.assert_allclose(found, wanted, **CLOSE)
    assert info.pseudo_loo == pytest.approx(told, rel=1e-9)


def test_exact_variances_change_the_answer_and_are_for_small_networks() -> None:
    x = (np.random.default_rng(0).random((12, 12)) < 0.4) & ~np.eye(12, dtype=bool)
    relation = Relation.build(x, np.eye(12, dtype=bool), network=Network(True, False))
    options = {
        "model": "network",
        "k_rows": 3,
        "max_sweeps": 3,
        "init": "random",
        "merge": False,
        "split": False,
    }
    answers = [fit(relation, "cvb", variance=variance, **options) for variance in ("paper", "exact")]
    one, other = (answer.posterior["rows"] for answer in answers)
    assert not np.allclose(one, other)
    many = MOST_OBJECTS + 1
    large = Relation.build(np.zeros((many, many), dtype=bool), network=Network(True, False))
    with pytest.raises(ParameterError, match=r"networks of at most 2,000 nodes; this one has 2,001"):
        prepare_run(large, "cvb", {"variance": "exact", "k_rows": 2}, model="network")
