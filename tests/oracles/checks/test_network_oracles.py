"""The oracles of networks checked against enumeration: counts, joint, bound."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import xlogy

from tests.oracles import network_enumeration as exact
from tests.oracles.cases import soft_rows
from tests.oracles.dense_irm import DenseData, stick_evidence
from tests.oracles.dense_irm import log_likelihood_of_labels as two_domain_log_likelihood
from tests.oracles.dense_network import (
    NetworkData,
    NetworkPosterior,
    counts,
    expected_count,
    log_joint,
    log_likelihood_of_labels,
    lower_bound,
    lower_bound_explicit,
    network,
    paper_variance,
    paper_variance_placed,
    predict,
    vb_posterior,
)
from tests.oracles.enumeration import label_probabilities, label_vectors, partitions
from tests.oracles.network_cases import KINDS, NetworkCase, random_network, random_network_case

each_kind = pytest.mark.parametrize("kind", KINDS)


def table_of(case: NetworkCase) -> exact.NetworkTable:
    return exact.joint_table(case.data, case.size, *case.hyper)


# ------------------------------------------------------------------------------------------------------- data


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


@pytest.mark.parametrize("kind", ["undirected", "undirected, self-links"])
def test_turning_an_undirected_network_round_changes_nothing(kind):
    case = random_network_case(3, kind, n=6, size=3, missing=0.3)
    turned = case._replace(data=case.data.T)
    np.testing.assert_array_equal(turned.data.ones, case.data.ones)
    np.testing.assert_array_equal(turned.data.zeros, case.data.zeros)
    for part, other in zip(counts(case.data, case.q), counts(turned.data, turned.q), strict=True):
        np.testing.assert_array_equal(part, other)


@pytest.mark.parametrize("kind", ["directed", "directed, self-links"])
def test_turning_a_directed_network_round_transposes_its_blocks(kind):
    case = random_network_case(4, kind, n=6, size=3, missing=0.3)
    n, total, _ = counts(case.data, case.q)
    turned_n, turned_total, _ = counts(case.data.T, case.q)
    assert turned_n == pytest.approx(n.T, abs=1e-13)
    assert turned_total == pytest.approx(total.T, abs=1e-13)
    assert not np.allclose(n, n.T)


# ----------------------------------------------------------------------------------------------------- counts


@each_kind
@pytest.mark.parametrize("size", [2, 3])
def test_expected_counts_agree_with_enumeration(kind, size):
    for seed in range(4):
        case = random_network_case(seed, kind, n=5, size=size)
        placed = case.q.copy()
        placed[1] = np.eye(size)[0]
        for indicator in (case.data.ones, case.data.zeros, case.data.seen):
            for q in (case.q, placed):
                mean, _ = exact.count_moments(case.data, indicator, q)
                assert expected_count(indicator, q, case.data.directed) == pytest.approx(mean, abs=1e-13)


@each_kind
def test_every_entry_lies_in_one_block(kind):
    case = random_network_case(5, kind, n=7, size=3)
    _, total, m = counts(case.data, case.q)
    once = total if case.data.directed else np.triu(total)
    assert once.sum() == pytest.approx(case.data.seen.sum(), abs=1e-12)
    assert m.sum() == pytest.approx(7, abs=1e-12)


@each_kind
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_counts_and_what_an_object_takes_with_it_in_matrix_form(kind, missing):
    """The formulas a linear-time sweep uses, against counting afresh without the object."""
    directed, self_links = KINDS[kind]
    for seed in range(5):
        case = random_network_case(seed, kind, n=6, size=3, missing=missing)
        q = case.q
        x = np.where(case.data.observed, np.nan_to_num(case.data.x), 0.0)
        off, own = x * (1 - np.eye(6)), np.diag(x)
        n = q.T @ off @ q
        if not directed:
            n[np.diag_indices(3)] /= 2
        n += np.diag(own @ q)
        assert n == pytest.approx(counts(case.data, q)[0], abs=1e-12)
        m = q.sum(axis=0)
        absent = ~case.data.observed & ~np.eye(6, dtype=bool)
        if directed and not self_links:
            total = np.outer(m, m) - q.T @ q - q.T @ absent @ q
            assert total == pytest.approx(counts(case.data, q)[1], abs=1e-12)

        for i in range(6):
            out, into = off[i] @ q, off[:, i] @ q  # r and c
            removed = np.outer(q[i], out) + np.outer(into, q[i])  # both are symmetric twins when undirected
            if not directed:
                removed = np.outer(q[i], out) + np.outer(out, q[i])
                removed[np.diag_indices(3)] /= 2
            removed += np.diag(q[i] * own[i])
            rest = counts(case.data.without(i), np.delete(q, i, axis=0))[0]
            assert n - removed == pytest.approx(rest, abs=1e-12)

            for k in range(3):
                placed = q.copy()
                placed[i] = np.eye(3)[k]
                added = np.zeros((3, 3))
                added[k, :] += out
                added[:, k] += into
                if not directed:
                    added[k, k] = out[k]
                added[k, k] += own[i]
                assert rest + added == pytest.approx(counts(case.data, placed)[0], abs=1e-12)


@each_kind
def test_observed_partners_of_an_object_in_linear_time(kind):
    """R_l = m_l - q_il - sum of the missing q_jl is the number of observed partners in cluster l."""
    case = random_network_case(7, kind, n=6, size=3, missing=0.4)
    q, seen = case.q, case.data.observed & ~np.eye(6, dtype=bool)
    for i in range(6):
        absent = [j for j in range(6) if j != i and not seen[i, j]]
        assert q.sum(axis=0) - q[i] - q[absent].sum(axis=0) == pytest.approx(seen[i] @ q, abs=1e-13)


# -------------------------------------------------------------------------------------------------- variances


@each_kind
def test_paper_variances_and_what_an_object_takes_with_it_in_matrix_form(kind):
    directed, _ = KINDS[kind]
    for seed in range(5):
        case = random_network_case(seed, kind, n=6, size=3)
        q, spread = case.q, case.q * (1 - case.q)
        x = np.where(case.data.observed, np.nan_to_num(case.data.x), 0.0)
        off, own = x * (1 - np.eye(6)), np.diag(x)
        variance = spread.T @ off @ spread
        if not directed:
            variance[np.diag_indices(3)] /= 2
        variance += np.diag(own @ spread)
        assert variance == pytest.approx(paper_variance(case.data.ones, q, directed), abs=1e-13)
        for i in range(6):
            out, into = off[i] @ spread, off[:, i] @ spread
            removed = np.outer(spread[i], out) + np.outer(into, spread[i])
            if not directed:
                removed[np.diag_indices(3)] /= 2
            rest = variance - removed - np.diag(spread[i] * own[i])
            without = case.data.without(i)
            assert rest == pytest.approx(
                paper_variance(without.ones, np.delete(q, i, axis=0), directed), abs=1e-13
            )
            for k in range(3):
                added = np.zeros((3, 3))
                added[k, :] += out
                added[:, k] += into
                if not directed:
                    added[k, k] = out[k]
                placed = paper_variance_placed(case.data.ones, q, i, k, directed)
                assert rest + added == pytest.approx(placed, abs=1e-13)


@each_kind
def test_paper_variances_vanish_for_hard_assignments_and_fall_short_of_the_true_one(kind):
    hard = random_network_case(8, kind, hard=True)
    assert not paper_variance(hard.data.seen, hard.q, hard.data.directed).any()
    assert not paper_variance_placed(hard.data.seen, hard.q, 0, 1, hard.data.directed).any()
    soft = random_network_case(8, kind, missing=0.0)
    seen = soft.data.seen - np.diag(np.diag(soft.data.seen))
    _, true = exact.count_moments(soft.data, seen, soft.q)
    assert paper_variance(seen, soft.q, soft.data.directed).sum() < 0.6 * true.sum()


def test_the_variance_of_self_links_is_exact():
    case = random_network_case(9, "undirected, self-links", missing=0.0)
    own = np.diag(np.diag(case.data.seen))
    _, true = exact.count_moments(case.data, own, case.q)
    assert paper_variance(own, case.q, False) == pytest.approx(true, abs=1e-13)


# ------------------------------------------------------------------------------------------------------ joint


@pytest.mark.parametrize("kind", ["directed", "directed, self-links"])
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
def test_an_unobserved_network_has_the_prior_for_its_posterior(kind):
    case = random_network_case(0, kind, n=4, size=3, missing=1.0)
    table = table_of(case)
    assert exact.log_evidence(table) == pytest.approx(0.0, abs=1e-12)
    rest = random_network_case(0, kind, n=4, size=3, missing=0.3)
    marginals = exact.posterior_marginals(table_of(rest), 3)
    assert marginals.sum(axis=1) == pytest.approx(np.ones(4), abs=1e-12)
    law = exact.partition_posterior(rest.data, 0.7, 0.8, 1.1)
    assert sum(law.values()) == pytest.approx(1.0, abs=1e-12)
    assert list(law) == partitions(4)


# ------------------------------------------------------------------------------------------------------ bound


@each_kind
@pytest.mark.parametrize("seed", range(4))
def test_closed_bound_equals_the_explicit_one_and_is_the_best_over_theta_and_sticks(kind, seed):
    case = random_network_case(seed, kind, n=5, size=3, per_block=seed % 2 == 0)
    closed = lower_bound(case.data, case.q, *case.hyper)
    assert closed == pytest.approx(lower_bound_explicit(case.data, case.q, *case.hyper), abs=1e-11)
    rng = np.random.default_rng(seed)
    best = vb_posterior(case.data, case.q, *case.hyper)
    for _ in range(5):
        sticks = tuple(part * rng.uniform(0.8, 1.25, part.shape) for part in best.sticks)
        factors = [rng.uniform(0.8, 1.25, (3, 3)) for _ in range(2)]
        if not case.data.directed:
            factors = [factor + factor.T for factor in factors]
        theta = (best.theta[0] * factors[0], best.theta[1] * factors[1])
        other = NetworkPosterior(sticks, theta)
        assert lower_bound_explicit(case.data, case.q, *case.hyper, other) < closed


@each_kind
@pytest.mark.parametrize("size", [2, 3])
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
@pytest.mark.parametrize("seed", range(6))
def test_bound_at_hard_assignments_is_the_log_joint(kind, seed):
    case = random_network_case(seed, kind, n=6, size=3, hard=True, per_block=seed % 2 == 0)
    joint = log_joint(case.data, case.q.argmax(axis=1), *case.hyper, size=3)
    assert lower_bound(case.data, case.q, *case.hyper) == pytest.approx(joint, abs=1e-11)


@each_kind
def test_bound_has_one_entropy_and_expected_likelihood_is_that_of_enumeration(kind):
    """With theta all but known the blocks' part of the bound is the expectation of the likelihood, by enumeration."""
    case = random_network_case(11, kind, n=5, size=2)._replace(a=3e7, b=2e7)
    labels = label_vectors(5, 2)
    weights = label_probabilities(labels, case.q)
    expected = weights @ [log_likelihood_of_labels(case.data, z, case.a, case.b) for z in labels]
    prior = stick_evidence(case.q.sum(axis=0), case.alpha) - float(xlogy(case.q, case.q).sum())
    assert lower_bound(case.data, case.q, *case.hyper) - prior == pytest.approx(expected, abs=1e-4)


# ------------------------------------------------------------------------------------------------- prediction


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


@each_kind
def test_prediction_is_the_expected_strength_under_q(kind):
    """sum over the labels of a pair of q(labels) (a + n) / (a + b + T), a self-link's pair being one object."""
    case = random_network_case(6, kind, n=5, size=3)
    n, total, _ = counts(case.data, case.q)
    strength = (case.a + n) / (case.a + case.b + total)
    rate = predict(case.data, case.q, case.a, case.b)
    labels = label_vectors(5, 3)
    weights = label_probabilities(labels, case.q)
    for i, j in np.ndindex(5, 5):
        by_hand = sum(w * strength[z[i], z[j]] for w, z in zip(weights, labels, strict=True))
        assert rate[i, j] == pytest.approx(by_hand, abs=1e-12)
