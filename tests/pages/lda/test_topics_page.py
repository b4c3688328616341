"""The Topics page: what it shows of a run on texts, and what it says before there is one."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from acvb_core.data.corpora.tokenise import Tokeniser
from acvb_core.data.corpus import Corpus
from acvb_core.engine.fitting import fit
from acvb_core.engine.history import Verdict
from acvb_core.engine.prepared import prepare_run
from acvb_core.engine.result import Result
from acvb_core.evaluate.ranking import ranked_words, top_words
from acvb_core.models.lda.topics import IDENTIFYING, Topics
from acvb_core.samples.catalogue import load_sample
from pages.ui.lda.topic_documents import OPENED
from pages.ui.lda.topic_list import describe_word
from pages.ui.lda.topic_view import TopicView, build_view, open_topic_names
from pages.ui.lda.topics_page import list_document_files, list_words
from pages.ui.shared import services
from pages.ui.shared.picking import read_answer
from pages.ui.shared.workspace import Workspace
from tests.pages.lda.topics import EVIL, fitted, opened, part, small_corpus
from tests.pages.session import WORKSPACE, Open, press, texts, until


@pytest.fixture(scope="module")
def found() -> Result:
    return fitted()


@pytest.fixture(scope="module")
def three() -> Result:
    return fit(small_corpus(), "vb", k=3, hyper="fixed")


def cards(app: AppTest) -> dict[str, Any]:
    """What the component of the cards was given."""
    shown = [
        json.loads(element.proto.json)
        for element in app.get("bidi_component")
        if "cards" in element.proto.json
    ]
    assert len(shown) == 1
    return dict(shown[0])


def send_stale(app: AppTest, key: str, text: str) -> None:
    """Run the page with what a browser sends that still shows what an option was called before."""
    box = app.selectbox(key=key)
    box.options = [text]
    box.set_value(text).run()
    assert not app.exception


def test_before_any_run_it_says_what_to_do(open_app: Open) -> None:
    app = opened(open_app)
    assert app.subheader[0].value == "No topics yet"
    assert "Choose texts first" in texts(app)
    assert app.button(key="sample_topics")


def test_only_what_is_visible_is_worked_out_and_only_once(
    open_app: Open, found: Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    ranked: list[tuple[int, ...]] = []

    def rank(*args: Any, **more: Any) -> pd.DataFrame:
        ranked.append(tuple(more["topics"]))
        return ranked_words(*args, **more)

    monkeypatch.setattr("pages.ui.lda.topic_view.ranked_words", rank)
    app = opened(open_app, found)
    (job,) = Workspace(WORKSPACE).jobs
    view = build_view(job, read_answer(job))
    assert "quality" in view.__dict__  # the cards show it
    assert not {"label_shares", "index"} & view.__dict__.keys()
    assert ranked == [(0,), (0, 1)]
    app.run()
    app.selectbox(key="topics_topic").set_value(2).run()
    assert ranked == [(0,), (0, 1), (1,)]
    part(app, "Known labels")
    assert "label_shares" in view.__dict__


def test_the_table_of_documents_carries_names_and_labels(open_app: Open, found: Result) -> None:
    opened(open_app, found)
    view = build_view(Workspace(WORKSPACE).jobs[0], found)
    open_topic_names().rename(view.run, view.identifying_words, 2, "night, sky")
    (offer,) = list_document_files(view)
    table = pd.read_csv(io.StringIO(str(offer.make())))
    assert list(table.columns) == ["document", "label", "tokens", "topic_1", "topic_2: night, sky"]
    assert table["label"].tolist() == found.prepared.data.labels.tolist()


def test_a_corpus_without_a_run(open_app: Open, found: Result) -> None:
    services.store().save_dataset(WORKSPACE, found.prepared.data, [], {"name": "small"})
    assert "Start one on the Run page" in texts(opened(open_app))


def test_a_run_on_a_relation_is_on_another_page(open_app: Open) -> None:
    app = opened(open_app, fit(load_sample("southern_women").relation, "vb", max_sweeps=5))
    assert app.subheader[0].value == "No topics yet"
    assert "Blocks page" in texts(app)


def test_topics_of_one_run_are_said_to_be_those_of_one_seed(open_app: Open, found: Result) -> None:
    app = part(opened(open_app, found), "How sure?")
    assert "These topics come from one run" in texts(app)
    (job,) = Workspace(WORKSPACE).jobs
    table = list_words(Workspace(WORKSPACE), job, build_view(job, read_answer(job)))
    assert table[["low", "high", "share_low", "share_high"]].isna().all(axis=None)
    assert (table["runs"] == 1).all()


def test_topics_are_shown_with_their_range_over_seeds(open_app: Open, found: Result) -> None:
    settings = found.prepared.spec
    others = [fit(found.prepared.data, settings.method, seed=seed, **settings.values) for seed in (2, 3)]
    diverged = others[1].with_state(snapshot=replace(others[1].snapshot, verdict=Verdict.DIVERGED))
    app = opened(open_app, found, others[0], diverged)
    app.selectbox(key="topics_run").set_value(f"{0:012x}").run()
    part(app, "How sure?")
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
    app = opened(open_app, result)
    assert f"{used} of 10 topics in use; the others are empty." in texts(app)
    assert f"in use, {10 - used} empty" in texts(app)
    assert len(cards(app)["cards"]) == len(app.selectbox(key="topics_topic").options) == used
    part(app, "Quality")
    assert len(app.dataframe[0].value) == used


def test_topics_with_the_same_words_are_said_to_be_so(open_app: Open) -> None:
    texts_ = [
        "river lake water",
        "water river boat",
        "lake boat river",
        "bank money loan",
        "loan bank",
        "money bank",
    ]
    app = opened(open_app, fit(texts_, "cvb0", k=4))
    assert "4 topics, 3 with the same words as a larger one" in texts(app)


def test_a_run_is_shown(open_app: Open, found: Result) -> None:
    app = opened(open_app, found)
    assert "small · 25 documents · " in texts(app)
    assert "2 topics" in texts(app)
    assert len(app.get("plotly_chart")) == 2
    assert len(app.get("download_button")) == 6
    assert "acvb_core.fit(" in app.code[0].value
    shown = cards(app)
    assert [card["topic"] for card in shown["cards"]] == [1, 2]
    assert shown["selected"] == 1
    words = {word for card in shown["cards"] for word in card["words"]}
    assert {"dog", "cat", "star", "planets"} <= words


def test_words_are_put_in_another_order(open_app: Open, found: Result) -> None:
    app = opened(open_app, found)
    by = next(group for group in app.get("button_group") if group.key == "topics_by")
    assert app.slider(key="topics_lambda").value == 0.6
    by.set_value("probability").run()
    assert not app.exception
    assert not app.slider
    table = found.topics[found.topics["topic"] == 1]
    assert cards(app)["cards"][0]["words"] == table["word"].head(12).tolist()


def test_another_topic_is_chosen(open_app: Open, found: Result) -> None:
    app = opened(open_app, found)
    app.selectbox(key="topics_topic").set_value(2).run()
    assert cards(app)["selected"] == 2
    press(app, "topic_step_1")
    assert cards(app)["selected"] == 1


def test_a_topic_is_renamed_and_stays_chosen(open_app: Open, found: Result) -> None:
    app = opened(open_app, found)
    app.selectbox(key="topics_topic").set_value(2).run()
    app.text_input(key=f"topic_name_{0:012x}_2").set_value(EVIL).run()
    assert not app.exception
    assert cards(app)["cards"][1]["name"] == EVIL
    assert app.selectbox(key="topics_topic").options[1] == f"2 · {EVIL}"
    again = open_app("topics")
    assert cards(again)["cards"][1]["name"] == EVIL
    assert "&lt;b&gt;x&lt;/b&gt;" in texts(app)
    marked = [*app.markdown, *app.caption, *app.subheader, *app.title]
    assert not any("example.org" in str(element.value) for element in marked)
    assert "<b>x</b>" not in "".join(element.proto.body for element in app.get("html"))


def test_a_topic_that_is_renamed_elsewhere_stays_chosen(open_app: Open, found: Result) -> None:
    app = opened(open_app, found)
    app.selectbox(key="topics_topic").set_value(2).run()
    probability = found.prepared.model.topics(found.posterior).word_probability  # type: ignore[attr-defined]
    open_topic_names().rename(f"{0:012x}", top_words(probability, IDENTIFYING), 2, "sky")
    app.run()
    send_stale(app, "topics_topic", "topic 2")
    assert cards(app)["selected"] == 2
    assert app.selectbox(key="topics_topic").options == ["topic 1", "2 · sky"]


def test_a_word_is_looked_up(open_app: Open, found: Result) -> None:
    app = opened(open_app, found)
    app.text_input(key="topics_search").set_value("DOG").run()
    shown = cards(app)
    topics = found.prepared.model.topics(found.posterior)  # type: ignore[attr-defined]
    word = found.prepared.data.vocabulary.tolist().index("dog")
    part_of = topics.share * topics.word_probability[:, word]
    assert shown["marked"] == "dog"
    assert shown["cards"][0]["topic"] == int(part_of.argmax()) + 1
    assert shown["cards"][0]["note"].startswith(
        f"{100 * part_of.max() / part_of.sum():.3g} % of its occurrences"
    )
    app.text_input(key="topics_search").set_value("planet").run()
    assert app.selectbox(key="topics_found").options == ["planet", "planets"]
    app.selectbox(key="topics_found").select_index(1).run()
    assert cards(app)["marked"] == "planets"
    app.text_input(key="topics_search").set_value("star").run()
    assert cards(app)["marked"] == "star"
    app.text_input(key="topics_search").set_value("unheard").run()
    assert "No word of the vocabulary" in texts(app)
    assert len(cards(app)["cards"]) == 2
    assert not app.exception


def test_a_words_tokens_are_divided_by_the_sizes_of_the_topics(three: Result) -> None:
    topics = Topics(
        np.array([[0.1, 0.9], [0.5, 0.5], [1e-4, 1.0]]), np.ones((1, 3)) / 3, np.array([0.8, 0.1, 0.1])
    )
    view = TopicView(topics, three.prepared.data, three.prepared.data, ("run", 1, ""), three)
    # 0.08 and 0.05 of 0.13001; the third has less than one in a hundred.
    assert describe_word(view, 0) == {
        1: "61.5 % of its occurrences; 10 % of the topic",
        2: "38.5 % of its occurrences; 50 % of the topic",
    }


def test_documents_of_a_topic(open_app: Open, found: Result) -> None:
    app = part(opened(open_app, found), "Documents")
    listed = app.dataframe[0].value
    theta = found.documents["topic_1"].to_numpy()
    np.testing.assert_allclose(listed["share"], np.sort(theta[:24])[::-1])
    assert len(listed) == 24  # the empty one is in no topic's list
    assert listed["name"].iloc[0] in texts(app)
    assert "background:" in texts(app)
    app.text_input(key="documents_search").set_value("TEXT 2").run()
    assert app.dataframe[0].value["name"].tolist()[0] == "text 2"
    assert set(app.dataframe[0].value["name"]) == {
        "text 2",
        "text 20",
        "text 21",
        "text 22",
        "text 23",
        "text 24",
    }
    app.text_input(key="documents_search").set_value("nowhere").run()
    assert "No document has this" in texts(app)
    assert not app.exception


def test_an_opened_document_stays_open_for_its_topic(open_app: Open, found: Result) -> None:
    app = part(opened(open_app, found), "Documents")
    app.session_state[OPENED] = (f"{0:012x}", 1, 24)
    app.run()
    assert "0 words · label none" in texts(app)
    app.selectbox(key="topics_topic").set_value(2).run()
    assert "label none" not in texts(app)
    assert not app.exception


def test_without_texts_the_words_are_listed(open_app: Open, three: Result) -> None:
    app = part(opened(open_app, three), "Documents")
    assert "The data have no text" in texts(app)
    assert "label" not in app.dataframe[0].value
    parts = next(group for group in app.get("button_group") if group.key == "topics_part")
    assert "Known labels" not in parts.options


def test_quality_and_labels(open_app: Open, found: Result) -> None:
    app = part(opened(open_app, found), "Quality")
    assert app.dataframe[0].value["topic"].tolist() == [1, 2]
    assert [metric.label for metric in app.metric][-1] == "Diversity"
    part(app, "Known labels")
    table = app.dataframe[0].value
    np.testing.assert_allclose(table[["pets", "sky"]].sum(), 1.0)
    assert table["none"].isna().all()
    pets, sky = table["pets"].to_numpy(), table["sky"].to_numpy()
    assert pets.argmax() != sky.argmax()
    assert min(pets.max(), sky.max()) > 0.8


def test_another_run_can_be_chosen(open_app: Open, found: Result, three: Result) -> None:
    app = opened(open_app, found, three)
    assert len(cards(app)["cards"]) == 3
    app.selectbox(key="topics_topic").set_value(3).run()
    app.selectbox(key="topics_run").set_value(f"{0:012x}").run()
    assert not app.exception
    assert len(cards(app)["cards"]) == 2
    assert cards(app)["selected"] == 1


def test_a_run_under_way_is_shown_as_it_stands(open_app: Open, found: Result, three: Result) -> None:
    workspace = Workspace(WORKSPACE)
    services.store().save(WORKSPACE, f"{0:012x}", 4e9, three)
    job = workspace.add(prepare_run(found.prepared.data, "gibbs", {"k": 2, "max_sweeps": 1_000_000}))
    app = open_app("topics")
    until(app, lambda: len(app.selectbox(key="topics_run").options) == 2)
    app.selectbox(key="topics_run").set_value(job.id).run()
    assert app.button(key="topics_refresh").label == "Refresh"
    job.stop()
    assert job.wait(180)
    app.run()
    # The run is called otherwise now, and is still the one that is shown.
    send_stale(app, "topics_run", "Gibbs · 2 topics (running)")
    assert app.selectbox(key="topics_run").value == job.id
    assert "(stopped)" in app.selectbox(key="topics_run").options[1]


def test_names_and_words_never_become_markup(open_app: Open) -> None:
    corpus = Corpus.build(
        [[2, 1, 0], [0, 1, 2], [1, 1, 1]],
        vocabulary=[EVIL, "=1+1", "c"],
        documents=[EVIL, "b", "c"],
        labels=[EVIL, "topic", ""],
        texts=[EVIL, "b", "c"],
        tokeniser=Tokeniser(min_documents=1, max_share=1.0),
        name=EVIL,
    )
    app = opened(open_app, fit(corpus, "cvb0", k=2, max_sweeps=5))
    for name in ("Documents", "Quality", "Known labels", "All topics"):
        part(app, name)
        marked = [*app.markdown, *app.caption, *app.subheader, *app.title]
        assert not any("example.org" in str(element.value) for element in marked)
        assert "<b>x" not in "".join(element.proto.body for element in app.get("html"))
        assert not any("<b>x" in element.proto.spec for element in app.get("plotly_chart"))
