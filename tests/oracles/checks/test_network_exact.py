"""Exact variances of the counts of a network: against all assignments of its objects, one by one."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp

from tests.loops import for_each
from tests.oracles.dense_irm import Array, log_prior_terms
from tests.oracles.dense_network import NetworkData, each_block
from tests.oracles.network_cases import KINDS, random_network_case
from tests.oracles.network_enumeration import count_moments
from tests.oracles.network_exact import Blocks, count_blocks, count_blocks_placed, log_gamma, update_exact

CLOSE = {"rtol": 1e-9, "atol": 1e-9}


def moments(data: NetworkData, marked: Array, q: Array, i: int, k: int | None) -> Blocks:
    """Enumerated mean and variance with object i in cluster k, or without it."""
    q = q.copy()
    q[i] = np.eye(q.shape[1])[k or 0]
    if k is None:
        marked = marked.copy()
        marked[i] = marked[:, i] = 0.0
    return Blocks(*count_moments(data, marked, q))


@for_each("kind", list(KINDS))
def test_variances_are_those_of_all_assignments(kind: str) -> None:
    case = random_network_case(7, kind, n=5, size=3)
    data, p = case.data, case.q.copy()
    p[2] = 0.0
    for marked in (data.ones, data.zeros, data.seen):
        for found, wanted in zip(
            count_blocks(marked, case.q, data.directed), count_moments(data, marked, case.q), strict=True
        ):
            np.testing.assert_allclose(found, wanted, **CLOSE)
        without = count_blocks(marked, p, data.directed)
        for found, wanted in zip(without, moments(data, marked, p, 2, None), strict=True):
            np.testing.assert_allclose(found, wanted, **CLOSE)
        first, second = count_blocks_placed(marked, p, 2, without, data.directed)
        for k in range(3):
            placed, others = moments(data, marked, case.q, 2, k), np.arange(3) != k
            for found, turned, wanted in zip(first, second, placed, strict=True):
                np.testing.assert_allclose(found[k], wanted[k], **CLOSE)
                if data.directed:
                    np.testing.assert_allclose(turned[k, others], wanted[others, k], **CLOSE)


@for_each("kind", list(KINDS))
def test_the_update_has_the_moments_of_all_assignments(kind: str) -> None:
    for per_block in (False, True):
        case = random_network_case(3, kind, n=5, size=2, per_block=per_block)
        data, q = case.data, case.q
        weights = log_prior_terms(np.delete(q, 1, axis=0).sum(axis=0), case.alpha)
        for prior, sign, marked in (
            (case.a, 1, data.ones),
            (case.b, 1, data.zeros),
            (np.asarray(case.a) + case.b, -1, data.seen),
        ):
            before = log_gamma(prior, moments(data, marked, q, 1, None))
            for k in range(2):
                after = log_gamma(prior, moments(data, marked, q, 1, k))
                weights[k] += sign * each_block(after - before, data.directed).sum()
        row, log_normaliser = update_exact(data, q, 1, *case.hyper)
        np.testing.assert_allclose(row, np.exp(weights - logsumexp(weights)), **CLOSE)
        assert log_normaliser == pytest.approx(logsumexp(weights), rel=1e-9)
