from __future__ import annotations

import re

import pytest

from pages.ui.shared import format as say
from tests.pages.session import OTHER, WORKSPACE, Open, jobs_of, press, texts, until


def test_empty_home_says_what_to_do_next(open_app: Open) -> None:
    app = open_app()
    assert "None yet" in texts(app)
    assert "No data chosen yet" in texts(app)
    assert not app.button(key="sample_comparison").disabled


def test_sample_comparison_runs_three_methods_at_one_press(open_app: Open) -> None:
    app = press(open_app(), "sample_comparison")
    assert app.title[0].value == "Run"
    jobs = jobs_of(app)
    assert [job.problem.row.name for job in jobs] == ["acvb0", "cvb0", "vb"]
    assert all(job.problem.heldout is not None for job in jobs)
    until(app, lambda: not any(job.inspect().status.active for job in jobs))
    assert texts(app.run()).count("converged") >= 3
    assert re.search(r"\d+ × \d+ groups.*Three methods .*agree .*\(skill \d", texts(app))

    app.switch_page("pages/home.py").run()
    recent = app.dataframe[0].value
    assert list(recent["Method"]) == ["VB", "CVB0", "ACVB0"]
    assert set(recent["State"]) == {"converged"}


def test_two_browsers_have_workspaces_of_their_own(open_app: Open) -> None:
    one = press(open_app(), "sample_comparison")
    other = open_app(workspace=OTHER)
    assert len(jobs_of(one)) == 3
    assert jobs_of(other) == []
    assert "No data chosen yet" in texts(other)
    new = open_app(workspace=None)
    assert new.session_state["ws"] not in (WORKSPACE, OTHER)


def test_a_name_that_is_no_workspace_is_not_taken(open_app: Open) -> None:
    app = open_app(workspace="../../etc")
    assert app.session_state["ws"] != "../../etc"
    assert app.query_params["ws"] in (app.session_state["ws"], [app.session_state["ws"]])


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.04, "0.0 s"),
        (9.96, "10.0 s"),
        (59.4, "59 s"),
        (60, "1 min 0 s"),
        (3725, "1 h 2 min"),
        (1e6, "277 h 46 min"),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    assert say.duration(seconds) == text


@pytest.mark.parametrize(
    ("past", "text"),
    [(3, "just now"), (65, "1 minute ago"), (7300, "2 hours ago"), (2 * 86400, "2 days ago")],
)
def test_how_long_ago(past: float, text: str) -> None:
    assert say.ago(1000.0, 1000.0 + past) == text


def test_rates_and_sizes() -> None:
    assert [say.rate(r) for r in (None, 0.2, 9.96, 1234.0)] == [
        "–",
        "12.0 sweeps/min",
        "10.0 sweeps/s",
        "1,234 sweeps/s",
    ]
    assert [say.size(n) for n in (999, 2_500_000, 3.2e9)] == ["1 kB", "2.5 MB", "3.2 GB"]
