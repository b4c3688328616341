"""What is known of the objects beforehand is held against their clusters, and leaves the program with them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from acvb_core.data.relation import Relation
from acvb_core.engine.fitting import fit
from acvb_core.engine.result import Result
from acvb_core.samples.catalogue import load_sample
from acvb_core.store.export import run_dict, run_json, run_tables, write_run
from acvb_core.store.known_labels import compare_known_labels
from tests.store.support import ODD_LABELS, WOMEN


def with_attributes(**attributes: list[str]) -> Relation:
    arrays = {name: np.array(values, dtype=object) for name, values in attributes.items()}
    return replace(WOMEN, attributes=arrays)


@pytest.fixture(scope="module")
def plain() -> Result:
    return fit(WOMEN, "acvb0", k_rows=4, k_cols=4)


def result_with(plain: Result, **attributes: list[str]) -> Result:
    return plain.with_state(prepared=replace(plain.prepared, data=with_attributes(**attributes)))


def test_agreement_is_that_of_the_objects_whose_label_is_known(plain: Result) -> None:
    clusters = plain.labels("rows")
    assert len(set(clusters)) > 1
    half = [f"c{k}" if i % 2 else "" for i, k in enumerate(clusters)]
    other = ["x" if i < 5 else "y" for i in range(18)]
    found = compare_known_labels(result_with(plain, half=half, other=other)).set_index("attribute")
    assert list(found.index) == ["half", "other"]
    assert found.loc["half"].to_dict() == {
        "labels": len(set(half) - {""}), "known": 9, "unknown": 9, "ari": pytest.approx(1.0), "nmi": pytest.approx(1.0),
    }  # fmt: skip
    assert found.loc["other", "ari"] == pytest.approx(adjusted_rand_score(other, clusters))
    assert found.loc["other", "nmi"] == pytest.approx(normalized_mutual_info_score(other, clusters))


def test_no_label_agrees_with_nothing(plain: Result) -> None:
    result = result_with(plain, tag=[""] * 18)
    (line,) = compare_known_labels(result).itertuples()
    assert (line.known, line.labels) == (0, 0)
    assert np.isnan(line.ari)
    assert json.loads(run_json(result))["known_labels"]["tag"]["ari"] is None


def test_without_labels_nothing_is_said(plain: Result, tmp_path: Path) -> None:
    assert len(compare_known_labels(plain)) == 0
    assert "known_labels" not in run_dict(plain)
    assert run_tables(plain).keys() == plain.tables.keys()
    assert not {"agreement.csv"} & {path.name for path in write_run(plain, tmp_path)}


def test_labels_are_written_beside_the_clusters(plain: Result, tmp_path: Path) -> None:
    labels = [name for name in ODD_LABELS if name.isprintable()]
    values = [labels[i % len(labels)] for i in range(18)]
    result = result_with(plain, cluster=values, object=["a", "=b"] * 9)
    paths = write_run(result, tmp_path)
    assert {path.name for path in paths} == {
        "run.json", "history.csv", "rows.csv", "columns.csv", "blocks.csv", "agreement.csv", "posterior.npz",
    }  # fmt: skip
    rows = pd.read_csv(tmp_path / "rows.csv", keep_default_na=False)
    names = ["object", "cluster", "probability", "given_clusters", "entropy", "known_cluster", "known_object"]
    assert list(rows.columns) == names
    assert list(rows["known_cluster"]) == [f"'{name}" if name.startswith("=") else name for name in values]
    assert list(rows["known_object"])[:2] == ["a", "'=b"]
    assert list(rows["cluster"]) == list(result.rows["cluster"])
    table = pd.read_csv(tmp_path / "agreement.csv")
    assert list(table["attribute"]) == ["cluster", "object"]
    told = json.loads((tmp_path / "run.json").read_text())["known_labels"]
    for line in table.itertuples():
        assert told[line.attribute]["ari"] == line.ari == compare_known_labels(result)["ari"][line.Index]


def test_a_corpus_has_no_such_labels() -> None:
    result = fit(load_sample("bars").corpus, "cvb0", k=2, max_sweeps=2)
    assert len(compare_known_labels(result)) == 0
    assert "agreement" not in run_tables(result)
