"""Parts compared with what is known of the objects: the sheets of a workbook, and the sentences of a report."""

from __future__ import annotations

import numpy as np

from acvb_core.data.corpora.metadata import list_columns
from acvb_core.engine.fitting import fit
from acvb_core.models.lda.answer.effects import measure_effects
from acvb_core.report.contents import list_sheets
from acvb_core.report.page import report_html
from acvb_core.samples.catalogue import load_sample
from acvb_core.samples.planted_tickets import planted_tickets


def test_topics_are_compared_by_every_column_under_their_names() -> None:
    corpus = planted_tickets(400, seed=2).corpus
    result = fit(corpus, "cvb0", k=8, seed=2, restarts=3)
    sheets = {sheet.title: sheet.table for sheet in list_sheets(result)}
    assert max(map(len, sheets)) <= 31
    for title, columns in (
        ("Topics over time", ["created"]),
        ("Topics by group", ["product", "channel"]),
        ("Topics by number", ["rating"]),
        ("Changes of topics", ["created", "rating"]),
    ):
        table = sheets[title]
        assert table["column"].unique().tolist() == columns
        assert table["name"].tolist() == [result.names["topics"][topic - 1] for topic in table["topic"]]
    found = measure_effects(result.posterior, corpus, "product").table
    own = sheets["Topics by group"].query("column == 'product'")
    np.testing.assert_array_equal(own["p_holm"], found["p_holm"])
    assert "over_time" in result.plots
    assert len(result.plot("over_time").layout.annotations) == 8
    text = report_html(result)
    assert "Topics over time" in text
    assert "between January 2023 and December 2023" in text
    assert "between the groups of channel" in text
    assert list(list_columns(corpus)) == ["created", "product", "channel", "rating"]


def test_known_labels_are_compared_with_clusters() -> None:
    karate = fit(load_sample("karate").data, "cvb0", seed=1)
    sheets = {sheet.title: sheet.table for sheet in list_sheets(karate)}
    labels = sheets["Labels by cluster"]
    assert set(labels["attribute"]) == {"club"}
    assert labels["p_holm"].min() < 0.05
    names = karate.names["rows"]
    assert labels["name"].tolist() == [names[cluster - 1] for cluster in labels["cluster"]]
    assert "Numbers by cluster" not in sheets
