"""The oracles' updates of networks: against exact conditionals, the bound, and themselves under renaming."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp

from tests.oracles import network_enumeration as exact
from tests.oracles.dense_irm import (
    Array,
    entropy,
    log_prior_terms,
    stick_evidence,
    stick_posterior,
    update_alpha,
)
from tests.oracles.dense_network import (
    block_log_evidence,
    counts,
    each_block,
    gibbs_conditional,
    log_joint,
    lower_bound,
    lower_bound_explicit,
    merged,
    network,
    predict,
    pseudo_loo,
    sorted_by_size,
    split,
    sweep,
    update_ab_tied,
    update_cvb0,
    update_cvb2,
    vb_posterior,
    vb_sweep,
    vb_update,
)
from tests.oracles.enumeration import canonical_partition
from tests.oracles.network_cases import KINDS, NetworkCase, random_network_case

each_kind = pytest.mark.parametrize("kind", KINDS)
each_update = pytest.mark.parametrize("update", [update_cvb0, update_cvb2])


def bound_of(case: NetworkCase) -> float:
    return lower_bound(case.data, case.q, *case.hyper)


# ------------------------------------------------------------------------------------------------ CVB updates


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
@each_update
def test_an_update_does_not_look_at_the_old_row(kind, update):
    case = random_network_case(3, kind, n=6, size=3)
    row, _ = update(case.data, case.q, 1, *case.hyper)
    case.q[1] = [0.0, 0.1, 0.9]
    assert update(case.data, case.q, 1, *case.hyper)[0] == pytest.approx(row, abs=1e-14)


@each_kind
@each_update
def test_an_unseen_object_gets_its_prior(kind, update):
    case = random_network_case(3, kind, n=5, size=3)
    row, log_normaliser = update(case.data.hiding(1), case.q, 1, *case.hyper)
    prior = np.exp(log_prior_terms(np.delete(case.q, 1, axis=0).sum(axis=0), case.alpha))
    assert row == pytest.approx(prior, abs=1e-13)
    assert log_normaliser == pytest.approx(0.0, abs=1e-12)


@each_kind
@each_update
def test_updates_near_the_enumerated_one_and_meet_it_as_q_hardens(kind, update):
    errors = {1.0: 0.0, 0.03: 0.0}
    for seed in range(8):
        for softness in errors:
            case = random_network_case(seed, kind)
            q = (1 - softness) * np.eye(2)[case.q.argmax(axis=1)] + softness * case.q
            target, _ = exact.exact_cvb_update(case.data, q, 0, *case.hyper)
            errors[softness] += np.abs(update(case.data, q, 0, *case.hyper)[0] - target).max() / 8
    assert errors[1.0] < 0.1
    assert errors[0.03] < 0.1 * errors[1.0]


@each_kind
def test_enumerated_mean_field_update_climbs_the_collapsed_bound(kind):
    case = random_network_case(8, kind, n=4, missing=0.1)
    table, q = exact.joint_table(case.data, 2, *case.hyper), case.q.copy()
    bounds = [exact.collapsed_bound(table, q)]
    for i in (0, 1, 2, 3, 0, 1, 2, 3):
        q[i], _ = exact.exact_cvb_update(case.data, q, i, *case.hyper)
        bounds.append(exact.collapsed_bound(table, q))
    assert np.diff(bounds).min() >= -1e-12
    assert bounds[-1] - bounds[0] > 1e-3


@each_kind
def test_posterior_marginals_are_kept_by_the_exact_conditionals(kind):
    case = random_network_case(6, kind, n=4)
    table = exact.joint_table(case.data, 2, *case.hyper)
    posterior, after = np.exp(table.log_joint - exact.log_evidence(table)), np.zeros(2)
    for weight, z in zip(posterior, table.labels, strict=True):
        after += weight * update_cvb0(case.data, np.eye(2)[z], 0, *case.hyper)[0]
    assert exact.posterior_marginals(table, 2)[0] == pytest.approx(after, abs=1e-12)


# ----------------------------------------------------------------------------------------------------- sweeps


@each_kind
@each_update
def test_renaming_objects_leaves_a_sweep_as_it_is(kind, update):
    case = random_network_case(0, kind, n=6, size=3, per_block=True)
    order = np.random.default_rng(0).permutation(6)
    q, loo = sweep(update, case.data, case.q, order, *case.hyper)
    renamed = case.permuted(order)
    other, other_loo = sweep(update, renamed.data, renamed.q, range(6), *case.hyper)
    assert other == pytest.approx(q[order], abs=1e-12)
    assert other_loo == pytest.approx(loo, abs=1e-11)
    vb = vb_sweep(case.data, case.q, order, *case.hyper, refresh=True)
    vb_other = vb_sweep(renamed.data, renamed.q, range(6), *case.hyper, refresh=True)
    assert vb_other == pytest.approx(vb[order], abs=1e-12)


@each_kind
@each_update
def test_turning_all_links_round_with_their_priors_leaves_a_sweep_as_it_is(kind, update):
    case = random_network_case(1, kind, n=6, size=3, per_block=True)
    a, b = np.transpose(case.a), np.transpose(case.b)
    q, loo = sweep(update, case.data, case.q, range(6), *case.hyper)
    turned, turned_loo = sweep(update, case.data.T, case.q, range(6), a, b, case.alpha)
    assert turned == pytest.approx(q, abs=1e-12)
    assert turned_loo == pytest.approx(loo, abs=1e-11)


@each_update
def test_a_symmetric_network_read_as_directed_counts_every_pair_twice(update):
    """So both readings differ: an undirected network is not a directed one that happens to be symmetric."""
    case = random_network_case(2, "undirected", n=6, size=3)
    both = case.data._replace(directed=True)
    n, total, _ = counts(case.data, case.q)
    n_both, total_both, _ = counts(both, case.q)
    twice = 1 + np.eye(3)
    assert n_both == pytest.approx(n * twice, abs=1e-12)
    assert total_both == pytest.approx(total * twice, abs=1e-12)
    one, _ = update(case.data, case.q, 0, *case.hyper)
    other, _ = update(both, case.q, 0, *case.hyper)
    assert np.abs(one - other).max() > 0.01


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


# --------------------------------------------------------------------------------------------------------- VB


@each_kind
@pytest.mark.parametrize("refresh", [True, False])
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
def test_vb_update_is_the_best_row_for_the_given_theta_and_sticks(kind):
    case = random_network_case(3, kind, n=5, size=3)
    posterior = vb_posterior(case.data, case.q, *case.hyper)
    for i in range(5):
        new = case.q.copy()
        new[i] = vb_update(case.data, case.q, i, *case.hyper)
        best = lower_bound_explicit(case.data, new, *case.hyper, posterior)
        assert best > lower_bound_explicit(case.data, case.q, *case.hyper, posterior)
        rng = np.random.default_rng(3)
        for _ in range(20):
            other = new.copy()
            other[i] *= rng.uniform(0.9, 1.1, 3)
            other[i] /= other[i].sum()
            assert lower_bound_explicit(case.data, other, *case.hyper, posterior) < best


def test_moving_all_objects_at_once_can_lower_the_vb_bound():
    """Why VB of one domain goes object by object: two friends who know nobody else each go to where the other was."""
    cliques = np.kron(np.eye(2), np.ones((5, 5)))
    x, observed = np.zeros((12, 12)), np.zeros((12, 12), dtype=bool)
    x[:10, :10], observed[:10, :10] = cliques, True
    x[10, 11], observed[10, 11] = 1.0, True
    data, hyper = network(x, observed, directed=False, self_links=False), (0.5, 0.5, 1.0)
    q = np.concatenate([np.repeat(np.eye(2), 5, axis=0), [[0.99, 0.01], [0.4, 0.6]]])
    before = lower_bound(data, q, *hyper)
    at_once = np.array([vb_update(data, q, i, *hyper) for i in range(12)])
    assert lower_bound(data, at_once, *hyper) < before - 0.1
    in_turn = vb_sweep(data, q, range(12), *hyper, refresh=False)
    assert lower_bound(data, in_turn, *hyper) > before + 0.1


# ------------------------------------------------------------------------------------------------------ Gibbs


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


@each_kind
def test_gibbs_conditionals_keep_the_enumerated_posterior(kind):
    case = random_network_case(2, kind, n=4)
    law = exact.partition_posterior(case.data, *case.hyper)
    for i in range(4):
        after = dict.fromkeys(law, 0.0)
        for partition, weight in law.items():
            z = np.array(partition)
            for k, p in zip(*gibbs_conditional(case.data, z, i, *case.hyper), strict=True):
                z[i] = k
                after[canonical_partition(z)] += weight * float(p)
        assert list(after.values()) == pytest.approx(list(law.values()), abs=1e-12)


# ------------------------------------------------------------------------------------------- hyper-parameters


@each_kind
def test_hyper_parameter_steps_never_lower_the_bound(kind):
    for seed in range(10):
        case = random_network_case(seed, kind, n=8, size=3)
        bounds = [bound_of(case)]
        for _ in range(6):
            case = case._replace(alpha=update_alpha(case.q, case.alpha))
            bounds.append(bound_of(case))
            a, b = update_ab_tied(case.data, case.q, case.a, case.b)
            case = case._replace(a=a, b=b)
            bounds.append(bound_of(case))
        assert np.diff(bounds).min() >= -1e-10


@each_kind
def test_tied_rule_leads_to_the_best_a_and_b(kind):
    rng = np.random.default_rng(1)
    z = rng.integers(3, size=24)
    strength = np.array([[0.9, 0.1, 0.3], [0.2, 0.6, 0.05], [0.4, 0.1, 0.8]])
    x = (rng.random((24, 24)) < strength[z][:, z]).astype(float)
    data = network(x, rng.random((24, 24)) > 0.1, *KINDS[kind])
    case = NetworkCase(data, 0.9 * np.eye(3)[z] + 0.1 / 3, 1.0, 1.0, 1.0)
    n, total, _ = counts(data, case.q)  # the step in closed form, to take many of them
    ones, zeros = each_block(n, data.directed), each_block(total - n, data.directed)
    a, b = update_ab_tied(data, case.q, 1.0, 1.0)
    for _ in range(120):
        a, b = update_ab_tied(data, case.q, a, b)
    once = n if data.directed else np.where(np.tri(3, k=-1, dtype=bool), 0.0, n)
    assert ones.sum() == pytest.approx(once.sum(), abs=1e-12)
    best = bound_of(case._replace(a=a, b=b))
    for factor_a, factor_b in ((1.05, 1), (0.95, 1), (1, 1.05), (1, 0.95)):
        assert bound_of(case._replace(a=a * factor_a, b=b * factor_b)) < best
    assert zeros.min() > 0


# -------------------------------------------------------------------------------------------- merges and splits


@each_kind
def test_merging_adds_up_the_counts_of_two_clusters(kind):
    """The block between the two clusters goes into the merged one: all four of them, or three when undirected."""
    case = random_network_case(7, kind, n=7, size=4)
    n, total, m = counts(case.data, case.q)
    joined_n, joined_total, joined_m = counts(case.data, merged(case.q, 1, 3))
    for values, found in ((n, joined_n), (total, joined_total)):
        wanted = values.copy()
        inside = values[1, 1] + values[3, 3] + values[1, 3] + (values[3, 1] if case.data.directed else 0.0)
        wanted[1] += values[3]
        wanted[:, 1] += values[:, 3]
        wanted[1, 1] = inside
        keep = np.ix_([0, 1, 2], [0, 1, 2])
        assert found == pytest.approx(wanted[keep], abs=1e-12)
    assert joined_m == pytest.approx([m[0], m[1] + m[3], m[2]], abs=1e-12)


@each_kind
def test_merging_changes_the_bound_by_the_blocks_the_sticks_and_the_entropy(kind):
    case = random_network_case(9, kind, n=7, size=3, missing=0.3)
    n, total, m = counts(case.data, case.q)
    after = merged(case.q, 0, 2)
    joined_n, joined_total, joined_m = counts(case.data, after)
    parts = [
        each_block(block_log_evidence(x, t, case.a, case.b), case.data.directed).sum()
        for x, t in ((joined_n, joined_total), (n, total))
    ]
    sticks = stick_evidence(joined_m, case.alpha) - stick_evidence(m, case.alpha)
    gain = parts[0] - parts[1] + sticks + entropy(after) - entropy(case.q)
    assert bound_of(case._replace(q=after)) - bound_of(case) == pytest.approx(gain, abs=1e-11)


@each_kind
def test_a_split_is_undone_by_its_merge(kind):
    case = random_network_case(10, kind, n=7, size=3)
    share = np.random.default_rng(0).random(7)
    torn = split(case.q, 1, share)
    assert torn.shape == (7, 4)
    assert torn.sum(axis=1) == pytest.approx(np.ones(7), abs=1e-14)
    assert merged(torn, 1, 3) == pytest.approx(case.q, abs=1e-14)


@each_kind
def test_bound_rewards_the_planted_split_and_the_merge_of_a_torn_cluster(kind):
    directed, self_links = KINDS[kind]
    rng = np.random.default_rng(3)
    z = np.repeat([0, 1], 8)
    x = (rng.random((16, 16)) < np.where(z[:, None] == z, 0.9, 0.1)).astype(float)
    data = network(x, rng.random((16, 16)) > 0.1, directed, self_links)
    hyper = (0.5, 0.5, 1.0)
    true, torn = np.eye(2)[z], np.eye(3)[np.where(np.arange(16) % 2, z, 2 * z)]
    whole = np.ones((16, 1))
    assert lower_bound(data, true, *hyper) > lower_bound(data, whole, *hyper) + 5
    found = split(whole, 0, (z == 0).astype(float))
    assert lower_bound(data, found, *hyper) == pytest.approx(lower_bound(data, true, *hyper), abs=1e-11)
    # `torn` has the second group in two halves.
    assert lower_bound(data, true, *hyper) > lower_bound(data, sorted_by_size(torn), *hyper) + 5


def test_sorting_by_size_is_stable():
    q = np.eye(4)[[1, 1, 3, 3, 0]]
    assert sorted_by_size(q).argmax(axis=1).tolist() == [0, 0, 1, 1, 2]


@each_kind
def test_predictions_do_not_depend_on_the_names_of_clusters(kind):
    case = random_network_case(12, kind, n=6, size=3)
    order = [2, 0, 1]
    assert predict(case.data, case.q[:, order], case.a, case.b) == pytest.approx(
        predict(case.data, case.q, case.a, case.b), abs=1e-13
    )
    assert stick_posterior(case.q, case.alpha)[0] == pytest.approx(1 + case.q.sum(axis=0)[:-1])
