"""What the card of a run says while it runs, and after it was stopped."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from acvb_core.engine.executor import Status
from acvb_core.engine.job import Job
from pages.ui.running.live import MOST_WAITING
from pages.ui.shared import services
from pages.ui.shared.format import ordinal
from tests.engine.fakes import small_run
from tests.engine.jobs import gated
from tests.pages.session import OTHER, SECONDS, WORKSPACE, Open, press, texts, until

ROOT = Path(__file__).resolve().parents[3]


def bars(app: object) -> list[tuple[str, int]]:
    return [(bar.proto.text, bar.proto.value) for bar in app.get("progress")]  # type: ignore[attr-defined]


def test_a_run_says_about_how_long_it_will_take_and_its_bar_is_full_at_its_end_only(open_app: Open) -> None:
    prepared, gate = gated(small_run("vb", tol=1e-12, max_sweeps=1_000_000))
    job = services.job_manager().add(WORKSPACE, prepared)
    gate.tickets.release(6)
    app = open_app("run")
    until(app, lambda: len(job.history) == 6)
    app.run()
    assert re.search(r"title='Estimated from the last sweeps. At most [^']+'>about \d", texts(app))
    ((text, value),) = bars(app)
    assert re.fullmatch(r"6 sweeps, bound moves by \S+ \(goal 1e-12\)", text)
    assert 0 < value < 100
    press(app, f"stop_{job.id}")
    gate.tickets.release(1)
    until(app, lambda: not job.inspect().status.active)
    app.run()
    ((text, value),) = bars(app)
    assert text == "6 sweeps done"
    assert 0 < value < 100


def test_compiling_is_said_on_the_card(open_app: Open) -> None:
    prepared, gate = gated(small_run("vb", max_sweeps=5))
    job: Job = services.job_manager().add(WORKSPACE, prepared)
    assert gate.waiting.wait(180)
    job._publish(Status.COMPILING)
    app = open_app("run")
    assert bars(app) == [("Compiling: takes seconds, only once", 0)]
    assert "compiling, once" in texts(app)
    gate.tickets.release(5)


def test_a_long_line_of_waiting_runs_has_few_cards(open_app: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services.places().here, "_limit", 1)
    prepared, gate = gated(small_run("vb", max_sweeps=3))
    book = services.job_manager()
    jobs = [book.add(WORKSPACE, prepared)]
    assert gate.waiting.wait(180)
    jobs += [book.add(WORKSPACE, prepared) for _ in range(MOST_WAITING + 2)]
    app = open_app("run")
    assert len(bars(app)) == 1 + MOST_WAITING
    assert "2 more runs wait for a place" in texts(app)
    for job in jobs:
        job.stop()
    gate.tickets.release(3)


def test_a_run_that_waits_says_where_it_is_in_line(open_app: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACVB_RUNS", "1")
    prepared, gate = gated(small_run("vb", max_sweeps=5))
    book = services.job_manager()
    foreign = book.add(OTHER, prepared)
    assert gate.waiting.wait(180)
    first, second, third = (book.add(WORKSPACE, small_run("cvb0", seed=seed)) for seed in range(3))
    book.add(OTHER, small_run("cvb0"))  # it waits until this workspace has had its turn
    app = open_app("run")
    assert sorted(text for text, _ in bars(app)) == [
        "Waiting: 1st in line",
        "Waiting: 3rd in line",
        "Waiting: 4th in line",
    ]
    press(app, f"stop_{first.id}")
    until(app, lambda: not first.inspect().status.active)
    app.run()
    assert (second.position, third.position) == (1, 3)
    assert "Waiting: 1st in line" in dict(bars(app))
    gate.tickets.release(5)
    assert foreign.wait(180)


@pytest.mark.parametrize(
    ("number", "text"), [(1, "1st"), (2, "2nd"), (3, "3rd"), (11, "11th"), (112, "112th"), (21, "21st")]
)
def test_a_position_is_an_ordinal(number: int, text: str) -> None:
    assert ordinal(number) == text


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
