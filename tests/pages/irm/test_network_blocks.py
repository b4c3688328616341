"""The Blocks page of a network: matrix and graphs, known labels, link prediction, files."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from acvb_core.engine.fitting import fit
from acvb_core.engine.result import Result
from acvb_core.models.irm.figures.arrangement import arrange_result
from acvb_core.models.irm.scores import likely_links
from acvb_core.samples.catalogue import load_sample
from pages.ui.irm import block_links
from pages.ui.irm.blocks_page import list_files
from pages.ui.shared.workspace import Workspace
from tests.pages.irm.networks import HOUSES, PAIRS, fitted, friends, in_use
from tests.pages.session import WORKSPACE, Open, frame, group, opened, press, show_part, texts


@pytest.fixture(scope="module")
def found() -> Result:
    return fitted(friends())


@pytest.fixture(scope="module")
def labelled() -> Result:
    return fitted(friends(known=True), "vb")


def switch(app: AppTest, key: str, value: str | bool) -> AppTest:
    group(app, key).set_value(value).run()
    assert not app.exception
    return app


def drawn(app: AppTest, key: str) -> bool:
    return any(key in one.proto.id for one in app.get("plotly_chart"))


def pairs(app: AppTest) -> list[pd.DataFrame]:
    """The tables of pairs: likely links, and surprising ones if they are shown."""
    return [shown.value for shown in app.dataframe if "block_probability" in shown.value]


def test_the_matrix_comes_first_and_everything_speaks_of_nodes(open_app: Open, found: Result) -> None:
    app = opened(open_app, "blocks", found)
    said = texts(app)
    assert "friends · 8 nodes · 13 links · undirected · 2 clusters" in said
    assert drawn(app, "blocks_sorted")
    assert not drawn(app, "network_chart")
    assert not drawn(app, "blocks_sizes_cols")
    labels = [button.label for button in app.get("download_button")]
    assert not any("ow clusters" in label or "olumn" in label for label in labels)
    assert "8 of 8 nodes" in texts(show_part(app, "Members"))
    assert "member_domain" not in [group.key for group in app.get("button_group")]


@pytest.mark.parametrize("directed", [False, True])
def test_groups_and_nodes_are_drawn_and_a_cluster_can_be_highlighted(open_app: Open, directed: bool) -> None:
    result = fitted(friends(directed=directed))
    app = opened(open_app, "blocks", result)
    switch(app, "blocks_view", "network")
    assert drawn(app, "network_chart_groups")
    assert not drawn(app, "blocks_sorted")
    n_clusters = result.posterior.n_clusters()["rows"]
    app.selectbox(key=f"network_highlight_{n_clusters}").select(n_clusters).run()
    switch(app, "network_shown", "nodes")
    assert drawn(app, "network_chart_nodes")
    assert not drawn(app, "network_chart_groups")


def test_two_clusterings_of_a_network_have_no_graph(open_app: Open) -> None:
    app = opened(open_app, "blocks", fitted(friends(known=True), "vb", "irm", k_cols=4))
    assert "blocks_view" not in [group.key for group in app.get("button_group")]
    assert drawn(show_part(app, "Strengths and sizes"), "blocks_sizes_cols")
    assert "K 4 × 4" in app.selectbox(key="blocks_run").options[0]
    show_part(app, "Known labels")
    assert len(frame(app, "ari")) == 1
    switch(app, "label_domain", "cols")


def test_known_labels_are_held_against_the_clusters(open_app: Open, labelled: Result) -> None:
    app = show_part(opened(open_app, "blocks", labelled), "Known labels")
    line = frame(app, "ari").iloc[0]
    assert (line["attribute"], line["known"]) == ("house", 8)
    assert line["ari"] == pytest.approx(1.0)
    assert drawn(app, "label_chart")
    assert "Each number counts the nodes of a cluster (row) that have a label (column)." in texts(app)


def test_labels_can_be_brought_for_the_data_in_use(open_app: Open, found: Result) -> None:
    in_use(friends())
    app = show_part(opened(open_app, "blocks", found), "Known labels")
    assert "The nodes have no known labels" in texts(app)
    app.file_uploader(key="blocks_rows_labels").upload("houses.csv", HOUSES).run()
    assert frame(app, "ari")["ari"].tolist() == pytest.approx([1.0])
    dataset = Workspace(WORKSPACE).dataset
    assert dataset is not None
    assert set(dataset.data.attributes) == {"house"}


def test_links_that_stand_out_are_listed(open_app: Open, found: Result) -> None:
    app = show_part(opened(open_app, "blocks", found), "Link prediction")
    likely, surprising = pairs(app)
    linked = {frozenset(pair) for pair in PAIRS}
    assert not any(frozenset(pair) in linked for pair in zip(likely["row"], likely["column"], strict=True))
    assert len(likely) == 28 - 13
    assert set(surprising.iloc[0][["row", "column"]]) == {"Dan", "Eve"}
    app.number_input(key="link_number").set_value(3).run()
    assert [len(table) for table in pairs(app)] == [3, 3]


def test_links_are_predicted_by_the_samples_or_by_the_clusters(open_app: Open) -> None:
    result = fit(load_sample("karate").relation, "acvb0", heldout=0.1)
    strengths = result.prepared.model.strengths(result.posterior)
    app = show_part(opened(open_app, "blocks", result), "Link prediction")
    score = result.snapshot.heldout
    said = f"{100 * score.averaged_skill:.1f} % by the samples, {100 * score.skill:.1f} % by the clusters"
    assert said in texts(app)
    for chosen in (False, True):
        switch(app, f"link_by_{0:012x}", chosen)
        data = result.prepared.data
        expected = likely_links(data, result.posterior, strengths, among="unlinked", averaged=chosen)
        np.testing.assert_allclose(pairs(app)[0]["probability"], expected["probability"])


def test_very_many_pairs_are_looked_at_when_asked_for(
    open_app: Open, found: Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(block_links, "QUICK", 63)
    app = show_part(opened(open_app, "blocks", found), "Link prediction")
    assert "Scoring all 64 pairs takes a while" in texts(app)
    assert len(pairs(app)) == 1
    press(app, "link_look")
    assert len(pairs(app)) == 2


def test_every_file_can_be_made(labelled: Result) -> None:
    offers = list_files(("x", 1, ""), labelled, arrange_result(labelled), None)
    made = {offer.end: offer.make() for offer in offers}
    nodes = pd.read_csv(io.StringIO(str(made["nodes.csv"])))
    assert nodes["known_house"].tolist() == ["west"] * 4 + ["east"] * 4
    clusters = pd.read_csv(io.StringIO(str(made["clusters.csv"])))
    assert clusters[["nodes", "most_linked_to"]].values.tolist() == [[4, 2], [4, 1]]
    assert len(pd.read_csv(io.StringIO(str(made["agreement.csv"])))) == 1
    for end in ("groups.html", "nodes.html", "matrix.html"):
        assert "<html" in str(made[end])[:200]
    assert bytes(made["matrix.png"])[:4] == b"\x89PNG"  # type: ignore[arg-type]
