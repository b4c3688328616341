"""The oracles of networks: counts, joint and bound against enumeration, updates against exact conditionals."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp

from tests.loops import for_each
from tests.oracles import network_enumeration as exact
from tests.oracles.cases import soft_rows
from tests.oracles.dense_irm import Array, DenseData
from tests.oracles.dense_irm import log_likelihood_of_labels as two_domain_log_likelihood
from tests.oracles.dense_network import (
    log_joint,
    log_likelihood_of_labels,
    lower_bound,
    update_cvb0,
    update_cvb2,
)
from tests.oracles.network_cases import KINDS, NetworkCase, random_network_case

each_kind = for_each("kind", list(KINDS))


def table_of(case: NetworkCase) -> exact.NetworkTable:
    return exact.joint_table(case.data, case.size, *case.hyper)


@for_each("kind", ["directed", "directed, self-links"])
def test_likelihood_is_the_two_domain_one_with_equal_labels(kind):
    for seed in range(10):
        case = random_network_case(seed, kind, n=6, size=3, hard=True, per_block=seed % 2 == 0)
        z = case.q.argmax(axis=1)
        both = two_domain_log_likelihood(DenseData(case.data.x, case.data.observed), z, z, case.a, case.b)
        assert log_likelihood_of_labels(case.data, z, case.a, case.b) == pytest.approx(both, abs=1e-11)


@each_kind
@for_each("size", [2, 3])
def test_vb_bound_below_collapsed_bound_below_evidence(kind, size):
    for seed in range(3):
        case = random_network_case(seed, kind, size=size)
        table, rng = table_of(case), np.random.default_rng(seed)
        for concentration in np.geomspace(0.05, 5.0, 12):
            q = soft_rows(rng, 5, size, concentration)
            collapsed = exact.collapsed_bound(table, q)
            assert lower_bound(case.data, q, *case.hyper) <= collapsed + 1e-12
            assert collapsed <= exact.log_evidence(table) + 1e-12


@each_kind
@for_each("seed", range(6))
def test_bound_at_hard_assignments_is_the_log_joint(kind, seed):
    case = random_network_case(seed, kind, n=6, size=3, hard=True, per_block=seed % 2 == 0)
    joint = log_joint(case.data, case.q.argmax(axis=1), *case.hyper, size=3)
    assert lower_bound(case.data, case.q, *case.hyper) == pytest.approx(joint, abs=1e-11)


each_update = for_each("update", [update_cvb0, update_cvb2])


def exact_conditional(case: NetworkCase, i: int) -> tuple[Array, float]:
    """p(z_i | Z without i, X) and log p(x_i | X without i, Z without i), from ratios of joints."""
    z, hidden = case.q.argmax(axis=1), case.data.hiding(i)
    with_entries, without = [], []
    for k in range(case.size):
        z[i] = k
        with_entries.append(log_joint(case.data, z, *case.hyper, size=case.size))
        without.append(log_joint(hidden, z, *case.hyper, size=case.size))
    evidence = logsumexp(with_entries)
    return np.exp(np.array(with_entries) - evidence), float(evidence - logsumexp(without))


@each_kind
@each_update
def test_updates_are_exact_when_all_else_is_hard(kind, update):
    for seed in range(10):
        case = random_network_case(seed, kind, n=6, size=3, hard=True, per_block=seed % 2 == 0)
        case.q[2] = [0.2, 0.3, 0.5]
        row, log_normaliser = update(case.data, case.q, 2, *case.hyper)
        conditional, log_predictive = exact_conditional(case, 2)
        assert row == pytest.approx(conditional, abs=1e-11)
        assert log_normaliser == pytest.approx(log_predictive, abs=1e-11)
