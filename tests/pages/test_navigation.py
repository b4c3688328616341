"""The page that was asked for is the page that is shown."""

from __future__ import annotations

from typing import Any

import pytest
import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from tests.pages.session import Open


def test_a_drawing_that_ends_late_does_not_change_the_page(
    open_app: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each drawing sets the page of its session when it begins, even one that a press on a link has replaced."""
    configure = st.set_page_config
    drawn: list[str] = []

    def end_late(**options: Any) -> None:
        run = get_script_run_ctx()
        assert run is not None
        if drawn:
            run.pages_manager.set_script_intent(drawn[0], "")
        drawn.append(run.page_script_hash)
        configure(**options)

    monkeypatch.setattr(st, "set_page_config", end_late)
    app = open_app("data")
    assert [title.value for title in app.title] == ["Data"]
    del app.session_state["_nav"]  # what a test opens later leaves app.py out otherwise
    app.switch_page("pages/run.py").run()
    assert not app.exception
    assert len(set(drawn)) == 2
    assert [title.value for title in app.title] == ["Run"]
