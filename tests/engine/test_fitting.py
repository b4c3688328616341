"""Fit and compare, as a notebook uses them: data in any form, and the plain values of results."""

from __future__ import annotations

from dataclasses import replace
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
from acvb_core.engine.experiments.report import experiment
from acvb_core.engine.fitting import Comparison, compare, fit, read_data
from acvb_core.engine.run import StopRun
from acvb_core.engine.tuning import plan_search, tune
from acvb_core.evaluate.agreement import agreement
from acvb_core.samples.planted_relations import planted_relation
from tests.engine.fakes import QUICK, small_relation
from tests.loops import for_each

TRUTH = planted_relation(60, 50, 3, 3, 5)


@for_each("method", list(QUICK))
def test_finds_planted_clusters(method: str) -> None:
    longer = {"burn_in": 100, "max_sweeps": 200} if method == "gibbs" else {}
    result = fit(TRUTH.relation, method, **(QUICK[method] | longer))
    assert agreement(result.labels("rows"), TRUTH.row_clusters)["ari"] > 0.95
    assert agreement(result.labels("cols"), TRUTH.column_clusters)["ari"] > 0.95
    assert (result.rows["cluster"] == result.labels("rows")).all()
    assert (np.diff(result.posterior["rows"].sum(axis=0)) <= 1e-9).all()


def test_stop_keeps_what_there_is_or_says_there_is_nothing() -> None:
    def at_once() -> None:
        raise StopRun

    for make in (fit, lambda data, method, **more: compare(data, [method], **more)):
        with pytest.raises(StopRun):
            make(small_relation(), "cvb0", poll=at_once)
    seen: list[int] = []

    def later() -> None:
        if len(seen) >= 6:
            raise StopRun

    comparison = compare(
        small_relation(), "cvb0", seeds=[7, 9, 11], max_sweeps=4, k_rows=4, tol=1e-12,
        watch=lambda _, s: seen.append(s.sweep), poll=later,
    )  # fmt: skip
    assert comparison.table()[["seed", "sweeps", "verdict"]].to_numpy().tolist() == [
        [7, 4, "MAX_SWEEPS"], [9, 2, "STOPPED"],
    ]  # fmt: skip


@for_each(
    "options, says",
    [
        ({"method": "cvb1"}, "no method 'cvb1'"),
        ({"model": "slda"}, "no model 'slda'"),
        ({"model": "lda"}, "model 'lda' is for a corpus; this is a relation"),
        ({"burn_in": 3}, "'burn_in'"),
        ({"k": 3}, r"no setting 'k'; .* Did you mean k_rows or k_cols\?"),
        ({"heldout": 1.0}, r"held out must be .*, not 1\.0"),
        ({"seed": None}, "^seed is .*; it must be a whole number, at least 0"),
        ({"heldout_seed": 1.5}, "^heldout_seed is .*; it must be a whole number, at least 0"),
        ({"restarts": 0}, "restarts is 0"),
        ({"restarts": True}, "restarts is"),
    ],
)
def test_unknown_names_and_wrong_values_are_refused(options: dict[str, Any], says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        fit(small_relation(), **{"method": "cvb0"} | options)


@for_each("seed", [None, -1, np.random.default_rng(0)])
def test_a_seed_of_several_runs_is_a_whole_number(seed: Any) -> None:
    relation, must = small_relation(), "seed is .*; it must be a whole number, at least 0"
    with pytest.raises(ParameterError, match=must):
        experiment(relation, ["cvb0"], seed=seed)
    with pytest.raises(ParameterError, match=must):
        tune(Corpus.build(np.ones((4, 3))), k=2, seed=seed)
    with pytest.raises(ParameterError, match=must):
        compare(relation, ["cvb0"], seeds=[seed])
    with pytest.raises(ParameterError, match="a number of seeds, at least 1, or a list of seeds"):
        compare(relation, ["cvb0"], seeds=seed)


def test_the_method_is_by_default_one_of_the_model() -> None:
    table = Table.build(np.random.default_rng(0).normal(size=(8, 3)))
    compared = compare(table, max_sweeps=1, heldout=0.1, model="lfm")
    assert [result.prepared.row.name for result in compared.results] == ["fab", "em", "vb"]
    planned = plan_experiment(table, max_sweeps=1)
    assert [condition.method for condition in planned.conditions] == ["fab", "em", "vb"]
    assert fit(small_relation(), max_sweeps=1, k_rows=2, k_cols=2).prepared.row.name == "acvb0"
    with pytest.raises(ParameterError, match="methods of model 'lfm' have no steps to tune; those of lda"):
        tune(table)
    result = fit(table, max_sweeps=1)
    for wrong, says in (
        (lambda: result.transform(["a text"]), "no documents to transform"),
        (lambda: result.topics, "has no topics; it has features"),
    ):
        with pytest.raises(ParameterError, match=says):
            wrong()


def test_compare_gives_a_row_a_run_on_one_split() -> None:
    splits: dict[str, bytes] = {}
    comparison = compare(
        TRUTH.relation, ["acvb0", "vb", "gibbs"], seeds=2, heldout=0.1, k_rows=5, k_cols=4, burn_in=2, max_sweeps=30,
        watch=lambda prepared, _: splits.setdefault(prepared.label, prepared.heldout.rows.tobytes()),
    )  # fmt: skip
    table = comparison.table()
    assert table["method"].tolist() == ["ACVB0", "ACVB0", "VB", "VB", "Gibbs", "Gibbs"]
    assert table["seed"].tolist() == [0, 1] * 3
    assert (len(splits), len(set(splits.values()))) == (6, 1)
    wanted = ["sweeps", "cpu_seconds", "lower_bound", "heldout_roc_auc", "k_rows", "k_cols"]
    assert np.isfinite(table[wanted].to_numpy(float)).all()
    alone = fit(TRUTH.relation, "vb", seed=1, heldout=0.1, k_rows=5, k_cols=4, max_sweeps=30)
    assert table["lower_bound"][3] == alone.snapshot.lower_bound


def test_agreement_of_runs() -> None:
    results = [fit(TRUTH.relation, "cvb0", k_rows=k, k_cols=5, split=False) for k in (2, 6)]
    names = ["CVB0 · K 2 × 5 · seed 0", "CVB0 · K 6 × 5 · seed 0"]
    both = agreement(*(result.labels("rows") for result in results))
    assert both["ari"] < both["nmi"] - 0.01
    for measure in ("ari", "nmi"):
        table = Comparison(results).agreement("rows", measure)
        assert (list(table.index), list(table.columns)) == (names, names)
        np.testing.assert_allclose(table.to_numpy(), [[1.0, both[measure]], [both[measure], 1.0]])


def test_compare_refuses_what_is_wrong_before_the_first_run() -> None:
    def ran(*_: object) -> None:
        raise AssertionError("a run began")

    relation, wrong = small_relation(), list[tuple[list[str], dict[str, int], str]]()
    wrong += [(["cvb0", "gibbs"], {"epoch": 3}, "cvb0 and gibbs have no setting 'epoch'")]
    wrong += [(["cvb0", "acvb0"], {"burn_in": -1}, "burn_in is -1")]
    wrong += [(["cvb0", "other"], {}, "no method 'other'"), ([], {}, "no methods to compare")]
    for methods, given, says in wrong:
        with pytest.raises(ParameterError, match=says):
            compare(relation, methods, watch=ran, **given)
    assert len(compare(relation, "cvb0", max_sweeps=2, k_rows=2).results) == 1
    kept = compare(relation, iter(["cvb0", "acvb0"]), burn_in=2, max_sweeps=3, k_rows=2)
    assert [result.prepared.spec.values.get("burn_in") for result in kept.results] == [None, 2]


def test_a_stream_says_how_much_it_saw_and_how_fast() -> None:
    corpus = Corpus.build(np.random.default_rng(0).poisson(1.0, (30, 12)))
    result = fit(corpus, "sdm", k=2, epochs=1.5, heldout_documents=0.2)
    last = replace(result.snapshot, wall_seconds=5.0, diagnostics_seconds=2.0)
    plain = result.with_state(snapshot=last).summary()
    assert result.prepared.train.n_documents == 24
    assert plain["passes"] == pytest.approx(1.5)
    assert plain["documents_seen"] == 36
    assert plain["documents_per_second"] == 12.0
    assert plain["heldout"]["completion_perplexity"] == plain["heldout"]["perplexity"]
    at_once = result.with_state(snapshot=replace(last, wall_seconds=2.0))
    assert at_once.summary()["documents_per_second"] is None


CELLS = np.array([[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 0]])
FRAME = pd.DataFrame(CELLS, index=list("abcd"), columns=list("wxyz"))
PAIRS = [("abcd"[i], "wxyz"[j]) for i, j in zip(*CELLS.nonzero(), strict=True)]


@for_each("given", [CELLS, sparse.csr_array(CELLS), FRAME, PAIRS])
def test_data_in_any_form_are_fitted(given: Any) -> None:
    both = compare(given, ["vb", "cvb0"], k_rows=2, k_cols=2, max_sweeps=2).results
    assert both[0].prepared.fingerprint == Relation.build(CELLS).fingerprint
    unnamed = isinstance(given, np.ndarray) or sparse.issparse(given)
    assert both[0].rows["object"].tolist() == list("0123" if unnamed else "abcd")
    assert both[0].prepared.data is both[1].prepared.data


def test_a_graph_is_a_network_and_a_file_is_read(tmp_path: Path) -> None:
    graph = nx.karate_club_graph()
    with pytest.warns(
        DataChangedWarning, match="Values from 1 to 7 are read by the threshold 0: 78 above it"
    ):
        result = fit(graph, "cvb0", k_rows=3, max_sweeps=2)
    assert result.report.count("values") == 78
    assert result.prepared.spec.model == "network"
    assert set(result.prepared.data.attributes["club"]) == {"Mr. Hi", "Officer"}
    nx.write_gexf(graph, tmp_path / "karate.gexf")
    with pytest.warns(DataChangedWarning):
        assert read_data(tmp_path / "karate.gexf")[0].fingerprint == result.prepared.fingerprint


def test_a_graph_whose_nodes_are_texts_is_a_relation() -> None:
    """It has nodes, which may have any name, and no documents."""
    graph = nx.Graph([("the sea", "the land"), ("the sea", "the air")])
    size = "3 nodes · 2 links · undirected"
    assert fit(graph, "vb", max_sweeps=1).prepared.data.size_text == size
    assert plan_experiment(graph, ["vb"], heldout=0.5).data.size_text == size
    for read, wanted in ((acvb_core.load_corpus, "texts"), (acvb_core.load_table, "table of numbers")):
        with pytest.raises(ParameterError, match=rf"graph .* no {wanted}. Read it with load_relation"):
            read(graph)
    for learn in (lambda: fit(graph, model="lda"), lambda: fit(graph, "sdm"), lambda: acvb_core.tune(graph)):
        with pytest.raises(ParameterError, match="holds nodes and links, and no texts"):
            learn()


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
    network: Any = acvb_core.as_network(links)
    assert fit(network, "vb", k_rows=2, max_sweeps=1).prepared.spec.model == "network"


def test_reading_warns_of_what_it_changed_and_of_nothing_else(tmp_path: Path) -> None:
    """The line that is named is the caller's; a change that an option asks for is no surprise."""
    path = tmp_path / "ratings.csv"
    path.write_text("who,what,value,day\na,x,5,1\nb,y,1,2\na,y,0.5,3\n")
    says = r"ratings.csv: .*Values from 0.5 to 5 are read by .*1 column not used: day\."
    for read in (acvb_core.load_relation, read_data):
        with pytest.warns(DataChangedWarning, match=says) as told:
            read(path)
        assert [Path(one.filename).name for one in told] == [Path(__file__).name]
    acvb_core.load_relation(path, threshold=0, source="who", target="what", value="value")
    acvb_core.load_relation([("a", "x"), ("b", "y")])


def test_unreadable_data_name_the_reader_to_use() -> None:
    two_texts: Any = {"one": "a text", "two": "another"}
    for data, says in [
        (CELLS * 3, r"row 1, column 1 is neither 0 .*threshold=0.*load_relation\(…\)"),
        ("no.csv", r"no.csv: the file cannot be opened .*right to read it\.$"),
        ("a,b\nc,d\n", r"the file cannot be opened .*io\.StringIO\(text\)\.$"),
        (two_texts, r"A dict may hold links, texts or columns\. .*list of pairs"),
        (set(two_texts.values()), r"this is not a pair .*A list of texts is a corpus"),
        (["a text", "another"], r"no word .*load_corpus"),
        (3, r"not an? int"),
    ]:
        with pytest.raises((DataError, ParameterError), match=says):
            fit(data)


def test_options_of_the_readers_go_through_every_call(tmp_path: Path) -> None:
    links = pd.DataFrame({"u": list("aabbc"), "v": list("xyxyx"), "w": [1, 5, 2, 8, 3]})
    few = {"k_rows": 2, "k_cols": 2, "max_sweeps": 2}
    with pytest.raises(DataError, match=r"threshold=0 .* Give these choices in the same call"):
        acvb_core.fit(links, "vb", **few)
    assert acvb_core.fit(links, "vb", threshold=2, **few).prepared.data.n_ones == 3
    assert acvb_core.compare(links, ["vb", "cvb0"], threshold=2, **few).results[1].prepared.data.n_ones == 3
    assert plan_experiment(links, ["vb"], threshold=2, splits=2, heldout=0.3, **few).data.n_ones == 3
    with pytest.raises(ParameterError, match="no setting 'threshold'"):
        acvb_core.fit(acvb_core.load_relation(links, threshold=2).data, "vb", threshold=2, **few)
    text = "id;body\n1;river bank water\n2;money bank loan\n3;river water\n"
    (tmp_path / "posts.csv").write_text(text)
    grid = acvb_core.grid(str(tmp_path / "posts.csv"), [2], text_column="body", max_sweeps=2)
    assert grid.results[0].prepared.data.n_documents == 3
