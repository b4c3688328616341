"""Searches for better learning rates on the page: found again after the server was killed, continued and deleted."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from acvb_core.engine.executor import Status
from acvb_core.engine.tuning import Tuning, plan_search
from pages.ui.shared import services
from pages.ui.shared.workspace import Workspace
from pages.ui.workspace.dataset import Dataset
from tests.pages.session import SECONDS, WORKSPACE, Open, keys, press, texts, until


@pytest.fixture
def killed() -> tuple[str, Tuning]:
    """A search as it is found after a kill: two trials of five are over. Its id, and all trials of an unbroken one."""
    dataset = Dataset.of_sample("bars")
    Workspace(WORKSPACE).set_dataset(dataset)
    search = plan_search(dataset.data, "scvb0", 5, k=4, epochs=0.5, **dataset.split)
    job = services.searches().add(WORKSPACE, search, dataset.name)
    assert job.wait(SECONDS)
    path = services.searches().folder(job.id).folder / "trials.jsonl"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:2]))
    services.searches.clear()
    return job.id, job.result()


def bars_of(app: AppTest) -> str:
    return "\n".join(str(bar.proto.text) for bar in app.get("progress"))


def test_a_search_that_was_interrupted_is_shown_and_continues(
    open_app: Open, killed: tuple[str, Tuning]
) -> None:
    job_id, whole = killed
    app = open_app("run")
    assert "Interrupted · SCVB0: 2 trials of 5 done · best perplexity so far" in bars_of(app)
    press(app, f"tune_{job_id}_go_on")
    (job,) = services.searches().jobs(WORKSPACE)
    until(app, lambda: job.inspect().status is Status.FINISHED)
    app.run()
    assert "5 trials of 5 done" in bars_of(app)
    assert "Interrupted" not in bars_of(app)
    assert [(t.values, t.perplexity) for t in job.result().trials] == [
        (t.values, t.perplexity) for t in whole.trials
    ]
    press(app, f"tune_{job_id}_delete")
    assert services.searches().jobs(WORKSPACE) == []
    assert not (services.home() / "searches" / job_id).exists()


def test_a_search_is_shown_whatever_the_data_in_use(open_app: Open, killed: tuple[str, Tuning]) -> None:
    job_id, _ = killed
    Workspace(WORKSPACE).set_dataset(Dataset.of_sample("southern_women"))
    app = open_app("run")
    assert "Interrupted · SCVB0: 2 trials of 5 done" in bars_of(app)
    assert f"tune_{job_id}_go_on" in keys(app)
    assert not {"tune_start", f"tune_{job_id}_use"} & keys(app)


def test_a_damaged_search_leaves_the_others(open_app: Open, killed: tuple[str, Tuning]) -> None:
    folder = services.home() / "searches" / "broken"
    folder.mkdir()
    (folder / "about.json").write_text(f'{{"workspace": "{WORKSPACE}"}}')
    services.searches.clear()
    app = open_app("run")
    assert "A search could not be read" in texts(app)
    press(app, "tune_drop_broken")
    assert "could not be read" not in texts(app)
    assert "2 trials of 5 done" in bars_of(app)
