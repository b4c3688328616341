"""The page on the number of topics: what it starts, what it shows, and where it leads."""

from __future__ import annotations

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from acvb_core.core.errors import ParameterError
from acvb_core.data.corpus import Corpus
from acvb_core.models.lda.grid import grid
from acvb_core.samples.planted_mixtures import bars
from pages.ui.lda.how_many_page import max_topics, parse_numbers, propose_numbers
from pages.ui.shared import services
from tests.pages.session import WORKSPACE, Open, chart, jobs_of, of_data, press, texts, until

CORPUS = bars().corpus


def opened(open_app: Open, heldout: float = 0.2) -> AppTest:
    """Open the page with a corpus as the data in use."""
    settings = {"name": "bars", "heldout": heldout, "heldout_seed": 3}
    services.store().save_dataset(WORKSPACE, CORPUS, [], settings)
    app = open_app("how_many")
    assert not app.exception
    return app


def started(app: AppTest, numbers: str, seeds: int = 2) -> AppTest:
    """Start a grid and wait for it."""
    app.text_input[0].set_value(numbers).run()
    app.number_input(key=of_data(app, "grid_seeds")).set_value(seeds).run()
    app.number_input(key=of_data(app, "grid_sweeps")).set_value(15).run()
    press(app, "grid_start")
    until(app, lambda: all(not job.inspect().status.active for job in jobs_of(app)))
    app.run()
    assert not app.exception
    return app


def test_without_texts_it_says_what_to_do(open_app: Open) -> None:
    app = open_app("how_many")
    assert app.subheader[0].value == "Nothing to try yet"
    assert "Choose some first" in texts(app)


def test_a_grid_is_started_and_shown(open_app: Open) -> None:
    app = started(opened(open_app), "8, 2")
    expected = grid(CORPUS, [2, 8], seeds=2, heldout=0.2, heldout_seed=3, max_sweeps=15).table()
    shown = app.dataframe[0].value
    assert shown["Topics"].tolist() == [2, 2, 8, 8]
    for heading, column in (
        ("Leave-one-out perplexity", "loo_perplexity"),
        ("Held-out perplexity", "heldout_perplexity"),
        ("NPMI", "npmi"),
        ("u_mass", "u_mass"),
        ("Diversity", "diversity"),
    ):
        np.testing.assert_allclose(shown[heading], expected[column])
    assert {job.prepared.spec.heldout_seed for job in jobs_of(app)} == {3}
    assert len(app.get("plotly_chart")) == 1
    assert "at most 15 sweeps" in texts(app)
    assert "Best at the largest number tried: leave-one-out perplexity, held-out perplexity" in texts(app)


def test_runs_that_are_there_are_not_started_again(open_app: Open) -> None:
    app = started(opened(open_app), "2, 4", seeds=1)
    press(app, "grid_start")
    assert "All of these runs exist already" in texts(app)
    assert len(jobs_of(app)) == 2
    started(app, "2, 3, 4", seeds=1)
    assert len(jobs_of(app)) == 3
    assert app.dataframe[0].value["Topics"].tolist() == [2, 3, 4]
    app.session_state["is_narrow"] = True  # as the browser reports it
    app.run()
    layout = chart(app, "grid_figure")["layout"]
    assert [layout[f"xaxis{number}"]["domain"] for number in ("", "2", "3")] == [[0, 1]] * 3


def test_grids_of_other_settings_stay_apart(open_app: Open) -> None:
    app = started(opened(open_app), "2, 3", seeds=1)
    app.selectbox(key=of_data(app, "grid_method")).set_value("vb").run()
    started(app, "2, 4", seeds=1)
    choices = app.selectbox(key="grid").options
    assert [choice.split(" · ")[:2] for choice in choices] == [["VB", "2, 4 topics"], ["CVB0", "2, 3 topics"]]
    assert app.dataframe[0].value["Topics"].tolist() == [2, 4]
    app.selectbox(key="grid").select_index(1).run()
    assert app.dataframe[0].value["Topics"].tolist() == [2, 3]
    assert not app.exception


def test_it_leads_to_the_topics_of_one_number(open_app: Open) -> None:
    app = started(opened(open_app), "2, 8")
    box = next(box for box in app.selectbox if box.label == "Look at the topics of")
    assert box.options[box.index or 0].startswith("8 topics (best")
    box.select_index(0).run()
    press(app, "grid_see")
    assert app.title[0].value == "Topics"
    assert "2 topics · 15 sweeps" in texts(app)
    chosen = app.selectbox(key="topics_run").value
    perplexity = {job.id: job.result().snapshot.heldout.perplexity for job in jobs_of(app)}
    of_two = [job.id for job in jobs_of(app) if job.prepared.spec.values["k"] == 2]
    assert chosen == min(of_two, key=perplexity.__getitem__)


def test_a_grid_under_way_can_be_stopped(open_app: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACVB_RUNS", "4")  # all at once, on any machine
    app = opened(open_app)
    app.selectbox(key=of_data(app, "grid_method")).set_value("gibbs").run()
    app.text_input[0].set_value("2 3").run()
    app.number_input(key=of_data(app, "grid_sweeps")).set_value(100_000).run()
    press(app, "grid_start")
    assert "0 of 4 runs done" in next(bar.proto.text for bar in app.get("progress"))
    assert set(app.dataframe[0].value["State"]) <= {"queued", "starting", "running"}
    until(app, lambda: all(job.inspect().snapshot is not None for job in jobs_of(app)))
    press(app, "grid_stop")
    until(app, lambda: set(app.dataframe[0].value["State"]) == {"stopped"})


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("5", "at least two numbers"),
        ("", "at least two numbers"),
        ("5, five", "'five' is not a whole number"),
        ("5, -3", "'-3' is not a whole number"),
        ("0, 5", "0 topics cannot be tried here. Give numbers from 1 to 25"),
        ("5, 26", "26 topics cannot be tried"),
    ],
)
def test_numbers_that_cannot_be_tried(open_app: Open, text: str, says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        parse_numbers(text, max_topics(CORPUS))


def test_runs_that_do_not_fit_must_be_wanted(open_app: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pages.ui.lda.how_many_page.find_free_memory", lambda: 1000)
    app = opened(open_app)
    assert "1 kB is free" in texts(app)
    assert app.button(key="grid_start").disabled
    app.checkbox(key=of_data(app, "grid_nevertheless")).check().run()
    assert not app.button(key="grid_start").disabled


def test_numbers_are_sorted_and_unique() -> None:
    assert parse_numbers(" 10;5, 10\n 7 ", 25) == (5, 7, 10)


def test_usual_numbers_fit_the_corpus() -> None:
    assert propose_numbers(CORPUS) == (5, 10, 20)
    assert propose_numbers(Corpus.build(np.ones((3, 9)))) == (2, 3)
