"""Topics that the reader merges, hides and moves, and fewer of them along a tree."""

from __future__ import annotations

import json

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from acvb_core.data.corpus import Corpus
from acvb_core.engine.fitting import fit
from acvb_core.engine.result import Result
from acvb_core.views.theme import cluster_colour
from pages.ui.lda.topic_groups import read_edits
from pages.ui.lda.topics_page import list_words
from pages.ui.shared.picking import open_part_names, read_answer
from pages.ui.shared.workspace import Workspace
from tests.pages.session import WORKSPACE, Open, box, jobs_of, key_of, opened, press, show_part, texts, widget

WORDS = [
    "harbour",
    "sailor",
    "anchor",
    "tulip",
    "soil",
    "seed",
    "flour",
    "oven",
    "butter",
    "star",
    "moon",
    "sun",
]


@pytest.fixture(scope="module")
def found() -> Result:
    """Four topics of three words each, that share a little, and a tenth of the words held out."""
    rng = np.random.default_rng(2)
    themes = np.repeat(np.eye(4), 3, axis=1) / 3 * 0.94 + 0.005
    sizes = (70, 60, 50, 40)
    counts = [rng.multinomial(sizes[d % 4], themes[d % 4]) for d in range(60)]
    data = Corpus.build(counts, vocabulary=WORDS, name="Letters")
    return fit(data, "cvb0", k=4, alpha=0.1, hyper="fixed", heldout=0.1, seed=5)


def shown(app: AppTest, what: str = "name") -> list[str]:
    """The names on the cards of the topics, or their colours."""
    (cards,) = (one.proto.json for one in app.get("bidi_component") if "cards" in one.proto.json)
    return [card[what] for card in json.loads(cards)["cards"]]


def test_merge_hide_move_and_undo(open_app: Open, found: Result) -> None:
    app = opened(open_app, "topics", found)
    (job,) = jobs_of(app)
    before = shown(app)
    assert len(before) == 4
    app.selectbox(key=f"topics_merge_{job.id}_1").set_value(3).run()
    press(app, key_of(app, "topics_do_merge"))
    assert len(shown(app)) == 3
    assert shown(app, "colour") == [cluster_colour(topic) for topic in (1, 2, 4)]
    assert "The run's 4 topics are shown as 3, 1 change by hand." in texts(app)
    assert "Held-out perplexity" in texts(app)
    own = read_answer(job)
    assert own is not None
    words = set(own.topics.query("topic in (1, 3) and rank <= 3")["word"])
    assert set(shown(app)[0].split()) <= words
    box(app, "Topic").set_value(3).run()
    assert f"topic-head'><span style='background:{cluster_colour(4)}" in texts(app)
    press(app, key_of(app, "topics_do_earlier"))
    assert app.session_state["topics_topic"] == 2
    assert shown(app)[1] == before[3]
    press(app, key_of(app, "topics_do_hide"))
    assert len(shown(app)) == 2
    assert "1 of them hidden" in texts(app)
    assert [edit.kind for edit in read_edits(job, own)] == ["merge", "move", "hide"]
    press(app, "topics_undo")
    press(app, "topics_undo")
    assert len(shown(app)) == 3
    press(app, "topics_undo")
    assert shown(app) == before


def test_a_level_of_the_tree_is_shown_everywhere(open_app: Open, found: Result) -> None:
    app = opened(open_app, "topics", found)
    (job,) = jobs_of(app)
    widget(app.slider, f"topics_level_{job.id}_4").set_value(2).run()
    assert len(shown(app)) == 2
    assert len(box(app, "Topic").options) == 2
    assert "The run's 4 topics are shown as 2." in texts(app)
    show_part(app, "Tree")
    press(app, "topics_level_4")
    assert "are shown as" not in texts(app)


def test_a_change_at_a_level_keeps_what_the_tree_has_joined(open_app: Open, found: Result) -> None:
    app = opened(open_app, "topics", found)
    (job,) = jobs_of(app)
    own = read_answer(job)
    assert own is not None
    widget(app.slider, f"topics_level_{job.id}_4").set_value(3).run()
    press(app, key_of(app, "topics_do_hide"))
    assert [edit.kind for edit in read_edits(job, own)] == ["merge", "hide"]
    assert len(shown(app)) == 2


def test_names_belong_to_what_is_shown(open_app: Open, found: Result) -> None:
    app = opened(open_app, "topics", found)
    (job,) = jobs_of(app)
    app.selectbox(key=f"topics_merge_{job.id}_1").set_value(2).run()
    press(app, key_of(app, "topics_do_merge"))
    field = next(one for one in app.text_input if one.label == "Name of topic 1")
    field.set_value("Both").run()
    assert shown(app)[0] == "Both"
    press(app, "topics_undo")
    assert len(shown(app)) == 4


def test_a_viewer_changes_nothing(open_app: Open, found: Result) -> None:
    app = opened(open_app, "topics", found)
    (job,) = jobs_of(app)
    own = read_answer(job)
    assert own is not None
    open_part_names().set_edits(job.id, own.marks, "topics", [("merge", (1, 2))])
    app.session_state["view_only"] = True
    app.run()
    assert len(shown(app)) == 3
    assert not [button for button in app.button if str(button.key).startswith(("topics_do", "topics_undo"))]


def test_files_have_what_is_shown(open_app: Open, found: Result) -> None:
    from pages.ui.lda.topic_groups import arrange_topics
    from pages.ui.lda.topic_view import build_view

    opened(open_app, "topics", found)
    (job,) = Workspace(WORKSPACE).jobs
    own = read_answer(job)
    assert own is not None
    view = build_view(job, arrange_topics(own, ((2,), (1, 3))), own)
    table = list_words(Workspace(WORKSPACE), job, view)
    assert table["topic"].max() == 2
    assert table.groupby("topic")["name"].first().tolist() == list(view.result.names["topics"])
