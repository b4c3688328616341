"""Known labels compared with clusters, and what a cluster is said to be."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from acvb_core.core.errors import ParameterError
from acvb_core.core.protocols import Posterior
from acvb_core.data.network import with_attributes
from acvb_core.data.relation import Relation
from acvb_core.data.table import Table
from acvb_core.engine.fitting import fit
from acvb_core.engine.result import Result
from acvb_core.evaluate.significance import adjust_holm
from acvb_core.models.irm.answer.cards import ClusterCards
from acvb_core.models.irm.answer.contrasts import write_ratio
from acvb_core.models.irm.answer.known import (
    align_samples,
    compare_labels,
    compare_medians,
    describe_labels,
    describe_partners,
)
from acvb_core.models.irm.answer.summary import compare_parts
from acvb_core.models.irm.export import responsibilities_frame
from acvb_core.models.irm.figures.graph_files import build_graph
from acvb_core.models.irm.gibbs import LABELS
from acvb_core.models.irm.scores import STRENGTHS
from acvb_core.report.original import add_results
from acvb_core.store.export import list_tables
from benchmarks.effects import PLANTED_SHARES, label_nodes


def test_samples_get_the_numbers_of_the_clusters_shown() -> None:
    q = np.eye(3)[[0, 0, 0, 1, 1, 2]]
    samples = np.array([[4, 4, 4, 1, 1, 0], [0, 0, 0, 0, 0, 1], [2, 2, 3, 3, 3, 3]], dtype=np.uint16)
    posterior = Posterior(
        {"rows": q, LABELS.format("rows"): samples, STRENGTHS: np.zeros((3, 1, 1))},
        {"rows": (None, "rows"), LABELS.format("rows"): (None, None), STRENGTHS: (None, None, None)},
        ("rows",),
    )
    wanted = [[0, 0, 0, 1, 1, 2], [0, 0, 0, 0, 0, 2], [0, 0, 1, 1, 1, 1]]
    assert align_samples(posterior, "rows").tolist() == wanted
    assert align_samples(posterior.with_arrays({}, drop=(STRENGTHS,)), "rows").tolist() == [wanted[0]]


@pytest.mark.whole_chain
def test_a_planted_difference_is_found_and_no_other() -> None:
    result, cluster = label_nodes(seed=3)
    labels, medians = compare_labels(result), compare_medians(result)
    line = labels[(labels["cluster"] == cluster) & (labels["label"] == "part time")].iloc[0]
    assert line["low"] <= PLANTED_SHARES[0] - PLANTED_SHARES[1] <= line["high"]
    assert line["p_holm"] < 0.05
    assert set(labels[labels["p_holm"] < 0.05]["attribute"]) == {"contract"}
    assert set(medians[medians["p_holm"] < 0.05]["attribute"]) <= {"age"}
    assert np.allclose(labels["p_holm"], adjust_holm(labels["p"]))  # over all clusters, attributes and labels
    assert set(labels["attribute"]) == {"contract", "site"}  # ids are no labels, and numbers have medians
    said = describe_labels(labels, medians, cluster)
    assert f"with contract “part time” ({line['share']:.0%}".replace("%", " %") in said
    assert "site" not in said


def purchases(seed: int = 0) -> tuple[Result, np.ndarray, np.ndarray]:
    """Three segments of customers who buy three categories of products, with labels that say nothing of either."""
    rng = np.random.default_rng(seed)
    rows, columns = np.arange(60) % 3, np.arange(45) % 3
    bought = rng.random((60, 45)) < np.where(rows[:, None] == columns, 0.6, 0.05)
    relation = Relation.build(bought, attributes={"segment": np.array(["a", "b", "c"])[rows]})
    known: dict[str, Any] = {
        "category": np.array(["Kids", "Sport", "Food"])[columns],
        "colour": rng.choice(["red", "blue"], 45),
        "price": 10.0 * columns + rng.random(45),
        "weight": rng.random(45),
        "product": [f"Thing {i}" for i in range(45)],
    }
    return fit(with_attributes(relation, known, "cols"), "cvb0", seed=1), rows, columns


@pytest.mark.whole_chain
def test_labels_of_columns_are_compared_with_column_clusters() -> None:
    result, _, columns = purchases()
    labels, medians = compare_labels(result, "cols"), compare_medians(result, "cols")
    assert set(labels["attribute"]) == {"category", "colour"}  # names are no labels, and numbers have medians
    assert set(labels[labels["p_holm"] < 0.05]["attribute"]) == {"category"}
    assert set(medians[medians["p_holm"] < 0.05]["attribute"]) == {"price"}
    for cluster in (1, 2, 3):
        true = ("Kids", "Sport", "Food")[columns[result.labels("cols") == cluster][0]]
        line = labels[(labels["cluster"] == cluster) & (labels["label"] == true)].iloc[0]
        assert line["difference"] > 0.9
        assert line["p_holm"] < 0.05
    assert len(compare_parts(result)["Labels by column cluster"][1]) == len(labels)


@pytest.mark.whole_chain
def test_a_row_cluster_says_which_label_of_columns_it_is_linked_to() -> None:
    result, rows, columns = purchases()
    ones = result.prepared.data.ones.toarray()
    for cluster, said in enumerate(describe_partners(result, "rows"), start=1):
        own = result.labels("rows") == cluster
        k = rows[own][0]
        rate, others = 100 * ones[own][:, columns == k].mean(), 100 * ones[own][:, columns != k].mean()
        label = ("Kids", "Sport", "Food")[k]
        assert said.startswith(
            f"A member is linked to {rate:.0f} % of category “{label}” on average, and to {others:.2g} %"
        )
        assert said.endswith(f"of the others: {write_ratio(rate / others)} as many.")
        assert ClusterCards(result, "rows").describe(cluster).endswith(said)
    assert all("segment “" in said for said in describe_partners(result, "cols"))
    # Labels that say nothing are told of no cluster, nor one whose three objects may be among its own by chance.
    data = with_attributes(
        result.prepared.data, {"category": np.roll(np.repeat(["x", "y", "z"], 15), 7)}, "cols"
    )
    other = result.with_state(prepared=replace(result.prepared, data=data))
    assert describe_partners(other, "rows") == ["", "", ""]
    few = np.array([f"y{i // 3}" for i in range(45)], dtype=object)
    few[np.flatnonzero(columns == 0)[:3]] = "x"
    data = with_attributes(replace(data, column_attributes={}), {"few": few}, "cols")
    other = result.with_state(prepared=replace(result.prepared, data=data))
    assert describe_partners(other, "rows") == ["", "", ""]


@pytest.mark.whole_chain
def test_a_result_by_names_has_the_same_clusters_everywhere() -> None:
    by_id, _, _ = purchases()
    result = by_id.with_names(cols="product")
    names = [f"Thing {i}" for i in range(45)]
    assert result.columns["object"].tolist() == names
    assert result.coarsen(cols=2).columns["object"].tolist() == names
    assert result.labels("cols").tolist() == by_id.labels("cols").tolist()
    assert list_tables(result)["columns"]["known_id"].tolist() == [str(i) for i in range(45)]
    assert set(result.prepared.model_row.part("export").likely_links(result, 5, "unlinked")["column"]) <= set(
        names
    )
    assert responsibilities_frame(result, "cols")["object"].tolist() == names
    assert build_graph(result).nodes["Thing 1"]["known_category"] == "Sport"
    # The file that was loaded has ids.
    one = add_results(result, b"row,column\n3,7\n", "links.csv").iloc[0]
    assert (one["row_cluster"], one["column_cluster"]) == (by_id.labels("rows")[3], by_id.labels("cols")[7])
    with pytest.raises(ParameterError, match="not of a relation"):
        fit(Table.build([[1.0, 2.0], [0.0, 5.0], [3.0, 1.0]]), "fab", max_sweeps=1).with_names(rows="group")
