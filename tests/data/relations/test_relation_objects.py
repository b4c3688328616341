"""Graphs, arrays and pairs in memory: what they say, what they leave open, and what is refused."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from acvb_core import fit, load_result
from acvb_core.core.errors import DataError, ParameterError
from acvb_core.data.relation import Network, Relation
from acvb_core.data.relation_readers import load_relation
from acvb_core.data.sources import frames
from tests.loops import for_each

ROOT = Path(__file__).resolve().parents[3]
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
    assert loaded(graph, directed=True, self_links=False, name="us").size_text.startswith("3 nodes")
    with pytest.raises(DataError, match="no edge has a value of this name"):
        loaded(graph, value="strength")


def test_unknown_weights_and_labels_of_a_graph_are_missing() -> None:
    graph = nx.DiGraph()
    for node, team in (("a", "red"), ("b", None), ("c", float("nan")), ("d", "red"), ("e", "blue")):
        graph.add_node(node, team=team, age=3.0)
    weights = [("a", "b", None), ("b", "c", float("nan")), ("c", "a", 1), ("d", "e", np.float32(2))]
    graph.add_weighted_edges_from(weights)
    found = loaded(graph)
    assert (found.n_links, found.n_unknown) == (2, 2)
    assert found.attributes["team"].tolist() == ["red", "", "", "red", "blue"]


def test_nodes_of_one_name_are_refused() -> None:
    with pytest.raises(DataError, match="once as a number and once as text"):
        loaded(nx.Graph([(1, "1")]))
    with pytest.raises(DataError, match="no nodes"):
        loaded(nx.Graph())


def test_networkx_is_not_imported_for_other_objects() -> None:
    code = (
        "import sys, numpy; from acvb_core import load_relation; load_relation(numpy.eye(2)); "
        "load_relation([('a', 'b')]); print('networkx' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, timeout=300)
    assert done.stdout.splitlines() == ["False"], done.stderr


def test_the_numbers_of_an_array() -> None:
    cells = np.array([[3.0, 0.0, np.nan], [0.0, 1.0, 1.0]])
    for given in (cells, np.ma.masked_invalid(cells), sparse.csr_array(cells), sparse.coo_matrix(cells)):
        with pytest.raises(DataError, match=r"row 1, column 1 is neither 0 .*threshold=0"):
            loaded(given)
        for threshold, links in ((0, 3), (2, 1)):
            found = loaded(given, threshold=threshold)
            wanted = Relation.build(given, threshold=threshold)
            assert (found.n_ones, found.n_missing) == (links, 1)
            assert found.fingerprint == wanted.fingerprint
    np.testing.assert_array_equal(cells, [[3, 0, np.nan], [0, 1, 1]])


def test_an_array_is_given_names_and_a_shape() -> None:
    found = load_relation(sparse.eye_array(2), row_nodes=["a", "b"], column_nodes=["x", "y"], name="pairs")
    assert found.data.row_labels.tolist() == ["a", "b"]
    assert (found.data.name, found.schema.format) == ("pairs", "matrix")
    assert loaded(np.eye(3), domains="one", row_nodes=list("abc")).network == Network(False, True)
    with pytest.raises(DataError, match="the given shape 3 x 3"):
        loaded(np.eye(2), shape=(3, 3))
    with pytest.raises(DataError, match="node list has 1 label"):
        loaded(np.eye(2), row_nodes=["a"])


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
        (sparse.csr_array((2, 0)), "2 x 0"),
        ([], "no pairs"),
        ([("a", "b"), ("a",)], r"relation, row 2: this is not a pair .*'\('a',\)'|row 2"),
        ([("a", "b", 1), ("a", "c")], "row 2: this is not a triple"),
        ([("a", "b"), 7], "row 2: this is not a pair"),
        (["one text", "another"], "row 1: this is not a pair .*load_corpus"),
        ([("a", "b"), ("a", None)], "row 2, column 2: a label is blank"),
        ([("a", "b"), (float("nan"), "b")], "row 2, column 1: a label is blank"),
        ([("a", "b", 1), ("a", "c", "maybe")], r"row 2, column 3: this is neither a number.*'maybe'"),
        ([("a", "b", 1), ("a", "c", float("inf"))], r"row 2, column 3: this is neither a number.*'inf'"),
        ([("a", "b", 1), ("a", "b", 0)], "the pair is a link on row 1 and no link on row 2.*two rows"),
    ],
)
def test_what_is_no_relation_is_refused(given: Any, what: str) -> None:
    with pytest.raises(DataError, match=what):
        loaded(given)


@for_each("given", [{"a": 1}, 7, None, object()])
def test_other_objects_are_refused(given: Any) -> None:
    with pytest.raises(ParameterError, match=r"not an? \w+"):
        loaded(given)


def test_lists_of_numbers_are_asked_about() -> None:
    with pytest.raises(ParameterError, match=r"may be pairs, or rows of a matrix.*tuples"):
        loaded([[0, 1], [1, 0]])
    assert loaded([(0, 1), (1, 0)]).n_ones == 2
    assert loaded([[0, 1, 1, 0], [1, 0, 0, 1]]).shape == (2, 4)


def test_labels_of_pairs_may_be_anything() -> None:
    found = loaded([(1, 2.0), (3.0, 2), (np.int64(1), "x y"), (" 3 ", ("p", 1))])
    assert found.row_labels.tolist() == ["1", "3"]
    assert found.column_labels.tolist() == ["2", "x y", "('p', 1)"]
    assert load_relation([(" a", "b")]).report.count("trimmed") == 1


def test_values_of_pairs() -> None:
    given = [
        ("a", "x", 0.30000000000000004),
        ("a", "y", None),
        ("b", "x", True),
        ("b", "y", "no"),
        ("c", "x", pd.NA),
    ]
    found = loaded(given, threshold=0.3)
    np.testing.assert_array_equal(found.ones.toarray(), [[1, 0], [1, 0], [0, 0]])
    np.testing.assert_array_equal(found.missing.toarray(), [[0, 1], [0, 0], [1, 0]])
    assert loaded(given, value=False).n_ones == 5
    assert loaded(given, source=1, target=0, threshold=0).shape == (2, 3)
    assert (
        loaded(
            [("a", "b", 2), ("b", "a", 3), ("a", "b", 2)], threshold=3, domains="one", directed=True
        ).n_links
        == 1
    )


def test_many_pairs_come_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "BATCH_ROWS", 3)
    pairs = [(f"p{i}", f"q{i % 4}") for i in range(10)]
    found = load_relation(pair for pair in pairs)
    assert (found.data.shape, found.report.count("lines")) == ((10, 4), 10)
    with pytest.raises(DataError, match="row 11: this is not a pair"):
        loaded([*pairs, ("a", "b", "c")])


def test_other_names_of_the_columns() -> None:
    for data in (LINKS, LINKS.to_csv(index=False).encode()):
        found = loaded(data, source="who", target="to", value="times", threshold=0)
        assert found.row_labels.tolist() == ["a", "b"]
        assert (
            found.fingerprint
            == loaded(
                data, row_column="who", column_column="to", value_column="times", threshold=0
            ).fingerprint
        )
        assert loaded(data, source="who", target="to", value=False).n_ones == 3
        with pytest.raises(ParameterError, match="target and column_column are two names of one choice"):
            loaded(data, target="to", column_column="to")
        with pytest.raises(DataError, match="there is no column"):
            loaded(data, source="nobody")


@for_each("option", [{"format": "edges"}, {"delimiter": ","}, {"encoding": "latin-1"}, {"header": True}])
def test_options_of_files_are_refused_for_objects(option: dict[str, Any]) -> None:
    for given in (np.eye(2), [("a", "b")], nx.path_graph(2)):
        with pytest.raises(ParameterError, match=f"{next(iter(option))} is for files"):
            loaded(given, **option)


def test_options_of_lists_are_refused_for_matrices() -> None:
    for given in (np.eye(2), nx.path_graph(2)):
        with pytest.raises(ParameterError, match="are for edge lists"):
            loaded(given, same_nodes=True)
    with pytest.raises(ParameterError, match="for lists of links"):
        loaded(np.eye(2), value="weight")


@for_each("shape", [(4, 3), (5, 2), (2, 2), (6, 4), (60, 2)])
def test_a_frame_of_0_and_1_is_a_matrix_however_small(shape: tuple[int, int]) -> None:
    cells = np.random.default_rng(1).integers(0, 2, shape)
    wanted = Relation.build(cells)
    for names in (None, [f"event {j}" for j in range(shape[1])]):
        frame = pd.DataFrame(cells, columns=names)
        found = load_relation(frame, domains="two")
        assert (found.schema.format, found.data.fingerprint) == ("matrix", wanted.fingerprint)
        assert found.data.row_labels.tolist() == wanted.row_labels.tolist()
        assert found.data.column_labels.tolist() == (names or wanted.column_labels.tolist())
    links = pd.DataFrame(cells[:, :2], columns=["source", "target"])
    assert load_relation(links).schema.format == "edges"


def test_a_frame_keeps_its_names_when_it_is_built() -> None:
    frame = pd.DataFrame([[1, 0], [np.nan, 1]], index=["a", "b"], columns=["x", 2.0])
    found = Relation.build(frame)
    assert (found.row_labels.tolist(), found.column_labels.tolist()) == (["a", "b"], ["x", "2"])
    assert found.n_missing == 1
    assert Relation.build(frame, row_labels=["p", "q"]).row_labels.tolist() == ["p", "q"]
    assert Relation.build(pd.DataFrame(np.eye(2))).row_labels.tolist() == ["0", "1"]
    square = pd.DataFrame(1 - np.eye(2), index=["a", "b"], columns=["a", "b"])
    assert Relation.build(square, network=Network(False)).row_labels.tolist() == ["a", "b"]
    with pytest.raises(DataError, match="other labels"):
        Relation.build(pd.DataFrame(1 - np.eye(2), index=["a", "b"]), network=Network())
    with pytest.raises(DataError, match="stands 2 times"):
        Relation.build(pd.DataFrame(np.eye(2), index=["a", "a"]))


def test_a_square_frame_with_a_named_index_is_a_network() -> None:
    names = pd.Index([11, 12, 13], name="person")
    frame = pd.DataFrame([[0, 1, 1], [1, 0, 0], [1, 0, 0]], index=names, columns=[11, 12, 13])
    found = loaded(frame)
    assert (found.row_labels.tolist(), found.network) == (["11", "12", "13"], Network(False))


def test_categories_that_no_row_has_are_objects_without_links() -> None:
    who = pd.Categorical(["b", "a", "b"], categories=["a", "b", "c"])
    what = pd.Categorical([7, 8, 8], categories=[7, 8, 9])
    for frame in (
        pd.DataFrame({"person": who, "event": what}),
        pd.DataFrame({"event": what}, index=pd.CategoricalIndex(who, name="person")),
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
    assert loaded(network, same_nodes=True).row_labels.tolist() == ["b", "a", "c", "d"]
    assert loaded(network, row_nodes=["a", "b"], domains="one").row_labels.tolist() == ["a", "b"]


PIVOT = pd.DataFrame([[1, 0], [0, 1], [1, 1]], index=pd.Index([100, 105, 7], name="user"), columns=[8, 9])
LONG = PIVOT.stack().rename("value").rename_axis(["user", "item"]).reset_index()


@for_each(
    "given, options, kinds",
    [
        (PIVOT, {}, "ii"),
        (PIVOT.rename(index=str), {}, "Oi"),
        (LONG, {}, "ii"),
        (LONG.astype({"item": str}), {}, "iO"),
        (LONG.astype({"user": float}), {}, "Oi"),
        (LONG, {"row_nodes": ["7", "100", "105", "x"]}, "Oi"),
        ([(1, "a"), (2, "b")], {}, "iO"),
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


def test_results_merge_with_numbered_ids(tmp_path: Path) -> None:
    result = fit(PIVOT, "vb", k_rows=2, k_cols=2, max_sweeps=2)
    people = pd.DataFrame({"object": [7, 100, 105], "age": [31, 42, 53]})
    assert result.rows.merge(people)["age"].tolist() == [42, 53, 31]
    result.save(tmp_path / "run.zip")
    assert load_result(tmp_path / "run.zip").columns["object"].tolist() == [8, 9]
    network = fit(nx.karate_club_graph(), "vb", threshold=0, k_rows=2, max_sweeps=2)
    assert network.rows["object"].tolist() == sorted(nx.karate_club_graph())
    named = nx.relabel_nodes(nx.karate_club_graph(), lambda node: f"n{node}")
    assert load_relation(named).data.ids[0][0] == "n0"
