"""The Data page with texts in other languages: which stop words are proposed, and words by other packages."""

from __future__ import annotations

import pytest

from tests.data.corpora.test_languages import SENTENCES, install
from tests.pages.session import Open, bring, frame, in_use, press, texts


def test_german_texts_lose_german_stop_words(open_app: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    forms = {"häuser": "Haus", "hunde": "Hund"}
    install(monkeypatch, "simplemma", lemmatize=lambda word, lang: forms.get(word, word))
    lines = "".join(f'"{SENTENCES["german"]} Hunde, Häuser"\n' for _ in range(3)) + '"Katze allein"\n'
    app = bring(open_app("data"), "haus.csv", f"text\n{lines}", "texts")
    assert "The texts look like German, so the stop words of German are proposed." in texts(app)
    words = set(frame(app, "Times")["Word"])
    assert {"tisch", "hunde", "häuser"} <= words
    assert not {"der", "nicht", "weil"} & words
    function = next(one for one in app.segmented_control if str(one.key).endswith("_function"))
    function.set_value("simplemma:de").run()
    assert {"hund", "haus"} <= set(frame(app, "Times")["Word"])
    press(app, "load")
    assert in_use().data.tokeniser.function == "simplemma:de"
    assert in_use().data.tokeniser.stop_words == ("german",)


def test_english_texts_keep_the_usual_list(open_app: Open) -> None:
    lines = "".join(f'"{SENTENCES["english"]}"\n' for _ in range(3)) + '"another one"\n'
    app = bring(open_app("data"), "cat.csv", f"text\n{lines}", "texts")
    assert "The texts look like English" in texts(app)
    press(app, "load")
    assert in_use().data.tokeniser.stop_words == ("english-short",)
