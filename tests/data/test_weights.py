"""Weights of links: the same from every door, added up where a pair repeats, and kept on the way."""

from __future__ import annotations

import io
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import io as scipy_io
from scipy import sparse

from acvb_core.core.errors import DataError
from acvb_core.data.network import as_network, as_two_sided
from acvb_core.data.relation import Network, Relation
from acvb_core.data.relation_readers import load_relation
from acvb_core.evaluate.split import hold_out
from tests.data.support import saved
from tests.loops import for_each

MATRIX = np.array([[2.0, 0.0, 0.5], [0.0, 31.0, 1.0]])
TRIPLES = [(f"r{i}", f"c{j}", MATRIX[i, j]) for i in range(2) for j in range(3)]
FRAME = pd.DataFrame(TRIPLES, columns=["person", "event", "count"])
WIDE = pd.DataFrame(MATRIX, index=["r0", "r1"], columns=["c0", "c1", "c2"])
LINES = "".join(f"{row},{column},{value}\n" for row, column, value in TRIPLES)


def parquet() -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.Table.from_pandas(FRAME), out)
    return out.getvalue()


def two_sided_graph() -> nx.Graph:
    graph = nx.Graph()
    graph.add_nodes_from(("r0", "r1"), bipartite=0)
    graph.add_nodes_from(("c0", "c1", "c2"), bipartite=1)
    graph.add_weighted_edges_from(TRIPLES)
    return graph


def graph_ml() -> bytes:
    out = io.BytesIO()
    nx.write_graphml(two_sided_graph(), out)
    return out.getvalue()


DOORS: dict[str, tuple[Any, dict[str, Any]]] = {
    "list": (f"person,event,count\n{LINES}".encode(), {}),
    "frame": (FRAME, {"threshold": 0}),
    "parquet": (parquet(), {"threshold": 0}),
    "triples": (TRIPLES, {"threshold": 0}),
    "matrix file": (WIDE.to_csv().encode(), {"format": "matrix"}),
    "matrix frame": (WIDE, {"threshold": 0, "format": "matrix"}),
    "array": (MATRIX, {"threshold": 0}),
    "sparse": (sparse.csr_array(MATRIX), {"threshold": 0}),
    "npz": (saved(sparse.save_npz, sparse.csr_array(MATRIX)), {}),
    "matrix market": (saved(scipy_io.mmwrite, sparse.coo_array(MATRIX)), {}),
    "graph": (two_sided_graph(), {}),
    "graphml": (graph_ml(), {}),
}


@for_each("given, options", DOORS)
def test_every_door_keeps_the_weights(given: Any, options: dict[str, Any]) -> None:
    relation = load_relation(given, domains="two", **options).data
    np.testing.assert_array_equal(relation.links.toarray(), MATRIX)
    assert relation.fingerprint == Relation.build(MATRIX, threshold=0).fingerprint
    assert relation.size_text == "2 × 3 · 4 links · weights 0.5 to 31"


@for_each(
    "lines, options, weights, told",
    {
        "counts": ("a,x,2\na,x,1\nb,x,1\n", {}, [3, 1], "their counts were added"),
        "counts below the threshold": ("a,x,2\na,x,3\nb,x,1\n", {"threshold": 3}, [5], "their counts were added"),
        "counts on both sides of it": ("a,x,9\na,x,3\nb,x,1\n", {"threshold": 3}, [12], "their counts were added"),
        "amounts": ("a,x,0.5\na,x,1.5\nb,x,1\n", {}, [2, 1], "the weight of a link is the sum of its values"),
        "a word": ("a,x,yes\na,x,yes\nb,x,4\n", {}, [2, 4], "their counts were added"),
        "a word and a threshold": ("a,x,yes\nb,x,4\n", {"threshold": 3}, [1, 4], ""),
        "0 and 1": ("a,x,1\na,x,1\nb,x,0\n", {}, None, "they agree and were merged."),
        "signs": ("a,x,1\na,x,1\nb,x,-1\n", {}, None, "they agree and were merged."),
        "no values": ("a,x\na,x\nb,y\n", {}, None, "they agree and were merged."),
    },
)  # fmt: skip
def test_the_weight_of_a_pair_is_the_sum_of_its_values(
    lines: str, options: dict[str, Any], weights: list[float] | None, told: str
) -> None:
    found = load_relation(lines.encode(), header=False, domains="two", **options)
    given = found.data.weights
    assert weights == (None if given is None else given.tolist())
    assert any(told in line for line in found.report.lines())


@for_each(
    "lines, pairs, told",
    {
        "same": ("a,b,3\nb,a,3\na,a,2\nc,a,4\na,c,4\n", {"ab": 3, "aa": 2, "ac": 4}, "the same weight"),
        "other": ("a,b,3\nb,a,1\na,a,2\nc,a,4\na,c,4\n", {"ab": 4, "aa": 2, "ac": 8}, "the sum of both"),
        "once": ("a,b,3\na,a,2\nc,a,4\n", {"ab": 3, "aa": 2, "ac": 4}, ""),
    },
)
def test_a_pair_of_an_undirected_network_has_one_weight(lines: str, pairs: dict[str, int], told: str) -> None:
    found = load_relation(lines.encode(), header=False, domains="one", directed=False)
    matrix, at = found.data.links.toarray(), found.data.row_labels.tolist().index
    np.testing.assert_array_equal(matrix, matrix.T)
    assert {pair: matrix[at(pair[0]), at(pair[1])] for pair in pairs} == pairs
    assert any(told in line for line in found.report.lines())
    both = as_two_sided(found.data)
    assert as_network(both, directed=False).data.fingerprint == found.data.fingerprint
    assert load_relation(lines.encode(), header=False, domains="one", directed=True).data.weights is not None


@given(
    arrays.arrays(np.float64, (5, 5), elements=st.sampled_from([0.0, 0.0, 1.0, 2.0, 0.5, np.nan])),
    st.sampled_from([None, Network(True, True), Network(False, True)]),
    st.floats(0, 1, exclude_max=True),
    st.integers(0, 99),
)
def test_nothing_is_lost_on_the_way(cells: Any, network: Network | None, share: float, seed: int) -> None:
    if network is not None and not network.directed:
        cells = np.where(np.triu(np.ones((5, 5))) == 1, cells, cells.T)
    relation = Relation.build(cells, threshold=0, network=network)
    whole = np.nan_to_num(cells)
    if network is not None and not network.directed:
        once = Relation.build(np.triu(whole), threshold=0, network=network)
        assert once.fingerprint == Relation.build(whole, threshold=0, network=network).fingerprint
    np.testing.assert_array_equal(relation.links.toarray(), whole)
    assert (relation.weights is None) == ((whole == 0) | (whole == 1)).all()
    np.testing.assert_array_equal(relation.transposed.links.toarray(), whole.T)
    split = hold_out(relation, share, seed)
    held = split.heldout
    assert (held.weights is None) == (relation.weights is None)
    weights = held.values if held.weights is None else held.weights
    together = split.train.links.toarray().astype(np.float64)
    assert not together[held.rows, held.columns].any()
    together[held.rows, held.columns] = weights
    if network is not None and not network.directed:
        together[held.columns, held.rows] = weights
    np.testing.assert_array_equal(together, whole)


def test_values_below_0_are_counted_and_sums_stay_finite() -> None:
    signed = Relation.build([[-2.0, 3.0], [-1.0, 0.0]], threshold=0)
    assert (signed.negative, signed.transposed.negative) == (2, 2)
    as_read = load_relation([("a", "x", -2.0), ("a", "y", 3.0), ("b", "a", -1.0)], threshold=0, domains="one")
    assert as_read.data.negative == 2
    small = sparse.coo_array((np.array([100, 100], dtype=np.int8), ([0, 0], [0, 0])), shape=(1, 2))
    added = Relation.build(small, threshold=0)
    assert added.links.toarray().tolist() == [[200.0, 0.0]]
    assert added.size_text == "1 × 2 · 1 links · weight 200"
    huge = sparse.coo_array(([1e308, 1e308], ([0, 0], [0, 0])), shape=(1, 2))
    with pytest.raises(DataError, match="add up to more than any number"):
        Relation.build(huge, threshold=0)


def test_the_fingerprint_of_links_alone_is_that_of_their_pattern() -> None:
    plain = Relation.build(MATRIX > 0)
    assert Relation.build((MATRIX > 0).astype(float), threshold=0).fingerprint == plain.fingerprint
    one_way = np.array([[0, 1, 1], [1, 0, 0], [0, 0, 0.0]])
    made = [Relation.build(links, threshold=0, network=Network(False)) for links in (one_way, one_way > 0)]
    assert made[0].fingerprint == made[1].fingerprint
    weighted = Relation.build(MATRIX, threshold=0)
    assert weighted.fingerprint not in (
        plain.fingerprint,
        Relation.build(2 * MATRIX, threshold=0).fingerprint,
    )
