"""The page on the number of topics: what it starts, what it shows, and where it leads."""

from __future__ import annotations

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from acvb_core.core.errors import ParameterError
from acvb_core.models.lda.grid import grid
from acvb_core.samples.planted_mixtures import bars
from pages.ui.lda.how_many_page import find_jobs, max_topics, measure_group, parse_numbers
from pages.ui.shared import services
from pages.ui.shared.workspace import Workspace
from tests.loops import for_each
from tests.pages.session import (
    WORKSPACE,
    Open,
    chart,
    finished,
    in_use,
    jobs_of,
    of_data,
    press,
    texts,
    until,
)

CORPUS = bars().corpus


@pytest.fixture
def app(open_app: Open, monkeypatch: pytest.MonkeyPatch) -> AppTest:
    """The page with a corpus as the data in use."""
    monkeypatch.setenv("ACVB_RUNS", "4")  # all at once, on any machine
    settings = {"name": "bars", "heldout": 0.2, "heldout_seed": 3}
    services.store().save_dataset(WORKSPACE, CORPUS, [], settings)
    return open_app("how_many")


def started(app: AppTest, numbers: str, seeds: int = 2) -> AppTest:
    """Start a grid and wait for it."""
    app.text_input[0].set_value(numbers).run()
    app.number_input(key=of_data(app, "grid_seeds")).set_value(seeds).run()
    app.number_input(key=of_data(app, "grid_sweeps")).set_value(15).run()
    return finished(press(app, "grid_start"))


def test_a_grid_is_started_and_shown(app: AppTest) -> None:
    started(app, "8, 2")
    expected = grid(CORPUS, [2, 8], seeds=2, heldout=0.2, heldout_seed=3, max_sweeps=15).table()
    shown = app.dataframe[0].value
    assert shown["Topics"].tolist() == [2, 2, 8, 8]
    columns = {
        "Leave-one-out perplexity": "loo_perplexity",
        "Held-out perplexity": "heldout_perplexity",
        "NPMI": "npmi",
    }
    for heading, column in columns.items():
        np.testing.assert_allclose(shown[heading], expected[column])
    assert {job.prepared.spec.heldout_seed for job in jobs_of(app)} == {3}
    assert len(app.get("plotly_chart")) == 1
    assert "at most 15 sweeps" in texts(app)
    assert "Best at the largest number tried: held-out perplexity" in texts(app)


def test_runs_that_are_there_are_not_started_again(app: AppTest) -> None:
    started(app, "2, 4", seeds=1)
    press(app, "grid_start")
    assert "All of these runs exist already" in texts(app)
    assert len(jobs_of(app)) == 2
    started(app, "2, 3, 4", seeds=2)
    assert len(jobs_of(app)) == 6
    assert app.dataframe[0].value["Topics"].tolist() == [2, 2, 3, 3, 4, 4]
    group = find_jobs(Workspace(WORKSPACE), in_use())
    _, found = measure_group(group)
    assert found is not None
    assert found.sentence in texts(app)
    chosen = next(box for box in app.selectbox if box.label == "Look at the topics of")
    assert chosen.value == found.knee
    app.session_state["is_narrow"] = True  # as the browser reports it
    app.run()
    layout = chart(app, "grid_figure")["layout"]
    assert [layout[f"xaxis{number}"]["domain"] for number in ("", "2", "3", "5")] == [[0, 1]] * 4


def test_grids_of_other_settings_stay_apart(app: AppTest) -> None:
    started(app, "2, 3", seeds=1)
    app.selectbox(key=of_data(app, "grid_method")).set_value("vb").run()
    started(app, "2, 4", seeds=1)
    choices = app.selectbox(key="grid").options
    assert [choice.split(" · ")[:2] for choice in choices] == [["VB", "2, 4 topics"], ["CVB0", "2, 3 topics"]]
    assert app.dataframe[0].value["Topics"].tolist() == [2, 4]
    app.selectbox(key="grid").select_index(1).run()
    assert app.dataframe[0].value["Topics"].tolist() == [2, 3]


def test_a_grid_under_way_can_be_stopped(app: AppTest) -> None:
    app.selectbox(key=of_data(app, "grid_method")).set_value("gibbs").run()
    app.text_input[0].set_value("2 3").run()
    app.number_input(key=of_data(app, "grid_sweeps")).set_value(100_000).run()
    press(app, "grid_start")
    assert "0 of 4 runs done" in next(bar.proto.text for bar in app.get("progress"))
    assert set(app.dataframe[0].value["Status"]) <= {"queued", "starting", "running"}
    until(app, lambda: all(job.inspect().snapshot is not None for job in jobs_of(app)))
    press(app, "grid_stop")
    until(app, lambda: set(app.dataframe[0].value["Status"]) == {"stopped"})


@for_each(
    "text, said",
    [
        ("5", "at least two numbers"),
        ("5, -3", "'-3' is not a whole number"),
        ("0, 5", "0 topics cannot be tried here. Give numbers from 1 to 25"),
        ("5, 26", "26 topics cannot be tried"),
    ],
)
def test_numbers_that_cannot_be_tried(text: str, said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        parse_numbers(text, max_topics(CORPUS))


def test_runs_that_do_not_fit_must_be_wanted(app: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pages.ui.lda.how_many_page.find_free_memory", lambda: 1000)
    app.run()
    assert "1 kB is free" in texts(app)
    assert app.button(key="grid_start").disabled
    app.checkbox(key=of_data(app, "grid_nevertheless")).check().run()
    assert not app.button(key="grid_start").disabled
