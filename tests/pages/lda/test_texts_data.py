"""The Data page with texts: what is read, what a tokeniser keeps, and what becomes of it."""

from __future__ import annotations

import io
import zipfile

import pytest
from streamlit.testing.v1 import AppTest

from acvb_core.data.corpora.tokenise import Tokeniser
from acvb_core.data.corpus import Corpus
from pages.ui.lda import upload_texts
from pages.ui.shared import services
from pages.ui.shared.workspace import Workspace
from pages.ui.workspace.dataset import Dataset
from tests.pages.session import WORKSPACE, Open, box, bring, figures, keys, press, texts

TEXTS = [
    "The cat and the dog ran to the old house",
    "A dog and a cat sat in the house by the sea",
    "Ships sail on the sea in the wind",
    "Wind and sea and ships in the year 1850",
    "The and of to",
]
TABLE = "title,body,kind\n" + "".join(f"t{i},{t},{'ab'[i % 2]}\n" for i, t in enumerate(TEXTS))
REMOTE = "![x](http://example.invalid/x.png)"


def upload(app: AppTest, name: str, content: bytes, kind: str = "texts") -> AppTest:
    """Bring a file as texts."""
    return bring(app, name, content, kind)


def number(app: AppTest, label: str) -> object:
    return next(found for found in app.number_input if found.label == label)


def loaded() -> Dataset:
    dataset = Workspace(WORKSPACE).dataset
    assert dataset is not None
    assert isinstance(dataset.data, Corpus)
    return dataset


def words_shown(app: AppTest) -> set[str]:
    """The words in the table of the preview."""
    return set(next(frame.value for frame in app.dataframe if "Times" in frame.value)["Word"])


def test_a_table_is_recognised_previewed_and_loaded(open_app: Open) -> None:
    app = upload(open_app("data"), "notes.csv", TABLE.encode())
    chosen = [box(app, label).value for label in ("Texts", "Names of the documents", "Known groups")]
    assert chosen == [1, 0, 2]
    preview = Tokeniser().preview(TEXTS)
    assert words_shown(app) == set(preview.kept.words) == {"cat", "dog", "house", "sea", "ships", "wind"}
    assert figures(app)["Tokens kept"] == f"{preview.kept.n_tokens}"
    assert figures(app)["Documents left empty"] == "1"
    assert Workspace(WORKSPACE).dataset is None

    press(app, "load")
    dataset = loaded()
    assert (dataset.name, dataset.model, dataset.heldout) == ("notes", "lda", 0.1)
    assert list(dataset.data.vocabulary) == sorted(preview.kept.words)
    assert list(dataset.data.documents) == [f"t{i}" for i in range(5)]
    assert list(dataset.data.labels) == list("ababa")
    assert dataset.data.texts == tuple(TEXTS)
    assert figures(app)["Documents"] == "5"
    assert figures(app)["Empty documents"] == "1"
    assert all(f"• {line}" in texts(app) for line in dataset.report.lines())
    first = next(frame.value for frame in app.dataframe if "Text" in frame.value)
    assert list(first["Text"]) == TEXTS
    assert dataset.data.size_text in texts(open_app())  # in the sidebar


def test_settings_show_their_effect_at_once_without_reading_again(
    open_app: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = []
    read = upload_texts.read_texts
    monkeypatch.setattr(upload_texts, "read_texts", lambda *a, **k: reads.append(1) or read(*a, **k))
    app = upload(open_app("data"), "notes.csv", TABLE.encode())
    number(app, "Ignore words in fewer than N documents").set_value(3).run()
    assert words_shown(app) == {"sea"}
    number(app, "Ignore words in fewer than N documents").set_value(1).run()
    assert words_shown(app) == {
        "cat",
        "dog",
        "house",
        "old",
        "ran",
        "sail",
        "sat",
        "sea",
        "ships",
        "wind",
        "year",
    }
    next(found for found in app.multiselect if found.label == "Stop words of").set_value([]).run()
    assert {"and", "in"} <= words_shown(app)
    next(found for found in app.text_input if found.label == "More words to drop").set_value(
        "sea, wind"
    ).run()
    assert not {"sea", "wind"} & words_shown(app)
    number(app, "Keep at most this many words").set_value(4).run()
    assert len(words_shown(app)) == 4
    assert not app.exception
    assert len(reads) == 1

    app.segmented_control(key="tokeniser_shown").set_value("Dropped").run()
    dropped = next(frame.value for frame in app.dataframe if "Why" in frame.value)
    reasons = dict(zip(dropped["Word"], dropped["Why"], strict=True))
    assert reasons["sea"] == "stop words"
    assert reasons["1850"] == "numbers"
    assert reasons["old"] == "beyond the largest number of words"

    press(app, "load")
    assert len(loaded().data.vocabulary) == 4
    assert len(reads) == 1


def test_a_setting_changed_after_loading_is_previewed_again(open_app: Open) -> None:
    app = press(upload(open_app("data"), "notes.csv", TABLE.encode()), "load")
    number(app, "Ignore words in fewer than N documents").set_value(3).run()
    assert figures(app)["Words kept"] == "1"
    assert "load" in keys(app)
    press(app, "load")
    assert list(loaded().data.vocabulary) == ["sea"]


def test_nothing_left_says_which_setting_to_change(open_app: Open) -> None:
    app = upload(open_app("data"), "notes.csv", TABLE.encode())
    number(app, "Ignore words in fewer than N documents").set_value(100).run()
    assert "No word is left. Loosen a setting" in texts(app)
    assert "Main reason for dropping words: in too few documents." in texts(app)
    assert keys(app).isdisjoint({"load", "load_and_run"})
    assert Workspace(WORKSPACE).dataset is None
    number(app, "Ignore words in fewer than N documents").set_value(2).run()
    assert {"load", "load_and_run"} <= keys(app)


def test_a_pattern_that_would_never_end_is_refused_in_words(
    open_app: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("acvb_core.data.corpora.tokenise.SECONDS", 0.2)
    app = upload(open_app("data"), "notes.csv", f"{TABLE}t9,{'a' * 40},a\n".encode())
    pattern = next(found for found in app.text_input if found.label == "Word pattern (regex)")
    pattern.set_value(r"(?:a+)+\b\d").run()
    assert not app.exception
    assert "on text 6" in texts(app)
    assert app.button(key="load").disabled


def archive() -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as files:
        for i, text in enumerate(TEXTS):
            files.writestr(f"{'ab'[i % 2]}/t{i}.txt", text)
    return packed.getvalue()


def test_a_broken_record_is_named_before_loading(open_app: Open) -> None:
    app = upload(open_app("data"), "notes.csv", (TABLE + f"t9,short,a,{REMOTE}\n").encode())
    assert "We couldn't read this file with these settings" in texts(app)
    assert "Line: 7" in texts(app)
    assert app.button(key="load").disabled


@pytest.mark.parametrize("sample", ["bars", "bible"])
def test_a_sample_of_texts_becomes_the_data_in_use(open_app: Open, sample: str) -> None:
    app = open_app("data")
    assert any(option.startswith("Texts · ") for option in app.selectbox(key="sample").options)
    app.selectbox(key="sample").select(sample).run()
    press(app, "use_sample")
    data = loaded().data
    assert figures(app)["Documents"] == f"{data.n_documents:,}"
    assert figures(app)["Tokens"] == f"{data.n_tokens:,}"
    assert len(app.get("plotly_chart")) == 3  # lengths, frequent words, Zipf
    assert f"About {round(data.n_tokens / 10):,} words hidden" in texts(app)


def test_texts_and_what_is_held_out_are_kept(open_app: Open) -> None:
    app = press(upload(open_app("data"), "notes.csv", TABLE.encode()), "load")
    app.number_input(key="heldout_percent").set_value(25.0).run()
    before = loaded()
    # Another session, after the server has forgotten what it held in memory.
    services.data_shelves().clear()
    again = open_app("data")
    dataset = loaded()
    assert dataset is not before
    assert (dataset.heldout, dataset.data.fingerprint) == (0.25, before.data.fingerprint)
    assert dataset.data.tokeniser == Tokeniser()
    assert figures(again)["Documents"] == "5"
    assert dataset.report.lines() == before.report.lines()


def test_texts_that_are_not_cut_into_words_are_told_of(open_app: Open) -> None:
    chinese = ["机器学习是人工智能的一个分支", "今天天气很好", "机器学习是人工智能的一个分支", "我们去公园"]
    app = upload(open_app("data"), "talks.txt", "\n".join(chinese).encode())
    assert [warning.value for warning in app.warning] == ["These texts are not cut into words."]
    assert "Chinese or Japanese text without blanks between words cannot be cut here" in texts(app)
    offered = next(found for found in app.multiselect if found.label == "Stop words of").options
    assert {"English", "Korean"} <= set(offered)
    assert not {"Chinese", "Japanese", "Thai"} & set(offered)
    press(app, "load")
    assert "• Most words are longer than words are" in texts(app)

    app = upload(open_app("data"), "cut.txt", "\n".join(" ".join(line) for line in chinese * 2).encode())
    assert not any("not cut" in warning.value for warning in app.warning)
