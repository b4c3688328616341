"""Runs on texts, on the pages that they share with relations: form, cards, curves, home, comparison."""

from __future__ import annotations

import re

import pytest
from streamlit.testing.v1 import AppTest

from acvb_core.core.display import write_number
from acvb_core.engine.fitting import fit
from acvb_core.engine.result import Result
from acvb_core.models.lda.topics import ALIKE
from acvb_core.samples.catalogue import load_sample
from acvb_core.views.convergence import live_figure
from pages.ui.running.live import build_curves
from pages.ui.shared import services
from tests.pages.session import WORKSPACE, Open, jobs_of, of_data, press, show_part, texts, until


@pytest.fixture
def with_texts(open_app: Open) -> AppTest:
    """The Run page, with a small sample of texts as the data in use."""
    app = open_app("data")
    app.selectbox(key="sample").select("bars").run()
    press(app, "use_sample")
    app.switch_page("pages/run.py").run()
    assert not app.exception
    return app


def enter(app: AppTest, **values: object) -> AppTest:
    """Fill number fields of the form by the names of their parameters."""
    for name, value in values.items():
        fields = [field for field in app.number_input if str(field.key).startswith(f"set_lda_{name}_")]
        assert fields, name
        for field in fields:
            field.set_value(value)
    return app.run()


def finished(app: AppTest) -> AppTest:
    until(app, lambda: not any(job.inspect().status.active for job in jobs_of(app)))
    return app.run()


@pytest.fixture(scope="module")
def bars() -> list[Result]:
    corpus = load_sample("bars").corpus
    made = [("cvb0", 10, 0), ("cvb0", 10, 1), ("acvb0", 8, 0)]
    return [fit(corpus, method, heldout=0.1, k=k, seed=seed, max_sweeps=60) for method, k, seed in made]


def compare(open_app: Open, *results: Result) -> AppTest:
    for number, result in enumerate(results):
        services.store().save(WORKSPACE, f"{number:012x}", 1e9 + number, result)
    app = open_app("compare")
    assert not app.exception
    return app


def test_what_is_entered_reaches_the_run(with_texts: AppTest) -> None:
    app = with_texts
    app.pills(key=of_data(app, "methods_lda")).set_value(["acvb0"]).run()
    enter(app, k=7, alpha=0.3, beta=0.2, max_sweeps=3)
    next(box for box in app.selectbox if "hyper" in str(box.key)).select("fixed").run()
    press(app, "start")
    (job,) = jobs_of(app)
    settings = job.prepared.spec
    assert settings.model == "lda"
    values = [settings.values[name] for name in ("k", "alpha", "beta", "max_sweeps", "hyper")]
    assert values == [7, 0.3, 0.2, 3, "fixed"]
    assert job.prepared.heldout is not None
    finished(app)


def test_memory_is_shown_with_what_can_be_saved(with_texts: AppTest) -> None:
    app = with_texts
    app.pills(key=of_data(app, "methods_lda")).set_value(["acvb0"]).run()
    assert "without averaging every responsibility" in texts(app)
    next(toggle for toggle in app.toggle if "track" in str(toggle.key)).set_value(False).run()
    assert "of memory" in texts(app)
    assert "without averaging every responsibility" not in texts(app)
    app.pills(key=of_data(app, "methods_lda")).set_value(["cvb0"]).run()
    assert "without averaging every responsibility" not in texts(app)


def test_the_tables_of_runs_speak_of_topics(with_texts: AppTest, open_app: Open) -> None:
    app = with_texts
    app.pills(key=of_data(app, "methods_lda")).set_value(["cvb0"]).run()
    enter(app, k=10, max_sweeps=30)
    press(app, "start")
    finished(app)
    score = jobs_of(app)[0].inspect().snapshot.heldout
    line = app.dataframe[0].value.iloc[0]
    assert (line["Result"], line["Held-out score"]) == (
        "10 topics",
        f"perplexity {write_number(score.perplexity)}",
    )
    assert "Leave-one-out perplexity" in texts(app)  # what the curves show
    app.switch_page("pages/home.py").run()
    recent = app.dataframe[0].value
    assert list(recent["Result"]) == ["10 topics"]
    assert "1,000 documents · 25 words · 100,000 tokens" in texts(open_app())


def test_runs_of_both_models_have_a_figure_each(with_texts: AppTest) -> None:
    app = with_texts
    app.pills(key=of_data(app, "methods_lda")).set_value(["cvb0"]).run()
    enter(app, max_sweeps=3)
    press(app, "start")
    finished(app)
    app.switch_page("pages/data.py").run()
    app.selectbox(key="sample").select("survey").run()
    press(app, "use_sample")
    app.switch_page("pages/run.py").run()
    press(app, "start")
    finished(app)
    assert len(app.get("plotly_chart")) == 1  # what loads Plotly for the live figure
    app.toggle(key="every").set_value(True).run()
    assert not app.exception
    assert len(app.dataframe[0].value) == 2
    assert len(app.get("plotly_chart")) == 2


def test_the_curves_are_those_of_the_model(bars: list[Result], open_app: Open) -> None:
    app = compare(open_app, *bars[:2])
    runs = build_curves(jobs_of(app), {job.id: job.id for job in jobs_of(app)})
    assert {run.model for run in runs} == {"lda"}
    assert all(run.learns for run in runs)
    titles = " ".join(note["text"] for note in live_figure(runs)["layout"]["annotations"])
    for title in ("Leave-one-out perplexity", "Held-out perplexity", "Topics", "Alpha", "Beta"):
        assert title in titles


def test_topics_of_runs_are_aligned(open_app: Open, bars: list[Result]) -> None:
    app = compare(open_app, *bars)
    table = app.dataframe[0].value
    assert list(table["Topics"]) == [10, 10, 8]
    assert "Held-out perplexity" in table
    assert len(show_part(app, "Topics").get("plotly_chart")) == 2  # similarity and distances
    pairs = next(frame.value for frame in app.dataframe if "Pairs with" in frame.value)
    assert len(pairs) == 10
    assert pairs["Similarity"].is_monotonic_increasing

    app.selectbox(key="topics_other").set_value(2).run()
    assert "2 of CVB0" in texts(app)  # topics without a partner
    app.selectbox(key="topics_one").set_value(2).run()
    assert not app.exception
    assert "two different runs" in texts(app)


def test_the_page_counts_the_topics_that_come_back_in_one_way(open_app: Open, bars: list[Result]) -> None:
    """Its conclusion and its table count those of the same run, in the same runs."""
    app = show_part(compare(open_app, *bars), "Topics")
    sentence = re.compile(r"(?:Only |None of |All )?\d*(?: of )?\d+ topics (?:is|are) found by every run")
    (concluded,) = (sentence.search(text.value) for text in app.text if sentence.search(text.value))
    (counted,) = (sentence.search(one.value) for one in app.caption if sentence.search(one.value))
    assert concluded[0] == counted[0]
    stable = next(frame.value for frame in app.dataframe if "Lowest similarity" in frame.value)
    assert (stable["Lowest similarity"] <= stable["Average similarity"]).all()
    back = int((stable["Lowest similarity"] >= ALIKE).sum())
    assert counted[0].removeprefix("Only ").startswith(f"{back} of {len(stable)} topics")
    # It stays so whichever pair is looked at.
    app.selectbox(key="topics_one").set_value(2).run()
    assert counted[0] in texts(app)
