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
from tests.pages.session import Open, finished, frame, jobs_of, of_data, opened, press, show_part, texts


@pytest.fixture
def app(open_app: Open) -> AppTest:
    """The Run page, with a small sample of texts as the data in use."""
    app = open_app("data")
    app.selectbox(key="sample").select("bars").run()
    press(app, "use_sample")
    app.switch_page("pages/run.py").run()
    return app


def start(app: AppTest, **values: object) -> AppTest:
    """Start CVB0 with these values of parameters, and wait for its end."""
    app.pills(key=of_data(app, "methods_lda")).set_value(["cvb0"]).run()
    for name, value in values.items():
        next(one for one in app.number_input if str(one.key).startswith(f"set_lda_{name}_")).set_value(value)
    return finished(press(app.run(), "start"))


@pytest.fixture(scope="module")
def bars() -> list[Result]:
    corpus = load_sample("bars").corpus
    made = [("cvb0", 10, 0), ("cvb0", 10, 1), ("acvb0", 8, 0)]
    return [fit(corpus, method, heldout=0.1, k=k, seed=seed, max_sweeps=60) for method, k, seed in made]


def test_the_tables_of_runs_speak_of_topics(app: AppTest, open_app: Open) -> None:
    start(app, k=10, max_sweeps=30)
    score = jobs_of(app)[0].inspect().snapshot.heldout
    line = app.dataframe[0].value.iloc[0]
    assert line["Result"] == "10 topics"
    assert line["Held-out score"] == f"perplexity {write_number(score.perplexity)}"
    assert "Leave-one-out perplexity" in texts(app)  # what the curves show
    app.switch_page("pages/home.py").run()
    recent = app.dataframe[0].value
    assert list(recent["Result"]) == ["10 topics"]
    assert "1,000 documents · 25 words · 100,000 tokens" in texts(open_app())


def test_topics_of_runs_are_aligned(open_app: Open, bars: list[Result]) -> None:
    app = opened(open_app, "compare", *bars)
    table = app.dataframe[0].value
    assert list(table["Topics"]) == [10, 10, 8]
    assert "Held-out perplexity" in table
    assert len(show_part(app, "Topics").get("plotly_chart")) == 2  # similarity and distances
    pairs = frame(app, "Pairs with")
    assert len(pairs) == 10
    assert pairs["Similarity"].is_monotonic_increasing

    app.selectbox(key="topics_other").set_value(2).run()
    assert "2 of CVB0" in texts(app)  # topics without a partner
    app.selectbox(key="topics_one").set_value(2).run()
    assert "two different runs" in texts(app)


def test_the_page_counts_the_topics_that_come_back_in_one_way(open_app: Open, bars: list[Result]) -> None:
    """Its conclusion and its table count those of the same run, in the same runs."""
    app = show_part(opened(open_app, "compare", *bars), "Topics")
    sentence = re.compile(r"(?:Only |None of |All )?\d*(?: of )?\d+ topics (?:is|are) found by every run")
    (concluded,) = (sentence.search(text.value) for text in app.text if sentence.search(text.value))
    (counted,) = (sentence.search(one.value) for one in app.caption if sentence.search(one.value))
    assert concluded[0] == counted[0]
    stable = frame(app, "Lowest similarity")
    assert (stable["Lowest similarity"] <= stable["Average similarity"]).all()
    back = int((stable["Lowest similarity"] >= ALIKE).sum())
    assert counted[0].removeprefix("Only ").startswith(f"{back} of {len(stable)} topics")
    # It stays so whichever pair is looked at.
    app.selectbox(key="topics_one").set_value(2).run()
    assert counted[0] in texts(app)
