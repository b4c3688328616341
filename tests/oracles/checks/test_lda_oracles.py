"""The oracles of LDA checked against each other: closed forms, laws of counts and bounds against enumeration."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import gammaln, logsumexp
from scipy.stats import beta as beta_law
from scipy.stats import binom

from tests.oracles import dense_lda as lda
from tests.oracles import lda_enumeration as exact
from tests.oracles.cases import soft_rows
from tests.oracles.dense_lda import Statistics, Tokens, Triplets
from tests.oracles.lda_cases import (
    LdaCase,
    clump,
    edge_cases,
    random_case,
    scaled,
    small_case,
    triplets_of,
    unclump,
)

EDGES = edge_cases()


def table_of(case: LdaCase) -> exact.LdaTable:
    return exact.joint_table(case.triplets, case.alpha, case.beta)


def assert_close(one: Statistics, other: Statistics, tolerance: float = 1e-12) -> None:
    for a, b in zip(one, other, strict=True):
        assert a == pytest.approx(b, abs=tolerance)


# ------------------------------------------------------------------------------------------------------- cases


@pytest.mark.parametrize("seed", range(8))
def test_cases_have_what_they_promise(seed):
    for case in (random_case(seed), small_case(seed)):
        lengths = case.triplets.lengths
        assert lengths[1] == 0
        assert (lengths == 1).any()
        assert case.triplets.counts.max() > 1
        assert case.triplets.shape[1] - 1 not in case.triplets.words
        assert case.gamma.sum(axis=1) == pytest.approx(np.ones(len(case.gamma)), abs=1e-12)
        assert len(np.unique(case.alpha)) == case.size


@pytest.mark.parametrize("case", [*EDGES.values(), *map(small_case, range(4))])
def test_a_corpus_and_its_triplets_are_the_same_data_in_the_same_order(case):
    back = triplets_of(case.corpus)
    for one, other in zip(back, case.triplets, strict=True):
        assert np.array_equal(one, other)
    assert case.corpus.lengths.tolist() == case.triplets.lengths.tolist()
    entries = [p for d in range(case.triplets.shape[0]) for p in case.triplets.of_document(d)]
    assert entries == list(range(len(case.gamma)))


# -------------------------------------------------------------------------------------------------- exact joint


@pytest.mark.parametrize("seed", range(4))
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


def test_joint_is_the_integral_over_theta_and_phi():
    tokens = Tokens(np.array([0, 0, 0]), np.array([0, 1, 0]), (1, 2))
    alpha, beta, z = np.array([0.7, 1.9]), 0.6, np.array([0, 1, 0])
    theta = quad(lambda t: t**2 * (1 - t) * beta_law.pdf(t, *alpha), 0, 1)[0]
    phi0 = quad(lambda t: t**2 * beta_law.pdf(t, beta, beta), 0, 1)[0]
    phi1 = quad(lambda t: (1 - t) * beta_law.pdf(t, beta, beta), 0, 1)[0]
    assert lda.log_joint(tokens, z, alpha, beta) == pytest.approx(np.log(theta * phi0 * phi1), abs=1e-6)


def test_evidence_sums_to_one_over_all_texts():
    alpha, beta, documents = np.array([0.3, 1.1]), 0.4, np.array([0, 0, 1, 2])
    evidence = []
    for words in product(range(3), repeat=4):
        triplets = Triplets(documents, np.array(words), np.ones(4, dtype=np.int64), (3, 3))
        evidence.append(exact.log_evidence(exact.joint_table(triplets, alpha, beta)))
    assert np.exp(logsumexp(evidence)) == pytest.approx(1.0, abs=1e-12)


def test_one_topic_is_one_dirichlet_multinomial():
    case = random_case(1, size=1)
    n = np.bincount(case.triplets.words, case.triplets.counts, minlength=4)
    closed = lda.log_multivariate_beta(case.beta + n) - lda.log_multivariate_beta(np.full(4, case.beta))
    assert exact.log_evidence(table_of(case)) == pytest.approx(closed, abs=1e-12)
    assert lda.lower_bound(*case) == pytest.approx(closed, abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_gibbs_conditional_is_the_exact_one(seed):
    case = random_case(seed, (3, 0, 1, 2), size=2 + seed % 2)
    table, rng = table_of(case), np.random.default_rng(seed)
    for i in range(len(table.tokens.words)):
        z = rng.integers(case.size, size=len(table.tokens.words))
        by_rule = lda.gibbs_conditional(table.tokens, z, i, case.alpha, case.beta)
        assert by_rule == pytest.approx(exact.conditional_of_token(table, z, i, case.size), abs=1e-12)


def test_the_posterior_is_what_gibbs_leaves_unmoved():
    case = random_case(3, (3, 0, 1, 2))
    table = table_of(case)
    before = exact.posterior(table)
    index = {tuple(z): row for row, z in enumerate(table.labels.tolist())}
    for i in range(len(table.tokens.words)):
        after = np.zeros_like(before)
        for z, probability in zip(table.labels, before, strict=True):
            for k, p in enumerate(lda.gibbs_conditional(table.tokens, z, i, case.alpha, case.beta)):
                moved = z.copy()
                moved[i] = k
                after[index[tuple(moved.tolist())]] += probability * p
        assert after == pytest.approx(before, abs=1e-14)


# --------------------------------------------------------------------------------------------- exact posterior


def test_marginals_are_even_under_a_symmetric_alpha_and_uneven_under_another():
    for seed in range(3):
        case = random_case(seed)
        even = exact.joint_table(case.triplets, np.full(2, 0.4), case.beta)
        assert exact.token_marginals(even, 2) == pytest.approx(np.full((8, 2), 0.5), abs=1e-13)
        uneven = exact.joint_table(case.triplets, np.array([0.3, 0.9]), case.beta)
        assert exact.token_marginals(uneven, 2)[:, 1].mean() > 0.6


def test_renaming_topics_renames_the_posterior():
    case = random_case(5, (3, 0, 1, 2), size=3)
    p = np.array([2, 0, 1])
    renamed = exact.joint_table(case.triplets, case.alpha[p], case.beta)
    assert exact.log_evidence(renamed) == pytest.approx(exact.log_evidence(table_of(case)), abs=1e-12)
    assert exact.entry_marginals(renamed, 3) == pytest.approx(exact.entry_marginals(table_of(case), 3)[:, p])


@pytest.mark.parametrize("seed", range(3))
def test_expected_counts_of_the_posterior_are_those_of_its_marginals(seed):
    case = random_case(seed)
    table = table_of(case)
    marginals = exact.entry_marginals(table, 2)
    assert marginals[table.entry] == pytest.approx(exact.token_marginals(table, 2), abs=1e-13)
    assert_close(exact.posterior_counts(table, 2), lda.expected_counts(case.triplets, marginals))


@pytest.mark.parametrize("seed", range(3))
def test_the_predictive_is_the_ratio_of_evidences(seed):
    case = random_case(seed, (3, 0, 1, 2))
    table, triplets = table_of(case), case.triplets
    for d in range(4):
        longer = []
        for w in range(triplets.shape[1]):
            more = Triplets(
                np.append(triplets.documents, d),
                np.append(triplets.words, w),
                np.append(triplets.counts, 1),
                triplets.shape,
            )
            longer.append(exact.log_evidence(exact.joint_table(more, case.alpha, case.beta)))
        by_ratio = np.exp(np.array(longer) - exact.log_evidence(table))
        assert exact.predictive(table, d, case.alpha, case.beta) == pytest.approx(by_ratio, abs=1e-12)
        assert by_ratio.sum() == pytest.approx(1.0, abs=1e-12)


# -------------------------------------------------------------------------------------------- laws of the counts


def test_poisson_binomial_is_the_binomial_and_agrees_with_enumeration():
    assert lda.poisson_binomial(np.full(9, 0.3)) == pytest.approx(binom.pmf(range(10), 9, 0.3), abs=1e-14)
    assert lda.poisson_binomial(np.array([])).tolist() == [1.0]
    assert lda.poisson_binomial(np.array([1.0, 0.0, 1.0])).tolist() == [0.0, 0.0, 1.0, 0.0]
    p = np.array([0.9, 0.2, 0.55, 0.01])
    direct = np.zeros(5)
    for outcome in product((0, 1), repeat=4):
        direct[sum(outcome)] += np.where(np.array(outcome) == 1, p, 1 - p).prod()
    assert lda.poisson_binomial(p) == pytest.approx(direct, abs=1e-15)


@pytest.mark.parametrize("case", [*EDGES.values(), small_case(0)], ids=[*EDGES, "small"])
def test_means_variances_and_presence_are_those_of_the_laws(case):
    zero = case._replace(alpha=np.zeros(case.size), beta=0.0)
    mean = lda.expectations(lambda n: n, *zero)
    square = lda.expectations(lambda n: n**2, *zero)
    assert_close(lda.expected_counts(case.triplets, case.gamma), mean)
    spread = Statistics(*(s - m**2 for s, m in zip(square, mean, strict=True)))
    assert_close(lda.count_variances(case.triplets, case.gamma), spread, 1e-10)
    assert_close(lda.presence(case.triplets, case.gamma), lda.expectations(lambda n: 1.0 * (n > 0), *zero))


@pytest.mark.parametrize("seed", range(4))
def test_expected_log_joint_through_the_laws_is_that_over_all_assignments(seed):
    case = random_case(seed, size=2) if seed < 3 else random_case(seed, (3, 0, 1, 2), size=3)
    table = table_of(case)
    by_laws = lda.expected_log_joint_exact(*case)
    assert by_laws == pytest.approx(exact.expected_log_joint(table, case.gamma), abs=1e-11)
    assert exact.probabilities_under(table, case.gamma).sum() == pytest.approx(1.0, abs=1e-13)


# ------------------------------------------------------------------------------------------------------ bounds


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


@pytest.mark.parametrize("name", EDGES)
def test_bound_below_collapsed_bound_on_edge_cases(name):
    case = EDGES[name]
    assert np.isfinite(lda.lower_bound(*case))
    assert lda.lower_bound(*case) <= lda.collapsed_bound_exact(*case) + 1e-10


@pytest.mark.parametrize("seed", range(4))
def test_at_one_hot_gamma_every_bound_is_the_log_joint(seed):
    case = small_case(seed, hard=True)
    z = np.repeat(case.gamma.argmax(axis=1), case.triplets.counts)
    joint = lda.log_joint(lda.tokens_of(case.triplets), z, case.alpha, case.beta)
    for bound in (lda.lower_bound, lda.collapsed_bound_exact, lda.collapsed_bound_second_order):
        assert bound(*case) == pytest.approx(joint, abs=1e-10)


@pytest.mark.parametrize("case", [EDGES["one word"], *map(small_case, range(3))])
def test_closed_bound_is_the_explicit_one_at_its_best_theta_and_phi(case):
    n = lda.expected_counts(case.triplets, case.gamma)
    theta, phi = case.alpha + n.documents, case.beta + n.words
    closed = lda.lower_bound(*case)
    assert lda.lower_bound_explicit(*case, theta, phi) == pytest.approx(closed, abs=1e-10)
    rng = np.random.default_rng(0)
    for _ in range(10):
        other = [p * rng.uniform(0.8, 1.25, p.shape) for p in (theta, phi)]
        assert lda.lower_bound_explicit(*case, *other) < closed + 1e-12


@pytest.mark.parametrize("seed", range(3))
def test_entropy_is_that_of_the_assignments(seed):
    case = random_case(seed)
    q = exact.probabilities_under(table_of(case), case.gamma)
    assert lda.entropy(case.triplets, case.gamma) == pytest.approx(-np.sum(q * np.log(q)), abs=1e-12)


def test_second_order_bound_closes_in_as_counts_grow_and_plugging_in_does_not():
    for seed in range(3):
        case = small_case(seed, concentration=5.0)
        errors, plugged = [], []
        for factor in (8, 16, 32):
            large = scaled(case, factor)
            truth = lda.collapsed_bound_exact(*large)
            errors.append(abs(lda.collapsed_bound_second_order(*large) - truth))
            plugged.append(abs(lda.lower_bound(*large) - truth))
        assert errors[1] < 0.65 * errors[0]
        assert errors[2] < 0.65 * errors[1]
        assert errors[2] < 0.05 * plugged[2]
        assert plugged[2] > 0.9 * plugged[0]


@pytest.mark.parametrize("seed", range(3))
def test_second_order_bound_can_exceed_the_evidence_where_counts_are_small(seed):
    case = random_case(seed)._replace(alpha=np.array([0.1, 0.1]), beta=0.05)
    case = case._replace(gamma=np.tile([0.97, 0.03], (len(case.gamma), 1)))
    evidence = exact.log_evidence(table_of(case))
    assert lda.collapsed_bound_exact(*case) < evidence < lda.collapsed_bound_second_order(*case) - 1


# ------------------------------------------------------------------------------------------ clumping and renaming


@pytest.mark.parametrize("seed", range(4))
def test_splitting_a_count_leaves_counts_and_bounds_as_they_are(seed):
    case = small_case(seed)
    split = case.unclumped
    assert len(split.gamma) == case.triplets.counts.sum() > len(case.gamma)
    for statistic in (lda.expected_counts, lda.count_variances, lda.presence):
        assert_close(statistic(split.triplets, split.gamma), statistic(case.triplets, case.gamma))
    for number in (
        lda.lower_bound,
        lda.collapsed_bound_exact,
        lda.collapsed_bound_second_order,
        lda.pseudo_loo,
    ):
        assert number(*split) == pytest.approx(number(*case), abs=1e-10)


def test_unclumping_and_clumping_again_gives_the_same_back():
    case = small_case(2)
    triplets, gamma = clump(*unclump(case.triplets, case.gamma))
    assert np.array_equal(gamma, case.gamma)
    for one, other in zip(triplets, case.triplets, strict=True):
        assert np.array_equal(one, other)
    different = unclump(case.triplets, case.gamma)[1]
    different[int(case.triplets.counts[: int(case.triplets.counts.argmax())].sum())] = np.eye(3)[0]
    with pytest.raises(ValueError, match="differ in gamma"):
        clump(unclump(case.triplets, case.gamma)[0], different)


def test_log_gamma_of_a_count_is_what_expectations_give():
    case = small_case(1, hard=True)
    plain = lda.plug_in(gammaln, *case)
    assert_close(lda.expectations(gammaln, *case), plain, 1e-10)
    assert_close(lda.presence_weighted(gammaln, *case), plain, 1e-10)
