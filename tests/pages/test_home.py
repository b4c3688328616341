from __future__ import annotations

import re

import pytest

from pages.ui.shared import empty
from pages.ui.shared import format as say
from tests.pages.session import OTHER, WORKSPACE, Open, jobs_of, press, texts, until


def test_empty_home_shows_a_result_and_where_to_begin(open_app: Open) -> None:
    app = open_app()
    assert app.title[0].value == "ACVB"
    assert len(app.get("plotly_chart")) == 2
    assert "Who appears with whom in the chapters of the novel" in texts(app)
    assert "None yet" in texts(app)
    assert "No data chosen yet" in texts(app)
    assert not app.button(key="sample_comparison").disabled


def test_sample_comparison_runs_three_methods_at_one_press(
    open_app: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a smaller sample: the browser tests press the same button and wait for the runs on its own."""
    start = empty.start_demonstration
    monkeypatch.setattr(
        empty, "start_demonstration", lambda ws, one, model: start(ws, one._replace(sample="survey"), model)
    )
    app = press(open_app(), "sample_comparison")
    assert app.title[0].value == "Run"
    jobs = jobs_of(app)
    assert [job.prepared.row.name for job in jobs] == ["acvb0", "cvb0", "vb"]
    assert all(job.prepared.heldout is not None for job in jobs)
    until(app, lambda: not any(job.inspect().status.active for job in jobs))
    assert set(app.run().dataframe[0].value["Status"]) == {"converged"}
    assert re.search(r"\d+ × \d+ clusters.*Three methods .*agree .*\(skill \d", texts(app))

    app.switch_page("pages/home.py").run()
    recent = app.dataframe[0].value
    assert [name.split(" · ")[0] for name in recent["Run"]] == ["VB", "CVB0", "ACVB0"]
    assert set(recent["Status"]) == {"converged"}
    app.session_state[str(app.dataframe[0].key)] = {"selection": {"rows": [1], "columns": []}}
    app.run()
    assert app.title[0].value == "Blocks"
    assert app.selectbox(key="blocks_run").value == jobs[1].id


def test_durations_rates_and_sizes_are_written_for_people() -> None:
    durations = {
        0.04: "0.04 s",
        0.84: "0.8 s",
        9.96: "10.0 s",
        59.4: "59 s",
        60: "1 min 0 s",
        3725: "1 h 2 min",
    }
    assert {seconds: say.duration(seconds) for seconds in durations} == durations
    past = {
        3: "just now",
        65: "1 minute ago",
        7300: "2 hours ago",
        2 * 86400: "2 days ago",
        60 * 86400: "1970-01-02",
    }
    assert {seconds: say.ago(100_000.0, 100_000.0 + seconds) for seconds in past} == past
    rates = {None: "–", 0.2: "12.0 sweeps/min", 9.96: "10.0 sweeps/s", 1234.0: "1,234 sweeps/s"}
    assert {rate: say.rate(rate) for rate in rates} == rates
    assert [say.size(n) for n in (999, 2_500_000, 3.2e9)] == ["1 kB", "2.5 MB", "3.2 GB"]
    places = {1: "1st", 2: "2nd", 3: "3rd", 11: "11th", 112: "112th", 21: "21st"}
    assert {number: say.ordinal(number) for number in places} == places


def test_two_browsers_have_workspaces_of_their_own(open_app: Open) -> None:
    one = press(open_app(), "sample_comparison")
    other = open_app(workspace=OTHER)
    assert len(jobs_of(one)) == 3
    assert jobs_of(other) == []
    assert "No data chosen yet" in texts(other)
    new = open_app(workspace=None)
    assert new.session_state["ws"] not in (WORKSPACE, OTHER)
