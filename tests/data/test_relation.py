"""Relations: what they accept, what arrays, graphs and pairs in memory mean, and what is refused."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from acvb_core.core.errors import DataError, ParameterError
from acvb_core.data.corpus import Corpus
from acvb_core.data.network import as_network
from acvb_core.data.relation import Network, Relation
from acvb_core.data.relation_readers import load_relation
from acvb_core.data.table import Table
from acvb_core.data.table_build import load_table
from tests.loops import for_each


def test_a_link_given_twice_is_one_link_and_the_pattern_is_canonical():
    messy = sparse.coo_array(([1, 1, 0, 1], ([1, 1, 0, 0], [2, 2, 0, 1])), shape=(2, 3))
    ones = Relation.build(messy).ones
    assert ones.dtype == np.bool_
    assert (ones.indices.dtype, ones.indptr.dtype) == (np.int32, np.int32)
    assert ones.has_canonical_format
    np.testing.assert_array_equal(ones.toarray(), [[0, 1, 0], [0, 0, 1]])


def test_fingerprint_tells_data_apart_and_nothing_else():
    relation = Relation.build([[1, 0], [0, 1]])
    assert relation.fingerprint == Relation.build(sparse.eye_array(2), name="other").fingerprint
    others = [
        Relation.build([[1, 0], [1, 0]]),
        Relation.build([[1, 0], [0, 1]], [[0, 1], [0, 0]]),
        Relation.build([[1, 0, 0], [0, 1, 0]]),
    ]
    assert len({relation.fingerprint, *(other.fingerprint for other in others)}) == 4


@for_each(
    "ones, missing, options, words",
    [
        ([[1, 0]], [[0]], {}, "the ones are 1 x 2 but the missing entries 1 x 1"),
        ([[1, 0]], [[1, 0]], {}, "both 1 and missing"),
        (np.empty((0, 3)), None, {}, "0 x 3"),
        ([[1, 0]], None, {"column_labels": ["a"]}, "1 column labels were given for 2 columns"),
        ([[1, 0]], None, {"column_labels": ["a", "a"]}, "occurs 2 times"),
    ],
)
def test_what_is_refused(ones, missing, options, words):
    with pytest.raises(DataError, match=words):
        Relation.build(ones, missing, **options)


@for_each("directed", [False, True])
@for_each("self_links", [False, True])
def test_pairs_are_counted_as_one_would_on_paper(directed: bool, self_links: bool) -> None:
    rng = np.random.default_rng(2)
    ones, missing = rng.random((9, 9)) < 0.3, rng.random((9, 9)) < 0.3
    if not directed:
        ones, missing = np.triu(ones), np.triu(missing)
    if not self_links:
        np.fill_diagonal(ones, False)
        np.fill_diagonal(missing, False)
    ones &= ~missing
    network = Relation.build(ones, missing, network=Network(directed, self_links))
    pairs = [(i, j) for i in range(9) for j in range(9) if (i != j or self_links) and (directed or i <= j)]
    assert network.n_links == sum(ones[pair] for pair in pairs)
    assert network.n_unknown == sum(missing[pair] for pair in pairs)
    assert network.n_known == len(pairs) - network.n_unknown


CELLS = [[1.0, np.nan, 0.0], [0.0, 1.0, 1.0]]
SHAPES: dict[str, Callable[[Any], Any]] = {
    "lists": list,
    "array": np.array,
    "csr": sparse.csr_array,
    "coo": sparse.coo_array,
    "frame": pd.DataFrame,
    "nullable frame": lambda cells: pd.DataFrame(cells).astype("Float64"),
    "masked": np.ma.masked_invalid,
    "objects": lambda cells: np.array(cells, dtype=object),
}


@for_each("form", list(SHAPES))
def test_nan_is_a_missing_entry(form: str) -> None:
    relation = Relation.build(SHAPES[form](CELLS))
    np.testing.assert_array_equal(relation.ones.toarray(), [[1, 0, 0], [0, 1, 1]])
    np.testing.assert_array_equal(relation.missing.toarray(), [[0, 1, 0], [0, 0, 0]])


@for_each("form", list(SHAPES))
@for_each("value", [-3.0, 0.5, 2.0])
def test_a_value_that_is_neither_0_nor_1_needs_a_threshold(form: str, value: float) -> None:
    cells = SHAPES[form]([[1.0, 0.0, 0.0], [0.0, 1.0, value]])
    with pytest.raises(DataError, match=r"row 2, column 3 is neither 0 .*threshold=0") as caught:
        Relation.build(cells, name="upload")
    assert caught.value.value == f"{value:g}"
    assert caught.value.source == "upload"
    linked = Relation.build(cells, threshold=1).ones.toarray()
    np.testing.assert_array_equal(linked, [[0, 0, 0], [0, 0, value > 1]])


def test_a_threshold_takes_missing_entries_and_repeated_ones() -> None:
    given = sparse.coo_array(([2, 2, np.nan, -5], ([0, 0, 0, 1], [0, 0, 1, 1])), shape=(2, 3))
    relation = Relation.build(given, threshold=3)
    np.testing.assert_array_equal(relation.ones.toarray(), [[1, 0, 0], [0, 0, 0]])
    np.testing.assert_array_equal(relation.missing.toarray(), [[0, 1, 0], [0, 0, 0]])
    assert given.nnz == 4  # what was given stays as it is


def tampered(kind: str, **parts: Any) -> Any:
    """A sound matrix whose arrays were changed behind SciPy's back."""
    matrix = sparse.csr_array(np.eye(3)).asformat(kind)
    for name, part in parts.items():
        setattr(matrix, name, np.array(part))
    return matrix


TAMPERED = {
    "index beyond": tampered("csr", indices=[0, 1, 99_999_999]),
    "pointers that fall": tampered("csr", indptr=[0, 3, 1, 3]),
    "pointers too few": tampered("csr", indptr=[0, 1, 3]),
    "values too few": tampered("csr", data=[1.0]),
    "fractional indices": tampered("csr", indices=[0.0, 1.0, 2.0]),
    "coordinates beyond": tampered("coo", row=[0, 1, 3]),
    "blocks beyond": tampered("bsr", indices=[0, 1, 3]),
    "diagonal beyond": tampered("dia", offsets=[9]),
    "the same offset twice": tampered("dia", offsets=[0, 0], data=np.ones((2, 3))),
}


@for_each("case", list(TAMPERED))
def test_a_broken_matrix_is_refused_at_every_door(case: str) -> None:
    given = TAMPERED[case]
    sound = Relation.build(np.eye(3))
    doors: list[Callable[[], Any]] = [
        lambda: Relation.build(given),
        lambda: Relation.build(np.zeros((3, 3)), given),
        lambda: Corpus.build(given),
        lambda: Table.build(given),
        lambda: load_table(given),
        lambda: as_network(sound, zeros=given),
    ]
    for door in doors:
        with pytest.raises(DataError) as caught:
            door()
        assert caught.value.remedy


WRONG_COUNTS = [(np.nan, "missing"), (-1, "negative"), (0.5, "not a whole number"), (2.0**40, "larger")]


@for_each("value, what", WRONG_COUNTS)
def test_a_wrong_word_count_is_named_with_its_place(value: float, what: str) -> None:
    for form in (np.array, sparse.csr_array, sparse.coo_array):
        with pytest.raises(DataError, match=f"row 2, column 1 is {what}"):
            Corpus.build(form([[1, 2], [value, 0]]))


ROOT = Path(__file__).resolve().parents[2]
LINKS = pd.DataFrame({"to": ["x", "y", "x"], "who": ["a", "a", "b"], "times": [2, 1, 0]})


def loaded(data: Any, **options: Any) -> Relation:
    return load_relation(data, **options).data


@for_each("kind", [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph])
def test_a_graph_says_what_its_links_are(kind: type[nx.Graph]) -> None:
    graph = kind(name="friends")
    graph.add_weighted_edges_from([("a", "b", 3.0), ("b", "c", 0.0), ("c", "c", 1.0)])
    graph.add_edge("a", "c")
    found = load_relation(graph)
    assert found.data.network == Network(graph.is_directed(), True)
    assert found.data.name == found.report.source == "friends"
    assert found.data.n_links == 3
    assert loaded(graph, threshold=1).n_links == 2  # an edge without a weight is a link
    assert loaded(graph, value=False).n_links == loaded(graph, value_column=False).n_links == 4
    with pytest.raises(DataError, match="no edge has a value of this name"):
        loaded(graph, value="strength")


def test_networkx_is_not_imported_for_other_objects() -> None:
    code = (
        "import sys, numpy; from acvb_core import load_relation; load_relation(numpy.eye(2)); "
        "load_relation([('a', 'b')]); print('networkx' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, timeout=300)
    assert done.stdout.splitlines() == ["False"], done.stderr


def test_a_sparse_matrix_is_never_made_dense() -> None:
    wide = sparse.csr_array(([1.0, 1.0], ([0, 199_999], [299_999, 0])), shape=(200_000, 300_000))
    assert loaded(wide).shape == (200_000, 300_000)
    huge = sparse.coo_array(([1.0], ([0], [0])), shape=(60_000_000, 2))
    with pytest.raises(DataError, match="60,000,000 x 2"):
        loaded(huge)


@for_each(
    "given, what",
    [
        (np.eye(2, dtype=complex), "type complex128"),
        (np.ones(3), r"shape \(3,\)"),
        (np.ones((0, 3)), "0 x 3"),
        (np.array([["a", "b", "c", "d"]]), "type <U1"),
        ([], "no pairs"),
        ([("a", "b", 1), ("a", "c")], "row 2: this is not a triple"),
        (["one text", "another"], "row 1: this is not a pair .*load_corpus"),
        ([("a", "b"), ("a", None)], "row 2, column 2: a label is blank"),
        ([("a", "b"), (float("nan"), "b")], "row 2, column 1: a label is blank"),
        ([("a", "b", 1), ("a", "c", "maybe")], r"row 2, column 3: this is neither a number.*'maybe'"),
        ([("a", "b", 1), ("a", "b", 0)], "the pair is a link on row 1 and no link on row 2.*two rows"),
    ],
)
def test_objects_that_are_not_a_relation_are_refused(given: Any, what: str) -> None:
    with pytest.raises(DataError, match=what):
        loaded(given)


def test_other_names_of_the_columns() -> None:
    for data in (LINKS, LINKS.to_csv(index=False).encode()):
        found = loaded(data, source="who", target="to", value="times", threshold=0)
        assert found.row_labels.tolist() == ["a", "b"]
        assert loaded(data, source="who", target="to", value=False).n_ones == 3
        with pytest.raises(ParameterError, match="target and column_column are two names of one choice"):
            loaded(data, target="to", column_column="to")


@for_each("option", [{"format": "edges"}, {"delimiter": ","}, {"encoding": "latin-1"}, {"header": True}])
def test_options_of_files_are_refused_for_objects(option: dict[str, Any]) -> None:
    for given in (np.eye(2), [("a", "b")], nx.path_graph(2)):
        with pytest.raises(ParameterError, match=f"{next(iter(option))} is for files"):
            loaded(given, **option)


def test_a_frame_keeps_its_names_when_it_is_built() -> None:
    frame = pd.DataFrame([[1, 0], [np.nan, 1]], index=["a", "b"], columns=["x", 2.0])
    found = Relation.build(frame)
    assert (found.row_labels.tolist(), found.column_labels.tolist()) == (["a", "b"], ["x", "2"])
    assert found.n_missing == 1
    square = pd.DataFrame(1 - np.eye(2), index=["a", "b"], columns=["a", "b"])
    assert Relation.build(square, network=Network(False)).row_labels.tolist() == ["a", "b"]
    with pytest.raises(DataError, match="other labels"):
        Relation.build(pd.DataFrame(1 - np.eye(2), index=["a", "b"]), network=Network())


def test_categories_that_no_row_has_are_objects_without_links() -> None:
    who = pd.Categorical(["b", "a", "b"], categories=["a", "b", "c"])
    what = pd.Categorical([7, 8, 8], categories=[7, 8, 9])
    for frame in (
        pd.DataFrame({"person": who, "event": what}),
        pl.DataFrame({
            "person": pl.Series(["b", "a", "b"], dtype=pl.Enum(["a", "b", "c"])),
            "event": pl.Series(["7", "8", "8"], dtype=pl.Enum(["7", "8", "9"])),
        }),
    ):  # fmt: skip
        found = load_relation(frame)
        assert found.data.row_labels.tolist() == ["b", "a", "c"]
        assert found.data.column_labels.tolist() == ["7", "8", "9"]
        assert found.report.count("unused_categories") == found.report.count("empty_rows") + 1 == 2
    network = pd.DataFrame(
        {"sender": who, "receiver": pd.Categorical(["a", "b", "a"], categories=["a", "b", "d"])}
    )
    assert loaded(network, domains="one").row_labels.tolist() == ["b", "a", "c", "d"]


PIVOT = pd.DataFrame([[1, 0], [0, 1], [1, 1]], index=pd.Index([100, 105, 7], name="user"), columns=[8, 9])
LONG = PIVOT.stack().rename("value").rename_axis(["user", "item"]).reset_index()


@for_each(
    "given, options, kinds",
    [
        (PIVOT, {}, "ii"),
        (LONG, {}, "ii"),
        (LONG.astype({"item": str}), {}, "iO"),
        (LONG, {"row_nodes": ["7", "100", "105", "x"]}, "Oi"),
        ([(True, 5), (2, 6)], {}, "Oi"),
        (LONG.to_csv(index=False).encode(), {}, "OO"),
    ],
)
def test_ids_come_back_as_they_were_given(given: Any, options: dict[str, Any], kinds: str) -> None:
    relation = load_relation(given, domains="two", **options).data
    assert "".join(ids.dtype.kind for ids in relation.ids) == kinds
    assert all(
        list(map(str, ids)) == labels.tolist()
        for ids, labels in zip(relation.ids, (relation.row_labels, relation.column_labels), strict=True)
    )
    assert relation.transposed.numbered == relation.numbered[::-1]
