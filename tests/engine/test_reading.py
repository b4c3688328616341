"""What is fitted need not be read first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import acvb_core
from acvb_core.core.errors import DataError, ParameterError
from acvb_core.core.spec import Range
from acvb_core.data.corpus import Corpus
from acvb_core.data.relation import Relation
from acvb_core.data.report import DataChangedWarning
from acvb_core.data.table import Table
from acvb_core.engine.experiments.plan import plan_experiment
from acvb_core.engine.fitting import compare, fit, read_data
from acvb_core.engine.tuning import plan_search
from tests.loops import for_each

CELLS = np.array([[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 0]])
ROWS, COLUMNS = list("abcd"), list("wxyz")
FRAME = pd.DataFrame(CELLS, index=ROWS, columns=COLUMNS)
PAIRS = [(ROWS[i], COLUMNS[j]) for i, j in zip(*CELLS.nonzero(), strict=True)]


@for_each(
    "given", [CELLS, sparse.csr_array(CELLS), FRAME, PAIRS, pd.DataFrame(PAIRS, columns=["source", "target"])]
)
def test_data_in_any_form_are_fitted(given: Any) -> None:
    result = fit(given, "vb", k_rows=2, k_cols=2, max_sweeps=3)
    assert result.prepared.fingerprint == Relation.build(CELLS).fingerprint
    unnamed = isinstance(given, np.ndarray) or sparse.issparse(given)
    assert result.rows["object"].tolist() == (list("0123") if unnamed else ROWS)
    both = compare(given, ["vb", "cvb0"], k_rows=2, k_cols=2, max_sweeps=2)
    assert {one.prepared.data for one in both.results} == {both.results[0].prepared.data}


def test_a_graph_is_a_network_and_a_file_is_read(tmp_path: Path) -> None:
    graph = nx.karate_club_graph()
    with pytest.warns(
        DataChangedWarning, match="Values from 1 to 7 are used as linked or not linked only: 78 above 0"
    ):
        result = fit(graph, "cvb0", k_rows=3, max_sweeps=2)
    assert result.report is not None
    assert result.report.count("values") == 78
    assert result.prepared.spec.model == "network"
    assert set(result.prepared.data.attributes["club"]) == {"Mr. Hi", "Officer"}
    nx.write_gexf(graph, tmp_path / "karate.gexf")
    with pytest.warns(DataChangedWarning):
        assert read_data(tmp_path / "karate.gexf").fingerprint == result.prepared.fingerprint


GRAPHS = {
    "two sides": (nx.davis_southern_women_graph(), "18 × 14 · 89 links"),
    "directed": (nx.DiGraph([("sea", "land"), ("land", "air")]), "3 nodes · 2 links · directed"),
    "tree of names": (
        nx.Graph([("the sea", "the land"), ("the sea", "the air")]),
        "3 nodes · 2 links · undirected",
    ),
    "links of a graph": (nx.davis_southern_women_graph().edges, "18 × 14 · 89 links"),
}


@for_each("graph, size", GRAPHS)
def test_a_graph_whose_nodes_are_texts_is_a_relation(graph: Any, size: str) -> None:
    """Everywhere: it has nodes, which may be called anything, and no documents."""
    assert fit(graph, "vb", max_sweeps=1).prepared.data.size_text == size
    assert compare(graph, ["vb"], max_sweeps=1).results[0].prepared.data.size_text == size
    assert plan_experiment(graph, ["vb"], heldout=0.5).data.size_text == size
    assert acvb_core.load_relation(graph).data.size_text == size
    if not hasattr(graph, "is_directed"):
        return
    for read, wanted in ((acvb_core.load_corpus, "texts"), (acvb_core.load_table, "table of numbers")):
        with pytest.raises(
            ParameterError, match=rf"graph \([\w-]+\) .* no {wanted}. Read it with load_relation"
        ):
            read(graph)
    for learn in (lambda: fit(graph, model="lda"), lambda: fit(graph, "sdm"), lambda: acvb_core.tune(graph)):
        with pytest.raises(ParameterError, match="holds nodes and links, and no texts"):
            learn()


def test_parallel_links_of_a_graph_are_merged_and_reported() -> None:
    graph = nx.MultiGraph([("a", "b"), ("a", "b"), ("b", "c")])
    with pytest.warns(DataChangedWarning, match="1 entry repeats a pair"):
        assert fit(graph, "vb", k_rows=2, max_sweeps=1).prepared.data.n_ones == 4


def test_every_function_takes_the_result_of_a_reader(tmp_path: Path) -> None:
    (tmp_path / "links.csv").write_text("person,event\n" + "".join(f"{a},{b}\n" for a, b in PAIRS))
    links: Any = acvb_core.load_relation(tmp_path / "links.csv")
    result = fit(links, "vb", k_rows=2, k_cols=2, max_sweeps=2)
    assert result.prepared.data is links.data
    assert result.report is links.report
    assert fit(links.data, "vb", max_sweeps=1).report is None
    assert compare(links, ["vb"], max_sweeps=1).results[0].report is links.report
    assert plan_experiment(links, ["vb"]).data is links.data
    sample = acvb_core.load_sample("bars")
    assert acvb_core.grid(sample, [2], max_sweeps=1).results[0].prepared.data is sample.data
    assert plan_search(sample, "cvb0", 1, ranges=(Range("beta", 0.1, 1.0),), k=2).data is sample.data
    topics = fit(sample, "cvb0", k=2, max_sweeps=1)
    assert len(topics.transform(sample)) == 1_000
    texts: Any = acvb_core.load_corpus(["ship sail", "ship sea", "sail sea"] * 5)
    assert acvb_core.StreamingLda("sdm", k=2).partial_fit(texts).documents_seen == 15
    assert fit(acvb_core.load_table(np.eye(4)), max_sweeps=1).prepared.spec.model == "lfm"
    network: Any = acvb_core.as_network(links)
    assert fit(network, "vb", k_rows=2, max_sweeps=1).prepared.spec.model == "network"
    assert acvb_core.as_two_sided(network).network is None
    assert acvb_core.with_attributes(links, {"kind": list("uuvv")}).attributes.keys() == {"kind"}


def test_reading_warns_of_what_it_changed_and_of_nothing_else(tmp_path: Path) -> None:
    """The line that is named is the caller's; a change that an option asks for is no surprise."""
    path = tmp_path / "ratings.csv"
    path.write_text("who,what,value,day\na,x,5,1\nb,y,1,2\na,y,0.5,3\n")
    for read in (acvb_core.load_relation, read_data):
        with pytest.warns(
            DataChangedWarning,
            match=r"ratings.csv: .*Values from 0.5 to 5 are used as .*1 column not used: day\.",
        ) as told:
            read(path)
        assert [Path(one.filename).name for one in told] == [Path(__file__).name]
    acvb_core.load_relation(path, threshold=0, source="who", target="what", value="value")
    acvb_core.load_relation([("a", "x"), ("b", "y")])
    acvb_core.load_table(np.eye(3))
    acvb_core.load_corpus(["ship sail", "ship sea", "sail sea"] * 5)
    with pytest.warns(DataChangedWarning, match="2 documents with a name that stood before"):
        acvb_core.load_corpus(b"name,text\na,ship sail\na,ship sea\na,sail sea\n", filename="texts.csv")


def test_a_model_says_what_kind_of_data_are_meant(tmp_path: Path) -> None:
    assert isinstance(read_data(np.random.default_rng(0).normal(size=(6, 3)), "lfm"), Table)
    (tmp_path / "texts.txt").write_text("a ship at sea\na field of corn\na ship of corn\n" * 3)
    assert isinstance(read_data(tmp_path / "texts.txt", "lda"), Corpus)
    relation = Relation.build(CELLS)
    assert read_data(relation, "lda") is relation
    with pytest.raises(ParameterError, match="model 'lda' is for a corpus"):
        fit(relation, model="lda")


def test_unreadable_data_name_the_reader_to_use() -> None:
    with pytest.raises(DataError, match=r"row 1, column 1 is neither 0 .*threshold=0.*load_relation\(…\)"):
        fit(CELLS * 3)
    with pytest.raises(DataError, match=r"no.csv: the file cannot be opened .*right to read it\.$"):
        fit("no.csv")
    with pytest.raises(DataError, match=r"the file cannot be opened .*io\.StringIO\(text\)\.$"):
        fit("a,b\nc,d\n")
    with pytest.raises(ParameterError, match=r"A dict may hold links, texts or columns\. .*list of pairs"):
        fit({"one": "a text", "two": "another"})
    with pytest.raises(DataError, match=r"this is not a pair .*A list of texts is a corpus"):
        fit({"a text", "another text"})
    with pytest.raises(DataError, match=r"no word .*load_corpus"):
        compare(["a text", "another"])
    with pytest.raises(ParameterError, match=r"not an? int"):
        fit(3)
    with pytest.raises(ParameterError, match="no model 'magic'"):
        fit(CELLS, model="magic")


def test_options_of_the_readers_go_through_every_call(tmp_path: Path) -> None:
    """The advice was to pass threshold=0 to another function, and `fit` refused it."""
    links = pd.DataFrame({"u": list("aabbc"), "v": list("xyxyx"), "w": [1, 5, 2, 8, 3]})
    few = {"k_rows": 2, "k_cols": 2, "max_sweeps": 2}
    with pytest.raises(
        DataError, match=r"threshold=0 .* Give these choices in the same call, or to acvb_core"
    ):
        acvb_core.fit(links, "vb", **few)
    assert acvb_core.fit(links, "vb", threshold=2, **few).prepared.data.n_ones == 3
    assert acvb_core.compare(links, ["vb", "cvb0"], threshold=2, **few).results[1].prepared.data.n_ones == 3
    plan = plan_experiment(links, ["vb"], threshold=2, splits=2, heldout=0.3, **few)
    assert plan.data.n_ones == 3
    with pytest.raises(ParameterError, match="no setting 'threshold'"):
        acvb_core.fit(acvb_core.load_relation(links, threshold=2).data, "vb", threshold=2, **few)
    (tmp_path / "posts.csv").write_text("id;body\n1;river bank water\n2;money bank loan\n3;river water\n")
    corpus = acvb_core.grid(str(tmp_path / "posts.csv"), [2], text_column="body", max_sweeps=2).results[0]
    assert corpus.prepared.data.n_documents == 3
    table = pd.DataFrame({"a": [1.0, 2.0, 4.0, 3.0], "b": [2.0, 1.0, 0.0, 5.0], "c": [0.0, 1.0, 1.0, 3.0]})
    assert acvb_core.fit(table, model="lfm", leave_out=["b"], k_max=1).prepared.data.shape == (4, 2)
