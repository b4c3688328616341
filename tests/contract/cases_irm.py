"""Relations for the contract, those with next to nothing in them included, and what holds on any of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pytest

from acvb_core.data.relation import Relation
from acvb_core.data.split import HeldOut
from acvb_core.data.synthetic import large_planted, planted
from acvb_core.protocols import Array, Posterior


def few(links: list[list[int]], missing: list[list[int]] | None = None) -> Relation:
    return Relation.build(np.array(links), None if missing is None else np.array(missing))


class IrmCases:
    """Relations, and what any posterior of one keeps to."""

    small: ClassVar[dict[str, Any]] = {"k_rows": 4, "k_cols": 3}
    usual = "missing entries"
    variations: tuple[dict[str, Any], ...] = ({"init": "spectral"}, {"init": "random"})
    fixed = (
        {"hyper": "fixed", "alpha": 1.7, "a": 0.3, "b": 2.5},
        {"alpha_rows": 1.7, "alpha_cols": 1.7, "a": 0.3, "b": 2.5},
    )
    learned: ClassVar[dict[str, Any]] = {"hyper": "tied", "alpha": 1.7, "a": 0.3, "b": 2.5}
    sizes = tuple({"k_rows": k, "k_cols": c} for k, c in ((1, 1), (1, 5), (6, 1), (40, 30), (2, 9)))
    pieces = ("acvb_core.irm.domain.chunk_length", "acvb_core.irm.gibbs.chunk_length")

    def data(self) -> dict[str, Relation]:
        nothing = np.zeros((9, 7), dtype=bool)
        holes = np.arange(63).reshape(9, 7) % 3 == 0
        empty_sides = np.zeros((12, 10), dtype=bool)
        empty_sides[2:6, 3:7] = True
        return {
            "planted": planted(25, 18, 3, 2, 4).relation,
            "missing entries": planted(25, 18, 3, 2, 4, missing_share=0.3).relation,
            "mostly missing": planted(25, 18, 3, 2, 4, missing_share=0.95).relation,
            "no links": Relation.build(nothing),
            "no links and missing": Relation.build(nothing, holes),
            "links only": Relation.build(~nothing),
            "links only and missing": Relation.build(~holes, holes),
            "nothing observed": Relation.build(nothing, ~nothing),
            "empty rows and columns": Relation.build(empty_sides),
            "1 x 1, linked": few([[1]]),
            "1 x 1, not linked": few([[0]]),
            "1 x 1, missing": few([[0]], [[1]]),
            "1 x N": few([[1, 0, 0, 1, 1, 0, 1]]),
            "N x 1": few([[1], [0], [1], [1], [0], [0]]),
            "3 x 2": few([[1, 0], [0, 1], [1, 1]]),
            "identical rows": Relation.build(np.tile([True, False, True, False, False], (8, 1))),
        }

    def arrays(self, data: Relation) -> list[np.ndarray]:
        return [data.ones.indices, data.missing.indices]

    def everything(self, data: Relation) -> HeldOut:
        places = (index.ravel().astype(np.int32) for index in np.indices(data.shape))
        return HeldOut(*places, np.zeros(0, bool))

    def check(self, posterior: Posterior, data: Relation, swept: bool) -> None:
        domains = dict(zip(("rows", "cols"), data.shape, strict=True))
        assert set(posterior.averaged) == set(domains)
        assert posterior.normalised
        clusters = posterior.n_clusters()
        for domain, n_objects in domains.items():
            q = posterior[domain]
            assert q.shape == (n_objects, clusters[domain])
            assert (q >= 0).all()
            np.testing.assert_allclose(q.sum(axis=1), 1.0, atol=1e-9)
            assert posterior.axes[domain] == (None, domain)
            assert posterior.labels(domain).max() < clusters[domain]

    def check_tables(self, tables: dict[str, Any], data: Relation, posterior: Posterior) -> None:
        assert set(tables) == {"rows", "columns", "blocks"}
        for side, domain, labels in (
            ("rows", "rows", data.row_labels), ("columns", "cols", data.column_labels)
        ):  # fmt: skip
            frame, k = tables[side], posterior.n_clusters()[domain]
            assert list(frame.columns) == ["object", "cluster", "probability", "entropy"]
            assert frame["object"].tolist() == labels.tolist()
            assert frame["cluster"].between(1, k).all()
            assert (frame["cluster"] == posterior.labels(domain) + 1).all()
            assert frame["probability"].between(1 / k - 1e-12, 1 + 1e-12).all()
            assert frame["entropy"].between(0.0, np.log(k) + 1e-9).all()
        blocks, clusters = tables["blocks"], posterior.n_clusters()
        assert list(blocks.columns) == [
            "row_cluster", "column_cluster", "ones", "entries", "mean", "low", "high"
        ]  # fmt: skip
        assert len(blocks) == clusters["rows"] * clusters["cols"]
        assert sorted(set(blocks["row_cluster"])) == list(range(1, clusters["rows"] + 1))
        assert sorted(set(blocks["column_cluster"])) == list(range(1, clusters["cols"] + 1))
        assert not blocks.duplicated(["row_cluster", "column_cluster"]).any()
        assert (blocks["ones"] >= 0).all()
        assert (blocks["ones"] <= blocks["entries"] + 1e-9).all()
        assert blocks["ones"].sum() == pytest.approx(data.n_ones, abs=1e-6)
        assert blocks["entries"].sum() == pytest.approx(data.n_observed, abs=1e-6)
        assert blocks["mean"].between(0, 1).all()
        assert (blocks["low"] <= blocks["high"]).all()
        assert blocks["low"].between(0, 1).all()
        assert blocks["high"].between(0, 1).all()

    def check_predictions(self, probability: Array, data: Relation) -> None:
        assert probability.shape == (data.shape[0] * data.shape[1],)
        assert ((probability > 0) & (probability < 1)).all()

    def medium(self) -> tuple[Relation, dict[str, Any], int]:
        relation = large_planted(3_000, 3_000, 300_000, 15, 15, 1).relation
        assert relation.transposed.n_ones > 250_000
        return relation, {"k_rows": 20, "k_cols": 20}, 12

    def long(self) -> tuple[Relation, int]:
        return planted(200, 150, 3, 3, 5).relation, 35

    def wide(self) -> tuple[Relation, list[dict[str, Any]]]:
        relation = large_planted(2_000, 3_000, 60_000, 8, 8, 1).relation
        assert relation.transposed.shape == (3_000, 2_000)
        return relation, [
            {"k_rows": 20, "k_cols": 20},
            {"k_rows": 20, "k_cols": 20, "init": "random"},
            {"k_rows": 5, "k_cols": 40},
            {"k_rows": 20, "k_cols": 20, "variance": "exact", "init": "random"},
        ]

    def due_for_moves(self, state: Any) -> Any:
        inner = getattr(state, "inner", state)
        if not hasattr(inner, "age"):
            return state
        due = replace(inner, age=14, moves_over=False)
        return due if inner is state else replace(state, inner=due)
