"""What the card of a run says while it goes on, and after it was stopped."""

from __future__ import annotations

import re

from acvb_core.engine.handle import Status
from acvb_core.engine.job import Job
from pages.ui.shared import services
from tests.engine.fakes import small_problem
from tests.engine.jobs import gated
from tests.pages.session import WORKSPACE, Open, press, texts, until


def bars(app: object) -> list[tuple[str, int]]:
    return [(bar.proto.text, bar.proto.value) for bar in app.get("progress")]  # type: ignore[attr-defined]


def test_a_run_says_about_how_long_it_will_take_and_its_bar_is_full_at_its_end_only(open_app: Open) -> None:
    problem, gate = gated(small_problem("vb", tol=1e-12, max_sweeps=1_000_000))
    job = services.job_book().add(WORKSPACE, problem)
    gate.tickets.release(6)
    app = open_app("run")
    until(app, lambda: len(job.history) == 6)
    app.run()
    assert re.search(r"title='Estimated from the last sweeps. At most [^']+'>about \d", texts(app))
    ((text, value),) = bars(app)
    assert re.fullmatch(r"6 sweeps, change \S+ \(goal 1e-12\)", text)
    assert 0 < value < 100
    press(app, f"stop_{job.id}")
    gate.tickets.release(1)
    until(app, lambda: not job.inspect().status.active)
    app.run()
    ((text, value),) = bars(app)
    assert text == "6 sweeps done"
    assert 0 < value < 100


def test_compiling_is_said_on_the_card(open_app: Open) -> None:
    problem, gate = gated(small_problem("vb", max_sweeps=5))
    job: Job = services.job_book().add(WORKSPACE, problem)
    assert gate.waiting.wait(60)
    job._publish(Status.COMPILING)
    app = open_app("run")
    assert bars(app) == [("Compiling, once: some seconds", 0)]
    assert "compiling, once" in texts(app)
    gate.tickets.release(5)
