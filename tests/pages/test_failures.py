"""A figure that cannot be drawn leaves the rest of its page as it is."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from streamlit.runtime.scriptrunner_utils.exceptions import RerunException, StopException
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData
from streamlit.testing.v1 import AppTest

from acvb_core.core.errors import ParameterError
from acvb_core.engine.fitting import fit
from acvb_core.samples.catalogue import load_sample
from acvb_core.views.dark import dark_colour
from acvb_core.views.theme import TEXT
from pages.ui.shared.failures import contain_failure
from tests.pages.lda.topics import fitted, opened
from tests.pages.lfm import tables
from tests.pages.session import WORKSPACE, Open, texts
from tests.pages.test_compare_page import opened as compared

HERE = "pages.ui.shared.failures"


def broken(*_: Any, **__: Any) -> Any:
    raise ParameterError("no figure for <b>you</b>.")


def check_contained(app: Any, caplog: pytest.LogCaptureFixture, *still_there: str) -> None:
    """Assert that one part failed, plainly, and that what follows is there."""
    assert not app.exception
    said = texts(app)
    assert said.count("no figure for <b>you</b>. The rest of the page is complete.") == 1
    for text in still_there:
        assert text in said
    failures = [record for record in caplog.records if record.name == HERE]
    assert failures
    assert all(record.exc_info for record in failures)
    caplog.clear()


def test_topics_without_their_map(
    open_app: Open, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("acvb_core.models.lda.evaluate.answer.topic_map", broken)
    app = opened(open_app, fitted())
    check_contained(app, caplog, "Download", "exclusivity")


def test_blocks_without_their_matrix(
    open_app: Open, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("pages.ui.irm.block_matrix.block_figure", broken)
    compared(open_app, fit(load_sample("southern_women").relation, "vb"))
    app = open_app("blocks")
    check_contained(app, caplog, "Strength of the blocks", "Link prediction", "Download")


def test_compare_without_its_flow(
    open_app: Open, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("pages.ui.running.compare_page.alluvial_figure", broken)
    relation = load_sample("southern_women").relation
    app = compared(open_app, fit(relation, "vb"), fit(relation, "cvb0"))
    check_contained(app, caplog, "Where the objects go")
    app.session_state["pair_view"] = "Table"
    app.run()
    assert any("contingency" in chart.proto.id for chart in app.get("plotly_chart"))


def test_features_without_their_weights(
    open_app: Open, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("pages.ui.lfm.feature_detail.draw_weights", broken)
    app = tables.opened(open_app, tables.fitted())
    check_contained(app, caplog, "Who has it", "Download")


def test_topics_without_the_list_of_all(
    open_app: Open, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("pages.ui.lda.topics_page.show_all_topics", broken)
    check_contained(opened(open_app, fitted()), caplog, "Topic 1")


def test_data_without_their_picture(
    open_app: Open, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("pages.ui.irm.overview_relation.thumbnail", broken)
    st.cache_data.clear()  # an earlier test may have drawn it
    app = open_app("data")
    app.selectbox(key="sample").select("southern_women").run()
    app.button(key="use_sample").click().run()
    app.switch_page("pages/data.py").run()
    check_contained(app, caplog, "Objects are in the order of the file.")


def test_every_figure_passes_the_wrapper() -> None:
    """No page draws a chart by itself: a failure would take the page down, and a dark page would not suit it."""
    pages = Path(__file__).resolve().parents[2] / "pages"
    drawing = {
        str(path.relative_to(pages)) for path in pages.rglob("*.py") if "plotly_chart(" in path.read_text()
    }
    assert drawing == {"ui/shared/charts.py", "ui/running/live_plot.py"}


def test_figures_suit_a_dark_page(open_app: Open) -> None:
    def text_colour(theme: str) -> str:
        app = AppTest.from_file(str(Path(__file__).resolve().parents[2] / "app.py"), default_timeout=600)
        app.query_params["ws"] = WORKSPACE
        app.context = {"theme": theme}
        app.run()
        app.switch_page("pages/data.py").run()
        assert not app.exception
        return str(json.loads(app.get("plotly_chart")[0].proto.spec)["layout"]["font"]["color"])

    st.cache_data.clear()  # an earlier test may have drawn it
    app = open_app("data")
    app.selectbox(key="sample").select("southern_women").run()
    app.button(key="use_sample").click().run()
    assert (text_colour("light"), text_colour("dark")) == (TEXT, dark_colour(TEXT))


@pytest.mark.parametrize("signal", [StopException(), RerunException(RerunData())])
def test_what_streamlit_raises_passes(signal: BaseException) -> None:
    with pytest.raises(type(signal)), contain_failure():
        raise signal


def test_a_fault_of_the_program_is_named_and_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    said: list[str] = []
    monkeypatch.setattr(st, "text", said.append)

    @contain_failure("table")
    def draw() -> None:
        raise KeyError("secret")

    with caplog.at_level(logging.ERROR):
        draw()
        draw()  # a guard can be used again
    assert said == ["KeyError (the terminal says more). The rest of the page is complete."] * 2
    assert "secret" in caplog.text
    caplog.clear()
