"""The oracles of LDA's hyper-parameter rules: what each climbs, and which comes nearest to the exact expectation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import digamma

from tests.oracles import dense_lda as lda
from tests.oracles.lda_cases import LdaCase, edge_cases, small_case

EDGES = edge_cases()
RULES = (lda.expectations, lda.presence_weighted, lda.plug_in)


def stepped(expected, case: LdaCase) -> LdaCase:
    alpha, beta = lda.minka_step(expected, *case)
    return case._replace(alpha=alpha, beta=beta)


def distance(one: LdaCase, other: LdaCase) -> float:
    """Sum of |log ratio| of all hyper-parameters."""
    return float(np.abs(np.log(one.alpha / other.alpha)).sum() + abs(np.log(one.beta / other.beta)))


# ------------------------------------------------------------------------------------- E psi of an uncertain count


@pytest.mark.parametrize("name", [*EDGES, "small", "soft"])
def test_weighting_by_presence_lies_between_the_exact_expectation_and_plugging_in(name):
    """psi is concave: knowing whether n > 0 can but help."""
    case = EDGES.get(name) or small_case(0, 1.0 if name == "small" else 10.0)
    exact, weighted, plain = (rule(digamma, *case) for rule in RULES)
    for low, middle, high in zip(exact, weighted, plain, strict=True):
        slack = 1e-12 * (1 + np.abs(low))
        assert np.all(low <= middle + slack)
        assert np.all(middle <= high + slack)


def test_weighting_is_exact_for_single_tokens_and_far_nearer_where_counts_are_small():
    case = EDGES["documents of one token"]
    exact, weighted, plain = (rule(digamma, *case) for rule in RULES)
    assert weighted.documents == pytest.approx(exact.documents, abs=1e-12)
    assert np.all(plain.documents > exact.documents + 1e-3)
    case = small_case(1)
    exact, weighted, plain = (rule(digamma, *case) for rule in RULES)
    assert np.abs(weighted.words - exact.words).sum() < 0.2 * np.abs(plain.words - exact.words).sum()


def test_plugging_in_is_good_enough_for_totals_unless_a_topic_is_nearly_empty():
    case = small_case(0)
    exact, _, plain = (rule(digamma, *case).topics for rule in RULES)
    assert plain == pytest.approx(exact, abs=0.05)
    gamma = case.gamma * [1.0, 1.0, 0.01]
    case = case._replace(gamma=gamma / gamma.sum(axis=1, keepdims=True), beta=0.01)
    exact, weighted, plain = (rule(digamma, *case).topics for rule in RULES)
    assert abs(weighted[2] - exact[2]) < 0.1 * abs(plain[2] - exact[2])


# ------------------------------------------------------------------------------------------------------ the step


def test_a_step_is_what_it_says_on_a_count_done_by_hand():
    """Two documents, two words, one-hot: topic 0 has n_0 = (2, 0) and word counts (2, 0), topic 1 one token of each."""
    triplets = lda.Triplets(np.array([0, 1, 1]), np.array([0, 0, 1]), np.array([2, 1, 1]), (2, 2))
    alpha, beta = np.array([0.5, 2.0]), 0.25
    new_alpha, new_beta = lda.weighted_minka_step(triplets, np.array([[1.0, 0], [0, 1], [0, 1]]), alpha, beta)
    by_length = 2 * (1 / 2.5 + 1 / 3.5)
    assert new_alpha[0] == pytest.approx(0.5 * (1 / 0.5 + 1 / 1.5) / by_length)
    assert new_alpha[1] == pytest.approx(2.0 * (1 / 2.0 + 1 / 3.0) / by_length)
    by_word = (1 / 0.25 + 1 / 1.25) + 1 / 0.25 + 1 / 0.25
    by_total = 2 * 2 * (1 / 0.5 + 1 / 1.5)
    assert new_beta == pytest.approx(0.25 * by_word / by_total)


def test_at_one_hot_gamma_the_rules_agree_and_climb_to_the_best_alpha_and_beta():
    documents, words = np.array([0, 0, 0, 1, 1, 1, 2, 2, 2]), np.array([0, 1, 4, 1, 2, 3, 0, 3, 4])
    counts, topics = np.array([6, 2, 1, 1, 4, 1, 2, 1, 5]), np.array([0, 0, 1, 0, 1, 1, 0, 1, 2])
    triplets = lda.Triplets(documents, words, counts, (4, 6))
    case = LdaCase(triplets, np.eye(3)[topics], np.array([2.0, 0.1, 1.0]), 3.0)
    first = [stepped(rule, case) for rule in RULES]
    assert distance(first[0], first[1]) < 1e-10
    assert distance(first[0], first[2]) < 1e-10
    tokens, z = lda.tokens_of(triplets), np.repeat(topics, counts)

    def log_joint(u):
        return lda.log_joint(tokens, z, np.exp(u[:-1]), float(np.exp(u[-1])))

    start, values = np.log([*case.alpha, case.beta]), []
    for _ in range(200):
        values.append(log_joint(np.log([*case.alpha, case.beta])))
        alpha, beta = lda.weighted_minka_step(*case)
        case = case._replace(alpha=alpha, beta=beta)
    assert np.diff(values).min() >= -1e-10
    best = minimize(lambda u: -log_joint(u), start)
    assert values[-1] == pytest.approx(-best.fun, abs=1e-6)
    assert [*np.log(case.alpha), np.log(case.beta)] == pytest.approx(best.x, abs=1e-3)


@pytest.mark.parametrize("concentration", [0.05, 0.3, 1.0])
def test_a_weighted_step_is_nearer_to_the_exact_one_than_a_plain_one(concentration):
    for seed in range(4):
        case = small_case(seed, concentration)
        exact, weighted, plain = (stepped(rule, case) for rule in RULES)
        assert distance(weighted, exact) < 0.6 * distance(plain, exact)
        assert np.all(exact.alpha <= weighted.alpha)
        assert np.all(weighted.alpha <= plain.alpha)


def test_soft_small_counts_inflate_alpha_and_weighting_prevents_it():
    """Two topics make every document, and each token spends a little on the eight others."""
    rng = np.random.default_rng(0)
    triplets = small_case(0).triplets
    gamma = np.full((len(triplets.counts), 10), 0.02)
    gamma[np.arange(len(gamma)), rng.integers(2, size=len(gamma))] = 0.82
    case = LdaCase(triplets, gamma, np.full(10, 0.1), 0.1)
    exact, weighted, plain = case, case, case
    for _ in range(30):
        exact, weighted, plain = (
            stepped(rule, c) for rule, c in zip(RULES, (exact, weighted, plain), strict=True)
        )
    assert weighted.alpha.sum() == pytest.approx(exact.alpha.sum(), rel=0.25)
    assert plain.alpha.sum() > 2 * exact.alpha.sum()


@pytest.mark.parametrize(
    ("rule", "objective"),
    [
        pytest.param(lda.expectations, lda.expected_log_joint_exact, id="exact"),
        pytest.param(lda.plug_in, lda.lower_bound, id="plug-in"),
    ],
)
def test_each_rule_climbs_its_own_objective(rule, objective):
    for seed, concentration in ((0, 0.3), (1, 1.0), (2, 5.0)):
        case = small_case(seed, concentration)
        values = [objective(*case)]
        for _ in range(8):
            case = stepped(rule, case)
            values.append(objective(*case))
        assert np.diff(values).min() >= -1e-10


def test_weighted_steps_can_lower_the_bound_of_vb_and_raise_the_collapsed_one():
    """They aim at E log p(x, z), of which the bound of VB is the value with counts plugged in."""
    for seed in range(2):
        case = small_case(seed, 0.3)
        for _ in range(150):
            case = stepped(lda.plug_in, case)
        vb, collapsed = lda.lower_bound(*case), lda.collapsed_bound_exact(*case)
        for _ in range(100):
            case = stepped(lda.presence_weighted, case)
        assert lda.lower_bound(*case) < vb - 0.05
        assert lda.collapsed_bound_exact(*case) > collapsed + 0.1


@pytest.mark.parametrize("name", EDGES)
def test_steps_on_edge_cases_are_finite_and_positive(name):
    case = EDGES[name]
    alpha, beta = lda.weighted_minka_step(*case)
    assert np.isfinite(alpha).all()
    assert np.isfinite(beta)
    assert beta > 0
    used = lda.expected_counts(case.triplets, case.gamma).topics > 0
    assert np.array_equal(alpha > 0, used)


def test_splitting_counts_and_renaming_topics_leave_a_step_as_it_is():
    case, p = small_case(3), np.array([1, 2, 0])
    alpha, beta = lda.weighted_minka_step(*case)
    split_alpha, split_beta = lda.weighted_minka_step(*case.unclumped)
    assert [*split_alpha, split_beta] == pytest.approx([*alpha, beta], rel=1e-12)
    renamed, other = lda.weighted_minka_step(case.triplets, case.gamma[:, p], case.alpha[p], case.beta)
    assert [*renamed, other] == pytest.approx([*alpha[p], beta], rel=1e-12)
