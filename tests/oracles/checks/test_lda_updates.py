"""The oracles of LDA's updates: collapsed ones against exact conditionals, sweeps, leave-one-out, VB."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import digamma

from tests.oracles import dense_lda as lda
from tests.oracles import lda_enumeration as exact
from tests.oracles.cases import soft_rows
from tests.oracles.lda_cases import LdaCase, edge_cases, random_case, scaled, small_case

EDGES = edge_cases()
SWEEPS = [pytest.param(lda.cvb0_sweep, id="cvb0"), pytest.param(lda.cvb_sweep, id="cvb")]
FROZEN = pytest.mark.parametrize("frozen_nk", [True, False])


def settled(sweep, case: LdaCase, sweeps: int = 600) -> LdaCase:
    """The case at a fixed point of a sweep."""
    for _ in range(sweeps):
        gamma = sweep(*case)[0]
        change, case = np.abs(gamma - case.gamma).max(), case._replace(gamma=gamma)
        if change < 1e-13:
            break
    return case


def strong_case(seed: int) -> LdaCase:
    """A small case whose sweeps settle soon."""
    return random_case(seed, (12, 0, 1, 7), 6, 2)._replace(alpha=np.array([0.5, 1.2]), beta=0.4)


# --------------------------------------------------------------------------------------------- single updates


@pytest.mark.parametrize("seed", range(4))
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


@pytest.mark.parametrize("seed", range(3))
def test_one_token_of_a_pair_is_left_out_not_all(seed):
    case = small_case(seed, hard=True)
    p = int(case.triplets.counts.argmax())
    token = int(case.triplets.counts[:p].sum())
    z = np.repeat(case.gamma.argmax(axis=1), case.triplets.counts)
    truth = lda.gibbs_conditional(lda.tokens_of(case.triplets), z, token, case.alpha, case.beta)
    for update in (lda.cvb0_update, lda.cvb_update):
        row = update(case.triplets, case.gamma, p, case.alpha, case.beta)[0]
        assert row == pytest.approx(truth, abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_exact_update_is_the_best_for_the_collapsed_bound(seed):
    case = random_case(seed).unclumped
    rng = np.random.default_rng(seed)
    for p in (0, 1, 4, 7):
        row = lda.cvb_exact_update(case.triplets, case.gamma, p, case.alpha, case.beta)
        by_enumeration = exact.exact_update(case.triplets, case.gamma, p, case.alpha, case.beta)
        assert row == pytest.approx(by_enumeration, abs=1e-11)
        gamma = case.gamma.copy()
        gamma[p] = row
        best = lda.collapsed_bound_exact(case.triplets, gamma, case.alpha, case.beta)
        for other in rng.dirichlet(np.ones(2), 4):
            gamma[p] = other
            assert lda.collapsed_bound_exact(case.triplets, gamma, case.alpha, case.beta) <= best


def test_exact_update_of_a_pair_agrees_with_enumeration():
    case = random_case(4)
    for p in range(len(case.gamma)):
        row = lda.cvb_exact_update(case.triplets, case.gamma, p, case.alpha, case.beta)
        truth = exact.exact_update(case.triplets, case.gamma, p, case.alpha, case.beta)
        assert row == pytest.approx(truth, abs=1e-11)


def test_second_order_is_closer_to_the_exact_update_than_zeroth_where_counts_are_large():
    for seed in range(3):
        case = scaled(small_case(seed, concentration=5.0), 10)
        zeroth, second = [], []
        for p in range(0, len(case.gamma), 4):
            truth = lda.cvb_exact_update(case.triplets, case.gamma, p, case.alpha, case.beta)
            for update, errors in ((lda.cvb0_update, zeroth), (lda.cvb_update, second)):
                row = update(case.triplets, case.gamma, p, case.alpha, case.beta)[0]
                errors.append(np.abs(row - truth).sum())
        assert np.mean(second) < 0.4 * np.mean(zeroth)


def test_error_of_the_second_order_falls_with_the_square_of_the_counts_and_that_of_the_zeroth_with_the_counts():
    for seed in range(3):
        case = small_case(seed, concentration=5.0)
        p, errors = 0, {lda.cvb0_update: [], lda.cvb_update: []}
        for factor in (20, 40):
            large = scaled(case, factor)
            truth = lda.cvb_exact_update(large.triplets, large.gamma, p, large.alpha, large.beta)
            for update, found in errors.items():
                row = update(large.triplets, large.gamma, p, large.alpha, large.beta)[0]
                found.append(np.abs(row - truth).sum())
        ratios = [found[0] / found[1] for found in errors.values()]
        assert ratios == pytest.approx([2.0, 4.0], rel=0.25)


def test_second_order_is_worse_than_zeroth_where_counts_are_small():
    """Concentrations of 0.1 and a handful of tokens: the expansion of log breaks down, and CVB0 does not."""
    zeroth, second = [], []
    for seed in range(6):
        case = random_case(seed, concentration=0.5)._replace(alpha=np.array([0.1, 0.15]), beta=0.1)
        for p in range(len(case.gamma)):
            truth = lda.cvb_exact_update(case.triplets, case.gamma, p, case.alpha, case.beta)
            for update, errors in ((lda.cvb0_update, zeroth), (lda.cvb_update, second)):
                row = update(case.triplets, case.gamma, p, case.alpha, case.beta)[0]
                errors.append(np.abs(row - truth).sum())
    assert np.mean(second) > np.mean(zeroth)


# --------------------------------------------------------------------------------------------- leave-one-out


@pytest.mark.parametrize("seed", range(3))
def test_at_one_hot_gamma_pseudo_loo_sums_exact_predictives(seed):
    case = random_case(seed, hard=True).unclumped
    tokens, z = lda.tokens_of(case.triplets), case.gamma.argmax(axis=1)
    total = 0.0
    for i in range(len(z)):
        rest = lda.Tokens(np.delete(tokens.documents, i), np.delete(tokens.words, i), tokens.shape)
        base = lda.log_joint(rest, np.delete(z, i), case.alpha, case.beta)
        moved = [np.where(np.arange(len(z)) == i, k, z) for k in range(case.size)]
        joint = [lda.log_joint(tokens, m, case.alpha, case.beta) for m in moved]
        total += np.log(np.sum(np.exp(np.array(joint) - base)))
    assert lda.pseudo_loo(*case) == pytest.approx(total, abs=1e-11)


@pytest.mark.parametrize("case", EDGES.values(), ids=EDGES)
def test_predictives_of_cvb0_sum_to_one_over_words(case):
    """The token taken away is replaced by every word in turn: what is left is one predictive distribution."""
    p = 0
    total = 0.0
    for w in range(case.triplets.shape[1]):
        words = np.append(case.triplets.words, w)
        counts = np.append(case.triplets.counts, 1)
        counts[p] -= 1
        documents = np.append(case.triplets.documents, case.triplets.documents[p])
        swapped = lda.Triplets(documents, words, counts, case.triplets.shape)
        gamma = np.vstack([case.gamma, case.gamma[p]])
        total += lda.cvb0_update(swapped, gamma, len(words) - 1, case.alpha, case.beta)[1]
    assert total == pytest.approx(1.0, abs=1e-12)
    assert lda.predict(*case).sum(axis=1) == pytest.approx(np.ones(case.triplets.shape[0]), abs=1e-12)


def test_prediction_at_one_hot_gamma_is_the_exact_predictive_given_the_labels():
    case = random_case(2, hard=True)
    tokens = lda.tokens_of(case.triplets)
    z = np.repeat(case.gamma.argmax(axis=1), case.triplets.counts)
    base = lda.log_joint(tokens, z, case.alpha, case.beta)
    predicted = lda.predict(*case)
    for d, w in np.ndindex(case.triplets.shape):
        more = lda.Tokens(np.append(tokens.documents, d), np.append(tokens.words, w), tokens.shape)
        joint = [lda.log_joint(more, np.append(z, k), case.alpha, case.beta) for k in range(case.size)]
        assert predicted[d, w] == pytest.approx(np.exp(np.array(joint) - base).sum(), abs=1e-12)


@FROZEN
@pytest.mark.parametrize("sweep", SWEEPS)
def test_at_a_fixed_point_the_sweep_meets_pseudo_loo_and_freezing_changes_nothing(sweep, frozen_nk):
    case = settled(sweep, strong_case(1))
    gamma, met = sweep(*case, frozen_nk=frozen_nk)
    assert gamma == pytest.approx(case.gamma, abs=1e-10)
    assert met == pytest.approx(lda.pseudo_loo(*case), abs=1e-9)


# ------------------------------------------------------------------------------------------------------ sweeps


def by_adding_and_subtracting(case: LdaCase, frozen_nk: bool, order: int) -> tuple[np.ndarray, float]:
    """A sweep as one writes it for speed: counts are kept, less one token before, plus c times the change after."""
    words, counts, n_words = case.triplets.words, case.triplets.counts, case.triplets.shape[1]
    gamma = case.gamma.copy()
    kept = [lda.expected_counts(case.triplets, gamma), lda.count_variances(case.triplets, gamma)]
    total = 0.0
    for d in range(case.triplets.shape[0]):
        start = [statistics.topics.copy() for statistics in kept]
        for p in case.triplets.of_document(d):
            w, old = words[p], gamma[p].copy()
            own = [old, old * (1 - old)]
            (a, b, t), (va, vb, vt) = (
                [n.documents[d] - o, n.words[w] - o, (s if frozen_nk else n.topics) - o]
                for n, s, o in zip(kept, start, own, strict=True)
            )
            a, b, t = case.alpha + a, case.beta + b, n_words * case.beta + t
            predictive = a * b / t
            total += counts[p] * np.log(predictive.sum() / (case.alpha.sum() + case.triplets.lengths[d] - 1))
            if order == 2:
                predictive = predictive * np.exp(-va / (2 * a**2) - vb / (2 * b**2) + vt / (2 * t**2))
            new = predictive / predictive.sum()
            for n, o, change in zip(kept, own, (new, new * (1 - new)), strict=True):
                n.documents[d] += counts[p] * (change - o)
                n.words[w] += counts[p] * (change - o)
                n.topics[:] += counts[p] * (change - o)
            gamma[p] = new
    return gamma, total


@FROZEN
@pytest.mark.parametrize(("sweep", "order"), [(lda.cvb0_sweep, 0), (lda.cvb_sweep, 2)], ids=["cvb0", "cvb"])
@pytest.mark.parametrize("name", [*EDGES, "small"])
def test_a_sweep_is_the_same_with_counts_kept_by_adding_and_subtracting(name, sweep, order, frozen_nk):
    case = EDGES.get(name) or small_case(0)
    for _ in range(2):
        gamma, met = sweep(*case, frozen_nk=frozen_nk)
        other, other_met = by_adding_and_subtracting(case, frozen_nk, order)
        assert gamma == pytest.approx(other, abs=1e-9)
        assert met == pytest.approx(other_met, abs=1e-9)
        assert gamma.sum(axis=1) == pytest.approx(np.ones(len(gamma)), abs=1e-12)
        case = case._replace(gamma=gamma)


@pytest.mark.parametrize("sweep", SWEEPS)
def test_freezing_matters_inside_a_document_only(sweep):
    case = small_case(1)
    assert np.abs(sweep(*case, frozen_nk=True)[0] - sweep(*case, frozen_nk=False)[0]).max() > 1e-4
    single = EDGES["documents of one token"]
    frozen, textbook = (sweep(*single, frozen_nk=f) for f in (True, False))
    assert frozen[0].tolist() == textbook[0].tolist()
    assert frozen[1] == textbook[1]


@FROZEN
@pytest.mark.parametrize("sweep", SWEEPS)
def test_renaming_topics_and_storing_entries_in_another_order_leaves_a_sweep_as_it_is(sweep, frozen_nk):
    case, p = small_case(2), np.array([2, 0, 1])
    gamma, met = sweep(*case, frozen_nk=frozen_nk)
    renamed, other_met = sweep(case.triplets, case.gamma[:, p], case.alpha[p], case.beta, frozen_nk=frozen_nk)
    assert renamed == pytest.approx(gamma[:, p], abs=1e-12)
    assert other_met == pytest.approx(met, abs=1e-10)
    shuffled = np.random.default_rng(0).permutation(len(gamma))  # entries are taken in order of the words
    triplets = lda.Triplets(*(part[shuffled] for part in case.triplets[:3]), case.triplets.shape)
    other, other_met = sweep(triplets, case.gamma[shuffled], case.alpha, case.beta, frozen_nk=frozen_nk)
    assert other == pytest.approx(gamma[shuffled], abs=1e-12)
    assert other_met == pytest.approx(met, abs=1e-10)


@pytest.mark.parametrize("sweep", SWEEPS)
def test_a_fixed_point_stays_one_when_counts_are_split_though_single_sweeps_differ(sweep):
    case = strong_case(0)
    clumped = np.repeat(sweep(*case)[0], case.triplets.counts, axis=0)
    assert np.abs(sweep(*case.unclumped)[0] - clumped).max() > 1e-4
    split = settled(sweep, case).unclumped
    assert sweep(*split)[0] == pytest.approx(split.gamma, abs=1e-9)


# ---------------------------------------------------------------------------------------------------------- VB


@pytest.mark.parametrize("inner", [1, 2, 5])
def test_vb_bound_never_falls(inner):
    for case in (*(small_case(seed) for seed in range(4)), *EDGES.values()):
        bounds = [lda.lower_bound(*case)]
        for _ in range(8):
            case = case._replace(gamma=lda.vb_sweep(*case, inner=inner))
            bounds.append(lda.lower_bound(*case))
        assert np.diff(bounds).min() >= -1e-10 * abs(bounds[0])


def test_vb_responsibilities_are_the_best_for_the_given_theta_and_phi():
    case = small_case(3)
    n = lda.expected_counts(case.triplets, case.gamma)
    given = (case.alpha + n.documents, case.beta + n.words)
    new = lda.vb_sweep(*case, inner=1)
    best = lda.lower_bound_explicit(case.triplets, new, case.alpha, case.beta, *given)
    rng = np.random.default_rng(3)
    for _ in range(20):
        other = new * rng.uniform(0.9, 1.1, new.shape)
        other /= other.sum(axis=1, keepdims=True)
        assert lda.lower_bound_explicit(case.triplets, other, case.alpha, case.beta, *given) < best


def test_more_inner_passes_settle_the_documents():
    """Many passes end where theta and gamma of every document agree, phi being as it was."""
    case = small_case(4)
    n = lda.expected_counts(case.triplets, case.gamma)
    phi = case.beta + n.words
    bounds = []
    for inner in (1, 2, 4, 8, 200):
        gamma = lda.vb_sweep(*case, inner=inner)
        theta = case.alpha + lda.expected_counts(case.triplets, gamma).documents
        bounds.append(lda.lower_bound_explicit(case.triplets, gamma, case.alpha, case.beta, theta, phi))
    assert np.diff(bounds).min() > 0
    log_phi = digamma(phi) - digamma(phi.sum(axis=0))
    weights = np.exp(digamma(theta)[case.triplets.documents] + log_phi[case.triplets.words])
    assert gamma == pytest.approx(weights / weights.sum(axis=1, keepdims=True), abs=1e-6)


def test_vb_sweep_is_blind_to_splitting_counts():
    case = small_case(5)
    split = case.unclumped
    swept = np.repeat(lda.vb_sweep(*case, inner=3), case.triplets.counts, axis=0)
    assert lda.vb_sweep(*split, inner=3) == pytest.approx(swept, abs=1e-12)


def test_vb_ends_below_the_evidence():
    for seed in range(3):
        case = random_case(seed)
        evidence = exact.log_evidence(exact.joint_table(case.triplets, case.alpha, case.beta))
        rng = np.random.default_rng(seed)
        for _ in range(2):
            case = case._replace(gamma=soft_rows(rng, len(case.gamma), 2))
            for _ in range(60):
                case = case._replace(gamma=lda.vb_sweep(*case, inner=2))
            assert lda.lower_bound(*case) < lda.collapsed_bound_exact(*case) + 1e-12
            assert lda.lower_bound(*case) < evidence
