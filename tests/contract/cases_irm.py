"""Relations for the contract, those with next to nothing in them included, and what holds on any of them."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any, ClassVar

import numpy as np
import pytest

from acvb_core.core.protocols import Array, Posterior
from acvb_core.data.relation import Relation
from acvb_core.evaluate.split import HeldOut
from acvb_core.models.irm.moves import MoveMemory
from acvb_core.models.irm.scores import count_samples
from acvb_core.models.irm.spec import MOVES_EVERY, MOVES_FROM
from acvb_core.samples.planted_relations import large_relation, planted_relation

from .closeness import all_between, assert_close


def few(links: list[list[int]], missing: list[list[int]] | None = None) -> Relation:
    return Relation.build(np.array(links), None if missing is None else np.array(missing))


class IrmCases:
    """Relations, and what any posterior of one keeps to."""

    small: ClassVar[dict[str, Any]] = {"k_rows": 4, "k_cols": 3}
    usual = "missing entries"
    variations: tuple[dict[str, Any], ...] = (
        {"init": "spectral"},
        {"init": "random"},
        {"init": "random", "variance": "exact"},
        {"preset": "paper"},
    )
    fixed = (
        {"hyper": "fixed", "alpha": 1.7, "a": 0.3, "b": 2.5},
        {"alpha_rows": 1.7, "alpha_cols": 1.7, "a": 0.3, "b": 2.5},
    )
    learned: ClassVar[dict[str, Any]] = {"hyper": "tied", "alpha": 1.7, "a": 0.3, "b": 2.5}
    sizes = tuple({"k_rows": k, "k_cols": c} for k, c in ((1, 1), (1, 5), (6, 1), (40, 30), (2, 9)))
    pieces = ("acvb_core.models.irm.sweep.chunk_length", "acvb_core.models.irm.gibbs.chunk_length")
    whole = MOVES_EVERY + 2
    fewest = 1
    has_loo = True
    most_evidence = 0.0
    approximate = ()

    def data(self) -> dict[str, Relation]:
        nothing = np.zeros((9, 7), dtype=bool)
        holes = np.arange(63).reshape(9, 7) % 3 == 0
        empty_sides = np.zeros((12, 10), dtype=bool)
        empty_sides[2:6, 3:7] = True
        return {
            "planted": planted_relation(25, 18, 3, 2, 4).relation,
            "missing entries": planted_relation(25, 18, 3, 2, 4, missing_share=0.3).relation,
            "mostly missing": planted_relation(25, 18, 3, 2, 4, missing_share=0.95).relation,
            "no links": Relation.build(nothing),
            "links only": Relation.build(~nothing),
            "links only and missing": Relation.build(~holes, holes),
            "nothing observed": Relation.build(nothing, ~nothing),
            "empty rows and columns": Relation.build(empty_sides),
            "1 x 1, linked": few([[1]]),
            "1 x 1, missing": few([[0]], [[1]]),
            "1 x N": few([[1, 0, 0, 1, 1, 0, 1]]),
            "3 x 2": few([[1, 0], [0, 1], [1, 1]]),
            "identical rows": Relation.build(np.tile([True, False, True, False, False], (8, 1))),
        }

    def arrays(self, data: Relation) -> list[np.ndarray]:
        sides = data, data.transposed
        return [data.self_links] + [
            array for side in sides for array in (side.ones.indices, side.missing.indices)
        ]

    def everything(self, data: Relation) -> HeldOut:
        places = (index.ravel().astype(np.int32) for index in np.indices(data.shape))
        return HeldOut(*places, np.zeros(0, bool))

    def sides(self, data: Relation) -> dict[str, tuple[str, np.ndarray]]:
        """Return the tables of objects: the domain of each, and the objects' labels."""
        return {"rows": ("rows", data.row_labels), "columns": ("cols", data.column_labels)}

    def blocks(self, clusters: dict[str, int], data: Relation) -> set[tuple[int, int]]:
        """Return the pairs of clusters, from 1, that a table of blocks is to name."""
        return set(product(range(1, clusters["rows"] + 1), range(1, clusters["cols"] + 1)))

    def totals(self, data: Relation, posterior: Posterior) -> tuple[float, float]:
        """Return the ones and the observed entries of all blocks."""
        return data.n_ones, data.n_observed

    def check(self, posterior: Posterior, data: Relation, swept: bool) -> None:
        domains = dict(self.sides(data).values())
        assert set(posterior.averaged) == set(domains)
        assert posterior.normalised
        clusters = posterior.n_clusters()
        for domain, labels in domains.items():
            q = posterior[domain]
            assert q.shape == (len(labels), clusters[domain])
            assert (q >= 0).all()
            assert_close(q.sum(axis=1), 1.0, atol=1e-9)
            assert posterior.axes[domain] == (None, domain)
            assert posterior.labels(domain).max() < clusters[domain]

    def check_tables(self, tables: dict[str, Any], data: Relation, posterior: Posterior) -> None:
        assert set(tables) == {*self.sides(data), "blocks"}
        for side, (domain, labels) in self.sides(data).items():
            frame, k = tables[side], posterior.n_clusters()[domain]
            assert list(frame.columns) == ["object", "cluster", "probability", "given_clusters", "entropy"]
            assert frame["object"].tolist() == labels.tolist()
            assert (frame["cluster"] == posterior.labels(domain) + 1).all()
            assert all_between(frame["given_clusters"], 1 / k - 1e-12, 1 + 1e-12)
            self.check_sampled(frame[["probability"]], posterior)
            assert all_between(frame["entropy"], 0.0, np.log(k) + 1e-9)
        self.check_blocks(tables["blocks"], data, posterior)

    def check_blocks(self, blocks: Any, data: Relation, posterior: Posterior) -> None:
        clusters = posterior.n_clusters()
        named = list(zip(blocks["row_cluster"], blocks["column_cluster"], strict=True))
        assert sorted(named) == sorted(self.blocks(clusters, data))
        assert ((blocks["ones"] >= 0) & (blocks["ones"] <= blocks["entries"] + 1e-9)).all()
        ones, entries = self.totals(data, posterior)
        assert blocks["ones"].sum() == pytest.approx(ones, abs=1e-6)
        assert blocks["entries"].sum() == pytest.approx(entries, abs=1e-6)
        assert all_between(blocks["mean"], 0, 1)
        given = blocks[["low_given_clusters", "high_given_clusters"]]
        assert all_between(given, 0, 1)
        assert (given["low_given_clusters"] <= given["high_given_clusters"]).all()
        self.check_sampled(blocks[["low", "high"]], posterior)
        assert not (blocks["low"] > blocks["high"]).any()

    def check_sampled(self, frame: Any, posterior: Posterior) -> None:
        """Check what comes from samples: shares where there are some, else unknown."""
        if count_samples(posterior):
            assert all_between(frame, 0, 1)
        else:
            assert frame.isna().all(axis=None)

    def check_predictions(self, probability: Array, data: Relation) -> None:
        assert probability.shape == (data.shape[0] * data.shape[1],)
        assert ((probability > 0) & (probability < 1)).all()

    def medium(self) -> tuple[Relation, dict[str, Any], int]:
        relation = large_relation(3_000, 3_000, 300_000, 15, 15, 1).relation
        assert relation.transposed.n_ones > 250_000
        return relation, {"k_rows": 20, "k_cols": 20}, 12

    def wide(self) -> tuple[Relation, list[dict[str, Any]], list[dict[str, Any]]]:
        relation = large_relation(1_000, 1_500, 30_000, 8, 8, 1).relation
        assert relation.transposed.shape == (1_500, 1_000)
        random = {"k_rows": 20, "k_cols": 20, "init": "random"}
        return (
            relation,
            [random, random | {"variance": "exact"}],
            [
                {"k_rows": 20, "k_cols": 20},
                {"k_rows": 5, "k_cols": 40},
                {"k_rows": 5, "k_cols": 5, "split": True, "max_sweeps": MOVES_FROM + 2},
            ],
        )

    def due_for_moves(self, state: Any) -> Any:
        inner = getattr(state, "inner", state)
        if not hasattr(inner, "age"):
            return state
        due = replace(inner, age=MOVES_FROM - 1, moves=MoveMemory())
        return due if inner is state else replace(state, inner=due)
