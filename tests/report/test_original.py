"""The user's own list of links keeps its lines and columns, and gets the clusters of both ends."""

from __future__ import annotations

import io
import random
from pathlib import Path

import pandas as pd
import pytest

import acvb_core
from acvb_core.core.errors import DataError, ParameterError
from acvb_core.engine.result import Result
from acvb_core.report.original import add_results
from acvb_core.store.export import csv_text

_DRAWN = random.Random(3)
PAIRS = [
    (a, b)
    for a in range(12)
    for b in range(12)
    if a != b and _DRAWN.random() < (0.7 if a % 2 == b % 2 else 0.1)
]
LINKS = "package;when;from;to;change;note\n" + "".join(
    f"p{i};2024-0{1 + i % 9}-01;shop {a};shop {b};{(-1) ** i * i / 4};{'=1+1' if i % 3 else '-12,5'}\n"
    for i, (a, b) in enumerate([*PAIRS, PAIRS[0]])
)


@pytest.fixture(scope="module")
def result() -> Result:
    columns = {"source": "from", "target": "to", "value": False}
    with pytest.warns(acvb_core.DataChangedWarning, match="repeats a pair"):
        loaded = acvb_core.load_relation(LINKS.encode(), filename="trade.csv", **columns)
    run = acvb_core.fit(loaded, "acvb0", k_rows=3, max_sweeps=20)
    assert run.report is not None
    return run


def test_lines_and_columns_stay_and_clusters_are_added(result: Result, tmp_path: Path) -> None:
    (tmp_path / "trade.csv").write_text(LINKS)
    table = add_results(result, tmp_path / "trade.csv")
    given = pd.read_csv(io.StringIO(LINKS), sep=";", dtype=str, keep_default_na=False)
    pd.testing.assert_frame_equal(table.iloc[:, :6].astype(str), given.astype(str))
    rows = result.rows.set_index("object")
    for end in ("from", "to"):
        assert table[f"{end}_cluster"].tolist() == rows["cluster"][given[end]].tolist()
        assert table[f"{end}_name"].tolist() == rows["name"][given[end]].tolist()
        assert table[f"{end}_certainty"].tolist() == rows["probability"][given[end]].tolist()
    text = pd.read_csv(io.StringIO(csv_text(table)), dtype=str, keep_default_na=False)
    assert text["change"].tolist() == given["change"].tolist(), "a number below 0 is no formula"
    assert set(text["note"]) == {"'=1+1", "-12,5"}


def test_names_that_the_run_does_not_know_have_no_cluster(result: Result) -> None:
    more = b"from,to,amount\nshop 1,nobody,1\nshop 2,shop 3,2\n"
    table = add_results(result, more, "more.csv")
    assert table["to_cluster"].isna().tolist() == [True, False]
    assert table["from_cluster"].notna().all()
    with pytest.raises(DataError, match=r"more\.csv: no line names an object of the run \(found 'one'\)"):
        add_results(result, b"from,to\none,two\n", "more.csv")


def test_two_sets_of_objects_have_clusters_of_their_own() -> None:
    relation = acvb_core.load_sample("southern_women").relation
    run = acvb_core.fit(relation, "acvb0", k_rows=3, k_cols=3)
    places = relation.ones.nonzero()
    lines = [f"{relation.row_labels[i]},{relation.column_labels[j]}" for i, j in zip(*places, strict=True)]
    table = add_results(run, ("woman,event\n" + "\n".join(lines)).encode(), "visits.csv")
    assert table["woman_cluster"].tolist() == run.labels("rows")[places[0]].tolist()
    assert table["event_cluster"].tolist() == run.labels("cols")[places[1]].tolist()


def test_other_models_and_files_are_refused(runs: dict[str, Result], result: Result) -> None:
    with pytest.raises(ParameterError, match="is not of links"):
        add_results(runs["topics"], b"from,to\na,b\n")
    with pytest.raises(DataError, match="has no line for each link"):
        add_results(runs["network"], b",a,b\na,0,1\nb,1,0\n", "matrix.csv")
