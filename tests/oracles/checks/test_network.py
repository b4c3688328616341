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
    NetworkData,
    expected_count,
    gibbs_conditional,
    log_joint,
    log_likelihood_of_labels,
    lower_bound,
    network,
    paper_variance,
    predict,
    pseudo_loo,
    sweep,
    update_cvb0,
    update_cvb2,
    vb_sweep,
)
from tests.oracles.enumeration import label_vectors
from tests.oracles.network_cases import KINDS, NetworkCase, random_network, random_network_case

each_kind = for_each("kind", list(KINDS))


def table_of(case: NetworkCase) -> exact.NetworkTable:
    return exact.joint_table(case.data, case.size, *case.hyper)


@each_kind
def test_entries_are_each_pair_once(kind):
    directed, self_links = KINDS[kind]
    data = random_network(np.random.default_rng(0), 6, kind, missing=0.0)
    pairs = 30 if directed else 15
    assert data.seen.sum() == pairs + 6 * self_links
    assert (data.ones + data.zeros == data.seen).all()
    assert np.isnan(data.x[~data.observed]).all()
    hidden = random_network(np.random.default_rng(0), 6, kind, missing=0.4).hiding(2)
    assert not hidden.seen[2].any()
    assert not hidden.seen[:, 2].any()


@each_kind
@for_each("size", [2, 3])
def test_expected_counts_agree_with_enumeration(kind, size):
    for seed in range(4):
        case = random_network_case(seed, kind, n=5, size=size)
        placed = case.q.copy()
        placed[1] = np.eye(size)[0]
        for indicator in (case.data.ones, case.data.zeros, case.data.seen):
            for q in (case.q, placed):
                mean, _ = exact.count_moments(case.data, indicator, q)
                assert expected_count(indicator, q, case.data.directed) == pytest.approx(mean, abs=1e-13)


def test_the_variance_of_self_links_is_exact():
    case = random_network_case(9, "undirected, self-links", missing=0.0)
    own = np.diag(np.diag(case.data.seen))
    _, true = exact.count_moments(case.data, own, case.q)
    assert paper_variance(own, case.q, False) == pytest.approx(true, abs=1e-13)


@for_each("kind", ["directed", "directed, self-links"])
def test_likelihood_is_the_two_domain_one_with_equal_labels(kind):
    for seed in range(10):
        case = random_network_case(seed, kind, n=6, size=3, hard=True, per_block=seed % 2 == 0)
        z = case.q.argmax(axis=1)
        both = two_domain_log_likelihood(DenseData(case.data.x, case.data.observed), z, z, case.a, case.b)
        assert log_likelihood_of_labels(case.data, z, case.a, case.b) == pytest.approx(both, abs=1e-11)


def test_likelihood_of_an_undirected_network_by_hand():
    """Links 0-1 and 1-2, no link 0-2, 3 alone with its self-link; two in each cluster."""
    x = np.zeros((4, 4))
    x[0, 1] = x[1, 2] = x[3, 3] = 1.0
    data = network(x, np.ones((4, 4), dtype=bool), directed=False, self_links=True)
    z, a, b = np.array([0, 0, 1, 1]), 1.0, 1.0
    # {0,0}: 01 is one, 00 and 11 are zeros; {0,1}: 12 is one, 02, 03, 13 are zeros; {1,1}: 33 is one, 22 and 23 zeros.
    wanted = np.log([1 * 2 / 24, 1 * 6 / 120, 1 * 2 / 24]).sum()  # B(1 + n, 1 + N) = n! N! / (n + N + 1)!
    assert log_likelihood_of_labels(data, z, a, b) == pytest.approx(wanted, abs=1e-12)


@each_kind
def test_evidence_of_all_networks_sums_to_one(kind):
    hyper, total = (0.7, 1.3, 0.8), 0.0
    observed = np.ones((3, 3), dtype=bool)
    places = np.argwhere(network(np.zeros((3, 3)), observed, *KINDS[kind]).entries)
    for bits in label_vectors(len(places), 2):
        x = np.zeros((3, 3))
        x[tuple(places.T)] = bits
        table = exact.joint_table(network(x, observed, *KINDS[kind]), 2, *hyper)
        total += np.exp(exact.log_evidence(table))
    assert total == pytest.approx(1.0, abs=1e-12)


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


@each_kind
def test_prediction_of_a_missing_entry_is_exact_when_assignments_are_hard(kind):
    case = random_network_case(5, kind, n=6, size=3, missing=0.4, hard=True, per_block=True)
    z = case.q.argmax(axis=1)
    rate = predict(case.data, case.q, case.a, case.b)
    now = log_likelihood_of_labels(case.data, z, case.a, case.b)
    tried = 0
    for i, j in np.argwhere(~case.data.observed):
        if i == j and not KINDS[kind][1]:
            continue
        x, observed = case.data.x.copy(), case.data.observed.copy()
        x[i, j], observed[i, j] = 1.0, True
        if not case.data.directed:
            x[j, i], observed[j, i] = 1.0, True
        with_it = log_likelihood_of_labels(NetworkData(x, observed, case.data.directed), z, case.a, case.b)
        assert rate[i, j] == pytest.approx(np.exp(with_it - now), abs=1e-12)
        tried += 1
    assert tried > 3


each_update = for_each("update", [update_cvb0, update_cvb2])


def bound_of(case: NetworkCase) -> float:
    return lower_bound(case.data, case.q, *case.hyper)


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


@each_kind
def test_posterior_marginals_are_kept_by_the_exact_conditionals(kind):
    case = random_network_case(6, kind, n=4)
    table = exact.joint_table(case.data, 2, *case.hyper)
    posterior, after = np.exp(table.log_joint - exact.log_evidence(table)), np.zeros(2)
    for weight, z in zip(posterior, table.labels, strict=True):
        after += weight * update_cvb0(case.data, np.eye(2)[z], 0, *case.hyper)[0]
    assert exact.posterior_marginals(table, 2)[0] == pytest.approx(after, abs=1e-12)


def test_a_sweep_uses_each_new_row_at_once_and_pseudo_loo_updates_nothing():
    case = random_network_case(1, "directed", n=5, size=3)
    q, total = case.q.copy(), 0.0
    for i in (3, 1):
        q[i], log_normaliser = update_cvb0(case.data, q, i, *case.hyper)
        total += log_normaliser
    swept, loo = sweep(update_cvb0, case.data, case.q, (3, 1), *case.hyper)
    assert swept.tolist() == q.tolist()
    assert loo == pytest.approx(total, abs=1e-13)
    before = case.q.copy()
    at_rest = pseudo_loo(case.data, case.q, *case.hyper)
    assert (case.q == before).all()
    assert at_rest == pytest.approx(
        sum(update_cvb0(case.data, before, i, *case.hyper)[1] for i in range(5)), abs=1e-12
    )


@each_kind
def test_pseudo_loo_of_hard_assignments_sums_the_exact_predictives(kind):
    case = random_network_case(4, kind, n=6, size=3, hard=True)
    wanted = sum(exact_conditional(case, i)[1] for i in range(6))
    assert pseudo_loo(case.data, case.q, *case.hyper) == pytest.approx(wanted, abs=1e-10)


@each_kind
@for_each("refresh", [True, False])
def test_vb_bound_never_falls(kind, refresh):
    for seed in range(8):
        case = random_network_case(seed, kind, n=8, size=3, missing=0.2, per_block=seed % 2 == 0)
        bounds = [bound_of(case)]
        for _ in range(8):
            case = case._replace(q=vb_sweep(case.data, case.q, range(8), *case.hyper, refresh=refresh))
            bounds.append(bound_of(case))
        assert np.diff(bounds).min() >= -1e-9 * abs(bounds[0])
        assert bounds[-1] > bounds[0]


@each_kind
def test_gibbs_conditional_is_the_ratio_of_joints_under_the_crp(kind):
    for seed in range(6):
        case = random_network_case(seed, kind, n=6, size=3, hard=True)
        z = case.q.argmax(axis=1)
        for i in range(6):
            clusters, probability = gibbs_conditional(case.data, z, i, *case.hyper)
            logs = []
            for k in clusters:
                tried = z.copy()
                tried[i] = k
                logs.append(log_joint(case.data, tried, *case.hyper, "crp"))
            wanted = np.exp(np.array(logs) - logsumexp(logs))
            assert probability == pytest.approx(wanted, abs=1e-12)
            assert len(clusters) == len(set(np.delete(z, i))) + 1
