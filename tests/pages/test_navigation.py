"""The page that was asked for is the page that is shown, and each tab keeps the data that it works on."""

from __future__ import annotations

import errno
import os
from typing import Any

import numpy as np
import pytest
import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.testing.v1 import AppTest

from acvb_core.engine.fitting import fit
from acvb_core.samples.catalogue import load_sample
from pages.ui.shared import services
from pages.ui.shared.workspace import Workspace, view_id
from pages.ui.workspace.kept_data import shelf_of
from tests.pages.lda.topics import small_corpus
from tests.pages.session import OTHER, WORKSPACE, Open, drawn, jobs_of, keys, press, share_links, texts


def use(app: AppTest, sample: str) -> AppTest:
    """Choose a sample on the Data page, and continue to Run."""
    app.selectbox(key="sample").select(sample).run()
    return drawn(press(app, "use_sample"), "run")


def shown_data(app: AppTest) -> str:
    """The name of the data in use, as the sidebar shows it."""
    chosen = drawn(app, "home").sidebar.selectbox(key="data_in_use")
    return str(chosen.format_func(chosen.value))


@pytest.fixture
def two_tabs(open_app: Open) -> tuple[AppTest, AppTest]:
    """Two tabs of one browser: the first uses Southern women, the second, later, Karate."""
    one, two = use(open_app("data"), "southern_women"), use(open_app("data"), "karate")
    return one, two


def test_each_tab_starts_runs_on_its_own_data(two_tabs: tuple[AppTest, AppTest]) -> None:
    for app, n in zip(two_tabs, (18, 34), strict=True):
        press(app, "start")
        assert jobs_of(app)[-1].prepared.data.shape[0] == n


def test_an_address_opens_the_data_that_its_tab_used(
    two_tabs: tuple[AppTest, AppTest], open_app: Open
) -> None:
    one, two = two_tabs
    first, second = one.query_params["data"], two.query_params["data"]
    assert first != second
    for link in ({"workspace": WORKSPACE}, {"workspace": None, "view": view_id(WORKSPACE)}):
        for data, name in ((first, "Southern women"), (second, "Karate"), ("", "Karate")):
            assert shown_data(open_app("run", **link, data=data)).startswith(name)
    assert shown_data(one).startswith("Southern women"), "other pages drop the address"
    assert one.query_params["data"] == first
    links = share_links(open_app("home", data=first))
    assert [link.endswith(f"&data={first}") for link in links] == [True, True]
    one.sidebar.selectbox(key="data_in_use").select(Workspace(WORKSPACE).dataset.data.fingerprint).run()
    drawn(one, "home")
    assert one.query_params["data"] == second
    one.query_params["data"] = first  # as the browser's Back does
    assert shown_data(one).startswith("Southern women")
    assert shown_data(two).startswith("Karate")


def test_data_that_another_tab_removed_are_missed_before_anything_starts(
    two_tabs: tuple[AppTest, AppTest], open_app: Open
) -> None:
    one, two = two_tabs
    address = one.query_params["data"]
    (women,) = set(Workspace(WORKSPACE).data_names) - {Workspace(WORKSPACE).dataset.data.fingerprint}
    press(drawn(two, "data"), f"remove_data_{women}")
    one.button(key="start").click().run()
    assert jobs_of(one) == []
    for app in (drawn(one, "run"), open_app("run", data=address), open_app("run", data="nonsense")):
        assert "The data of this tab are no longer in this workspace." in texts(app)
        assert "start" not in keys(app)
    app.sidebar.selectbox(key="data_in_use").select(Workspace(WORKSPACE).dataset.data.fingerprint).run()
    assert "start" in keys(drawn(app, "run"))
    for tab in (app, drawn(two, "home")):
        assert "no longer" not in texts(tab)


def test_each_tab_holds_out_its_own_share(two_tabs: tuple[AppTest, AppTest], open_app: Open) -> None:
    one, _ = two_tabs
    other = open_app("data", data=one.query_params["data"])
    other.number_input(key="heldout_percent").set_value(30.0).run()
    press(one, "start")
    assert jobs_of(one)[0].prepared.spec.heldout == 0.1


def test_going_back_changes_no_share(two_tabs: tuple[AppTest, AppTest]) -> None:
    one, two = two_tabs
    drawn(one, "data").number_input(key="heldout_percent").set_value(30.0).run()
    one.query_params["data"] = two.query_params["data"]
    assert "Karate" in texts(drawn(one, "data"))
    assert one.number_input(key="heldout_percent").value == 10.0
    assert Workspace(WORKSPACE).dataset.heldout == 0.3


def test_data_that_could_not_be_saved_stay_those_of_their_tab(
    open_app: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_room(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as disk:
        disk.setattr(np, "savez", no_room)
        one = use(open_app("data"), "southern_women")
        use(open_app("data"), "karate")
    assert "not saved" in texts(open_app("run", data=one.query_params["data"]))
    press(one, "start")
    assert jobs_of(one)[0].prepared.data.shape == (18, 14)
    assert shelf_of(WORKSPACE).problems


@pytest.fixture
def runs() -> None:
    """A workspace with runs on a relation and on texts, and another one with a run of its own."""
    women, corpus = load_sample("southern_women").relation, small_corpus()
    for owner, run, result in (
        *(
            (WORKSPACE, f"women{seed}", fit(women, "cvb0", k_rows=2, k_cols=2, seed=seed))
            for seed in range(3)
        ),
        (WORKSPACE, "texts", fit(corpus, "cvb0", k=2, alpha=0.1, hyper="fixed")),
        (OTHER, "others", fit(women, "cvb0", k_rows=2, k_cols=2, seed=9)),
    ):
        services.store().save(owner, run, 1e9, result)
    services.store().save_dataset(WORKSPACE, women, [], {"name": "women"})


NO_RUN = "The address asks for a run that this page cannot show."


def test_an_address_opens_the_run_that_its_page_showed(open_app: Open, runs: None) -> None:
    one = open_app("blocks", more="kept")
    usual = one.query_params["run"]
    data, other = one.query_params["data"], next(run for run in ("women0", "women1") if run != usual)
    one.selectbox(key="blocks_run").select(other).run()
    assert (one.query_params["run"], one.query_params["data"]) == (other, data)
    assert (one.query_params["ws"], one.query_params["more"]) == (WORKSPACE, "kept")
    for link in ({"workspace": WORKSPACE}, {"workspace": None, "view": view_id(WORKSPACE)}):
        for run in (other, usual):
            app = open_app("blocks", **link, data=data, run=run)
            assert app.selectbox(key="blocks_run").value == run
            assert app.query_params["run"] == run
            assert NO_RUN not in texts(app)
    two = open_app("topics", run="texts")
    assert two.selectbox(key="topics_run").value == "texts"
    assert drawn(two, "guide").query_params.get("run") is None
    assert drawn(one, "blocks").selectbox(key="blocks_run").value == other, "a tab keeps its own"
    one.query_params["run"] = usual  # as the browser's Back does
    assert drawn(one, "blocks").selectbox(key="blocks_run").value == usual


def test_an_address_opens_the_runs_that_were_compared(open_app: Open, runs: None) -> None:
    app = open_app("compare")
    assert app.query_params["run"] == "women0.women1.women2"
    app.multiselect(key="compare_runs_irm").set_value(["women2", "women0"]).run()
    assert app.query_params["run"] == "women0.women2"
    for link in ({"workspace": WORKSPACE}, {"workspace": None, "view": view_id(WORKSPACE)}):
        again = open_app("compare", **link, run="women0.women2")
        assert again.multiselect(key="compare_runs_irm").value == ["women0", "women2"]
    app.query_params["run"] = "women1.women2"
    assert drawn(app, "compare").multiselect(key="compare_runs_irm").value == ["women1", "women2"]
    assert NO_RUN not in texts(app)
    partly = open_app("compare", run="women1.nothing.women2")
    assert NO_RUN in texts(partly)
    assert partly.multiselect(key="compare_runs_irm").value == ["women1", "women2"]


@pytest.mark.parametrize("run", ["nothing", "texts", "others", "../../etc"])
def test_a_run_that_a_page_cannot_show_is_missed_in_one_sentence(
    open_app: Open, runs: None, run: str
) -> None:
    for page in ("blocks", "compare"):
        usual, app = open_app(page).query_params["run"], open_app(page, run=run)
        assert texts(app).count(NO_RUN) == 1
        assert app.query_params["run"] == usual, "and the page shows what it usually does"
        app.query_params["run"] = usual  # as the browser says from now on
        assert NO_RUN in texts(drawn(app, page)), "a page is drawn again when its window is narrow"
        assert NO_RUN not in texts(drawn(app, "guide"))
        assert NO_RUN not in texts(drawn(app, page))
    app = open_app("blocks", run=run)
    app.selectbox(key="blocks_run").select("women1").run()
    assert NO_RUN not in texts(app)
    features = open_app("features", run=run)
    assert NO_RUN in texts(features)
    assert "run" not in features.query_params


def test_a_drawing_that_ends_late_does_not_change_the_page(
    open_app: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each drawing sets the page of its session when it begins, even one that a press on a link has replaced."""
    configure = st.set_page_config
    drawn: list[str] = []

    def end_late(**options: Any) -> None:
        run = get_script_run_ctx()
        assert run is not None
        if drawn:
            run.pages_manager.set_script_intent(drawn[0], "")
        drawn.append(run.page_script_hash)
        configure(**options)

    monkeypatch.setattr(st, "set_page_config", end_late)
    app = open_app("data")
    assert [title.value for title in app.title] == ["Data"]
    del app.session_state["_nav"]  # what a test opens later leaves app.py out otherwise
    app.switch_page("pages/run.py").run()
    assert not app.exception
    assert len(set(drawn)) == 2
    assert [title.value for title in app.title] == ["Run"]
