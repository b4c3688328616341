"""The pages without a browser: every test has a home and a workspace of its own."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
import streamlit as st
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest

from pages.ui.shared import services
from tests.pages.session import SECONDS, WORKSPACE

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session", autouse=True)
def _one_scan_of_the_packages() -> Iterator[None]:
    """Look for components in the installed packages once: each new session would read the notes of all of them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            manifest_scanner, "scan_component_manifests", cache(manifest_scanner.scan_component_manifests)
        )
        yield


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Give the app a home of its own, and end what still runs when the test is over."""
    monkeypatch.setenv("ACVB_HOME", str(tmp_path / "home"))
    rights = os.umask(0o022)  # of new files; the app takes others for its whole process
    services.once_per_process.clear_all()
    st.cache_resource.clear()
    # What pages load lives on: the collection below need not look through it again after every test.
    gc.collect()
    gc.freeze()
    yield
    for book in (services.experiments(), services.searches()):
        book.close()
    assert services.job_manager().close(SECONDS)
    services.once_per_process.clear_all()
    st.cache_resource.clear()
    os.umask(rights)
    gc.collect()


@pytest.fixture(autouse=True)
def _no_hidden_failure(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Fail where a page showed an error in place of one of its parts, and went on."""
    yield
    failures = [record for record in caplog.get_records("call") if record.name == "pages.ui.shared.failures"]
    assert not failures, failures


@pytest.fixture
def open_app() -> Callable[..., AppTest]:
    """Open a page of the app in a session of its own."""

    def opened(page: str = "home", workspace: str | None = WORKSPACE, **address: str) -> AppTest:
        app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=SECONDS)
        for name, value in (({} if workspace is None else {"ws": workspace}) | address).items():
            app.query_params[name] = value
        if page != "home":
            app.switch_page(f"pages/{page}.py")
        app.run()
        assert not app.exception
        return app

    return opened


@pytest.fixture
def with_sample(open_app: Callable[..., AppTest]) -> AppTest:
    """The Run page, with a small sample as the data in use."""
    app = open_app("data")
    app.selectbox(key="sample").select("survey").run()
    app.button(key="use_sample").click().run()
    app.switch_page("pages/run.py").run()
    assert not app.exception
    return app
