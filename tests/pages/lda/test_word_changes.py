"""Words that are changed while topics are read, and the run that begins again with them."""

from __future__ import annotations

import numpy as np
import pytest

from acvb_core.data.corpora.readers import load_corpus
from acvb_core.data.corpora.rewriting import WordChange
from acvb_core.data.corpora.tokenise import Tokeniser
from acvb_core.data.corpus import Corpus
from acvb_core.engine.fitting import fit
from acvb_core.engine.result import Result
from pages.ui.lda.word_changes import count_phrase, move_names, run_again
from pages.ui.shared.picking import open_part_names, read_answer
from pages.ui.shared.workspace import Workspace
from tests.pages.session import (
    WORKSPACE,
    Open,
    finished,
    in_use,
    jobs_of,
    opened,
    press,
    show_part,
    texts,
    widget,
)

SEA, GARDEN = "harbour sailor anchor wave captain", "tulip soil seed gardener blossom"


@pytest.fixture(scope="module")
def found() -> Result:
    rng = np.random.default_rng(1)
    lines = []
    for number in range(40):
        theme, place = ((SEA, "new york"), (GARDEN, "colour color"))[number % 2]
        lines.append(f"{place} {' '.join(rng.choice(theme.split(), 12))}{' said' * (number > 4)}")
    read = load_corpus(lines, name="Letters").data
    return fit(read, "cvb0", k=2, heldout=0.1, seed=4)


def test_words_are_collected_and_a_run_begins_again_with_them(open_app: Open, found: Result) -> None:
    app = opened(open_app, "topics", found)
    (job,) = jobs_of(app)
    result = read_answer(job)
    assert result is not None
    sea = 1 + next(
        at for at, words in enumerate(result.names["topics"]) if set(words.split()) & set(SEA.split())
    )
    open_part_names().rename(job.id, result.marks, "topics", sea, "At sea")
    show_part(app, "Change words")
    picked = f"words_picked_{job.id}"
    for kind, words in (("leave_out", ["said"]), ("join", ["York", "new"]), ("merge", ["color", "colour"])):
        widget(app.multiselect, picked).set_value(words).run()
        press(app, f"words_{kind}")
        assert widget(app.multiselect, picked).value == []
    assert "new york occurs 20 times." not in texts(app)  # said once, after the press
    for said in ("leave out: said", "one phrase: new york", "counted as color: colour"):
        assert said in texts(app)
    press(app, "words_undo_merge_color_colour")
    assert "counted as" not in texts(app)
    press(app, "words_again")
    finished(app)
    again = jobs_of(app)[1]
    new = read_answer(again)
    assert new is not None
    assert (again.outline.spec.values, again.outline.spec.seed) == (
        job.outline.spec.values,
        job.outline.spec.seed,
    )
    assert again.prepared.start is not None
    words = set(new.prepared.data.vocabulary)
    assert {"new york", "colour"} <= words
    assert not {"said", "york"} & words
    assert "At sea" in new.names["topics"]
    assert set(new.topics.query("name == 'At sea' and rank <= 4")["word"]) <= {*SEA.split(), "new york"}
    assert in_use().data.fingerprint == new.prepared.data.fingerprint
    assert "Words were changed: leave out: said; one phrase: new york." in in_use().report.facts[0].sentence


def test_a_run_can_begin_from_scratch(open_app: Open, found: Result) -> None:
    app = opened(open_app, "topics", found)
    (job,) = jobs_of(app)
    new = run_again(Workspace(WORKSPACE), job, found.prepared.data, [WordChange("leave_out", ("said",))])
    assert new.prepared.start is None
    assert new.prepared.spec.to_dict() == job.prepared.spec.to_dict()
    finished(app)


def test_words_that_are_not_there_are_refused(open_app: Open, found: Result) -> None:
    app = opened(open_app, "topics", found)
    (job,) = jobs_of(app)
    show_part(app, "Change words")
    for kind, words, said in (
        ("leave_out", ["zebra"], "No text has the word zebra"),
        ("join", ["said", "tulip", "color"], "occurs in no text"),
    ):
        widget(app.multiselect, f"words_picked_{job.id}").set_value(words).run()
        press(app, f"words_{kind}")
        assert said in texts(app)
        assert app.button(key="words_again").disabled


def test_data_without_texts_say_so(open_app: Open) -> None:
    app = opened(open_app, "topics", fit(Corpus.build([[3, 1, 0], [0, 2, 4]]), "cvb0", k=2))
    show_part(app, "Change words")
    assert "The texts of these data are not kept" in texts(app)


def test_phrases_are_counted_as_they_are_joined(found: Result) -> None:
    data = found.prepared.data
    for words, times in ((("new", "york"), 20), (("york", "new"), 0), (("colour", "color"), 20)):
        assert count_phrase(data, data.tokeniser, words) == times


def test_names_follow_their_words_into_another_vocabulary() -> None:
    old = Corpus.build(np.eye(4, dtype=int), vocabulary=["apple", "color", "colour", "zebra"])
    cut = Tokeniser(same_words={"colour": "color"})
    new = Corpus.build(np.eye(3, dtype=int), vocabulary=["axe", "color", "zebra"], tokeniser=cut)
    entry = {"domain": "topics", "number": 3, "name": "Fruit"}
    assert move_names([entry | {"marks": [3, 2, 0]}], old, new) == [entry | {"marks": [2, 1]}]


def test_all_words_left_out_start_no_run(open_app: Open, found: Result) -> None:
    app = opened(open_app, "topics", found)
    (job,) = jobs_of(app)
    every = tuple(found.prepared.data.vocabulary)
    with pytest.raises(Exception, match="no word of the 40 texts is left"):
        run_again(Workspace(WORKSPACE), job, found.prepared.data, [WordChange("leave_out", every)])
    assert len(jobs_of(app)) == 1
