from __future__ import annotations

from acvb_core.engine.snapshot import Verdict
from acvb_core.registry import METHODS
from pages.ui import words
from pages.ui.format import VERDICTS
from tests.pages.session import Open, texts


def test_guide_explains_every_method_curve_and_verdict(open_app: Open) -> None:
    app = open_app("guide")
    said = texts(app)
    for curve in words.CURVES:
        assert curve.name in said
        assert curve.what in said
    for verdict in Verdict:
        assert VERDICTS[verdict].meaning in said
    for source in ("JMLR", "1409.4757", "Teh", "Asuncion", "Kemp"):
        assert source.lower() in (said + str(app.table[0].value)).lower()


def test_methods_table_comes_from_the_registry(open_app: Open) -> None:
    table = open_app("guide").table[0].value
    assert list(table["Method"]) == [row.label for row in METHODS]
    assert list(table["Ends by"]) == [row.converges_by() for row in METHODS]
    assert list(table["Reference"]) == [row.reference for row in METHODS]


def test_every_method_is_put_in_plain_words() -> None:
    assert set(words.METHOD_TEXT) == {row.name for row in METHODS if row.model == "irm"}
