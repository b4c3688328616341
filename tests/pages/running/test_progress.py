"""What the table of the Run page says while it runs, and after it was stopped."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from pages.ui.running import run_table
from pages.ui.shared import services
from tests.engine.fakes import small_run
from tests.engine.jobs import gated
from tests.pages.session import OTHER, SECONDS, WORKSPACE, Open, press, select_rows, until

ROOT = Path(__file__).resolve().parents[3]


def progress(app: AppTest) -> list[str]:
    """What the table of the runs says of how far they are, the newest first."""
    return list(app.dataframe[0].value["Progress"])


def test_a_run_says_about_how_long_it_will_take(open_app: Open) -> None:
    prepared, gate = gated(small_run("vb", tol=1e-12, max_sweeps=1_000_000))
    job = services.job_manager().add(WORKSPACE, prepared)
    gate.tickets.release(6)
    app = open_app("run")
    until(app, lambda: len(job.history) == 6)
    app.run()
    assert app.dataframe[0].value["Time left"][0].startswith("about ")
    (text,) = progress(app)
    assert re.fullmatch(r"6 sweeps, bound moves by \S+ \(goal 1e-12\)", text)
    press(app, f"stop_{job.id}")
    gate.tickets.release(1)
    until(app, lambda: not job.inspect().status.active)
    app.run()
    assert progress(app) == ["6 sweeps done"]
    assert "Time left" not in app.dataframe[0].value


def test_a_run_that_waits_says_where_it_is_in_line(open_app: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACVB_RUNS", "1")
    prepared, gate = gated(small_run("vb", max_sweeps=5))
    book = services.job_manager()
    foreign = book.add(OTHER, prepared)
    assert gate.waiting.wait(180)
    first, second, third = (book.add(WORKSPACE, small_run("cvb0", seed=seed)) for seed in range(3))
    book.add(OTHER, small_run("cvb0"))  # it waits until this workspace has had its turn
    app = open_app("run")
    assert sorted(progress(app)) == [
        "Waiting: 1st in line",
        "Waiting: 3rd in line",
        "Waiting: 4th in line",
    ]
    press(select_rows(app, 2), f"stop_{first.id}")
    until(app, lambda: not first.inspect().status.active)
    app.run()
    assert (second.position, third.position) == (1, 3)
    assert "Waiting: 1st in line" in progress(app)
    gate.tickets.release(5)
    assert foreign.wait(180)


@pytest.mark.parametrize("value", ["0", "-1", "many", "2.5"])
def test_a_number_of_runs_at_once_that_is_none_is_refused_in_one_sentence(
    monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("ACVB_RUNS", value)
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=SECONDS).run()
    assert not app.exception
    (error,) = app.error
    assert error.value.startswith(f"ACVB_RUNS is '{value}'. It must be a whole number from 1")
    monkeypatch.delenv("ACVB_RUNS")


def test_the_time_left_is_read_once_of_a_run_that_continues() -> None:
    answers = iter([3.0, None])
    moving = {"seconds_left": 5.0, "expected_seconds_left": property(lambda _: next(answers))}
    assert run_table._write_time_left(type("Seen", (), moving)()) == "about 3 s"
