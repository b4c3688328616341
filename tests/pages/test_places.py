"""The choice where runs compute, without a cluster that answers; `tests/browser/test_cluster.py` has one."""

from __future__ import annotations

import pytest

from acvb_core.engine.executor import Status
from pages.ui.shared import services
from tests.engine.fakes import small_run
from tests.pages.session import SECONDS, WORKSPACE, Open, press, texts


def test_nothing_is_asked_where_there_is_no_cluster(open_app: Open) -> None:
    app = open_app("run")
    assert not app.radio
    assert services.places().find(WORKSPACE) is services.places().here


def test_a_run_is_interrupted_where_no_scheduler_answers_and_goes_on_here(
    open_app: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACVB_SCHEDULER", "tcp://127.0.0.1:1")
    monkeypatch.setattr("acvb_core.cluster.backend.PATIENCE", 0.2)
    job = services.job_manager().add(WORKSPACE, small_run("vb"))
    assert job.wait(SECONDS)
    assert job.inspect().status is Status.INTERRUPTED
    app = open_app("run")
    assert "No Dask scheduler answers at tcp://127.0.0.1:1" in texts(app)
    services.places().choose(WORKSPACE, False)
    press(app, f"continue_{job.id}")
    assert job.wait(SECONDS)
    assert job.inspect().status is Status.FINISHED
