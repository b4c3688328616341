"""Presses that follow each other before the browser has drawn what the first one changes: each of them counts."""

from __future__ import annotations

import numpy as np
import pytest
from streamlit.runtime import fragment

from acvb_core.data.corpora.readers import load_corpus
from acvb_core.engine.fitting import fit
from acvb_core.engine.result import Result
from acvb_core.samples.planted_relations import planted_relation
from pages.ui.lda.topic_groups import read_edits
from tests.pages.lfm.tables import fitted as fitted_table
from tests.pages.session import (
    Open,
    box,
    drawn,
    in_use,
    jobs_of,
    key_of,
    opened,
    press,
    press_at_once,
    show_part,
    texts,
    widget,
)

THEMES = ("harbour sailor anchor", "tulip soil seed", "flour oven butter", "star moon sun")


@pytest.fixture(scope="module")
def topics() -> Result:
    rng = np.random.default_rng(2)
    lines = [" ".join(rng.choice(THEMES[n % 4].split(), 12)) + " said" * (n > 4) for n in range(40)]
    return fit(load_corpus(lines, name="Letters").data, "cvb0", k=4, alpha=0.1, hyper="fixed", seed=5)


def test_topics_are_changed_and_chosen_by_every_press(open_app: Open, topics: Result) -> None:
    app = opened(open_app, "topics", topics)
    (job,) = jobs_of(app)
    press_at_once(app, "topic_step_1", "topic_step_1")
    assert box(app, "Topic").value == 3
    press_at_once(app, "topic_step_1", *2 * [key_of(app, "topics_do_hide")])
    assert read_edits(job, topics) == [("hide", (3,))], "the topic that was shown is hidden, and once"
    press_at_once(app, key_of(app, "topics_do_hide"), "topics_undo", together=True)
    assert read_edits(job, topics) == [("hide", (3,))], "the last change is taken back alone"
    press_at_once(app, key_of(app, "topics_do_merge"), key_of(app, "topics_do_hide"))
    assert [edit.kind for edit in read_edits(job, topics)] == ["hide", "merge", "hide"]
    press_at_once(app, *["topics_undo"] * 3)
    assert not read_edits(job, topics)


def test_a_level_stays_when_something_else_is_pressed_at_once(open_app: Open, topics: Result) -> None:
    app = opened(open_app, "topics", topics)
    (job,) = jobs_of(app)
    level = key_of(app, "topics_level_")
    press_at_once(app, level, "topic_step_1")
    assert widget(app.slider, f"topics_level_{job.id}_4").value == int(level.removeprefix("topics_level_"))
    assert box(app, "Topic").value == 2


def test_words_are_collected_once_and_do_not_come_back(open_app: Open, topics: Result) -> None:
    app = show_part(opened(open_app, "topics", topics), "Change words")
    (job,) = jobs_of(app)
    for word in ("said", "star"):
        widget(app.multiselect, f"words_picked_{job.id}").set_value([word]).run()
        press_at_once(app, "words_leave_out", "words_leave_out", "topic_step_1")
        assert widget(app.multiselect, f"words_picked_{job.id}").value == []
    assert texts(app).count("leave out: ") == 2
    press_at_once(app, "words_undo_leave_out_said", "words_undo_leave_out_said")
    assert "leave out: star" in texts(app)


def test_both_levels_of_blocks_are_kept(open_app: Open) -> None:
    app = opened(open_app, "blocks", fit(planted_relation(60, 50, 5, 4, 1).relation, "acvb0"))
    rows, columns = (key_of(app, f"level_{side}") for side in ("rows", "cols"))
    press_at_once(app, rows, columns)
    assert [slider.value for slider in app.slider] == [int(key.rpartition("_")[2]) for key in (rows, columns)]


def test_features_are_stepped_through_by_every_press(open_app: Open) -> None:
    app = opened(open_app, "features", fitted_table())
    many = len(box(app, "Feature").options)
    press_at_once(app, *["feature_step_1"] * 2)
    assert box(app, "Feature").value == 1 + 2 % many


def test_data_that_a_press_has_chosen_stay_in_use(open_app: Open, topics: Result) -> None:
    app = opened(open_app, "data", topics)
    app.selectbox(key="sample").select("survey").run()
    press(app, "use_sample")
    press_at_once(drawn(app, "topics"), "use_page_data", "topic_step_1")
    assert in_use().data.fingerprint == topics.prepared.fingerprint


def test_what_is_drawn_alone_keeps_its_place(
    open_app: Open, topics: Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Streamlit drops a press in a part of a page that has another place by then."""
    places: dict[str, set[str]] = {}
    identify = fragment._make_fragment_identity

    def note(part: object, **more: str) -> object:
        made = identify(part, **more)
        places.setdefault(part.__qualname__, set()).add(made.fragment_id)
        return made

    monkeypatch.setattr(fragment, "_make_fragment_identity", note)
    app = opened(open_app, "topics", topics)
    places.clear()
    app.run()  # from the second time on, the page is drawn alone
    press(app, key_of(app, "topics_do_hide"))
    press(app, key_of(app, "topics_level_"))
    assert len(places["show_body"]) == 1
