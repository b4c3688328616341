"""Runs as one file on the Runs page: downloaded in one installation, imported in another."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import streamlit as st
from streamlit.runtime.scriptrunner_utils.exceptions import StopException
from streamlit.testing.v1 import AppTest

from acvb_core.data.relation import Relation
from acvb_core.engine.experiments.plan import plan_experiment
from acvb_core.engine.prepared import prepare_run
from acvb_core.engine.tuning import plan_search
from acvb_core.samples.catalogue import load_sample
from acvb_core.store.archives import OpenArchive
from pages.ui.running.archives import _write_file
from pages.ui.shared import services
from pages.ui.shared.workspace import Workspace, view_id
from pages.ui.workspace.kept_data import shelf_of
from tests.pages.session import SECONDS, WORKSPACE, Open, jobs_of, keys, press, texts


@pytest.fixture
def take_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., bytes]:
    """Write the file of a workspace, and have the app begin from scratch in another home."""

    def take(*given: Any) -> bytes:
        with _write_file(*given) as file:
            archive = file.read()
        services.once_per_process.clear_all()
        st.cache_resource.clear()
        monkeypatch.setenv("ACVB_HOME", str(tmp_path / "another"))
        return archive

    return take


@pytest.fixture
def exported(take_away: Callable[..., bytes]) -> bytes:
    """The file of a workspace with two runs."""
    data = Relation.build(np.random.default_rng(5).random((12, 8)) < 0.3, name="links")
    book = services.job_manager()
    for seed in (0, 1):
        values = {"k_rows": 2, "k_cols": 2, "max_sweeps": 2}
        assert book.add(WORKSPACE, prepare_run(data, "vb", values, seed=seed)).wait(SECONDS)
    assert book.close(SECONDS)
    return take_away(book.jobs(WORKSPACE))


def successes(app: AppTest) -> list[str]:
    return [success.value for success in app.success]


def bring(app: AppTest, content: bytes) -> AppTest:
    next(one for one in app.file_uploader if str(one.key).startswith("archive_file")).upload(
        "runs.zip", content
    )
    app.run()
    return press(app, "archive_import")


def test_a_workspace_is_imported_by_another_installation(open_app: Open, exported: bytes) -> None:
    app = open_app("runs")
    assert jobs_of(app) == []
    bring(app, exported)
    assert successes(app) == ["2 runs imported."]
    assert len(app.dataframe[0].value) == 2
    labels: list[Any] = [button.label for button in app.get("download_button")]
    assert "Download workspace" in labels
    bring(app, exported)
    assert successes(app) == ["0 runs imported. 2 runs are here already, or deleted today."]
    assert len(jobs_of(app)) == 2
    app.run()
    assert not app.success


def test_an_import_can_be_stopped_and_the_rest_imported_later(
    open_app: Open, exported: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page is left while the first run is read, as when something on it is used, and opened again."""
    goes_on, real = threading.Event(), OpenArchive.read_run

    def read_slowly(*arguments: Any) -> Any:
        run = real(*arguments)
        assert goes_on.wait(SECONDS)
        return run

    def leave(*_: Any) -> None:
        raise StopException

    monkeypatch.setattr(OpenArchive, "read_run", read_slowly)
    with monkeypatch.context() as patch:
        patch.setattr("streamlit.delta_generator.DeltaGenerator.progress", leave)
        app = bring(open_app("runs"), exported)
        assert "runs.zip" in texts(app)
    app.button(key="import_stop").click()
    threading.Timer(0.3, goes_on.set).start()
    app.run()
    assert successes(app) == [
        "1 run imported. Stopped before the end of the file: import it again to have the rest."
    ]
    assert len(jobs_of(app)) == 1
    assert "import_stop" not in keys(app)
    bring(app, exported)
    assert successes(app) == ["1 run imported. 1 run is here already, or deleted today."]


def test_experiments_and_searches_are_in_the_file(open_app: Open, take_away: Callable[..., bytes]) -> None:
    links = Relation.build(np.random.default_rng(5).random((12, 8)) < 0.3, name="links")
    texts_data = load_sample("bars").corpus
    plan = plan_experiment(links, ["cvb0", "vb"], k=[2], splits=2, max_sweeps=2)
    experiment = services.experiments().add(WORKSPACE, plan, "links")
    search = services.searches().add(
        WORKSPACE, plan_search(texts_data, "scvb0", 1, k=3, epochs=0.2, heldout=0.1), "bars"
    )
    assert experiment.wait(SECONDS)
    assert search.wait(SECONDS)
    app = open_app("runs")
    assert "Download workspace" in [button.label for button in app.get("download_button")]
    assert "The file leaves out texts that are kept on disk" in texts(app)
    archive = take_away([], [(services.experiments(), experiment), (services.searches(), search)])
    app = bring(open_app("runs"), archive)
    assert successes(app) == ["0 runs imported. 1 experiment imported. 1 search imported."]
    bring(app, archive)
    assert successes(app) == ["0 runs imported. 1 experiment is here already. 1 search is here already."]
    assert "links" in open_app("experiments").subheader[0].value
    assert len(services.searches().jobs(WORKSPACE)) == 1
    # Who has a view-only link may take the file as well.
    viewer = open_app("runs", None, view=view_id(WORKSPACE))
    assert "Download workspace" in [button.label for button in viewer.get("download_button")]
    assert not viewer.file_uploader


def test_data_without_runs_are_in_the_file(open_app: Open, take_away: Callable[..., bytes]) -> None:
    for sample in ("survey", "southern_women"):  # the one is put aside, the other in use
        app = open_app("data")
        app.selectbox(key="sample").select(sample).run()
        press(app, "use_sample")
    app.number_input(key="heldout_percent").set_value(25.0).run()
    here = Workspace(WORKSPACE)
    names, report = here.data_names, here.dataset.report.lines() if here.dataset else []
    assert len(names) == 2
    owners = [shelf_of(WORKSPACE).find_owner(fingerprint) for fingerprint in here.removable_data]
    archive = take_away([], (), owners)
    app = bring(open_app("runs"), archive)
    assert successes(app) == ["0 runs imported. 2 data sets imported."]
    assert here.data_names == names
    assert here.dataset is None, "the user chooses"
    women = next(key for key, name in names.items() if "women" in name)
    here.use_data(women)
    assert here.dataset is not None
    assert (here.dataset.heldout, here.dataset.report.lines()) == (0.25, report)
    bring(app, archive)
    assert successes(app) == ["0 runs imported. 2 data sets are here already."]
    labels: list[Any] = [button.label for button in app.get("download_button")]
    assert "Download workspace" in labels


@pytest.mark.parametrize("settings", [{"heldout": 7}, {"heldout": "nan"}, {"heldout_seed": -1}])
def test_data_with_damaged_settings_are_named_and_not_taken(
    open_app: Open, take_away: Callable[..., bytes], settings: dict[str, Any]
) -> None:
    links = Relation.build(np.random.default_rng(5).random((12, 8)) < 0.3, name="links")
    services.store().save_dataset(WORKSPACE, links, ["a line"], {"name": "my links"} | settings)
    archive = take_away([], (), [WORKSPACE])
    app = bring(open_app("runs"), archive)
    assert "1 could not be imported:" in [warning.value for warning in app.warning]
    assert "my links: " in texts(app)
    assert not Workspace(WORKSPACE).data_names
