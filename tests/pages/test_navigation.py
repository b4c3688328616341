"""The page that was asked for is the page that is shown, and each tab keeps the data that it works on."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from acvb_core.engine.fitting import fit
from acvb_core.samples.catalogue import load_sample
from pages.ui.shared import services
from pages.ui.shared.workspace import Workspace, view_id
from tests.pages.lda.topics import fitted, small_corpus
from tests.pages.session import (
    OTHER,
    WORKSPACE,
    Open,
    box,
    drawn,
    group,
    opened,
    press,
    share_links,
    show_part,
    texts,
)


def use(app: AppTest, sample: str) -> AppTest:
    """Choose a sample on the Data page, and continue to Run."""
    app.selectbox(key="sample").select(sample).run()
    return drawn(press(app, "use_sample"), "run")


def shown_data(app: AppTest) -> str:
    """The name of the data in use, as the sidebar shows it."""
    chosen = box(drawn(app, "home").sidebar, "Data")
    return str(chosen.format_func(chosen.value))


@pytest.fixture
def two_tabs(open_app: Open) -> tuple[AppTest, AppTest]:
    """Two tabs of one browser: the first uses Southern women, the second, later, Karate."""
    one, two = use(open_app("data"), "southern_women"), use(open_app("data"), "karate")
    return one, two


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
    box(one.sidebar, "Data").select(Workspace(WORKSPACE).dataset.data.fingerprint).run()
    drawn(one, "home")
    assert one.query_params["data"] == second
    one.query_params["data"] = first  # as the browser's Back does
    assert shown_data(one).startswith("Southern women")
    assert shown_data(two).startswith("Karate")


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


NO_CHOICE = "This page does not have the {} that the address asks for."


def test_an_address_opens_what_was_chosen_on_its_page(open_app: Open) -> None:
    first = opened(open_app, "topics", fitted(), fitted())
    assert not {"topic", "part"} & {*first.query_params}, "what the page begins with"
    box(first, "Topic").set_value(2).run()
    show_part(first, "Quality")
    copied = {name: one.query_params[name] for one in [first] for name in ("run", "topic", "part")}
    assert (copied["topic"], copied["part"]) == ("2", "Quality")
    two = open_app("topics", **copied)
    assert box(two, "Topic").value == 2
    assert group(two, "topics_part").value == "Quality"
    box(two, "Topic").set_value(1).run()
    two.query_params["topic"] = "2"  # as a browser says that does not know the new address yet
    assert box(drawn(two, "topics"), "Topic").value == 1
    assert "topic" not in two.query_params
    for wrong in ("3", "0", "two", "<b>"):
        app = open_app("topics", topic=wrong, part="Quality")
        assert box(app, "Topic").value == 1
        assert texts(app).count(NO_CHOICE.format("topic")) == 1
        assert "topic" not in app.query_params
        assert NO_CHOICE.format("topic") in texts(drawn(app, "topics"))
        box(app, "Topic").set_value(2).run()
        assert NO_CHOICE.format("topic") not in texts(app)
