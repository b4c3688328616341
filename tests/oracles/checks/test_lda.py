"""The oracles of LDA: closed forms, laws of counts and bounds against enumeration, updates against conditionals."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from tests.loops import for_each
from tests.oracles import dense_lda as lda
from tests.oracles import lda_enumeration as exact
from tests.oracles.cases import soft_rows
from tests.oracles.dense_lda import Statistics
from tests.oracles.lda_cases import LdaCase, edge_cases, random_case, small_case

EDGES = edge_cases()


def table_of(case: LdaCase) -> exact.LdaTable:
    return exact.joint_table(case.triplets, case.alpha, case.beta)


def assert_close(one: Statistics, other: Statistics, tolerance: float = 1e-12) -> None:
    for a, b in zip(one, other, strict=True):
        assert a == pytest.approx(b, abs=tolerance)


@for_each("seed", range(4))
def test_joint_is_the_product_of_urn_draws(seed):
    case, rng = small_case(seed), np.random.default_rng(seed)
    tokens, alpha, beta = lda.tokens_of(case.triplets), case.alpha, case.beta
    z = rng.integers(case.size, size=len(tokens.words))
    total = 0.0
    for i in rng.permutation(len(z)) if seed % 2 else range(len(z)):
        before = np.arange(len(z)) < i
        d, w, k = tokens.documents[i], tokens.words[i], z[i]
        in_document, in_topic = before & (tokens.documents == d), before & (z == k)
        total += np.log(alpha[k] + np.sum(in_document & in_topic)) - np.log(alpha.sum() + in_document.sum())
        total += np.log(beta + np.sum(in_topic & (tokens.words == w)))
        total -= np.log(beta * tokens.shape[1] + in_topic.sum())
    assert lda.log_joint(tokens, z, alpha, beta) == pytest.approx(total, abs=1e-10)


def test_poisson_binomial_is_the_binomial():
    assert lda.poisson_binomial(np.full(9, 0.3)) == pytest.approx(binom.pmf(range(10), 9, 0.3), abs=1e-14)
    assert lda.poisson_binomial(np.array([])).tolist() == [1.0]
    assert lda.poisson_binomial(np.array([1.0, 0.0, 1.0])).tolist() == [0.0, 0.0, 1.0, 0.0]


@for_each("case", [*EDGES.values(), small_case(0)])
def test_means_variances_and_presence_are_those_of_the_laws(case):
    zero = case._replace(alpha=np.zeros(case.size), beta=0.0)
    mean = lda.expectations(lambda n: n, *zero)
    square = lda.expectations(lambda n: n**2, *zero)
    assert_close(lda.expected_counts(case.triplets, case.gamma), mean)
    spread = Statistics(*(s - m**2 for s, m in zip(square, mean, strict=True)))
    assert_close(lda.count_variances(case.triplets, case.gamma), spread, 1e-10)
    assert_close(lda.presence(case.triplets, case.gamma), lda.expectations(lambda n: 1.0 * (n > 0), *zero))


def test_bound_below_collapsed_bound_below_evidence():
    for seed in range(6):
        case = random_case(seed)
        evidence = exact.log_evidence(table_of(case))
        rng = np.random.default_rng(seed)
        for concentration in (0.1, 1.0, 10.0):
            gamma = soft_rows(rng, len(case.gamma), 2, concentration)
            bound = lda.lower_bound(case.triplets, gamma, case.alpha, case.beta)
            collapsed = lda.collapsed_bound_exact(case.triplets, gamma, case.alpha, case.beta)
            assert bound < collapsed < evidence


@for_each("seed", range(4))
def test_at_one_hot_gamma_every_bound_is_the_log_joint(seed):
    case = small_case(seed, hard=True)
    z = np.repeat(case.gamma.argmax(axis=1), case.triplets.counts)
    joint = lda.log_joint(lda.tokens_of(case.triplets), z, case.alpha, case.beta)
    for bound in (lda.lower_bound, lda.collapsed_bound_exact, lda.collapsed_bound_second_order):
        assert bound(*case) == pytest.approx(joint, abs=1e-10)


@for_each("seed", range(4))
def test_at_one_hot_gamma_every_update_is_the_exact_conditional(seed):
    case = small_case(seed, hard=True).unclumped
    tokens, z = lda.tokens_of(case.triplets), case.gamma.argmax(axis=1)
    for p in range(0, len(z), 3):
        soft = case.gamma.copy()
        soft[p] = np.random.default_rng(p).dirichlet(np.ones(case.size))  # its own row must not matter
        truth = lda.gibbs_conditional(tokens, z, p, case.alpha, case.beta)
        for update in (lda.cvb0_update, lda.cvb_update):
            assert update(case.triplets, soft, p, case.alpha, case.beta)[0] == pytest.approx(truth, abs=1e-12)
    p = 5
    by_laws = lda.cvb_exact_update(case.triplets, case.gamma, p, case.alpha, case.beta)
    assert by_laws == pytest.approx(lda.gibbs_conditional(tokens, z, p, case.alpha, case.beta), abs=1e-12)


@for_each("seed", range(3))
def test_exact_update_is_that_of_enumeration(seed):
    case = random_case(seed).unclumped
    for p in (0, 1, 4, 7):
        row = lda.cvb_exact_update(case.triplets, case.gamma, p, case.alpha, case.beta)
        wanted = exact.exact_update(case.triplets, case.gamma, p, case.alpha, case.beta)
        assert row == pytest.approx(wanted, abs=1e-11)


@for_each("inner", [1, 2, 5])
def test_vb_bound_never_falls(inner):
    for case in (*(small_case(seed) for seed in range(4)), *EDGES.values()):
        bounds = [lda.lower_bound(*case)]
        for _ in range(8):
            case = case._replace(gamma=lda.vb_sweep(*case, inner=inner))
            bounds.append(lda.lower_bound(*case))
        assert np.diff(bounds).min() >= -1e-10 * abs(bounds[0])
