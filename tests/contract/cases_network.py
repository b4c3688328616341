"""Networks for the contract, those with next to nothing in them included, and what holds on any of them."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest

from acvb_core.core.protocols import Array, Posterior
from acvb_core.data.relation import Network, Relation
from acvb_core.models.irm.spec import MOVES_FROM
from acvb_core.samples.planted_relations import sparse_relation

from .cases_irm import IrmCases
from .closeness import assert_close


def network_of(
    links: np.ndarray, missing: np.ndarray | None = None, *, directed: bool = False, self_links: bool = False
) -> Relation:
    """Return a network; links of objects to themselves are left out where they do not count."""
    links = np.asarray(links, dtype=bool)
    if not self_links:
        links = links & ~np.eye(len(links), dtype=bool)
    if missing is not None:
        links = links & ~(missing if directed else missing | missing.T)
    return Relation.build(links, missing, network=Network(directed, self_links))


def groups(
    n: int, k: int, seed: int, *, directed: bool, self_links: bool = False, missing_share: float = 0.0
) -> Relation:
    """Draw a network whose objects fall into k groups, with a strength for every pair of groups."""
    rng = np.random.default_rng(seed)
    labels, strengths = rng.integers(k, size=n), rng.beta(0.5, 0.5, (k, k))
    if not directed:
        strengths = np.triu(strengths) + np.triu(strengths, 1).T
    links = rng.random((n, n)) < strengths[labels][:, labels]
    missing = rng.random((n, n)) < missing_share
    if not directed:
        links, missing = np.triu(links), np.triu(missing)
    return network_of(links, missing, directed=directed, self_links=self_links)


def is_directed(data: Relation) -> bool:
    """Return whether links have a direction."""
    return data.network is not None and data.network.directed


class NetworkCases(IrmCases):
    """Networks, and what any posterior of one keeps to: one domain on both sides, pairs counted once."""

    small: ClassVar[dict[str, Any]] = {"k_rows": 4}
    usual = "missing pairs"
    fixed = ({"hyper": "fixed", "alpha": 1.7, "a": 0.3, "b": 2.5}, {"alpha_rows": 1.7, "a": 0.3, "b": 2.5})
    sizes = tuple({"k_rows": k} for k in (1, 2, 6, 40))
    pieces = (
        "acvb_core.models.irm.network.NetworkPass.chunk_length",
        "acvb_core.models.irm.gibbs.chunk_length",
    )

    def data(self) -> dict[str, Relation]:
        nothing, everything = np.zeros((9, 9), dtype=bool), np.ones((9, 9), dtype=bool)
        holes = np.arange(81).reshape(9, 9) % 3 == 0
        star, isolated = nothing.copy(), np.zeros((12, 12), dtype=bool)
        star[0] = True
        isolated[2:6, 5:9] = True
        return {
            "directed": groups(25, 3, 4, directed=True),
            "undirected": groups(25, 3, 4, directed=False),
            "missing pairs": groups(25, 3, 4, directed=True, missing_share=0.3),
            "self-links, undirected": groups(25, 3, 5, directed=False, self_links=True, missing_share=0.2),
            "mostly missing": groups(25, 3, 4, directed=True, missing_share=0.95),
            "no links and missing": network_of(nothing, holes, directed=True),
            "complete": network_of(everything),
            "complete, directed, to themselves too": network_of(everything, directed=True, self_links=True),
            "nothing observed": network_of(nothing, everything, self_links=True),
            "self-links only, undirected": network_of(np.diag([1, 0, 1, 1, 0]), self_links=True),
            "isolated nodes, directed": network_of(isolated, directed=True),
            "star": network_of(star),
            "two cliques": network_of(np.kron(np.eye(2), np.ones((6, 6)))),
            "1 node": network_of(np.zeros((1, 1))),
            "1 node, linked to itself": network_of(np.ones((1, 1)), directed=True, self_links=True),
            "2 nodes, linked": network_of(np.ones((2, 2))),
            "2 nodes, linked one way": network_of(np.eye(2, k=1), directed=True),
            "3 nodes in a line": network_of(np.eye(3, k=1), self_links=True),
        }

    def sides(self, data: Relation) -> dict[str, tuple[str, np.ndarray]]:
        return {"rows": ("rows", data.row_labels)}

    def blocks(self, clusters: dict[str, int], data: Relation) -> set[tuple[int, int]]:
        every = super().blocks({"rows": clusters["rows"], "cols": clusters["rows"]}, data)
        return every if is_directed(data) else {(k, other) for k, other in every if k <= other}

    def totals(self, data: Relation, posterior: Posterior) -> tuple[float, float]:
        if is_directed(data):
            return data.n_links, data.n_observed
        known = data.shape[0] - int(data.missing.diagonal().sum())
        return data.n_links, (data.n_observed + known) // 2

    def check(self, posterior: Posterior, data: Relation, swept: bool) -> None:
        super().check(posterior, data, swept)
        for name, total in zip(("ones", "entries"), self.totals(data, posterior), strict=True):
            if name in posterior.arrays:  # the mean of an averaged run has none of its own
                counts = posterior[name]
                assert posterior.axes[name] == ("rows", "rows")
                if not is_directed(data):
                    assert_close(counts, counts.T, atol=1e-9)
                    counts = np.triu(counts)
                assert counts.sum() == pytest.approx(total, abs=1e-6)

    def check_predictions(self, probability: Array, data: Relation) -> None:
        super().check_predictions(probability, data)
        if not is_directed(data):
            square = probability.reshape(data.shape)
            assert_close(square, square.T, atol=1e-12)

    def medium(self) -> tuple[Relation, dict[str, Any], int]:
        links = sparse_relation(1, 3_000, 15, 0.03).relation.ones.toarray()
        return network_of(links, directed=True), {"k_rows": 40}, 12

    def wide(self) -> tuple[Relation, list[dict[str, Any]], list[dict[str, Any]]]:
        relation = network_of(sparse_relation(1, 1_200, 8, 0.02).relation.ones.toarray(), directed=True)
        assert relation.transposed.shape == (1_200, 1_200)
        return (
            relation,
            [{"k_rows": 20, "init": "random"}],
            [
                {"k_rows": 20},
                {"k_rows": 10},
                {"k_rows": 40},
                {"k_rows": 5, "split": False},
                {"k_rows": 5, "split": True, "max_sweeps": MOVES_FROM + 6},
                {"k_rows": 1, "split": True, "max_sweeps": MOVES_FROM + 1},
            ],
        )
