"""Relations and networks of counts for the contract, and what any posterior of one keeps to."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from acvb_core.core.protocols import Array, Posterior
from acvb_core.data.relation import Relation
from acvb_core.evaluate.split import HeldOut
from acvb_core.models.irm.scores import count_samples

from .cases_irm import IrmCases
from .cases_network import NetworkCases, is_directed
from .closeness import assert_close

#: Weights of links, by the sum of the two objects' numbers: the same in both directions.
_WEIGHTS = np.array([1.0, 2.0, 1.0, 5.0, 1.0])


def weigh(relation: Relation, weights: Array = _WEIGHTS) -> Relation:
    """Return a relation whose links have weights."""
    links = relation.ones.tocoo()
    return replace(relation, weights=weights[(links.row + links.col) % len(weights)])


def repeat(relation: Relation) -> Relation:
    """Return a relation in which some links of a hundred, in no pattern of clusters, are there twice."""
    links = relation.ones.tocoo()
    mixed = (links.row.astype(np.int64) * links.col + links.row + links.col) * 7919 % 1009
    return replace(relation, weights=np.where(mixed < 30, 2.0, 1.0))


def dense_counts(data: Relation, corrected: bool, unit: float) -> tuple[Array, Array]:
    """Return the counts and the exposures of all entries, both 0 if an entry is missing."""
    weights = data.links.toarray().astype(float)
    counts = np.where(weights > 0, np.maximum(np.rint(weights / unit), 1.0), 0.0)
    rows, columns = (
        counts.sum(axis=axis) + 1.0 if corrected else np.ones(counts.shape[1 - axis]) for axis in (1, 0)
    )
    exposures = np.outer(rows, columns) * ~data.missing.toarray()
    return counts, exposures * max(counts.sum(), 1.0) / max(exposures.sum(), 1e-300)


class _Counts(IrmCases):
    """Changes to the cases of links."""

    variations = (
        {"init": "spectral", "degree": "corrected"},
        {"init": "random", "degree": "none"},
        {"init": "spectral", "degree": "auto"},
    )

    def data(self) -> dict[str, Relation]:
        binary = super().data()
        usual, heavy = binary[self.usual], _WEIGHTS.copy()
        heavy[0] = 1e6
        return {name: weigh(relation) for name, relation in binary.items()} | {
            "counts of a million": weigh(usual, heavy),
            "amounts": weigh(usual, _WEIGHTS / 7.0),
            "links without weights": usual,
        }

    def arrays(self, data: Relation) -> list[np.ndarray]:
        return super().arrays(data) + ([] if data.weights is None else [data.weights])

    def everything(self, data: Relation) -> HeldOut:
        whole = super().everything(data)
        counts = np.arange(len(whole.rows)) % 3.0
        return replace(whole, values=counts > 0, weights=counts)

    def totals(self, data: Relation, posterior: Posterior) -> tuple[float, float]:
        """Return the counts of all blocks, and these plus the exposures."""
        sums = [
            float((np.triu(each) if data.network and not is_directed(data) else each).sum())
            for each in dense_counts(data, bool(posterior["counting"][0]), posterior["counting"][1])
        ]
        return sums[0], sum(sums)

    def check_blocks(self, blocks: Any, data: Relation, posterior: Posterior) -> None:
        clusters = posterior.n_clusters()
        clusters = {"rows": clusters["rows"], "cols": clusters.get("cols", clusters["rows"])}
        named = list(zip(blocks["row_cluster"], blocks["column_cluster"], strict=True))
        assert sorted(named) == sorted(self.blocks(clusters, data))
        count, both = self.totals(data, posterior)
        assert blocks["count"].sum() == pytest.approx(count, rel=1e-9, abs=1e-6)
        assert blocks["expected"].sum() == pytest.approx(both - count, rel=1e-9, abs=1e-6)
        assert (blocks[["count", "expected"]] >= 0).all(axis=None)
        assert (blocks["mean"] > 0).all()
        intervals = ["low_given_clusters", "high_given_clusters"]
        if count_samples(posterior):
            intervals += ["low", "high"]
        else:
            assert blocks[["low", "high"]].isna().all(axis=None)
        assert (blocks[intervals] >= 0).all(axis=None)
        for low, high in zip(intervals[::2], intervals[1::2], strict=True):
            assert (blocks[low] <= blocks[high]).all()

    def check_predictions(self, probability: Array, data: Relation) -> None:
        """Check the probabilities of a link, and of a count that is 0, 1 and 2 in turn."""
        linked, counted = probability.T
        super().check_predictions(np.ascontiguousarray(linked), data)
        assert_close(counted[::3], 1.0 - linked[::3], atol=1e-9)
        assert (counted >= 0).all()
        assert (counted[1::3] <= linked[1::3] + 1e-12).all()
        assert (counted[2::3] <= linked[2::3] + 1e-12).all()

    def medium(self) -> tuple[Relation, dict[str, Any], int]:
        relation, values, calls = super().medium()
        return repeat(relation), values, calls


class CountCases(_Counts):
    """Relations of counts."""

    pieces = (*IrmCases.pieces, "acvb_core.models.poisson.gibbs_kernels.chunk_length")

    def wide(self) -> tuple[Relation, list[dict[str, Any]], list[dict[str, Any]]]:
        relation, _, shared = super().wide()
        random = {"k_rows": 20, "k_cols": 20, "init": "random"}
        return repeat(relation), [random | {"degree": degree} for degree in ("none", "auto")], shared


class CountNetworkCases(_Counts, NetworkCases):
    """Networks of counts."""

    pieces = (*NetworkCases.pieces, "acvb_core.models.poisson.gibbs_kernels.chunk_length")

    def wide(self) -> tuple[Relation, list[dict[str, Any]], list[dict[str, Any]]]:
        relation, own, shared = super().wide()
        return repeat(relation), own, shared
