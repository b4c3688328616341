"""The Data page and networks: what is recognised and why, other readings of a file, known labels."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from acvb_core.data.relation import Relation
from pages.ui.shared.workspace import Workspace
from tests.pages.irm.networks import FRIENDS, GRAPHML, HOUSES, SORTED_FRIENDS, friends
from tests.pages.session import WORKSPACE, Open, bring, figures, kind_switch, press, texts

OUTINGS = b"person,event\nAnn,Fair\nBob,Fair\nBob,Ball\nCyd,Ball\n"


def upload(app: AppTest, name: str, content: bytes) -> AppTest:
    """Upload a file and load it."""
    return press(bring(app, name, content), "load")


def choose_kind(app: AppTest, kind: str) -> AppTest:
    kind_switch(app).set_value(kind).run()
    assert not app.exception
    return app


def choose(app: AppTest, label: str, value: object) -> AppTest:
    next(box for box in app.selectbox if box.label == label).select(value).run()
    assert not app.exception
    return app


def labels(app: AppTest) -> list[str]:
    return [str(box.label) for box in app.selectbox]


def data() -> Relation:
    dataset = Workspace(WORKSPACE).dataset
    assert dataset is not None
    assert isinstance(dataset.data, Relation)
    return dataset.data


def test_before_a_file_is_loaded_it_is_said_what_is_recognised(open_app: Open) -> None:
    app = bring(open_app("data"), "friends.csv", FRIENDS)
    assert kind_switch(app).value == "network"
    assert "Links are" in labels(app)
    assert "Recognised: network. Rows and columns are the same objects" in texts(app)
    assert Workspace(WORKSPACE).dataset is None


def test_what_is_recognised_is_said_with_the_reason(open_app: Open) -> None:
    app = upload(open_app("data"), "friends.csv", FRIENDS)
    said = texts(app)
    assert (
        "Recognised: network. Rows and columns are the same objects: the columns are named as those of a network"
        in said
    )
    assert "Recognised. The network is directed" in said
    assert "self-links do not count" in said
    assert data().network is not None
    assert data().network.directed
    assert figures(app) == {"Nodes": "8", "Links": "13", "Density": "23.2 %", "Components": "1"}
    assert "Directed, without self-links" in said


def test_another_reading_is_taken_at_once_and_the_guess_can_be_taken_again(open_app: Open) -> None:
    app = upload(open_app("data"), "friends.csv", FRIENDS)
    choose(app, "Links are", False)
    assert data().network is not None
    assert not data().network.directed
    assert figures(app)["Density"] == "46.4 %"
    choose(app, "Self-links", True)
    assert data().network.self_links
    choose_kind(app, "relation")
    assert data().network is None
    assert figures(app)["Rows"] == "6"
    assert "Links are" not in labels(app)
    # Why it was taken for a network is still told, and the other choices come back.
    assert "Recognised: network. Rows and columns are the same objects" in texts(app)
    choose_kind(app, "network")
    assert data().network is not None
    assert not data().network.directed
    choose(app, "Links are", "auto")
    choose(app, "Self-links", "auto")
    assert data().network.directed
    assert not data().network.self_links


@pytest.mark.parametrize("directed", [True, False])
def test_a_direction_that_the_file_does_not_show_is_asked_with_a_button_for_each_answer(
    open_app: Open, directed: bool
) -> None:
    app = bring(open_app("data"), "friends.csv", SORTED_FRIENDS)
    assert kind_switch(app).value == "network"
    press(app, "load")
    assert "(“Links are: directed”)" in texts(app)
    assert Workspace(WORKSPACE).dataset is None
    assert "between objects of one kind" in texts(app)
    press(app, f"choose_directed_{directed}")
    assert data().network.directed == directed


def test_who_wanted_to_go_on_goes_on_after_an_answer(open_app: Open) -> None:
    app = bring(open_app("data"), "friends.csv", SORTED_FRIENDS)
    press(app, "load_and_run")
    press(app, "choose_directed_True")
    assert data().network.directed
    assert app.title[0].value == "Run"


@pytest.mark.parametrize(("threshold", "links"), [("", 9), ("90%", 1), ("5", 4)])
def test_what_a_threshold_gives_up_is_said_before_loading(open_app: Open, threshold: str, links: int) -> None:
    amounts = b"person,event,amount\n" + b"".join(b"p%d,e%d,%d\n" % (n, n % 3, n) for n in range(1, 10))
    app = bring(open_app("data"), "orders.csv", amounts, "relation")
    field = next(found for found in app.text_input if found.label == "Threshold")
    field.set_value(threshold).run()
    assert "The values are amounts, from 1 to 9" in texts(app)
    assert Workspace(WORKSPACE).dataset is None
    press(app, "load")
    assert data().n_ones == links


def test_two_kinds_of_objects_stay_two_and_can_be_made_one(open_app: Open) -> None:
    app = upload(open_app("data"), "outings.csv", OUTINGS)
    assert data().network is None
    assert "no name occurs on both" in texts(app)
    assert "Links are" not in labels(app)
    choose_kind(app, "network")
    assert data().shape == (5, 5)
    assert "Links are" in labels(app)


def test_attributes_of_a_graph_file_are_known_labels(open_app: Open) -> None:
    app = upload(open_app("data"), "friends.graphml", GRAPHML)
    table = next(frame.value for frame in app.dataframe if "Attribute" in frame.value)
    assert table.to_dict("records") == [
        {"Attribute": "house", "Objects with a label": 8, "Labels": 2, "First labels": "west, east"}
    ]


def test_labels_can_be_brought_and_outlive_another_reading(open_app: Open) -> None:
    app = upload(open_app("data"), "friends.csv", FRIENDS)
    app.file_uploader(key="data_labels").upload("houses.csv", HOUSES).run()
    assert not app.exception
    assert data().attributes["house"][data().row_labels.tolist().index("Hal")] == "east"
    assert "8 of 8 objects have labels: house" in texts(app)
    app.switch_page("pages/guide.py").run()
    app.switch_page("pages/data.py").run()  # the file of labels is no longer at hand
    choose(app, "Links are", False)
    assert not data().network.directed
    assert data().attributes["house"][data().row_labels.tolist().index("Hal")] == "east"


def test_labels_of_nobody_are_refused_in_words(open_app: Open) -> None:
    app = upload(open_app("data"), "friends.csv", FRIENDS)
    app.file_uploader(key="data_labels").upload("no.csv", b"name,house\nZoe,west\n").run()
    assert not app.exception
    assert "We couldn't read this file with these settings" in texts(app)
    assert "Found: Zoe" in texts(app)
    assert not data().attributes


def test_pairs_of_an_undirected_network_are_counted_once() -> None:
    assert friends().n_known == 28
    assert friends(directed=True).n_known == 56
