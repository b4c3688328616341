"""The Data page and networks: what is recognised and why, other readings of a file, known labels."""

from __future__ import annotations

from typing import Any

from streamlit.testing.v1 import AppTest

from pages.ui.shared.workspace import Workspace
from tests.pages.irm.networks import FRIENDS, GRAPHML, HOUSES, SORTED_FRIENDS
from tests.pages.session import WORKSPACE, Open, box, bring, figures, frame, in_use, kind_switch, press, texts

OUTINGS = b"person,event\nAnn,Fair\nBob,Fair\nBob,Ball\nCyd,Ball\n"


def upload(app: AppTest, name: str, content: bytes) -> AppTest:
    """Upload a file and load it."""
    return press(bring(app, name, content), "load")


def choose_kind(app: AppTest, kind: str) -> AppTest:
    kind_switch(app).set_value(kind).run()
    assert not app.exception
    return app


def choose(app: AppTest, label: str, value: object) -> AppTest:
    box(app, label).select(value).run()
    assert not app.exception
    return app


def labels(app: AppTest) -> list[str]:
    return [str(box.label) for box in app.selectbox]


def data() -> Any:
    return in_use().data


def test_what_is_recognised_is_said_with_the_reason(open_app: Open) -> None:
    app = upload(open_app("data"), "friends.csv", FRIENDS)
    said = texts(app)
    assert "Rows and columns are the same objects: the columns are named as those of a network" in said
    assert "Recognised. The network is directed" in said
    assert "self-links do not count" in said
    assert data().network.directed
    assert figures(app) == {"Nodes": "8", "Links": "13", "Density": "23.2 %", "Components": "1"}
    assert "Directed, without self-links" in said


def test_another_reading_is_taken_at_once_and_the_guess_can_be_taken_again(open_app: Open) -> None:
    app = upload(open_app("data"), "friends.csv", FRIENDS)
    choose(app, "Links are", False)
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
    assert not data().network.directed
    choose(app, "Links are", "auto")
    choose(app, "Self-links", "auto")
    assert data().network.directed
    assert not data().network.self_links


def test_a_direction_that_the_file_does_not_show_is_asked_with_buttons(open_app: Open) -> None:
    app = bring(open_app("data"), "friends.csv", SORTED_FRIENDS)
    assert kind_switch(app).value == "network"
    press(app, "load")
    assert "(“Links are: directed”)" in texts(app)
    assert Workspace(WORKSPACE).dataset is None
    assert "between objects of one kind" in texts(app)
    press(app, "choose_directed_False")
    assert not data().network.directed


def test_what_a_threshold_gives_up_is_said_before_loading(open_app: Open) -> None:
    amounts = b"person,event,amount\n" + b"".join(b"p%d,e%d,%d\n" % (n, n % 3, n) for n in range(1, 10))
    app = bring(open_app("data"), "orders.csv", amounts, "relation")
    field = next(found for found in app.text_input if found.label == "Threshold")
    field.set_value("90%").run()
    assert "The values are amounts, from 1 to 9" in texts(app)
    assert Workspace(WORKSPACE).dataset is None
    press(app, "load")
    assert data().n_ones == 1


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
    assert frame(app, "Attribute").to_dict("records") == [
        {"Attribute": "house", "Objects with a label": 8, "Labels": 2, "First labels": "west, east"}
    ]


def test_labels_can_be_brought_and_outlive_another_reading(open_app: Open) -> None:
    app = upload(open_app("data"), "friends.csv", FRIENDS)
    app.file_uploader(key="data_rows_labels").upload("houses.csv", HOUSES).run()
    assert data().attributes["house"][data().row_labels.tolist().index("Hal")] == "east"
    assert "8 of 8 objects have labels: house" in texts(app)
    app.switch_page("pages/guide.py").run()
    app.switch_page("pages/data.py").run()  # the file of labels is no longer at hand
    choose(app, "Links are", False)
    assert not data().network.directed
    assert data().attributes["house"][data().row_labels.tolist().index("Hal")] == "east"


def test_labels_of_nobody_are_refused_in_words(open_app: Open) -> None:
    app = upload(open_app("data"), "friends.csv", FRIENDS)
    app.file_uploader(key="data_rows_labels").upload("no.csv", b"name,house\nZoe,west\n").run()
    assert "We couldn't read this file with these settings" in texts(app)
    assert "Found: Zoe" in texts(app)
    assert not data().attributes
