"""The Data page with texts: what is read, what a tokeniser keeps, and what becomes of it."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from acvb_core.data.corpora.tokenise import Tokeniser
from pages.ui.lda import upload_texts
from pages.ui.shared.workspace import Workspace
from tests.pages.session import (
    WORKSPACE,
    Open,
    box,
    bring,
    figures,
    frame,
    group,
    in_use,
    keys,
    press,
    texts,
)

TEXTS = [
    "The cat and the dog ran to the old house",
    "A dog and a cat sat in the house by the sea",
    "Ships sail on the sea in the wind",
    "Wind and sea and ships in the year 1850",
    "The and of to",
]
TABLE = "title,body,kind\n" + "".join(f"t{i},{t},{'ab'[i % 2]}\n" for i, t in enumerate(TEXTS))


def upload(open_app: Open, content: str, name: str = "notes.csv") -> AppTest:
    """Bring a file as texts."""
    return bring(open_app("data"), name, content, "texts")


def require_documents(app: AppTest, number: int) -> None:
    """Keep only words that are in so many documents."""
    label = "Ignore words in fewer than N documents"
    next(field for field in app.number_input if field.label == label).set_value(number).run()


def words_shown(app: AppTest) -> set[str]:
    """The words in the table of the preview."""
    return set(frame(app, "Times")["Word"])


def test_a_table_is_recognised_previewed_and_loaded(open_app: Open) -> None:
    app = upload(open_app, TABLE)
    chosen = [box(app, label).value for label in ("Texts", "Names of the documents", "Known groups")]
    assert chosen == [1, 0, 2]
    preview = Tokeniser().preview(TEXTS)
    assert words_shown(app) == set(preview.kept.words) == {"cat", "dog", "house", "sea", "ships", "wind"}
    assert figures(app)["Tokens kept"] == f"{preview.kept.n_tokens}"
    assert figures(app)["Documents left empty"] == "1"
    assert Workspace(WORKSPACE).dataset is None

    press(app, "load")
    dataset = in_use()
    assert (dataset.name, dataset.model, dataset.heldout) == ("notes", "lda", 0.1)
    assert list(dataset.data.vocabulary) == sorted(preview.kept.words)
    assert list(dataset.data.documents) == [f"t{i}" for i in range(5)]
    assert list(dataset.data.labels) == list("ababa")
    assert dataset.data.texts == tuple(TEXTS)
    assert figures(app)["Documents"] == "5"
    assert figures(app)["Empty documents"] == "1"
    assert all(f"• {line}" in texts(app) for line in dataset.report.lines())
    first = frame(app, "Text")
    assert list(first["Text"]) == TEXTS
    assert dataset.data.size_text in texts(open_app())  # in the sidebar


def test_settings_show_their_effect_at_once_without_reading_again(
    open_app: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = []
    read = upload_texts.read_texts
    monkeypatch.setattr(upload_texts, "read_texts", lambda *a, **k: reads.append(1) or read(*a, **k))
    app = upload(open_app, TABLE)
    require_documents(app, 3)
    assert words_shown(app) == {"sea"}
    require_documents(app, 1)
    assert {"old", "ran", "sail", "sat", "year"} <= words_shown(app)
    next(found for found in app.multiselect if found.label == "Stop words of").set_value([]).run()
    assert {"and", "in"} <= words_shown(app)
    more = next(found for found in app.text_input if found.label == "More words to drop")
    more.set_value("sea, wind").run()
    assert not {"sea", "wind"} & words_shown(app)
    most = next(field for field in app.number_input if field.label == "Keep at most this many words")
    most.set_value(4).run()
    assert len(words_shown(app)) == 4
    assert len(reads) == 1

    app.segmented_control(key="tokeniser_shown").set_value("Dropped").run()
    dropped = frame(app, "Why")
    reasons = dict(zip(dropped["Word"], dropped["Why"], strict=True))
    assert reasons["sea"] == "stop words"
    assert reasons["1850"] == "numbers"
    assert reasons["old"] == "beyond the largest number of words"

    press(app, "load")
    assert len(in_use().data.vocabulary) == 4
    assert len(reads) == 1


def test_nothing_left_says_which_setting_to_change(open_app: Open) -> None:
    app = upload(open_app, TABLE)
    require_documents(app, 100)
    assert "No word is left. Loosen a setting" in texts(app)
    assert "Main reason for dropping words: in too few documents." in texts(app)
    assert keys(app).isdisjoint({"load", "load_and_run"})
    assert Workspace(WORKSPACE).dataset is None
    require_documents(app, 2)
    assert {"load", "load_and_run"} <= keys(app)


def test_a_pattern_that_would_never_end_is_refused_in_words(
    open_app: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("acvb_core.data.corpora.tokenise.SECONDS", 0.2)
    app = upload(open_app, f"{TABLE}t9,{'a' * 40},a\n")
    pattern = next(found for found in app.text_input if found.label == "Word pattern (regex)")
    pattern.set_value(r"(?:a+)+\b\d").run()
    assert "on text 6" in texts(app)
    assert app.button(key="load").disabled


def test_texts_that_are_not_cut_into_words_are_told_of(open_app: Open) -> None:
    chinese = ["机器学习是人工智能的一个分支", "今天天气很好", "机器学习是人工智能的一个分支", "我们去公园"]
    app = upload(open_app, "\n".join(chinese), "talks.txt")
    assert [warning.value for warning in app.warning] == ["These texts are not cut into words."]
    assert "Chinese or Japanese text without blanks between words cannot be cut here" in texts(app)
    offered = next(found for found in app.multiselect if found.label == "Stop words of").options
    assert {"English", "Korean"} <= set(offered)
    assert not {"Chinese", "Japanese", "Thai"} & set(offered)
    press(app, "load")
    assert "• Most words are longer than words are" in texts(app)

    app = upload(open_app, "\n".join(" ".join(line) for line in chinese * 2), "cut.txt")
    assert not any("not cut" in warning.value for warning in app.warning)


def test_other_columns_show_what_they_are_kept_as_and_change(open_app: Open) -> None:
    rows = [f"t{i},{TEXTS[i % 4]},{i % 9 + 1}/{i % 5 + 20}/2023,{i % 3}" for i in range(12)]
    app = upload(open_app, "title,body,**when**,stars\n" + "\n".join([*rows[:11], f"t11,{TEXTS[0]},soon,1"]))
    kinds = [found for found in app.selectbox if found.label == "Kept as"]
    assert [found.value for found in kinds] == ["date", "number"]
    assert "• 1 value of the column '**when**' is no date: taken as missing ('soon')." in texts(app)
    kinds[1].set_value("group").run()
    press(app, "load")
    assert frame(app, "Text").columns.tolist() == ["Document", "Tokens", "**when**", "stars", "Text"]
    stars = in_use().data.metadata["stars"]
    assert stars.tolist() == [str(i % 3) for i in range(11)] + ["1"]
    assert str(in_use().data.metadata["**when**"][0]) == "2023-01-20"
    assert "2 other columns are kept: **when** (date), stars (group)." in in_use().report.lines()


def test_columns_of_texts_on_disk_are_kept_as_chosen(open_app: Open) -> None:
    rows = "".join(f"t{i},{TEXTS[i % 4]},{i % 9 + 1}/{i % 5 + 20}/2023,{i % 3}\n" for i in range(12))
    app = upload(open_app, f"title,body,when,stars\n{rows}")
    group(app, "_where").set_value("disk").run()
    next(found for found in app.selectbox if found.value == "number").set_value("group").run()
    press(app, "load")
    assert in_use().data.columns == {"when": "day", "stars": "string"}
    assert in_use().data.column("stars").tolist() == [str(i % 3) for i in range(12)]


def test_a_column_of_names_is_no_date(open_app: Open) -> None:
    rows = "".join(f"t{i},{TEXTS[i % 4]},place {i}\n" for i in range(12))
    app = upload(open_app, f"title,body,city\n{rows}")
    next(found for found in app.selectbox if found.label == "Kept as").set_value("date").run()
    assert "No value of the column 'city' is a date" in texts(app)
    assert app.button(key="load").disabled
