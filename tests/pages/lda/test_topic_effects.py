"""The part of the Topics page on time and groups: its sentences, choices and files."""

from __future__ import annotations

import numpy as np
import pytest

from acvb_core.engine.fitting import fit
from acvb_core.engine.result import Result
from acvb_core.samples.planted_tickets import planted_tickets
from tests.pages.lda.topics import EVIL, fitted, small_corpus
from tests.pages.session import Open, frame, opened, show_part, texts

PART = "Over time and groups"


@pytest.fixture(scope="module")
def tickets() -> Result:
    """A run on tickets that has found their topics."""
    return fit(planted_tickets(500, seed=3).corpus, "cvb0", k=8, seed=3, restarts=3)


def test_time_groups_and_numbers_are_told_in_sentences_with_names(open_app: Open, tickets: Result) -> None:
    app = opened(open_app, "topics", tickets)
    show_part(app, PART)
    column = next(found for found in app.selectbox if found.label == "Compare")
    assert column.options == [
        "over time: created",
        "by group: product",
        "by group: channel",
        "by number: rating",
    ]
    assert "between January 2023 and December 2023" in texts(app)
    topic = app.selectbox(key="topics_topic").value
    assert f"“{topic} · {tickets.names['topics'][topic - 1]}”" in texts(app)
    assert len([one for one in app.get("plotly_chart") if "effects" in one.proto.id]) == 2
    column.set_value("product").run()
    assert " between the groups of product: " in texts(app)
    table = frame(app, "kettle")
    assert table.columns.tolist() == ["Topic", "chair", "kettle", "lamp"]
    assert table["kettle"].str.endswith(" *").any()
    assert table["Topic"].iloc[0] == f"1 · {tickets.names['topics'][0]}"
    next(found for found in app.selectbox if found.label == "Compare").set_value("rating").run()
    assert " with rating, from 1 to 5: " in texts(app)
    assert frame(app, "5").columns.tolist() == ["Topic", "1", "2", "3", "4", "5"]
    among = next(found for found in app.selectbox if found.label == "Documents")
    assert among.options[:2] == ["all documents", "product: chair"]
    among.set_value(1).run()
    chairs = int((tickets.prepared.data.metadata["product"] == "chair").sum())
    assert f"{chairs:,} documents." in texts(app)
    assert not app.exception


def test_the_files_have_the_names_of_topics(open_app: Open, tickets: Result) -> None:
    app = opened(open_app, "topics", tickets)
    show_part(app, PART)
    buttons = [one for one in app.get("download_button") if "topics-" in one.proto.id]
    assert [one.proto.label for one in buttons] == ["Shares over time", "Changes, with tests"]


def test_names_of_groups_are_never_markup(open_app: Open) -> None:
    groups = np.array([EVIL, "Topic"], dtype=object)[np.arange(25) % 2]
    days = np.datetime64("2020-01-01") + np.arange(25)
    result = fit(small_corpus(metadata={"*who*": groups, "day": days}), "cvb0", k=2, seed=1, heldout=0.0)
    app = opened(open_app, "topics", result)
    show_part(app, PART)
    next(found for found in app.selectbox if found.label == "Compare").set_value("*who*").run()
    assert frame(app, EVIL).columns.tolist() == ["Topic", EVIL, "Topic (group)"]
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
    assert next(found for found in app.selectbox if found.label == "Compare").options == ["by group: label"]
