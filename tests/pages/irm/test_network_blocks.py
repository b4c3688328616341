"""The Blocks page of a network: matrix and graphs, known labels, link prediction, files."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from streamlit.testing.v1 import AppTest

from acvb_core.data.relation import Network, Relation
from acvb_core.engine.fitting import fit
from acvb_core.engine.result import Result
from acvb_core.models.irm.figures.arrangement import arrange_result, cluster_table
from acvb_core.models.irm.scores import likely_links
from acvb_core.samples.catalogue import load_sample
from pages.ui.irm import block_links
from pages.ui.irm.block_links import name_ends
from pages.ui.irm.blocks_page import list_files
from pages.ui.shared.workspace import Workspace
from tests.pages.irm.networks import HOUSES, NAMES, PAIRS, fitted, friends, in_use, stored
from tests.pages.session import WORKSPACE, Open, show_part, texts


@pytest.fixture(scope="module")
def found() -> Result:
    return fitted(friends())


@pytest.fixture(scope="module")
def labelled() -> Result:
    return fitted(friends(known=True), "vb")


def opened(open_app: Open, *results: Result) -> AppTest:
    stored(*results)
    app = open_app("blocks")
    assert not app.exception
    return app


def frame(app: AppTest, column: str) -> pd.DataFrame:
    """The table that has a column of this name."""
    return next(shown.value for shown in app.dataframe if column in shown.value)


def switch(app: AppTest, key: str, value: str | bool) -> AppTest:
    next(group for group in app.get("button_group") if group.key == key).set_value(value)
    app.run()
    assert not app.exception
    return app


def charts(app: AppTest) -> list[str]:
    return [chart.proto.id for chart in app.get("plotly_chart")]


def drawn(app: AppTest, key: str) -> bool:
    return any(key in name for name in charts(app))


def test_the_matrix_comes_first_and_everything_speaks_of_nodes(open_app: Open, found: Result) -> None:
    app = opened(open_app, found)
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
    app = opened(open_app, result)
    switch(app, "blocks_view", "network")
    assert drawn(app, "network_chart_groups")
    assert not drawn(app, "blocks_sorted")
    n_clusters = result.posterior.n_clusters()["rows"]
    app.selectbox(key=f"network_highlight_{n_clusters}").select(n_clusters).run()
    assert not app.exception
    switch(app, "network_shown", "nodes")
    assert drawn(app, "network_chart_nodes")
    assert not drawn(app, "network_chart_groups")


def test_a_network_of_too_many_nodes_is_not_drawn_one_by_one(
    open_app: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    n = 3_200
    monkeypatch.setattr("acvb_core.models.irm.figures.network_layout.MOST_NODES", n - 1)
    ring = sparse.csr_array((np.ones(n), (np.arange(n), (np.arange(n) + 1) % n)), shape=(n, n))
    large = Relation.build(ring, name="ring", network=Network(directed=False))
    app = opened(open_app, fitted(large, "vb", max_sweeps=2, init="random"))
    switch(app, "blocks_view", "network")
    assert drawn(app, "network_chart_groups")
    switch(app, "network_shown", "nodes")
    assert not drawn(app, "network_chart_nodes")
    assert "3,200 nodes" in " ".join(str(element.value) for element in app.info)
    assert not any(button.label == "Nodes, interactive" for button in app.get("download_button"))


def test_two_clusterings_of_a_network_have_no_graph(open_app: Open) -> None:
    app = opened(open_app, fitted(friends(known=True), "vb", "irm", k_cols=4))
    assert "blocks_view" not in [group.key for group in app.get("button_group")]
    assert drawn(app, "blocks_sizes_cols")
    assert "K 4 × 4" in app.selectbox(key="blocks_run").options[0]
    show_part(app, "Known labels")
    assert len(frame(app, "ari")) == 1
    switch(app, "label_domain", "cols")


def test_clusters_are_told_one_by_one(found: Result) -> None:
    table = cluster_table(arrange_result(found))
    assert table["cluster"].tolist() == [1, 2]
    assert table["nodes"].tolist() == [4, 4]
    assert table["most_linked_to"].tolist() == [2, 1]
    assert (table["inside"] > 0.7).all()
    assert (table["to_it"] < 0.3).all()
    members = [set(names.split(", ")) for names in table["names"]]
    assert {frozenset(names) for names in members} == {frozenset(NAMES[:4]), frozenset(NAMES[4:])}


def test_known_labels_are_held_against_the_clusters(open_app: Open, labelled: Result) -> None:
    app = show_part(opened(open_app, labelled), "Known labels")
    line = frame(app, "ari").iloc[0]
    assert (line["attribute"], line["known"]) == ("house", 8)
    assert line["ari"] == pytest.approx(1.0)
    assert drawn(app, "label_chart")
    assert "Each number counts the nodes of a cluster (row) that have a label (column)." in texts(app)
    assert "All counts of the labels" in [button.label for button in app.get("download_button")]
    assert "Agreement with known labels" in [button.label for button in app.get("download_button")]


def test_labels_can_be_brought_for_the_data_in_use(open_app: Open, found: Result) -> None:
    in_use(friends())
    app = show_part(opened(open_app, found), "Known labels")
    assert "The nodes have no known labels" in texts(app)
    app.file_uploader(key="blocks_labels").upload("houses.csv", HOUSES).run()
    assert not app.exception
    assert frame(app, "ari")["ari"].tolist() == pytest.approx([1.0])
    dataset = Workspace(WORKSPACE).dataset
    assert dataset is not None
    assert set(dataset.data.attributes) == {"house"}


def test_links_that_stand_out_are_listed(open_app: Open, found: Result) -> None:
    app = show_part(opened(open_app, found), "Link prediction")
    likely, surprising = (shown.value for shown in app.dataframe if "block_probability" in shown.value)
    pairs = {frozenset(pair) for pair in PAIRS}
    assert not any(frozenset(pair) in pairs for pair in zip(likely["row"], likely["column"], strict=True))
    assert len(likely) == 28 - 13
    assert set(surprising.iloc[0][["row", "column"]]) == {"Dan", "Eve"}
    app.number_input(key="link_number").set_value(3).run()
    assert [len(shown.value) for shown in app.dataframe if "block_probability" in shown.value] == [3, 3]
    assert "3 pairs as CSV" in [button.label for button in app.get("download_button")]
    assert "link_among" not in [group.key for group in app.get("button_group")]


def test_links_are_predicted_by_the_samples_or_by_the_clusters(open_app: Open) -> None:
    result = fit(load_sample("karate").relation, "acvb0", heldout=0.1)
    strengths = result.prepared.model.strengths(result.posterior)
    app = show_part(opened(open_app, result), "Link prediction")
    score = result.snapshot.heldout
    assert (
        f"{100 * score.averaged_skill:.1f} % by the samples, {100 * score.skill:.1f} % by the clusters"
        in texts(app)
    )
    assert "The samples predict unless you choose otherwise." in texts(app)
    for chosen in (False, True):
        switch(app, f"link_by_{0:012x}", chosen)
        table = next(shown.value for shown in app.dataframe if "block_probability" in shown.value)
        expected = likely_links(
            result.prepared.data, result.posterior, strengths, among="unlinked", averaged=chosen
        )
        np.testing.assert_allclose(table["probability"], expected["probability"])


def test_very_many_pairs_are_looked_at_when_asked_for(
    open_app: Open, found: Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(block_links, "QUICK", 63)
    app = show_part(opened(open_app, found), "Link prediction")
    assert "Scoring all 64 pairs takes a while" in texts(app)
    assert sum("block_probability" in shown.value for shown in app.dataframe) == 1
    app.button(key="link_look").click().run()
    assert not app.exception
    assert sum("block_probability" in shown.value for shown in app.dataframe) == 2


def test_unknown_pairs_can_be_looked_at_too(open_app: Open) -> None:
    ones = np.array([[int((a, b) in PAIRS or (b, a) in PAIRS) for b in NAMES] for a in NAMES])
    missing = np.zeros_like(ones)
    for a, b in ((0, 1), (0, 5)):
        ones[a, b] = ones[b, a] = 0
        missing[a, b] = missing[b, a] = 1
    relation = Relation.build(ones, missing, row_labels=NAMES, network=Network(directed=False))
    assert relation.n_unknown == 2
    app = show_part(opened(open_app, fitted(relation, "vb")), "Link prediction")
    switch(app, "link_among", "missing")
    likely = next(shown.value for shown in app.dataframe if "block_probability" in shown.value)
    assert [set(pair) for pair in zip(likely["row"], likely["column"], strict=True)] == [
        {"Ann", "Bob"},
        {"Ann", "Fay"},
    ]


def test_a_network_without_links_says_so(open_app: Open) -> None:
    empty = Relation.build(np.zeros((5, 5)), name="empty", network=Network())
    app = show_part(opened(open_app, fitted(empty, "vb")), "Link prediction")
    assert "These data have no links" in texts(app)
    switch(app, "blocks_view", "network")


def test_ends_of_a_link_have_names() -> None:
    assert name_ends(friends()) == ("Node", "Other node")
    assert name_ends(friends(directed=True)) == ("From", "To")
    assert name_ends(Relation.build([[1, 0]])) == ("Row object", "Column object")


def test_every_file_can_be_made(labelled: Result) -> None:
    made = {
        offer.end: offer.make()
        for offer in list_files(("x", 1, ""), labelled, arrange_result(labelled), None)
    }
    nodes = pd.read_csv(io.StringIO(str(made["nodes.csv"])))
    assert nodes["known_house"].tolist() == ["west"] * 4 + ["east"] * 4
    assert len(pd.read_csv(io.StringIO(str(made["clusters.csv"])))) == 2
    assert len(pd.read_csv(io.StringIO(str(made["agreement.csv"])))) == 1
    for end in ("groups.html", "nodes.html", "matrix.html"):
        assert "<html" in str(made[end])[:200]
    assert bytes(made["matrix.png"])[:4] == b"\x89PNG"  # type: ignore[arg-type]
