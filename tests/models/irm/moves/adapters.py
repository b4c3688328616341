"""Relations with known groups, states of them, and a record of the moves made in a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from acvb_core.data.relation import Network, Relation
from acvb_core.models.irm.hyper import Hyper
from acvb_core.models.irm.state import IrmState, block_counts, tidy
from acvb_core.samples.planted_relations import planted_relation
from tests.models.irm.adapters import counted
from tests.models.irm.network.test_one_domain import network
from tests.oracles.network_cases import KINDS

VARIATIONAL = ["cvb0", "cvb", "vb", "acvb0", "acvb"]
#: Every kind of network, and two domains.
RELATIONS = [*KINDS, "two domains"]

Truth = dict[str, np.ndarray]


def mixed_network(seed: int, n: int = 240) -> tuple[Relation, Truth]:
    """Undirected: four groups linked within, two linked only with each other, the rest sparse."""
    rng = np.random.default_rng(seed)
    groups = rng.permutation(np.repeat(np.arange(6), n // 6))
    strengths = np.full((6, 6), 0.03)
    strengths[range(4), range(4)] = 0.35
    strengths[4, 5] = strengths[5, 4] = 0.3
    strengths[0, 1] = strengths[1, 0] = 0.12
    links = np.triu(rng.random((n, n)) < strengths[groups][:, groups], 1)
    return Relation.build(links, network=Network(directed=False)), {"rows": groups}


def two_domains(
    seed: int, n_rows: int = 240, n_columns: int = 200, n_groups: int = 4, **options: Any
) -> tuple[Relation, Truth]:
    """As many groups of either domain."""
    found = planted_relation(n_rows, n_columns, n_groups, n_groups, seed, **options)
    return found.relation, {"rows": found.row_clusters, "cols": found.column_clusters}


def small_relation(kind: str, seed: int, missing: float = 0.0) -> tuple[Relation, Truth]:
    """Some 100 objects of either kind in a few groups."""
    if kind == "two domains":
        return two_domains(seed, 90, 70, beta=(0.3, 0.6), missing_share=missing)
    relation, labels = network([30, 25, 20, 15, 10, 10], kind, seed, missing)
    return relation, {"rows": labels}


def state_with(
    relation: Relation,
    labels: Mapping[str, np.ndarray],
    sure: float = 0.95,
    alpha: float = 1.0,
    noise: np.random.Generator | None = None,
) -> IrmState:
    """Return a tidy state whose objects are in the given clusters with probability `sure`, or softly around that."""
    q = {}
    for domain, of in labels.items():
        width = int(of.max()) + 1
        q[domain] = np.eye(width)[of] * sure + (1.0 - sure) / width
        if noise is not None:
            q[domain] = 0.7 * q[domain] + 0.3 * noise.dirichlet(np.full(width, 0.3), len(of))
    return tidy(counted(relation, q, Hyper.single_prior(alpha, 0.5, 0.5, tuple(q))), relation, 0.0)[0]


def with_prior_per_block(state: IrmState) -> IrmState:
    """Return the state with a random prior for each block."""
    a, b = np.random.default_rng(1).uniform(0.2, 2.0, (2, *state.ones.shape))
    if state.layout.symmetric:
        a, b = a + a.T, b + b.T
    return replace(state, hyper=replace(state.hyper, a=a, b=b))


def check_counts(state: IrmState, relation: Relation) -> None:
    """Check that the counts of a state are those of its responsibilities, and that these sum to one."""
    for found, wanted in zip(
        (state.ones, state.entries), block_counts(relation, state.q, state.layout), strict=True
    ):
        np.testing.assert_allclose(found, wanted, atol=1e-8)
    for q in state.q.values():
        assert q.min() >= 0.0
        np.testing.assert_allclose(q.sum(axis=1), 1.0, atol=1e-12)
