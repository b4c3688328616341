"""Relations with known groups, states of them, and a record of the moves made in a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest

from acvb_core.core.protocols import Poll
from acvb_core.data.relation import Network, Relation
from acvb_core.models.irm.cvb import VariationalMethod
from acvb_core.models.irm.hyper import Hyper
from acvb_core.models.irm.kernels import TWO_DOMAINS, Layout, network_layout
from acvb_core.models.irm.moves import Moves
from acvb_core.models.irm.state import IrmState, block_counts, lower_bound, tidy
from acvb_core.samples.planted_relations import planted_relation
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


def directed_network(seed: int, n: int = 240) -> tuple[Relation, Truth]:
    """Six groups with random strengths."""
    rng = np.random.default_rng(seed)
    groups = rng.permutation(np.repeat(np.arange(6), n // 6))
    strengths = rng.beta(0.5, 1.5, (6, 6))
    links = rng.random((n, n)) < strengths[groups][:, groups]
    np.fill_diagonal(links, False)
    return Relation.build(links, network=Network()), {"rows": groups}


def two_domains(seed: int) -> tuple[Relation, Truth]:
    """240 x 200 objects in 4 x 4 groups."""
    found = planted_relation(240, 200, 4, 4, seed)
    return found.relation, {"rows": found.row_clusters, "cols": found.column_clusters}


def small_relation(kind: str, seed: int, missing: float = 0.0) -> tuple[Relation, Truth]:
    """Some 100 objects of either kind in a few groups."""
    if kind == "two domains":
        found = planted_relation(90, 70, 4, 4, seed, beta=(0.3, 0.6), missing_share=missing)
        return found.relation, {"rows": found.row_clusters, "cols": found.column_clusters}
    relation, labels = network([30, 25, 20, 15, 10, 10], kind, seed, missing)
    return relation, {"rows": labels}


def layout_of(relation: Relation) -> Layout:
    """Return the layout of the relation's own model."""
    return TWO_DOMAINS if relation.network is None else network_layout(relation)


def state_with(
    relation: Relation,
    labels: Mapping[str, np.ndarray],
    sure: float = 0.95,
    alpha: float = 1.0,
    noise: np.random.Generator | None = None,
) -> IrmState:
    """Return a tidy state whose objects are in the given clusters with probability `sure`, or softly around that."""
    layout = layout_of(relation)
    q = {}
    for domain, of in labels.items():
        width = int(of.max()) + 1
        q[domain] = np.eye(width)[of] * sure + (1.0 - sure) / width
        if noise is not None:
            q[domain] = 0.7 * q[domain] + 0.3 * noise.dirichlet(np.full(width, 0.3), len(of))
    hyper = Hyper.single_prior(alpha, 0.5, 0.5, layout.domains)
    return tidy(IrmState(q, *block_counts(relation, q, layout), hyper, layout), relation, 0.0)[0]


def with_prior_per_block(state: IrmState) -> IrmState:
    """Return the state with a random prior for each block."""
    a, b = np.random.default_rng(1).uniform(0.2, 2.0, (2, *state.ones.shape))
    if state.layout.symmetric:
        a, b = a + a.T, b + b.T
    return replace(state, hyper=replace(state.hyper, a=a, b=b))


class Move(NamedTuple):
    """One call that made a move."""

    before: IrmState
    after: IrmState
    made: dict[str, int]
    relation: Relation

    @property
    def rise(self) -> float:
        """What the lower bound gained (nats)."""
        return lower_bound(self.after) - lower_bound(self.before)


@pytest.fixture
def moves_made(monkeypatch: pytest.MonkeyPatch) -> list[Move]:
    """Record every move of every run."""
    record: list[Move] = []
    real: Callable[..., Any] = Moves.after

    def after(
        self: Moves,
        state: IrmState,
        method: VariationalMethod,
        rng: np.random.Generator,
        poll: Poll,
    ) -> tuple[IrmState, dict[str, int]]:
        new, made = real(self, state, method, rng, poll)
        if made:
            record.append(Move(state, new, made, method.relation))
        return new, made

    monkeypatch.setattr(Moves, "after", after)
    return record
