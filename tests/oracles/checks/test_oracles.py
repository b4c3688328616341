"""The oracles checked against each other: closed forms against enumeration, updates against exact conditionals."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import gammaln, logsumexp, polygamma
from scipy.stats import beta as beta_law

from tests.oracles import enumeration as exact
from tests.oracles.cases import Case, random_case, random_data, soft_rows
from tests.oracles.dense_irm import (
    Array,
    VBPosterior,
    crp_log_prior,
    exact_variance,
    expected_count,
    log_joint,
    log_prior_terms,
    lower_bound,
    lower_bound_explicit,
    paper_variance,
    stick_log_prior,
    update_cvb0,
    update_cvb2,
    vb_posterior,
)

CVB_UPDATES = [
    pytest.param(update_cvb0, {}, id="cvb0"),
    pytest.param(update_cvb2, {"variance": "paper"}, id="cvb2-paper"),
    pytest.param(update_cvb2, {"variance": "exact"}, id="cvb2-exact"),
]


def labels_of(q: Array) -> np.ndarray:
    return q.argmax(axis=1)


def table_of(case: Case) -> exact.JointTable:
    return exact.joint_table(case.data, case.sizes, *case.hyper)


# ---------------------------------------------------------------------------------------------------- priors


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_truncated_prior_sums_to_one(size):
    rng = np.random.default_rng(size)
    for _ in range(50):
        m, alpha = rng.gamma(0.5, 5.0, size), rng.uniform(0.01, 20.0)
        assert np.exp(log_prior_terms(m, alpha)).sum() == pytest.approx(1.0, abs=1e-13)


def test_stick_prior_is_the_integral_over_the_sticks_and_the_product_of_its_conditionals():
    z, alpha, size = np.array([0, 2, 1, 0, 2, 2]), 0.7, 4

    def integrand(v, k):
        return v ** np.sum(z == k) * (1 - v) ** np.sum(z > k) * beta_law.pdf(v, 1, alpha)

    by_quadrature = sum(np.log(quad(integrand, 0, 1, args=(k,))[0]) for k in range(size - 1))
    by_chain = sum(log_prior_terms(np.bincount(z[:i], minlength=size), alpha)[z[i]] for i in range(len(z)))
    assert stick_log_prior(z, alpha, size) == pytest.approx(by_quadrature, abs=1e-7)
    assert stick_log_prior(z, alpha, size) == pytest.approx(by_chain, abs=1e-12)


def test_both_priors_are_normalised_and_meet_as_the_truncation_recedes():
    alpha, size = 0.4, 9
    labels = exact.label_vectors(3, size)
    stick = np.exp([stick_log_prior(z, alpha, size) for z in labels])
    crp = exact.crp_prior(3, alpha)
    assert stick.sum() == pytest.approx(1.0, abs=1e-12)
    assert sum(crp.values()) == pytest.approx(1.0, abs=1e-12)
    by_partition = dict.fromkeys(crp, 0.0)
    for z, probability in zip(labels, stick, strict=True):
        by_partition[exact.canonical_partition(z)] += probability
    assert [by_partition[p] for p in crp] == pytest.approx(
        list(crp.values()), abs=3 * (0.4 / 1.4) ** (size - 1)
    )


def test_crp_odds_are_cluster_size_against_alpha():
    z, alpha = np.array([0, 1, 0, 2, 0]), 1.7
    joined, alone = crp_log_prior(np.append(z, 0), alpha), crp_log_prior(np.append(z, 3), alpha)
    assert joined - alone == pytest.approx(np.log(3 / alpha), abs=1e-12)


# ---------------------------------------------------------------------------------------- counts and variances


@pytest.mark.parametrize("seed", range(4))
def test_moments_of_counts_agree_with_enumeration(seed):
    case = random_case(seed, shape=(4, 3), sizes=(3, 2))
    placed = case.q1.copy()
    placed[1] = [0.0, 1.0, 0.0]
    for indicator in (case.data.ones, case.data.zeros, case.data.seen):
        for q1 in (case.q1, placed):
            mean, variance = exact.count_moments(indicator, q1, case.q2)
            assert expected_count(indicator, q1, case.q2) == pytest.approx(mean, abs=1e-13)
            assert exact_variance(indicator, q1, case.q2) == pytest.approx(variance, abs=1e-13)


def test_variance_in_linear_time_and_what_placing_an_object_adds_to_it():
    case = random_case(5, shape=(6, 5), sizes=(3, 2))
    w, q1, q2 = case.data.ones, case.q1, case.q2
    v1, v2 = q1 * (1 - q1), q2 * (1 - q2)
    closed = expected_count(w, q1, q2) - expected_count(w, q1**2, q2**2)
    closed += v1.T @ ((w @ q2) ** 2 - w @ q2**2) + ((w.T @ q1) ** 2 - w.T @ q1**2).T @ v2
    assert closed == pytest.approx(exact_variance(w, q1, q2), abs=1e-12)

    without = exact_variance(w[1:], q1[1:], q2)
    row, covariance = w[0] @ v2, np.einsum("j,jl,jk->kl", w[0], v2, w[1:].T @ q1[1:])
    placed = q1.copy()
    placed[0] = 1.0
    assert exact_variance(w, placed, q2) == pytest.approx(without + row + 2 * covariance, abs=1e-12)


def test_the_printed_variance_is_smaller_than_the_true_one():
    case = random_case(6, shape=(6, 6))
    true = exact_variance(case.data.ones, case.q1, case.q2)
    assert np.all(paper_variance(case.data.ones, case.q1, case.q2) < 0.6 * true)


def test_variances_vanish_for_hard_assignments():
    case = random_case(7, hard=True)
    for variance in (paper_variance, exact_variance):
        assert not variance(case.data.seen, case.q1, case.q2).any()


# ------------------------------------------------------------------------------------------------ lower bound


@pytest.mark.parametrize("seed", range(20))
def test_closed_bound_equals_the_explicit_one_and_is_the_best_over_theta_and_sticks(seed):
    case = random_case(seed, shape=(5, 4), sizes=(3, 2), per_block=seed % 2 == 0)
    closed = lower_bound(case.data, case.q1, case.q2, *case.hyper)
    assert closed == pytest.approx(lower_bound_explicit(case.data, case.q1, case.q2, *case.hyper), abs=1e-11)
    rng = np.random.default_rng(seed)
    best = vb_posterior(case.data, case.q1, case.q2, *case.hyper)
    for _ in range(5):
        pairs = [tuple(p * rng.uniform(0.8, 1.25, p.shape) for p in pair) for pair in best]
        other = lower_bound_explicit(case.data, case.q1, case.q2, *case.hyper, VBPosterior(*pairs))
        assert other < closed


def test_vb_bound_below_collapsed_bound_below_evidence():
    for seed in range(15):
        case = random_case(seed, sizes=(2, 3), missing=0.2 * (seed % 2))
        table, rng = table_of(case), np.random.default_rng(seed)
        evidence = exact.log_evidence(table)
        for concentration in np.geomspace(0.05, 5.0, 20):
            q1, q2 = soft_rows(rng, 3, 2, concentration), soft_rows(rng, 3, 3, concentration)
            collapsed = exact.collapsed_bound(table, q1, q2)
            assert lower_bound(case.data, q1, q2, *case.hyper) <= collapsed + 1e-12
            assert collapsed <= evidence + 1e-12


@pytest.mark.parametrize("seed", range(10))
def test_bound_at_hard_assignments_is_the_log_joint(seed):
    case = random_case(seed, shape=(5, 4), sizes=(3, 2), hard=True, per_block=seed % 2 == 0)
    z1, z2 = labels_of(case.q1), labels_of(case.q2)
    joint = log_joint(case.data, z1, z2, *case.hyper, prior="stick", sizes=case.sizes)
    assert lower_bound(case.data, case.q1, case.q2, *case.hyper) == pytest.approx(joint, abs=1e-11)


# ------------------------------------------------------------------------------------------------ CVB updates


def exact_conditional(case: Case, i: int) -> tuple[Array, float]:
    """p(z1_i | Z without i, X) and log p(x_i | X without i, Z without i), from ratios of joints."""
    z1, z2 = labels_of(case.q1), labels_of(case.q2)
    hidden = case.data.hiding_row(i)
    with_row, without_row = [], []
    for k in range(case.sizes[0]):
        z1[i] = k
        with_row.append(log_joint(case.data, z1, z2, *case.hyper, sizes=case.sizes))
        without_row.append(log_joint(hidden, z1, z2, *case.hyper, sizes=case.sizes))
    evidence = logsumexp(with_row)
    return np.exp(np.array(with_row) - evidence), evidence - logsumexp(without_row)


@pytest.mark.parametrize(("update", "options"), CVB_UPDATES)
def test_updates_are_exact_when_all_else_is_hard(update, options):
    for seed in range(12):
        case = random_case(seed, shape=(5, 4), sizes=(3, 2), hard=True, per_block=seed % 2 == 0)
        case.q1[2] = [0.2, 0.3, 0.5]
        for prepared, i in ((case, 2), (random_case(seed, (4, 5), (2, 3), hard=True).T, 0)):
            row, log_normaliser = update(
                prepared.data, prepared.q1, prepared.q2, i, prepared.a, prepared.b, prepared.alpha1, **options
            )
            conditional, log_predictive = exact_conditional(prepared, i)
            assert row == pytest.approx(conditional, abs=1e-11)
            assert log_normaliser == pytest.approx(log_predictive, abs=1e-11)


@pytest.mark.parametrize(("update", "options"), CVB_UPDATES)
def test_an_unseen_object_gets_its_prior(update, options):
    case = random_case(3, shape=(4, 4), sizes=(3, 2))
    hidden = case.data.hiding_row(1)
    row, log_normaliser = update(hidden, case.q1, case.q2, 1, case.a, case.b, case.alpha1, **options)
    prior = np.exp(log_prior_terms(np.delete(case.q1, 1, axis=0).sum(axis=0), case.alpha1))
    assert row == pytest.approx(prior, abs=1e-13)
    assert log_normaliser == pytest.approx(0.0, abs=1e-12)


def test_enumerated_mean_field_update_climbs_the_collapsed_bound_to_a_fixed_point():
    case = random_case(8, sizes=(2, 2), missing=0.1)
    table, q1 = table_of(case), case.q1.copy()
    bounds = [exact.collapsed_bound(table, q1, case.q2)]
    for _ in range(4):
        for i in range(3):
            q1[i], _ = exact.exact_cvb_update(case.data, q1, case.q2, i, *case.hyper)
            bounds.append(exact.collapsed_bound(table, q1, case.q2))
    assert np.diff(bounds).min() >= -1e-12
    assert bounds[-1] - bounds[0] > 1e-3


def test_enumerated_update_is_its_likelihood_and_its_prior():
    case = random_case(9, shape=(4, 3), sizes=(2, 2))
    row, log_normaliser = exact.exact_cvb_update(case.data, case.q1, case.q2, 0, *case.hyper)
    likelihood = exact.exact_likelihood_terms(case.data, case.q1, case.q2, 0, case.a, case.b)
    others = exact.label_vectors(3, 2)
    prior = exact.label_probabilities(others, case.q1[1:]) @ np.array(
        [log_prior_terms(np.bincount(z, minlength=2), case.alpha1) for z in others]
    )
    assert np.log(row) + log_normaliser == pytest.approx(likelihood + prior, abs=1e-11)


def likelihood_errors(n: int, seeds: range) -> dict[str, float]:
    """Mean distance of each update's likelihood term to the enumerated one, n objects in both domains."""
    errors: dict[str, list[float]] = {"cvb0": [], "paper": [], "exact": []}
    for seed in seeds:
        rng = np.random.default_rng(seed)
        data, q1, q2 = random_data(rng, (n, n), 0.1, 0.5), soft_rows(rng, n, 2), soft_rows(rng, n, 2)
        target = exact.exact_likelihood_terms(data, q1, q2, 0, 1.0, 1.0)
        prior = log_prior_terms(q1[1:].sum(axis=0), 1.0)
        for name in errors:
            arguments = (data, q1, q2, 0, 1.0, 1.0, 1.0)
            row, log_c = update_cvb0(*arguments) if name == "cvb0" else update_cvb2(*arguments, name)
            errors[name].append(np.abs(np.log(row) + log_c - prior - target).mean())
    return {name: float(np.mean(values)) for name, values in errors.items()}


def test_second_order_helps_only_with_the_true_variance_and_more_so_where_counts_are_large():
    small, large = likelihood_errors(4, range(20)), likelihood_errors(8, range(20))
    assert large["exact"] < 0.25 * large["cvb0"]
    assert large["exact"] / large["cvb0"] < small["exact"] / small["cvb0"]
    assert large["paper"] > 0.8 * large["cvb0"]  # the terms it leaves out are the larger ones


def test_expected_log_gamma_of_one_count_by_order():
    rng = np.random.default_rng(1)
    w, q1, q2 = np.ones((8, 8)), soft_rows(rng, 8, 2, 5.0), soft_rows(rng, 8, 2, 5.0)
    target, mean = exact.expected_log_gamma(1.0, w, q1, q2), 1.0 + expected_count(w, q1, q2)
    first = np.abs(gammaln(mean) - target)
    second = np.abs(gammaln(mean) + 0.5 * polygamma(1, mean) * exact_variance(w, q1, q2) - target)
    assert np.all(second < 0.25 * first)
