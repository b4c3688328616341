"""VB's bound, and networks with one clustering for both sides: equal results from equal networks."""

from __future__ import annotations

import numpy as np
import pytest

from acvb_core.data.relation import Network, Relation
from acvb_core.engine.fitting import fit
from acvb_core.evaluate.agreement import agreement
from acvb_core.samples.planted_relations import planted_relation
from tests.loops import for_each
from tests.oracles.network_cases import KINDS

METHODS = ["acvb0", "acvb", "cvb0", "cvb", "vb", "gibbs"]


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
        links, unknown = (np.triu(part) | np.triu(part, 1).T for part in (links, unknown))
    if not self_links:
        np.fill_diagonal(links, False)
    return links & ~unknown, unknown, labels


def network(sizes: list[int], kind: str, seed: int, missing: float = 0.0) -> tuple[Relation, np.ndarray]:
    links, unknown, labels = planted_network(sizes, kind, seed, missing)
    return Relation.build(links, unknown, network=Network(*KINDS[kind])), labels


@for_each("kind", ["directed", "undirected"])
def test_gibbs_finds_planted_groups(kind: str) -> None:
    relation, labels = network([80] * 4, kind, 3)
    # A sampler takes long to join the parts of a group that it begins with: it begins with fewer.
    found = fit(relation, "gibbs", k_rows=6, burn_in=30, max_sweeps=60, seed=1)
    assert agreement(labels, found.labels("rows"))["ari"] == 1.0


@pytest.mark.parametrize("hyper", ["tied", "fixed", "per-block"])
@for_each("kind, seed", [(kind, seed) for kind in (*KINDS, "two domains") for seed in range(2)])
def test_bound_of_vb_never_falls(kind: str, seed: int, hyper: str) -> None:
    """From one start without missing pairs, from the other with a fifth of them missing."""
    init = ("random", "spectral")[(seed + len(kind)) % 2]
    if kind == "two domains":
        relation = planted_relation(70, 90, 4, 3, seed, missing_share=0.2 * seed).relation
    else:
        relation, _ = network([20, 15, 10], kind, seed, missing=0.2 * seed)
    options = {"init": init, "hyper": hyper, "seed": seed, "k_rows": 6, "tol": 1e-12, "max_sweeps": 40}
    bound = fit(relation, "vb", **options).history.lower_bound.to_numpy()
    assert len(bound) > 5
    assert np.diff(bound).min() >= -1e-9 * np.abs(bound).max()


@for_each("method, kind", [(m, k) for m in METHODS for k in ("undirected", "undirected, self-links")])
def test_either_triangle_of_an_undirected_network_gives_the_same_bits(method: str, kind: str) -> None:
    links, unknown, _ = planted_network([14, 10, 8], kind, 4, missing=0.15)
    found = []
    for half in (np.triu, np.tril, np.asarray):
        relation = Relation.build(half(links), half(unknown), network=Network(*KINDS[kind]))
        burn_in = {"burn_in": 3} if method in ("acvb0", "acvb", "gibbs") else {}
        last = fit(relation, method, k_rows=6, heldout=0.1, max_sweeps=12, **burn_in).snapshot
        arrays = {name: array.tobytes() for name, array in last.posterior.arrays.items()}
        found.append((arrays, repr(last.heldout)))
    assert found[0] == found[1] == found[2]
