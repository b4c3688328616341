"""Buttons of an experiment or a search: pause, stop, continue, delete."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from acvb_core.engine.executor import Status
from acvb_core.engine.study import StudyJob
from pages.ui.shared.absent import once


def show_plan_buttons(
    job: StudyJob[Any],
    status: Status,
    key: str,
    *,
    kept: str,
    question: str,
    remove: Callable[[], Any],
) -> None:
    """Draw the buttons of a job in this state.

    `key`: beginning of their keys. `kept`: what a stop leaves, in a sentence. `question`: asked before `remove`.
    """
    with st.container(horizontal=True, width="content"):
        if status is Status.PAUSED:
            st.button("Resume", icon=":material/play_arrow:", key=f"{key}_resume", on_click=once(job.resume))
        elif status.active:
            st.button("Pause", icon=":material/pause:", key=f"{key}_pause", on_click=once(job.pause))
        if status.active:
            st.button("Stop", icon=":material/stop:", key=f"{key}_stop", on_click=job.stop, help=kept)
            return
        if job.can_go_on:
            st.button("Continue", icon=":material/play_arrow:", key=f"{key}_go_on", on_click=once(job.go_on))
        with st.popover("Delete", icon=":material/delete:"):
            st.write(question)
            if st.button("Delete", type="primary", key=f"{key}_delete"):
                remove()
                st.rerun()  # the whole page: the buttons are in a part of it that is drawn by itself
