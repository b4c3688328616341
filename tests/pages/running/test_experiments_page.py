"""Experiments from the form to the starred table; what was over outlives the process."""

from __future__ import annotations

from dataclasses import replace

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
from tests.pages.session import SECONDS, WORKSPACE, Open, of_data, press, texts, until

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


def test_a_stopped_experiment_continues(open_app: Open, women: None) -> None:
    app = open_app(PAGE)
    app.multiselect(key=of_data(app, "experiment_methods_irm")).set_value(["gibbs"]).run()
    app.number_input(key=of_data(app, "experiment_splits")).set_value(4).run()
    press(app, "experiment_start")
    job = experiments()[0]
    until(app, lambda: len(job.inspect().study.rows) >= 1)
    press(app, f"experiment_{job.id}_stop")
    until(app, lambda: not job.inspect().status.active)
    made = len(job.inspect().study.rows)
    app.run()
    if made < 4:
        assert f"{made} of 4 runs" in str([one.proto for one in app.get("progress")])
        press(app, f"experiment_{job.id}_go_on")
    until(app, lambda: job.inspect().is_complete)
    assert [row["run"] for row in job.inspect().study.rows] == [1, 2, 3, 4]


def test_an_experiment_that_was_cut_off_says_so(open_app: Open, women: None) -> None:
    dataset = Workspace(WORKSPACE).dataset
    assert dataset is not None
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


def test_a_wrong_number_of_clusters_is_named(open_app: Open, women: None) -> None:
    app = open_app(PAGE)
    app.text_input(key=of_data(app, "experiment_k")).set_value("0").run()
    press(app, "experiment_start")
    assert "k_rows is 0; it must be" in texts(app)
    assert not experiments()


def test_a_damaged_experiment_leaves_the_others(open_app: Open, women: None) -> None:
    folder = services.store().folder / "experiments" / "broken"
    folder.mkdir(parents=True)
    (folder / "about.json").write_text(f'{{"workspace": "{WORKSPACE}"}}')
    app = open_app(PAGE)
    assert "An experiment could not be read" in texts(app)
    press(app, "experiment_drop_broken")
    assert not folder.exists()
    assert "could not be read" not in texts(app)


def test_a_share_that_holds_nothing_out_is_refused_before_any_run(open_app: Open) -> None:
    """A thousandth of 252 pairs is none."""
    dataset = Dataset.of_sample("southern_women")
    Workspace(WORKSPACE).set_dataset(replace(dataset, heldout=0.001))
    app = open_app(PAGE)
    press(app, "experiment_start")
    assert "Nothing is held out, so methods cannot be compared; hold out a larger share." in texts(app)
    assert not experiments()
