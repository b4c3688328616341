from __future__ import annotations

import re

import pytest
from streamlit.testing.v1 import AppTest

from acvb_core.engine.history import Verdict
from acvb_core.registry import methods_of
from pages.ui.shared.format import VERDICTS
from pages.ui.shared.model_pages import all_model_pages, pages_of_model
from pages.ui.shared.words import KEEPING_TEXT, ModelWords
from tests.pages.session import Open, press, texts


def guide(open_app: Open, model: str) -> AppTest:
    """Open the Guide and turn to a model."""
    app = open_app("guide")
    app.segmented_control(key="guide_model").set_value(model).run()
    assert not app.exception
    return app


def every_text(words: ModelWords) -> tuple[tuple[str, str], ...]:
    return (*words.asides, *words.notes, *words.advice)


@pytest.mark.parametrize("model", list(all_model_pages()))
def test_guide_explains_every_method_curve_and_verdict(open_app: Open, model: str) -> None:
    app = guide(open_app, model)
    said = texts(app)
    words = pages_of_model(model).words
    for curve in words.curves:
        assert curve.name in said
        assert curve.what in said
    for told in (words.model, words.convergence, *(text for _, text in every_text(words))):
        assert told.strip() in said
    for verdict in Verdict:
        assert VERDICTS[verdict].meaning in said
    for source in ("JMLR", "1409.4757", "Teh", "Asuncion", "Kemp", "Blei"):
        assert source.lower() in (said + str(app.table[0].value)).lower()


@pytest.mark.parametrize("model", list(all_model_pages()))
def test_the_guide_has_short_sentences_and_paragraphs(model: str) -> None:
    words = pages_of_model(model).words
    curves = [text for curve in words.curves for text in (curve.what, curve.read, curve.beware)]
    texts = [words.model, words.convergence, *(text for _, text in every_text(words))]
    for text in [*texts, *curves, *words.methods.values(), KEEPING_TEXT]:
        for paragraph in re.split(r"\n\n|\n- |\n\|", text):
            assert len(paragraph.split()) <= 60, paragraph
            for sentence in re.split(r"(?<=[.:?!])\s", paragraph):
                assert len(sentence.split()) <= 30, sentence


@pytest.mark.parametrize("model", list(all_model_pages()))
def test_methods_table_comes_from_the_registry(open_app: Open, model: str) -> None:
    rows = methods_of(model)
    table = guide(open_app, model).table[0].value
    assert list(table["Method"]) == [row.label for row in rows]
    assert list(table["Ends by"]) == [row.describe_convergence() for row in rows]
    assert list(table["Reference"]) == [row.reference for row in rows]


@pytest.mark.parametrize("model", list(all_model_pages()))
def test_every_method_is_put_in_plain_words(model: str) -> None:
    assert {row.name for row in methods_of(model)} <= set(pages_of_model(model).words.methods)


def test_guide_opens_at_the_model_of_the_data_in_use(open_app: Open) -> None:
    app = open_app("data")
    app.selectbox(key="sample").select("bars").run()
    press(app, "use_sample")
    app.switch_page("pages/guide.py").run()
    assert app.segmented_control(key="guide_model").value == "lda"
