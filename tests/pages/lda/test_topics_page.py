"""The Topics page: what it shows of a run on texts, and what it says before there is one."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from acvb_core.engine.fitting import fit
from acvb_core.engine.history import Verdict
from acvb_core.engine.result import Result
from acvb_core.evaluate.ranking import ranked_words
from pages.ui.lda.topic_documents import OPENED
from pages.ui.lda.topic_view import build_view
from pages.ui.lda.topics_page import list_words
from pages.ui.shared.picking import read_answer
from pages.ui.shared.workspace import Workspace
from tests.pages.lda.topics import EVIL, fitted, small_corpus
from tests.pages.session import WORKSPACE, Open, box, opened, show_part, texts


@pytest.fixture(scope="module")
def found() -> Result:
    return fitted()


def cards(app: AppTest) -> dict[str, Any]:
    """What the component of the cards was given."""
    (shown,) = (one.proto.json for one in app.get("bidi_component") if "cards" in one.proto.json)
    return dict(json.loads(shown))


def test_only_what_is_visible_is_worked_out_and_only_once(
    open_app: Open, found: Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    ranked: list[tuple[int, ...]] = []

    def rank(*args: Any, **more: Any) -> pd.DataFrame:
        ranked.append(tuple(more["topics"]))
        return ranked_words(*args, **more)

    monkeypatch.setattr("pages.ui.lda.topic_view.ranked_words", rank)
    app = opened(open_app, "topics", found)
    (job,) = Workspace(WORKSPACE).jobs
    view = build_view(job, read_answer(job))
    assert "quality" in view.__dict__  # the cards show it
    assert not {"label_shares", "index"} & view.__dict__.keys()
    assert ranked == [(0, 1), (0,), (0, 1)]
    app.run()
    box(app, "Topic").set_value(2).run()
    assert ranked == [(0, 1), (0,), (0, 1), (1,)]
    show_part(app, "Known labels")
    assert "label_shares" in view.__dict__


def test_topics_are_shown_with_their_range_over_seeds(open_app: Open, found: Result) -> None:
    settings = found.prepared.spec
    others = [fit(found.prepared.data, settings.method, seed=seed, **settings.values) for seed in (2, 3)]
    diverged = others[1].with_state(snapshot=replace(others[1].snapshot, verdict=Verdict.DIVERGED))
    app = opened(open_app, "topics", found, others[0], diverged)
    box(app, "Topic").set_value(2).run()
    app.selectbox(key="topics_run").set_value(f"{1:012x}").run()
    assert box(app, "Topic").value == 1, "another run begins with its first topic"
    app.selectbox(key="topics_run").set_value(f"{0:012x}").run()
    show_part(app, "How sure?")
    topics, words = (frame.value for frame in app.dataframe)
    assert topics["Runs"].tolist() == ["2 of 2", "2 of 2"]
    assert "Both seeds agree well. Both topics are found by every run." in texts(app)
    assert (topics["Lowest"] <= topics["Share"]).all()
    assert (topics["Share"] <= topics["Highest"]).all()
    assert words["In the top ten of"].iloc[0] == "2 of 2"
    job = next(job for job in Workspace(WORKSPACE).jobs if job.id == f"{0:012x}")
    table = list_words(Workspace(WORKSPACE), job, build_view(job, read_answer(job)))
    first = table[table["rank"] == 1]
    assert first["share_low"].tolist() == topics["Lowest"].tolist()
    assert first["word"].iloc[0] == words["Word"].iloc[0]
    assert first["high"].iloc[0] == words["Highest"].iloc[0]


def test_an_empty_topic_has_no_words_and_no_bar(open_app: Open) -> None:
    result = fit(
        small_corpus(), "gibbs", k=10, hyper="fixed", alpha=0.001, beta=1.0, max_sweeps=40, burn_in=20
    )
    used = result.snapshot.effective_k["topics"]
    assert used < 10
    app = opened(open_app, "topics", result)
    assert f"{used} of 10 topics in use; the others are empty." in texts(app)
    assert f"in use, {10 - used} empty" in texts(app)
    assert len(cards(app)["cards"]) == len(box(app, "Topic").options) == used
    show_part(app, "Quality")
    assert len(app.dataframe[0].value) == used


def test_a_run_is_shown(open_app: Open, found: Result) -> None:
    app = opened(open_app, "topics", found)
    assert "small · 25 documents · " in texts(app)
    assert "2 topics" in texts(app)
    assert len(app.get("plotly_chart")) == 2
    assert len(app.get("download_button")) == 9
    assert "acvb_core.fit(" in app.code[0].value
    shown = cards(app)
    assert [card["topic"] for card in shown["cards"]] == [1, 2]
    assert shown["selected"] == 1
    words = {word for card in shown["cards"] for word in card["words"]}
    assert {"dog", "cat", "star", "planets"} <= words


def test_a_topic_is_renamed_and_stays_chosen(open_app: Open, found: Result) -> None:
    app = opened(open_app, "topics", found)
    box(app, "Topic").set_value(2).run()
    app.text_input(key=f"name_topics_{0:012x}_2").set_value(EVIL).run()
    assert cards(app)["cards"][1]["name"] == EVIL
    assert box(app, "Topic").options[1] == f"2 · {EVIL}"
    again = open_app("topics")
    assert cards(again)["cards"][1]["name"] == EVIL
    assert "&lt;b&gt;x&lt;/b&gt;" in texts(app)
    marked = [*app.markdown, *app.caption, *app.subheader, *app.title]
    assert not any("example.org" in str(element.value) for element in marked)
    assert "<b>x</b>" not in "".join(element.proto.body for element in app.get("html"))


def test_a_word_is_looked_up(open_app: Open, found: Result) -> None:
    app = opened(open_app, "topics", found)
    app.text_input(key="topics_search").set_value("DOG").run()
    shown = cards(app)
    topics = found.prepared.model.topics(found.posterior)  # type: ignore[attr-defined]
    word = found.prepared.data.vocabulary.tolist().index("dog")
    part_of = topics.share * topics.word_probability[:, word]
    assert shown["marked"] == "dog"
    assert shown["cards"][0]["topic"] == int(part_of.argmax()) + 1
    share = 100 * part_of.max() / part_of.sum()
    assert shown["cards"][0]["note"].startswith(f"{share:.3g} % of its occurrences")
    app.text_input(key="topics_search").set_value("planet").run()
    app.selectbox(key="topics_found").select("planets").run()
    assert cards(app)["marked"] == "planets"
    app.text_input(key="topics_search").set_value("unheard").run()
    assert "No word of the vocabulary" in texts(app)
    assert len(cards(app)["cards"]) == 2


def test_documents_of_a_topic(open_app: Open, found: Result) -> None:
    app = show_part(opened(open_app, "topics", found), "Documents")
    listed = app.dataframe[0].value
    theta = found.documents["topic_1"].to_numpy()
    np.testing.assert_allclose(listed["share"], np.sort(theta[:24])[::-1])
    assert len(listed) == 24  # the empty one is in no topic's list
    assert listed["name"].iloc[0] in texts(app)
    assert "background:" in texts(app)
    app.text_input(key="documents_search").set_value("TEXT 2").run()
    assert app.dataframe[0].value["name"].tolist()[0] == "text 2"
    assert set(app.dataframe[0].value["name"]) == {"text 2", *(f"text {i}" for i in range(20, 25))}
    app.text_input(key="documents_search").set_value("nowhere").run()
    assert "No document has this" in texts(app)
    app.text_input(key="documents_search").set_value("")
    app.session_state[OPENED] = (f"{0:012x}", 1, 24)
    assert "0 words · label none" in texts(app.run())
    box(app, "Topic").set_value(2).run()
    assert "label none" not in texts(app), "another topic has documents of its own"


def test_quality_and_labels(open_app: Open, found: Result) -> None:
    app = show_part(opened(open_app, "topics", found), "Quality")
    assert app.dataframe[0].value["topic"].tolist() == [1, 2]
    assert [metric.label for metric in app.metric][-1] == "Diversity"
    show_part(app, "Known labels")
    table = app.dataframe[0].value
    np.testing.assert_allclose(table[["pets", "sky"]].sum(), 1.0)
    assert table["none"].isna().all()
    pets, sky = table["pets"].to_numpy(), table["sky"].to_numpy()
    assert pets.argmax() != sky.argmax()
    assert min(pets.max(), sky.max()) > 0.8
