"""Experiments from the form to the starred table; what was over outlives the process."""

from __future__ import annotations

import pytest

from acvb_core import __version__
from acvb_core.engine.executor import Executor
from acvb_core.engine.experiments.plan import plan_experiment
from acvb_core.engine.experiments.report import Experiment
from acvb_core.engine.study import StudyJob
from acvb_core.store.studies import ExperimentFolder, StudyStore
from pages.ui.shared import services
from pages.ui.shared.workspace import Workspace
from pages.ui.workspace.dataset import Dataset
from tests.pages.session import SECONDS, WORKSPACE, Open, in_use, of_data, press, texts, until

PAGE = "experiments"


def experiments() -> list[StudyJob[Experiment]]:
    return services.experiments().jobs(WORKSPACE)


@pytest.fixture
def women() -> None:
    Workspace(WORKSPACE).set_dataset(Dataset.of_sample("southern_women"))


def test_from_the_form_to_the_starred_table(open_app: Open, women: None) -> None:
    app = open_app(PAGE)
    app.multiselect(key=of_data(app, "experiment_methods_irm")).set_value(["cvb0", "vb"]).run()
    app.text_input(key=of_data(app, "experiment_k")).set_value("2, 4").run()
    app.number_input(key=of_data(app, "experiment_splits")).set_value(5).run()
    assert "20 runs, each with 10 % held out." in texts(app)
    press(app, "experiment_start")
    until(app, lambda: experiments()[0].inspect().is_complete)
    until(app, lambda: not experiments()[0].inspect().status.active)
    app.run()
    answer = experiments()[0].inspect().study
    assert answer.conclusion() in texts(app)
    table = app.dataframe[0].value
    assert table["Method"].tolist() == [
        *(f"{name} · clusters" for name in ("CVB0 · K 2", "CVB0 · K 4", "VB · K 2", "VB · K 4")),
        *(f"CVB0 · K {k} / VB · K {k} · Gibbs samples of the start" for k in (2, 4)),
    ]
    assert "predict in two ways: by their clusters, and by the mean of these samples." in texts(app)
    assert set(table["Runs"]) == {5}
    assert "★" in set(table[""])
    assert table["p"].notna().any()
    assert (table["p (uncorrected)"].fillna(0) <= table["p"].fillna(0)).all()
    assert "★: no difference from the best was found. Stability" in texts(app)
    # Another server finds all of it again.
    again = StudyStore(ExperimentFolder, Executor(), services.store(), __version__).jobs(WORKSPACE)
    assert [job.inspect().study.conclusion() for job in again] == [answer.conclusion()]
    job_id = experiments()[0].id
    press(app, f"experiment_{job_id}_delete")
    assert not experiments()
    assert not (services.store().folder / "experiments" / job_id).exists()
    assert services.store().load_dataset(f"experiment {job_id}") is None


def test_an_experiment_that_was_cut_off_says_so(open_app: Open, women: None) -> None:
    dataset = in_use()
    plan = plan_experiment(dataset.data, ["cvb0"], splits=3, heldout=0.1, max_sweeps=2)
    job = services.experiments().add(WORKSPACE, plan, "women")
    assert job.wait(SECONDS)
    kept = services.experiments().folder(job.id)
    path = kept.folder / kept.lines_file
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:2]))
    services.experiments.clear()
    app = open_app(PAGE)
    assert "Interrupted · 2 of 3 runs" in str([one.proto for one in app.get("progress")])
    press(app, f"experiment_{job.id}_go_on")
    until(app, lambda: experiments()[0].inspect().is_complete)
    # Three splits are not tested: nothing says that no difference was found.
    app.run()
    assert {"", "p"}.isdisjoint(app.dataframe[0].value)
    assert "★" not in texts(app)


@pytest.mark.parametrize(
    ("methods", "k", "reason"),
    [([], "", "Choose at least one method"), (["vb"], "3, many", "K is 'many'; give whole numbers")],
)
def test_the_reason_stands_beside_the_start(
    open_app: Open, women: None, methods: list[str], k: str, reason: str
) -> None:
    app = open_app(PAGE)
    app.multiselect(key=of_data(app, "experiment_methods_irm")).set_value(methods).run()
    app.text_input(key=of_data(app, "experiment_k")).set_value(k).run()
    assert reason in texts(app)
    assert app.button(key="experiment_start").disabled
