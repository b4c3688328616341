"""Pairs that stand out, against an answer in which every probability is written down."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from acvb_core.core.errors import ParameterError
from acvb_core.core.protocols import Posterior
from acvb_core.data.relation import Network, Relation
from acvb_core.models.irm import scores as links
from acvb_core.models.irm.scores import likely_links, surprising_links
from tests.loops import for_each

NETWORKS = {
    "two sides": None,
    "directed": Network(directed=True),
    "undirected": Network(directed=False),
    "directed, self-links": Network(directed=True, self_links=True),
    "undirected, self-links": Network(directed=False, self_links=True),
}


def posterior_of(rows: np.ndarray, cols: np.ndarray | None = None) -> Posterior:
    arrays = {"rows": rows} if cols is None else {"rows": rows, "cols": cols}
    return Posterior(arrays, {name: (None, name) for name in arrays}, tuple(arrays))


def case(
    kind: str, seed: int = 0, n: int = 23, *, two: bool = False, hard: bool = False
) -> tuple[Relation, Posterior, np.ndarray]:
    """A relation with missing entries, responsibilities and strengths, all drawn."""
    rng = np.random.default_rng(seed)
    network = NETWORKS[kind]
    shape = (n, n if network is not None else n - 6)
    ones = rng.random(shape) < 0.2
    missing = (rng.random(shape) < 0.15) & ~ones
    if network is not None and not network.self_links:
        np.fill_diagonal(ones, False)
    if network is not None and not network.directed:
        ones, missing = np.triu(ones), np.triu(missing)
        missing &= ~(ones | ones.T)
    relation = Relation.build(ones, missing, network=network)
    two = two or network is None

    def responsibilities(objects: int, k: int) -> np.ndarray:
        q = rng.dirichlet(np.full(k, 0.3), objects)
        return np.eye(k)[q.argmax(axis=1)] if hard else q

    rows = responsibilities(shape[0], 3)
    cols = responsibilities(shape[1], 4) if two else None
    strengths = rng.random((3, 4 if two else 3))
    if network is not None and not network.directed and not two:
        strengths = (strengths + strengths.T) / 2
    return relation, posterior_of(rows, cols), strengths


def dense(
    relation: Relation, posterior: Posterior, strengths: np.ndarray, wanted: str, largest: bool = True
) -> list[tuple[float, int, int]]:
    """Every pair of one sort with its probability, in the order that is asked for."""
    rows = posterior["rows"]
    one = "cols" not in posterior.arrays
    cols = rows if one else posterior["cols"]
    ones, missing = relation.ones.toarray(), relation.missing.toarray()
    found = []
    for i, j in itertools.product(*map(range, relation.shape)):
        network = relation.network
        if network is not None and ((i == j and not network.self_links) or (not network.directed and j < i)):
            continue
        sort = "missing" if missing[i, j] else "linked" if ones[i, j] else "unlinked"
        if sort != wanted:
            continue
        p = rows[i] @ strengths @ cols[j]
        if one and i == j:
            p = sum(rows[i, k] * strengths[k, k] for k in range(rows.shape[1]))
        found.append((float(p), i, j))
    sign = -1 if largest else 1
    return sorted(found, key=lambda item: (sign * round(item[0], 12), item[1], item[2]))


def pairs_of(table: pd.DataFrame) -> list[tuple[int, int]]:
    return [(int(i), int(j)) for i, j in zip(table["row"], table["column"], strict=True)]


@for_each("kind, two, hard", itertools.product(NETWORKS, [False, True], [False, True]))
def test_pairs_that_stand_out_are_those_of_the_dense_answer(
    kind: str, two: bool, hard: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In bands of two rows or all at once; hard clusters give every pair of a block one probability."""
    relation, posterior, strengths = case(kind, two=two, hard=hard)
    monkeypatch.setattr(links, "_CELLS_AT_ONCE", 4_000_000 if two else 60)
    for among in ("missing", "unlinked"):
        expected = dense(relation, posterior, strengths, among)
        for n in (0, 7, 10_000):
            table = likely_links(relation, posterior, strengths, n, among=among)  # type: ignore[arg-type]
            assert pairs_of(table) == [(i, j) for _, i, j in expected[:n]]
            assert table["probability"].to_numpy() == pytest.approx(
                [p for p, _, _ in expected[:n]], rel=1e-12
            )
    expected = dense(relation, posterior, strengths, "linked", largest=False)
    table = surprising_links(relation, posterior, strengths, 9)
    assert pairs_of(table) == [(i, j) for _, i, j in expected[:9]]
    assert table["probability"].to_numpy() == pytest.approx([p for p, _, _ in expected[:9]], rel=1e-12)
    assert len(surprising_links(relation, posterior, strengths, 10_000)) == relation.n_links


def test_a_line_describes_both_objects() -> None:
    ones = np.array([[0, 1, 1], [0, 0, 1], [0, 0, 0]])
    missing = np.array([[0, 0, 0], [0, 0, 0], [0, 1, 0]])
    relation = Relation.build(ones, missing, row_labels=["ann", "bob", "cid"], network=Network(directed=True))
    q = np.array([[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]])
    strengths = np.array([[0.1, 0.2], [0.3, 0.4]])
    line = likely_links(relation, posterior_of(q), strengths).iloc[0]
    assert (line["row"], line["column"]) == ("cid", "bob")
    assert (line["row_cluster"], line["column_cluster"]) == (1, 2)
    assert line["probability"] == pytest.approx(0.5 * (0.2 * 0.1 + 0.8 * 0.2) + 0.5 * (0.2 * 0.3 + 0.8 * 0.4))
    assert line["block_probability"] == 0.2
    assert (line["row_links"], line["column_links"]) == (0, 1)


def test_what_cannot_be_answered_is_refused() -> None:
    relation, posterior, strengths = case("directed")
    with pytest.raises(ParameterError, match="at least 0"):
        likely_links(relation, posterior, strengths, -1)
    with pytest.raises(ParameterError, match="'zeros'"):
        likely_links(relation, posterior, strengths, among="zeros")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="blocks"):
        surprising_links(relation, posterior, strengths[:2])


def test_no_band_is_larger_than_the_cells_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    n, rng, sizes = 400, np.random.default_rng(0), []
    ones = sparse.random_array((n, n), density=0.02, rng=rng, format="csr")
    q, band = rng.dirichlet(np.ones(3), n), links._PairProbabilities.band

    def watched(self: links._PairProbabilities, begin: int, end: int, first: int) -> np.ndarray:
        found = band(self, begin, end, first)
        sizes.append(found.size)
        return found

    monkeypatch.setattr(links, "_CELLS_AT_ONCE", 5_000)
    monkeypatch.setattr(links._PairProbabilities, "band", watched)
    relation = Relation.build(ones, threshold=0)
    likely_links(relation, posterior_of(q, q), rng.random((3, 3)), 5, among="unlinked")
    assert sum(sizes) == n * n
    assert max(sizes) <= 5_000
