"""Networks, one clustering for both sides: what is planted is found, and what must not matter does not."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from acvb_core.data.relation import Network, Relation
from acvb_core.engine.fitting import fit
from acvb_core.evaluate.agreement import agreement
from acvb_core.models.irm.gibbs import GibbsIrm
from acvb_core.models.irm.hyper import Hyper
from acvb_core.models.irm.kernels import network_layout
from acvb_core.models.irm.start import Start
from acvb_core.models.irm.state import block_counts
from acvb_core.registry import method_row
from tests.models.irm.network.adapters import relation_of
from tests.oracles.enumeration import canonical_partition
from tests.oracles.network_cases import KINDS, random_network
from tests.oracles.network_enumeration import partition_posterior

METHODS = ["acvb0", "acvb", "cvb0", "cvb", "vb", "gibbs"]
SWEPT = ["cvb0", "cvb", "vb"]


def both_ways(part: np.ndarray) -> np.ndarray:
    return np.triu(part) | np.triu(part, 1).T


def planted_network(
    sizes: list[int], kind: str, seed: int, missing: float = 0.0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return links and missing pairs of a network of groups, given both ways round, and the group of each object."""
    directed, self_links = KINDS[kind]
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    strengths = rng.beta(0.5, 0.8, (len(sizes), len(sizes)))
    if not directed:
        strengths = np.triu(strengths) + np.triu(strengths, 1).T
    links = rng.random((len(labels), len(labels))) < strengths[labels][:, labels]
    unknown = rng.random(links.shape) < missing
    if not directed:
        links, unknown = both_ways(links), both_ways(unknown)
    if not self_links:
        np.fill_diagonal(links, False)
    return links & ~unknown, unknown, labels


def network(sizes: list[int], kind: str, seed: int, missing: float = 0.0) -> tuple[Relation, np.ndarray]:
    links, unknown, labels = planted_network(sizes, kind, seed, missing)
    return Relation.build(links, unknown, network=Network(*KINDS[kind])), labels


@pytest.mark.parametrize("kind", ["directed", "undirected"])
@pytest.mark.parametrize("method", METHODS)
def test_planted_groups_are_found(method: str, kind: str) -> None:
    relation, labels = network([80] * 4, kind, 3)
    # A sampler takes long to join the parts of a group that it begins with: it begins with fewer.
    settings = (
        {"k_rows": 6, "burn_in": 30, "max_sweeps": 60, "seed": 1} if method == "gibbs" else {"k_rows": 12}
    )
    found = fit(relation, method, **settings)
    assert agreement(labels, found.labels("rows"))["ari"] == 1.0
    if method != "gibbs":
        assert found.snapshot.effective_k == {"rows": 4}


@pytest.mark.long
@pytest.mark.parametrize("kind", ["directed, self-links", "undirected"])
def test_gibbs_frequencies_match_the_exact_posterior(kind: str) -> None:
    """Of every partition of the objects, under the Chinese restaurant process. Single draws are tested for all."""
    data = random_network(np.random.default_rng(7), 4, kind, missing=0.2, density=0.5)
    a, b, alpha = 0.6, 0.9, 1.3
    exact = partition_posterior(data, a, b, alpha)
    relation = relation_of(data)
    sampler = GibbsIrm(
        relation,
        Start(2, how="random"),
        Hyper.single_prior(alpha, a, b, ("rows",)),
        "fixed",
        network_layout(relation),
    )
    rng = np.random.default_rng(1)
    state = sampler.init(rng)
    seen: Counter[Any] = Counter()
    n_samples = 10_000
    for _ in range(n_samples):
        state, _ = sampler.sweep(state, rng)
        seen[canonical_partition(state.labels["rows"])] += 1
    assert set(seen) <= set(exact)
    found = np.array([seen[key] / n_samples for key in exact])
    wanted = np.array(list(exact.values()))
    assert wanted.max() < 0.5  # there is something to tell apart
    assert 0.5 * np.abs(found - wanted).sum() < 0.02  # total variation


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("hyper", ["tied", "fixed", "per-block"])
def test_bound_of_vb_never_falls(kind: str, hyper: str) -> None:
    """With nothing missing from one start, and with a fifth missing from the other; which is which by the kind."""
    for seed in range(2):
        init = ("random", "spectral")[(seed + list(KINDS).index(kind)) % 2]
        relation, _ = network([30, 20, 15, 10], kind, seed, missing=0.2 * (seed > 0))
        history = fit(
            relation, "vb", init=init, hyper=hyper, seed=seed, k_rows=8, tol=1e-12, max_sweeps=60
        ).history
        bound = history.lower_bound.to_numpy()
        assert len(bound) > 5
        assert np.diff(bound).min() >= -1e-9 * np.abs(bound).max()


@pytest.mark.parametrize("self_links", [False, True])
@pytest.mark.parametrize("method", METHODS)
def test_either_triangle_of_an_undirected_network_gives_the_same_bits(method: str, self_links: bool) -> None:
    kind = "undirected, self-links" if self_links else "undirected"
    links, unknown, _ = planted_network([14, 10, 8], kind, 4, missing=0.15)
    found = []
    for half in (np.triu, np.tril, np.asarray):
        relation = Relation.build(half(links), half(unknown), network=Network(*KINDS[kind]))
        burn_in = {"burn_in": 3} if method in ("acvb0", "acvb", "gibbs") else {}
        result = fit(relation, method, k_rows=6, heldout=0.1, max_sweeps=20, **burn_in)
        posterior, scores = result.snapshot.posterior, result.snapshot.heldout
        found.append(({name: array.tobytes() for name, array in posterior.arrays.items()}, repr(scores)))
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("kind", ["directed", "directed, self-links"])
@pytest.mark.parametrize("method", SWEPT)
def test_turning_all_links_round_turns_the_blocks_and_leaves_the_clusters(method: str, kind: str) -> None:
    links, unknown, labels = planted_network([24, 20, 16], kind, 2, missing=0.1)
    start = 0.8 * np.eye(3)[labels] + 0.2 / 3
    found = []
    for way in (np.asarray, np.transpose):
        relation = Relation.build(way(links), way(unknown), network=Network(*KINDS[kind]))
        row = method_row("network", method)
        settings = {"k_rows": 3, "hyper": "fixed", "shrink": 0.0, "merge": False, "split": False}
        algorithm: Any = row.build(relation, row.values(settings))
        rng = np.random.default_rng(0)
        state = algorithm.init(rng)
        ones, entries = block_counts(relation, {"rows": start}, state.layout)
        state = replace(state, q={"rows": start}, ones=ones, entries=entries)
        for _ in range(60):
            state, _ = algorithm.sweep(state, rng)
        found.append(state)
    one, other = found
    assert not np.allclose(one.ones, one.ones.T, atol=5.0)  # which way round matters
    np.testing.assert_allclose(one.q["rows"], other.q["rows"], atol=1e-6)
    np.testing.assert_allclose(one.ones, other.ones.T, atol=1e-4)
    np.testing.assert_allclose(one.entries, other.entries.T, atol=1e-4)


@pytest.mark.parametrize("kind", ["directed", "undirected"])
def test_more_clusters_are_born_than_there_was_room_for(kind: str) -> None:
    """A large concentration makes many clusters of one."""
    links = np.random.default_rng(1).random((120, 120)) < 0.5
    np.fill_diagonal(links, False)
    relation = Relation.build(
        np.triu(links) if kind == "undirected" else links, network=Network(*KINDS[kind])
    )
    hyper = Hyper.single_prior(1e3, 50.0, 50.0, ("rows",))
    sampler = GibbsIrm(relation, Start(1), hyper, "fixed", network_layout(relation))
    state = sampler.init(np.random.default_rng(0))
    state, info = sampler.sweep(state, np.random.default_rng(1))
    labels = state.labels["rows"]
    assert labels.max() > 30
    assert set(labels) == set(range(labels.max() + 1))
    assert info.change > 0
