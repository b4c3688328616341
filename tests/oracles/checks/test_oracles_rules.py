"""The oracles of whole sweeps, VB, hyper-parameter rules, prediction and exact posteriors."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar

from tests.oracles import enumeration as exact
from tests.oracles.cases import Case, random_case, random_data, soft_rows
from tests.oracles.dense_irm import (
    DenseData,
    beta_evidence,
    counts,
    log_joint,
    log_likelihood_of_labels,
    lower_bound,
    lower_bound_explicit,
    predict,
    stick_evidence,
    stick_posterior,
    sweep,
    update_ab_per_block,
    update_ab_tied,
    update_alpha,
    update_cvb0,
    update_cvb2,
    vb_posterior,
    vb_sweep,
    vb_update,
    vb_update_ab_tied,
    vb_update_alpha,
)


def bound_of(case: Case) -> float:
    return lower_bound(case.data, case.q1, case.q2, *case.hyper)


def run_sweep(case: Case, update, order1, order2, **options):
    names = dict(zip(("a", "b", "alpha1", "alpha2"), case.hyper, strict=True))
    return sweep(update, case.data, case.q1, case.q2, order1, order2, **names, **options)


# ----------------------------------------------------------------------------------------------------- sweeps


@pytest.mark.parametrize("update", [update_cvb0, update_cvb2])
def test_renaming_objects_and_swapping_domains_leaves_a_sweep_as_it_is(update):
    case = random_case(0, shape=(6, 5), sizes=(3, 2), per_block=True)
    rng = np.random.default_rng(0)
    p1, p2 = rng.permutation(6), rng.permutation(5)
    renamed = case._replace(
        data=DenseData(case.data.x[np.ix_(p1, p2)], case.data.observed[np.ix_(p1, p2)]),
        q1=case.q1[p1],
        q2=case.q2[p2],
    )
    q1, q2, loo = run_sweep(case, update, p1, p2)
    other1, other2, other_loo = run_sweep(renamed, update, range(6), range(5))
    assert other1 == pytest.approx(q1[p1], abs=1e-12)
    assert other2 == pytest.approx(q2[p2], abs=1e-12)
    assert other_loo == pytest.approx(loo, abs=1e-11)

    first, _, loo1 = run_sweep(case, update, range(6), [])
    swapped2, swapped1, swapped_loo = run_sweep(case.T, update, [], range(6))
    assert swapped1 == pytest.approx(first, abs=0)
    assert swapped2 == pytest.approx(case.q2, abs=0)
    assert swapped_loo == pytest.approx(loo1, abs=0)


def test_a_sweep_uses_each_new_row_at_once_and_adds_up_log_normalisers():
    case = random_case(1, shape=(4, 3), sizes=(2, 2))
    q1, total = case.q1.copy(), 0.0
    for i in (3, 1):
        q1[i], log_normaliser = update_cvb0(case.data, q1, case.q2, i, case.a, case.b, case.alpha1)
        total += log_normaliser
    swept1, swept2, loo = run_sweep(case, update_cvb0, (3, 1), ())
    assert swept1.tolist() == q1.tolist()
    assert swept2.tolist() == case.q2.tolist()
    assert loo == pytest.approx(total, abs=1e-13)


# --------------------------------------------------------------------------------------------------------- VB


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_vb_bound_never_falls(missing):
    for seed in range(40):
        case = random_case(seed, shape=(9, 8), sizes=(4, 3), missing=missing, per_block=seed % 2 == 0)
        bounds = [bound_of(case)]
        for _ in range(12):
            case = case._replace(q1=vb_update(case.data, case.q1, case.q2, case.a, case.b, case.alpha1))
            bounds.append(bound_of(case))
            turned = case.T
            q2 = vb_update(turned.data, turned.q1, turned.q2, turned.a, turned.b, turned.alpha1)
            case = case._replace(q2=q2)
            bounds.append(bound_of(case))
        assert np.diff(bounds).min() >= -1e-9 * abs(bounds[0])
        assert bounds[-1] > bounds[0]


def test_vb_update_is_the_best_q_of_its_domain_for_the_given_theta_and_sticks():
    case = random_case(3, shape=(5, 4), sizes=(3, 2))
    posterior = vb_posterior(case.data, case.q1, case.q2, *case.hyper)
    new = vb_update(case.data, case.q1, case.q2, case.a, case.b, case.alpha1)
    best = lower_bound_explicit(case.data, new, case.q2, *case.hyper, posterior)
    rng = np.random.default_rng(3)
    for _ in range(50):
        other = new * rng.uniform(0.9, 1.1, new.shape)
        other /= other.sum(axis=1, keepdims=True)
        assert lower_bound_explicit(case.data, other, case.q2, *case.hyper, posterior) < best


def test_a_vb_sweep_is_an_update_of_each_domain_in_turn():
    case = random_case(2, shape=(5, 4), sizes=(3, 2), per_block=True)
    q1 = vb_update(case.data, case.q1, case.q2, case.a, case.b, case.alpha1)
    q2 = vb_update(case.data.T, case.q2, q1, np.transpose(case.a), np.transpose(case.b), case.alpha2)
    swept1, swept2 = vb_sweep(case.data, case.q1, case.q2, *case.hyper)
    assert swept1.tolist() == q1.tolist()
    assert swept2.tolist() == q2.tolist()


def test_vb_bound_never_falls_with_hyper_parameters_in_between():
    for seed in range(15):
        case = random_case(seed, shape=(9, 8), sizes=(4, 3), missing=0.2)
        bounds = [bound_of(case)]
        for _ in range(8):
            case = case._replace(alpha1=update_alpha(case.q1, case.alpha1))
            bounds.append(bound_of(case))
            a, b = update_ab_tied(case.data, case.q1, case.q2, case.a, case.b)
            case = case._replace(a=a, b=b)
            bounds.append(bound_of(case))
            q1, q2 = vb_sweep(case.data, case.q1, case.q2, *case.hyper)
            case = case._replace(q1=q1, q2=q2)
            bounds.append(bound_of(case))
        assert np.diff(bounds).min() >= -1e-9 * abs(bounds[0])


# ------------------------------------------------------------------------------------------- hyper-parameters


@pytest.mark.parametrize("seed", range(5))
def test_alpha_rule_climbs_to_the_best_alpha(seed):
    q = soft_rows(np.random.default_rng(seed), 25, 5, 0.5)
    m, alpha = q.sum(axis=0), 1.0
    values = [stick_evidence(m, alpha)]
    for _ in range(3000):
        alpha = update_alpha(q, alpha)
        values.append(stick_evidence(m, alpha))
    best = minimize_scalar(
        lambda u: -stick_evidence(m, float(np.exp(u))),
        bounds=(-8, 8),
        method="bounded",
        options={"xatol": 1e-9},
    )
    assert np.diff(values).min() >= -1e-11
    assert np.log(alpha) == pytest.approx(best.x, abs=1e-6)


def test_alpha_rule_has_no_positive_fixed_point_when_all_are_in_the_first_cluster():
    q, alpha = np.eye(3)[np.zeros(10, dtype=int)], 1.0
    alphas = []
    for _ in range(400):
        alpha = update_alpha(q, alpha)
        alphas.append(alpha)
    assert np.all(np.diff(alphas) < 0)
    assert alphas[-1] < 0.01


def test_vb_rules_are_the_collapsed_ones_at_the_conjugate_posterior_and_optimal_for_alpha():
    case = random_case(4, shape=(8, 7), sizes=(4, 3))
    posterior = vb_posterior(case.data, case.q1, case.q2, *case.hyper)
    tied = update_ab_tied(case.data, case.q1, case.q2, case.a, case.b)
    assert vb_update_ab_tied(posterior.theta, case.a, case.b) == pytest.approx(tied, rel=1e-13)
    alpha = vb_update_alpha(stick_posterior(case.q1, case.alpha1))
    assert alpha == pytest.approx(update_alpha(case.q1, case.alpha1), rel=1e-13)

    def bound(value):
        hyper = (case.a, case.b, value, case.alpha2)
        return lower_bound_explicit(case.data, case.q1, case.q2, *hyper, posterior)

    assert bound(alpha) > max(bound(0.99 * alpha), bound(1.01 * alpha))


def uneven_case(seed: int) -> Case:
    """Blocks of clearly different density, so that the tied a and b have a finite optimum."""
    rng = np.random.default_rng(seed)
    q1, q2 = soft_rows(rng, 24, 3, 0.05), soft_rows(rng, 20, 3, 0.05)
    density = rng.beta(0.7, 1.5, (3, 3))
    observed = rng.random((24, 20)) > 0.1
    x = (rng.random((24, 20)) < q1 @ density @ q2.T).astype(float)
    return Case(DenseData(x, observed), q1, q2, 1.0, 1.0, 1.0, 1.0)


@pytest.mark.parametrize("seed", range(3))
def test_tied_rule_climbs_to_the_best_a_and_b(seed):
    case = uneven_case(seed)
    n, total, _, _ = counts(case.data, case.q1, case.q2)
    a, b, values = 1.0, 1.0, [beta_evidence(n, total, 1.0, 1.0)]
    for _ in range(3000):
        a, b = update_ab_tied(case.data, case.q1, case.q2, a, b)
        values.append(beta_evidence(n, total, a, b))
    best = minimize(
        lambda u: -beta_evidence(n, total, *np.exp(u)),
        [0.0, 0.0],
        method="Nelder-Mead",
        options={"xatol": 1e-9},
    )
    assert np.diff(values).min() >= -1e-10
    assert np.log([a, b]) == pytest.approx(best.x, abs=1e-4)
    assert values[-1] >= -best.fun - 1e-9


def test_tied_rule_never_lowers_the_bound_even_where_expected_counts_are_below_one():
    """The step climbs for any counts n >= 0, as x^2 [psi(x + n) - psi(x)] never falls in x."""
    for seed in range(300):
        rng = np.random.default_rng(seed)
        data = random_data(rng, (4, 5), 0.2, 0.4)
        if data.ones.any() and data.zeros.any():
            q1, q2 = soft_rows(rng, 4, 4), soft_rows(rng, 5, 4)
            a, b = np.exp(rng.uniform(-4, 4, 2))
            n, total, _, _ = counts(data, q1, q2)
            after = beta_evidence(n, total, *update_ab_tied(data, q1, q2, a, b))
            assert after >= beta_evidence(n, total, a, b) - 1e-10


def test_one_theta_alone_sends_its_a_and_b_to_infinity():
    data = DenseData(np.array([[1.0, 1, 1, 0, 0, 0, 0, 0, 0, 0]]), np.ones((1, 10), dtype=bool))
    q1, q2 = np.ones((1, 1)), np.ones((10, 1))
    n, total, _, _ = counts(data, q1, q2)
    a, b = np.ones((1, 1)), np.ones((1, 1))
    values, strengths = [], []
    for _ in range(2000):
        values.append(beta_evidence(n, total, a, b))
        strengths.append(float(a[0, 0] + b[0, 0]))
        tied = update_ab_tied(data, q1, q2, a[0, 0], b[0, 0])
        a, b = update_ab_per_block(data, q1, q2, a, b)
        assert tied == pytest.approx((a[0, 0], b[0, 0]), rel=1e-12)
    assert min(np.diff(values).min(), np.diff(strengths).min()) > 0
    growth = np.diff(strengths)[-500:]
    assert growth.min() > 0.4  # half a count a step, for ever
    assert a[0, 0] / (a[0, 0] + b[0, 0]) == pytest.approx(0.3, abs=1e-3)
    limit = 3 * np.log(0.3) + 7 * np.log(0.7)
    assert values[-1] == pytest.approx(limit, abs=0.01)
    assert values[-1] < limit


# ---------------------------------------------------------------------------- prediction and exact posteriors


def test_prediction_of_a_missing_entry_is_exact_when_assignments_are_hard():
    case = random_case(5, shape=(4, 4), sizes=(2, 3), missing=0.4, hard=True, per_block=True)
    z1, z2 = case.q1.argmax(axis=1), case.q2.argmax(axis=1)
    rate = predict(case.data, case.q1, case.q2, case.a, case.b)
    now = log_likelihood_of_labels(case.data, z1, z2, case.a, case.b)
    assert not case.data.observed.all()
    for i, j in np.argwhere(~case.data.observed):
        x, observed = case.data.x.copy(), case.data.observed.copy()
        x[i, j], observed[i, j] = 1.0, True
        with_it = log_likelihood_of_labels(DenseData(x, observed), z1, z2, case.a, case.b)
        assert rate[i, j] == pytest.approx(np.exp(with_it - now), abs=1e-12)


def test_evidence_of_all_relations_sums_to_one():
    hyper, total = (0.7, 1.3, 0.8, 2.0), 0.0
    for bits in exact.label_vectors(4, 2):
        data = DenseData(bits.reshape(2, 2).astype(float), np.ones((2, 2), dtype=bool))
        total += np.exp(exact.log_evidence(exact.joint_table(data, (2, 3), *hyper)))
    assert total == pytest.approx(1.0, abs=1e-12)


def test_posterior_marginals_are_kept_by_the_exact_conditionals():
    case = random_case(6, shape=(3, 3), sizes=(2, 3))
    table = exact.joint_table(case.data, case.sizes, *case.hyper)
    q1, q2 = exact.posterior_marginals(table, case.sizes)
    posterior, after = np.exp(table.log_joint - exact.log_evidence(table)), np.zeros(2)
    for (s, z1), (t, z2) in _label_pairs(table):
        hard1, hard2 = np.eye(2)[z1], np.eye(3)[z2]
        row, _ = update_cvb0(case.data, hard1, hard2, 0, case.a, case.b, case.alpha1)
        after += posterior[s, t] * row
    assert q1[0] == pytest.approx(after, abs=1e-12)
    assert q1.sum(axis=1) == pytest.approx(np.ones(3), abs=1e-12)
    assert q2.sum(axis=1) == pytest.approx(np.ones(3), abs=1e-12)


def _label_pairs(table: exact.JointTable):
    return [(s, t) for s in enumerate(table.labels1) for t in enumerate(table.labels2)]


def test_partition_posterior_is_a_law_over_all_pairs_and_follows_the_joint():
    case = random_case(7, shape=(3, 4))
    law = exact.partition_posterior(case.data, *case.hyper)
    assert len(law) == 5 * 15
    assert sum(law.values()) == pytest.approx(1.0, abs=1e-12)
    one, other = ((0, 1, 0), (0, 0, 1, 2)), ((0, 0, 0), (0, 1, 1, 0))
    logs = [log_joint(case.data, np.array(z1), np.array(z2), *case.hyper, "crp") for z1, z2 in (one, other)]
    assert np.log(law[one] / law[other]) == pytest.approx(logs[0] - logs[1], abs=1e-11)
    renamed = log_joint(case.data, np.array([5, 2, 5]), np.array([1, 1, 0, 4]), *case.hyper, "crp")
    assert renamed == pytest.approx(logs[0], abs=1e-12)
