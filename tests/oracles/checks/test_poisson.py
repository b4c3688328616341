"""The oracles of Gamma-Poisson blocks: bounds against enumeration, updates against exact conditionals."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import nbinom

from tests.loops import for_each
from tests.oracles import dense_irm
from tests.oracles.cases import soft_rows
from tests.oracles.dense_irm import Array, DenseData
from tests.oracles.dense_poisson import (
    CountData,
    Variances,
    expected_value,
    log_joint,
    log_likelihood_of_labels,
    log_predict,
    log_rate_integral,
    lower_bound,
    paper_variances,
    second_order,
    sums,
    sweep,
    update_cvb0,
    update_cvb2,
    vb_sweep,
)
from tests.oracles.poisson_cases import KINDS, CountCase, random_count_case
from tests.oracles.poisson_enumeration import joint_table

each_kind = for_each("kind", list(KINDS))
each_update = for_each("update", [update_cvb0, update_cvb2])


def tiny_case(seed: int, kind: str) -> CountCase:
    """3 x 3 objects of two domains, or 4 of a network, in two clusters a side."""
    shape = (3, 3) if kind == "two domains" else (4, 4)
    return random_count_case(seed, kind, shape, missing=0.2 * (seed % 2), mean=0.5 + seed)


@each_kind
def test_likelihood_is_the_product_of_negative_binomials(kind):
    """Each count is predicted from those before it in its block: Gamma-Poisson, one count after another."""
    for seed in range(6):
        case = random_count_case(seed, kind, (6, 5), (3, 2), hard=True)
        z = [part.argmax(axis=1) for part in case.q]
        total, shape, rate = 0.0, np.full((3, 3), case.a), np.full((3, 3), case.b)
        for i, j in np.argwhere(case.data.entries):
            block = (z[0][i], z[-1][j])
            if case.data.directed is False:
                block = tuple(sorted(block))
            exposure = case.data.t[i] * case.data.f[j]
            total += nbinom.logpmf(case.data.x[i, j], shape[block], rate[block] / (rate[block] + exposure))
            shape[block] += case.data.x[i, j]
            rate[block] += exposure
        assert log_likelihood_of_labels(case.data, z, case.a, case.b) == pytest.approx(total, abs=1e-10)


@each_kind
def test_vb_bound_below_collapsed_bound_below_evidence(kind):
    for seed in range(3):
        case = tiny_case(seed, kind)
        table, rng = joint_table(case.data, case.sizes, *case.hyper), np.random.default_rng(seed)
        tries = [
            tuple(soft_rows(rng, *part.shape, concentration) for part in case.q)
            for concentration in np.geomspace(0.05, 5.0, 12)
        ]
        for q in [*tries, table.marginals(case.sizes)]:
            collapsed = table.collapsed_bound(q)
            assert lower_bound(case.data, q, *case.hyper) <= collapsed + 1e-11
            assert collapsed <= table.log_evidence + 1e-11


@each_kind
def test_bound_at_hard_assignments_is_the_log_joint(kind):
    for seed in range(6):
        case = random_count_case(seed, kind, (6, 5), (3, 2), hard=True, per_block=seed % 2 == 0)
        joint = log_joint(case.data, [part.argmax(axis=1) for part in case.q], *case.hyper, case.sizes)
        assert lower_bound(case.data, case.q, *case.hyper) == pytest.approx(joint, abs=1e-10)


def exact_conditional(case: CountCase, i: int) -> tuple[Array, float]:
    """p(z_i | Z without i, X) and log p(x_i | X without i, Z without i), from ratios of joints."""
    z, hidden = [part.argmax(axis=1) for part in case.q], case.data.hiding(i)
    with_entries, without = [], []
    for k in range(case.sizes[0]):
        z[0][i] = k
        with_entries.append(log_joint(case.data, z, *case.hyper, case.sizes))
        without.append(log_joint(hidden, z, *case.hyper, case.sizes))
    evidence = logsumexp(with_entries)
    return np.exp(np.array(with_entries) - evidence), float(evidence - logsumexp(without))


@each_kind
@each_update
def test_updates_are_exact_when_all_else_is_hard(kind, update):
    for seed in range(10):
        case = random_count_case(seed, kind, (6, 5), (3, 2), hard=True, per_block=seed % 2 == 0)
        if seed % 3 == 0:
            case = case.T
        case.q[0][2] = np.arange(1.0, case.sizes[0] + 1) / np.arange(1.0, case.sizes[0] + 1).sum()
        row, log_normaliser = update(case.data, case.q, 2, case.a, case.b, case.alphas[0])
        conditional, log_predictive = exact_conditional(case, 2)
        assert row == pytest.approx(conditional, abs=1e-10)
        assert log_normaliser == pytest.approx(log_predictive, abs=1e-10)


@each_kind
def test_vb_coordinates_never_lower_the_bound(kind):
    for seed in range(4):
        case = random_count_case(seed, kind, (6, 5), (3, 2), mean=2.0, per_block=seed % 2 == 0)
        q, bounds = case.q, []
        orders = [range(len(part)) for part in q]
        for _ in range(6):
            bounds.append(lower_bound(case.data, q, *case.hyper))
            q = vb_sweep(case.data, q, orders, *case.hyper)
        assert (np.diff(bounds) >= -1e-10).all()
        assert bounds[-1] > bounds[0] + 0.1


def test_second_order_terms_are_the_mean_over_independent_entries():
    """Two entries that vary independently: the second-order value nears the mean as the entries matter less."""
    x, exposure, share = np.array([3.0, 1.0]), np.array([0.4, 1.3]), np.array([0.3, 0.6])
    errors = []
    for scale in (0.1, 0.05):
        mean, u = 2.0 + scale * share @ x, scale**2 * share * (1 - share)
        variances = Variances(u @ x**2, u @ exposure**2, u @ (x * exposure))
        exact = sum(
            np.prod(np.where(s, share, 1 - share))
            * log_rate_integral(2.0 + scale * (s @ x), 1.5 + scale * (s @ exposure))
            for s in (np.array([a, b]) for a in (0, 1) for b in (0, 1))
        )
        errors.append(abs(second_order(mean, 1.5 + scale * share @ exposure, variances) - exact))
    assert errors[0] < 2e-4
    assert errors[1] < errors[0] / 6  # the third order is left out: an eighth


def test_two_domains_are_a_directed_network_without_the_other_pairs():
    case = random_count_case(3, "two domains", (5, 4), (3, 2), missing=0.3)
    x = np.full((9, 9), np.nan)
    x[:5, 5:] = case.data.x
    both = CountData(x, np.append(case.data.t, np.ones(4)), np.append(np.ones(5), case.data.f), True)
    q = np.zeros((9, 5))
    q[:5, :3], q[5:, 3:] = case.q
    for i, k in ((None, 0), (2, 1)):
        narrow = [*sums(case.data, case.q), *paper_variances(case.data, case.q, i, k)]
        wide = [*sums(both, (q,)), *paper_variances(both, (q,), i, k)]
        for one, other in zip(narrow, wide, strict=True):
            np.testing.assert_allclose(other[:3, 3:], one, atol=1e-13)
            assert other.sum() == pytest.approx(one.sum(), abs=1e-12)


@each_kind
def test_predictions_are_distributions_with_the_expected_mean(kind):
    case = random_count_case(5, kind, (4, 5), (2, 3), missing=0.4)
    x = np.arange(3000.0)
    p = np.exp([log_predict(case.data, case.q, case.a, case.b, value) for value in x])
    np.testing.assert_allclose(p.sum(axis=0), 1.0, atol=1e-4 if case.a < 0.5 else 1e-7)
    shape = sums(case.data, case.q)[0] + case.a
    assert (shape > 0).all()
    np.testing.assert_allclose(
        np.einsum("x,xij->ij", x, p), expected_value(case.data, case.q, case.a, case.b), rtol=1e-3
    )


@each_kind
def test_predictions_are_exact_when_only_an_object_without_entries_is_undecided(kind):
    case = random_count_case(6, kind, (4, 5), (2, 3), missing=0.4, hard=True, per_block=True)
    data, z = case.data.hiding(0), [part.argmax(axis=1) for part in case.q]
    case.q[0][0] = [0.3, 0.7]
    now = log_likelihood_of_labels(data, z, case.a, case.b)
    for i, j in np.argwhere(np.isnan(data.x)):
        for count in (0.0, 2.0):
            filled = data.x.copy()
            filled[i, j] = count
            if data.directed is False:
                filled[j, i] = count
            gains = []
            for k in range(2):
                z[0][0] = k
                then = log_likelihood_of_labels(data._replace(x=filled), z, case.a, case.b)
                gains.append(then - now)
            found = log_predict(data, case.q, case.a, case.b, count)[i, j]
            assert found == pytest.approx(logsumexp(gains, b=case.q[0][0]), abs=1e-10)


@each_kind
@each_update
def test_rescaling_and_transposing_change_nothing(kind, update):
    """Rates absorb a factor of the propensities, so b grows with t."""
    case = random_count_case(4, kind, (5, 4), (3, 2), per_block=True)
    orders = [np.random.default_rng(0).permutation(len(part)) for part in case.q]
    q, loo = sweep(update, case.data, case.q, orders, *case.hyper)
    bound = lower_bound(case.data, q, *case.hyper)
    scaled = (case.a, 3.0 * np.asarray(case.b), case.alphas)
    one = case.data.rescaled(3.0)
    again, loo_again = sweep(update, one, case.q, orders, *scaled)
    np.testing.assert_allclose(again[0], q[0], atol=1e-12)
    assert loo_again == pytest.approx(loo, abs=1e-10)
    assert lower_bound(one, q, *scaled) == pytest.approx(bound, abs=1e-10)
    assert lower_bound(case.T.data, q[::-1], *case.T.hyper) == pytest.approx(bound, abs=1e-10)
    if len(q) == 1:
        turned, loo_turned = sweep(update, case.T.data, case.T.q, orders, *case.T.hyper)
        np.testing.assert_allclose(turned[0], q[0], atol=1e-12)
        assert loo_turned == pytest.approx(loo, abs=1e-10)


def sparse_gaps(n: int) -> tuple[float, float]:
    """How far CVB0 and differences of the bound are from the Bernoulli ones, for eight links among n x n pairs."""
    x = np.zeros((n, n))
    x[[0, 1, 2, 3, 4, 5, 6, 7], [1, 0, 2, 3, 3, 4, 0, 1]] = 1.0
    counts, links = CountData(x, np.ones(n), np.ones(n)), DenseData(x, np.ones((n, n), bool))
    rng = np.random.default_rng(1)
    some = [(soft_rows(rng, n, 2, 5.0), soft_rows(rng, n, 2, 5.0)) for _ in range(2)]
    row, _ = update_cvb0(counts, some[0], 0, 0.5, 1.0, 1.0)
    wanted, _ = dense_irm.update_cvb0(links, *some[0], 0, 0.5, 1.0, 1.0)
    heights = [
        lower_bound(counts, q, 0.5, 1.0, (1.0, 1.0)) - dense_irm.lower_bound(links, *q, 0.5, 1.0, 1.0, 1.0)
        for q in some
    ]
    return float(np.abs(row - wanted).max()), abs(heights[0] - heights[1])


def test_few_links_are_explained_as_the_bernoulli_model_explains_them():
    (update, bound), (update_later, bound_later) = sparse_gaps(20), sparse_gaps(80)
    assert 0 < update_later < update / 2
    assert 0 < bound_later < bound / 2
    assert update_later < 2e-3
    assert bound_later < 0.02
