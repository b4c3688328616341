"""Coarser groupings: their bounds against dense ones, merges against all pairs, planted camps, and the results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from itertools import combinations

import numpy as np
import pytest
from scipy import sparse

import acvb_core
from acvb_core.core.clusters import rearrange
from acvb_core.core.errors import ParameterError
from acvb_core.data.relation import CountRelation, Network, Relation
from acvb_core.engine.result import Result
from acvb_core.evaluate.agreement import agreement
from acvb_core.models.irm.answer.tree import _link_levels, grow_trees, take_levels
from acvb_core.models.irm.gibbs import LABELS, one_hot
from acvb_core.samples.planted_relations import planted_hubs
from tests.loops import for_each
from tests.oracles import dense_irm, dense_network, dense_poisson

#: Kind -> model, and whether a network's links have a direction (None: two domains).
KINDS = {
    "relation": ("irm", None),
    "undirected": ("network", False),
    "directed": ("network", True),
    "counts": ("poisson", None),
    "counts of a network": ("poisson-network", False),
}


@cache
def fitted(kind: str) -> Result:
    """A run with several clusters on a small relation with missing and held-out entries."""
    model, directed = KINDS[kind]
    rng = np.random.default_rng(7)
    shape = (40, 30) if directed is None else (40, 40)
    z = rng.integers(5, size=40)
    across = rng.integers(4, size=30) if directed is None else z
    means = rng.gamma(0.3, 2.0, (5, 5))
    x = rng.poisson(means[z][:, across]).astype(float)
    x[rng.random(shape) < 0.05] = np.nan
    if directed is not None:
        np.fill_diagonal(x, 0.0)
    if directed is False:
        x = np.triu(x, 1) + np.triu(x, 1).T
    network = None if directed is None else Network(directed)
    data = Relation.build(x, threshold=0, network=network, attributes={"kind": z.astype(str)})
    settings = {"degree": "corrected", "unit": 1.0} if "counts" in kind else {}
    return acvb_core.fit(data, "acvb0", model=model, heldout=0.05, **settings)


def dense_bound(result: Result, labels: Mapping[str, np.ndarray], *, soft: bool = False) -> float:
    """The bound of clusters (the run's priors) by the dense reference; without `soft` by size, as runs have them."""
    model, posterior = result.prepared.model, result.posterior
    hyper = posterior.hyper
    a, b, alphas = hyper["a"], hyper["b"], [hyper[f"alpha_{domain}"] for domain in labels]
    q = tuple(one_hot(own) for own in labels.values())
    q = tuple(part[:, np.argsort(-part.sum(axis=0), kind="stable")] for part in q)
    if soft:
        q = tuple(posterior[domain] for domain in labels)
    seen = model.observations(posterior)
    network, observed = seen.network, ~seen.missing.toarray()
    if isinstance(seen, CountRelation):
        counts = sparse.csr_array(
            (seen.counts, seen.ones.indices, seen.ones.indptr), shape=seen.shape
        ).toarray()
        x = np.where(observed, counts, np.nan)
        directed = None if network is None else network.directed
        data = dense_poisson.CountData(x, seen.row_activity, seen.column_activity, directed)
        return dense_poisson.lower_bound(data, q, a, b, alphas)
    x = seen.ones.toarray().astype(float)
    if network is None:
        return dense_irm.lower_bound(dense_irm.DenseData(x, observed), *q, a, b, *alphas)
    data = dense_network.network(x, observed, network.directed, self_links=False)
    return dense_network.lower_bound(data, *q, a, b, *alphas)


def own_labels(result: Result) -> dict[str, np.ndarray]:
    return {domain: result.posterior.labels(domain) for domain in result.posterior.averaged}


@for_each("kind", list(KINDS))
def test_differences_of_levels_are_those_of_the_dense_bound(kind):
    result = fitted(kind)
    own, trees = own_labels(result), grow_trees(result, corrected=False)
    for domain, tree in trees.items():
        assert len(tree.levels) > 2
        bounds = [dense_bound(result, own | {domain: level.labels}) for level in tree.levels]
        assert np.diff([level.bound for level in tree.levels]) == pytest.approx(np.diff(bounds), abs=1e-7)
        assert tree.losses == pytest.approx(max(bounds) - np.array(bounds), abs=1e-7)
        assert tree.numbers[-1] == 1


@for_each("kind", list(KINDS))
def test_a_level_is_at_least_as_good_as_every_merge_of_the_one_before(kind):
    result = fitted(kind)
    own = own_labels(result)
    for domain, tree in grow_trees(result, corrected=False).items():
        for finer, coarser in zip(tree.levels, tree.levels[1:4], strict=False):
            best = max(
                dense_bound(result, own | {domain: np.where(finer.labels == other, k, finer.labels)})
                for k, other in combinations(np.unique(finer.labels), 2)
            )
            reached = dense_bound(result, own | {domain: coarser.labels})
            assert reached >= best - 1e-7
            assert coarser.n_clusters == len(np.unique(finer.labels)) - 1


@for_each("kind", list(KINDS))
def test_the_numbers_of_the_runs_clusters_do_not_matter(kind):
    result = fitted(kind)
    order = {domain: np.arange(n)[::-1] for domain, n in result.posterior.n_clusters().items()}
    last = replace(result.snapshot, posterior=rearrange(result.posterior, order))
    arranged = {domain: [[k + 1] for k in each.tolist()] for domain, each in order.items()}
    turned = replace(result.with_state(snapshot=last), arranged=arranged)
    for domain, tree in grow_trees(turned, corrected=False).items():
        before = grow_trees(result, corrected=False)[domain]
        assert tree.numbers == before.numbers
        assert tree.losses == pytest.approx(before.losses, abs=1e-7)


@for_each("kind", list(KINDS))
def test_levels_are_linked_by_most_objects_and_ordered_along_the_tree(kind):
    for tree in grow_trees(fitted(kind)).values():
        for finer, coarser in zip(tree.levels, tree.levels[1:], strict=False):
            assert set(coarser.parents.tolist()) == set(range(coarser.n_clusters))
            assert (coarser.parents[finer.labels] != coarser.labels).sum() == coarser.moved
        for finer, coarser in zip(tree.levels[1:], tree.levels[2:], strict=False):
            assert (np.diff(coarser.parents) >= 0).all()
            assert coarser.moved <= len(coarser.labels) // 2 or finer.n_clusters > 2
        assert all(1 < number < tree.numbers[0] for number in tree.suggest())
        assert len(tree.suggest()) >= min(2, len(tree.levels) - 2)


def test_every_cluster_of_a_level_gets_one_of_the_finer_level():
    finer, coarser = np.array([0, 0, 0, 1, 1, 1, 2]), np.array([0, 0, 1, 0, 0, 1, 0])
    level = _link_levels([(finer, 0.0), (coarser, 0.0)], 3)[1]
    assert sorted(level.parents.tolist()) == [0, 0, 1]
    assert level.moved == 3


@pytest.mark.parametrize("model", ["network", "poisson-network"])
def test_planted_camps_are_found_at_two_clusters(model):
    for seed in range(3):
        planted = planted_hubs(500, 10, seed, contrast=30.0, mean_weight=40.0, n_camps=2, closeness=10.0)
        tree = grow_trees(acvb_core.fit(planted.relation, "acvb0", model=model))["rows"]
        camps = planted.row_clusters % 2
        assert tree.is_corrected
        assert agreement(tree.levels[tree.find(2)].labels, camps)["ari"] >= 0.95
        assert 2 in tree.suggest()


def test_the_clubs_of_the_karate_network_are_found_with_the_correction():
    result = acvb_core.fit(acvb_core.load_sample("karate").data, "acvb0")
    tree = grow_trees(result, corrected=True)["rows"]
    clubs = np.unique(result.prepared.data.attributes["club"], return_inverse=True)[1]
    wrong = (tree.levels[tree.find(2)].labels != clubs).sum()
    assert min(wrong, len(clubs) - wrong) <= 2
    core = grow_trees(result, corrected=False)["rows"]
    assert agreement(core.levels[core.find(2)].labels, clubs)["ari"] < 0.1
    assert any(level.moved for level in core.levels)


def test_links_of_alike_objects_are_not_corrected():
    planted = planted_hubs(300, 6, 0, skew=0.0, contrast=30.0, mean_weight=30.0)
    tree = grow_trees(acvb_core.fit(planted.relation, "acvb0", model="network"))["rows"]
    assert not tree.is_corrected
    assert tree.correction is not None
    assert tree.correction.without > tree.correction.corrected


@for_each("kind", list(KINDS))
def test_a_coarser_result_has_the_clusters_of_the_level_everywhere(kind):
    result = fitted(kind)
    trees = grow_trees(result)
    numbers = {domain: tree.numbers[len(tree.levels) // 2] for domain, tree in trees.items()}
    coarse = take_levels(result, trees, numbers)
    labels = {domain: tree.levels[tree.find(numbers[domain])].labels for domain, tree in trees.items()}
    assert coarse.posterior.n_clusters() == numbers == dict(coarse.snapshot.effective_k)
    for domain, own in labels.items():
        assert (coarse.posterior.labels(domain) == own).all()
        assert coarse.posterior[domain].sum(axis=1) == pytest.approx(1.0)
        belongs = [set(parts) for parts in coarse.arranged[domain]]
        assert sorted(k for parts in belongs for k in parts) == list(range(1, trees[domain].numbers[0] + 1))
        assert len(coarse.names[domain]) == numbers[domain]
    name = "count" if "counts" in kind else "ones"
    assert coarse.blocks[name].sum() == pytest.approx(result.blocks[name].sum())
    assert coarse.snapshot.lower_bound == pytest.approx(dense_bound(coarse, labels, soft=True), abs=1e-6)
    assert np.isfinite(coarse.snapshot.heldout.log_likelihood)
    assert coarse.snapshot.heldout.averaged_log_likelihood == pytest.approx(
        result.snapshot.heldout.averaged_log_likelihood
    )


def test_an_object_keeps_its_share_of_joined_clusters_unless_it_has_moved():
    result = fitted("undirected")
    trees = grow_trees(result, corrected=False)
    tree = trees["rows"]
    for at in range(1, len(tree.levels)):
        coarse = take_levels(result, trees, {"rows": tree.numbers[at]})
        sums = result.posterior["rows"] @ one_hot(tree.follow(at))
        kept = sums.argmax(axis=1) == tree.levels[at].labels
        assert coarse.posterior["rows"][kept] == pytest.approx(sums[kept])
        assert (coarse.posterior["rows"][~kept].max(axis=1) == 1.0).all()


def test_objects_of_clusters_that_are_joined_keep_company_in_the_samples():
    result = fitted("undirected")
    trees = grow_trees(result, corrected=False)
    coarse = take_levels(result, trees, {"rows": 2})
    labels, samples = coarse.posterior.labels("rows"), result.posterior[LABELS.format("rows")]
    met = np.zeros(len(labels))
    for sample in samples:
        side = np.array([np.bincount(labels[sample == k], minlength=2).argmax() for k in sample])
        for i in range(len(labels)):
            others = (labels == labels[i]) & (np.arange(len(labels)) != i)
            met[i] += (side[others] == side[i]).mean()
    assert coarse.rows["probability"].to_numpy() == pytest.approx(met / len(samples))


def test_python_that_repeats_a_run_joins_the_same_clusters():
    result = fitted("undirected")
    coarse = take_levels(result, grow_trees(result, corrected=True), {"rows": 2})
    known = {"result": result}
    exec(result.prepared.model_row.part("answer.summary").write_arrangement(coarse), known)
    assert (known["result"].posterior["rows"] == coarse.posterior["rows"]).all()
    assert known["result"].arranged == coarse.arranged
    with pytest.raises(ParameterError, match="already"):
        coarse.coarsen(rows=1)
    with pytest.raises(ParameterError, match="cols"):
        result.coarsen(cols=1)


def test_a_cluster_of_no_object_is_left_out_first():
    result = fitted("undirected")
    q = result.posterior["rows"]
    wide = np.hstack([0.99 * q, np.full((len(q), 1), 0.01)])
    posterior = result.posterior.with_arrays({"rows": wide}, drop=("ones", "entries"))
    empty = result.with_state(snapshot=replace(result.snapshot, posterior=posterior))
    tree, before = (grow_trees(each, corrected=False)["rows"] for each in (empty, result))
    assert tree.numbers == [before.numbers[0] + 1, *before.numbers]
    assert (tree.levels[1].labels[:, None] == tree.levels[1].labels).tolist() == (
        before.levels[0].labels[:, None] == before.levels[0].labels
    ).tolist()


def test_a_number_without_a_level_of_its_own_gets_the_next_coarser_one():
    result = fitted("undirected")
    trees = grow_trees(result)
    assert take_levels(result, trees, {"rows": trees["rows"].numbers[0]}) is result
    assert take_levels(result, trees, {"rows": 1}).posterior.n_clusters() == {"rows": 1}
    with pytest.raises(ParameterError):
        take_levels(result, trees, {"rows": 0})
