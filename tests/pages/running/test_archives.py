"""Runs as one file on the Runs page: downloaded in one installation, imported in another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from acvb_core.data.relation import Relation
from acvb_core.engine.problem import build_problem
from pages.ui.running.archives import _write_file
from pages.ui.shared import services
from tests.pages.session import SECONDS, WORKSPACE, Open, jobs_of, press, texts


@pytest.fixture
def exported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> bytes:
    """The file of a workspace with two runs; the app begins anew in another home."""
    data = Relation.build(np.random.default_rng(5).random((12, 8)) < 0.3, name="links")
    book = services.job_book()
    for seed in (0, 1):
        values = {"k_rows": 2, "k_cols": 2, "max_sweeps": 2}
        assert book.add(WORKSPACE, build_problem(data, "vb", values, seed=seed)).wait(SECONDS)
    assert book.close(SECONDS)
    with _write_file(book.jobs(WORKSPACE)) as file:
        archive = file.read()
    st.cache_resource.clear()
    monkeypatch.setenv("ACVB_HOME", str(tmp_path / "another"))
    return archive


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
    assert [success.value for success in app.success] == ["2 runs imported."]
    assert len(app.dataframe[0].value) == 2
    labels: list[Any] = [button.label for button in app.get("download_button")]
    assert "Download workspace" in labels
    bring(app, exported)
    assert [success.value for success in app.success] == [
        "0 runs imported. 2 runs are here already, or deleted today."
    ]
    assert len(jobs_of(app)) == 2
    app.run()
    assert not app.success


def test_a_file_that_is_no_archive_is_refused_in_a_sentence(open_app: Open, exported: bytes) -> None:
    app = bring(open_app("runs"), exported[:-100])
    assert [error.value for error in app.error] == ["The file was not imported."]
    assert "runs.zip cannot be read as an archive of runs" in texts(app)
    assert jobs_of(app) == []


def test_a_full_workspace_takes_no_archive(
    open_app: Open, exported: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services, "workspace_limit", lambda: len(exported) - 1)
    app = bring(open_app("runs"), exported)
    assert [error.value for error in app.error] == ["The file was not imported."]
    assert "This workspace keeps" in texts(app)
    assert jobs_of(app) == []
