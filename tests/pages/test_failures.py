"""A figure that cannot be drawn leaves the rest of its page as it is."""

from __future__ import annotations

import itertools
import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import streamlit as st
from streamlit.runtime.scriptrunner_utils.exceptions import RerunException, StopException
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.local_script_runner import LocalScriptRunner

from acvb_core.core.errors import ParameterError
from acvb_core.engine.fitting import fit
from acvb_core.samples.catalogue import load_sample
from pages.ui.shared import services
from pages.ui.shared.failures import contain_failure, show_crash
from pages.ui.shared.model_pages import ModelPages
from tests.loops import for_each
from tests.pages.session import WORKSPACE, Open, box, bring, texts


def broken(*_: Any, **__: Any) -> Any:
    raise ParameterError("no figure for <b>you</b>.")


@for_each("seconds", [float("inf"), float("nan"), -1.0])
def test_a_run_with_times_that_cannot_be_takes_no_page_down(
    open_app: Open, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    """An earlier version imported such runs."""
    relation, times = load_sample("southern_women").relation, ("cpu_seconds", "wall_seconds")
    results = [fit(relation, method, heldout=0.1, max_sweeps=4) for method in ("vb", "cvb0")]
    odd = replace(results[0].snapshot, **dict.fromkeys(times, seconds))
    services.store().save(
        WORKSPACE, "odd", seconds if seconds < 0 else 1.0, results[0].with_state(snapshot=odd)
    )
    services.store().save(WORKSPACE, "usual", 2.0, results[1])
    for page in ("home", "run", "runs", "compare", "experiments"):
        app = open_app(page)
        assert "could not be drawn" not in texts(app)
        if page == "run":
            assert "–" in set(app.dataframe[0].value["CPU time"])


def test_one_row_that_fails_leaves_the_others(
    open_app: Open, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    relation = load_sample("southern_women").relation
    for number, method in enumerate(("vb", "cvb0")):
        services.store().save(WORKSPACE, method, float(number), fit(relation, method, max_sweeps=4))
    real = ModelPages.write_sizes

    def write_sizes(pages: ModelPages, effective_k: dict[str, int]) -> str:
        return broken() if next(calls) % 2 else real(pages, effective_k)

    monkeypatch.setattr(ModelPages, "write_sizes", write_sizes)
    for page in ("home", "run", "runs"):
        calls = itertools.count()
        app = open_app(page)
        assert sorted(app.dataframe[0].value["Status"])[0] == "cannot be shown"
        assert len(app.dataframe[0].value) == 2
        caplog.clear()


def test_every_figure_passes_the_wrapper() -> None:
    """No page draws a chart by itself: a failure would take the page down, and a dark page would not suit it."""
    pages = Path(__file__).resolve().parents[2] / "pages"
    drawing = {
        str(path.relative_to(pages)) for path in pages.rglob("*.py") if "plotly_chart(" in path.read_text()
    }
    assert drawing == {"ui/shared/charts.py", "ui/running/live.py"}


@for_each("signal", [StopException(), RerunException(RerunData())])
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
    what = "The program met an error that it did not expect: KeyError. The rest of the page is complete."
    assert said == [what] * 2
    assert "secret" in caplog.text
    caplog.clear()


@pytest.fixture
def _crashes_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have AppTest call `show_crash`, as the server does."""
    begin = LocalScriptRunner.__init__

    def begin_with_handler(self: LocalScriptRunner, *args: Any, **kwargs: Any) -> None:
        begin(self, *args, **kwargs)
        self._on_script_error = show_crash

    monkeypatch.setattr(LocalScriptRunner, "__init__", begin_with_handler)


def fail(*_: Any, **__: Any) -> Any:
    raise pd.errors.ParserError("secret of /home/ann")


def check_box(app: AppTest, where: str, title: str = "Part of this page could not be drawn") -> None:
    """Assert that our box is there once, with a report of places and versions alone, and no box of Streamlit."""
    assert not app.exception
    said = texts(app)
    assert said.count(title) == 1
    assert (
        said.count("error that it did not expect: pandas.errors.ParserError. The other pages can be used")
        == 1
    )
    (report,) = (code.value for code in app.code if "acvb_core" in code.value)
    lines = report.splitlines()
    assert lines[0] == "pandas.errors.ParserError"
    assert any(line.endswith(f", in {where}") for line in lines)
    assert {"acvb_core", "streamlit", "numpy", "Python"} <= {line.split(" ")[0] for line in lines}
    assert [word for word in ("secret", "/home", str(Path.cwd())) if word in report + said] == []


def find_button(app: AppTest, label: str) -> Any:
    return next(button for button in app.button if button.label == label)


def run_whole(app: AppTest) -> AppTest:
    """Run app.py. AppTest does so for the first page of a session only; it then runs the pages alone."""
    app._page_hash = app._finished_page_script_hash = ""
    return app.run()


def press_label(app: AppTest, label: str) -> AppTest:
    find_button(app, label).click()
    return run_whole(app)


@pytest.fixture
def at_home(with_sample: AppTest, open_app: Open, _crashes_shown: None) -> AppTest:
    """The Home page with a sample in use."""
    return open_app()


def test_a_page_that_fails_leaves_the_sidebar_and_a_way_out_of_the_data(
    at_home: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pages.ui.running.home_page.current_workspace", fail)
    app = run_whole(at_home)
    check_box(app, "show_home")
    assert "Nothing is running" in [caption.value for caption in app.sidebar.caption]
    assert "Remove this file" not in [button.label for button in app.button]
    press_label(app, "Stop using these data")
    assert box(app, "Data").value is None
    check_box(app, "show_home")
    assert "Stop using these data" not in [button.label for button in app.button]


@pytest.mark.usefixtures("_crashes_shown")
def test_a_file_that_fails_can_be_removed(open_app: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pages.ui.upload.form.show_schema", fail)
    content = "person,event\nAnn,Ball\nBob,Ball\n"
    app = bring(open_app("data"), "links.csv", content)
    check_box(app, "_edit_draft")
    app.switch_page("pages/home.py").run()
    app.switch_page("pages/data.py").run()
    check_box(app, "_edit_draft")
    find_button(app, "Remove this file").click().run()
    assert not app.exception
    assert "did not expect" not in texts(app)
    assert "Which files can be read?" in [expander.label for expander in app.expander]
    monkeypatch.undo()
    app.file_uploader[0].upload("links.csv", content.encode()).run()
    assert not app.button(key="load").disabled
