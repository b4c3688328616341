"""The oracles of relations: closed forms against enumeration, updates against exact conditionals."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp

from tests.loops import for_each
from tests.oracles import enumeration as exact
from tests.oracles.cases import Case, random_case, soft_rows
from tests.oracles.dense_irm import (
    Array,
    DenseData,
    exact_variance,
    expected_count,
    log_joint,
    log_likelihood_of_labels,
    log_prior_terms,
    lower_bound,
    predict,
    stick_log_prior,
    update_cvb0,
    update_cvb2,
)

CVB_UPDATES = {
    "cvb0": (update_cvb0, {}),
    "cvb2-paper": (update_cvb2, {"variance": "paper"}),
    "cvb2-exact": (update_cvb2, {"variance": "exact"}),
}


def labels_of(q: Array) -> np.ndarray:
    return q.argmax(axis=1)


def table_of(case: Case) -> exact.JointTable:
    return exact.joint_table(case.data, case.sizes, *case.hyper)


def test_stick_prior_is_the_product_of_its_conditionals():
    z, alpha, size = np.array([0, 2, 1, 0, 2, 2]), 0.7, 4
    by_chain = sum(log_prior_terms(np.bincount(z[:i], minlength=size), alpha)[z[i]] for i in range(len(z)))
    assert stick_log_prior(z, alpha, size) == pytest.approx(by_chain, abs=1e-12)
    assert np.exp(log_prior_terms(np.array([3.2, 0.0, 1.7]), alpha)).sum() == pytest.approx(1.0, abs=1e-13)


@for_each("seed", range(4))
def test_moments_of_counts_agree_with_enumeration(seed):
    case = random_case(seed, shape=(4, 3), sizes=(3, 2))
    placed = case.q1.copy()
    placed[1] = [0.0, 1.0, 0.0]
    for indicator in (case.data.ones, case.data.zeros, case.data.seen):
        for q1 in (case.q1, placed):
            mean, variance = exact.count_moments(indicator, q1, case.q2)
            assert expected_count(indicator, q1, case.q2) == pytest.approx(mean, abs=1e-13)
            assert exact_variance(indicator, q1, case.q2) == pytest.approx(variance, abs=1e-13)


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


@for_each("update, options", CVB_UPDATES)
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
