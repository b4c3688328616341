from __future__ import annotations

from streamlit.testing.v1 import AppTest

from acvb_core.engine.history import Verdict
from acvb_core.registry import methods_of
from pages.ui.shared.format import VERDICTS
from pages.ui.shared.model_pages import all_model_pages, pages_of_model
from pages.ui.shared.words import ModelWords
from tests.loops import for_each
from tests.pages.session import Open, texts


def guide(open_app: Open, model: str) -> AppTest:
    """Open the Guide and turn to a model."""
    app = open_app("guide")
    app.segmented_control(key="guide_model").set_value(model).run()
    assert not app.exception
    return app


def every_text(words: ModelWords) -> tuple[tuple[str, str], ...]:
    return (*words.asides, *words.notes, *words.advice)


@for_each("model", list(all_model_pages()))
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
    rows = methods_of(model)
    table = app.table[0].value
    assert list(table["Method"]) == [row.label for row in rows]
    assert list(table["Ends by"]) == [row.describe_convergence() for row in rows]
    assert list(table["Reference"]) == [row.reference for row in rows]
    names = {row.name for row in rows}
    assert names == set(all_model_pages()[model].uses)
    assert names <= set(words.methods)
    for source in ("JMLR", "1409.4757", "Teh", "Asuncion", "Kemp", "Blei"):
        assert source.lower() in (said + str(app.table[0].value)).lower()
