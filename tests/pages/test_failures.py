"""A figure that cannot be drawn leaves the rest of its page as it is."""

from __future__ import annotations

import itertools
import json
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
from acvb_core.engine.experiments.plan import plan_experiment
from acvb_core.engine.experiments.report import Experiment
from acvb_core.engine.fitting import fit
from acvb_core.samples.catalogue import load_sample
from acvb_core.views.theme import TEXT, dark_colour
from pages.ui.shared import services
from pages.ui.shared.failures import contain_failure, show_crash
from pages.ui.shared.model_pages import ModelPages
from tests.pages.lda.topics import fitted
from tests.pages.session import WORKSPACE, Open, box, bring, opened, texts

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


def test_topics_without_the_list_of_all(
    open_app: Open, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("pages.ui.lda.topics_page.show_all_topics", broken)
    check_contained(opened(open_app, "topics", fitted()), caplog, "Topic 1")


@pytest.mark.parametrize("seconds", [float("inf"), float("nan"), -1.0, 1e300])
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


def test_one_experiment_that_fails_leaves_the_others(
    open_app: Open, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    plan = plan_experiment(
        load_sample("southern_women").relation, ["vb", "cvb0"], k=[2], splits=2, max_sweeps=2
    )
    for name in ("one", "two"):
        assert services.experiments().add(WORKSPACE, plan, name).wait(600)
    calls, real = itertools.count(), Experiment.summary
    monkeypatch.setattr(Experiment, "summary", lambda *a: real(*a) if next(calls) else broken())
    app = open_app("experiments")
    check_contained(app, caplog)
    assert [title.value.split(" · ")[0] for title in app.subheader] == ["two", "one"]


def test_every_figure_passes_the_wrapper() -> None:
    """No page draws a chart by itself: a failure would take the page down, and a dark page would not suit it."""
    pages = Path(__file__).resolve().parents[2] / "pages"
    drawing = {
        str(path.relative_to(pages)) for path in pages.rglob("*.py") if "plotly_chart(" in path.read_text()
    }
    assert drawing == {"ui/shared/charts.py", "ui/running/live.py"}


def test_figures_suit_a_dark_page(open_app: Open) -> None:
    def text_colour(theme: str) -> str:
        app = AppTest.from_file(str(Path(__file__).resolve().parents[2] / "app.py"), default_timeout=600)
        app.query_params["ws"] = WORKSPACE
        app.context = {"theme": theme}
        app.run()
        app.switch_page("pages/data.py").run()
        assert not app.exception
        return str(
            json.loads(app.get("plotly_chart")[0].proto.spec)["layout"]["template"]["layout"]["font"]["color"]
        )

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
    monkeypatch.setattr("pages.ui.shared.home_page.current_workspace", fail)
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


def test_a_part_that_is_drawn_alone_fails_alone(
    at_home: AppTest, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("pages.ui.shared.sidebar._show_loading", fail)
    app = run_whole(at_home)
    assert not app.exception
    assert texts(app).count("This part of the page could not be drawn") == 1
    assert "Recent runs" in texts(app)
    caplog.clear()


def draw_two_parts() -> None:
    import streamlit as st

    @st.fragment
    def part() -> None:
        if st.button("Fail"):
            raise ValueError("secret")

    part()
    st.text("The rest")


@pytest.mark.usefixtures("_crashes_shown")
def test_a_fragment_that_nothing_contains_fails_in_its_place() -> None:
    app = AppTest.from_function(draw_two_parts).run()
    press_label(app, "Fail")
    assert not app.exception
    assert "expect: ValueError" in texts(app)
    assert "secret" not in texts(app)


def test_a_choice_that_fails_leaves_the_page_as_it_was(
    at_home: AppTest, open_app: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = open_app("data")
    data.selectbox(key="sample").select("southern_women").run()
    data.button(key="use_sample").click().run()
    app = run_whole(at_home)
    monkeypatch.setattr("pages.ui.shared.workspace.Workspace.use_data", fail)
    box(app, "Data").select_index(0)
    run_whole(app)
    check_box(run_whole(app), "_use_choice", "This could not be done")
    assert "Recent runs" in texts(app)
    press_label(app, "Close")
    assert "did not expect" not in texts(app)
    assert "Recent runs" in texts(app)


def test_a_box_that_cannot_be_drawn_is_said_in_a_sentence(
    at_home: AppTest, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("pages.ui.shared.home_page.current_workspace", fail)
    monkeypatch.setattr("pages.ui.shared.failures.write_report", fail)
    app = at_home.run()
    assert not app.exception
    assert [error.value for error in app.error] == [
        "Part of this page could not be drawn. The terminal says more."
    ]
    caplog.clear()
