"""The part of the Topics page on time and groups: its sentences, choices and files."""

from __future__ import annotations

import io
import json

import numpy as np
import pandas as pd
import pytest

from acvb_core.engine.fitting import fit
from acvb_core.engine.result import Result
from acvb_core.models.lda.answer.summary import summarise_parts
from acvb_core.samples.planted_tickets import planted_tickets
from pages.ui.lda import topic_effects
from pages.ui.lda.topic_view import build_view
from pages.ui.lda.topics_page import list_words
from pages.ui.shared.format import percent
from pages.ui.shared.picking import FileOffer
from pages.ui.shared.workspace import Workspace
from tests.pages.lda.topics import EVIL, fitted, small_corpus
from tests.pages.session import WORKSPACE, Open, box, frame, jobs_of, opened, press, show_part, texts

PART = "Over time and groups"


@pytest.fixture(scope="module")
def tickets() -> Result:
    """A run on tickets that has found their topics."""
    return fit(planted_tickets(500, seed=3).corpus, "cvb0", k=8, seed=3, restarts=3)


def test_time_groups_and_numbers_are_told_in_sentences_with_names(open_app: Open, tickets: Result) -> None:
    app = opened(open_app, "topics", tickets)
    show_part(app, PART)
    column = box(app, "Compare")
    assert column.options == [
        "over time: created",
        "by group: product",
        "by group: channel",
        "by number: rating",
    ]
    assert "between January 2023 and December 2023" in texts(app)
    topic = box(app, "Topic").value
    assert f"“{topic} · {tickets.names['topics'][topic - 1]}”" in texts(app)
    assert len([one for one in app.get("plotly_chart") if "effects" in one.proto.id]) == 2
    column.set_value("product").run()
    assert " between the groups of product: " in texts(app)
    table = frame(app, "kettle")
    assert table.columns.tolist() == ["Topic", "chair", "kettle", "lamp"]
    assert table["kettle"].str.endswith(" *").any()
    assert table["Topic"].iloc[0] == f"1 · {tickets.names['topics'][0]}"
    box(app, "Compare").set_value("rating").run()
    assert " with rating, from 1 to 5: " in texts(app)
    assert frame(app, "5").columns.tolist() == ["Topic", "1", "2", "3", "4", "5"]
    assert not app.exception


def test_the_whole_page_is_of_a_group_until_one_press(open_app: Open, tickets: Result) -> None:
    app = opened(open_app, "topics", tickets)
    chairs = tickets.among("product", "chair")
    assert box(app, "Documents").options[:2] == ["all documents", "product: chair"]
    app.session_state["topics_document"] = (jobs_of(app)[0].id, 1, 499)  # beyond the group
    box(app, "Documents").set_value("product: chair").run()
    n = len(chairs.documents)
    assert f"8 topics in {n} documents with product: chair, the largest" in texts(app)
    assert f"{n} of 500 documents. Shares, documents, comparisons" in texts(app)
    assert app.query_params["documents"] == "product: chair"
    share = summarise_parts(chairs)["Topics"]["share"]
    (drawn,) = (one.proto.json for one in app.get("bidi_component") if "cards" in one.proto.json)
    assert [card["share"] for card in json.loads(drawn)["cards"]] == [percent(value) for value in share]
    show_part(app, "Documents")
    listed = frame(app, "name", "beginning")["name"]
    assert set(listed) <= set(chairs.documents["document"])
    assert f"<div class='document-name'>{listed[0]}</div>" in texts(app)
    (job,) = jobs_of(app)
    view = build_view(job, chairs)
    words = list_words(Workspace(WORKSPACE), job, view).drop_duplicates("topic")
    np.testing.assert_array_equal(words["share"], share)
    assert words["share_low"].isna().all()
    show_part(app, PART)
    assert box(app, "Compare").options == ["over time: created", "by group: channel", "by number: rating"]
    press(app, "topics_all")
    assert "8 topics in 500 documents, the largest" in texts(app)
    assert "documents" not in app.query_params
    assert not app.exception


def test_the_files_have_the_names_of_topics(
    open_app: Open, tickets: Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    offers: list[FileOffer] = []
    monkeypatch.setattr(topic_effects, "show_download", lambda result, offer: offers.append(offer))
    show_part(opened(open_app, "topics", tickets), PART)
    assert [one.label for one in offers] == ["Shares over time", "Changes, with tests"]
    shares, changes = (pd.read_csv(io.StringIO(str(one.make()))) for one in offers)
    assert shares.columns[:6].tolist() == ["period", "begin", "documents", "words", "topic", "name"]
    assert shares["period"].nunique() == 12
    assert changes["topic"].tolist() == list(range(1, 9))
    for table in (shares, changes):
        names = [tickets.names["topics"][topic - 1] for topic in table["topic"]]
        assert table["name"].str.removeprefix("'").tolist() == names


def test_names_of_groups_are_never_markup(open_app: Open) -> None:
    groups = np.array([EVIL, "Topic"], dtype=object)[np.arange(25) % 2]
    days = np.datetime64("2020-01-01") + np.arange(25)
    result = fit(small_corpus(metadata={"*who*": groups, "day": days}), "cvb0", k=2, seed=1, heldout=0.0)
    app = opened(open_app, "topics", result)
    show_part(app, PART)
    box(app, "Compare").set_value("*who*").run()
    assert frame(app, EVIL).columns.tolist() == ["Topic", EVIL, "Topic (group)"]
    box(app, "Documents").set_value(f"*who*: {EVIL}").run()
    assert not app.exception
    assert not any(
        EVIL in str(one.value) or "*who*" in str(one.value) for one in (*app.markdown, *app.caption)
    )


def test_texts_without_columns_say_what_is_missing(open_app: Open) -> None:
    app = opened(open_app, "topics", fit(small_corpus(), "cvb0", k=2, seed=1))
    show_part(app, PART)
    assert "These texts have no dates, groups or numbers" in texts(app)


def test_known_labels_are_groups(open_app: Open) -> None:
    app = opened(open_app, "topics", fitted())
    show_part(app, PART)
    assert box(app, "Compare").options == ["by group: label"]
