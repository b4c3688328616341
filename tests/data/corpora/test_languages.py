"""The language of texts, and functions of packages that may be installed."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType

import pytest

from acvb_core.core.errors import ParameterError
from acvb_core.data.corpora.languages import SHORT_ENGLISH, detect_language
from acvb_core.data.corpora.readers import load_corpus
from acvb_core.data.corpora.tokenise import Tokeniser
from acvb_core.data.corpora.word_functions import list_word_functions
from tests.loops import for_each

SENTENCES = {
    "english": "The cat sat on the mat and it was not amused by the dog that had come into the house with its owner.",
    "german": "Der Hund hat die Katze nicht gesehen, weil sie unter dem Tisch lag und sich nicht bewegte, als er kam.",
    "french": "Le chat est sur la table et il ne veut pas descendre parce que le chien est dans la cuisine avec nous.",
    "spanish": "El perro no ha visto al gato porque estaba debajo de la mesa y no se movió cuando entró con su dueño.",
    "dutch": "De hond heeft de kat niet gezien omdat ze onder de tafel lag en niet bewoog toen hij de kamer in kwam.",
    "russian": "Он не видел её, потому что она была под столом и не двигалась, когда он вошёл в комнату с другом.",
    "chinese": "今天天气很好，我们去公园散步。",
    "japanese": "今日はとても天気が良いので、公園へ行きました。",
}


@for_each("language", sorted(SENTENCES))
def test_the_language_of_a_sentence_is_found(language: str) -> None:
    found = detect_language([SENTENCES[language]])
    assert found is not None
    assert found.name == language
    wanted = {"english": SHORT_ENGLISH, "chinese": "", "japanese": ""}
    assert found.stop_words == wanted.get(language, language)


def test_most_texts_decide_and_lists_of_codes_are_no_language() -> None:
    mixed = [SENTENCES["german"]] * 3 + [SENTENCES["english"]]
    found = detect_language(mixed)
    assert found is not None
    assert found.name == "german"
    assert detect_language(["ERR0x1 foo_bar baz qux " * 20]) is None
    assert detect_language(["the and of"]) is None  # too few words to say
    assert (
        detect_language(["dog cat sea ship sail wind star moon"] * 20) is None
    )  # stop words of other languages
    assert detect_language([]) is None


def install(monkeypatch: pytest.MonkeyPatch, name: str, **functions: object) -> None:
    """Put a package of this name into the process."""
    module = ModuleType(name)
    module.__spec__ = ModuleSpec(name, None)
    vars(module).update(functions)
    monkeypatch.setitem(sys.modules, name, module)


def test_base_forms_are_counted_and_found_in_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    install(
        monkeypatch,
        "simplemma",
        lemmatize=lambda word, lang: {"houses": "house", "häuser": "Haus"}.get(word, word),
    )
    assert list(list_word_functions("german")) == ["simplemma:de"]
    how = {"min_documents": 1, "max_share": 1.0, "stop_words": ()}
    tokeniser = Tokeniser(**how, function="simplemma:de")
    data = load_corpus(["Häuser houses house"], tokeniser=tokeniser).data
    assert dict(zip(data.vocabulary, data.frequencies, strict=True)) == {"haus": 1, "house": 2}
    text = "Two Houses"
    assert [text[a:b] for a, b, _ in tokeniser.spans(text, ["house"])] == ["Houses"]
    assert Tokeniser.from_dict(tokeniser.to_dict()) == tokeniser
    with pytest.raises(ParameterError, match="'simplemma:xx'"):
        _ = Tokeniser(function="simplemma:xx").cuts_texts


def test_jieba_is_found_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, "jieba", lcut=lambda text: [text[:2], text[2:]])
    assert list(list_word_functions("chinese")) == ["jieba"]
    tokeniser = Tokeniser(min_documents=1, max_share=1.0, stop_words=("chinese",), function="jieba")
    assert load_corpus(["天气公园"], tokeniser=tokeniser).data.vocabulary.tolist() == [
        "公园",
        "天气",
    ]


def test_without_the_package_texts_are_not_cut_and_counts_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("acvb_core.data.corpora.word_functions.find_spec", lambda name: None)
    assert list_word_functions("german") == {}
    assert not Tokeniser(function="jieba").cuts_texts
    with pytest.raises(ParameterError, match="jieba"):
        Tokeniser(function="jieba").check_cuts_texts()
